//! Interventions of the operator, which leave the contents of documents as they are.

use std::time::Duration;

use hashmill_repo::DocumentId;

use crate::core::commits::Hold;
use crate::core::{Core, Draining};
use crate::document::Input;
use crate::event::{Action, CloseReason, Intervention};
use crate::ids::{CommandId, SocketId};
use crate::storage::{ChunkKind, CommandOutcome};

impl Core {
    /// Carries out an intervention. All but a compaction are answered in this step.
    pub(in crate::core) fn intervene(&mut self, id: CommandId, intervention: Intervention) {
        let outcome = match intervention {
            Intervention::EndQuarantine(document) => self.end_quarantine(&document),
            Intervention::CloseSocket(socket) => self.close_for_operator(socket),
            Intervention::Evict(document) => self.evict_now(&document),
            Intervention::Compact(document) => return self.compact_now(id, &document),
        };
        self.actions.push(Action::Answer(id, outcome));
    }

    fn end_quarantine(&mut self, document: &DocumentId) -> CommandOutcome {
        if !self.quarantines.contains(document) {
            return CommandOutcome::NotDue;
        }
        self.quarantines.remove(document);
        if let Some(entry) = self.documents.get_mut(document) {
            entry.push(Input::Release);
            self.schedule(document);
        }
        CommandOutcome::Done
    }

    fn close_for_operator(&mut self, id: SocketId) -> CommandOutcome {
        if self.sockets.get(id).is_none() {
            return CommandOutcome::Absent;
        }
        self.close(id, CloseReason::Operator);
        CommandOutcome::Done
    }

    /// Lets a document leave memory at the end of this step, if nothing is under way in it.
    fn evict_now(&mut self, document: &DocumentId) -> CommandOutcome {
        let is_stored = self.commit.hold_of(document) == Hold::Nothing;
        let Some(entry) = self.documents.get_mut(document) else { return CommandOutcome::Absent };
        if !entry.is_at_rest() || !is_stored {
            return CommandOutcome::NotDue;
        }
        if let Some(at) = entry.idle_until.replace(Duration::ZERO) {
            self.idle.remove(&(at, document.clone()));
        }
        self.idle.insert((Duration::ZERO, document.clone()));
        CommandOutcome::Done
    }

    /// Compacts a document, which is loaded for that if it is not in memory. The answer follows when the snapshot is stored.
    fn compact_now(&mut self, id: CommandId, document: &DocumentId) {
        if self.draining != Draining::No {
            return self.actions.push(Action::Answer(id, CommandOutcome::Failed));
        }
        self.entry(document).compaction_requests.push(id);
        self.schedule(document);
    }

    /// Answers requests for a compaction that cannot start, or has nothing to do. True if one is to start.
    pub(in crate::core) fn has_compaction_request(&mut self, document: &DocumentId) -> bool {
        let is_degraded = self.commit.is_degraded();
        let Some(entry) = self.documents.get(document) else { return false };
        if entry.compaction_requests.is_empty() || entry.compaction.is_some() || !entry.is_idle() {
            return false;
        }
        let outcome = if is_degraded {
            CommandOutcome::Failed
        } else if entry.is_deleted || entry.ledger.is_empty() {
            CommandOutcome::Absent
        } else if entry.ledger.len() == 1
            && entry.ledger.keys().iter().all(|key| key.kind == ChunkKind::Snapshot)
        {
            CommandOutcome::Done
        } else {
            return true;
        };
        self.answer_compaction_requests(document, outcome);
        false
    }

    pub(in crate::core) fn answer_compaction_requests(
        &mut self,
        document: &DocumentId,
        outcome: CommandOutcome,
    ) {
        let Some(entry) = self.documents.get_mut(document) else { return };
        let requests = std::mem::take(&mut entry.compaction_requests);
        self.actions.extend(requests.into_iter().map(|id| Action::Answer(id, outcome)));
    }
}
