//! Forms of messages: every kind of CBOR, faulty frames, and random messages that are encoded and decoded.

use std::borrow::Cow;

use hashmill_doc::ChangeHash;
use hashmill_repo::message::{DecodeError, Envelope, EphemeralBody, PeerMetadata, RemoteHeads, SyncBody};
use hashmill_repo::{DocumentId, Message};
use hashmill_testkit::hex;
use hashmill_testkit::rng::Rng;
use hashmill_testkit::size;

use crate::ID;
use crate::golden_frames::frames;

#[test]
fn reads_all_forms_of_cbor() {
    // A map and texts of indefinite length, bytes in parts after a tag, an unknown field, numbers of every size.
    let mut frame = hex::decode("bf6474797065");
    frame.extend(hex::decode(
        "7f627379626e63ff6873656e6465724964617368746172676574496461746a646f63756d656e744964616464646174",
    ));
    frame.extend(hex::decode("61d8405f41014102ff6178f961006179c082fb3ff000000000000083f6f7e0ff"));
    let message = Message::Sync(SyncBody {
        sender: "s".into(),
        target: "t".into(),
        document: "d".into(),
        data: vec![1, 2].into(),
    });
    assert_eq!(Message::decode(&frame), Ok(message));
}

/// A frame with text fields, and further fields as hexadecimal digits of a name and a value.
fn frame(texts: &[(&str, &str)], more: &[&str]) -> Vec<u8> {
    let text = |text: &str| [&[0x78, text.len() as u8][..], text.as_bytes()].concat();
    let mut frame = vec![0xb8, (texts.len() + more.len()) as u8];
    for (name, value) in texts {
        frame.extend([text(name), text(value)].concat());
    }
    more.iter().for_each(|digits| frame.extend(hex::decode(digits)));
    frame
}

fn count_of(value: &str) -> Result<u64, DecodeError> {
    let texts = [
        ("type", "ephemeral"),
        ("senderId", "s"),
        ("targetId", "t"),
        ("documentId", "d"),
        ("sessionId", "x"),
    ];
    let frame = frame(&texts, &["646461746140", &format!("65636f756e74{value}")]);
    match Message::decode(&frame)? {
        Message::Ephemeral(body) => Ok(body.count),
        other => panic!("{other:?}"),
    }
}

#[test]
fn numbers_are_integers_or_floats() {
    for (value, count) in [
        ("00", 0),
        ("17", 23),
        ("1818", 24),
        ("190100", 256),
        ("1a00010000", 65_536),
        ("1b0000000000000001", 1),
        ("1b001fffffffffffff", (1 << 53) - 1),
        ("f93c00", 1),
        ("f97bff", 65_504),
        ("f98000", 0),
        ("fa47800000", 65_536),
        ("fb427a222d8306f000", 1_795_880_923_247),
    ] {
        assert_eq!(count_of(value), Ok(count), "{value}");
    }
    for value in [
        "1b0020000000000000",
        "1bffffffffffffffff",
        "f93800",
        "f97c00",
        "f97e00",
        "fbbff0000000000000",
        "fb7ff0000000000000",
    ] {
        assert_eq!(count_of(value), Err(DecodeError::Number("count")), "{value}");
    }
    assert!(matches!(count_of("20"), Err(DecodeError::Cbor(_))));
    assert!(matches!(count_of("6131"), Err(DecodeError::Cbor(_))));
    assert_eq!(count_of("f7"), Err(DecodeError::Missing("count")));
}

#[test]
fn tolerates_what_peers_leave_out() {
    let decode = |frame: &[u8]| Message::decode(frame).map(|message| message.encode());
    // A join without versions and facts; a client that speaks another version.
    let join = frame(&[("type", "join"), ("senderId", "a")], &[]);
    let message = Message::decode(&join).expect("sound");
    assert!(message.supports_version());
    assert!(matches!(message, Message::Join { versions: None, metadata: PeerMetadata { .. }, .. }));
    let versions = "7819737570706f7274656450726f746f636f6c56657273696f6e73";
    let other = frame(&[("type", "join"), ("senderId", "a")], &[&format!("{versions}816132")]);
    assert!(!Message::decode(&other).expect("sound").supports_version());
    // Both names of the facts, and the form of servers in Rust for errors.
    for name in ["6c706565724d65746164617461", "686d65746164617461"] {
        let join =
            frame(&[("type", "join"), ("senderId", "a")], &[&format!("{name}a16b6973457068656d6572616cf5")]);
        assert!(matches!(
            Message::decode(&join),
            Ok(Message::Join { metadata: PeerMetadata { storage_id: None, is_ephemeral: Some(true) }, .. })
        ));
    }
    assert!(decode(&frame(&[("type", "error"), ("message", "no")], &[])).is_ok());
    // Lists that are absent, undefined or null.
    let subscription = [("type", "remote-subscription-change"), ("senderId", "a"), ("targetId", "b")];
    for more in [&[][..], &["63616464f7"], &["63616464f6", "6672656d6f766580"]] {
        assert!(decode(&frame(&subscription, more)).is_ok());
    }
    // The id of a document as bytes.
    let id: DocumentId = ID.parse().expect("an id");
    let bytes = hex::encode(id.as_bytes());
    let unavailable = [("type", "doc-unavailable"), ("senderId", "a"), ("targetId", "b")];
    let message = frame(&unavailable, &[&format!("6a646f63756d656e74496450{bytes}")]);
    let Ok(Message::DocUnavailable { document, .. }) = Message::decode(&message) else {
        panic!("no message")
    };
    assert_eq!(document, ID);
    // Types of later versions, with fields of any form.
    let unknown = frame(&[("type", "subduction")], &["6164820102", "6165a0"]);
    assert_eq!(Message::decode(&unknown), Ok(Message::Unknown { kind: "subduction".into() }));
    assert_eq!(
        Message::decode(&frame(&[("type", "leave"), ("senderId", "a")], &[])),
        Ok(Message::Leave { sender: "a".into() })
    );
}

#[test]
fn rejects_missing_and_excess_data() {
    let error_text = |frame: &[u8]| Message::decode(frame).expect_err("not sound").to_string();
    assert_eq!(error_text(&hex::decode("a0")), "it lacks the field type");
    assert_eq!(error_text(&hex::decode("a16474797065f7")), "it lacks the field type");
    assert_eq!(error_text(&hex::decode("a164747970656473796e63")), "it lacks the field senderId");
    assert_eq!(error_text(&hex::decode("a2647479706561786474797065617a")), "it has the field \"type\" twice");
    let field = |value: &[u8]| [&hex::decode("a16178")[..], value].concat();
    let deep = "it has more than 64 nested values";
    assert_eq!(error_text(&field(&[0x9f; 1000])), deep);
    assert_eq!(error_text(&field(&[0xc1; 1000])), deep);
    let many: Vec<u8> = (0..100).flat_map(|number| [0x61, number, 0]).collect();
    assert_eq!(error_text(&[&[0xbf][..], &many].concat()), "it has more than 64 fields");
    // Those that end official servers are the first.
    for frame in ["f6", "f7", "01", "", "ffff", "00", "80", "ff", "a1", "a101", "bf", "a16178ff"] {
        assert!(Message::decode(&hex::decode(frame)).is_err(), "{frame}");
    }
    for frame in ["bb00ffffffffffffff", "a161789bffffffffffffffff"] {
        assert!(Message::decode(&hex::decode(frame)).is_err(), "{frame}");
    }
    assert!(Message::decode(&field(&hex::decode("5bffffffffffffffff00"))).is_err());
    let join = frame(&[("type", "join")], &[]);
    assert_eq!(Message::decode(&join), Err(DecodeError::Missing("senderId")));
    // Long lists.
    let subscription = [("type", "remote-subscription-change"), ("senderId", "a"), ("targetId", "b")];
    let list = |count: usize| format!("6361646499{count:04x}{}", "60".repeat(count));
    assert!(Message::decode(&frame(&subscription, &[&list(4096)])).is_ok());
    assert_eq!(
        Message::decode(&frame(&subscription, &[&list(4097)])),
        Err(DecodeError::Limit { what: "add", limit: 4096 })
    );
    let heads = "686e65774865616473a16173a26568656164738161786974696d657374616d7001";
    let changed =
        [("type", "remote-heads-changed"), ("senderId", "a"), ("targetId", "b"), ("documentId", "d")];
    assert_eq!(Message::decode(&frame(&changed, &[heads])), Err(DecodeError::Head("s".to_owned())));
}

#[test]
fn envelopes_tell_type_and_sender_of_faulty_messages() {
    let frame = frame(&[("type", "ephemeral"), ("senderId", "a")], &[]);
    let envelope = Envelope::decode(&frame).expect("a map with a type");
    assert_eq!((envelope.kind(), envelope.sender()), ("ephemeral", Ok(Some("a".into()))));
    assert_eq!(envelope.message(), Err(DecodeError::Missing("targetId")));
}

/// A random text, often empty, long or not ASCII.
fn text(rng: &mut Rng) -> Cow<'static, str> {
    let len = [0, 1, 5, 23, 24, 300][rng.below(6)];
    (0..len).map(|_| ['a', '\0', 'ß', '🙂'][rng.below(4)]).collect::<String>().into()
}

fn texts(rng: &mut Rng) -> Vec<Cow<'static, str>> {
    (0..rng.below(4)).map(|_| text(rng)).collect()
}

fn number(rng: &mut Rng) -> u64 {
    let bits = rng.below(54);
    rng.next_u64() & ((1 << bits) - 1)
}

fn metadata(rng: &mut Rng) -> PeerMetadata<'static> {
    PeerMetadata {
        storage_id: (rng.below(2) == 0).then(|| text(rng)),
        is_ephemeral: [None, Some(true), Some(false)][rng.below(3)],
    }
}

fn sync_body(rng: &mut Rng) -> SyncBody<'static> {
    let len = rng.below(70_000);
    SyncBody { sender: text(rng), target: text(rng), document: text(rng), data: rng.bytes(len).into() }
}

fn remote_heads(rng: &mut Rng, storage: usize) -> RemoteHeads<'static> {
    let heads =
        (0..rng.below(3)).map(|_| ChangeHash(std::array::from_fn(|_| rng.below(256) as u8))).collect();
    RemoteHeads { storage: format!("{storage}").into(), heads, timestamp_ms: number(rng) }
}

fn message(rng: &mut Rng) -> Message<'static> {
    match rng.below(11) {
        0 => Message::Join {
            sender: text(rng),
            metadata: metadata(rng),
            versions: (rng.below(3) > 0).then(|| texts(rng)),
        },
        1 => Message::Peer {
            sender: text(rng),
            target: text(rng),
            metadata: metadata(rng),
            version: text(rng),
        },
        2 => Message::Leave { sender: text(rng) },
        3 => Message::Error {
            sender: (rng.below(2) == 0).then(|| text(rng)),
            target: (rng.below(2) == 0).then(|| text(rng)),
            message: text(rng),
        },
        4 => Message::Request(sync_body(rng)),
        5 => Message::Sync(sync_body(rng)),
        6 => Message::DocUnavailable { sender: text(rng), target: text(rng), document: text(rng) },
        7 => Message::Ephemeral(EphemeralBody {
            sender: text(rng),
            target: text(rng),
            document: text(rng),
            session: text(rng),
            count: number(rng),
            data: rng.bytes(100).into(),
        }),
        8 => Message::RemoteSubscriptionChange {
            sender: text(rng),
            target: text(rng),
            add: texts(rng),
            remove: texts(rng),
        },
        9 => Message::RemoteHeadsChanged {
            sender: text(rng),
            target: text(rng),
            document: text(rng),
            heads: (0..rng.below(4)).map(|storage| remote_heads(rng, storage)).collect(),
        },
        _ => Message::Unknown { kind: format!("later {}", text(rng)).into() },
    }
}

#[test]
fn random_messages_round_trip() {
    for seed in 0..size::of(2_000, 100_000) {
        let message = message(&mut Rng::new(seed));
        let frame = message.encode();
        assert_eq!(Message::decode(&frame).as_ref(), Ok(&message), "seed {seed}");
    }
}

/// Bytes, truncations and insertions, in frames of every type.
#[test]
fn mutated_frames_keep_their_meaning_or_are_errors() {
    let recorded: Vec<Vec<u8>> = frames().into_values().collect();
    let mut decoded = 0;
    for seed in 0..size::of(20_000, 1_000_000) {
        let mut rng = Rng::new(seed);
        let mut frame = match rng.below(2) {
            0 => recorded[rng.below(recorded.len())].clone(),
            _ => message(&mut rng).encode(),
        };
        frame.truncate(2_000);
        for _ in 0..1 + rng.below(3) {
            let at = rng.below(frame.len());
            match rng.below(4) {
                0 => frame[at] = rng.below(256) as u8,
                1 => frame[at] ^= 1 << rng.below(8),
                2 => drop(frame.remove(at)),
                _ => frame.insert(at, rng.below(256) as u8),
            }
            frame.extend(frame.is_empty().then_some(0));
        }
        if let Ok(message) = Message::decode(&frame) {
            decoded += 1;
            assert_eq!(Message::decode(&message.encode()).as_ref(), Ok(&message), "seed {seed}");
        }
    }
    assert!(decoded > 1_000, "only {decoded} frames were still messages");
}
