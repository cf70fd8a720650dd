//! Frames that the reference implementation sent: decoding gives their meaning, and encoding keeps it.

use std::collections::BTreeMap;

use hashmill_doc::sync::Message as SyncMessage;
use hashmill_doc::{Document, ReadDoc as _};
use hashmill_repo::message::{DecodeError, EphemeralBody, PeerMetadata, RemoteHeads, SyncBody};
use hashmill_repo::{Conversation, Message, SyncStatus};
use hashmill_testkit::hex;

use crate::ID;

/// The frames by name.
pub(crate) fn frames() -> BTreeMap<&'static str, Vec<u8>> {
    let lines =
        include_str!("../data/automerge-repo-2.5.6.txt").lines().filter(|line| !line.starts_with('#'));
    let frame = |line: &'static str| {
        let (name, digits) = line.split_once(' ').expect("a name and digits");
        (name, hex::decode(digits))
    };
    lines.map(frame).collect()
}

const DOCUMENT: &str = "4VNSEjuC2AHmKGKEK27f1aBErpCV";
const CLIENT_STORAGE: &str = "65c84235-ff08-489d-9d07-2c12565633ff";
const SERVER_STORAGE: &str = "6538dcaa-8264-4cd2-a865-2a045e045ae2";
const HEAD: &str = "4a3a8ea021ef0ef93fb0bae2d63a2f75be076e120018e5ef0b40db86d472fd47";

/// The head in the frame `remote-heads-changed`.
const CHANGED_HEAD: &str = "ba13cc6d75d1ac6ba594680394420298168965e574b2cbdc07c9e98e3ad9cfa6";

fn metadata(storage: Option<&str>) -> PeerMetadata<'_> {
    PeerMetadata { storage_id: storage.map(Into::into), is_ephemeral: Some(storage.is_none()) }
}

fn sync<'b>(sender: &'b str, target: &'b str, document: &'b str, data: &str) -> SyncBody<'b> {
    SyncBody {
        sender: sender.into(),
        target: target.into(),
        document: document.into(),
        data: hex::decode(data).into(),
    }
}

fn ephemeral<'b>(sender: &'b str, target: &'b str) -> Message<'b> {
    Message::Ephemeral(EphemeralBody {
        sender: sender.into(),
        target: target.into(),
        document: DOCUMENT.into(),
        session: "mxnl34r0hg".into(),
        count: 1,
        data: hex::decode("b9000166637572736f7203").into(),
    })
}

/// The meaning of each frame, as written down from a reading of its bytes.
fn meanings() -> Vec<(&'static str, Message<'static>)> {
    let versions = || Some(vec!["1".into()]);
    vec![
        (
            "join-with-storage",
            Message::Join {
                sender: "cli-a".into(),
                metadata: metadata(Some(CLIENT_STORAGE)),
                versions: versions(),
            },
        ),
        (
            "join-without-storage",
            Message::Join { sender: "cli-b".into(), metadata: metadata(None), versions: versions() },
        ),
        (
            "peer",
            Message::Peer {
                sender: "srv".into(),
                target: "cli-a".into(),
                metadata: metadata(Some(SERVER_STORAGE)),
                version: "1".into(),
            },
        ),
        (
            "create-1-sync",
            Message::Sync(sync("cli-a", "srv", DOCUMENT, &format!("4201{HEAD}00010005010a07220d00020284"))),
        ),
        (
            "create-2-sync",
            Message::Sync(sync("srv", "cli-a", DOCUMENT, &format!("430001{HEAD}01000000020284"))),
        ),
        (
            "create-4-sync",
            Message::Sync(sync("srv", "cli-a", DOCUMENT, &format!("4301{HEAD}000101{HEAD}0000020284"))),
        ),
        ("request", Message::Request(sync("cli-b", "srv", DOCUMENT, "42000001000000020284"))),
        (
            "doc-unavailable",
            Message::DocUnavailable { sender: "srv".into(), target: "cli-b".into(), document: ID.into() },
        ),
        ("ephemeral", ephemeral("cli-a", "srv")),
        ("ephemeral-relayed", ephemeral("cli-a", "cli-b")),
        ("ephemeral-echo", ephemeral("cli-a", "srv")),
        (
            "remote-subscription-change",
            Message::RemoteSubscriptionChange {
                sender: "cli-a".into(),
                target: "srv".into(),
                add: vec![SERVER_STORAGE.into()],
                remove: vec![],
            },
        ),
        (
            "remote-heads-changed",
            Message::RemoteHeadsChanged {
                sender: "srv".into(),
                target: "cli-b".into(),
                document: DOCUMENT.into(),
                heads: vec![RemoteHeads { storage: CLIENT_STORAGE.into(), heads: vec![], timestamp_ms: 0 }],
            },
        ),
        (
            "error",
            Message::Error {
                sender: Some("srv".into()),
                target: Some("bad".into()),
                message: "unsupported protocol version".into(),
            },
        ),
    ]
}

#[test]
fn frames_have_their_meaning() {
    let frames = frames();
    let mut known = vec!["create-3-sync"];
    for (name, meaning) in meanings() {
        known.push(name);
        let mut message = Message::decode(&frames[name]).expect(name);
        if let Message::RemoteHeadsChanged { heads, .. } = &mut message {
            // A float: 28 November 2026.
            assert_eq!(heads[0].timestamp_ms / 86_400_000, 20_785);
            let changed = std::mem::take(&mut heads[0].heads);
            assert_eq!(changed.iter().map(ToString::to_string).collect::<Vec<_>>(), [CHANGED_HEAD]);
            heads[0].timestamp_ms = 0;
        }
        assert_eq!(message, meaning, "{name}");
    }
    known.sort_unstable();
    assert_eq!(known, frames.keys().copied().collect::<Vec<_>>());
}

#[test]
fn encoded_frames_have_the_same_meaning() {
    for (name, frame) in frames() {
        let message = Message::decode(&frame).expect(name);
        let encoded = message.encode();
        assert_eq!(Message::decode(&encoded).expect(name), message, "{name}");
        // The shortest headers, and no absent fields.
        assert!(encoded.len() < frame.len(), "{name}: {} of {}", encoded.len(), frame.len());
    }
}

#[test]
fn every_cut_is_an_error() {
    for (name, frame) in frames() {
        for end in 0..frame.len() {
            assert!(Message::decode(&frame[..end]).is_err(), "{name} {end}");
        }
        let longer = [&frame[..], &[0]].concat();
        assert_eq!(Message::decode(&longer), Err(DecodeError::Rest(1)), "{name}");
    }
}

#[test]
fn recorded_exchange_brings_the_document() {
    let frames = frames();
    let data = |name: &str| match Message::decode(&frames[name]).expect(name) {
        Message::Sync(body) => body.data.into_owned(),
        other => panic!("{name}: {other:?}"),
    };
    // As the server: all that the client sent is answered as the server did.
    let (mut doc, mut conversation) = (Document::new(), Conversation::new());
    conversation.receive(&mut doc, &data("create-1-sync")).expect("sound");
    let ask = conversation.next_message(&doc).expect("an answer");
    let [sent, recorded] =
        [&ask.data[..], &data("create-2-sync")].map(|data| SyncMessage::decode(data).expect("sound"));
    assert_eq!((sent.heads, sent.need), (recorded.heads, recorded.need));
    let received = conversation.receive(&mut doc, &data("create-3-sync")).expect("sound");
    assert_eq!((received.changes, received.refused.len()), (1, 0));
    assert_eq!(doc.get_heads()[0].to_string(), HEAD);
    assert!(doc.get(hashmill_doc::ROOT, "hello").expect("a map").is_some());
    assert_eq!(conversation.status(&doc), SyncStatus::InSync);
    let done = conversation.next_message(&doc).expect("an answer");
    let [sent, recorded] =
        [&done.data[..], &data("create-4-sync")].map(|data| SyncMessage::decode(data).expect("sound"));
    assert_eq!((sent.heads, sent.need, sent.changes), (recorded.heads, recorded.need, recorded.changes));
    assert_eq!(conversation.next_message(&doc), None);
}
