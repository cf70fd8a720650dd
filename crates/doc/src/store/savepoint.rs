//! What to come back to: before a change in the making, or before changes that may turn out to be invalid.

use smallvec::{SmallVec, smallvec};

use crate::store::log::LogEnd;
use crate::store::memory::byte_arena::ArenaEnd;
use crate::store::past::Clock;
use crate::types::{ActorIdx, KeyOpIdx, ObjIdx, OpId};

/// Where everything ended at some time.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct Ends {
    pub(in crate::store) log: LogEnd,
    pub(in crate::store) heap: ArenaEnd,
    pub(in crate::store) actors: u32,
    /// The first after them.
    pub(in crate::store) objects: ObjIdx,
    pub(in crate::store) max_op: u32,
}

/// A state to come back to.
#[derive(Clone, Debug)]
pub(crate) struct Savepoint {
    pub(in crate::store) ends: Ends,
    /// The first operation after it by each actor that made any, in the order of the actors' numbers.
    pub(in crate::store) firsts: SmallVec<[OpId; 1]>,
}

/// A change in the making: what to come back to before its first operation, and the object that it has for itself.
#[derive(Clone, Debug)]
pub(crate) struct Unfinished {
    pub(in crate::store) ends: Ends,
    pub(in crate::store) first: OpId,
    pub(in crate::store) held: Option<ObjIdx>,
}

impl Savepoint {
    /// Goes before later operations from `first` on, too.
    pub(in crate::store) fn extend(&mut self, first: OpId) {
        if let Err(at) = self.seek(first.actor) {
            self.firsts.insert(at, first);
        }
    }

    /// Goes before the later operations that `other` goes before, too.
    pub(crate) fn extend_by(&mut self, other: &Self) {
        other.firsts.iter().for_each(|first| self.extend(*first));
    }

    fn seek(&self, actor: ActorIdx) -> Result<usize, usize> {
        self.firsts.binary_search_by_key(&actor, |first| first.actor)
    }

    /// Whether an operation was made after it.
    pub(in crate::store) fn undone(&self, id: OpId) -> bool {
        id.ctr >= self.first(id.actor)
    }

    /// Whether an operation on a key came to the log after it.
    pub(in crate::store) fn came_later(&self, number: KeyOpIdx) -> bool {
        number >= self.ends.log.keyed
    }

    /// The clock of everything before it, where there are so many actors.
    pub(in crate::store) fn clock(&self, actors: usize) -> Clock {
        let mut ends = smallvec![u32::MAX; actors];
        self.firsts.iter().for_each(|first| ends[first.actor.place()] = first.ctr);
        Clock::of(ends)
    }

    /// The counter of an actor's first operation after it.
    pub(in crate::store) fn first(&self, actor: ActorIdx) -> u32 {
        self.seek(actor).map_or(u32::MAX, |at| self.firsts[at].ctr)
    }
}
