//! Deletion of documents: closed at once, brought back as they were, purged.

use std::time::Duration;

use hashmill_repo::{Client, SyncStatus};
use hashmill_server::{Access, Command, CommandOutcome, Event, Fact, Identity, IoFailure};

use crate::{Server, client, edit, failure, id};

const DELETE: Command = Command::Delete { at: 100 };
const PURGE: Command = Command::Purge { deleted_until: 100 };

fn heads(client: &Client) -> Vec<hashmill_doc::ChangeHash> {
    client.document(&id()).expect("it was added").get_heads()
}

fn is_unavailable(client: &Client) -> bool {
    client.conversation(&id()).expect("it was added").is_unavailable()
}

#[test]
fn a_deleted_document_is_absent_for_all_and_comes_back_as_it_was() {
    let mut server = Server::new();
    let (first, second) = (server.open(1), server.open(2));
    let (mut ann, mut ben) = (client("ann", 2), client("ben", 0));
    server.settle(first, &mut ann);
    server.settle(second, &mut ben);
    let stored = server.stored.clone();
    assert_eq!(server.command(DELETE), Some(CommandOutcome::Done));
    server.settle(first, &mut ann);
    server.settle(second, &mut ben);
    assert!(is_unavailable(&ann) && is_unavailable(&ben), "open connections are told");
    // Changes are ignored, and the client was told once.
    for value in 0..3 {
        edit(&mut ann, 10 + value);
        while let Some(frame) = ann.to_send(server.now) {
            server.receive(first, &frame);
        }
        assert_eq!(server.kinds(first), [""; 0]);
    }
    // A new client is told what it would be told of an absent document.
    let third = server.open(3);
    let mut cat = client("cat", 0);
    server.settle(third, &mut cat);
    assert!(is_unavailable(&cat) && heads(&cat).is_empty());
    assert_eq!(server.stored, stored);
    assert!(server.core.usage().document_bytes < 20_000, "its contents left memory");
    assert_eq!(server.command(Command::Undelete), Some(CommandOutcome::Done));
    for _ in 0..3 {
        server.settle(first, &mut ann);
        server.settle(second, &mut ben);
        server.settle(third, &mut cat);
    }
    // With the changes that were ignored, which clients still have.
    assert_eq!((heads(&ben), heads(&cat)), (heads(&ann), heads(&ann)));
    assert_eq!(ann.status(&id()), Some(SyncStatus::InSync));
    let [deleted, undeleted] = [Fact::Deleted { document: id() }, Fact::Undeleted { document: id() }];
    assert_eq!(server.facts, [deleted, undeleted]);
}

#[test]
fn no_client_brings_a_deleted_document_back() {
    let mut server = Server::new();
    let socket = server.open(1);
    let mut ann = client("ann", 2);
    server.settle(socket, &mut ann);
    server.command(DELETE);
    for is_purged in [false, true] {
        if is_purged {
            assert_eq!(server.command(PURGE), Some(CommandOutcome::Done));
            assert!(server.stored.is_empty());
        }
        let stored = server.stored.clone();
        server = server.restarted();
        for socket in 1..4 {
            let socket = server.open(socket);
            ann.connect();
            edit(&mut ann, 5);
            server.settle(socket, &mut ann);
            assert!(is_unavailable(&ann));
            server.step(Event::SocketClosed(socket));
            // Also when the document has left memory.
            server.now += Duration::from_secs(61);
            server.step(Event::TimerFired);
            assert_eq!(server.core.usage().documents, 0);
        }
        assert_eq!(server.stored, stored, "purged: {is_purged}");
    }
    assert_eq!(server.command(Command::Undelete), Some(CommandOutcome::Purged));
}

#[test]
fn a_deletion_is_reported_when_it_is_stored_and_acts_at_once() {
    let mut server = Server::new();
    let (first, second) = (server.open(1), server.open(2));
    let (mut ann, mut ben) = (client("ann", 1), client("ben", 0));
    server.settle(first, &mut ann);
    server.settle(second, &mut ben);
    server.holds_appends = true;
    edit(&mut ann, 2);
    server.settle(first, &mut ann);
    assert_eq!(server.command(DELETE), None);
    assert_eq!(server.kinds(first), ["doc-unavailable"]);
    assert_eq!(server.kinds(second), ["doc-unavailable"]);
    // The change that is being stored is a part of the document, which no client is told any more.
    server.holds_appends = false;
    server.holds_commands = true;
    let (batch, chunks) = server.appends.pop().expect("an append");
    server.stored.extend(chunks.into_iter().map(|chunk| (chunk.key, chunk.bytes)));
    server.step(Event::Appended(batch, Ok(())));
    assert!(server.sent.is_empty() && server.answers.is_empty());
    // The storage fails once, after it has carried the command out.
    let (request, document, command) = server.commands.pop().expect("a command");
    server.execute(&document, command);
    server.step(Event::Executed(request, Err(IoFailure::Unknown("timeout".to_owned()))));
    assert!(server.answers.is_empty());
    server.holds_commands = false;
    server.now += Duration::from_secs(2);
    server.step(Event::TimerFired);
    assert_eq!(server.answers.pop().map(|(_, outcome)| outcome), Some(CommandOutcome::Done));
    server.command(Command::Undelete);
    let mut cat = client("cat", 0);
    let third = server.open(3);
    server.settle(third, &mut cat);
    assert_eq!(heads(&cat), heads(&ann));
}

#[test]
fn commands_about_absent_documents_change_nothing() {
    let mut server = Server::new();
    let socket = server.open(1);
    let mut ann = client("ann", 0);
    server.settle(socket, &mut ann);
    for (command, expected) in [
        (DELETE, CommandOutcome::Absent),
        (Command::Undelete, CommandOutcome::Absent),
        (PURGE, CommandOutcome::NotDue),
    ] {
        assert_eq!(server.command(command), Some(expected), "{command:?}");
    }
    // The document can be made as before.
    edit(&mut ann, 1);
    server.settle(socket, &mut ann);
    assert_eq!(ann.status(&id()), Some(SyncStatus::InSync));
    assert_eq!(server.command(PURGE), Some(CommandOutcome::NotDue), "it is not deleted");
    assert!(server.tombstones.is_empty() && !server.stored.is_empty());
}

#[test]
fn rights_that_change_during_a_deletion_act_when_it_ends() {
    let mut server = Server::new();
    let owner = server.open(1);
    server.settle(owner, &mut client("owner", 2));
    let (first, second) = (server.open(2), server.open(3));
    let (mut ann, mut ben) = (client("ann", 1), client("ben", 0));
    server.allow(second, Access::Denied);
    server.settle(first, &mut ann);
    server.settle(second, &mut ben);
    server.command(DELETE);
    server.allow(first, Access::Denied);
    server.allow(second, Access::Read);
    server.settle(first, &mut ann);
    server.settle(second, &mut ben);
    assert!(is_unavailable(&ann) && is_unavailable(&ben) && heads(&ben).is_empty());
    let mut identity = Identity::new("announced", Access::Denied);
    identity.rules.insert(id(), "announce".parse().expect("a right"));
    let third = server.open_with(4, identity);
    let mut cat = client("cat", 0);
    cat.remove(&id());
    server.settle(third, &mut cat);
    server.frames(first);
    server.command(Command::Undelete);
    assert!(server.frames(first).is_empty(), "it has no access");
    assert_eq!(server.kinds(third), ["sync"], "it is announced");
    server.settle(second, &mut ben);
    assert_eq!(ben.document(&id()).expect("it was added").stats().changes, 3);
}

#[test]
fn announced_clients_with_messages_are_answered_when_a_tombstone_is_read() {
    let mut server = Server::new();
    let owner = server.open(1);
    server.settle(owner, &mut client("owner", 2));
    server.command(DELETE);
    let mut server = server.restarted();
    server.holds_loads = true;
    let mut identity = Identity::new("announced", Access::Denied);
    identity.rules.insert(id(), "announce".parse().expect("a right"));
    let [first, second] = [2, 3].map(|socket| server.open_with(socket, identity.clone()));
    let (mut ann, mut ben) = (client("ann", 0), client("ben", 0));
    ben.remove(&id());
    server.settle(first, &mut ann);
    server.settle(second, &mut ben);
    assert!(!is_unavailable(&ann), "the tombstone was not read");
    server.finish_loads();
    assert_eq!(server.kinds(second), [""; 0], "it has not asked");
    server.settle(first, &mut ann);
    assert!(is_unavailable(&ann));
    server.command(Command::Undelete);
    assert_eq!(server.kinds(second), ["sync"]);
    server.settle(first, &mut ann);
    assert_eq!(ann.document(&id()).expect("it was added").stats().changes, 2);
}

/// A storage that fails for long does not lose the document: what was received before is stored when it works.
#[test]
fn a_document_is_deleted_after_an_outage_of_the_storage() {
    let mut server = Server::new();
    let socket = server.open(1);
    let mut ann = client("ann", 1);
    server.settle(socket, &mut ann);
    server.holds_appends = true;
    edit(&mut ann, 2);
    server.settle(socket, &mut ann);
    while !server.core.usage().is_degraded {
        server.now += Duration::from_secs(1);
        let attempts = std::mem::take(&mut server.appends);
        attempts.into_iter().for_each(|(batch, _)| server.step(Event::Appended(batch, failure())));
        server.step(Event::TimerFired);
    }
    assert_eq!(server.command(DELETE), None);
    server.holds_appends = false;
    server.now += Duration::from_secs(3);
    let attempts = std::mem::take(&mut server.appends);
    attempts.into_iter().for_each(|(batch, _)| server.step(Event::Appended(batch, failure())));
    server.now += Duration::from_secs(3);
    server.step(Event::TimerFired);
    assert_eq!(server.answers.last().map(|(_, outcome)| *outcome), Some(CommandOutcome::Done));
    server.command(Command::Undelete);
    let mut cat = client("cat", 0);
    let other = server.open(2);
    server.settle(other, &mut cat);
    assert_eq!(heads(&cat), heads(&ann));
}

/// The rule for unused documents spares one that is in memory, or was used later.
#[test]
fn unused_documents_are_deleted_and_no_others() {
    let rule = |used_until| Command::DeleteUnused { at: 100, used_until };
    let mut server = Server::new();
    let socket = server.open(1);
    let mut ann = client("ann", 1);
    server.settle(socket, &mut ann);
    assert_eq!(server.command(rule(5)), Some(CommandOutcome::NotDue), "it is open");
    server.step(Event::SocketClosed(socket));
    server.now += Duration::from_secs(61);
    server.step(Event::TimerFired);
    assert_eq!(server.command(rule(4)), Some(CommandOutcome::NotDue), "it was used later");
    assert_eq!(server.command(rule(5)), Some(CommandOutcome::Done));
    let socket = server.open(2);
    ann.connect();
    server.settle(socket, &mut ann);
    assert!(is_unavailable(&ann));
}
