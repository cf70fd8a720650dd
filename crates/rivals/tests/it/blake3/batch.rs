//! Batches against a loop over the official crate: ragged lengths, all modes.

use super::plans::{CONTEXT, KEY, plans};
use hashmill_hash::blake3::batch::hash_all_with;
use hashmill_hash::blake3::hazmat::{Mode, hash_derive_key_context};
use hashmill_hash::blake3::{Hash, Plan};
use hashmill_testkit::Rng;
use proptest::prelude::*;
use rayon::prelude::*;

type Official = fn(&[u8]) -> [u8; 32];

fn digests(plan: Plan, mode: &Mode<'_>, messages: &[&[u8]]) -> Vec<[u8; 32]> {
    let mut out = vec![Hash::from_bytes([0; 32]); messages.len()];
    hash_all_with(plan, mode, messages, &mut out);
    out.into_iter().map(Into::into).collect()
}

/// Every length up to three chunks in batches of similar lengths, so that every pair of lengths that can share a pass does.
#[test]
fn every_length_beside_similar_lengths() {
    let memory = Rng::new(3).bytes(3200);
    let plans = plans();
    (0..3073_usize).into_par_iter().step_by(5).for_each(|len| {
        let messages: Vec<&[u8]> = (0..33).map(|i| &memory[i..(i + len + i * 7 % 40).min(3200)]).collect();
        let expected: Vec<[u8; 32]> = messages.iter().map(|message| blake3::hash(message).into()).collect();
        for plan in &plans {
            assert_eq!(digests(*plan, &Mode::Hash, &messages), expected, "about {len} bytes, {plan:?}");
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn ragged_batches(
        lengths in prop::collection::vec(prop_oneof![0..70_usize, 0..1100_usize, 0..5000_usize, 0..20_000_usize], 0..60),
        mode in 0..3_usize,
        seed: u64,
    ) {
        let memory = Rng::new(seed).bytes(20_100);
        let messages: Vec<&[u8]> = lengths.iter().zip(0..).map(|(&len, start)| &memory[start..start + len]).collect();
        let context_key = hash_derive_key_context(CONTEXT);
        let (mode, official): (Mode<'_>, Official) = match mode {
            0 => (Mode::Hash, |message| blake3::hash(message).into()),
            1 => (Mode::KeyedHash(KEY), |message| blake3::keyed_hash(KEY, message).into()),
            _ => (Mode::DeriveKeyMaterial(&context_key), |message| blake3::derive_key(CONTEXT, message)),
        };
        let expected: Vec<[u8; 32]> = messages.iter().map(|message| official(message)).collect();
        for plan in plans() {
            prop_assert_eq!(&digests(plan, &mode, &messages), &expected, "{:?}", plan);
        }
    }
}
