//! The protocol as clients see it.

use std::time::Duration;

use hashmill_doc::{Document, ROOT, Transactable as _};
use hashmill_repo::message::{EphemeralBody, PeerMetadata};
use hashmill_repo::{DocumentId, Event as ClientEvent, Message, SyncStatus};
use hashmill_server::{Access, CloseReason, Event};

use crate::{Server, client, edit, id};

#[test]
fn an_edit_reaches_the_others_and_a_restart() {
    let mut server = Server::new();
    let (first, second) = (server.open(1), server.open(2));
    let (mut ann, mut ben) = (client("ann", 3), client("ben", 0));
    server.settle(first, &mut ann);
    server.settle(second, &mut ben);
    edit(&mut ann, 7);
    // The change, and the confirmation.
    assert_eq!(server.settle(first, &mut ann), 2);
    assert_eq!(server.settle(second, &mut ben), 2);
    let heads = |client: &hashmill_repo::Client| client.document(&id()).expect("it was added").get_heads();
    assert_eq!(heads(&ann), heads(&ben));
    let mut server = server.restarted();
    let socket = server.open(1);
    let mut cat = client("cat", 0);
    server.settle(socket, &mut cat);
    assert_eq!(heads(&ann), heads(&cat));
}

#[test]
fn an_absent_document_is_sent_when_it_appears() {
    let mut server = Server::new();
    let (first, second) = (server.open(1), server.open(2));
    let (mut asker, mut maker) = (client("asker", 0), client("maker", 2));
    server.settle(first, &mut asker);
    let mut events = std::iter::from_fn(|| asker.next_event());
    assert!(events.any(|event| matches!(event, ClientEvent::Unavailable { was_known: false, .. })));
    server.settle(second, &mut maker);
    assert!(!server.sent.is_empty(), "unasked");
    server.settle(first, &mut asker);
    assert_eq!(asker.status(&id()), Some(SyncStatus::InSync));
}

#[test]
fn a_second_join_of_one_peer_replaces_the_first() {
    let mut server = Server::new();
    let (first, second) = (server.open(1), server.open(2));
    let mut ann = client("ann", 2);
    server.settle(first, &mut ann);
    ann.connect();
    server.settle(second, &mut ann);
    assert_eq!(server.closed, [(first, CloseReason::Replaced)]);
    assert_eq!(ann.status(&id()), Some(SyncStatus::InSync));
    // Late news of the first socket changes nothing.
    server.step(Event::SocketClosed(first));
    edit(&mut ann, 3);
    server.settle(second, &mut ann);
    assert_eq!(ann.status(&id()), Some(SyncStatus::InSync));
}

#[test]
fn other_versions_of_the_protocol_are_refused() {
    let mut server = Server::new();
    let socket = server.open(1);
    let join = |versions| {
        let versions: Option<Vec<_>> = versions;
        Message::Join { sender: "ann".into(), metadata: PeerMetadata::default(), versions }.encode()
    };
    server.receive(socket, &join(None));
    assert_eq!(server.kinds(socket), ["peer"]);
    let socket = server.open(2);
    server.receive(socket, &join(Some(vec!["2".into()])));
    assert_eq!(server.kinds(socket), ["error"]);
    assert_eq!(server.closed, [(socket, CloseReason::Version)]);
}

fn ephemeral(sender: &str, count: u64) -> Vec<u8> {
    let document = id().to_string().into();
    let (target, session) = ("srv".into(), "session".into());
    let data = vec![0xa0].into();
    Message::Ephemeral(EphemeralBody { sender: sender.into(), target, document, session, count, data })
        .encode()
}

#[test]
fn messages_between_users_reach_all_others_once() {
    let mut server = Server::new();
    let names = ["ann", "ben", "cat"];
    let sockets = [1, 2, 3].map(|number| server.open(number));
    for (name, socket) in names.iter().zip(sockets).take(2) {
        server.settle(socket, &mut client(name, 1));
    }
    // Joined, but without the document.
    let mut cat = client("cat", 0);
    cat.remove(&id());
    server.settle(sockets[2], &mut cat);
    server.sent.clear();
    server.receive(sockets[0], &ephemeral("ann", 1));
    let received = server.frames(sockets[1]);
    let expected = match Message::decode(&ephemeral("ann", 1)).expect("sound") {
        Message::Ephemeral(body) => {
            Message::Ephemeral(EphemeralBody { target: "ben".into(), ..body }).encode()
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(received, [expected]);
    assert!(server.sent.is_empty(), "not to the author, nor to clients without the document");
    // The receiver passes it back, the author repeats it, and a client without the document sends one.
    server.receive(sockets[1], &ephemeral("ann", 1));
    server.receive(sockets[0], &ephemeral("ann", 1));
    server.receive(sockets[2], &ephemeral("cat", 1));
    assert!(server.sent.is_empty());
    // An echo is dropped before it is decoded: its count is no number.
    let mut echo = ephemeral("ann", 1);
    let offset = echo.windows(5).position(|bytes| bytes == b"count").expect("a count") + 5;
    echo[offset] = 0xf6;
    server.receive(sockets[1], &echo);
    assert!(server.closed.is_empty());
    server.receive(sockets[0], &echo);
    assert_eq!(server.closed, [(sockets[0], CloseReason::Malformed)]);
}

#[test]
fn documents_of_any_id_length_are_synced() {
    let mut server = Server::new();
    let socket = server.open(1);
    let mut ann = client("ann", 0);
    let long = DocumentId::from_bytes(&[7; 32]).expect("a length in range");
    let mut doc = Document::new();
    doc.transact(|tx| tx.put(ROOT, "a", 1)).expect("there is room");
    ann.add(long.clone(), doc);
    server.settle(socket, &mut ann);
    assert_eq!(ann.status(&long), Some(SyncStatus::InSync));
}

/// As with automerge-repo 2.6, whose clients would otherwise report that there is no such document.
#[test]
fn a_client_that_asks_waits_while_another_one_sends_the_document() {
    // The other client sends it, goes, loses its right, or does nothing more.
    for course in ["sends", "goes", "is denied", "does nothing"] {
        let mut server = Server::new();
        let (first, second) = (server.open(1), server.open(2));
        let (mut ann, mut ben) = (client("ann", 2), client("ben", 0));
        let mut request = Vec::new();
        for (socket, client) in [(first, &mut ann), (second, &mut ben)] {
            let join = client.to_send(server.now).expect("a join");
            server.receive(socket, &join);
            let answers = server.frames(socket);
            answers.iter().for_each(|frame| drop(client.received(frame, server.now).expect("no violation")));
            request = client.to_send(server.now).expect("its heads, or a request");
            server.receive(socket, &request);
        }
        assert_eq!(server.kinds(second), [""; 0], "{course}: it waits");
        match course {
            "sends" => drop(server.settle(first, &mut ann)),
            "goes" => server.step(Event::SocketClosed(first)),
            "is denied" => server.allow(first, Access::Denied),
            _ => {
                server.now += Duration::from_secs(10);
                server.step(Event::TimerFired);
            }
        }
        assert_eq!(
            server.kinds(second),
            [if course == "sends" { "sync" } else { "doc-unavailable" }],
            "{course}"
        );
        // From now on, without a wait.
        if course != "sends" {
            server.receive(second, &request);
            assert_eq!(server.kinds(second), ["doc-unavailable"], "{course}");
        }
    }
}
