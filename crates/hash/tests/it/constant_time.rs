//! A check of a password takes as many instructions wherever the tag differs: counted by Valgrind, not timed.
//!
//! Equal counts are what a comparison without early exits has. That no other effect shows in time, `--example timing`
//! asks the clock.

use hashmill_hash::argon2::{Params, Threads};
use hashmill_hash::password::{PasswordHash, Passwords, Policy};
use hashmill_testkit::skip;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;

/// The variable that makes a second process of this program do [`all_counted`].
const CHILD: &str = "HASHMILL_TEST_COUNTED";
const NAME: &str = "constant_time::a_check_takes_as_many_instructions_wherever_tags_differ";
const WHAT: &str = "instructions of a check of a password";

/// Where the tag differs in each count; the last one does not.
const PLACES: [Option<usize>; 9] =
    [Some(0), Some(1), Some(7), Some(8), Some(15), Some(16), Some(30), Some(31), None];

#[inline(never)]
fn counted_check(passwords: &Passwords, stored: &PasswordHash) -> bool {
    passwords.verify_decoded(b"password", stored).is_ok()
}

#[inline(never)]
fn counted_match(stored: &PasswordHash, tag: &[u8]) -> bool {
    stored.matches(tag)
}

/// What must be told apart, or the count proves nothing.
#[inline(never)]
fn counted_leak(stored: &PasswordHash, tag: &[u8]) -> bool {
    stored.tag().iter().zip(tag).all(|(one, other)| black_box(one) == other)
}

/// Calls each function for each place, in this order.
fn all_counted() {
    let params = Params::new(16, 2, 1).expect("good costs");
    let passwords = Passwords::new(Policy::new(params)).threads(Threads::Serial);
    let right = passwords.hash(b"password", b"sixteen bytes ok").expect("memory for 16 KiB");
    // From here on the memory is there.
    assert_eq!(passwords.verify_decoded(b"password", &right), Ok(()));
    let stored = PLACES.map(|place| {
        let mut tag = right.tag().to_vec();
        place.into_iter().for_each(|at| tag[at] ^= 0x10);
        PasswordHash::new(params, right.salt().to_vec(), tag)
    });
    for (stored, place) in stored.iter().zip(PLACES) {
        assert_eq!(counted_check(&passwords, stored), place.is_none());
    }
    for (stored, place) in stored.iter().zip(PLACES) {
        assert_eq!(counted_match(stored, right.tag()), place.is_none());
    }
    for (stored, place) in stored.iter().zip(PLACES) {
        assert_eq!(counted_leak(stored, right.tag()), place.is_none());
    }
}

/// Instructions of the call that the file is about.
fn total(path: &Path) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let line = text.lines().find_map(|line| line.strip_prefix("totals: "));
    line.and_then(|number| number.trim().parse().ok()).expect("a total")
}

#[test]
fn a_check_takes_as_many_instructions_wherever_tags_differ() {
    if std::env::var_os(CHILD).is_some() {
        return all_counted();
    }
    if std::env::var_os("ASAN_OPTIONS").is_some() {
        return skip(WHAT, "what a sanitizer adds would be counted, too");
    }
    let Ok(program) = std::env::current_exe() else {
        return skip(WHAT, "this program cannot be started again");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let mut valgrind = Command::new("valgrind");
    // Equal patterns would undo each other.
    let patterns = ["--toggle-collect=*::counted_*", "--dump-after=*constant_time::counted_*"];
    valgrind.arg("--tool=callgrind").args(patterns);
    valgrind.arg(format!("--callgrind-out-file={}", out.display())).arg(program);
    let Ok(output) = valgrind.args(["--exact", NAME]).env(CHILD, "1").output() else {
        return skip(WHAT, "no valgrind: apt-get install valgrind");
    };
    let words = String::from_utf8_lossy(&output.stdout);
    // Programs of other processors do not run under it.
    if !words.contains("running 1 test") {
        return skip(WHAT, "this program does not run under valgrind");
    }
    assert!(output.status.success() && words.contains("1 passed"), "{words}");
    let counts: Vec<u64> =
        (1..=3 * PLACES.len()).map(|number| total(&out.with_extension(number.to_string()))).collect();
    let (checks, rest) = counts.split_at(PLACES.len());
    let (matches, leaks) = rest.split_at(PLACES.len());
    // Where the last byte differs, as many are compared as where none does.
    let all_differ = leaks[..PLACES.len() - 1].is_sorted_by(|one, other| one < other);
    assert!(all_differ && leaks.is_sorted(), "a leak is seen: {leaks:?}");
    assert!(matches.iter().all(|count| *count == matches[0]), "{matches:?}");
    let (right, wrong) = checks.split_last().expect("nine");
    assert!(wrong.iter().all(|count| count == right), "{checks:?}");
}
