//! Extended output: any length, any position, with and without hardware lanes.

use crate::plans::{plans, test_modes};
use hashmill_hash::blake3::Hasher;
use hashmill_testkit::oracle::blake3::Oracle;
use hashmill_testkit::{Rng, paint};

#[test]
fn every_length_up_to_three_passes() {
    let input = paint(77);
    let expected = Oracle::hash().xof(&input, 0, 3200);
    for plan in plans() {
        let hasher = {
            let mut hasher = Hasher::new().with_plan(plan);
            hasher.update(&input);
            hasher
        };
        for len in (0..=700).chain((700..=3200).step_by(37)) {
            let mut output = vec![0xEE; len + 1];
            hasher.finalize_xof().fill(&mut output[..len]);
            assert_eq!(output[..len], expected[..len], "{len} bytes, {plan:?}");
            assert_eq!(output[len], 0xEE, "one byte past {len}, {plan:?}");
        }
    }
}

/// Bytes of an earlier block do not show in the last block.
#[test]
fn short_last_block_is_padded_with_zeros() {
    let input = paint(300);
    for plan in plans() {
        for first in [0, 1, 63, 64, 65, 128] {
            for second in [0, 1, 10, 64, 100] {
                let mut hasher = Hasher::new().with_plan(plan);
                hasher.update(&input[..first]).update(&input[first..first + second]);
                let mut output = [0; 200];
                hasher.finalize_xof().fill(&mut output);
                let expected = Oracle::hash().xof(&input[..first + second], 0, 200);
                assert!(output[..] == expected[..], "{first} and {second} bytes, {plan:?}");
                assert_eq!(
                    hasher.finalize().as_bytes(),
                    &output[..32],
                    "{first} and {second} bytes, {plan:?}"
                );
            }
        }
    }
}

#[test]
fn random_seeks_in_every_mode() {
    for test_mode in test_modes() {
        for plan in plans() {
            let input = paint(1500);
            let whole = test_mode.oracle.xof(&input, 0, 10_000);
            let mut reader = test_mode.hasher(plan).update(&input).finalize_xof();
            let mut rng = Rng::new(42);
            for _ in 0..300 {
                let position = rng.below(9000);
                let len = rng.below(10_000 - position);
                reader.set_position(position as u64);
                let mut output = vec![0; len];
                reader.fill(&mut output);
                let what = format!("{} at {position}+{len}, {plan:?}", test_mode.name);
                assert_eq!(output, whole[position..position + len], "{what}");
                assert_eq!(reader.position(), (position + len) as u64, "{what}");
            }
        }
    }
}

/// Block counters around 2^32, where a lane without its upper half fails, and up to the last byte.
#[test]
fn output_at_large_positions() {
    let last = u64::MAX - 3000;
    for plan in plans() {
        for around in [1 << 32, 64 << 31, 64 << 32, 1 << 60, last] {
            for back in [0, 1, 63, 64, 65, 512, 1024, 1500] {
                let position = around - back;
                let mut reader = Hasher::new().with_plan(plan).update(b"far").finalize_xof();
                reader.set_position(position);
                let mut output = vec![0; 3000];
                reader.fill(&mut output);
                let expected = Oracle::hash().xof(b"far", position, 3000);
                assert_eq!(output, expected, "at {position}, {plan:?}");
            }
        }
    }
}

#[test]
fn output_in_pieces_equals_whole_output() {
    let expected = Oracle::hash().xof(b"pieces", 0, 5000);
    for plan in plans() {
        for seed in 0..20 {
            let mut reader = Hasher::new().with_plan(plan).update(b"pieces").finalize_xof();
            let mut output = Vec::new();
            for len in Rng::new(seed).pieces(5000, 1 + 100 * seed as usize) {
                let mut piece = vec![0; len];
                reader.fill(&mut piece);
                output.extend(piece);
            }
            assert_eq!(output, expected, "seed {seed}, {plan:?}");
        }
    }
}
