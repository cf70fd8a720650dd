//! Clocks: which operations belong to an earlier version.

use std::ops::Range;

use smallvec::SmallVec;

use crate::types::{ActorIdx, OpId};

/// What a set of changes and their ancestors contain: for each actor the counter after its last operation. Individual
/// operations can be left out, as if they had never been made.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct Clock {
    pub(in crate::store) ends: SmallVec<[u32; 6]>,
    pub(in crate::store) without: Vec<(ActorIdx, Range<u32>)>,
}

impl Clock {
    pub(in crate::store) fn from_ends(ends: SmallVec<[u32; 6]>) -> Self {
        Self { ends, without: Vec::new() }
    }

    #[inline]
    pub(crate) fn covers(&self, id: OpId) -> bool {
        self.ends.get(id.actor.index()).is_some_and(|end| id.ctr < *end)
            && (self.without.is_empty() || !self.lacks(id))
    }

    #[cold]
    fn lacks(&self, id: OpId) -> bool {
        self.without.iter().any(|(actor, counters)| *actor == id.actor && counters.contains(&id.ctr))
    }

    /// Does it leave out operations that precede others which it covers?
    pub(crate) fn lacks_some(&self) -> bool {
        !self.without.is_empty()
    }

    /// The counter after the last covered operation of an actor.
    #[inline]
    pub(crate) fn end(&self, actor: ActorIdx) -> u32 {
        self.ends.get(actor.index()).copied().unwrap_or(0)
    }

    /// The operations that are left out though they precede covered ones.
    pub(crate) fn without(&self) -> &[(ActorIdx, Range<u32>)] {
        &self.without
    }

    /// This clock without some operations of an actor.
    #[must_use]
    pub(crate) fn leaving_out(mut self, actor: ActorIdx, counters: Range<u32>) -> Self {
        self.without.push((actor, counters));
        self
    }

    /// This clock, with the operations of one actor before `next` only.
    pub(crate) fn up_to(mut self, next: OpId) -> Self {
        let index = next.actor.index();
        self.ends.resize(self.ends.len().max(index + 1), 0);
        self.ends[index] = next.ctr;
        self
    }

    /// Upper bound of the number of operations between two clocks.
    pub(crate) fn distance(&self, other: &Self) -> u64 {
        let actors = (0..self.ends.len().max(other.ends.len()) as u32).map(ActorIdx::from_u32);
        let ends = actors.map(|actor| u64::from(self.end(actor).abs_diff(other.end(actor))));
        let without = self.without.iter().chain(&other.without).map(|(_, range)| range.len() as u64);
        ends.chain(without).sum()
    }

    /// How many of the `len` operations from `id` on it covers. Valid only for clocks that leave no operations out.
    pub(crate) fn covered(&self, id: OpId, len: u32) -> u32 {
        self.end(id.actor).saturating_sub(id.ctr).min(len)
    }
}
