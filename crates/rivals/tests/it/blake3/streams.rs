//! Input in random parts against the official crate, shrunk by proptest to the shortest split that fails.

use super::plans::{KEY, plans};
use hashmill_hash::blake3::{BufferedHasher, Hasher};
use hashmill_testkit::Rng;
use proptest::prelude::*;

/// Lengths of the parts that a caller passes: mostly around sizes with different code paths.
fn part_len() -> impl Strategy<Value = usize> {
    prop_oneof![
        0..130_usize,
        prop::sample::select(vec![
            63, 64, 65, 1023, 1024, 1025, 2047, 2048, 2049, 4096, 8192, 16_383, 16_384, 16_385
        ]),
        0..5000_usize,
        0..40_000_usize,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_parts_in_any_mode(part_lens in prop::collection::vec(part_len(), 0..12), keyed: bool, seed: u64) {
        let total = part_lens.iter().sum();
        let input = Rng::new(seed).bytes(total);
        let expected = *if keyed { blake3::keyed_hash(KEY, &input) } else { blake3::hash(&input) }.as_bytes();
        for plan in plans() {
            let new = || if keyed { Hasher::new_keyed(KEY) } else { Hasher::new() }.with_plan(plan);
            let mut hasher = new();
            let mut buffered = BufferedHasher::new(new());
            let mut rest = &input[..];
            for &part_len in &part_lens {
                let (now, later) = rest.split_at(part_len);
                hasher.update(now);
                buffered.update(now);
                rest = later;
            }
            prop_assert_eq!(hasher.count(), total as u64);
            prop_assert_eq!(hasher.finalize(), expected, "{:?}", plan);
            prop_assert_eq!(buffered.finalize(), expected, "{:?}, buffered", plan);
        }
    }

    #[test]
    fn a_digest_after_every_part(part_lens in prop::collection::vec(part_len(), 1..6), seed: u64) {
        let input = Rng::new(seed).bytes(part_lens.iter().sum());
        let mut official = blake3::Hasher::new();
        let mut hasher = Hasher::new();
        let mut rest = &input[..];
        for part_len in part_lens {
            let (now, later) = rest.split_at(part_len);
            official.update(now);
            hasher.update(now);
            prop_assert_eq!(hasher.finalize(), *official.finalize().as_bytes());
            rest = later;
        }
    }
}
