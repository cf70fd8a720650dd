//! Commands of the operator, through the journal.

use hashmill_repo::DocumentId;

use super::appends::PublishPurpose;
use super::record::RecordCommand;
use super::tail::Commands;
use super::{Defect, Listing, ObjectKey, ObjectPurpose, Output, Record, Replica, TombstoneVersion, shard_of};
use crate::event::{Event, IoFailure};
use crate::ids::RequestId;
use crate::storage::{Command, CommandOutcome, DocumentState, TombstoneChange};

/// A command that is being carried out.
#[derive(Debug)]
pub(super) struct Execution {
    document: DocumentId,
    command: Command,
    step: Step,
    version: TombstoneVersion,
    /// Commands that were read from the tail when it began, and since, until the version is known.
    commands: Commands,
}

#[derive(Debug)]
enum Step {
    /// The objects are listed, to decide whether there is something to do.
    Deciding,
    /// The record of this number was published: its place in the journal decides.
    Publishing(u64),
    /// The objects are listed, to delete those that are chunks.
    Listing,
    /// This number of objects is being deleted.
    Removing(usize, Option<IoFailure>),
}

impl Replica {
    pub(super) fn start_execution(&mut self, request: RequestId, document: DocumentId, command: Command) {
        let commands = self.tail_of(&document).commands_of(&document);
        let id = self.ask_objects(ObjectPurpose::ExecutionList(request));
        self.outputs.push(Output::List(id, document.clone()));
        let (step, version) = (Step::Deciding, TombstoneVersion::default());
        self.executions.insert(request, Execution { document, command, step, version, commands });
    }

    pub(super) fn continue_execution(&mut self, request: RequestId, listed: Result<Listing, IoFailure>) {
        let Some(execution) = self.executions.get(&request) else { return };
        match (listed, &execution.step) {
            (Err(failure), _) => self.finish_execution(request, Err(failure)),
            (Ok(listing), Step::Deciding) => self.decide(request, &listing),
            (Ok(listing), _) => self.remove_chunks(request, listing),
        }
    }

    fn decide(&mut self, request: RequestId, listing: &Listing) {
        let Some(execution) = self.executions.get(&request) else { return };
        let document = execution.document.clone();
        let has_chunks =
            !listing.chunks.is_empty() || self.tail_of(&document).chunks_of(&document).next().is_some();
        let Some(execution) = self.executions.get_mut(&request) else { return };
        execution.version = listing.version.after(&execution.commands);
        let command = execution.command;
        let tombstone = execution.version.tombstone();
        let (outcome, change) = command.decide(DocumentState { tombstone, has_chunks, used_at: None });
        let is_purge = matches!(command, Command::Purge { .. });
        if change != TombstoneChange::Nothing {
            let mut record = Record::empty(self.config.node);
            record.command = Some(RecordCommand { document: document.clone(), command, has_chunks });
            let shard = shard_of(&document, self.config.shards);
            let number = self.publish(shard, record, PublishPurpose::Execution(request));
            if let Some(execution) = self.executions.get_mut(&request) {
                execution.step = Step::Publishing(number);
            }
        } else if is_purge && execution.version.is_purged {
            // An earlier attempt may have ended before all chunks were deleted.
            self.list_for_removal(request);
        } else {
            self.finish_execution(request, Ok(outcome));
        }
    }

    /// The record of a command was stored, or not. A success is told when the record is read.
    pub(super) fn finish_command_record(&mut self, request: RequestId, result: Result<(), IoFailure>) {
        let execution = self.executions.get(&request);
        if let Err(failure) = result
            && execution.is_some_and(|execution| matches!(execution.step, Step::Publishing(_)))
        {
            self.finish_execution(request, Err(failure));
        }
    }

    /// Reads a command in the journal. `own`: the number of the record, if this node wrote it.
    pub(super) fn read_command(&mut self, sequence: u64, command: &RecordCommand, own: Option<u64>) {
        self.add_command_to_loads(sequence, command);
        let mut finished = None;
        for (request, execution) in &mut self.executions {
            if execution.document != command.document {
                continue;
            }
            execution.commands.insert(sequence, command.clone());
            let Step::Publishing(number) = execution.step else { continue };
            let (tombstone, has_chunks) = (execution.version.tombstone(), command.has_chunks);
            let change = execution.version.apply(sequence, command);
            if own == Some(number) {
                let state = DocumentState { tombstone, has_chunks, used_at: None };
                finished = Some((*request, execution.command.decide(state).0, change));
            }
        }
        match finished {
            Some((request, _, TombstoneChange::RemoveChunks(_))) => self.list_for_removal(request),
            Some((request, outcome, _)) => self.finish_execution(request, Ok(outcome)),
            None if self.has(Defect::IgnoresCommands) => {}
            // By another node, or by an attempt of this one that counted as failed.
            None => {
                self.outputs.push(Output::ToCore(Event::DocumentOutdated(command.document.clone())));
            }
        }
    }

    fn list_for_removal(&mut self, request: RequestId) {
        let Some(execution) = self.executions.get_mut(&request) else { return };
        execution.step = Step::Listing;
        let document = execution.document.clone();
        let id = self.ask_objects(ObjectPurpose::ExecutionList(request));
        self.outputs.push(Output::List(id, document));
    }

    fn remove_chunks(&mut self, request: RequestId, listing: Listing) {
        let Some(execution) = self.executions.get_mut(&request) else { return };
        execution.step = Step::Removing(listing.chunks.len(), None);
        if listing.chunks.is_empty() {
            return self.finish_execution(request, Ok(CommandOutcome::Done));
        }
        for key in listing.chunks {
            let id = self.ask_objects(ObjectPurpose::ExecutionDeletion(request));
            self.outputs.push(Output::Delete(id, ObjectKey::of_chunk(&key)));
        }
    }

    pub(super) fn finish_removal(&mut self, request: RequestId, result: Result<(), IoFailure>) {
        let Some(execution) = self.executions.get_mut(&request) else { return };
        let Step::Removing(left, failure) = &mut execution.step else { return };
        *left -= 1;
        *failure = failure.take().or(result.err());
        if *left == 0 {
            let result = failure.take().map_or(Ok(CommandOutcome::Done), Err);
            self.finish_execution(request, result);
        }
    }

    /// Ends commands whose records may have been trimmed before this node read them. The core repeats them.
    pub(super) fn abandon_executions(&mut self, shard: u16) {
        let shards = self.config.shards;
        let those =
            self.executions.iter().filter(|(_, execution)| shard_of(&execution.document, shards) == shard);
        for request in those.map(|(request, _)| *request).collect::<Vec<_>>() {
            let failure = IoFailure::Unknown("the journal was trimmed before it was read".to_owned());
            self.finish_execution(request, Err(failure));
        }
    }

    fn finish_execution(&mut self, request: RequestId, result: Result<CommandOutcome, IoFailure>) {
        if self.executions.remove(&request).is_some() {
            self.outputs.push(Output::ToCore(Event::Executed(request, result)));
        }
    }
}
