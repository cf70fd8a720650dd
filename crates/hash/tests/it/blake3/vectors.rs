//! The official vectors, in all modes, through every function.

use crate::plans::{CONTEXT, KEY, plans, test_modes};
use hashmill_hash::blake3::{self, BufferedHasher, Hasher};
use hashmill_testkit::vectors::{Blake3Case, blake3 as official};
use hashmill_testkit::{Rng, paint};

fn expected<'a>(case: &'a Blake3Case, mode: &str) -> &'a [u8] {
    match mode {
        "hash" => &case.hash,
        "keyed" => &case.keyed_hash,
        _ => &case.derive_key,
    }
}

#[test]
fn vectors_use_the_key_and_context_of_these_tests() {
    let vectors = official();
    assert_eq!((&vectors.key, vectors.context.as_str()), (KEY, CONTEXT));
}

#[test]
fn one_shot() {
    for case in official().cases {
        let input = paint(case.input_len);
        assert_eq!(blake3::hash(&input), case.hash[..32], "{} bytes", input.len());
        assert_eq!(blake3::keyed_hash(KEY, &input), case.keyed_hash[..32], "{} bytes", input.len());
        assert_eq!(blake3::derive_key(CONTEXT, &input)[..], case.derive_key[..32], "{} bytes", input.len());
        for plan in plans() {
            for test_mode in test_modes() {
                let digest = test_mode.one_shot(plan, &input);
                let expected = &expected(&case, test_mode.name)[..32];
                assert_eq!(digest, *expected, "{} of {} bytes, {plan:?}", test_mode.name, input.len());
            }
        }
    }
}

#[test]
fn extended_output_of_131_bytes() {
    for case in official().cases {
        let input = paint(case.input_len);
        for plan in plans() {
            for test_mode in test_modes() {
                let mut output = [0; 131];
                test_mode.hasher(plan).update(&input).finalize_xof().fill(&mut output);
                let expected = expected(&case, test_mode.name);
                assert_eq!(output, *expected, "{} of {} bytes, {plan:?}", test_mode.name, input.len());
            }
        }
    }
}

#[test]
fn byte_by_byte() {
    for case in official().cases {
        let input = paint(case.input_len);
        for plan in plans() {
            for test_mode in test_modes() {
                let mut hasher = test_mode.hasher(plan);
                for byte in input.chunks(1) {
                    hasher.update(byte);
                }
                assert_eq!(hasher.count(), input.len() as u64);
                let expected = &expected(&case, test_mode.name)[..32];
                assert_eq!(
                    hasher.finalize(),
                    *expected,
                    "{} of {} bytes, {plan:?}",
                    test_mode.name,
                    input.len()
                );
            }
        }
    }
}

#[test]
fn random_splits() {
    for case in official().cases {
        let input = paint(case.input_len);
        for plan in plans() {
            for (test_mode, seed) in test_modes().iter().zip(case.input_len as u64..) {
                let mut rng = Rng::new(seed);
                let longest = 1 + rng.below(1 + 2 * input.len());
                let mut hasher = test_mode.hasher(plan);
                let mut buffered = BufferedHasher::new(test_mode.hasher(plan));
                let mut rest = &input[..];
                for piece in rng.pieces(input.len(), longest) {
                    let (now, later) = rest.split_at(piece);
                    hasher.update(now);
                    buffered.update(now);
                    rest = later;
                }
                let expected = expected(&case, test_mode.name);
                let what = format!("{} of {} bytes, {plan:?}, seed {seed}", test_mode.name, input.len());
                assert_eq!(hasher.finalize(), expected[..32], "{what}");
                assert_eq!(buffered.finalize(), expected[..32], "{what}, buffered");
            }
        }
    }
}

#[test]
fn constructors_agree_with_modes() {
    let case = &official().cases[20];
    let input = paint(case.input_len);
    assert_eq!(Hasher::new().update(&input).finalize(), case.hash[..32]);
    assert_eq!(Hasher::new_keyed(KEY).update(&input).finalize(), case.keyed_hash[..32]);
    assert_eq!(Hasher::new_derive_key(CONTEXT).update(&input).finalize(), case.derive_key[..32]);
}
