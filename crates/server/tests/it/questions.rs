//! Rights that another service knows: messages wait for answers, which come late, twice, never, or change.

use std::sync::Arc;
use std::time::Duration;

use hashmill_doc::Document;
use hashmill_repo::{Client, DocumentId, SyncStatus};
use hashmill_server::{Access, CloseReason, Event, Fact, Identity, RequestId, RightsAnswer, SocketId};

use crate::{Server, client, edit, id};

const VALID_FOR: Duration = Duration::from_secs(60);
const TIMEOUT: Duration = Duration::from_secs(30);
const RETRY: Duration = Duration::from_secs(10);

impl Server {
    fn open_remote(&mut self, socket: u64) -> SocketId {
        self.open_with(socket, Identity::remote("ann"))
    }

    /// The only question about a document.
    fn take_question(&mut self, document: &DocumentId) -> RequestId {
        let index = self.questions.iter().position(|(_, _, id)| id == document).expect("a question");
        let (request, ..) = self.questions.remove(index);
        assert!(self.questions.iter().all(|(_, _, id)| id != document), "one question at a time");
        request
    }

    fn answer(&mut self, request: RequestId, access: Access) {
        let answer = RightsAnswer { access, valid_for: VALID_FOR };
        self.step(Event::RightsAnswered(request, Ok(answer)));
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        self.step(Event::TimerFired);
    }
}

fn other_id() -> DocumentId {
    DocumentId::from_random_bytes([9; 16])
}

fn changes(client: &Client) -> u64 {
    client.document(&id()).expect("it was added").stats().changes
}

fn is_unavailable(client: &Client) -> bool {
    client.conversation(&id()).expect("it was added").is_unavailable()
}

/// A server with a stored document of two changes, which a client without access has asked for.
fn with_question() -> (Server, SocketId, Client, RequestId) {
    let mut server = Server::new();
    let owner = server.open(1);
    server.settle(owner, &mut client("owner", 2));
    let socket = server.open_remote(2);
    let mut ann = client("ann", 0);
    server.settle(socket, &mut ann);
    assert_eq!(changes(&ann), 0, "nothing before the answer");
    let request = server.take_question(&id());
    (server, socket, ann, request)
}

#[test]
fn a_document_waits_for_its_answer_and_others_go_on() {
    let (mut server, socket, mut ann, request) = with_question();
    ann.add(other_id(), Document::new());
    server.settle(socket, &mut ann);
    let other = server.take_question(&other_id());
    server.answer(other, Access::Write);
    server.settle(socket, &mut ann);
    let conversation = ann.conversation(&other_id()).expect("it was added");
    assert!(conversation.is_unavailable(), "the absent document is answered");
    assert!(!is_unavailable(&ann), "the other one is not");
    server.answer(request, Access::Write);
    server.settle(socket, &mut ann);
    assert_eq!((changes(&ann), ann.status(&id())), (2, Some(SyncStatus::InSync)));
    // No further questions while the answer is valid.
    edit(&mut ann, 7);
    server.settle(socket, &mut ann);
    assert_eq!((server.questions.len(), ann.status(&id())), (0, Some(SyncStatus::InSync)));
}

#[test]
fn a_denied_document_looks_like_an_absent_one() {
    let frames = |is_stored: bool, access: Access| {
        let mut server = Server::new();
        if is_stored {
            let owner = server.open(1);
            server.settle(owner, &mut client("owner", 2));
        }
        let socket = server.open_remote(2);
        let mut ann = client("ann", 0);
        while let Some(frame) = ann.to_send(server.now) {
            server.receive(socket, &frame);
            if !ann.is_ready() {
                for frame in server.frames(socket) {
                    ann.received(&frame, server.now).expect("no violation");
                }
            }
        }
        let request = server.take_question(&id());
        server.answer(request, access);
        server.frames(socket)
    };
    let denied = frames(true, Access::Denied);
    assert_eq!(denied, frames(false, Access::Write));
    assert_eq!(denied.len(), 1);
}

#[test]
fn without_an_answer_there_is_no_access_until_the_next_one() {
    let (mut server, socket, mut ann, request) = with_question();
    server.pass(TIMEOUT);
    server.settle(socket, &mut ann);
    assert!(is_unavailable(&ann));
    let expected = Fact::RightsUnknown { document: Some(id()), reason: "no answer in time".to_owned() };
    assert_eq!(server.facts, [expected]);
    // Too late.
    server.answer(request, Access::Write);
    server.settle(socket, &mut ann);
    assert_eq!(changes(&ann), 0);
    server.pass(RETRY);
    let request = server.take_question(&id());
    server.step(Event::RightsAnswered(request, Err("status 500".to_owned())));
    assert_eq!(server.facts.len(), 2);
    server.pass(RETRY);
    let request = server.take_question(&id());
    server.answer(request, Access::Read);
    server.settle(socket, &mut ann);
    assert_eq!(changes(&ann), 2);
}

#[test]
fn the_first_of_two_answers_counts() {
    let (mut server, socket, mut ann, request) = with_question();
    server.answer(request, Access::Denied);
    server.answer(request, Access::Write);
    server.settle(socket, &mut ann);
    assert!(is_unavailable(&ann) && changes(&ann) == 0);
}

#[test]
fn answers_are_renewed_and_changes_act() {
    let (mut server, socket, mut ann, request) = with_question();
    server.answer(request, Access::Write);
    server.settle(socket, &mut ann);
    server.pass(VALID_FOR);
    let request = server.take_question(&id());
    // The earlier answer counts meanwhile.
    edit(&mut ann, 7);
    server.settle(socket, &mut ann);
    assert_eq!(ann.status(&id()), Some(SyncStatus::InSync));
    server.answer(request, Access::Denied);
    server.settle(socket, &mut ann);
    assert!(is_unavailable(&ann));
    let owner = server.open(3);
    let mut other = client("other", 1);
    server.settle(owner, &mut other);
    edit(&mut ann, 8);
    server.settle(socket, &mut ann);
    assert_eq!((changes(&ann), changes(&other)), (4, 4), "nothing of it, either way");
    server.pass(VALID_FOR);
    let request = server.take_question(&id());
    server.answer(request, Access::Write);
    server.settle(socket, &mut ann);
    server.settle(owner, &mut other);
    assert_eq!((changes(&ann), changes(&other)), (5, 5));
}

#[test]
fn answers_for_clients_that_have_gone_are_harmless() {
    let (mut server, socket, mut ann, request) = with_question();
    // A second join starts the exchange again: the message that waits is not of it.
    ann.connect();
    server.settle(socket, &mut ann);
    assert!(server.questions.is_empty(), "one question at a time");
    server.step(Event::SocketClosed(socket));
    server.answer(request, Access::Write);
    assert!(server.frames(socket).is_empty());
    server.pass(VALID_FOR + TIMEOUT);
    assert!(server.questions.is_empty() && server.facts.is_empty());
    assert_eq!(server.core.usage().socket_bytes, 0);
}

#[test]
fn a_changed_identity_causes_new_questions() {
    let (mut server, socket, mut ann, request) = with_question();
    server.answer(request, Access::Write);
    server.settle(socket, &mut ann);
    server.step(Event::RightsChanged(socket, Arc::new(Identity::remote("ben"))));
    server.settle(socket, &mut ann);
    assert!(is_unavailable(&ann), "the answer was about another identity");
    let request = server.take_question(&id());
    server.answer(request, Access::Write);
    server.settle(socket, &mut ann);
    assert_eq!(ann.status(&id()), Some(SyncStatus::InSync));
    server.allow(socket, Access::Read);
    server.settle(socket, &mut ann);
    assert!(server.questions.is_empty());
    assert!(ann.conversation(&id()).expect("it was added").state().is_peer_read_only());
}

#[test]
fn waiting_messages_are_bounded() {
    let mut server = Server::with(|config| config.max_documents_per_socket = 3);
    let socket = server.open_remote(1);
    let mut ann = client("ann", 0);
    for number in 2..6 {
        ann.add(DocumentId::from_random_bytes([number; 16]), Document::new());
    }
    server.settle(socket, &mut ann);
    assert_eq!(server.closed, [(socket, CloseReason::TooMuch)]);
    // Many messages about one document.
    let mut server = Server::with(|config| config.max_inbox_bytes = 1000);
    let socket = server.open_remote(1);
    let mut ann = client("ann", 0);
    let join = ann.to_send(Duration::ZERO).expect("a join");
    server.receive(socket, &join);
    for frame in server.frames(socket) {
        ann.received(&frame, Duration::ZERO).expect("no violation");
    }
    let message = ann.to_send(Duration::ZERO).expect("a sync message");
    for _ in 0..1000 {
        server.receive(socket, &message);
    }
    assert_eq!(server.closed, [(socket, CloseReason::TooMuch)]);
    assert_eq!(server.core.usage().socket_bytes, 0);
}
