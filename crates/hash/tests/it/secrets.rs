//! Keys and key material stay inside: not in debug output, and gone when asked.

use crate::plans::{KEY, plans};
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::blake3::{Gathered, Hash, Hasher, Plan, hash};
use zeroize::Zeroize;

/// Every way in which the first bytes of a secret could be printed.
pub(crate) fn leaks(text: &str, secret: &[u8]) -> bool {
    let words: Vec<u32> =
        secret.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().expect("four"))).collect();
    let hex: String = secret[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    let shapes = [
        format!("{:?}", &secret[..4]).trim_matches(['[', ']']).to_owned(),
        format!("{:?}", &words[..1]).trim_matches(['[', ']']).to_owned(),
        format!("{:x}", words[0]),
        hex,
        String::from_utf8_lossy(&secret[..4]).into_owned(),
    ];
    shapes.iter().any(|shape| text.to_lowercase().contains(&shape.to_lowercase()))
}

#[test]
fn debug_output_holds_no_key_and_no_input() {
    let input: Vec<u8> = b"attack at dawn! ".repeat(10);
    for plan in plans() {
        let mut hasher = Hasher::new_keyed(KEY).with_plan(plan);
        hasher.update(&input);
        let mut gathered = Gathered::new(Hasher::new_keyed(KEY));
        gathered.update(&input);
        let reader = hasher.finalize_xof();
        let texts = [
            format!("{hasher:?} {hasher:#?}"),
            format!("{gathered:?} {gathered:#?}"),
            format!("{reader:?} {reader:#?}"),
            format!("{:?} {:#?}", Mode::KeyedHash(KEY), Mode::DeriveKeyMaterial(KEY)),
        ];
        let digest = hasher.finalize();
        for text in texts {
            assert!(!leaks(&text, KEY), "{text}");
            assert!(!leaks(&text, &input), "{text}");
            assert!(!leaks(&text, digest.as_slice()), "{text}");
        }
    }
    assert!(leaks("Hasher { key: [119, 104, 97, 116, 115] }", KEY), "the check can fail");
    assert!(leaks("words: [1952540791, 0]", KEY), "the check can fail");
}

#[cfg(feature = "std")]
#[test]
fn debug_output_of_a_context_holds_no_key() {
    use hashmill_hash::blake3::{Context, Threads};
    for plan in plans() {
        let mut context = Context::with(plan, &Mode::KeyedHash(KEY), 1).expect("no threads");
        let digest = context.hash(b"attack at dawn! ", Threads::Serial);
        for text in [format!("{context:?}"), format!("{context:#?}")] {
            assert!(!leaks(&text, KEY) && !leaks(&text, digest.as_slice()), "{text}");
        }
    }
}

#[test]
fn a_zeroized_digest_is_all_zero() {
    let mut digest = hash(b"digest");
    digest.zeroize();
    assert_eq!(digest, Hash::from_bytes([0; 32]));
}

/// After zeroizing, nothing that can be observed depends on what the key and the input were.
#[test]
fn zeroized_hashers_forget() {
    let states = |key: &[u8; 32], input: &[u8]| {
        let mut hasher = Hasher::new_keyed(key);
        hasher.update(input);
        let mut reader = hasher.finalize_xof();
        let mut gathered = Gathered::new(hasher.clone());
        gathered.update(input);
        hasher.zeroize();
        gathered.zeroize();
        reader.zeroize();
        let mut output = [0; 64];
        reader.fill(&mut output);
        (hasher.finalize(), hasher.count(), gathered.finalize(), gathered.count(), output)
    };
    for len in [0, 1, 64, 100, 1024, 5000] {
        assert_eq!(states(KEY, &vec![1; len]), states(&[9; 32], &vec![2; len]), "{len} bytes");
    }
}

#[test]
fn the_hashers_of_a_keyed_mode_differ_from_the_plain_one() {
    // A key that were ignored would make this test, and nothing else, fail for an all-zero key.
    let zero = Hasher::new_keyed(&[0; 32]).with_plan(Plan::host()).finalize();
    assert_ne!(zero, hash(b""));
    assert_ne!(zero, Hasher::new_keyed(&[1; 32]).finalize());
}
