//! Rights: per document, changed on open sockets, and documents that look absent.

use std::sync::Arc;
use std::time::Duration;

use hashmill_doc::sync::{Message as SyncMessage, MessageFlags};
use hashmill_doc::{ActorId, Document, ROOT, Transactable as _};
use hashmill_repo::message::{PeerMetadata, SyncBody};
use hashmill_repo::{Client, DocumentId, Message, SyncStatus};
use hashmill_server::{Access, Action, CloseReason, Config, Core, Event, Identity, SocketId, StoredDocument};

use crate::{Server, client, edit, id};

fn other_id() -> DocumentId {
    DocumentId::from_random_bytes([9; 16])
}

/// An identity with an access to each of two documents, and none to others.
fn identity(first: &str, second: &str) -> Identity {
    let mut identity = Identity::new("ann", Access::Denied);
    for (document, rule) in [(id(), first), (other_id(), second)] {
        identity.rules.insert(document, rule.parse().expect("a right"));
    }
    identity
}

/// A client with both documents.
fn client_of_two(name: &str, changes: i64) -> Client {
    let mut client = client(name, changes);
    client.add(other_id(), Document::new().with_actor(ActorId::from(name.as_bytes())));
    edit_other(&mut client, changes);
    client
}

fn edit_other(client: &mut Client, changes: i64) {
    let doc = client.document_mut(&other_id()).expect("it was added");
    for _ in 0..changes {
        // Another value each time: the same one would be no change.
        let value = doc.stats().changes + 1;
        doc.transact(|tx| tx.put(ROOT, "other", value)).expect("there is room");
    }
}

fn changes(client: &Client, document: &DocumentId) -> u64 {
    client.document(document).expect("it was added").stats().changes
}

#[test]
fn a_denied_document_looks_like_an_absent_one() {
    let answers = |access: Access| {
        let mut server = Server::new();
        let (owner, other) = (server.open(1), server.open(2));
        if access == Access::Denied {
            server.settle(owner, &mut client("owner", 2));
        }
        server.allow(other, access);
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
    server.allow(socket, Access::Denied);
    server.settle(socket, &mut ann);
    edit(&mut ann, 5);
    edit(&mut ben, 6);
    server.settle(socket, &mut ann);
    server.settle(other, &mut ben);
    let conversation = ann.conversation(&id()).expect("it was added");
    assert!(conversation.is_unavailable());
    server.allow(socket, Access::Write);
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
        let socket = server.open_with(2 + access as u64, Identity::new("all", Access::Denied));
        let mut asker = client("asker", 0);
        server.settle(socket, &mut asker);
        assert!(asker.conversation(&id()).expect("it was added").is_unavailable());
        server.allow(socket, access);
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
    server.allow(older, Access::Denied);
    server.receive(older, &request());
    server.settle(owner, &mut client("owner", 2));
    server.frames(older);
    server.allow(older, Access::Write);
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
    server.allow(socket, Access::Read);
    let (mut reader, mut writer) = (client("reader", 2), client("writer", 1));
    server.settle(socket, &mut reader);
    server.settle(other, &mut writer);
    server.settle(socket, &mut reader);
    assert_eq!(reader.status(&id()), Some(SyncStatus::ReadOnlyPeer));
    let changes = |client: &Client| client.document(&id()).expect("it was added").stats().changes;
    assert_eq!((changes(&reader), changes(&writer)), (3, 1));
}

#[test]
fn each_document_has_its_own_right() {
    let mut server = Server::new();
    let owner = server.open(1);
    let mut ann = client_of_two("ann", 2);
    server.settle(owner, &mut ann);
    for (first, second, expected) in [
        ("none", "none", [(0, 2), (0, 2)]),
        ("none", "read", [(0, 2), (3, 2)]),
        ("read", "none", [(3, 2), (0, 2)]),
        ("read", "write", [(3, 2), (3, 3)]),
        ("write", "write", [(3, 3), (3, 3)]),
    ] {
        let mut server = Server { stored: server.stored.clone(), ..Server::new() };
        let socket = server.open_with(2, identity(first, second));
        let mut ben = client_of_two("ben", 1);
        server.settle(socket, &mut ben);
        let mut cat = client_of_two("cat", 0);
        let owner = server.open(3);
        server.settle(owner, &mut cat);
        for (document, (received, stored)) in [id(), other_id()].iter().zip(expected) {
            // A denied client has its own change alone.
            assert_eq!(changes(&ben, document), received.max(1), "{first} {second}");
            assert_eq!(changes(&cat, document), stored, "{first} {second}");
        }
    }
}

/// A change of rights on one document disturbs the exchange of no other: frames about it that wait for the storage still leave.
#[test]
fn rights_of_one_document_change_that_one_alone() {
    let mut server = Server::new();
    let (first, second) = (server.open(1), server.open(2));
    let (mut ann, mut ben) = (client_of_two("ann", 1), client_of_two("ben", 0));
    server.settle(first, &mut ann);
    server.settle(second, &mut ben);
    server.holds_appends = true;
    edit(&mut ann, 2);
    edit_other(&mut ann, 1);
    server.settle(first, &mut ann);
    server.step(Event::RightsChanged(first, Arc::new(identity("none", "write"))));
    server.holds_appends = false;
    while let Some((batch, chunks)) = server.appends.pop() {
        server.stored.extend(chunks.into_iter().map(|chunk| (chunk.key, chunk.bytes)));
        server.step(Event::Appended(batch, Ok(())));
    }
    let frames = server.settle(first, &mut ann);
    assert!(frames < 10, "{frames} frames");
    server.settle(second, &mut ben);
    assert_eq!(ann.status(&other_id()), Some(SyncStatus::InSync));
    let conversation = ann.conversation(&id()).expect("it was added");
    assert!(conversation.is_unavailable());
    // What was stored before stays, and reaches others.
    assert_eq!((changes(&ben, &id()), changes(&ben, &other_id())), (2, 2));
    server.step(Event::RightsChanged(first, Arc::new(identity("read", "write"))));
    server.settle(first, &mut ann);
    assert_eq!(ann.status(&id()), Some(SyncStatus::InSync));
}

#[test]
fn announced_documents_come_unasked_and_only_when_they_exist() {
    let mut server = Server::new();
    let socket = server.open_with(1, identity("announce", "write"));
    let mut listener = client("listener", 0);
    listener.remove(&id());
    server.settle(socket, &mut listener);
    assert!(server.frames(socket).is_empty(), "an absent document is not announced");
    let owner = server.open(2);
    server.settle(owner, &mut client_of_two("ann", 1));
    assert_eq!(server.kinds(socket), ["sync"], "the announced document alone");
    // Also at once to a client that connects later, and when the right is given to an open socket.
    let late = server.open_with(3, identity("announce", "write"));
    let mut client = client("late", 0);
    client.remove(&id());
    let join = client.to_send(server.now).expect("a join");
    server.receive(late, &join);
    assert_eq!(server.kinds(late), ["peer", "sync"]);
    server.step(Event::RightsChanged(late, Arc::new(identity("announce", "announce"))));
    assert_eq!(server.kinds(late), ["sync"]);
}

#[test]
fn ended_rights_close_the_socket() {
    let mut server = Server::new();
    let (socket, other) = (server.open(1), server.open(2));
    let (mut ann, mut ben) = (client("ann", 1), client("ben", 0));
    server.settle(socket, &mut ann);
    server.settle(other, &mut ben);
    server.step(Event::RightsEnded(socket));
    assert_eq!(server.closed, [(socket, CloseReason::Unauthorized)]);
    edit(&mut ben, 3);
    server.settle(other, &mut ben);
    edit(&mut ann, 4);
    while let Some(frame) = ann.to_send(server.now) {
        server.receive(socket, &frame);
    }
    server.step(Event::RightsEnded(socket));
    assert!(server.frames(socket).is_empty());
    assert_eq!(server.closed.len(), 1);
    assert_eq!(changes(&ben, &id()), 2);
}

/// Both answers follow one load, so their times do not tell a denied document from an absent one.
#[test]
fn a_denied_document_is_looked_for_like_an_absent_one() {
    let steps = |access: Access| {
        let mut core = Core::new(Config::new("srv", "5638dcaa-8264-4cd2-a865-2a045e045ae2"));
        let mut kinds = Vec::new();
        let socket = SocketId(1);
        let mut asker = client("asker", 0);
        let mut actions = Vec::new();
        let opened = Event::SocketOpened(socket, Arc::new(Identity::new("asker", access)));
        core.step(Duration::ZERO, opened, &mut actions);
        let join = asker.to_send(Duration::ZERO).expect("a join");
        core.step(Duration::ZERO, Event::FrameReceived(socket, join), &mut actions);
        let mut frames = Vec::new();
        // Three messages: two before the load, one after it.
        for _ in 0..4 {
            let loads = actions.iter().find_map(|action| match action {
                Action::Load(request, _) => Some(*request),
                _ => None,
            });
            for action in actions.drain(..) {
                match action {
                    Action::Send(_, frame) => {
                        asker.received(&frame, Duration::ZERO).expect("no violation");
                        kinds.push(crate::kind(&Message::decode(&frame).expect("a message")));
                    }
                    Action::Load(..) => kinds.push("load"),
                    Action::WakeAt(_) | Action::Relay(..) => {}
                    other => panic!("{other:?}"),
                }
            }
            frames.extend(asker.to_send(Duration::ZERO));
            core.step(Duration::ZERO, Event::FrameReceived(socket, frames[0].clone()), &mut actions);
            if let Some(request) = loads {
                core.step(
                    Duration::ZERO,
                    Event::Loaded(request, Ok(StoredDocument::default())),
                    &mut actions,
                );
            }
        }
        kinds
    };
    let [absent, denied] = [Access::Write, Access::Denied].map(steps);
    assert_eq!(absent, denied);
    assert_eq!(absent[..3], ["peer", "load", "doc-unavailable"]);
}
