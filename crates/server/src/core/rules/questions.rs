//! Rights that another service knows: questions about each client and document, answers, and the ends of both.
//!
//! A message about a document without an answer waits for it; other documents go on. Without an answer in time, or with a failure, the
//! client has no access until the next attempt. An answer that comes late or twice counts for nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hashmill_repo::DocumentId;

use crate::access::Access;
use crate::core::defect::Defect;
use crate::core::{Core, Draining};
use crate::event::{Action, CloseReason, RightsAnswer};
use crate::fact::Fact;
use crate::ids::{RequestId, SocketId};

/// What is known about the rights of a client on a document.
#[derive(Debug, Default)]
pub(in crate::core) struct AnsweredRight {
    /// `None`: there was no answer yet.
    pub(in crate::core) access: Option<Access>,
    /// The question under way.
    question: Option<RequestId>,
    /// When the question is given up, or asked again.
    due: Duration,
    /// Messages that wait for the first answer.
    waiting: Vec<WaitingMessage>,
}

/// A sync message or a request that waits for an answer.
#[derive(Debug)]
pub(in crate::core) struct WaitingMessage {
    pub(in crate::core) data: Vec<u8>,
    pub(in crate::core) is_request: bool,
}

/// Questions under way, and the times at which rights are due.
#[derive(Debug, Default)]
pub(in crate::core) struct Questions {
    open: BTreeMap<RequestId, (SocketId, DocumentId)>,
    dues: BTreeSet<(Duration, SocketId, DocumentId)>,
}

impl Questions {
    /// When the next right is due.
    pub(in crate::core) fn next_due(&self) -> Option<Duration> {
        self.dues.first().map(|(at, ..)| *at)
    }

    fn set_due(&mut self, right: &mut AnsweredRight, id: SocketId, document: &DocumentId, due: Duration) {
        self.dues.remove(&(right.due, id, document.clone()));
        right.due = due;
        self.dues.insert((due, id, document.clone()));
    }

    fn forget(&mut self, right: &AnsweredRight, id: SocketId, document: &DocumentId) {
        self.dues.remove(&(right.due, id, document.clone()));
        if let Some(question) = right.question {
            self.open.remove(&question);
        }
    }
}

impl Core {
    /// Lets a message wait for the first answer about its document.
    pub(in crate::core) fn wait_for_rights(
        &mut self,
        id: SocketId,
        document: &DocumentId,
        message: WaitingMessage,
    ) {
        let max = self.config.max_documents_per_socket;
        let Some(socket) = self.sockets.get_mut(id) else { return };
        let is_new = !socket.rights.contains_key(document);
        if is_new && socket.rights.len() >= max {
            return self.close(id, CloseReason::TooMuch);
        }
        socket.inbox_bytes += message.data.len();
        socket.rights.entry(document.clone()).or_default().waiting.push(message);
        if is_new {
            self.ask(id, document);
        }
        if self.has(Defect::OpenUntilAnswered) {
            let early = RightsAnswer { access: Access::Write, valid_for: Duration::from_secs(1) };
            self.apply_answer(id, document, Ok(early));
        }
    }

    fn ask(&mut self, id: SocketId, document: &DocumentId) {
        let request = RequestId(self.next_number());
        let due = self.now.saturating_add(self.config.rights_timeout);
        let Some(socket) = self.sockets.get_mut(id) else { return };
        let right = socket.rights.entry(document.clone()).or_default();
        right.question = Some(request);
        self.questions.set_due(right, id, document, due);
        self.questions.open.insert(request, (id, document.clone()));
        self.actions.push(Action::AskRights { request, socket: id, document: document.clone() });
    }

    /// Takes an answer. One to no question under way counts for nothing.
    pub(in crate::core) fn finish_question(
        &mut self,
        request: RequestId,
        answer: Result<RightsAnswer, String>,
    ) {
        if let Some((id, document)) = self.questions.open.remove(&request) {
            self.apply_answer(id, &document, answer);
        }
    }

    /// Gives up questions without an answer, and asks again about rights whose time is over.
    pub(in crate::core) fn renew_rights(&mut self) {
        while self.questions.next_due().is_some_and(|at| at <= self.now) {
            let Some((_, id, document)) = self.questions.dues.pop_first() else { return };
            let Some(socket) = self.sockets.get_mut(id) else { continue };
            let is_used = socket.documents.contains_key(&document) || socket.denied.contains_key(&document);
            let Some(right) = socket.rights.get_mut(&document) else { continue };
            if let Some(request) = right.question {
                self.questions.open.remove(&request);
                self.apply_answer(id, &document, Err("no answer in time".to_owned()));
            } else if is_used && !self.has(Defect::NoRenewal) {
                self.ask(id, &document);
            } else if !is_used {
                self.sockets.get_mut(id).into_iter().for_each(|socket| drop(socket.rights.remove(&document)));
            }
        }
    }

    fn apply_answer(&mut self, id: SocketId, document: &DocumentId, answer: Result<RightsAnswer, String>) {
        let (access, valid_for) = match answer {
            Ok(RightsAnswer { access, valid_for }) => (access, valid_for),
            Err(reason) => {
                self.report(Fact::RightsUnknown { document: Some(document.clone()), reason });
                (Access::Denied, self.config.rights_retry)
            }
        };
        let due = self.now.saturating_add(valid_for);
        let Some(socket) = self.sockets.get_mut(id) else { return };
        let takes_part = socket.documents.contains_key(document) || socket.denied.contains_key(document);
        let Some(right) = socket.rights.get_mut(document) else { return };
        right.question = None;
        self.questions.set_due(right, id, document, due);
        let before = right.access.replace(access).unwrap_or(Access::Denied);
        let waiting = std::mem::take(&mut right.waiting);
        let bytes: usize = waiting.iter().map(|message| message.data.len()).sum();
        socket.inbox_bytes = socket.inbox_bytes.saturating_sub(bytes);
        if takes_part && before != access {
            self.change_access(id, document, access);
        }
        if self.draining != Draining::No {
            return;
        }
        for WaitingMessage { data, is_request } in waiting {
            self.take_sync(id, document, data, is_request);
        }
    }

    /// Forgets all answers for a client whose identity has changed. Returns the messages that waited for some.
    pub(in crate::core) fn forget_rights(&mut self, id: SocketId) -> Vec<(DocumentId, WaitingMessage)> {
        let Some(socket) = self.sockets.get_mut(id) else { return Vec::new() };
        let mut messages = Vec::new();
        for (document, right) in std::mem::take(&mut socket.rights) {
            self.questions.forget(&right, id, &document);
            messages.extend(right.waiting.into_iter().map(|message| (document.clone(), message)));
        }
        let bytes: usize = messages.iter().map(|(_, message)| message.data.len()).sum();
        socket.inbox_bytes = socket.inbox_bytes.saturating_sub(bytes);
        messages
    }

    /// Drops the messages of a client that wait for answers: its exchange starts again.
    pub(in crate::core) fn drop_waiting_messages(&mut self, id: SocketId) {
        let Some(socket) = self.sockets.get_mut(id) else { return };
        let waiting = socket.rights.values_mut().flat_map(|right| std::mem::take(&mut right.waiting));
        let bytes: usize = waiting.map(|message| message.data.len()).sum();
        socket.inbox_bytes = socket.inbox_bytes.saturating_sub(bytes);
    }

    /// Asks about the documents that a client takes part in, after its identity has changed.
    pub(in crate::core) fn ask_again(&mut self, id: SocketId) {
        let Some(socket) = self.sockets.get(id) else { return };
        let documents = socket.documents.keys().chain(socket.denied.keys());
        let unknown: Vec<DocumentId> =
            documents.filter(|document| socket.needs_question(document)).cloned().collect();
        for document in unknown {
            self.ask(id, &document);
        }
    }
}
