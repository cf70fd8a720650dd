//! Placement of the input in memory: any alignment, and next to inaccessible pages.

use crate::plans::plans;
use hashmill_hash::blake3::batch::hash_all_with;
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::blake3::{Hash, Hasher, hash};
use hashmill_testkit::guard::Guarded;
use hashmill_testkit::oracle::blake3::Oracle;
use hashmill_testkit::{Rng, paint, skip};

#[test]
fn input_at_any_alignment() {
    let memory = Rng::new(1).bytes(40_000);
    for plan in plans() {
        for start in 0..=64 {
            for len in [1, 31, 63, 64, 65, 100, 1000, 1024, 1025, 2048, 4097, 8192, 16_384, 17_000, 33_000] {
                let input = &memory[start..start + len];
                let copy = input.to_vec();
                assert_eq!(plan.hash(input), hash(&copy), "{len} bytes at offset {start}, {plan:?}");
            }
        }
    }
}

/// Every length up to two chunks, and all ways in which longer inputs fill the lanes.
fn lengths() -> impl Iterator<Item = usize> {
    (0..=2100).chain((3..=33).flat_map(|chunks| [0, 1, 63, 65, 512, 1023].map(|tail| chunks * 1024 + tail)))
}

#[test]
fn no_read_outside_the_input() {
    if !Guarded::EFFECTIVE {
        return skip("reads outside the input", "guard pages are not wired up for this system");
    }
    let mut memory = Guarded::new(34 * 1024);
    for len in lengths() {
        let painted = paint(len);
        let expected = hash(&painted);
        for side in ["start", "end"] {
            let guarded = if side == "start" { memory.at_start(len) } else { memory.at_end(len) };
            guarded.copy_from_slice(&painted);
            for plan in plans() {
                assert_eq!(plan.hash(guarded), expected, "{len} bytes at the {side}, {plan:?}");
                let mut hasher = Hasher::new().with_plan(plan);
                assert_eq!(
                    hasher.update(guarded).finalize(),
                    expected,
                    "{len} bytes at the {side}, {plan:?}"
                );
            }
        }
    }
}

#[test]
fn no_read_outside_any_message_of_a_batch() {
    if !Guarded::EFFECTIVE {
        return skip("reads outside messages of a batch", "guard pages are not wired up for this system");
    }
    // One buffer per lane, so that every lane's message ends at a page of its own.
    let mut memory: Vec<Guarded> = (0..17).map(|_| Guarded::new(3000)).collect();
    for plan in plans() {
        for seed in 0..100 {
            let mut rng = Rng::new(seed);
            let messages: Vec<&[u8]> = memory
                .iter_mut()
                .map(|memory| {
                    let len = rng.below([65, 1025, 3001][seed as usize % 3]);
                    let message = if rng.below(2) == 0 { memory.at_end(len) } else { memory.at_start(len) };
                    rng.fill(message);
                    &*message
                })
                .collect();
            let mut digests = vec![Hash::from_bytes([0; 32]); messages.len()];
            hash_all_with(plan, &Mode::Hash, &messages, &mut digests);
            for (digest, message) in digests.iter().zip(&messages) {
                assert_eq!(
                    *digest,
                    Oracle::hash().digest(message),
                    "{} bytes, seed {seed}, {plan:?}",
                    message.len()
                );
            }
        }
    }
}

#[test]
fn no_write_outside_the_output() {
    if !Guarded::EFFECTIVE {
        return skip("writes outside the output", "guard pages are not wired up for this system");
    }
    let mut memory = Guarded::new(82 * 64);
    let expected = Oracle::hash().xof(b"output", 0, 82 * 64);
    for plan in plans() {
        let hasher = {
            let mut hasher = Hasher::new().with_plan(plan);
            hasher.update(b"output");
            hasher
        };
        // Groups of 4, 8, 16 and 32 blocks, and all remainders.
        let blocks = (0..=81).flat_map(|blocks| [64 * blocks, 64 * blocks + 40]);
        for len in (0..=300).chain((300..=4096).step_by(61)).chain(blocks) {
            hasher.finalize_xof().fill(memory.at_end(len));
            assert_eq!(memory.at_end(len), &expected[..len], "{len} bytes at the end, {plan:?}");
            hasher.finalize_xof().fill(memory.at_start(len));
            assert_eq!(memory.at_start(len), &expected[..len], "{len} bytes at the start, {plan:?}");
        }
    }
}
