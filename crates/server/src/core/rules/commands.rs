//! Commands of the operator: one at a time for each document, repeated until the storage has carried it out.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use hashmill_repo::DocumentId;

use crate::core::Core;
use crate::core::commits::Hold;
use crate::core::defect::Defect;
use crate::event::{Action, IoFailure};
use crate::fact::Fact;
use crate::ids::{CommandId, RequestId};
use crate::storage::{Command, CommandOutcome};

/// Delay before a command that failed is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Commands that are not carried out yet.
#[derive(Debug, Default)]
pub(in crate::core) struct Commands {
    queues: BTreeMap<DocumentId, CommandQueue>,
}

/// The commands about one document, in order. The first is carried out.
#[derive(Debug, Default)]
struct CommandQueue {
    commands: VecDeque<(CommandId, Command)>,
    /// The attempt under way.
    request: Option<RequestId>,
    /// No attempt starts before this time.
    retry_at: Duration,
}

impl Commands {
    /// Is a document about to be deleted?
    pub(in crate::core) fn has_delete(&self, document: &DocumentId) -> bool {
        let queue = self.queues.get(document);
        let is_delete = |(_, command): &(CommandId, Command)| command.is_delete();
        queue.is_some_and(|queue| queue.commands.iter().any(is_delete))
    }

    /// When the next attempt is due.
    pub(in crate::core) fn next_retry(&self, now: Duration) -> Option<Duration> {
        let waiting = self.queues.values().filter(|queue| queue.request.is_none() && queue.retry_at > now);
        waiting.map(|queue| queue.retry_at).min()
    }

    fn document_of(&self, request: RequestId) -> Option<DocumentId> {
        let mut queues = self.queues.iter();
        let (document, _) = queues.find(|(_, queue)| queue.request == Some(request))?;
        Some(document.clone())
    }
}

impl Core {
    /// Accepts a command. A document that is to be deleted is closed at once.
    pub(in crate::core) fn receive_command(
        &mut self,
        id: CommandId,
        document: &DocumentId,
        command: Command,
    ) {
        let is_used =
            matches!(command, Command::DeleteUnused { .. }) && self.documents.contains_key(document);
        if is_used && !self.has(Defect::DeletesUsed) {
            return self.actions.push(Action::Answer(id, CommandOutcome::NotDue));
        }
        let was_closed = self.is_closed(document);
        let queue = self.commands.queues.entry(document.clone()).or_default();
        queue.commands.push_back((id, command));
        if !was_closed && self.is_closed(document) {
            self.close_document(document);
        }
        if self.has(Defect::AnswersEarly) {
            self.actions.push(Action::Answer(id, CommandOutcome::Done));
        }
    }

    /// Starts commands whose documents are ready for them.
    pub(in crate::core) fn start_commands(&mut self) {
        let ready: Vec<(DocumentId, Command)> = self
            .commands
            .queues
            .iter()
            .filter_map(|(document, queue)| {
                let (_, command) = *queue.commands.front()?;
                let is_due = queue.request.is_none() && queue.retry_at <= self.now;
                (is_due && self.is_ready_for(document, command)).then(|| (document.clone(), command))
            })
            .collect();
        for (document, command) in ready {
            let request = RequestId(self.next_number());
            if let Some(queue) = self.commands.queues.get_mut(&document) {
                queue.request = Some(request);
                self.actions.push(Action::Execute(request, document, command));
            }
        }
    }

    /// A document is deleted when its changes are stored, or it could count as absent. It is purged or brought back when nothing is
    /// under way that stores or deletes chunks of it.
    fn is_ready_for(&self, document: &DocumentId, command: Command) -> bool {
        if self.has(Defect::PurgesEarly) {
            return true;
        }
        let is_stored = self.commit.hold_of(document) == Hold::Nothing && !self.commit.is_degraded();
        let entry = self.documents.get(document);
        let is_quiet = || {
            entry.is_none_or(|entry| entry.is_idle() && entry.inbox.is_empty() && entry.compaction.is_none())
        };
        is_stored && (command.is_delete() || is_quiet())
    }

    pub(in crate::core) fn finish_command(
        &mut self,
        request: RequestId,
        result: Result<CommandOutcome, IoFailure>,
    ) {
        let Some(document) = self.commands.document_of(request) else { return };
        let was_closed = self.is_closed(&document);
        let Some(queue) = self.commands.queues.get_mut(&document) else { return };
        queue.request = None;
        let outcome = match result {
            Ok(outcome) => outcome,
            // It may have been done. If so, the repetition changes nothing.
            Err(failure) => {
                queue.retry_at = self.now + RETRY;
                let reason = failure.reason().to_owned();
                return self.report(Fact::CommandFailed { document, reason });
            }
        };
        let Some((id, command)) = queue.commands.pop_front() else { return };
        if queue.commands.is_empty() {
            self.commands.queues.remove(&document);
        }
        if outcome == CommandOutcome::Done {
            self.apply_command(&document, command);
        }
        if !self.has(Defect::AnswersEarly) {
            self.actions.push(Action::Answer(id, outcome));
        }
        if was_closed && !self.is_closed(&document) {
            self.reopen_document(&document);
        }
    }

    fn apply_command(&mut self, document: &DocumentId, command: Command) {
        let document_of_fact = document.clone();
        match command {
            Command::Delete { .. } | Command::DeleteUnused { .. } => {
                self.counts.deletions += 1;
                self.clear_document(document);
                self.report(Fact::Deleted { document: document_of_fact });
            }
            Command::Undelete => {
                self.load_again(document);
                self.report(Fact::Undeleted { document: document_of_fact });
            }
            Command::Purge { .. } => self.report(Fact::Purged { document: document_of_fact }),
        }
    }
}
