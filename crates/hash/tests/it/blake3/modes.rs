//! The three modes, compared with the oracle at every edge length.

use crate::plans::{edge_lengths, plans, test_modes};
use hashmill_testkit::{Rng, paint};

#[test]
fn every_edge_length_in_every_mode() {
    let input = paint(101 * 1024);
    for (test_mode, step) in test_modes().iter().zip([1, 3, 3]) {
        for len in edge_lengths().into_iter().step_by(step) {
            let expected = test_mode.oracle.digest(&input[..len]);
            for plan in plans() {
                let digest = test_mode.one_shot(plan, &input[..len]);
                assert_eq!(digest, expected, "{} of {len} bytes, {plan:?}", test_mode.name);
            }
        }
    }
}

#[test]
fn random_keys_and_contexts() {
    use hashmill_hash::blake3::{derive_key, keyed_hash};
    use hashmill_testkit::oracle::blake3::Oracle;
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let len = rng.below(5000);
        let (key, input) = (rng.bytes(32).try_into().expect("32 bytes"), rng.bytes(len));
        assert_eq!(keyed_hash(&key, &input), Oracle::keyed(&key).digest(&input), "seed {seed}");
        // Context strings of any length, including more than a chunk.
        let context: String = (0..rng.below(3000)).map(|_| char::from(b' ' + rng.below(95) as u8)).collect();
        assert_eq!(derive_key(&context, &input), Oracle::derive_key(&context).digest(&input), "seed {seed}");
    }
}
