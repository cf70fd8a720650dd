//! Values of documents as CBOR, and the other way round.

use std::collections::BTreeMap;
use std::time::Duration;

use hashmill_doc::{Literal, ScalarValue};
use hashmill_repo::{CborItem, PeerId, Presence, PresenceError, PresenceTimes, ReceivedPresence};
use hashmill_testkit::rng::Rng;
use hashmill_testkit::{hex, size};

fn item(hex: &str) -> CborItem {
    CborItem::from_bytes(hex::decode(hex)).unwrap_or_else(|error| panic!("{hex}: {error}"))
}

fn map<const N: usize>(entries: [(&str, Literal); N]) -> Literal {
    Literal::Map(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn scalar(value: ScalarValue<'static>) -> Literal {
    Literal::Scalar(value)
}

/// A list that contains lists down to a level.
fn nested(inner: Literal, levels: usize) -> Literal {
    (1..levels).fold(inner, |inner, _| Literal::List(vec![inner].into()))
}

/// `Debug` shows every difference, and two values that are no number are equal.
#[track_caller]
fn assert_same(one: &Literal, other: &Literal) {
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
}

#[test]
fn forms_of_other_programs_have_one_meaning() {
    let (int, float) = (|number| scalar(ScalarValue::Int(number)), |number| scalar(ScalarValue::F64(number)));
    let time = |millis| scalar(ScalarValue::Timestamp(millis));
    let bytes = || scalar(vec![1_u8, 2].into());
    for (hex, expected) in [
        ("03", int(3)),
        ("1b0000000000000003", int(3)),
        ("fb4008000000000000", int(3)),
        ("fb4279ad20f2800000", int(1_764_460_800_000)),
        ("fb7e37e43c8800759c", float(1e300)),
        ("fb8000000000000000", float(-0.0)),
        ("3b7fffffffffffffff", int(i64::MIN)),
        ("3b8000000000000000", float(-9_223_372_036_854_775_809.0)),
        ("1bffffffffffffffff", scalar(ScalarValue::Uint(u64::MAX))),
        ("f6", scalar(ScalarValue::Null)),
        ("f7", scalar(ScalarValue::Null)),
        ("f5", scalar(true.into())),
        ("62c3a9", scalar("é".into())),
        ("7f61616162ff", scalar("ab".into())),
        ("420102", bytes()),
        ("5f41014102ff", bytes()),
        // Bytes as other JavaScript programs write them.
        ("d840420102", bytes()),
        ("9f01820203ff", Literal::List(vec![int(1), Literal::List(vec![int(2), int(3)].into())].into())),
        ("bf616101ff", map([("a", int(1))])),
        (
            "a301612a20612a6161f6",
            map([("1", scalar("*".into())), ("-1", scalar("*".into())), ("a", scalar(ScalarValue::Null))]),
        ),
        ("a2616101616102", map([("a", int(2))])),
        // Times in whole seconds, in parts of them, and beyond those of JavaScript.
        ("c11a00000001", time(1_000)),
        ("c1fb3ff8000000000000", time(1_500)),
        ("c1fbbff8000000000000", time(-1_500)),
        ("c1fb7e37e43c8800759c", float(1e300)),
        ("c16161", scalar("a".into())),
        ("c06161", scalar("a".into())),
    ] {
        assert_same(&item(hex).to_literal(), &expected);
    }
}

#[test]
fn values_that_documents_cannot_hold_are_refused() {
    // Simple values, a break code, reserved codes, no Unicode, keys of other types, a rest, and ends within a value.
    for hex in [
        "",
        "e0",
        "f820",
        "ff",
        "1c",
        "fc",
        "61ff",
        "7f61ffff",
        "a161ff01",
        "a1f501",
        "a1f93c0001",
        "a1410101",
        "0101",
        "8101f6",
        "8201",
        "1801ff",
        "6261",
        "c1",
        "5f6161ff",
        "7f4161ff",
        "81e0",
        "d84081ff",
    ] {
        assert!(CborItem::from_bytes(hex::decode(hex)).is_err(), "{hex}");
    }
}

#[test]
fn values_that_no_user_can_read_are_refused() {
    let unknown = ScalarValue::Unknown { type_code: 12, bytes: vec![1].into() };
    let beyond = [8_640_000_000_000_001, i64::MAX, i64::MIN];
    let values = beyond.map(ScalarValue::Timestamp).into_iter().chain([unknown]);
    for value in values {
        let list = Literal::List(vec![scalar(value)].into());
        assert!(matches!(CborItem::from_literal(&list), Err(PresenceError::Unsupported(_))), "{list:?}");
    }
}

/// What a user may set is what the others receive, in an update and in a snapshot.
#[test]
fn deepest_values_reach_other_users() {
    let too_deep = Err(PresenceError::Limit { what: "nested values", limit: 62 });
    for (inner, levels) in [(scalar(true.into()), 62), (scalar(ScalarValue::Timestamp(1_500)), 61)] {
        assert_eq!(CborItem::from_literal(&nested(inner.clone(), levels + 1)), too_deep);
        let deepest = nested(inner, levels);
        let value = CborItem::from_literal(&deepest).expect("within the limit");
        assert!(CborItem::from_bytes([&[0x81], value.as_bytes()].concat()).is_err());
        let mut sender = Presence::new(PresenceTimes::default());
        sender.set("first", value.clone()).expect("small");
        let snapshot = sender.next_payload(Duration::ZERO).expect("a snapshot");
        sender.set("second", value).expect("small");
        let update = sender.next_payload(Duration::ZERO).expect("an update");
        let mut receiver = Presence::new(PresenceTimes::default());
        for payload in [snapshot, update] {
            let received = receiver.receive(&"peer".into(), &payload, Duration::ZERO).expect("sound");
            assert!(matches!(received, ReceivedPresence::Event(_)), "{received:?}");
        }
        let peer = receiver.peer("peer").expect("it was heard");
        for channel in ["first", "second"] {
            assert_same(&peer.get(channel).expect("it was set").to_literal(), &deepest);
        }
    }
}

fn float(rng: &mut Rng) -> f64 {
    match rng.below(3) {
        0 => f64::from_bits(random_u64(rng)),
        1 => (rng.below(2_000) as f64 - 1_000.0) / 8.0,
        _ => random_u64(rng) as i64 as f64,
    }
}

fn random_u64(rng: &mut Rng) -> u64 {
    // Numbers of every length.
    rng.next_u64() >> rng.below(64)
}

fn random_text(rng: &mut Rng) -> String {
    (0..rng.below(40)).map(|_| ['a', 'é', '😀', '\0'][rng.below(4)]).collect()
}

fn random_value(rng: &mut Rng, levels: usize) -> Literal {
    let kinds = if levels == 0 { 11 } else { 14 };
    scalar(match rng.below(kinds) {
        0 => ScalarValue::Null,
        1 => (rng.below(2) == 0).into(),
        2 => ScalarValue::Int(random_u64(rng) as i64),
        3 => ScalarValue::Int((random_u64(rng) as i64).wrapping_neg()),
        4 => ScalarValue::Uint(random_u64(rng)),
        5 | 6 => ScalarValue::F64(float(rng)),
        7 => random_text(rng).into(),
        8 => vec![rng.below(256) as u8; rng.below(300)].into(),
        9 => ScalarValue::Counter(random_u64(rng) as i64),
        // Within 35,000 years of 1970 every millisecond has a float of its own.
        10 => ScalarValue::Timestamp((random_u64(rng) >> 14) as i64 * [1, -1][rng.below(2)]),
        11 => return Literal::Text(random_text(rng)),
        12 => {
            let entries: BTreeMap<String, Literal> =
                (0..rng.below(30)).map(|_| (random_text(rng), random_value(rng, levels - 1))).collect();
            return Literal::Map(entries.into());
        }
        _ => return Literal::List((0..rng.below(30)).map(|_| random_value(rng, levels - 1)).collect()),
    })
}

/// The same value in the only form that a receiver sees.
fn received_form(value: Literal) -> Literal {
    let exact = |number: f64| number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
    match value {
        Literal::Text(text) => scalar(text.into()),
        Literal::Map(entries) => {
            Literal::Map(entries.into_iter().map(|(key, value)| (key, received_form(value))).collect())
        }
        Literal::List(elements) => Literal::List(elements.into_iter().map(received_form).collect()),
        Literal::Scalar(ScalarValue::Counter(number)) => scalar(ScalarValue::Int(number)),
        Literal::Scalar(ScalarValue::Uint(number)) => {
            scalar(i64::try_from(number).map_or(ScalarValue::Uint(number), ScalarValue::Int))
        }
        Literal::Scalar(ScalarValue::F64(number)) if exact(number) && !is_negative_zero(number) => {
            scalar(ScalarValue::Int(number as i64))
        }
        other => other,
    }
}

fn is_negative_zero(number: f64) -> bool {
    number.to_bits() == (-0.0_f64).to_bits()
}

#[test]
fn values_arrive_as_they_were_set() {
    let mut rng = Rng::new(1);
    for _ in 0..size::of(2_000, 100_000) {
        let value = random_value(&mut rng, 3);
        let item = CborItem::from_literal(&value).unwrap_or_else(|error| panic!("{value:?}: {error}"));
        let received = CborItem::from_bytes(item.as_bytes().to_vec()).expect("a value that was encoded");
        assert_same(&received.to_literal(), &received_form(value));
    }
}

/// Random bytes, and encoded values in which bits flip: what is accepted can be read, set and read again.
#[test]
fn accepted_bytes_are_values() {
    let mut rng = Rng::new(2);
    let mut accepted = 0;
    for _ in 0..size::of(20_000, 1_000_000) {
        let mut bytes = if rng.below(2) == 0 {
            (0..rng.below(12)).map(|_| rng.below(256) as u8).collect()
        } else {
            CborItem::from_literal(&random_value(&mut rng, 2)).expect("a value").as_bytes().to_vec()
        };
        for _ in 0..rng.below(3) {
            if let Some(index) = bytes.len().checked_sub(1) {
                bytes[rng.below(index + 1)] ^= 1 << rng.below(8);
            }
        }
        let Ok(item) = CborItem::from_bytes(bytes) else { continue };
        accepted += 1;
        let value = item.to_literal();
        let again = CborItem::from_literal(&value).unwrap_or_else(|error| panic!("{value:?}: {error}"));
        assert_same(&again.to_literal(), &value);
        // The same bytes in a payload of another user.
        let payload =
            [&b"\xa1\x6a__presence\xa3\x64type\x66update\x67channel\x61c\x65value"[..], item.as_bytes()]
                .concat();
        let mut presence = Presence::new(PresenceTimes::default());
        presence.receive(&PeerId::from("peer"), &payload, Duration::ZERO).expect("a value");
        assert_eq!(presence.peer("peer").and_then(|peer| peer.get("c")), Some(&item));
    }
    assert!(accepted > 1_000, "{accepted}");
}
