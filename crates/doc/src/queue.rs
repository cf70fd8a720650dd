//! Changes on their way in: each waits until what it depends on is there.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;

use crate::codec::change::Change;
use crate::codec::limits::{Limits, Meter, cost};
use crate::error::{ApplyError, Fault, LimitError};
use crate::store::apply::Refusal;
use crate::store::state::State;
use crate::store::undo::Mark;
use crate::types::{ActorId, ChangeHash};

/// Changes that wait. Cloning copies it; it is empty most of the time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    waiting: HashMap<ChangeHash, (u64, Change)>,
    /// Who waits for a hash first.
    by_dep: HashMap<ChangeHash, Vec<ChangeHash>>,
    /// Which change waits with an actor's sequence number: there is never a second one.
    by_seq: HashMap<(ActorId, u64), ChangeHash>,
    /// Numbers the arrivals.
    arrived: u64,
}

/// What to take back when a batch fails.
struct Batch {
    /// Changes before it, and the heads.
    rows: u32,
    heads: SmallVec<[u32; 2]>,
    /// Before its first change.
    mark: Option<Mark>,
    /// Which of its changes wait.
    queued: Vec<ChangeHash>,
}

impl Batch {
    fn begin(state: &State) -> Self {
        let (rows, heads) = (state.history.len(), state.history.heads.clone());
        Self { rows, heads, mark: None, queued: vec![] }
    }
}

/// Room for the hashes of so many changes is made before a batch, when it says that it has as many.
const FORESEEN: usize = 1 << 16;

impl Queue {
    /// Waiting changes in order of arrival.
    pub(crate) fn changes(&self) -> Vec<&Change> {
        let mut changes: Vec<&(u64, Change)> = self.waiting.values().collect();
        changes.sort_unstable_by_key(|(arrived, _)| *arrived);
        changes.into_iter().map(|(_, change)| change).collect()
    }

    pub(crate) fn contains(&self, hash: &ChangeHash) -> bool {
        self.waiting.contains_key(hash)
    }

    /// Applies what can be applied, now and of what was waiting; keeps the rest. All or nothing.
    pub(crate) fn apply(
        &mut self,
        state: &mut State,
        changes: impl IntoIterator<Item = Change>,
        limits: &Limits,
        meter: &mut Meter,
    ) -> Result<(), ApplyError> {
        let mut changes = changes.into_iter();
        state.history.known_mut().reserve(changes.size_hint().0.min(FORESEEN));
        let mut batch = Batch::begin(state);
        let result = changes.try_for_each(|change| {
            if !self.is_new(state, &change)? {
                return Ok(());
            }
            match self.take(state, &change, (limits, meter), &mut batch)? {
                Some(missing) => self.wait(missing, change, &mut batch),
                None if self.by_dep.is_empty() => {}
                None => self.wake(state, change.hash(), (limits, meter), &mut batch)?,
            }
            Ok(())
        });
        if result.is_err() {
            self.restore(state, batch);
        }
        result
    }

    /// Takes over what `other` has and `state` lacks, when nothing waits here and nothing contradicts it; gives whether
    /// that was so. All or nothing.
    pub(crate) fn adopt(&mut self, state: &mut Arc<State>, other: &State, limits: &Limits) -> bool {
        if !self.waiting.is_empty() {
            return false;
        }
        let Some(rows) = state.lacks(other) else { return false };
        rows.is_empty() || self.adopt_rows(Arc::make_mut(state), other, &rows, limits)
    }

    /// Takes over rows of `other`, each after what it was made after, none of which `state` has.
    pub(crate) fn adopt_rows(
        &mut self,
        state: &mut State,
        other: &State,
        rows: &[u32],
        limits: &Limits,
    ) -> bool {
        let mut batch = Batch::begin(state);
        let mut meter = Meter::of_file(limits);
        let numbers = state.numbers_for(other, rows);
        for rows in other.stretches(rows) {
            let operations = u64::from(other.history.at(rows.start).run.ops) * rows.len() as u64;
            let fits = limits.check_total(state.history.operations() + operations).is_ok();
            if !fits || state.adopt(other, rows, &numbers, (&mut meter, &mut batch.mark)).is_err() {
                self.restore(state, batch);
                return false;
            }
        }
        true
    }

    /// Forgets waiting changes by an actor who is about to use their sequence numbers.
    pub(crate) fn claim(&mut self, actor: &ActorId, seq: u64) {
        if !self.waiting.is_empty() {
            let claimed = |change: &&Change| change.seq() >= seq && change.actor_id() == actor;
            let waiting = self.waiting.values().map(|(_, change)| change);
            let claimed: Vec<ChangeHash> = waiting.filter(claimed).map(Change::hash).collect();
            claimed.iter().for_each(|hash| drop(self.release(hash)));
            self.sweep();
        }
    }

    /// Lets a change wait for one that is missing.
    fn wait(&mut self, missing: ChangeHash, change: Change, batch: &mut Batch) {
        let hash = change.hash();
        batch.queued.push(hash);
        self.by_dep.entry(missing).or_default().push(hash);
        self.by_seq.insert((change.actor_id().clone(), change.seq()), hash);
        self.arrived += 1;
        self.waiting.insert(hash, (self.arrived, change));
    }

    /// Ends the waiting of a change.
    fn release(&mut self, hash: &ChangeHash) -> Option<Change> {
        let (_, change) = self.waiting.remove(hash)?;
        self.by_seq.remove(&(change.actor_id().clone(), change.seq()));
        Some(change)
    }

    /// Forgets who waits for what where nobody waits.
    fn sweep(&mut self) {
        let waiting = &self.waiting;
        self.by_dep.retain(|_, hashes| {
            hashes.retain(|hash| waiting.contains_key(hash));
            !hashes.is_empty()
        });
    }

    /// Whether a change is neither applied nor waiting. Two changes with one sequence number mean two writers with one
    /// actor id.
    fn is_new(&self, state: &State, change: &Change) -> Result<bool, ApplyError> {
        let (actor, seq, hash) = (change.actor_id(), change.seq(), change.hash());
        let applied =
            state.actors.find(actor).is_some_and(|actor| u64::from(state.history.seq(actor)) >= seq);
        if applied && state.has(change) {
            return Ok(false);
        }
        let mut taken = applied;
        if !self.waiting.is_empty() {
            if self.contains(&hash) {
                return Ok(false);
            }
            taken |= self.by_seq.contains_key(&(actor.clone(), seq));
        }
        if taken { Err(ApplyError::DuplicateSeq { actor: actor.clone(), seq, hash }) } else { Ok(true) }
    }

    /// Applies a change, unless one that it depends on is missing: that one is given.
    fn take(
        &self,
        state: &mut State,
        change: &Change,
        (limits, meter): (&Limits, &mut Meter),
        batch: &mut Batch,
    ) -> Result<Option<ChangeHash>, ApplyError> {
        meter.pay(change.body_len());
        let heads = state.history.heads.len() as u64;
        meter.spend(heads.saturating_mul(1 + change.deps().len() as u64), cost::GLANCE)?;
        let mut deps: SmallVec<[u32; 2]> = SmallVec::new();
        for dep in change.deps() {
            match state.history.head(dep).or_else(|| state.row(dep)) {
                Some(row) => deps.push(row),
                None => return Ok(Some(*dep)),
            }
        }
        limits.check_total(state.history.operations() + change.len() as u64)?;
        apply(state, change, deps, (meter, &mut batch.mark))?;
        Ok(None)
    }

    /// Applies everything that waited for a change.
    fn wake(
        &mut self,
        state: &mut State,
        hash: ChangeHash,
        (limits, meter): (&Limits, &mut Meter),
        batch: &mut Batch,
    ) -> Result<(), ApplyError> {
        let mut ready = self.waited_for(&hash);
        while let Some(change) = ready.pop() {
            match self.take(state, &change, (limits, meter), batch)? {
                Some(missing) => self.wait(missing, change, batch),
                None => ready.extend(self.waited_for(&change.hash())),
            }
        }
        Ok(())
    }

    /// Ends the waiting of those that waited for a change first.
    fn waited_for(&mut self, hash: &ChangeHash) -> Vec<Change> {
        let waited = self.by_dep.remove(hash).unwrap_or_default();
        waited.iter().filter_map(|hash| self.release(hash)).collect()
    }

    /// Takes a failed batch back. Changes that had waited and were applied in it are dropped: they were the fault or
    /// depend on what was taken back, and whoever sent them will send them again.
    fn restore(&mut self, state: &mut State, batch: Batch) {
        if let Some(mark) = batch.mark {
            let rows = batch.rows..state.history.len();
            let hashes: Vec<(u32, ChangeHash)> = rows.map(|row| (row, state.hash(row))).collect();
            state.history.cut(batch.rows);
            for (row, hash) in hashes.iter().rev() {
                state.history.known_mut().forget(*row, hash);
            }
            state.undo(&mark);
            state.history.log_len = state.log.runs.len();
        }
        state.history.heads = batch.heads;
        batch.queued.iter().for_each(|hash| drop(self.release(hash)));
        self.sweep();
    }

    /// See [`crate::Document::get_missing_deps`].
    pub(crate) fn missing(&self, state: &State, heads: &[ChangeHash]) -> Vec<ChangeHash> {
        let deps = self.waiting.values().flat_map(|(_, change)| change.deps());
        let missing: HashSet<ChangeHash> = deps
            .chain(heads)
            .filter(|hash| !self.contains(hash) && state.row(hash).is_none())
            .copied()
            .collect();
        let mut missing: Vec<ChangeHash> = missing.into_iter().collect();
        missing.sort_unstable();
        missing
    }
}

/// Applies a change whose dependencies are the rows `deps`. What it leaves when it fails is taken back by `mark`.
fn apply(
    state: &mut State,
    change: &Change,
    deps: SmallVec<[u32; 2]>,
    (meter, mark): (&mut Meter, &mut Option<Mark>),
) -> Result<(), ApplyError> {
    // Chunks of the heap may be half empty.
    if state.heap.room(change.body_len() * 3).is_err() {
        return Err(LimitError { what: "bytes of values", limit: u32::MAX.into() }.into());
    }
    let fault = |fault| ApplyError::Fault { hash: change.hash(), fault };
    if change.seq() > 1 && change.author().is_some() {
        return Err(fault(Fault::Author));
    }
    state.apply(change, deps, (meter, mark)).map_err(|why| match why {
        Refusal::Fault(found) => fault(found),
        Refusal::Limit(limit) => limit.into(),
    })
}
