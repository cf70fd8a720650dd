//! Ancestors of a change, to check its references. A change that follows all others needs no computation. For any
//! other, the ancestors are derived from cached ancestors of its dependencies: the cost depends on the new changes, not
//! on the history.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::types::{ActorIdx, ChangeIdx, OpId};

/// Position of one actor: the sequence number of its last change, 0 before the first, and the counter after its last
/// operation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::store) struct ActorPosition {
    pub(in crate::store) seq: u32,
    pub(in crate::store) next_counter: u32,
}

/// Ancestors as the position of each actor. A change by an actor implies all earlier ones of that actor:
/// [`crate::codec::rules::sequence`].
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AncestorClock(pub(super) Vec<ActorPosition>);

impl AncestorClock {
    /// Is an operation covered? The root of a document and the head of a sequence always are.
    #[inline]
    pub(in crate::store) fn covers(&self, id: OpId) -> bool {
        self.0.get(id.actor.index()).is_some_and(|position| id.ctr < position.next_counter) || id.is_none()
    }

    /// Sequence number of an actor's last covered change.
    #[inline]
    pub(in crate::store) fn seq(&self, actor: ActorIdx) -> u32 {
        self.0.get(actor.index()).map_or(0, |position| position.seq)
    }

    /// Counter after an actor's last covered operation.
    pub(in crate::store) fn end(&self, actor: ActorIdx) -> u32 {
        self.0.get(actor.index()).map_or(0, |position| position.next_counter)
    }

    pub(in crate::store) fn set(&mut self, actor: ActorIdx, reach: ActorPosition) {
        let actor = actor.index();
        if self.0.len() <= actor {
            self.0.resize(actor + 1, ActorPosition::default());
        }
        self.0[actor] = reach;
    }

    /// Positions of all actors, by actor number.
    pub(in crate::store) fn positions(&self) -> &[ActorPosition] {
        &self.0
    }
}

/// Cached ancestors of recent changes, from which those of concurrent changes are computed.
#[derive(Clone, Debug, Default)]
pub(crate) struct AncestorCache(Vec<CacheEntry>);

/// Some changes and their ancestors, themselves included.
#[derive(Clone, Debug)]
struct CacheEntry {
    /// In the order in which their descendants list them as dependencies.
    rows: SmallVec<[ChangeIdx; 2]>,
    /// Author of the change, if it is a single one.
    actor: Option<ActorIdx>,
    ancestors: Arc<AncestorClock>,
}

/// Maximum number of entries, unless they contain very many actors.
const MOST: usize = 64;
/// Maximum number of actors in all entries together.
const ACTORS: usize = 1 << 17;

impl AncestorCache {
    pub(super) fn get(&self, rows: &[ChangeIdx]) -> Option<&Arc<AncestorClock>> {
        self.0.iter().rev().find(|entry| entry.rows[..] == *rows).map(|entry| &entry.ancestors)
    }

    /// Removes the changes from `row` on.
    pub(in crate::store) fn truncate(&mut self, row: ChangeIdx) {
        self.0.retain(|entry| entry.rows.iter().all(|entry| *entry < row));
    }

    /// Caches the ancestors of a change, including itself, with its row and the position of its actor.
    pub(in crate::store) fn insert(
        &mut self,
        row: ChangeIdx,
        actor: ActorIdx,
        reach: ActorPosition,
        mut clock: Arc<AncestorClock>,
        deps: &[ChangeIdx],
    ) {
        if let Some(at) = self
            .0
            .iter()
            .rposition(|entry| entry.actor == Some(actor) && Arc::ptr_eq(&entry.ancestors, &clock))
        {
            // The entry of the actor's previous change becomes the entry of this one; it is among the last.
            self.0.remove(at);
        } else {
            // Other actors may have gone offline at the same point: keep its ancestors longest.
            self.0.retain(|entry| entry.rows[..] != *deps);
            self.0.push(CacheEntry {
                rows: SmallVec::from_slice(deps),
                actor: None,
                ancestors: Arc::clone(&clock),
            });
        }
        Arc::make_mut(&mut clock).set(actor, reach);
        let most = (ACTORS / clock.0.len()).clamp(2, MOST);
        if self.0.len() >= most {
            self.0.drain(..=self.0.len() - most);
        }
        self.0.push(CacheEntry { rows: smallvec::smallvec![row], actor: Some(actor), ancestors: clock });
    }
}
