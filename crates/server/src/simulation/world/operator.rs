//! Operator of the world: commands about documents, their answers, and what must hold after these.

use std::collections::{BTreeMap, BTreeSet};

use hashmill_repo::DocumentId;
use hashmill_testkit::Rng;

use super::World;
use crate::core::defect::Defect;
use crate::event::{Event, Intervention};
use crate::ids::{CommandId, SocketId};
use crate::simulation::disk::Contents;
use crate::simulation::promise::ConfirmedChanges;
use crate::simulation::violation::Violation;
use crate::storage::{Command, CommandOutcome};

/// Number of the operation whose random decisions are those at the end of the world.
const LAST_OPERATION: usize = usize::MAX;

/// Commands of the operator, and documents that must look absent.
#[derive(Default)]
pub(super) struct Operator {
    last: u64,
    waiting: BTreeMap<CommandId, (DocumentId, Command)>,
    /// Interventions and inspections.
    interventions: BTreeSet<CommandId>,
    /// Commands about documents that clients had open.
    about_used: BTreeSet<CommandId>,
    /// Documents with a deletion that was accepted, and not refused or taken back since.
    closed: BTreeSet<DocumentId>,
    /// Documents whose deletion was confirmed, and that were not brought back since.
    deleted: BTreeSet<DocumentId>,
}

/// A backup of the storage, and what was confirmed before it began.
#[derive(Clone)]
pub(super) struct Backup {
    contents: Contents,
    confirmed: ConfirmedChanges,
}

impl Operator {
    pub(super) fn is_closed(&self, document: &DocumentId) -> bool {
        self.closed.contains(document)
    }

    pub(super) fn is_deleted(&self, document: &DocumentId) -> bool {
        self.deleted.contains(document)
    }

    /// The storage has other tombstones, and no command waits.
    fn note_tombstones(&mut self, deleted: impl Iterator<Item = DocumentId>) {
        self.deleted = deleted.collect();
        self.closed = self.deleted.clone();
    }

    /// The server has ended: commands without an answer may have been carried out.
    pub(super) fn lose_answers(&mut self) {
        self.about_used.clear();
        self.interventions.clear();
        for (document, _) in std::mem::take(&mut self.waiting).into_values() {
            self.closed.remove(&document);
            self.deleted.remove(&document);
        }
    }
}

impl World {
    /// Gives the server a command.
    pub(super) fn command(&mut self, document: &DocumentId, command: Command) -> Result<(), Violation> {
        self.note(|| format!("the operator: {} {document:.4}", command.name()));
        if let Command::Delete { at } | Command::DeleteUnused { at, .. } = command {
            self.disk.note_deletion(document, at, self.now);
        }
        self.operator.last += 1;
        let id = CommandId(self.operator.last);
        self.operator.waiting.insert(id, (document.clone(), command));
        if self.is_used(document) {
            self.operator.about_used.insert(id);
        }
        self.exchanges.forget(document);
        match command {
            Command::Delete { .. } => drop(self.operator.closed.insert(document.clone())),
            // It does nothing to a document in use.
            Command::DeleteUnused { .. } => {}
            Command::Undelete => {
                self.operator.closed.remove(document);
                self.operator.deleted.remove(document);
            }
            Command::Purge { .. } => {}
        }
        self.step(Event::CommandReceived(id, document.clone(), command))
    }

    /// Intervenes in a document or a socket, or asks for details of a document. All promises hold as before.
    pub(super) fn intervene(&mut self, rng: &mut Rng) -> Result<(), Violation> {
        self.operator.last += 1;
        let id = CommandId(self.operator.last);
        self.operator.interventions.insert(id);
        let document = self.ids[rng.below(self.ids.len())].clone();
        let sockets: Vec<SocketId> = self.connections.keys().copied().collect();
        let intervention = match rng.below(6) {
            0 => Intervention::EndQuarantine(document),
            1 if !sockets.is_empty() => Intervention::CloseSocket(sockets[rng.below(sockets.len())]),
            1 | 2 => Intervention::Evict(document),
            3 => Intervention::Compact(document),
            _ => {
                self.note(|| format!("the operator inspects {document:.4}"));
                return self.step(Event::InspectionReceived(id, document, 3));
            }
        };
        self.note(|| format!("the operator: {intervention:?}"));
        self.step(Event::InterventionReceived(id, intervention))
    }

    pub(super) fn note_inspection(&mut self, id: CommandId) -> Result<(), Violation> {
        match self.operator.interventions.remove(&id) {
            true => Ok(()),
            false => Err(Violation::new("form", format!("{id:?} has no second answer"))),
        }
    }

    /// Takes a backup of the storage, beside a running server or without one.
    pub(super) fn back_up(&mut self) {
        self.probes.count("backups");
        self.note(|| "the operator takes a backup".to_owned());
        self.backup = Some(Backup { contents: self.disk.back_up(), confirmed: self.promise.confirmed() });
    }

    /// Ends the server, and starts it again later on the storage of the latest backup. Clients keep all that they have.
    pub(super) fn restore_backup(&mut self, pause_ms: usize) -> Result<(), Violation> {
        let Some(Backup { contents, confirmed }) = self.backup.clone() else { return Ok(()) };
        self.probes.count("restored backups");
        self.note(|| "the operator restores the backup".to_owned());
        if self.defect != Some(Defect::RestoresInUse) {
            self.crash_for(pause_ms)?;
            let deleted = self.ids.iter().filter(|id| contents.tombstone(id).is_some());
            self.operator.note_tombstones(deleted.cloned());
        }
        self.ids.iter().for_each(|id| self.exchanges.forget(id));
        self.promise.note_restored(contents.chunks(), &confirmed)?;
        self.disk.restore(contents);
        Ok(())
    }

    /// Deletes some documents, and brings the others back, so that no answer is missing.
    pub(super) fn decide_about_all(
        &mut self,
        mut is_deleted: impl FnMut(&mut Rng) -> bool,
    ) -> Result<(), Violation> {
        let mut rng = self.streams.operation(LAST_OPERATION);
        for id in self.ids.clone() {
            let at = self.storage_time();
            let command = if is_deleted(&mut rng) { Command::Delete { at } } else { Command::Undelete };
            self.command(&id, command)?;
        }
        Ok(())
    }

    /// Checks that the effect of an answered command is stored.
    pub(super) fn note_answer(&mut self, id: CommandId, outcome: CommandOutcome) -> Result<(), Violation> {
        if self.operator.interventions.remove(&id) {
            return Ok(());
        }
        let Some((document, command)) = self.operator.waiting.remove(&id) else {
            return Err(Violation::new("form", format!("{id:?} has no second answer")));
        };
        self.note(|| format!("the operator: {} {document:.4}: {outcome:?}", command.name()));
        let tombstone = self.disk.tombstone(&document);
        let is_stored = match (command, outcome) {
            (Command::Delete { .. } | Command::DeleteUnused { .. }, CommandOutcome::Done) => {
                tombstone.is_some()
            }
            (Command::Undelete, CommandOutcome::Done) => tombstone.is_none(),
            (Command::Purge { .. }, CommandOutcome::Done) => {
                tombstone.is_some_and(|tombstone| tombstone.is_purged) && !self.disk.has_chunks(&document)
            }
            _ => true,
        };
        if !is_stored {
            return Err(Violation::new("deletion", format!("{document}: {} is not stored", command.name())));
        }
        let is_rule = matches!(command, Command::DeleteUnused { .. });
        if is_rule && outcome == CommandOutcome::Done && self.operator.about_used.contains(&id) {
            return Err(Violation::new("deletion", format!("{document} was open, and counted as unused")));
        }
        let later = self.operator.waiting.values().filter(|(other, _)| *other == document);
        let has_later = |wanted: fn(&Command) -> bool| later.clone().any(|(_, command)| wanted(command));
        let is_delete = |command: &Command| command.is_delete();
        match (command, outcome) {
            (Command::Delete { .. } | Command::DeleteUnused { .. }, CommandOutcome::Done)
                if !has_later(|command| *command == Command::Undelete) =>
            {
                self.operator.closed.insert(document.clone());
                self.operator.deleted.insert(document);
            }
            // It was purged before.
            (Command::Undelete, CommandOutcome::Purged) => {
                self.operator.closed.insert(document.clone());
                self.operator.deleted.insert(document);
            }
            (
                Command::Delete { .. } | Command::DeleteUnused { .. },
                CommandOutcome::Absent | CommandOutcome::NotDue,
            ) if !has_later(is_delete) && tombstone.is_none() => {
                self.operator.closed.remove(&document);
            }
            _ => {}
        }
        Ok(())
    }

    /// Has a client on an open connection heard of a document? It may still be there to the server then.
    fn is_used(&self, document: &DocumentId) -> bool {
        self.clients.iter().any(|client| {
            let connection = client.socket.and_then(|socket| self.connections.get(&socket));
            let conversation = client.client.conversation(document);
            connection.is_some_and(|connection| connection.is_open_at_server)
                && conversation.is_some_and(|conversation| conversation.their_heads().is_some())
        })
    }

    /// Checks that all commands were answered.
    pub(super) fn check_answered(&self) -> Result<(), Violation> {
        match self.operator.waiting.values().next() {
            Some(waiting) => Err(Violation::new("convergence", format!("no answer to {waiting:?}"))),
            None if self.operator.interventions.is_empty() => Ok(()),
            None => Err(Violation::new("convergence", "no answer to an intervention")),
        }
    }

    /// Checks a deleted document: clients know it as absent, and no change of theirs brings it back.
    pub(super) fn check_deleted(&self, id: &DocumentId) -> Result<(), Violation> {
        let Some(tombstone) = self.disk.tombstone(id) else {
            return Err(Violation::new("deletion", format!("{id} came back")));
        };
        if tombstone.is_purged && self.disk.has_chunks(id) {
            return Err(Violation::new("deletion", format!("{id} was purged, and chunks are there")));
        }
        let is_answered = |client: &crate::simulation::client::SimulatedClient| {
            client.client.conversation(id).is_some_and(|conversation| conversation.is_unavailable())
        };
        match self.clients.iter().position(|client| !is_answered(client)) {
            Some(client) => Err(Violation::new("deletion", format!("{id}: client {client} was not told"))),
            None => Ok(()),
        }
    }
}
