//! Told means durable: confirmations wait for the storage, and reads go on while it fails.

use std::time::Duration;

use hashmill_repo::{Client, SyncStatus};
use hashmill_server::{Event, Fact};

use crate::{Server, client, edit, failure, id};

#[test]
fn nothing_is_confirmed_before_it_is_stored() {
    let mut server = Server::new();
    let (first, second) = (server.open(1), server.open(2));
    let (mut ann, mut ben) = (client("ann", 1), client("ben", 0));
    server.settle(first, &mut ann);
    server.settle(second, &mut ben);
    server.holds_appends = true;
    edit(&mut ann, 2);
    assert_eq!(server.settle(first, &mut ann), 1);
    assert_eq!((server.settle(second, &mut ben), server.appends.len()), (0, 1));
    // What comes meanwhile goes into the next append, of which there is one at a time.
    edit(&mut ann, 3);
    edit(&mut ben, 4);
    server.settle(first, &mut ann);
    server.settle(second, &mut ben);
    assert_eq!(server.appends.len(), 1);
    let (batch, chunks) = server.appends.remove(0);
    server.stored.extend(chunks.into_iter().map(|chunk| (chunk.key, chunk.bytes)));
    server.step(Event::Appended(batch, Ok(())));
    assert!(!server.sent.is_empty());
    assert_eq!(server.appends.len(), 1);
    let (batch, _) = server.appends.remove(0);
    server.step(Event::Appended(batch, Ok(())));
    for _ in 0..2 {
        server.settle(first, &mut ann);
        server.settle(second, &mut ben);
    }
    assert_eq!(ann.status(&id()), Some(SyncStatus::InSync));
    assert_eq!(ben.status(&id()), Some(SyncStatus::InSync));
}

/// Under load the changes of a window share an append and a frame; after a pause a change is stored at once.
#[test]
fn changes_of_a_window_share_an_append() {
    let window = Duration::from_millis(10);
    let mut server = Server::with(|config| config.commit_window = window);
    let (first, second) = (server.open(1), server.open(2));
    let (mut ann, mut ben) = (client("ann", 1), client("ben", 0));
    let settle_all = |server: &mut Server, ann: &mut Client, ben: &mut Client| {
        for _ in 0..8 {
            server.settle(first, ann);
            server.settle(second, ben);
            server.now += window;
            server.step(Event::TimerFired);
        }
    };
    settle_all(&mut server, &mut ann, &mut ben);
    assert_eq!(ben.status(&id()), Some(SyncStatus::InSync));
    server.now += Duration::from_secs(1);
    server.step(Event::TimerFired);
    let commits = |server: &Server| server.core.counts().commits;
    let before = commits(&server);
    edit(&mut ann, 2);
    server.settle(first, &mut ann);
    assert_eq!(commits(&server), before + 1, "after a pause at once");
    server.settle(second, &mut ben);
    for value in 3..6 {
        edit(&mut ann, value);
        edit(&mut ben, value);
        server.settle(first, &mut ann);
        server.settle(second, &mut ben);
        assert_eq!(commits(&server), before + 1, "in the window");
        server.now += window / 4;
        server.step(Event::TimerFired);
    }
    server.now += window / 4;
    server.step(Event::TimerFired);
    assert_eq!(commits(&server), before + 2, "after the window, together");
    settle_all(&mut server, &mut ann, &mut ben);
    let heads = |client: &Client| client.document(&id()).expect("it was added").get_heads();
    assert_eq!(heads(&ann), heads(&ben));
}

/// What waits under load is stored before the server ends, and the wait is bounded by the timer that the core asks for.
#[test]
fn a_drain_waits_for_no_window() {
    let mut server = Server::with(|config| config.commit_window = Duration::from_secs(3600));
    let socket = server.open(1);
    let mut ann = client("ann", 1);
    server.settle(socket, &mut ann);
    let commits = |server: &Server| server.core.counts().commits;
    let before = commits(&server);
    assert!(before > 0, "after a pause at once");
    edit(&mut ann, 2);
    server.settle(socket, &mut ann);
    assert_eq!(commits(&server), before, "in the window");
    server.step(Event::DrainRequested);
    assert_eq!(commits(&server), before + 1);
    assert!(server.facts.contains(&Fact::Drained));
}

#[test]
fn reads_go_on_while_the_storage_fails_and_changes_arrive_afterwards() {
    let mut server = Server::new();
    let first = server.open(1);
    let (mut ann, mut ben) = (client("ann", 1), client("ben", 0));
    server.settle(first, &mut ann);
    let stored = ann.document(&id()).expect("it was added").get_heads();
    server.holds_appends = true;
    edit(&mut ann, 2);
    server.settle(first, &mut ann);
    // Fails for a minute.
    for _ in 0..60 {
        server.now += Duration::from_secs(1);
        if let Some((batch, _)) = server.appends.pop() {
            server.step(Event::Appended(batch, failure()));
        }
        server.step(Event::TimerFired);
        server.settle(first, &mut ann);
    }
    assert!(server.core.usage().is_degraded && server.facts.contains(&Fact::Degraded));
    assert_eq!(ann.status(&id()), Some(SyncStatus::ReadOnlyPeer));
    // A new reader gets what is stored, and its change is not confirmed.
    let second = server.open(2);
    server.settle(second, &mut ben);
    assert_eq!(ben.document(&id()).expect("it was added").get_heads(), stored);
    edit(&mut ben, 3);
    server.settle(second, &mut ben);
    assert_eq!(ben.status(&id()), Some(SyncStatus::ReadOnlyPeer));
    // The storage works again: no client has to reconnect.
    server.now += Duration::from_secs(3);
    server.step(Event::TimerFired);
    server.holds_appends = false;
    let (batch, chunks) = server.appends.pop().expect("it is tried again");
    server.stored.extend(chunks.into_iter().map(|chunk| (chunk.key, chunk.bytes)));
    server.step(Event::Appended(batch, Ok(())));
    for _ in 0..3 {
        server.settle(first, &mut ann);
        server.settle(second, &mut ben);
    }
    let heads = [&ann, &ben].map(|client| client.document(&id()).expect("it was added").get_heads());
    assert_eq!(heads[0], heads[1]);
    assert_eq!(heads[0].len(), 2, "the changes of both");
    assert_eq!(ann.status(&id()), Some(SyncStatus::InSync));
    assert!(server.facts.contains(&Fact::Recovered) && !server.core.usage().is_degraded);
}

/// A change whose ancestor is in a damaged chunk is not in the document, so that no snapshot replaces its chunk: it is there when the
/// damaged one is restored.
#[test]
fn changes_that_wait_for_a_damaged_chunk_stay_stored() {
    let mut server = Server::new();
    let socket = server.open(1);
    let mut ann = client("ann", 1);
    server.settle(socket, &mut ann);
    let whole = server.stored.clone();
    edit(&mut ann, 2);
    server.settle(socket, &mut ann);
    let mut waiting = server.stored.keys().filter(|key| !whole.contains_key(key));
    let waiting = waiting.next().expect("the chunk of the second change").clone();
    for key in whole.keys() {
        server.stored.get_mut(key).expect("it is stored")[10] ^= 1;
    }
    let mut server = server.restarted();
    let socket = server.open(1);
    let mut ben = client("ben", 1);
    server.settle(socket, &mut ben);
    let unreadable = server.facts.iter().filter(|fact| matches!(fact, Fact::ChunkUnreadable { .. }));
    assert_eq!(unreadable.count(), 2, "{:?}", server.facts);
    // The document returns to what is stored, without what waits.
    server.holds_appends = true;
    edit(&mut ben, 2);
    server.settle(socket, &mut ben);
    while !server.core.usage().is_degraded {
        server.now += Duration::from_secs(1);
        server
            .appends
            .pop()
            .into_iter()
            .for_each(|(batch, _)| server.step(Event::Appended(batch, failure())));
        server.step(Event::TimerFired);
    }
    server.holds_appends = false;
    server.now += Duration::from_secs(3);
    server.step(Event::TimerFired);
    let (batch, chunks) = server.appends.pop().expect("it is tried again");
    server.stored.extend(chunks.into_iter().map(|chunk| (chunk.key, chunk.bytes)));
    server.step(Event::Appended(batch, Ok(())));
    for value in 0..100 {
        edit(&mut ben, value);
        server.settle(socket, &mut ben);
    }
    assert!(server.stored.len() < 70, "it was compacted: {} chunks", server.stored.len());
    assert!(server.stored.contains_key(&waiting));
    server.stored.extend(whole);
    let mut server = server.restarted();
    let (socket, mut cat) = (server.open(1), client("cat", 0));
    server.settle(socket, &mut cat);
    let there = cat.document(&id()).expect("it was added");
    for writer in [&ann, &ben] {
        let heads = writer.document(&id()).expect("it was added").get_heads();
        assert!(there.get_missing_deps(&heads).is_empty());
    }
}

#[test]
fn a_drain_stores_what_was_received_then_closes() {
    let mut server = Server::new();
    let socket = server.open(1);
    let mut ann = client("ann", 1);
    server.settle(socket, &mut ann);
    server.holds_appends = true;
    edit(&mut ann, 2);
    server.settle(socket, &mut ann);
    server.step(Event::DrainRequested);
    assert!(server.closed.is_empty());
    let (batch, _) = server.appends.pop().expect("an append");
    server.step(Event::Appended(batch, Ok(())));
    assert_eq!((server.closed.len(), server.kinds(socket).len()), (1, 1), "confirmed, then closed");
    assert_eq!(server.facts, [Fact::Drained]);
    let late = server.open(2);
    assert_eq!(server.closed.last().map(|(socket, _)| *socket), Some(late));
}
