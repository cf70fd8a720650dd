//! Every length up to 34 chunks: every lane count from one to thirty-three with every tail, for every kernel.

use super::plans::{CONTEXT, KEY, plans};
use hashmill_hash::blake3::Plan;
use hashmill_testkit::{Rng, paint};
use rayon::prelude::*;

/// Calls `check` with an input of every length, at a random offset in a page.
fn every_length(check: impl Fn(&[u8]) + Sync) {
    let memory = Rng::new(34).bytes(34 * 1024 + 4096);
    (0..34 * 1024_usize).into_par_iter().for_each(|len| {
        let start = Rng::new(len as u64).below(4096);
        check(&memory[start..start + len]);
    });
}

#[test]
fn hash() {
    let plans = plans();
    every_length(|input| {
        let expected = blake3::hash(input);
        for plan in &plans {
            assert_eq!(plan.hash(input), *expected.as_bytes(), "{} bytes, {plan:?}", input.len());
        }
    });
}

#[test]
fn keyed_hash() {
    let plans = plans();
    every_length(|input| {
        let expected = blake3::keyed_hash(KEY, input);
        for plan in &plans {
            let digest = plan.keyed_hash(KEY, input);
            assert_eq!(digest, *expected.as_bytes(), "{} bytes, {plan:?}", input.len());
        }
    });
}

#[test]
fn derive_key() {
    let plans = plans();
    every_length(|input| {
        let expected = blake3::derive_key(CONTEXT, input);
        for plan in &plans {
            assert_eq!(plan.derive_key(CONTEXT, input), expected, "{} bytes, {plan:?}", input.len());
        }
    });
}

/// The free functions have their own code paths.
#[test]
fn free_functions() {
    use hashmill_hash::blake3 as hashmill;
    every_length(|input| {
        assert_eq!(hashmill::hash(input), *blake3::hash(input).as_bytes(), "{} bytes", input.len());
        let keyed = *blake3::keyed_hash(KEY, input).as_bytes();
        assert_eq!(hashmill::keyed_hash(KEY, input), keyed, "{} bytes", input.len());
        let derived = blake3::derive_key(CONTEXT, input);
        assert_eq!(hashmill::derive_key(CONTEXT, input), derived, "{} bytes", input.len());
    });
}

/// Beyond 34 chunks only the height of the tree grows: lengths around every power of two, and odd ones between.
#[test]
fn long_inputs() {
    let input = paint((8 << 20) + 5000);
    let mut lengths = Vec::new();
    for shift in 15..=23 {
        let middle = 1_usize << shift;
        lengths.extend([
            middle - 1025,
            middle - 1024,
            middle - 1,
            middle,
            middle + 1,
            middle + 1024,
            middle + 1025,
        ]);
        lengths.extend(
            [middle / 16 * 17, middle / 16 * 23 + 700, middle / 16 * 31 + 63].map(|len| len.min(input.len())),
        );
    }
    let plans = plans();
    lengths.into_par_iter().for_each(|len| {
        let expected = blake3::hash(&input[..len]);
        for plan in plans.iter().filter(|plan| len <= 1 << 20 || plan.explain(len).lanes > 1) {
            assert_eq!(plan.hash(&input[..len]), *expected.as_bytes(), "{len} bytes, {plan:?}");
        }
        let parallel = hashmill_hash::blake3::Hasher::new().update_parallel(&input[..len]).finalize();
        assert_eq!(parallel, *expected.as_bytes(), "{len} bytes in parallel");
    });
}

#[test]
fn text_forms_are_equal() {
    for seed in 0..100 {
        let input = Rng::new(seed).bytes(seed as usize);
        let (official, hashmill) = (blake3::hash(&input), Plan::host().hash(&input));
        assert_eq!(hashmill.to_string(), official.to_string());
        assert_eq!(hashmill.to_hex().as_str(), official.to_hex().as_str());
        assert_eq!(serde_json::to_string(&hashmill).ok(), serde_json::to_string(&official).ok());
    }
}
