//! Documented panics with their messages, and correct results up to the last byte.

use crate::plans::plans;
use hashmill_hash::blake3::batch::hash_all;
use hashmill_hash::blake3::hazmat::{HasherExt, Mode, left_subtree_len, max_subtree_len};
use hashmill_hash::blake3::{Hash, Hasher, hash};
use hashmill_testkit::oracle::blake3::Oracle;
use hashmill_testkit::paint;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The panic message of `misuse`.
fn panic_of<T: std::fmt::Debug>(misuse: impl FnOnce() -> T) -> String {
    let payload = catch_unwind(AssertUnwindSafe(misuse)).expect_err("this is documented to panic");
    match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(payload) => (*payload.downcast::<&str>().expect("a message")).to_owned(),
    }
}

#[test]
fn panics_name_the_misuse() {
    let part = || {
        let mut hasher = Hasher::new();
        hasher.set_input_offset(1024);
        hasher
    };
    let cases = [
        ("multiple of 1024", panic_of(|| Hasher::new().set_input_offset(1000).count())),
        ("multiple of 1024", panic_of(|| max_subtree_len(1))),
        ("before the first input", panic_of(|| Hasher::new().update(b"x").set_input_offset(1024).count())),
        ("empty subtree", panic_of(|| Hasher::new().finalize_non_root())),
        ("room for 1024 more", panic_of(|| part().update(&[0; 1025]).count())),
        ("no root output", panic_of(|| part().update(b"x").finalize())),
        ("no root output", panic_of(|| part().update(b"x").finalize_xof())),
        ("single chunk", panic_of(|| left_subtree_len(1024))),
        ("one output for each message", panic_of(|| hash_all(&Mode::Hash, &[b"x"], &mut []))),
    ];
    for (words, message) in cases {
        assert!(message.contains(words), "{message:?} should contain {words:?}");
    }
}

/// A refused update must not have consumed part of its input.
#[test]
fn refused_update_leaves_the_hasher_usable() {
    let mut hasher = Hasher::new();
    hasher.set_input_offset(2048).update(&[7; 2000]);
    panic_of(|| hasher.update(&[7; 49]).count());
    assert_eq!(hasher.update(&[7; 48]).finalize_non_root(), Oracle::hash().subtree(&[7; 2048], 2));
}

#[test]
fn subtree_at_the_end_of_the_counter() {
    let input = paint(1024);
    let last = u64::MAX - 1023;
    let mut hasher = Hasher::new();
    hasher.set_input_offset(last).update(&input);
    assert_eq!(hasher.finalize_non_root(), Oracle::hash().subtree(&input, last / 1024));
    assert_eq!(hasher.count(), 1024);
}

/// A position is a `u64`, so no reader can be behind byte 2^64 - 1: all bytes before it can be read, and a
/// fill that includes it is refused before anything is written.
#[test]
fn output_up_to_the_last_position() {
    for plan in plans() {
        let hasher = Hasher::new().with_plan(plan);
        for len in [0, 1, 63, 64, 65, 1024, 2000] {
            let position = u64::MAX - len;
            let mut output = vec![0; len as usize];
            let mut reader = hasher.finalize_xof();
            reader.set_position(position);
            reader.fill(&mut output);
            assert_eq!(output, Oracle::hash().xof(b"", position, output.len()), "{len} bytes, {plan:?}");
            assert_eq!(reader.position(), u64::MAX);
            let mut reader = hasher.finalize_xof();
            reader.set_position(position);
            let mut output = vec![7; len as usize + 1];
            let message = panic_of(|| reader.fill(&mut output));
            assert!(message.contains("2^64 - 1 bytes"), "{message}");
            assert_eq!(output, vec![7; len as usize + 1]);
        }
    }
}

#[test]
fn empty_batch_and_empty_message() {
    hash_all(&Mode::Hash, &[], &mut []);
    let mut digests = [Hash::from_bytes([0; 32])];
    hash_all(&Mode::Hash, &[b""], &mut digests);
    assert_eq!(digests[0], hash(b""));
}
