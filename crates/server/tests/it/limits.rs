//! Limits: rates, connections of an identity, sizes of documents, and quarantine.

use std::time::Duration;

use hashmill_doc::{Limits, ROOT, Transactable as _};
use hashmill_repo::{Client, DocumentId, SyncStatus};
use hashmill_server::{Access, CloseReason, Command, Event, Fact, Identity, Owner};
use hashmill_testkit::Rng;

use crate::{Server, client, edit, id};

fn put(client: &mut Client, document: &DocumentId, bytes: usize) {
    let doc = client.document_mut(document).expect("it was added");
    // It does not become shorter by compression.
    let value = Rng::new(1).bytes(bytes);
    doc.transact(|tx| tx.put(ROOT, "large", value)).expect("there is room");
}

fn changes(client: &Client) -> u64 {
    client.document(&id()).expect("it was added").stats().changes
}

/// The server reads it later, and no message is lost.
#[test]
fn fast_clients_are_read_later() {
    let mut server = Server::with(|config| config.messages_per_second = Some(10));
    let (fast, slow) = (server.open(1), server.open(2));
    let (mut ann, mut ben) = (client("ann", 1), client("ben", 0));
    server.settle(slow, &mut ben);
    let mut sent = 0;
    while server.paused.is_empty() {
        edit(&mut ann, sent);
        server.settle(fast, &mut ann);
        sent += 1;
    }
    assert!((5..30).contains(&sent), "{sent}: two seconds of ten messages at once");
    assert!(server.paused.contains(&fast), "not the other");
    // Messages that were read already are processed, and lengthen the pause.
    (0..10).for_each(|value| {
        edit(&mut ann, value);
        server.settle(fast, &mut ann);
    });
    assert_eq!(ann.status(&id()), Some(SyncStatus::InSync));
    let mut pause = Duration::ZERO;
    while !server.paused.is_empty() {
        pause += Duration::from_millis(10);
        server.now += Duration::from_millis(10);
        server.step(Event::TimerFired);
    }
    assert!(pause >= Duration::from_secs(1) && pause < Duration::from_secs(4), "{pause:?}");
    server.settle(slow, &mut ben);
    assert_eq!(changes(&ann), changes(&ben));
    // A socket that closes during its pause leaves nothing behind.
    while server.paused.is_empty() {
        edit(&mut ann, sent);
        server.settle(fast, &mut ann);
    }
    server.step(Event::SocketClosed(fast));
    server.now += Duration::from_secs(60);
    server.step(Event::TimerFired);
    assert!(server.paused.contains(&fast), "no action names a closed socket");
}

#[test]
fn an_identity_has_a_bounded_number_of_sockets() {
    let mut server = Server::with(|config| config.max_sockets_per_identity = 2);
    let open =
        |server: &mut Server, number, name| server.open_with(number, Identity::new(name, Access::Write));
    let first = open(&mut server, 1, "ann");
    open(&mut server, 2, "ann");
    open(&mut server, 3, "ben");
    let third = open(&mut server, 4, "ann");
    assert_eq!(server.closed, [(third, CloseReason::TooManySockets)]);
    server.step(Event::SocketClosed(first));
    open(&mut server, 5, "ann");
    assert_eq!((server.closed.len(), server.core.usage().sockets), (1, 3));
}

#[test]
fn a_document_that_is_full_is_read_and_others_are_unharmed() {
    let mut server = Server::with(|config| config.max_document_bytes = 10_000);
    let (first, second) = (server.open(1), server.open(2));
    let (mut ann, mut ben) = (client("ann", 1), client("ben", 0));
    let other = DocumentId::from_random_bytes([9; 16]);
    ben.add(other.clone(), hashmill_doc::Document::new());
    server.settle(first, &mut ann);
    server.settle(second, &mut ben);
    put(&mut ann, &id(), 11_000);
    let frames = server.settle(first, &mut ann);
    assert!(frames < 10, "{frames} frames");
    assert_eq!(ann.status(&id()), Some(SyncStatus::ReadOnlyPeer));
    let reason = "it would become larger than 10000 bytes".to_owned();
    assert_eq!(server.facts, [Fact::Quarantined { document: id(), reason }]);
    assert_eq!((server.core.usage().quarantined, server.core.counts().quarantines), (1, 1));
    // Others read it, and write to other documents.
    put(&mut ben, &other, 5_000);
    server.settle(second, &mut ben);
    assert_eq!(ben.status(&other), Some(SyncStatus::InSync));
    assert_eq!(changes(&ben), 1);
    // Afterwards, small changes are taken again, and the large one is refused again.
    edit(&mut ben, 7);
    server.settle(second, &mut ben);
    assert_eq!(ben.status(&id()), Some(SyncStatus::ReadOnlyPeer));
    server.step(Event::SocketClosed(first));
    server.now += Duration::from_secs(301);
    server.step(Event::TimerFired);
    let frames = server.settle(second, &mut ben);
    assert!(frames < 10, "{frames} frames");
    assert_eq!((ben.status(&id()), server.core.usage().quarantined), (Some(SyncStatus::InSync), 0));
    let third = server.open(3);
    ann.connect();
    server.settle(third, &mut ann);
    assert_eq!(ann.status(&id()), Some(SyncStatus::ReadOnlyPeer));
    assert_eq!(server.core.usage().quarantined, 1);
}

#[test]
fn a_quarantine_goes_on_for_a_document_that_left_memory() {
    let mut server = Server::with(|config| config.max_document_bytes = 10_000);
    let socket = server.open(1);
    let mut ann = client("ann", 1);
    server.settle(socket, &mut ann);
    put(&mut ann, &id(), 11_000);
    server.settle(socket, &mut ann);
    server.step(Event::SocketClosed(socket));
    server.now += Duration::from_secs(61);
    server.step(Event::TimerFired);
    assert_eq!((server.core.usage().documents, server.core.usage().quarantined), (0, 1));
    let mut ben = client("ben", 1);
    let socket = server.open(2);
    server.settle(socket, &mut ben);
    assert_eq!(ben.status(&id()), Some(SyncStatus::ReadOnlyPeer));
    assert_eq!(changes(&ben), 2, "it is read as before");
    server.now += Duration::from_secs(300);
    server.step(Event::TimerFired);
    server.settle(socket, &mut ben);
    assert_eq!((ben.status(&id()), server.core.usage().quarantined), (Some(SyncStatus::InSync), 0));
}

#[test]
fn refused_changes_put_their_document_into_quarantine_alone() {
    let limits = Limits { total: 5, ..Limits::default() };
    let mut server = Server::with(|config| config.document_limits = limits);
    let socket = server.open(1);
    let mut ann = client("ann", 8);
    let other = DocumentId::from_random_bytes([9; 16]);
    ann.add(other.clone(), hashmill_doc::Document::new());
    put(&mut ann, &other, 10);
    let frames = server.settle(socket, &mut ann);
    assert!(frames < 20, "{frames} frames");
    assert_eq!(ann.status(&id()), Some(SyncStatus::ReadOnlyPeer));
    assert_eq!(ann.status(&other), Some(SyncStatus::InSync));
    assert!(server.core.counts().refused_changes > 0);
    assert_eq!(server.core.counts().quarantines, 1);
    assert!(server.closed.is_empty());
}

/// The first client that changes a document owns it, and its bytes count for that one alone.
#[test]
fn an_identity_has_a_bounded_number_of_stored_bytes() {
    let mut server = Server::with(|config| config.max_stored_bytes_per_identity = Some(10_000));
    let first = server.open_with(1, Identity::new("ann", Access::Write));
    let second = server.open_with(2, Identity::new("ben", Access::Write));
    let (mut ann, mut ben) = (client("ann", 0), client("ben", 0));
    let [other, third] = [9, 8].map(|number| DocumentId::from_random_bytes([number; 16]));
    for client in [&mut ann, &mut ben] {
        client.add(other.clone(), hashmill_doc::Document::new());
        client.add(third.clone(), hashmill_doc::Document::new());
    }
    put(&mut ann, &id(), 6_000);
    server.settle(first, &mut ann);
    server.count_bytes();
    assert_eq!(ann.status(&id()), Some(SyncStatus::InSync));
    // Another document of the same identity.
    put(&mut ann, &other, 5_000);
    server.settle(first, &mut ann);
    assert_eq!(ann.status(&other), Some(SyncStatus::ReadOnlyPeer));
    let reason = "the documents of its owner “ann” would exceed 10000 bytes".to_owned();
    assert_eq!(server.facts, [Fact::Quarantined { document: other.clone(), reason }]);
    // A change of another client counts for the owner, too, and that client may make documents of its own. All read.
    server.settle(second, &mut ben);
    assert_eq!(changes(&ben), 1);
    put(&mut ben, &id(), 5_000);
    put(&mut ben, &third, 5_000);
    server.settle(second, &mut ben);
    assert_eq!(ben.status(&id()), Some(SyncStatus::ReadOnlyPeer));
    assert_eq!(ben.status(&third), Some(SyncStatus::InSync));
    // The count survives a restart, and a purge makes room.
    let mut server = Server {
        core: Server::with(|config| config.max_stored_bytes_per_identity = Some(10_000)).core,
        ..server.restarted()
    };
    let first = server.open_with(1, Identity::new("ann", Access::Write));
    let mut ann = client("ann", 0);
    ann.add(third.clone(), hashmill_doc::Document::new());
    server.settle(first, &mut ann);
    put(&mut ann, &id(), 5_000);
    server.settle(first, &mut ann);
    assert_eq!(ann.status(&id()), Some(SyncStatus::ReadOnlyPeer));
    server.command(Command::Delete { at: 1 });
    server.command(Command::Purge { deleted_until: 1 });
    server.step(Event::BytesCounted(vec![Owner { name: "ann".to_owned(), stored_bytes: 0 }]));
    let fresh = DocumentId::from_random_bytes([7; 16]);
    ann.add(fresh.clone(), hashmill_doc::Document::new());
    put(&mut ann, &fresh, 9_000);
    server.settle(first, &mut ann);
    assert_eq!(ann.status(&fresh), Some(SyncStatus::InSync));
}

/// The count of a client that connects while the storage fails is read later.
#[test]
fn a_count_that_could_not_be_read_is_requested_again() {
    let mut server = Server::new();
    let socket = server.open_with(1, Identity::new("ann", Access::Write));
    let mut ann = client("ann", 0);
    put(&mut ann, &id(), 9_000);
    server.settle(socket, &mut ann);
    let mut server = Server {
        core: Server::with(|config| config.max_stored_bytes_per_identity = Some(10_000)).core,
        unread_owners: 1,
        ..server.restarted()
    };
    let socket = server.open_with(1, Identity::new("ann", Access::Write));
    let mut ann = client("ann", 0);
    let [first, second] = [9, 8].map(|number| DocumentId::from_random_bytes([number; 16]));
    ann.remove(&id());
    for document in [&first, &second] {
        ann.add(document.clone(), hashmill_doc::Document::new());
    }
    put(&mut ann, &first, 10);
    server.settle(socket, &mut ann);
    assert_eq!(server.unread_owners, 0);
    put(&mut ann, &second, 5_000);
    server.settle(socket, &mut ann);
    assert_eq!(ann.status(&second), Some(SyncStatus::ReadOnlyPeer));
}

/// Documents from before there were owners, or imported ones, count for no identity.
#[test]
fn documents_without_an_owner_have_no_quota() {
    let mut server = Server::new();
    let socket = server.open(1);
    server.settle(socket, &mut client("ann", 1));
    server.owners.clear();
    let mut server = Server {
        core: Server::with(|config| config.max_stored_bytes_per_identity = Some(0)).core,
        ..server.restarted()
    };
    let socket = server.open(1);
    let mut ben = client("ben", 1);
    server.settle(socket, &mut ben);
    assert_eq!(ben.status(&id()), Some(SyncStatus::InSync));
    assert!(server.owners.is_empty());
}
