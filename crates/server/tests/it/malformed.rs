//! Input of clients that break the protocol: it costs their own socket at most.

use hashmill_repo::Message;
use hashmill_repo::message::PeerMetadata;
use hashmill_server::CloseReason;
use hashmill_testkit::{hex, size};

use crate::{Server, client, id};

fn join(peer: &str) -> Vec<u8> {
    let (metadata, versions) = (PeerMetadata::default(), Some(vec!["1".into()]));
    Message::Join { sender: peer.into(), metadata, versions }.encode()
}

/// Frames that ended or stopped other servers, with whether they end their socket.
fn frames() -> Vec<(&'static str, Vec<u8>, bool)> {
    let text = |text: &str| text.as_bytes().to_vec();
    let without_sender = [&[0xa1, 0x64][..], b"type", &[0x64], b"join"].concat();
    let sync = |document: &str, data: &[u8]| {
        let body = hashmill_repo::message::SyncBody {
            sender: "bad".into(),
            target: "srv".into(),
            document: document.to_owned().into(),
            data: data.to_vec().into(),
        };
        Message::Sync(body).encode()
    };
    vec![
        ("null", vec![0xf6], true),
        ("undefined", vec![0xf7], true),
        ("a number", vec![0x01], true),
        ("nothing", vec![], true),
        ("break codes", vec![0xff, 0xff], true),
        ("a text", text("hello"), true),
        ("a join without sender", without_sender, true),
        ("a deep nest", vec![0x81; 100_000], true),
        ("an unknown type", Message::Unknown { kind: "hello".into() }.encode(), false),
        ("a leave", Message::Leave { sender: "bad".into() }.encode(), false),
        ("no document id", sync("zzz", &[0x42, 0, 0, 0, 0]), false),
        ("no sync message", sync(&id().to_string(), &[1, 2, 3]), false),
        ("an empty sync message", sync(&id().to_string(), &[]), false),
    ]
}

#[test]
fn bad_frames_end_their_own_socket_alone() {
    for (name, frame, ends_before_join) in frames() {
        for joins in [false, true] {
            let mut server = Server::new();
            let (good, bad) = (server.open(1), server.open(2));
            let mut other = client("good", 3);
            server.settle(good, &mut other);
            if joins {
                server.receive(bad, &join("bad"));
            }
            server.receive(bad, &frame);
            let expected: Vec<_> =
                ends_before_join.then_some((bad, CloseReason::Malformed)).into_iter().collect();
            assert_eq!(server.closed, expected, "{name}, joined: {joins}");
            // The server lives, and the other client goes on.
            crate::edit(&mut other, 9);
            server.settle(good, &mut other);
            assert!(server.core.usage().sockets >= 1, "{name}");
            let heads = other.document(&id()).expect("it was added").get_heads();
            let conversation = other.conversation(&id()).expect("it was added");
            assert_eq!(conversation.their_heads(), Some(&heads[..]), "{name}, joined: {joins}");
        }
    }
}

/// Every frame of a sound conversation, cut at every byte and with every byte changed.
#[test]
fn changed_frames_are_survived() {
    let mut recorded = vec![join("bad")];
    let mut server = Server::new();
    let socket = server.open(1);
    let mut writer = client("bad", 3);
    while let Some(frame) = writer.to_send(server.now) {
        server.receive(socket, &frame);
        recorded.push(frame);
        for frame in server.frames(socket) {
            writer.received(&frame, server.now).expect("no violation");
        }
    }
    let step = size::of(7, 1);
    for frame in &recorded {
        for offset in (0..frame.len()).step_by(step) {
            let mut server = Server::new();
            let socket = server.open(1);
            server.receive(socket, &join("bad"));
            server.receive(socket, &frame[..offset]);
            let socket = server.open(2);
            server.receive(socket, &join("bad"));
            let mut changed = frame.clone();
            changed[offset] ^= 0x11;
            server.receive(socket, &changed);
            server.receive(socket, &join("bad"));
            assert!(server.core.usage().sockets <= 2);
        }
    }
}

#[test]
fn endless_bad_messages_end_the_socket() {
    let mut server = Server::new();
    let socket = server.open(1);
    server.receive(socket, &join("bad"));
    let (_, frame, _) = frames().swap_remove(11);
    for _ in 0..100 {
        server.receive(socket, &frame);
    }
    assert_eq!(server.closed, [(socket, CloseReason::NoProgress)]);
}

#[test]
fn golden_joins_are_answered() {
    for frame in [
        // With a storage, and without one, by automerge-repo 2.5.6.
        "b900046474797065646a6f696e6873656e646572496465636c692d616c706565724d65746164617461b900026973746f726167654964782436356338343233352d666630382d343839642d396430372d3263313235363536333366666b6973457068656d6572616cf47819737570706f7274656450726f746f636f6c56657273696f6e73816131",
        "b900046474797065646a6f696e6873656e646572496465636c692d626c706565724d65746164617461b900026973746f726167654964f76b6973457068656d6572616cf57819737570706f7274656450726f746f636f6c56657273696f6e73816131",
    ] {
        let mut server = Server::new();
        let socket = server.open(1);
        server.receive(socket, &hex::decode(frame));
        assert_eq!(server.kinds(socket), ["peer"]);
    }
}
