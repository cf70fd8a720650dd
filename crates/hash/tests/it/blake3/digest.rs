//! The digest as a value: hexadecimal, comparison, parsing, serde.

use hashmill_hash::blake3::{Hash, OUT_LEN, hash};
use hashmill_testkit::Rng;
use hashmill_testkit::hex::decode;

const EMPTY: &str = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";

#[test]
fn hexadecimal_round_trips() {
    let digest = hash(b"");
    assert_eq!(digest.to_hex().as_str(), EMPTY);
    assert_eq!(digest.to_string(), EMPTY);
    assert_eq!(format!("{digest:?}"), format!("Hash({EMPTY})"));
    assert_eq!(Hash::from_hex(EMPTY), Ok(digest));
    assert_eq!(Hash::from_hex(EMPTY.as_bytes()), Ok(digest));
    assert_eq!(Hash::from_hex(EMPTY.to_uppercase()), Ok(digest), "case does not matter");
    assert_eq!(EMPTY.parse(), Ok(digest));
    for seed in 0..50 {
        let digest = hash(&Rng::new(seed).bytes(20));
        assert_eq!(decode(&digest.to_hex()), digest.as_slice());
        assert_eq!(digest.to_hex().parse(), Ok(digest));
    }
}

#[test]
fn hexadecimal_errors_name_length_or_offset() {
    let message = |hex: &[u8]| Hash::from_hex(hex).expect_err("bad").to_string();
    assert!(message(b"").contains("found 0"), "{}", message(b""));
    assert!(message(&EMPTY.as_bytes()[1..]).contains("found 63"));
    assert!(message(&[EMPTY.as_bytes(), b"0"].concat()).contains("found 65"));
    for (at, byte) in
        [(0, b'g'), (1, b'/'), (31, b':'), (62, b' '), (63, b'@'), (5, b'G'), (9, b'`'), (3, 0xC3), (4, 0)]
    {
        let mut hex = EMPTY.as_bytes().to_vec();
        hex[at] = byte;
        let message = message(&hex);
        assert!(message.contains(&format!("offset {at} ")), "{message}");
        assert!(message.is_ascii() && !message.contains('\0'), "{message:?}");
    }
}

#[test]
fn bytes_round_trip() {
    let bytes: [u8; OUT_LEN] = std::array::from_fn(|i| i as u8);
    let digest = Hash::from_bytes(bytes);
    assert_eq!(digest.as_bytes(), &bytes);
    assert_eq!(digest.as_slice(), &bytes);
    assert_eq!(digest.as_ref(), &bytes);
    assert_eq!(Hash::from_slice(&bytes).expect("32 bytes"), digest);
    assert_eq!(Hash::from(bytes), digest);
    assert_eq!(<[u8; OUT_LEN]>::from(digest), bytes);
    assert!(Hash::from_slice(&bytes[1..]).is_err());
    assert!(Hash::from_slice(&[0; 33]).is_err());
}

/// Equality depends on every bit, for every kind of right-hand side.
#[test]
fn equality_depends_on_every_bit() {
    let digest = hash(b"bits");
    assert_eq!(digest, *digest.as_bytes());
    assert_eq!(digest, digest.as_bytes()[..]);
    for bit in 0..256 {
        let mut bytes = *digest.as_bytes();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert_ne!(digest, Hash::from_bytes(bytes), "bit {bit}");
        assert_ne!(digest, bytes, "bit {bit}");
        assert_ne!(digest, bytes[..], "bit {bit}");
    }
    assert_ne!(digest, digest.as_bytes()[..31], "a prefix is not the digest");
    assert_ne!(digest, b""[..], "nothing is not the digest");
    assert_ne!(digest, [digest.as_slice(), &[0]].concat()[..], "more is not the digest");
}

#[test]
fn equal_digests_have_equal_hash_codes() {
    let set: std::collections::HashSet<Hash> = [hash(b"a"), hash(b"b"), hash(b"a")].into();
    assert_eq!(set.len(), 2);
    assert!(set.contains(&hash(b"b")));
}

#[cfg(feature = "serde")]
#[test]
fn serde_in_text_and_binary() {
    let digest = hash(b"serde");
    let json = serde_json::to_string(&digest).expect("a digest is plain data");
    assert_eq!(json, format!("{:?}", digest.as_bytes()).replace(' ', ""), "an array of numbers");
    assert_eq!(serde_json::from_str::<Hash>(&json).expect("its own output"), digest);
    for bad in ["[]", "[1,2,3]", "\"text\"", &json.replace(']', ",1]"), &json.replacen('[', "[300,", 1)] {
        assert!(serde_json::from_str::<Hash>(bad).is_err(), "{bad}");
    }
    let binary = postcard::to_allocvec(&digest).expect("a digest is plain data");
    assert_eq!(binary, digest.as_slice(), "exactly its bytes");
    assert_eq!(postcard::from_bytes::<Hash>(&binary).expect("its own output"), digest);
    assert!(postcard::from_bytes::<Hash>(&binary[1..]).is_err());
}
