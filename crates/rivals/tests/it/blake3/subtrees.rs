//! Parts of a tree against the official crate's `hazmat`.

use super::plans::{CONTEXT, KEY, plans};
use blake3::hazmat as official;
use blake3::hazmat::HasherExt as _;
use hashmill_hash::blake3::Hasher;
use hashmill_hash::blake3::hazmat::{self as hashmill, HasherExt as _};
use hashmill_testkit::Rng;
use rayon::prelude::*;

/// Subtrees of up to 64 chunks at offsets of every magnitude: chunk counters from 1 to 2^54 - 1.
#[test]
fn subtrees_at_any_offset() {
    let memory = Rng::new(1).bytes(64 * 1024);
    let plans = plans();
    (0..3000_u64).into_par_iter().for_each(|seed| {
        let mut rng = Rng::new(seed);
        let chunk = rng.next_u64() >> (10 + rng.below(54));
        let offset = (chunk & !0 << rng.below(7)) * 1024;
        let longest = official::max_subtree_len(offset).map_or(u64::MAX, |len| len).min(memory.len() as u64);
        let input = &memory[..1 + rng.below(longest as usize)];
        let expected =
            blake3::Hasher::new_keyed(KEY).set_input_offset(offset).update(input).finalize_non_root();
        for plan in &plans {
            let mut hasher = Hasher::new_keyed(KEY).with_plan(*plan);
            let value = hasher.set_input_offset(offset).update(input).finalize_non_root();
            assert_eq!(value, expected, "seed {seed}: {} bytes at {offset}, {plan:?}", input.len());
        }
        assert_eq!(hashmill::max_subtree_len(offset), official::max_subtree_len(offset));
    });
}

#[test]
fn merged_subtrees_are_equal() {
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let (left, right): ([u8; 32], [u8; 32]) =
            (rng.bytes(32).try_into().expect("32"), rng.bytes(32).try_into().expect("32"));
        let context_key = official::hash_derive_key_context(CONTEXT);
        assert_eq!(hashmill::hash_derive_key_context(CONTEXT), context_key);
        let modes = [
            (hashmill::Mode::Hash, official::Mode::Hash),
            (hashmill::Mode::KeyedHash(KEY), official::Mode::KeyedHash(KEY)),
            (
                hashmill::Mode::DeriveKeyMaterial(&context_key),
                official::Mode::DeriveKeyMaterial(&context_key),
            ),
        ];
        for (hashmill_mode, official_mode) in modes {
            assert_eq!(
                hashmill::merge_subtrees_non_root(&left, &right, hashmill_mode),
                official::merge_subtrees_non_root(&left, &right, official_mode)
            );
            assert_eq!(
                hashmill::merge_subtrees_root(&left, &right, hashmill_mode),
                *official::merge_subtrees_root(&left, &right, official_mode).as_bytes()
            );
            let (mut output, mut expected) = ([0; 500], [0; 500]);
            hashmill::merge_subtrees_root_xof(&left, &right, hashmill_mode).fill(&mut output);
            official::merge_subtrees_root_xof(&left, &right, official_mode).fill(&mut expected);
            assert_eq!(output, expected);
        }
    }
}

#[test]
fn subtrees_are_split_at_the_same_length() {
    for seed in 0..1000 {
        let mut rng = Rng::new(seed);
        let len = (rng.next_u64() >> rng.below(50)).max(1025);
        assert_eq!(hashmill::left_subtree_len(len), official::left_subtree_len(len), "{len}");
    }
}
