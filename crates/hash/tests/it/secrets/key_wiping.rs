//! Wiping of keys and key material. That debug output never shows them is tested in `debug_output.rs`.

use crate::plans::KEY;
use hashmill_hash::blake3::{BufferedHasher, Hash, Hasher, Plan, hash};
use zeroize::Zeroize;

#[test]
fn zeroized_digest_is_all_zero() {
    let mut digest = hash(b"digest");
    digest.zeroize();
    assert_eq!(digest, Hash::from_bytes([0; 32]));
}

/// After zeroizing, nothing observable depends on the key or the input.
#[test]
fn zeroized_hashers_are_independent_of_key_and_input() {
    let states = |key: &[u8; 32], input: &[u8]| {
        let mut hasher = Hasher::new_keyed(key);
        hasher.update(input);
        let mut reader = hasher.finalize_xof();
        let mut buffered = BufferedHasher::new(hasher.clone());
        buffered.update(input);
        hasher.zeroize();
        buffered.zeroize();
        reader.zeroize();
        let mut output = [0; 64];
        reader.fill(&mut output);
        (hasher.finalize(), hasher.count(), buffered.finalize(), buffered.count(), output)
    };
    for len in [0, 1, 64, 100, 1024, 5000] {
        assert_eq!(states(KEY, &vec![1; len]), states(&[9; 32], &vec![2; len]), "{len} bytes");
    }
}

#[test]
fn keyed_digests_differ_from_unkeyed_ones() {
    // An ignored key would fail only this test, for an all-zero key.
    let zero = Hasher::new_keyed(&[0; 32]).with_plan(Plan::host()).finalize();
    assert_ne!(zero, hash(b""));
    assert_ne!(zero, Hasher::new_keyed(&[1; 32]).finalize());
}
