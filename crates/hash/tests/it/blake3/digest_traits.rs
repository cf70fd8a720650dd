//! The RustCrypto `digest` traits: the same digests through that interface.

use crate::plans::KEY;
use digest::{
    Digest, ExtendableOutput, ExtendableOutputReset, FixedOutputReset, KeyInit, Mac, Reset, Update, XofReader,
};
use hashmill_hash::blake3::{Hasher, hash, keyed_hash};
use hashmill_testkit::paint;

#[test]
fn implements_digest() {
    let input = paint(5000);
    assert_eq!(<Hasher as Digest>::digest(&input)[..], hash(&input).as_slice()[..]);
    let mut hasher = <Hasher as Digest>::new();
    Digest::update(&mut hasher, &input[..100]);
    Digest::update(&mut hasher, &input[100..]);
    assert_eq!(hasher.clone().finalize_fixed_reset()[..], hash(&input).as_slice()[..]);
    Reset::reset(&mut hasher);
    Digest::update(&mut hasher, b"again");
    assert_eq!(Digest::finalize(hasher)[..], hash(b"again").as_slice()[..]);
}

#[test]
fn implements_mac() {
    let mut mac = <Hasher as KeyInit>::new_from_slice(KEY).expect("32 bytes");
    Update::update(&mut mac, b"message");
    let tag = Mac::finalize(mac.clone()).into_bytes();
    assert_eq!(tag[..], keyed_hash(KEY, b"message").as_slice()[..]);
    assert!(mac.clone().verify_slice(&tag).is_ok());
    assert!(mac.verify_slice(&tag[1..]).is_err());
    assert!(<Hasher as KeyInit>::new_from_slice(&KEY[1..]).is_err(), "31 bytes are no key");
}

#[test]
fn implements_extendable_output() {
    let mut expected = [0; 300];
    Hasher::finalize_xof(Hasher::new().update(b"xof")).fill(&mut expected);
    let mut hasher = Hasher::default();
    Update::update(&mut hasher, b"xof");
    let mut output = [0; 300];
    ExtendableOutput::finalize_xof(hasher.clone()).read(&mut output);
    assert_eq!(output, expected);
    let mut output = [0; 300];
    hasher.finalize_xof_reset().read(&mut output);
    assert_eq!(output, expected);
    assert_eq!(hasher.count(), 0, "reset as well");
}
