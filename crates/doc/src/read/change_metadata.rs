//! Metadata of changes: everything but their operations.

use crate::codec::chunks::change::author_in;
use crate::document::Document;
use crate::types::{ActorId, ChangeHash, ChangeIdx};

/// A change without its operations.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangeMetadata<'a> {
    /// The actor.
    pub actor: &'a ActorId,
    /// The recorded author: only an actor's first change may record one.
    pub author: Option<&'a [u8]>,
    /// Sequence number among the changes of its actor, from 1.
    pub seq: u64,
    /// Counter of the first operation.
    pub start_op: u64,
    /// Counter of the last operation; one below `start_op` if there is none.
    pub max_op: u64,
    /// Seconds since 1970 by the author's clock.
    pub timestamp: i64,
    /// The message.
    pub message: Option<&'a str>,
    /// The dependencies, in the order of the encoding.
    pub deps: Vec<ChangeHash>,
    /// The hash.
    pub hash: ChangeHash,
    /// Bytes after the operations, including the author.
    pub extra: &'a [u8],
}

/// Size of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Number of changes.
    pub changes: u64,
    /// Number of operations in these changes.
    pub operations: u64,
    /// Number of actors that made changes or are named in them.
    pub actors: u64,
}

impl Document {
    /// As [`Self::get_changes`], without encoding the changes.
    ///
    /// Computes the missing hashes of changes made since the last call.
    pub fn get_changes_meta(&self, have: &[ChangeHash]) -> Vec<ChangeMetadata<'_>> {
        let known: Vec<ChangeIdx> = have.iter().filter_map(|hash| self.state.row(hash)).collect();
        self.state.rows_since(&known).into_iter().map(|row| self.meta(row)).collect()
    }

    /// As [`Self::get_change_by_hash`], without encoding the change.
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

    /// The recorded authors with their actors, in the order of the changes.
    fn authors(&self) -> impl Iterator<Item = (&[u8], &ActorId)> {
        let firsts = self.state.history.runs().filter(|run| run.seq == 1);
        firsts.filter_map(|run| {
            let author = author_in(self.state.heap.get(run.extra))?;
            Some((author, self.state.actors.id(run.actor)))
        })
    }

    /// Every recorded author once, in order of first appearance.
    ///
    /// Costs one step per run of changes, as do the other two methods for authors.
    pub fn get_authors(&self) -> Vec<&[u8]> {
        let mut authors = vec![];
        for (author, _) in self.authors() {
            if !authors.contains(&author) {
                authors.push(author);
            }
        }
        authors
    }

    /// The author of an actor, if one is recorded.
    pub fn get_author_for_actor(&self, actor: &ActorId) -> Option<&[u8]> {
        self.authors().find(|(_, by)| *by == actor).map(|(author, _)| author)
    }

    /// The actors of an author.
    pub fn get_actors_for_author(&self, author: &[u8]) -> Vec<ActorId> {
        self.authors().filter(|(by, _)| *by == author).map(|(_, actor)| actor.clone()).collect()
    }

    /// Size of the document.
    pub fn stats(&self) -> Stats {
        Stats {
            changes: self.state.history.len().into(),
            operations: self.state.history.operations(),
            actors: self.state.writers().len() as u64,
        }
    }
}
