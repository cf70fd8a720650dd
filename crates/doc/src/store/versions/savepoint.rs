//! Savepoints: points to return to, before an uncommitted change or before changes that may turn out to be invalid.

use smallvec::{SmallVec, smallvec};

use crate::store::log::LogEnd;
use crate::store::memory::byte_arena::ArenaEnd;
use crate::store::versions::clock::Clock;
use crate::types::{ActorIdx, KeyOpIdx, ObjIdx, OpId};

/// Lengths of all structures at a savepoint.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct StoreLengths {
    pub(in crate::store) log: LogEnd,
    pub(in crate::store) heap: ArenaEnd,
    pub(in crate::store) actors: u32,
    /// Number of the next object.
    pub(in crate::store) objects: ObjIdx,
    pub(in crate::store) max_op: u32,
}

/// A point to return to.
#[derive(Clone, Debug)]
pub(crate) struct Savepoint {
    pub(in crate::store) ends: StoreLengths,
    /// First operation of each actor after the savepoint, in the order of the actors' numbers.
    pub(in crate::store) firsts: SmallVec<[OpId; 1]>,
}

/// An uncommitted change: the savepoint before its first operation, and the object that it holds exclusively.
#[derive(Clone, Debug)]
pub(crate) struct OpenSavepoint {
    pub(in crate::store) ends: StoreLengths,
    pub(in crate::store) first: OpId,
    pub(in crate::store) exclusive: Option<ObjIdx>,
}

impl Savepoint {
    /// Includes the operations from `first` on in what is reverted.
    pub(in crate::store) fn extend(&mut self, first: OpId) {
        if let Err(at) = self.seek(first.actor) {
            self.firsts.insert(at, first);
        }
    }

    /// Includes the operations that `other` reverts.
    pub(crate) fn extend_by(&mut self, other: &Self) {
        other.firsts.iter().for_each(|first| self.extend(*first));
    }

    fn seek(&self, actor: ActorIdx) -> Result<usize, usize> {
        self.firsts.binary_search_by_key(&actor, |first| first.actor)
    }

    /// Was an operation made after the savepoint?
    pub(in crate::store) fn undone(&self, id: OpId) -> bool {
        id.ctr >= self.first(id.actor)
    }

    /// Was an operation on a key logged after the savepoint?
    pub(in crate::store) fn came_later(&self, number: KeyOpIdx) -> bool {
        number >= self.ends.log.keyed
    }

    /// Clock of everything before the savepoint, for this number of actors.
    pub(in crate::store) fn clock(&self, actors: usize) -> Clock {
        let mut ends = smallvec![u32::MAX; actors];
        self.firsts.iter().for_each(|first| ends[first.actor.index()] = first.ctr);
        Clock::from_ends(ends)
    }

    /// Counter of an actor's first operation after the savepoint.
    pub(in crate::store) fn first(&self, actor: ActorIdx) -> u32 {
        self.seek(actor).map_or(u32::MAX, |at| self.firsts[at].ctr)
    }
}
