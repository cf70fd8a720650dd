//! What a change has in its past, to judge what it refers to. Nothing has to be known where a change comes after all that
//! is there; for others it is found out from what was known of those before, so that people who write at the same time
//! cost a look at what is new, not at their history.

use std::collections::BinaryHeap;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::codec::limits::{Budget, cost};
use crate::error::LimitError;
use crate::store::history::{History, Reach};
use crate::types::{ActorIdx, ChangeIdx, OpId};

/// How far each actor's changes were seen. Who has seen a change has seen all that its actor wrote before:
/// [`crate::codec::rules::sequence`].
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Seen(Vec<Reach>);

impl Seen {
    /// Whether an operation was seen. So were the root of a document and the head of a sequence.
    #[inline]
    pub(in crate::store) fn covers(&self, id: OpId) -> bool {
        self.0.get(id.actor.place()).is_some_and(|seen| id.ctr < seen.end) || id.is_none()
    }

    /// The sequence number of the last change of an actor that was seen.
    #[inline]
    pub(in crate::store) fn seq(&self, actor: ActorIdx) -> u32 {
        self.0.get(actor.place()).map_or(0, |seen| seen.seq)
    }

    /// The counter after the last operation of an actor that was seen.
    pub(in crate::store) fn end(&self, actor: ActorIdx) -> u32 {
        self.0.get(actor.place()).map_or(0, |seen| seen.end)
    }

    pub(in crate::store) fn set(&mut self, actor: ActorIdx, reach: Reach) {
        let actor = actor.place();
        if self.0.len() <= actor {
            self.0.resize(actor + 1, Reach::default());
        }
        self.0[actor] = reach;
    }

    /// Of all actors, by their numbers.
    pub(in crate::store) fn reaches(&self) -> &[Reach] {
        &self.0
    }

    /// Adds all changes up to a row.
    fn set_upto(&mut self, row: ChangeIdx, there: &Present<'_>) {
        let number = there.history.run_of(row) as u32;
        for actor in (0..there.last.len() as u32).map(ActorIdx::of) {
            let last = there.history.last_upto(actor, number, row);
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

/// The changes that there are when a change comes: the first of a history.
#[derive(Clone, Copy)]
pub(in crate::store) struct Present<'a> {
    pub(in crate::store) history: &'a History,
    pub(in crate::store) heads: &'a [ChangeIdx],
    /// All of them.
    pub(in crate::store) last: &'a [Reach],
}

/// What the changes that came last had seen and did: who writes at the same time as others goes on from there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent(Vec<Kept>);

/// Some changes and what they had seen, with themselves.
#[derive(Clone, Debug)]
struct Kept {
    /// In the order in which those that were made after them name them.
    rows: SmallVec<[ChangeIdx; 2]>,
    /// Who made the change, where it is one.
    actor: Option<ActorIdx>,
    seen: Arc<Seen>,
}

/// So many changes are kept in mind, unless they have seen very many actors.
const MOST: usize = 64;
/// So many actors are kept for all of them together.
const ACTORS: usize = 1 << 17;
/// What is newer than a change is looked for in so many steps; then all that is older is.
const NEWER: usize = 256;
/// So many actors are copied at a glance.
const COPIED: usize = 64;

impl Recent {
    fn get(&self, rows: &[ChangeIdx]) -> Option<&Arc<Seen>> {
        self.0.iter().rev().find(|kept| kept.rows[..] == *rows).map(|kept| &kept.seen)
    }

    /// Forgets the changes from `row` on.
    pub(in crate::store) fn cut(&mut self, row: ChangeIdx) {
        self.0.retain(|kept| kept.rows.iter().all(|kept| *kept < row));
    }

    /// Keeps what a change had seen, with the change itself, its row and how far its actor has come with it.
    pub(in crate::store) fn learn(
        &mut self,
        row: ChangeIdx,
        actor: ActorIdx,
        reach: Reach,
        mut seen: Arc<Seen>,
        deps: &[ChangeIdx],
    ) {
        if let Some(at) =
            self.0.iter().rposition(|kept| kept.actor == Some(actor) && Arc::ptr_eq(&kept.seen, &seen))
        {
            // That of the actor's change before goes on as this one's; it is among the last.
            self.0.remove(at);
        } else {
            // Others may have gone away at the same time: what was seen then stays longest.
            self.0.retain(|kept| kept.rows[..] != *deps);
            self.0.push(Kept { rows: SmallVec::from_slice(deps), actor: None, seen: Arc::clone(&seen) });
        }
        Arc::make_mut(&mut seen).set(actor, reach);
        let most = (ACTORS / seen.0.len()).clamp(2, MOST);
        if self.0.len() >= most {
            self.0.drain(..=self.0.len() - most);
        }
        self.0.push(Kept { rows: smallvec::smallvec![row], actor: Some(actor), seen });
    }

    /// The past of a change that was made after `deps`.
    pub(in crate::store) fn before(
        &self,
        deps: &[ChangeIdx],
        there: Present<'_>,
        budget: &mut Budget,
    ) -> Result<Arc<Seen>, LimitError> {
        if let Some(seen) = self.get(deps) {
            return Ok(Arc::clone(seen));
        }
        let known = deps.iter().find_map(|dep| self.get(&[*dep]));
        if let Some(known) = known
            && deps.iter().all(|dep| known.has(*dep, there.history))
        {
            return Ok(Arc::clone(known));
        }
        budget.spend((there.last.len() / COPIED) as u64, cost::GLANCE)?;
        if known.is_none()
            && let Some(seen) = without_newer(deps, there, budget)?
        {
            return Ok(Arc::new(seen));
        }
        let base = known.map_or_else(Arc::default, Arc::clone);
        let mut seen = Seen::clone(&base);
        let mut todo: BinaryHeap<ChangeIdx> = deps.iter().copied().collect();
        let mut last = None;
        while let Some(row) = todo.pop() {
            budget.spend(1, cost::GLANCE)?;
            // Rows come in descending order: those of a run one after another, the first being the last that counts.
            let number = there.history.run_of(row);
            if last.replace(number) == Some(number) || base.has(row, there.history) {
                continue;
            }
            let change = there.history.at(row);
            if change.run.whole {
                // What is left to look at is older.
                budget.spend(there.last.len() as u64, cost::GLANCE)?;
                seen.set_upto(row, &there);
                break;
            }
            let actor = change.run.actor;
            if change.seq > seen.seq(actor) {
                seen.set(actor, change.reach());
            }
            if change.run.seq > base.seq(actor) {
                todo.extend(change.run.deps.iter().copied());
            }
        }
        Ok(Arc::new(seen))
    }
}

/// All that is there but what is not in the past of `deps`, if that is little.
fn without_newer(
    deps: &[ChangeIdx],
    there: Present<'_>,
    budget: &mut Budget,
) -> Result<Option<Seen>, LimitError> {
    if there.heads.len() > NEWER {
        return Ok(None);
    }
    let mut todo: BinaryHeap<(ChangeIdx, bool)> = there.heads.iter().map(|row| (*row, false)).collect();
    todo.extend(deps.iter().map(|row| (*row, true)));
    let mut new = there.heads.len();
    let mut first_new: SmallVec<[(ActorIdx, u32); 16]> = SmallVec::new();
    let mut steps = 0;
    while new > 0 {
        let Some((row, mut seen)) = todo.pop() else { break };
        budget.spend(1, cost::GLANCE)?;
        steps += 1;
        if steps > NEWER {
            return Ok(None);
        }
        new -= usize::from(!seen);
        let change = there.history.at(row);
        // What else there is of its run: what is seen there is seen with all before it.
        let mut from = change.run.row;
        while let Some((other, is_seen)) = todo.peek().copied().filter(|(other, _)| *other >= change.run.row)
        {
            if is_seen && !seen && other < row {
                from = other.plus(1);
                break;
            }
            seen |= is_seen;
            new -= usize::from(!is_seen);
            todo.pop();
        }
        if !seen {
            first_new.push((change.run.actor, change.run.seq + from.since(change.run.row)));
        }
        if from == change.run.row {
            todo.extend(change.run.deps.iter().map(|dep| (*dep, seen)));
            new += if seen { 0 } else { change.run.deps.len() };
        }
    }
    let mut all = Seen(there.last.to_vec());
    for (actor, seq) in first_new {
        if seq <= all.seq(actor) {
            let seq = seq - 1;
            let end = there.history.by_seq(actor, seq).map_or(0, |row| there.history.at(row).end());
            all.set(actor, Reach { seq, end });
        }
    }
    Ok(Some(all))
}
