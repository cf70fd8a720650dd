//! Extended output against the official crate: every length, any position.

use super::plans::{CONTEXT, KEY, plans};
use hashmill_hash::blake3::Hasher;
use hashmill_testkit::Rng;
use rayon::prelude::*;

#[test]
fn every_output_length_at_every_phase_of_a_block() {
    let hasher = {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"every length");
        hasher
    };
    let mut expected = vec![0; 5000];
    hasher.finalize_xof().fill(&mut expected);
    let plans = plans();
    (0..=3 * 1024_usize).into_par_iter().for_each(|len| {
        for plan in &plans {
            for position in [0, 1, 63, 64, 65 + len % 61, 1024] {
                let mut reader = Hasher::new().with_plan(*plan).update(b"every length").finalize_xof();
                reader.set_position(position as u64);
                let mut output = vec![0; len];
                reader.fill(&mut output);
                assert_eq!(output, expected[position..position + len], "{len} bytes at {position}, {plan:?}");
            }
        }
    });
}

#[test]
fn random_inputs_modes_positions_and_lengths() {
    let plans = plans();
    (0..2000_u64).into_par_iter().for_each(|seed| {
        let mut rng = Rng::new(seed);
        let len = rng.below(3000);
        let input = rng.bytes(len);
        // Any magnitude is equally likely, so that small and huge block counters both occur.
        let position = rng.next_u64() >> rng.below(64);
        let mut expected = vec![0; rng.below(3000)];
        let position = position.min(u64::MAX - expected.len() as u64);
        let mode = rng.below(3);
        let mut official = match mode {
            0 => blake3::Hasher::new(),
            1 => blake3::Hasher::new_keyed(KEY),
            _ => blake3::Hasher::new_derive_key(CONTEXT),
        };
        let mut reader = official.update(&input).finalize_xof();
        reader.set_position(position);
        reader.fill(&mut expected);
        for plan in &plans {
            let hasher = match mode {
                0 => Hasher::new(),
                1 => Hasher::new_keyed(KEY),
                _ => Hasher::new_derive_key(CONTEXT),
            };
            let mut reader = hasher.with_plan(*plan).update(&input).finalize_xof();
            reader.set_position(position);
            let mut output = vec![0; expected.len()];
            reader.fill(&mut output);
            assert_eq!(
                output,
                expected,
                "seed {seed}, mode {mode}, {} bytes at {position}, {plan:?}",
                output.len()
            );
        }
    });
}
