//! Who made which changes, and when: all there is to know about changes but their operations.

use crate::codec::change::author_in;
use crate::document::Document;
use crate::types::{ActorId, ChangeHash, ChangeIdx};

/// A change without its operations.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangeMetadata<'a> {
    /// Who made it.
    pub actor: &'a ActorId,
    /// The author it records: only an actor's first change may record one.
    pub author: Option<&'a [u8]>,
    /// Its number among the changes of its actor, from 1.
    pub seq: u64,
    /// Counter of its first operation.
    pub start_op: u64,
    /// Counter of its last operation; one below `start_op` when it has none.
    pub max_op: u64,
    /// When, in seconds since 1970, as its maker said.
    pub timestamp: i64,
    /// What its maker said about it.
    pub message: Option<&'a str>,
    /// What it was made after, in the order its bytes name them.
    pub deps: Vec<ChangeHash>,
    /// Its name.
    pub hash: ChangeHash,
    /// Bytes behind its operations, the author among them.
    pub extra: &'a [u8],
}

/// How much is in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Changes in its history.
    pub changes: u64,
    /// Operations of these changes.
    pub operations: u64,
    /// Actors who made them, or are named in them.
    pub actors: u64,
}

impl Document {
    /// As [`Self::get_changes`], without building their bytes.
    ///
    /// Hashes of changes made since the last time are computed now.
    pub fn get_changes_meta(&self, have: &[ChangeHash]) -> Vec<ChangeMetadata<'_>> {
        let known: Vec<ChangeIdx> = have.iter().filter_map(|hash| self.state.row(hash)).collect();
        self.state.rows_since(&known).into_iter().map(|row| self.meta(row)).collect()
    }

    /// As [`Self::get_change_by_hash`], without building its bytes.
    pub fn get_change_meta_by_hash(&self, hash: &ChangeHash) -> Option<ChangeMetadata<'_>> {
        self.state.row(hash).map(|row| self.meta(row))
    }

    fn meta(&self, row: ChangeIdx) -> ChangeMetadata<'_> {
        let change = self.state.history.at(row);
        let (run, heap) = (change.run, &self.state.heap);
        let extra = heap.get(run.extra);
        ChangeMetadata {
            actor: self.state.actors.id(run.actor),
            author: author_in(extra),
            seq: change.seq.into(),
            start_op: change.start.into(),
            max_op: u64::from(change.end()) - 1,
            timestamp: run.time,
            message: (run.message.len > 0).then(|| heap.text(run.message)),
            deps: change.deps().iter().map(|dep| self.state.hash(*dep)).collect(),
            hash: self.state.hash(row),
            extra,
        }
    }

    /// The authors that first changes of actors record, with these actors, in the order of the changes.
    fn authors(&self) -> impl Iterator<Item = (&[u8], &ActorId)> {
        let firsts = self.state.history.runs().filter(|run| run.seq == 1);
        firsts.filter_map(|run| {
            let author = author_in(self.state.heap.get(run.extra))?;
            Some((author, self.state.actors.id(run.actor)))
        })
    }

    /// Every author on record, once, in the order in which they came.
    ///
    /// Costs one step per run of changes, as the other two questions about authors do.
    pub fn get_authors(&self) -> Vec<&[u8]> {
        let mut authors = vec![];
        for (author, _) in self.authors() {
            if !authors.contains(&author) {
                authors.push(author);
            }
        }
        authors
    }

    /// Who stands behind an actor, if that is on record.
    pub fn get_author_for_actor(&self, actor: &ActorId) -> Option<&[u8]> {
        self.authors().find(|(_, by)| *by == actor).map(|(author, _)| author)
    }

    /// The actors an author writes as.
    pub fn get_actors_for_author(&self, author: &[u8]) -> Vec<ActorId> {
        self.authors().filter(|(by, _)| *by == author).map(|(_, actor)| actor.clone()).collect()
    }

    /// How much is in the document.
    pub fn stats(&self) -> Stats {
        Stats {
            changes: self.state.history.len().into(),
            operations: self.state.history.operations(),
            actors: self.state.writers().len() as u64,
        }
    }
}
