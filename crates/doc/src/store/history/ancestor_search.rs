//! Search for the ancestors of a change.

use std::collections::BinaryHeap;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::codec::limits::{Budget, cost};
use crate::store::history::History;
use crate::store::history::ancestry::{ActorPosition, AncestorCache, AncestorClock};
use crate::types::error::LimitError;
use crate::types::{ActorIdx, ChangeIdx};

/// Maximum number of steps to find the changes newer than a dependency. Beyond it, the older changes are collected.
const NEWER: usize = 256;
/// Number of actors that one glance of the budget copies.
const COPIED: usize = 64;

/// The part of the history that precedes an incoming change.
#[derive(Clone, Copy)]
pub(in crate::store) struct CurrentHistory<'a> {
    pub(in crate::store) history: &'a History,
    pub(in crate::store) heads: &'a [ChangeIdx],
    /// Positions of all actors.
    pub(in crate::store) last: &'a [ActorPosition],
}

impl History {
    /// Ancestors of a new change with dependencies `deps`; `None` if they are the whole history.
    #[inline]
    pub(in crate::store) fn ancestors_unless_all(
        &self,
        deps: &[ChangeIdx],
        budget: &mut Budget,
    ) -> Result<Option<Arc<AncestorClock>>, LimitError> {
        if self.heads.within(deps) { Ok(None) } else { self.compute_ancestors(deps, budget) }
    }

    fn compute_ancestors(
        &self,
        deps: &[ChangeIdx],
        budget: &mut Budget,
    ) -> Result<Option<Arc<AncestorClock>>, LimitError> {
        let there = CurrentHistory { history: self, heads: self.heads.rows(), last: &self.last };
        self.recent.ancestors_of(deps, there, budget).map(Some)
    }

    /// The given changes with all their ancestors.
    pub(in crate::store) fn ancestors_including(&self, rows: &[ChangeIdx]) -> Arc<AncestorClock> {
        let there = CurrentHistory { history: self, heads: self.heads.rows(), last: &self.last };
        let mut budget = Budget::UNLIMITED;
        self.recent.ancestors_of(rows, there, &mut budget).expect("there is no limit")
    }

    /// Caches the ancestors of the last change for later changes.
    pub(in crate::store) fn cache_ancestors_of_last(&mut self, past: Arc<AncestorClock>) {
        let Some(row) = self.rows.checked_sub(1).map(ChangeIdx::from_u32) else { return };
        let change = self.at(row);
        let (actor, reach, deps) = (change.run.actor, change.position(), change.deps());
        self.recent.insert(row, actor, reach, past, &deps);
    }
}

impl AncestorClock {
    /// Adds all changes of the row's actor up to the row.
    fn include_up_to(&mut self, row: ChangeIdx, there: &CurrentHistory<'_>) {
        let number = there.history.run_index(row) as u32;
        for actor in (0..there.last.len() as u32).map(ActorIdx::from_u32) {
            let last = there.history.position_at_row(actor, number, row);
            if let Some(last) = last.filter(|last| last.seq > self.seq(actor)) {
                self.set(actor, last);
            }
        }
    }

    fn has(&self, row: ChangeIdx, history: &History) -> bool {
        let change = history.at(row);
        change.seq <= self.seq(change.run.actor)
    }
}

impl AncestorCache {
    /// Ancestors of a change with dependencies `deps`.
    pub(in crate::store) fn ancestors_of(
        &self,
        deps: &[ChangeIdx],
        there: CurrentHistory<'_>,
        budget: &mut Budget,
    ) -> Result<Arc<AncestorClock>, LimitError> {
        if let Some(ancestors) = self.get(deps) {
            return Ok(Arc::clone(ancestors));
        }
        let known = deps.iter().find_map(|dep| self.get(&[*dep]));
        if let Some(known) = known
            && deps.iter().all(|dep| known.has(*dep, there.history))
        {
            return Ok(Arc::clone(known));
        }
        budget.spend((there.last.len() / COPIED) as u64, cost::GLANCE)?;
        if known.is_none()
            && let Some(ancestors) = without_newer(deps, there, budget)?
        {
            return Ok(Arc::new(ancestors));
        }
        let base = known.map_or_else(Arc::default, Arc::clone);
        let mut ancestors = AncestorClock::clone(&base);
        let mut todo: BinaryHeap<ChangeIdx> = deps.iter().copied().collect();
        let mut last = None;
        while let Some(row) = todo.pop() {
            budget.spend(1, cost::GLANCE)?;
            // Rows come in descending order: the first row of a run is the last that counts.
            let number = there.history.run_index(row);
            if last.replace(number) == Some(number) || base.has(row, there.history) {
                continue;
            }
            let change = there.history.at(row);
            if change.run.follows_all {
                // Only older rows remain.
                budget.spend(there.last.len() as u64, cost::GLANCE)?;
                ancestors.include_up_to(row, &there);
                break;
            }
            let actor = change.run.actor;
            if change.seq > ancestors.seq(actor) {
                ancestors.set(actor, change.position());
            }
            if change.run.seq > base.seq(actor) {
                todo.extend(change.run.deps.iter().copied());
            }
        }
        Ok(Arc::new(ancestors))
    }
}

/// All changes except those newer than `deps`, if the newer ones are few.
fn without_newer(
    deps: &[ChangeIdx],
    there: CurrentHistory<'_>,
    budget: &mut Budget,
) -> Result<Option<AncestorClock>, LimitError> {
    if there.heads.len() > NEWER {
        return Ok(None);
    }
    let mut todo: BinaryHeap<(ChangeIdx, bool)> = there.heads.iter().map(|row| (*row, false)).collect();
    todo.extend(deps.iter().map(|row| (*row, true)));
    let mut new = there.heads.len();
    let mut first_new: SmallVec<[(ActorIdx, u32); 16]> = SmallVec::new();
    let mut steps = 0;
    while new > 0 {
        let Some((row, mut ancestors)) = todo.pop() else { break };
        budget.spend(1, cost::GLANCE)?;
        steps += 1;
        if steps > NEWER {
            return Ok(None);
        }
        new -= usize::from(!ancestors);
        let change = there.history.at(row);
        // The rest of its run: if one row there is an ancestor, so are all before it.
        let mut from = change.run.first_row;
        while let Some((other, is_ancestor)) =
            todo.peek().copied().filter(|(other, _)| *other >= change.run.first_row)
        {
            if is_ancestor && !ancestors && other < row {
                from = other.plus(1);
                break;
            }
            ancestors |= is_ancestor;
            new -= usize::from(!is_ancestor);
            todo.pop();
        }
        if !ancestors {
            first_new.push((change.run.actor, change.run.seq + from.since(change.run.first_row)));
        }
        if from == change.run.first_row {
            todo.extend(change.run.deps.iter().map(|dep| (*dep, ancestors)));
            new += if ancestors { 0 } else { change.run.deps.len() };
        }
    }
    let mut all = AncestorClock(there.last.to_vec());
    for (actor, seq) in first_new {
        if seq <= all.seq(actor) {
            let seq = seq - 1;
            let end = there.history.by_seq(actor, seq).map_or(0, |row| there.history.at(row).end());
            all.set(actor, ActorPosition { seq, next_counter: end });
        }
    }
    Ok(Some(all))
}
