//! Interventions of the operator, and views of the state.

use std::time::Duration;

use hashmill_doc::{ROOT, Transactable as _};
use hashmill_server::{
    Access, ChunkKind, CloseReason, CommandId, CommandOutcome, Event, Intervention, SocketId,
};
use hashmill_testkit::Rng;

use crate::{Server, client, edit, id};

impl Server {
    fn intervene(&mut self, intervention: Intervention) -> CommandOutcome {
        let id = CommandId(1000 + self.answers.len() as u64);
        self.step(Event::InterventionReceived(id, intervention));
        let (answered, outcome) = *self.answers.last().expect("an answer");
        assert_eq!(answered, id);
        outcome
    }
}

#[test]
fn a_quarantine_ends_at_the_operators_word() {
    let mut server = Server::with(|config| config.max_document_bytes = 2000);
    let socket = server.open(1);
    let mut ann = client("ann", 1);
    server.settle(socket, &mut ann);
    assert_eq!(server.intervene(Intervention::EndQuarantine(id())), CommandOutcome::NotDue);
    let doc = ann.document_mut(&id()).expect("it was added");
    doc.transact(|tx| tx.put(ROOT, "long", Rng::new(1).bytes(3000))).expect("there is room");
    server.settle(socket, &mut ann);
    let view = server.core.quarantine_view(&id()).expect("a quarantine");
    assert!(view.reason.contains("2000 bytes"), "{view:?}");
    assert_eq!(server.core.quarantine_views(None, 10), std::slice::from_ref(&view));
    assert!(server.core.quarantine_views(Some(&id()), 10).is_empty());
    server.now += Duration::from_secs(100);
    server.step(Event::TimerFired);
    assert_eq!(
        server.core.quarantine_view(&id()).expect("a quarantine").left,
        view.left - Duration::from_secs(100)
    );
    assert_eq!(server.intervene(Intervention::EndQuarantine(id())), CommandOutcome::Done);
    assert_eq!(server.core.usage().quarantined, 0);
    let ben_socket = server.open(2);
    let mut ben = client("ben", 1);
    server.settle(ben_socket, &mut ben);
    assert_eq!(server.core.document_view(&id()).expect("in memory").changes, 2, "it takes changes");
}

#[test]
fn sockets_are_closed_and_documents_leave_memory_when_they_are_not_in_use() {
    let mut server = Server::new();
    let socket = server.open(1);
    let mut ann = client("ann", 3);
    server.settle(socket, &mut ann);
    assert_eq!(server.intervene(Intervention::Evict(id())), CommandOutcome::NotDue);
    assert_eq!(server.intervene(Intervention::CloseSocket(SocketId(9))), CommandOutcome::Absent);
    assert_eq!(server.intervene(Intervention::CloseSocket(socket)), CommandOutcome::Done);
    assert_eq!(server.closed, [(socket, CloseReason::Operator)]);
    assert_eq!(server.intervene(Intervention::CloseSocket(socket)), CommandOutcome::Absent);
    assert!(server.core.socket_views(None, 10).is_empty());
    assert_eq!(server.intervene(Intervention::Evict(id())), CommandOutcome::Done);
    assert_eq!((server.core.usage().documents, server.core.counts().evictions), (0, 1));
    assert_eq!(server.intervene(Intervention::Evict(id())), CommandOutcome::Absent);
    ann.connect();
    let socket = server.open(2);
    let mut ben = client("ben", 0);
    server.settle(socket, &mut ben);
    assert_eq!(ben.document(&id()).expect("it was added").stats().changes, 3);
}

#[test]
fn documents_are_compacted_on_demand() {
    let mut server = Server::new();
    let socket = server.open(1);
    let mut ann = client("ann", 1);
    server.settle(socket, &mut ann);
    for value in 0..5 {
        edit(&mut ann, 10 + value);
        server.settle(socket, &mut ann);
    }
    assert_eq!(server.stored.len(), 6);
    assert_eq!(server.intervene(Intervention::Compact(id())), CommandOutcome::Done);
    let kinds: Vec<ChunkKind> = server.stored.keys().map(|key| key.kind).collect();
    assert_eq!(kinds, [ChunkKind::Snapshot]);
    // Also one that is not in memory, and again.
    server = server.restarted();
    for _ in 0..2 {
        assert_eq!(server.intervene(Intervention::Compact(id())), CommandOutcome::Done);
    }
    assert_eq!(server.stored.len(), 1);
    let absent = hashmill_repo::DocumentId::from_random_bytes([9; 16]);
    assert_eq!(server.intervene(Intervention::Compact(absent)), CommandOutcome::Absent);
    server.now += Duration::from_secs(61);
    server.step(Event::TimerFired);
    assert_eq!(server.core.usage().documents, 0);
}

#[test]
fn the_operator_sees_documents_and_their_clients() {
    let mut server = Server::new();
    let (first, second) = (server.open(1), server.open(2));
    let (mut ann, mut ben) = (client("ann", 2), client("ben", 0));
    server.settle(first, &mut ann);
    server.settle(second, &mut ben);
    server.now += Duration::from_secs(5);
    ann.broadcast(&id(), vec![0x40]);
    server.settle(first, &mut ann);
    server.now += Duration::from_secs(2);
    server.step(Event::TimerFired);
    let documents = server.core.document_views(None, 10);
    let [document] = &documents[..] else { panic!("{documents:?}") };
    assert_eq!((document.clients, document.heads, document.changes, document.chunks), (2, 1, 2, 1));
    assert_eq!(document.stored_bytes, server.stored.values().map(Vec::len).sum::<usize>());
    assert_eq!(document.owner.as_deref(), Some("all"));
    assert_eq!(document.inactive, Duration::from_secs(2));
    assert!(server.core.document_views(Some(&id()), 10).is_empty());
    assert!(server.core.document_views(None, 0).is_empty());
    let clients = server.core.participant_views(&id(), 10);
    let seen: Vec<_> = clients
        .iter()
        .map(|view| (view.peer.as_deref(), view.access, view.presence_messages, view.presence_inactive))
        .collect();
    assert_eq!(
        seen,
        [
            (Some("ann"), Access::Write, 1, Some(Duration::from_secs(2))),
            (Some("ben"), Access::Write, 0, None)
        ]
    );
    let sockets = server.core.socket_views(Some(first), 10);
    let [socket] = &sockets[..] else { panic!("{sockets:?}") };
    assert_eq!((socket.socket, socket.documents, socket.age), (second, 1, Duration::from_secs(7)));
    assert!(socket.received_messages > 1 && socket.sent_bytes > 100 && socket.sent_bytes_per_second > 10);
    // Details of a document in memory; others are for the storage.
    server.step(Event::InspectionReceived(CommandId(1), id(), 1));
    let (_, details) = server.inspections.pop().expect("an answer");
    let details = details.expect("it is in memory");
    assert_eq!((details.changes, details.latest.len(), details.latest[0].seq), (2, 1, 2));
    let absent = hashmill_repo::DocumentId::from_random_bytes([9; 16]);
    server.step(Event::InspectionReceived(CommandId(2), absent, 1));
    assert_eq!(server.inspections, [(CommandId(2), None)]);
}
