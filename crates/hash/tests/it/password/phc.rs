//! PHC strings: accepted strings, refused strings, and offsets of errors.

use hashmill_hash::argon2::{Params, ParamsError, Variant, Version};
use hashmill_hash::password::{Limits, Malformed, PasswordHash, PhcError, Quantity, Syntax};
use hashmill_testkit::Rng;
use hashmill_testkit::oracle::phc as oracle;

const GOOD: &str = "$argon2id$v=19$m=64,t=2,p=1$c29tZXNhbHQ$MTIzNDU2Nzg5MDEyMzQ1Njc4OTA";

fn decode(text: &str, syntax: Syntax) -> Result<PasswordHash, PhcError> {
    PasswordHash::decode(text, syntax, &Limits::RECOMMENDED)
}

fn strict(text: &str) -> Result<PasswordHash, PhcError> {
    decode(text, Syntax::Strict)
}

/// The valid string with one part replaced.
fn with(part: &str, other: &str) -> String {
    assert!(GOOD.contains(part));
    GOOD.replacen(part, other, 1)
}

#[test]
fn all_parts_round_trip() {
    let hash = strict(GOOD).expect("a good string");
    assert_eq!(hash.params(), Params::new(64, 2, 1).expect("good costs"));
    assert_eq!((hash.salt(), hash.tag()), (&b"somesalt"[..], &b"12345678901234567890"[..]));
    assert_eq!(hash.to_string(), GOOD);
    let old = strict(&with("id$v=19", "i")).expect("a good string");
    assert_eq!((old.params().variant(), old.params().version()), (Variant::I, Version::V10));
    assert_eq!(old.to_string(), with("id$v=19", "i$v=16"), "a version is always written");
    assert_eq!(GOOD.parse::<PasswordHash>(), Ok(hash));
}

#[test]
fn encoded_hashes_decode_to_equal_values() {
    let mut rng = Rng::new(4);
    for round in 0..2000_u32 {
        let lanes = 1 + rng.below(200) as u32;
        let params = Params::new(8 * lanes + rng.below(1 << 18) as u32, 1 + round % 8, lanes);
        let params = params.expect("good costs").with_variant(Variant::ALL[round as usize % 3]);
        let params = if round.is_multiple_of(5) { params.with_version(Version::V10) } else { params };
        let mut bytes = |least: usize, most: usize| {
            let len = least + rng.below(most - least + 1);
            rng.bytes(len)
        };
        let hash = PasswordHash::new(params, bytes(8, 64), bytes(16, 128));
        assert_eq!(strict(&hash.to_string()), Ok(hash.clone()), "{hash}");
        assert_eq!(decode(&hash.to_string(), Syntax::Lenient), Ok(hash));
    }
}

#[test]
fn errors_have_an_offset_and_a_reason() {
    use Malformed::*;
    for (text, offset, reason) in [
        (String::new(), 0, Variant),
        ("argon2id$".to_owned(), 0, Variant),
        (with("argon2id", "argon2x"), 0, Variant),
        (with("argon2id", "Argon2id"), 0, Variant),
        (with("argon2id", "argon2id "), 0, Variant),
        ("$argon2id".to_owned(), 9, Expected("$")),
        ("$argon2id$".to_owned(), 10, Expected("m=")),
        (with("v=19", "v="), 12, Number),
        (with("v=19", "v=0x13"), 13, Number),
        (with("v=19$", "v=19,"), 14, Number),
        (with("m=64", "m="), 17, Number),
        (with("m=64", "m=064"), 17, Number),
        (with("m=64", "m=+64"), 17, Number),
        (with("m=64", "m=-64"), 17, Number),
        (with("m=64", "m=64 "), 19, Number),
        (with("m=64", "m=4294967296"), 17, NumberTooLarge),
        (with("m=64", "m=99999999999999999999999"), 17, NumberTooLarge),
        (with("m=64,t=2", "t=2,m=64"), 15, Expected("m=")),
        (with(",p=1", ""), 23, Expected(",p=")),
        (with("p=1", "p=1,x=1"), 27, Expected("$")),
        (with("p=1", "p=1,data=AAAA"), 27, Expected("$")),
        (with("t=2", "t=2,t=2"), 23, Expected(",p=")),
        (with("$MTIz", ""), 39 + 23, Expected("$")),
        (with("c29tZXNhbHQ", "c29tZXNhbHQ="), 39, Base64Character),
        (with("c29tZXNhbHQ", "c29t\nXNhbHQ"), 32, Base64Character),
        (with("c29tZXNhbHQ", "c29tZXNhbHQAA"), 41, Base64Cut),
        (with("c29tZXNhbHQ", "c29tZXNhbHR"), 38, Base64Tail),
        (format!("{GOOD}$"), 67, Base64Character),
        (format!("{GOOD}\n"), 67, Base64Character),
        (format!("{GOOD}="), 67, Base64Character),
    ] {
        assert_eq!(strict(&text).unwrap_err(), PhcError::Malformed { offset, reason }, "{text}");
    }
    let impossible = |text: &str| match strict(text) {
        Err(PhcError::Params { offset, error }) => (offset, error),
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(impossible(&with("v=19", "v=99")), (12, ParamsError::UnknownVersion { given: 99 }));
    assert_eq!(impossible(&with("t=2", "t=0")), (15, ParamsError::Passes));
    assert_eq!(impossible(&with("p=1", "p=0")), (15, ParamsError::Lanes { given: 0 }));
    assert_eq!(impossible(&with("p=1", "p=16777216")), (15, ParamsError::Lanes { given: 1 << 24 }));
    assert_eq!(impossible(&with("p=1", "p=9")), (15, ParamsError::Memory { given: 64, least: 72 }));
}

#[test]
fn limits_are_checked_before_any_work() {
    let over = |text: &str, limits: &Limits| match PasswordHash::decode(text, Syntax::Strict, limits) {
        Err(PhcError::OverLimit { offset, error }) => (offset, error.what, error.given, error.bound),
        other => panic!("{text}: {other:?}"),
    };
    let limits = &Limits::RECOMMENDED;
    let most = u64::from(u32::MAX);
    assert_eq!(over(&with("m=64", "m=4294967295"), limits), (15, Quantity::Memory, most, 1 << 21));
    assert_eq!(over(&with("t=2", "t=4294967295"), limits), (15, Quantity::Passes, most, 1024));
    assert_eq!(over(&with("m=64,t=2,p=1", "m=2056,t=2,p=257"), limits), (15, Quantity::Lanes, 257, 256));
    assert_eq!(over(&with("m=64,t=2", "m=2097152,t=5"), limits), (15, Quantity::Work, 5 << 21, 1 << 23));
    assert_eq!(over(&with("c29tZXNhbHQ", "c29tZXNhbA"), limits), (28, Quantity::Salt, 7, 8));
    assert_eq!(over(&with("$MTIzNDU2Nzg5MDEyMzQ1Njc4OTA", "$MTIzNDU"), limits), (40, Quantity::Tag, 5, 16));
    // Far too long and not base64: the length decides.
    let long = "?".repeat(10 << 20);
    assert_eq!(over(&with("c29tZXNhbHQ", &long), limits).1, Quantity::Salt);
    assert_eq!(over(&format!("{GOOD}{long}"), limits).1, Quantity::Tag);
    let huge = with("m=64,t=2", "m=4294967295,t=4294967295");
    assert!(
        PasswordHash::decode(&huge, Syntax::Strict, &Limits::NONE).is_ok(),
        "reading alone costs nothing"
    );
}

#[test]
fn lenient_syntax_is_opt_in_and_bounded() {
    let good = strict(GOOD).expect("a good string");
    for text in [
        with("m=64,t=2,p=1", "p=1,t=2,m=64"),
        with("m=64", "m=+64"),
        with("m=64", "m=00064"),
        with("argon2id", "Argon2id"),
        with("c29tZXNhbHQ", "c29tZXNhbHR"),
        with("v=19", "v=019"),
    ] {
        assert!(strict(&text).is_err(), "{text}");
        assert_eq!(decode(&text, Syntax::Lenient), Ok(good.clone()), "{text}");
    }
    let text = with("p=1", "p=1,keyid=AQI,data=aGVsbG8");
    let hash = decode(&text, Syntax::Lenient).expect("a draft's string");
    assert_eq!((hash.key_id(), hash.associated_data()), (&[1, 2][..], &b"hello"[..]));
    assert_eq!(hash.to_string(), text, "nothing that the tag depends on is lost");
    for text in [
        with(",p=1", ""),
        with("t=2", "t=2,t=2"),
        with("p=1", "p=1,x=1"),
        with("p=1", "p=1,"),
        with("m=64", "m=++64"),
        with("argon2id", "ARGON2ID"),
        with("p=1", "p=1,keyid=AAAAAAAAAAAA"),
        with("p=1", &format!("p=1,data={}", "A".repeat(44))),
        with("c29tZXNhbHQ", "c29tZXNhbHQ="),
        format!("{GOOD}\n"),
        with("v=19", "v=99"),
    ] {
        assert!(decode(&text, Syntax::Lenient).is_err(), "{text}");
    }
}

/// The oracle's result, restricted to valid and permitted costs.
fn expected(text: &[u8], syntax: Syntax) -> Option<(Params, Vec<u8>, Vec<u8>)> {
    let phc = oracle::read(text, syntax == Syntax::Lenient)?;
    let [m, t, p] = phc.costs;
    let params = Params::new(m, t, p).ok()?.with_version(Version::from_number(phc.version).ok()?);
    let params = params.with_variant(phc.variant.parse().expect("the oracle knows three"));
    let fits = Limits::RECOMMENDED.check(params).is_ok()
        && (8..=64).contains(&phc.salt.len())
        && (16..=128).contains(&phc.tag.len());
    fits.then_some((params, phc.salt, phc.tag))
}

#[test]
fn mutated_strings_decode_as_in_the_oracle() {
    let mut rng = Rng::new(40);
    let bytes = b"$$$,,,===mtpv0123456789AQg+/aZ \n\xff";
    let seeds = [
        GOOD.to_owned(),
        with("$v=19", ""),
        with("p=1", "p=1,data=aGVsbG8"),
        with("m=64,t=2,p=1", "p=1,keyid=AQI,m=64,t=2"),
    ];
    let mut decoded_count = 0;
    for round in 0..40_000 {
        let mut text = seeds[round % seeds.len()].clone().into_bytes();
        for _ in 0..1 + rng.below(2) {
            let at = rng.below(text.len());
            let byte = bytes[rng.below(bytes.len())];
            match rng.below(3) {
                0 => text[at] = byte,
                1 => text.insert(at, byte),
                _ => drop(text.remove(at)),
            }
        }
        for syntax in [Syntax::Strict, Syntax::Lenient] {
            let decoded = PasswordHash::decode(&text, syntax, &Limits::RECOMMENDED);
            if let Err(error) = decoded {
                assert!(error.offset() <= text.len());
            }
            decoded_count += usize::from(decoded.is_ok());
            let decoded = decoded.ok().map(|hash| (hash.params(), hash.salt().to_vec(), hash.tag().to_vec()));
            assert_eq!(decoded, expected(&text, syntax), "{syntax:?} {}", text.escape_ascii());
        }
    }
    assert!(decoded_count > 1000, "only {decoded_count} strings were good: the test proves little");
}

#[test]
fn messages_name_the_offset_and_the_bound() {
    for (text, message) in [
        (
            with("m=64", "m=064"),
            "password hash, byte 17: expected a decimal number without sign and leading zeroes",
        ),
        (with("t=2", "t=0"), "password hash, byte 15: 0 passes: choose at least 1"),
        (
            with("m=64", "m=4294967295"),
            "password hash, byte 15: 4294967295 KiB of memory, where at most 2097152 are allowed",
        ),
    ] {
        assert_eq!(strict(&text).unwrap_err().to_string(), message);
    }
}
