//! Parts of a tree, also beyond real inputs: chunk counters around 2^32 and up to 2^54.

use crate::plans::{plans, test_modes};
use hashmill_hash::blake3::hazmat::{
    HasherExt, Mode, hash_derive_key_context, left_subtree_len, max_subtree_len, merge_subtrees_non_root,
    merge_subtrees_root, merge_subtrees_root_xof, merge_tiles_root_xof,
};
use hashmill_hash::blake3::{Hasher, hash};
use hashmill_testkit::oracle::blake3::Oracle;
use hashmill_testkit::paint;

/// Chunk numbers at which a subtree of `1 << height` chunks may start, near every value where a counter can
/// fail.
fn starts(height: u32) -> Vec<u64> {
    let step = 1_u64 << height;
    let mut starts = Vec::new();
    for edge in [1_u64 << 31, 1 << 32, 1 << 33, (1 << 32) + (1 << 31), 1 << 53] {
        starts.extend([edge - step, edge, edge + step]);
    }
    // 2^64 bytes are 2^54 chunks: the last subtree ends exactly there.
    starts.extend([(1 << 54) - 2 * step, (1 << 54) - step]);
    starts
}

#[test]
fn subtrees_at_large_counters() {
    let input = paint(64 * 1024);
    // The modes alternate: a counter fails in all of them or in none.
    let test_modes = test_modes();
    let mut next_mode = test_modes.iter().cycle();
    for height in 0..=6 {
        let full = 1024 << height;
        for first in starts(height) {
            for len in [1, 64, 1023, 1024, full / 2 + 1, full - 1023, full - 1, full] {
                let len = len.clamp(1, full);
                let test_mode = next_mode.next().expect("a cycle has no end");
                let expected = test_mode.oracle.subtree(&input[..len], first);
                for plan in plans() {
                    let mut hasher = test_mode.hasher(plan);
                    hasher.set_input_offset(first * 1024).update(&input[..len]);
                    let what = format!("{} of {len} bytes at chunk {first}, {plan:?}", test_mode.name);
                    assert_eq!(hasher.finalize_non_root(), expected, "{what}");
                    assert_eq!(hasher.count(), len as u64, "{what}");
                }
            }
        }
    }
}

#[test]
fn subtrees_in_pieces_at_large_counters() {
    let input = paint(16 * 1024);
    for plan in plans() {
        for first in starts(4) {
            let expected = Oracle::hash().subtree(&input, first);
            for piece in [64, 1000, 1024, 3000, 8192] {
                let mut hasher = Hasher::new().with_plan(plan);
                hasher.set_input_offset(first * 1024);
                for piece in input.chunks(piece) {
                    hasher.update(piece);
                }
                assert_eq!(hasher.finalize_non_root(), expected, "pieces of {piece} at {first}, {plan:?}");
            }
        }
    }
}

#[test]
fn merged_subtrees_equal_the_whole() {
    let input = paint(40_000);
    for test_mode in test_modes() {
        let host = hashmill_hash::blake3::Plan::host();
        for len in [1025, 2048, 2049, 3000, 4096, 5000, 16_384, 16_385, 40_000] {
            let split = left_subtree_len(len as u64) as usize;
            let (left, right) = input[..len].split_at(split);
            let left = test_mode.hasher(host).update(left).finalize_non_root();
            let right =
                test_mode.hasher(host).set_input_offset(split as u64).update(right).finalize_non_root();
            let expected = test_mode.oracle.xof(&input[..len], 0, 200);
            assert_eq!(merge_subtrees_root(&left, &right, test_mode.mode()), expected[..32], "{len} bytes");
            let mut output = [0; 200];
            merge_subtrees_root_xof(&left, &right, test_mode.mode()).fill(&mut output);
            assert_eq!(output, *expected, "{len} bytes");
            let parent = merge_subtrees_non_root(&left, &right, test_mode.mode());
            assert_eq!(parent, test_mode.oracle.parent(&left, &right).non_root(), "{len} bytes");
        }
    }
}

#[test]
fn four_merged_subtrees_equal_the_whole() {
    let input = paint(8 * 1024);
    let part = |i: usize| {
        let mut hasher = Hasher::new();
        hasher.set_input_offset(i as u64 * 2048).update(&input[i * 2048..][..2048]);
        hasher.finalize_non_root()
    };
    let left = merge_subtrees_non_root(&part(0), &part(1), Mode::Hash);
    let right = merge_subtrees_non_root(&part(2), &part(3), Mode::Hash);
    assert_eq!(merge_subtrees_root(&left, &right, Mode::Hash), hash(&input));
}

#[test]
fn merged_tiles_equal_the_whole() {
    let input = paint(20_000);
    for test_mode in test_modes() {
        let host = hashmill_hash::blake3::Plan::host();
        for (tile, len) in
            [(1024, 1025), (1024, 2048), (1024, 2049), (2048, 13_000), (4096, 20_000), (1024, 20_000)]
        {
            let tiles = input[..len].chunks(tile).enumerate();
            let mut values: Vec<_> = tiles
                .map(|(i, part)| {
                    test_mode
                        .hasher(host)
                        .set_input_offset((i * tile) as u64)
                        .update(part)
                        .finalize_non_root()
                })
                .collect();
            let mut output = [0; 100];
            merge_tiles_root_xof(&mut values, test_mode.mode()).fill(&mut output);
            assert_eq!(
                output,
                *test_mode.oracle.xof(&input[..len], 0, 100),
                "{len} bytes in tiles of {tile}"
            );
        }
    }
}

#[test]
fn subtree_lengths() {
    assert_eq!(max_subtree_len(0), None);
    for (offset, len) in
        [(1024, 1024), (2048, 2048), (3072, 1024), (4096, 4096), (7 << 20, 1 << 20), (1 << 63, 1 << 63)]
    {
        assert_eq!(max_subtree_len(offset), Some(len), "at {offset}");
    }
    let cases = [
        (1025, 1024),
        (2048, 1024),
        (2049, 2048),
        (3072, 2048),
        (4096, 2048),
        (4097, 4096),
        (u64::MAX, 1 << 63),
    ];
    for (len, left) in cases {
        assert_eq!(left_subtree_len(len), left, "of {len}");
    }
}

#[test]
fn context_key_equals_its_context() {
    let key = hash_derive_key_context("a context");
    assert_eq!(key, Oracle::hash_context("a context"));
    let mut hasher = Hasher::new_from_context_key(&key);
    assert_eq!(
        hasher.update(b"material").finalize(),
        hashmill_hash::blake3::derive_key("a context", b"material")
    );
}

#[test]
fn reset_clears_the_offset() {
    let mut hasher = Hasher::new();
    hasher.set_input_offset(4096).update(b"part");
    assert_eq!(hasher.reset().update(b"whole").finalize(), hash(b"whole"));
}
