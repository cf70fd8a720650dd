//! Instruction counts of a password verification, by Valgrind: equal wherever the tag differs.
//!
//! A comparison without early exits has equal counts. `--example timing` measures whether anything else shows
//! in time.

use hashmill_hash::argon2::{Params, Threads};
use hashmill_hash::password::{PasswordHash, Passwords, Policy};
use hashmill_testkit::{callgrind, skip};
use std::hint::black_box;

const NAME: &str =
    concat!(module_path!(), "::verification_instruction_count_is_independent_of_the_difference");
const WHAT: &str = "instructions of a check of a password";

/// The position where the tag differs in each count; it does not in the last.
const DIFFERING_BYTES: [Option<usize>; 9] =
    [Some(0), Some(1), Some(7), Some(8), Some(15), Some(16), Some(30), Some(31), None];

#[inline(never)]
fn counted_check(passwords: &Passwords, stored: &PasswordHash) -> bool {
    passwords.verify_decoded(b"password", stored).is_ok()
}

#[inline(never)]
fn counted_match(stored: &PasswordHash, tag: &[u8]) -> bool {
    stored.matches(tag)
}

/// A leaky comparison, which the count must detect, or it proves nothing.
#[inline(never)]
fn counted_leak(stored: &PasswordHash, tag: &[u8]) -> bool {
    stored.tag().iter().zip(tag).all(|(one, other)| black_box(one) == other)
}

/// Calls each function for each position, in this order.
fn all_counted() {
    let params = Params::new(16, 2, 1).expect("good costs");
    let passwords = Passwords::new(Policy::new(params)).threads(Threads::Serial);
    let right = passwords.hash(b"password", b"sixteen bytes ok").expect("memory for 16 KiB");
    // Allocates the memory before the counts.
    assert_eq!(passwords.verify_decoded(b"password", &right), Ok(()));
    let stored = DIFFERING_BYTES.map(|position| {
        let mut tag = right.tag().to_vec();
        position.into_iter().for_each(|at| tag[at] ^= 0x10);
        PasswordHash::new(params, right.salt().to_vec(), tag)
    });
    for (stored, position) in stored.iter().zip(DIFFERING_BYTES) {
        assert_eq!(counted_check(&passwords, stored), position.is_none());
    }
    for (stored, position) in stored.iter().zip(DIFFERING_BYTES) {
        assert_eq!(counted_match(stored, right.tag()), position.is_none());
    }
    for (stored, position) in stored.iter().zip(DIFFERING_BYTES) {
        assert_eq!(counted_leak(stored, right.tag()), position.is_none());
    }
}

#[test]
fn verification_instruction_count_is_independent_of_the_difference() {
    if callgrind::is_counting() {
        return all_counted();
    }
    let folder = tempfile::tempdir().expect("a folder");
    let counts = match callgrind::counts(NAME, folder.path()) {
        Ok(counts) => counts,
        Err(reason) => return skip(WHAT, reason),
    };
    assert_eq!(counts.len(), 3 * DIFFERING_BYTES.len());
    let (checks, rest) = counts.split_at(DIFFERING_BYTES.len());
    let (matches, leaks) = rest.split_at(DIFFERING_BYTES.len());
    // With a difference in the last byte, as many bytes are compared as with none.
    let all_differ = leaks[..DIFFERING_BYTES.len() - 1].is_sorted_by(|one, other| one < other);
    assert!(all_differ && leaks.is_sorted(), "a leak is seen: {leaks:?}");
    assert!(matches.iter().all(|count| *count == matches[0]), "{matches:?}");
    let (right, wrong) = checks.split_last().expect("nine");
    assert!(wrong.iter().all(|count| count == right), "{checks:?}");
}
