//! A client beside a scripted server: progress, violations of the protocol, documents that are absent, other messages.

use std::collections::BTreeSet;
use std::time::Duration;

use hashmill_doc::sync::{Message as SyncMessage, MessageFlags, State, SyncDoc as _};
use hashmill_doc::{ActorId, Document, Limits, LoadOptions, ROOT, Transactable as _};
use hashmill_repo::message::{EphemeralBody, PeerMetadata, RemoteHeads, SyncBody};
use hashmill_repo::{
    Client, ClientError, Conversation, DocumentId, Event, IgnoreReason, MAX_IDLE_MESSAGES, Message, Presence,
    PresenceTimes, Receipt, StorageId, SyncError, SyncStatus,
};
use hashmill_testkit::rng::Rng;
use hashmill_testkit::{hex, size};

use crate::{ID, document};

const NOW: Duration = Duration::ZERO;

fn id() -> DocumentId {
    ID.parse().expect("an id")
}

/// A client after the server's greeting.
fn greeted(doc: Document) -> Client {
    let mut client = Client::new("us".into(), "session");
    client.add(id(), doc);
    client.connect();
    let join = client.to_send(NOW).expect("the first frame");
    assert!(matches!(Message::decode(&join), Ok(Message::Join { sender, .. }) if sender == "us"));
    assert_eq!(client.to_send(NOW), None);
    assert_eq!(client.received(&greeting("us", "1"), NOW).expect("sound"), Receipt::Progress);
    assert_eq!(
        client.next_event(),
        Some(Event::Ready { server: "srv".into(), storage: Some("store".into()) })
    );
    client
}

fn greeting(target: &str, version: &str) -> Vec<u8> {
    let metadata = PeerMetadata { storage_id: Some("store".into()), is_ephemeral: Some(false) };
    let (sender, target, version) = ("srv".into(), target.into(), version.into());
    Message::Peer { sender, target, metadata, version }.encode()
}

/// A frame of the server with a sync message.
fn sync(message: &SyncMessage) -> Vec<u8> {
    sync_frame("srv", "us", &message.encode())
}

fn sync_frame(sender: &str, target: &str, data: &[u8]) -> Vec<u8> {
    let (sender, target, document) = (sender.into(), target.into(), ID.into());
    Message::Sync(SyncBody { sender, target, document, data: data.into() }).encode()
}

fn unavailable(document: &str) -> Vec<u8> {
    let (sender, target) = ("srv".into(), "us".into());
    Message::DocUnavailable { sender, target, document: document.into() }.encode()
}

fn unavailable_between(sender: &str, target: &str) -> Vec<u8> {
    let (sender, target) = (sender.into(), target.into());
    Message::DocUnavailable { sender, target, document: ID.into() }.encode()
}

fn ephemeral(sender: &str, document: &str, count: u64) -> Vec<u8> {
    let (target, session, data) = ("us".into(), "s".into(), b"hello"[..].into());
    Message::Ephemeral(EphemeralBody {
        sender: sender.into(),
        target,
        document: document.into(),
        session,
        count,
        data,
    })
    .encode()
}

fn events(client: &mut Client) -> Vec<Event> {
    std::iter::from_fn(|| client.next_event()).collect()
}

/// The sync message in a frame of the client, and whether it is a request.
fn sync_message(frame: &[u8]) -> (SyncMessage, bool) {
    let message = Message::decode(frame).expect("sound");
    let is_request = matches!(message, Message::Request(_));
    let (Message::Sync(body) | Message::Request(body)) = message else { panic!("{message:?}") };
    assert_eq!((&*body.sender, &*body.target, &*body.document), ("us", "srv", ID));
    (SyncMessage::decode(&body.data).expect("sound"), is_request)
}

/// Ten users move their cursors while a slow connection delivers one message per second.
#[test]
fn ephemeral_messages_do_not_end_a_sync() {
    let mut client = greeted(document(1, "mine", 200));
    let (mut server_doc, mut state) = (document(2, "theirs", 300), State::new());
    let mut count = 0;
    for round in 0.. {
        assert!(round < 20, "the sync does not end");
        while let Some(frame) = client.to_send(NOW) {
            let (message, is_request) = sync_message(&frame);
            assert!(!is_request);
            server_doc.receive_sync_message(&mut state, message).expect("sound");
        }
        for _ in 0..1_500 {
            count += 1;
            let cursor = ephemeral("another", ID, count);
            assert_eq!(client.received(&cursor, NOW).expect("no fault"), Receipt::News);
            let repeated = client.received(&cursor, NOW).expect("no fault");
            assert_eq!(repeated, Receipt::Ignored(IgnoreReason::Repeated));
            for document in ["another", "2XzfXSpSsj4xPtfpvbdMymK1PpVr"] {
                let elsewhere = client.received(&ephemeral("x", document, 1), NOW).expect("no fault");
                assert_eq!(elsewhere, Receipt::Ignored(IgnoreReason::Document));
            }
        }
        let event = Event::Ephemeral { document: id(), sender: "another".into(), data: b"hello".to_vec() };
        assert_eq!(events(&mut client).iter().filter(|known| **known == event).count(), 1_500);
        if client.status(&id()) == Some(SyncStatus::InSync) {
            break;
        }
        let message = server_doc.generate_sync_message(&mut state).expect("an answer");
        client.received(&sync(&message), NOW).expect("sound");
    }
    let client_doc = client.document(&id()).expect("it was added");
    assert_eq!((client_doc.get_heads(), client_doc.stats().changes), (server_doc.get_heads(), 500));
}

/// A server that repeats a message is left, independent of timeouts.
#[test]
fn a_sync_without_progress_ends() {
    let mut client = greeted(document(1, "mine", 1));
    let message = document(2, "theirs", 1).generate_sync_message(&mut State::new()).expect("a message");
    assert_eq!(client.received(&sync(&message), NOW).expect("sound"), Receipt::Progress);
    for _ in 0..MAX_IDLE_MESSAGES {
        assert_eq!(client.received(&sync(&message), NOW).expect("sound"), Receipt::Idle);
    }
    let error = client.received(&sync(&message), NOW).expect_err("too many");
    assert!(matches!(error, ClientError::Sync(SyncError::NoProgress)), "{error}");
    assert_eq!(error.to_string(), "sent 1000 messages without progress");
    assert_disconnected(&mut client, "no progress");
}

#[test]
fn absent_documents_are_reported_and_may_still_come() {
    let mut client = greeted(Document::new());
    let (message, is_request) = sync_message(&client.to_send(NOW).expect("a request"));
    assert!(is_request && message.heads.is_empty());
    assert_eq!(client.received(&unavailable(ID), NOW).expect("sound"), Receipt::Idle);
    assert_eq!(events(&mut client), [Event::Unavailable { document: id(), was_known: false }]);
    assert!(client.conversation(&id()).expect("it was added").is_unavailable());
    // Another client brings it later.
    let (mut server_doc, mut state) = (document(2, "theirs", 3), State::new());
    server_doc.receive_sync_message(&mut state, message).expect("sound");
    let answer = server_doc.generate_sync_message(&mut state).expect("the document");
    client.received(&sync(&answer), NOW).expect("sound");
    assert_eq!(events(&mut client), [Event::Changed { document: id(), changes: 3 }]);
    assert!(!client.conversation(&id()).expect("it was added").is_unavailable());
    assert_eq!(client.status(&id()), Some(SyncStatus::InSync));
    // Access is taken away.
    client.received(&unavailable(ID), NOW).expect("sound");
    assert_eq!(events(&mut client), [Event::Unavailable { document: id(), was_known: true }]);
    for other in ["2XzfXSpSsj4xPtfpvbdMymK1PpVr", "zzz", ""] {
        let receipt = client.received(&unavailable(other), NOW).expect("no fault");
        assert_eq!(receipt, Receipt::Ignored(IgnoreReason::Document));
    }
}

/// Exchanges all messages with a server. It sends what was ignored again because it is told to, not after several vain requests.
fn settle(client: &mut Client, server_doc: &mut Document, state: &mut State) {
    for round in 0.. {
        assert!(round < 3, "the sync takes {round} messages of the server");
        while let Some(frame) = client.to_send(NOW) {
            server_doc.receive_sync_message(state, sync_message(&frame).0).expect("sound");
        }
        let Some(message) = server_doc.generate_sync_message(state) else { break };
        client.received(&sync(&message), NOW).expect("sound");
    }
}

/// Messages about a removed document are ignored; the server believes that they arrived.
#[test]
fn removed_documents_can_be_added_again() {
    let mut client = greeted(document(1, "mine", 3));
    let (mut server_doc, mut state) = (document(2, "theirs", 3), State::new());
    settle(&mut client, &mut server_doc, &mut state);
    for round in 0..3 {
        let doc = client.remove(&id()).expect("it was added");
        assert_eq!((client.status(&id()), client.document(&id()).is_none()), (None, true));
        crate::put(&mut server_doc, "theirs", 9 + round);
        settle(&mut client, &mut server_doc, &mut state);
        assert_ne!(doc.get_heads(), server_doc.get_heads());
        client.add(id(), doc);
        settle(&mut client, &mut server_doc, &mut state);
        assert_eq!(client.status(&id()), Some(SyncStatus::InSync));
        assert_eq!(client.document(&id()).map(Document::get_heads), Some(server_doc.get_heads()));
    }
    // Another copy replaces the document.
    let replaced = client.add(id(), document(3, "other", 1));
    assert_eq!(replaced.map(|doc| doc.get_heads()), Some(server_doc.get_heads()));
    settle(&mut client, &mut server_doc, &mut state);
    assert_eq!(client.document(&id()).map(Document::get_heads), Some(server_doc.get_heads()));
}

/// A program closes a document and opens a copy that got the server's next change elsewhere. The server has told its heads in the
/// meantime, so it does not answer.
#[test]
fn heads_announced_while_a_document_was_closed_are_known() {
    let mut client = greeted(document(1, "mine", 3));
    let (mut server_doc, mut state) = (document(2, "theirs", 3), State::new());
    settle(&mut client, &mut server_doc, &mut state);
    client.remove(&id()).expect("it was added");
    crate::put(&mut server_doc, "theirs", 9);
    settle(&mut client, &mut server_doc, &mut state);
    client.add(id(), server_doc.clone());
    settle(&mut client, &mut server_doc, &mut state);
    assert_eq!(client.status(&id()), Some(SyncStatus::InSync));
}

#[test]
fn violations_of_the_protocol_are_errors() {
    let joined = || {
        let mut client = Client::new("us".into(), "session");
        client.add(id(), document(1, "mine", 1));
        client.connect();
        client.to_send(NOW).expect("the first frame");
        client
    };
    let check = |mut client: Client, frame: &[u8], reason: &str| {
        client.start_presence(&id(), Presence::new(PresenceTimes::default())).expect("it was added");
        client.broadcast(&id(), b"hello".to_vec());
        assert_eq!(client.received(frame, NOW).expect_err(reason).to_string(), reason);
        assert_disconnected(&mut client, reason);
    };
    let long = "é".repeat(500);
    let reported =
        |message: &str| Message::Error { sender: None, target: None, message: message.into() }.encode();
    for (frame, reason) in [
        (hex::decode("a1"), "sends data that is not a message of automerge-repo"),
        (greeting("me?", "1"), "sends a message with a wrong sender or receiver"),
        (
            greeting("us", "2"),
            "speaks version \"2\" of automerge-repo's protocol; this program speaks version 1",
        ),
        (reported("go\naway"), "reports an error: \"go\\naway\""),
        (reported(&long), &format!("reports an error: {:?}", "é".repeat(200))),
        (sync_frame("srv", "us", b"x"), "sends messages before its greeting"),
        (unavailable(ID), "sends messages before its greeting"),
        (ephemeral("x", ID, 1), "sends messages before its greeting"),
    ] {
        check(joined(), &frame, reason);
    }
    let mut garbage = sync(&document(2, "theirs", 1).generate_sync_message(&mut State::new()).expect("one"));
    garbage.truncate(garbage.len() - 1);
    let mut damaged = document(2, "theirs", 1).save();
    *damaged.last_mut().expect("bytes") ^= 1;
    let mut message = SyncMessage::default();
    message.changes = vec![damaged];
    for (frame, reason) in [
        (greeting("us", "1"), "sends a second greeting"),
        (sync_frame("x", "us", b"x"), "sends a message with a wrong sender or receiver"),
        (sync_frame("srv", "x", b"x"), "sends a message with a wrong sender or receiver"),
        (unavailable_between("x", "us"), "sends a message with a wrong sender or receiver"),
        (sync_frame("srv", "us", b"x"), "sends an invalid sync message"),
        (sync(&message), "sends changes that cannot be read"),
        (garbage, "sends data that is not a message of automerge-repo"),
        (reported("go"), "reports an error: \"go\""),
    ] {
        check(greeted(document(1, "mine", 1)), &frame, reason);
    }
    // A greeting before the first frame of the client, and frames without a connection.
    let mut client = Client::new("us".into(), "session");
    assert!(matches!(client.received(&greeting("us", "1"), NOW), Err(ClientError::NotConnected)));
    client.connect();
    assert!(matches!(client.received(&greeting("us", "1"), NOW), Err(ClientError::Early)));
    assert_disconnected(&mut client, "early");
}

/// The client sends and takes nothing, until it connects again.
fn assert_disconnected(client: &mut Client, context: &str) {
    for frame in [greeting("us", "1"), unavailable(ID), ephemeral("x", ID, 1), vec![]] {
        assert!(!client.is_ready(), "{context}");
        assert_eq!(
            client.status(&id()).unwrap_or(SyncStatus::InProgress),
            SyncStatus::InProgress,
            "{context}"
        );
        assert_eq!(client.to_send(NOW), None, "{context}");
        assert!(!client.broadcast(&id(), vec![0]), "{context}");
        let error = client.received(&frame, NOW).expect_err(context);
        assert!(matches!(error, ClientError::NotConnected), "{context}: {error}");
    }
    events(client);
    client.connect();
    assert!(matches!(Message::decode(&client.to_send(NOW).expect("a frame")), Ok(Message::Join { .. })));
    assert_eq!(client.received(&greeting("us", "1"), NOW).expect("sound"), Receipt::Progress, "{context}");
    assert!(client.is_ready(), "{context}");
    // What was queued before is gone.
    while let Some(frame) = client.to_send(NOW) {
        if let Ok(Message::Ephemeral(body)) = Message::decode(&frame) {
            assert_ne!(*body.data, b"hello"[..], "{context}");
        }
    }
}

#[test]
fn messages_of_no_interest_are_ignored() {
    let mut client = greeted(document(1, "mine", 1));
    let mut reason = |frame: &[u8]| match client.received(frame, NOW).expect("no fault") {
        Receipt::Ignored(reason) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(reason(&Message::Unknown { kind: "later".into() }.encode()), IgnoreReason::Type);
    assert_eq!(reason(&Message::Leave { sender: "srv".into() }.encode()), IgnoreReason::Type);
    // The server passes on what others pass back. Its payload is not looked at: this one has none.
    assert_eq!(
        reason(&hex::decode("a2647479706569657068656d6572616c6873656e6465724964627573")),
        IgnoreReason::Echo
    );
    let faulty = reason(&hex::decode("a1647479706569657068656d6572616c"));
    assert!(matches!(faulty, IgnoreReason::Malformed(_)), "{faulty:?}");
}

#[test]
fn heads_of_other_storages_are_reported_in_order() {
    let mut client = greeted(document(1, "mine", 1));
    sync_message(&client.to_send(NOW).expect("a sync message"));
    client.subscribe("a".into());
    client.subscribe("b".into());
    client.unsubscribe(&"b".into());
    let subscription = |client: &mut Client| match Message::decode(&client.to_send(NOW).expect("a frame")) {
        Ok(Message::RemoteSubscriptionChange { add, remove, .. }) => (add.concat(), remove.concat()),
        other => panic!("{other:?}"),
    };
    assert_eq!(subscription(&mut client), ("a".to_owned(), String::new()));
    let mut tell = |storage: &'static str, timestamp_ms| {
        let heads = vec![RemoteHeads { storage: storage.into(), heads: vec![], timestamp_ms }];
        let (sender, target, document) = ("srv".into(), "us".into(), ID.into());
        let frame = Message::RemoteHeadsChanged { sender, target, document, heads }.encode();
        let receipt = client.received(&frame, NOW).expect("no fault");
        (receipt, events(&mut client))
    };
    let event = |timestamp_ms| {
        let storage = StorageId::from("a");
        (Receipt::News, vec![Event::RemoteHeads { document: id(), storage, heads: vec![], timestamp_ms }])
    };
    assert_eq!(tell("a", 5), event(5));
    assert_eq!(tell("a", 5), (Receipt::Ignored(IgnoreReason::Heads), vec![]));
    assert_eq!(tell("b", 9), (Receipt::Ignored(IgnoreReason::Heads), vec![]));
    assert_eq!(tell("a", 6), event(6));
    client.unsubscribe(&"a".into());
    assert_eq!(subscription(&mut client), (String::new(), "a".to_owned()));
    // A new connection: the server has forgotten the rest.
    client.subscribe("c".into());
    client.connect();
    client.to_send(NOW).expect("the first frame");
    client.received(&greeting("us", "1"), NOW).expect("sound");
    assert_eq!(subscription(&mut client), ("c".to_owned(), String::new()));
}

#[test]
fn refused_changes_are_reported_once_and_end_the_sync() {
    let mut client = Client::new("us".into(), "session");
    let options = LoadOptions::new().limits(Limits { operations: 10, ..Limits::default() });
    let doc = Document::load_with(&document(1, "mine", 1).save(), options).expect("sound");
    client.add(id(), doc);
    let mut server_doc = document(2, "theirs", 1);
    server_doc
        .transact(|tx| (0..20).try_for_each(|value| tx.put(ROOT, format!("key {value}"), value)))
        .expect("there is room");
    let mut refused = 0;
    for _ in 0..2 {
        let mut state = State::new();
        client.connect();
        client.to_send(NOW).expect("the first frame");
        client.received(&greeting("us", "1"), NOW).expect("sound");
        for round in 0.. {
            assert!(round < 20, "the sync does not end");
            while let Some(frame) = client.to_send(NOW) {
                server_doc.receive_sync_message(&mut state, sync_message(&frame).0).expect("sound");
            }
            let Some(message) = server_doc.generate_sync_message(&mut state) else { break };
            client.received(&sync(&message), NOW).expect("sound");
        }
        assert_eq!(client.status(&id()), Some(SyncStatus::Refused));
        let is_refused = |event: &Event| matches!(event, Event::Refused { .. });
        refused += events(&mut client).iter().filter(|event| is_refused(event)).count();
    }
    assert_eq!(refused, 1);
    assert_eq!(client.document(&id()).expect("it was added").stats().changes, 2);
}

/// Of very many refused changes, 4096 are named and all are counted.
#[test]
fn refused_changes_beyond_those_named_are_counted() {
    let mut client = Client::new("us".into(), "session");
    let options = LoadOptions::new().limits(Limits { operations: 10, ..Limits::default() });
    let doc = Document::load_with(&document(1, "mine", 1).save(), options).expect("sound");
    client.add(id(), doc);
    client.connect();
    client.to_send(NOW).expect("the first frame");
    client.received(&greeting("us", "1"), NOW).expect("sound");
    // The first change is beyond the limit, and all others depend on it.
    let mut server_doc = Document::new().with_actor(ActorId::from([2]));
    server_doc
        .transact(|tx| (0..20).try_for_each(|key| tx.put(ROOT, format!("{key}"), 1)))
        .expect("there is room");
    (1..5_000).for_each(|value| crate::put(&mut server_doc, "theirs", value));
    let mut state = State::new();
    for round in 0.. {
        assert!(round < 20, "the sync does not end");
        while let Some(frame) = client.to_send(NOW) {
            server_doc.receive_sync_message(&mut state, sync_message(&frame).0).expect("sound");
        }
        let Some(message) = server_doc.generate_sync_message(&mut state) else { break };
        client.received(&sync(&message), NOW).expect("sound");
    }
    let (mut named, mut further) = (BTreeSet::new(), 0);
    for event in events(&mut client) {
        match event {
            Event::Refused { change, .. } => assert!(named.insert(change), "{change} twice"),
            Event::FurtherRefusals { count, .. } => further += count,
            Event::Changed { .. } => panic!("nothing can be taken"),
            _ => {}
        }
    }
    assert_eq!((named.len(), further), (4_096, 5_000 - 4_096));
    assert_eq!(client.status(&id()), Some(SyncStatus::Refused));
}

/// A refused change is no reason to stop while the server only lacks changes of the client.
#[test]
fn a_sync_goes_on_after_a_refusal_while_only_the_server_lacks_changes() {
    let options = LoadOptions::new().limits(Limits { operations: 10, ..Limits::default() });
    let mut client_doc = Document::load_with(&document(1, "mine", 1).save(), options).expect("sound");
    let mut conversation = Conversation::new();
    let receive = |client_doc: &mut Document, conversation: &mut Conversation, message: &SyncMessage| {
        conversation.receive(client_doc, &message.encode()).expect("sound")
    };
    // A change beyond the limit, in a message of a peer whose heads do not name it.
    let mut large = document(2, "theirs", 1);
    large
        .transact(|tx| (0..20).try_for_each(|key| tx.put(ROOT, format!("{key}"), 1)))
        .expect("there is room");
    let mut message = SyncMessage::default();
    message.changes = large.get_changes(&[]).iter().map(|change| change.raw_bytes()).collect();
    message.heads = document(2, "theirs", 1).get_heads().into();
    let received = receive(&mut client_doc, &mut conversation, &message);
    assert_eq!((received.changes, received.refused.len()), (1, 1));
    assert!(conversation.missing_changes(&client_doc).is_empty());
    assert_eq!(conversation.status(&client_doc), SyncStatus::InProgress);
    // The server answers with all heads, and then names the refused change.
    message.changes.clear();
    message.heads = client_doc.get_heads().into();
    receive(&mut client_doc, &mut conversation, &message);
    assert_eq!(conversation.status(&client_doc), SyncStatus::InSync);
    message.heads = large.get_heads().into();
    receive(&mut client_doc, &mut conversation, &message);
    assert_eq!(conversation.missing_changes(&client_doc), large.get_heads());
    assert_eq!(conversation.status(&client_doc), SyncStatus::Refused);
}

/// A server names a head and never sends it.
#[test]
fn withheld_changes_end_the_sync() {
    let mut client = greeted(document(1, "mine", 1));
    let mut message = SyncMessage::default();
    message.heads = document(2, "theirs", 1).get_heads().into();
    for _ in 0..20 {
        client.received(&sync(&message), NOW).expect("sound");
        while client.to_send(NOW).is_some() {}
    }
    assert_eq!(client.status(&id()), Some(SyncStatus::Withheld));
    let conversation = client.conversation(&id()).expect("it was added");
    let missing = conversation.missing_changes(client.document(&id()).expect("it was added"));
    assert_eq!(missing, document(2, "theirs", 1).get_heads());
}

/// A server that answers each message and drops the changes in it.
struct DroppingServer {
    doc: Document,
    state: State,
}

impl DroppingServer {
    fn new() -> DroppingServer {
        DroppingServer { doc: document(2, "theirs", 1), state: State::new() }
    }

    /// Answers a frame of the client without taking its changes. False if there was none.
    fn answer(&mut self, client: &mut Client) -> bool {
        let Some(frame) = client.to_send(NOW) else { return false };
        let (mut message, _) = sync_message(&frame);
        message.changes.clear();
        // A new state each time: it answers each message and never gives up.
        self.state = State::new();
        self.doc.receive_sync_message(&mut self.state, message).expect("sound");
        let answer = self.doc.generate_sync_message(&mut self.state).expect("an answer");
        client.received(&sync(&answer), NOW).expect("sound");
        true
    }

    /// Answers until the client has no more to say.
    fn answer_all(&mut self, client: &mut Client) {
        let most = 20;
        assert!((0..most).any(|_| !self.answer(client)), "the exchange does not end");
    }
}

/// Counts of answers without our changes in a client's conversation.
fn unchanged_answers(client: &Client) -> u32 {
    client.conversation(&id()).expect("it was added").unchanged_answers()
}

#[test]
fn changes_that_a_server_does_not_take_end_the_sync() {
    let (mut client, mut server) = (greeted(document(1, "mine", 3)), DroppingServer::new());
    server.answer_all(&mut client);
    assert_eq!(client.status(&id()), Some(SyncStatus::Unaccepted));
    assert_eq!(client.document(&id()).expect("it was added").stats().changes, 4);
    // Messages that answer nothing change nothing, however many come.
    let mut message = SyncMessage::default();
    message.heads = server.doc.get_heads().into();
    message.need = document(1, "mine", 3).get_heads().into();
    for _ in 0..2 * MAX_IDLE_MESSAGES {
        client.received(&sync(&message), NOW).expect("sound");
        assert_eq!(client.to_send(NOW), None);
    }
    assert_eq!(client.status(&id()), Some(SyncStatus::Unaccepted));
    // A new change is sent, and counted anew.
    let client_doc = client.document_mut(&id()).expect("it was added");
    client_doc.transact(|tx| tx.put(ROOT, "later", 1)).expect("there is room");
    assert_eq!(client.status(&id()), Some(SyncStatus::InProgress));
    assert!(server.answer(&mut client));
    assert_eq!(unchanged_answers(&client), 0);
    server.answer_all(&mut client);
    assert_eq!(client.status(&id()), Some(SyncStatus::Unaccepted));
}

/// After any number of dropped messages a server takes the changes, in each way in which it can ask for them.
#[test]
fn changes_that_a_server_takes_late_are_sent() {
    type Resume = fn(&mut Client, &mut DroppingServer);
    let resumes: [Resume; 3] = [
        // It asks to be sent everything again.
        |client, server| {
            let mut message = SyncMessage::default();
            message.heads = server.doc.get_heads().into();
            message.need = document(1, "mine", 3).get_heads().into();
            message.flags = Some(MessageFlags::SYNC_RESET);
            client.received(&sync(&message), NOW).expect("sound");
            server.state = State::new();
        },
        // It gets a change from another client.
        |client, server| {
            server.doc.transact(|tx| tx.put(ROOT, "other", 1)).expect("there is room");
            server.state = State::new();
            let mut answer = server.doc.generate_sync_message(&mut server.state).expect("a message");
            answer.flags = Some(MessageFlags::SYNC_RESET);
            client.received(&sync(&answer), NOW).expect("sound");
        },
        // The connection is lost.
        |client, server| {
            client.connect();
            client.to_send(NOW).expect("the first frame");
            client.received(&greeting("us", "1"), NOW).expect("sound");
            server.state = State::new();
        },
    ];
    for dropped in 0..=12 {
        for (number, resume) in resumes.iter().enumerate() {
            let (mut client, mut server) = (greeted(document(1, "mine", 3)), DroppingServer::new());
            (0..dropped).for_each(|_| _ = server.answer(&mut client));
            resume(&mut client, &mut server);
            let is_equal = (0..20).any(|_| {
                while let Some(frame) = client.to_send(NOW) {
                    let (message, _) = sync_message(&frame);
                    server.doc.receive_sync_message(&mut server.state, message).expect("sound");
                }
                if let Some(answer) = server.doc.generate_sync_message(&mut server.state) {
                    client.received(&sync(&answer), NOW).expect("sound");
                }
                client.status(&id()) == Some(SyncStatus::InSync)
            });
            assert!(is_equal, "{dropped} dropped, {number}");
        }
    }
}

/// Damaged frames of every type, in random order, to a client with presence.
#[test]
fn damaged_frames_leave_a_client_that_still_syncs() {
    let mut frames: Vec<Vec<u8>> = crate::golden_frames::frames().into_values().collect();
    let mut other = Presence::new(PresenceTimes::default());
    other.set("cursor", 1).expect("small");
    let payload = |count, data: Vec<u8>| {
        let (sender, target, document, session) = ("ada".into(), "us".into(), ID.into(), "s".into());
        Message::Ephemeral(EphemeralBody { sender, target, document, session, count, data: data.into() })
            .encode()
    };
    frames.push(payload(1, other.next_payload(NOW).expect("a snapshot")));
    other.leave();
    frames.push(payload(2, other.next_payload(NOW).expect("a goodbye")));
    frames.push(sync(&document(2, "theirs", 1).generate_sync_message(&mut State::new()).expect("a message")));
    frames.push(unavailable(ID));
    let (mut errors, mut receipts) = (0, 0);
    for seed in 0..size::of(100, 5_000) {
        let mut rng = Rng::new(seed);
        let mut client = greeted(document(1, "mine", 2));
        client.start_presence(&id(), Presence::new(PresenceTimes::default()));
        for step in 0..50 {
            let mut frame = frames[rng.below(frames.len())].clone();
            for _ in 0..rng.below(3) {
                let at = rng.below(frame.len());
                match rng.below(3) {
                    0 => frame[at] = rng.below(256) as u8,
                    1 => frame.truncate(at.max(1)),
                    _ => frame[at] ^= 1 << rng.below(8),
                }
            }
            let now = Duration::from_secs(step * 7);
            match client.received(&frame, now) {
                Ok(_) => receipts += 1,
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    errors += 1;
                    client.connect();
                    client.to_send(now).expect("the first frame");
                    client.received(&greeting("us", "1"), now).expect("sound");
                }
            }
            while client.to_send(now).is_some() {}
            events(&mut client);
        }
        // A sound server then brings its changes.
        let (mut server_doc, mut state) = (document(3, "sound", 2), State::new());
        client.connect();
        client.to_send(NOW).expect("the first frame");
        client.received(&greeting("us", "1"), NOW).expect("sound");
        for round in 0.. {
            assert!(round < 20, "seed {seed}: the sync does not end");
            while let Some(frame) = client.to_send(NOW) {
                if let Ok(Message::Sync(body) | Message::Request(body)) = Message::decode(&frame) {
                    let message = SyncMessage::decode(&body.data).expect("sound");
                    server_doc.receive_sync_message(&mut state, message).expect("sound");
                }
            }
            let Some(message) = server_doc.generate_sync_message(&mut state) else { break };
            client.received(&sync(&message), NOW).expect("sound");
        }
        let client_doc = client.document(&id()).expect("it was added");
        assert_eq!(client_doc.get_heads(), server_doc.get_heads(), "seed {seed}");
    }
    assert!(errors > 100 && receipts > 100, "{errors} errors, {receipts} receipts");
}
