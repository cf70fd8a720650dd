//! The protocol as clients see it.

use hashmill_doc::sync::{Message as SyncMessage, MessageFlags};
use hashmill_doc::{Document, ROOT, Transactable as _};
use hashmill_repo::message::{EphemeralBody, PeerMetadata, SyncBody};
use hashmill_repo::{DocumentId, Event as ClientEvent, Message, SyncStatus};
use hashmill_server::{Access, CloseReason, Event, SocketId};

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
fn a_denied_document_looks_like_an_absent_one() {
    let answers = |access: Access| {
        let mut server = Server::new();
        let (owner, other) = (server.open(1), server.open(2));
        if access == Access::Denied {
            server.settle(owner, &mut client("owner", 2));
        }
        server.step(Event::AccessChanged(other, access));
        let mut asker = client("asker", 0);
        while let Some(frame) = asker.to_send(server.now) {
            server.receive(other, &frame);
            if !asker.is_ready() {
                for frame in server.frames(other) {
                    asker.received(&frame, server.now).expect("no violation");
                }
            }
        }
        server.frames(other)
    };
    let [absent, denied] = [Access::Write, Access::Denied].map(answers);
    assert_eq!(absent, denied);
    assert_eq!(absent.len(), 1);
}

/// Official servers and clients then exchange messages without end.
#[test]
fn edits_without_access_arrive_when_it_returns() {
    let mut server = Server::new();
    let (socket, other) = (server.open(1), server.open(2));
    let (mut ann, mut ben) = (client("ann", 1), client("ben", 0));
    server.settle(socket, &mut ann);
    server.settle(other, &mut ben);
    server.step(Event::AccessChanged(socket, Access::Denied));
    server.settle(socket, &mut ann);
    edit(&mut ann, 5);
    edit(&mut ben, 6);
    server.settle(socket, &mut ann);
    server.settle(other, &mut ben);
    let conversation = ann.conversation(&id()).expect("it was added");
    assert!(conversation.is_unavailable());
    server.step(Event::AccessChanged(socket, Access::Write));
    let frames = server.settle(socket, &mut ann);
    assert!(frames < 10, "{frames} frames");
    server.settle(other, &mut ben);
    let [ann, ben] = [ann, ben].map(|client| client.document(&id()).expect("it was added").get_heads());
    assert_eq!(ann, ben);
}

/// It has nothing that it could have sent in vain, so it would not answer a message that tells it to send that again.
#[test]
fn clients_without_changes_get_a_document_when_access_is_given() {
    let mut server = Server::new();
    let owner = server.open(1);
    server.settle(owner, &mut client("owner", 2));
    for access in [Access::Read, Access::Write] {
        let socket = SocketId(2 + access as u64);
        server.step(Event::SocketOpened(socket, Access::Denied));
        let mut asker = client("asker", 0);
        server.settle(socket, &mut asker);
        assert!(asker.conversation(&id()).expect("it was added").is_unavailable());
        server.step(Event::AccessChanged(socket, access));
        server.settle(socket, &mut asker);
        assert_eq!(asker.status(&id()), Some(SyncStatus::InSync), "{access:?}");
    }
}

/// A message without heads tells an older client to send everything again, and one without changes does not answer it.
#[test]
fn older_clients_without_changes_get_a_document_after_lost_messages() {
    let mut server = Server::new();
    let (owner, older) = (server.open(1), server.open(2));
    let (metadata, versions) = (PeerMetadata::default(), Some(vec!["1".into()]));
    server.receive(older, &Message::Join { sender: "older".into(), metadata, versions }.encode());
    let request = || {
        let mut message = SyncMessage::default();
        message.flags = Some(MessageFlags::new());
        let data = message.encode();
        let (sender, target, document) = ("older".into(), "srv".into(), id().to_string().into());
        Message::Request(SyncBody { sender, target, document, data: data.into() }).encode()
    };
    server.receive(older, &request());
    server.step(Event::AccessChanged(older, Access::Denied));
    server.receive(older, &request());
    server.settle(owner, &mut client("owner", 2));
    server.frames(older);
    server.step(Event::AccessChanged(older, Access::Write));
    let names_heads = |frame: &Vec<u8>| match Message::decode(frame).expect("sound") {
        Message::Sync(body) => !SyncMessage::decode(&body.data).expect("sound").heads.is_empty(),
        other => panic!("{other:?}"),
    };
    assert!(server.frames(older).iter().any(names_heads));
}

#[test]
fn clients_without_write_access_only_read() {
    let mut server = Server::new();
    let (socket, other) = (server.open(1), server.open(2));
    server.step(Event::AccessChanged(socket, Access::Read));
    let (mut reader, mut writer) = (client("reader", 2), client("writer", 1));
    server.settle(socket, &mut reader);
    server.settle(other, &mut writer);
    server.settle(socket, &mut reader);
    assert_eq!(reader.status(&id()), Some(SyncStatus::ReadOnlyPeer));
    let changes =
        |client: &hashmill_repo::Client| client.document(&id()).expect("it was added").stats().changes;
    assert_eq!((changes(&reader), changes(&writer)), (3, 1));
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
    let place = echo.windows(5).position(|bytes| bytes == b"count").expect("a count") + 5;
    echo[place] = 0xf6;
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
