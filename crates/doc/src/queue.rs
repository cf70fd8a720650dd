//! Changes on their way in: each waits until what it depends on is there.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;

use crate::codec::change::Change;
use crate::codec::limits::{self, Budget, Limits, cost};
use crate::codec::rules;
use crate::error::{ApplyError, LimitError};
use crate::store::history::heads::Heads;
use crate::store::incoming::apply::Refusal;
use crate::store::savepoint::Savepoint;
use crate::store::state::{More, State};
use crate::types::{ActorId, ChangeHash, ChangeIdx};

/// What became of changes that came together. Those that were here before are in none of the lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Applied {
    /// Part of the document now, with those that had waited for them, in the order in which they were applied.
    pub taken: Vec<ChangeHash>,
    /// Wait for changes that are not here yet.
    pub waiting: Vec<ChangeHash>,
    /// Never to be part of the document as they are, and why; among them changes that had waited. Only for those that were
    /// refused because of a limit it is worth to come again.
    pub refused: Vec<(ChangeHash, ApplyError)>,
}

/// Changes that wait. Cloning copies it; it is empty most of the time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    waiting: HashMap<ChangeHash, (u64, Change)>,
    /// Who waits for a hash first.
    by_dep: HashMap<ChangeHash, Vec<ChangeHash>>,
    /// Which changes wait with an actor's sequence number: whichever is ready first is that change.
    by_seq: HashMap<(ActorId, u64), Vec<ChangeHash>>,
    /// Numbers the arrivals.
    arrived: u64,
    /// How long they are together.
    bytes: u64,
}

/// What to take back when a batch fails, and what to tell when it does not.
struct Batch {
    /// Nothing of it counts unless all of it does.
    whole: bool,
    /// The row of its first change, and the heads before it.
    first: ChangeIdx,
    heads: Heads,
    /// Before its first change.
    savepoint: Option<Savepoint>,
    /// Which of its changes had to wait.
    queued: HashSet<ChangeHash>,
    /// Those that had waited before it and do no longer.
    woken: Vec<(u64, Change)>,
    taken: Vec<ChangeHash>,
    refused: Vec<(ChangeHash, ApplyError)>,
}

impl Batch {
    fn begin(state: &State, whole: bool) -> Self {
        Self {
            whole,
            first: state.history.next(),
            heads: state.history.heads.clone(),
            savepoint: None,
            queued: HashSet::new(),
            woken: vec![],
            taken: vec![],
            refused: vec![],
        }
    }

    /// A change that had waited is refused: an error where it came with the batch and that is all or nothing.
    fn refuse(&mut self, hash: ChangeHash, why: ApplyError) -> Result<(), ApplyError> {
        if self.whole && self.queued.contains(&hash) {
            return Err(why);
        }
        self.refused.push((hash, why));
        Ok(())
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

    /// How many changes wait.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn contains(&self, hash: &ChangeHash) -> bool {
        self.waiting.contains_key(hash)
    }

    /// Applies what can be applied, now and of what was waiting; keeps the rest. All or nothing, but for changes that had
    /// waited and break a rule: these are given, and wait no longer.
    pub(crate) fn apply(
        &mut self,
        state: &mut State,
        changes: impl IntoIterator<Item = Change>,
        limits: &Limits,
        budget: &mut Budget,
    ) -> Result<Vec<(ChangeHash, ApplyError)>, ApplyError> {
        let mut changes = changes.into_iter();
        state.history.known_mut().reserve(changes.size_hint().0.min(FORESEEN));
        let mut batch = Batch::begin(state, true);
        let result = changes.try_for_each(|change| self.offer(state, change, limits, budget, &mut batch));
        if let Err(error) = result {
            self.restore(state, batch);
            return Err(error);
        }
        self.refuse_dependents(&mut batch);
        Ok(batch.refused)
    }

    /// As [`Self::apply`], each change for itself.
    pub(crate) fn apply_valid(
        &mut self,
        state: &mut State,
        changes: impl IntoIterator<Item = Change>,
        limits: &Limits,
        budget: &mut Budget,
    ) -> Applied {
        let mut batch = Batch::begin(state, false);
        for change in changes {
            let hash = change.hash();
            if let Err(error) = self.offer(state, change, limits, budget, &mut batch) {
                batch.refused.push((hash, error));
            }
        }
        self.refuse_dependents(&mut batch);
        let mut waiting: Vec<ChangeHash> =
            batch.queued.into_iter().filter(|hash| self.contains(hash)).collect();
        waiting.sort_unstable();
        Applied { taken: batch.taken, waiting, refused: batch.refused }
    }

    /// Applies a change and what waited for it, or lets it wait.
    #[inline]
    fn offer(
        &mut self,
        state: &mut State,
        change: Change,
        limits: &Limits,
        budget: &mut Budget,
        batch: &mut Batch,
    ) -> Result<(), ApplyError> {
        if !self.is_new(state, &change)? {
            return Ok(());
        }
        // It may have been read within other limits.
        limits.check_change(change.len() as u64, change.body_len() as u64)?;
        budget.pay(change.body_len());
        let alone = !batch.whole;
        match Self::take(state, &change, limits, budget, batch, alone)? {
            Some(missing) => {
                self.has_room(&change, limits)?;
                batch.queued.insert(change.hash());
                self.arrived += 1;
                self.wait(missing, self.arrived, change);
                Ok(())
            }
            None if self.waiting.is_empty() => Ok(()),
            None => self.wake(state, &change, limits, budget, batch),
        }
    }

    /// Takes over what `other` has and `state` lacks, when nothing waits here and nothing contradicts it; gives whether
    /// that was so. All or nothing. Where the hashes of `other` were `computed` from what is in it, those that it keeps are
    /// taken over, too.
    pub(crate) fn adopt(
        &mut self,
        state: &mut Arc<State>,
        other: &State,
        limits: &Limits,
        computed: bool,
    ) -> bool {
        if !self.waiting.is_empty() {
            return false;
        }
        let Some(rows) = state.lacks(other) else { return false };
        if rows.is_empty() {
            return true;
        }
        let first = state.history.next();
        let state = Arc::make_mut(state);
        let adopted = self.adopt_rows(state, other, &rows, limits);
        if adopted && computed {
            let known = other.history.known();
            let hashes = rows.iter().map_while(|row| known.get(*row));
            ChangeIdx::each(first..state.history.next())
                .zip(hashes)
                .for_each(|(row, hash)| state.history.learn_next(row, hash));
        }
        adopted
    }

    /// Takes over rows of `other`, each after what it was made after, none of which `state` has.
    pub(crate) fn adopt_rows(
        &mut self,
        state: &mut State,
        other: &State,
        rows: &[ChangeIdx],
        limits: &Limits,
    ) -> bool {
        let mut batch = Batch::begin(state, true);
        let mut budget = Budget::of_call(limits);
        batch.savepoint = Some(state.savepoint());
        let numbers = state.numbers_for(other, rows);
        for rows in other.runs_of(rows) {
            let each = u64::from(other.history.at(rows.start).run.ops);
            let operations = each * u64::from(rows.end.since(rows.start));
            let fits = limits.check_total(state.history.operations() + operations).is_ok()
                && limits.check_change(each, 0).is_ok();
            if !fits || state.adopt(other, rows, &numbers, &mut budget, &mut batch.savepoint).is_err() {
                self.restore(state, batch);
                return false;
            }
        }
        if state.check_room(More::default(), limits).is_err() {
            self.restore(state, batch);
            return false;
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

    /// Whether one more may wait.
    fn has_room(&self, change: &Change, limits: &Limits) -> Result<(), LimitError> {
        if self.waiting.len() as u64 >= limits.changes {
            return Err(LimitError { what: limits::WAITING, limit: limits.changes });
        }
        let bytes = self.bytes + change.body_len() as u64;
        let limit = limits.inflated_bytes;
        if bytes > limit { Err(LimitError { what: limits::WAITING_BYTES, limit }) } else { Ok(()) }
    }

    /// Lets a change wait for one that is missing.
    fn wait(&mut self, missing: ChangeHash, arrived: u64, change: Change) {
        let hash = change.hash();
        self.by_dep.entry(missing).or_default().push(hash);
        self.by_seq.entry((change.actor_id().clone(), change.seq())).or_default().push(hash);
        self.bytes += change.body_len() as u64;
        self.waiting.insert(hash, (arrived, change));
    }

    /// Ends the waiting of a change.
    fn release(&mut self, hash: &ChangeHash) -> Option<(u64, Change)> {
        let (arrived, change) = self.waiting.remove(hash)?;
        self.bytes -= change.body_len() as u64;
        let key = (change.actor_id().clone(), change.seq());
        if let Some(hashes) = self.by_seq.get_mut(&key) {
            hashes.retain(|other| other != hash);
            if hashes.is_empty() {
                self.by_seq.remove(&key);
            }
        }
        Some((arrived, change))
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
    /// actor id: the one that was applied stays.
    fn is_new(&self, state: &State, change: &Change) -> Result<bool, ApplyError> {
        let (actor, seq, hash) = (change.actor_id(), change.seq(), change.hash());
        if state.actors.find(actor).is_none_or(|actor| u64::from(state.history.seq(actor)) < seq) {
            return Ok(self.waiting.is_empty() || !self.contains(&hash));
        }
        let actor = actor.clone();
        if state.has(change) { Ok(false) } else { Err(ApplyError::DuplicateSeq { actor, seq, hash }) }
    }

    /// Applies a change, unless one that it depends on is missing: that one is given. When it fails `alone`, nothing of it is
    /// left, and the batch goes on.
    fn take(
        state: &mut State,
        change: &Change,
        limits: &Limits,
        budget: &mut Budget,
        batch: &mut Batch,
        alone: bool,
    ) -> Result<Option<ChangeHash>, ApplyError> {
        state.history.heads.pay(budget)?;
        let mut deps: SmallVec<[ChangeIdx; 2]> = SmallVec::new();
        for dep in change.deps() {
            match state.history.head(dep).or_else(|| state.row(dep)) {
                Some(row) => deps.push(row),
                None => return Ok(Some(*dep)),
            }
        }
        limits.check_total(state.history.operations() + change.len() as u64)?;
        if alone {
            Self::take_alone(state, change, deps, limits, budget, batch)?;
        } else {
            apply(state, change, deps, limits, budget, &mut batch.savepoint)?;
        }
        Ok(None)
    }

    /// Applies a change whose dependencies are there, or leaves nothing of it.
    fn take_alone(
        state: &mut State,
        change: &Change,
        deps: SmallVec<[ChangeIdx; 2]>,
        limits: &Limits,
        budget: &mut Budget,
        batch: &mut Batch,
    ) -> Result<(), ApplyError> {
        let mut savepoint = None;
        let result = apply(state, change, deps, limits, budget, &mut savepoint);
        match (savepoint, &result) {
            (Some(savepoint), Err(_)) => {
                let passed = state.undo(&savepoint);
                state.history.log_len = state.log.runs.len() as u32;
                budget.burn(passed, cost::GLANCE);
            }
            (Some(savepoint), Ok(())) if batch.whole => match &mut batch.savepoint {
                Some(before) => before.extend_by(&savepoint),
                None => batch.savepoint = Some(savepoint),
            },
            _ => {}
        }
        if result.is_ok() && !batch.whole {
            batch.taken.push(change.hash());
        }
        result
    }

    /// Applies everything that waited for a change that was applied.
    fn wake(
        &mut self,
        state: &mut State,
        change: &Change,
        limits: &Limits,
        budget: &mut Budget,
        batch: &mut Batch,
    ) -> Result<(), ApplyError> {
        let mut ready = self.applied(change, batch)?;
        while let Some((arrived, change)) = ready.pop() {
            let hash = change.hash();
            let came = batch.queued.contains(&hash);
            if !came {
                budget.pay(change.body_len());
            }
            let alone = !(batch.whole && came);
            // Another one with its sequence number may have been ready meanwhile.
            let result = self
                .is_new(state, &change)
                .and_then(|_| Self::take(state, &change, limits, &mut *budget, &mut *batch, alone));
            if let Ok(Some(missing)) = result {
                self.wait(missing, arrived, change);
                continue;
            }
            if !came {
                batch.woken.push((arrived, change.clone()));
            }
            match result {
                Ok(_) => ready.extend(self.applied(&change, batch)?),
                Err(why) => batch.refuse(hash, why)?,
            }
        }
        Ok(())
    }

    /// Ends the waiting of those that waited for a change first, which are given, and of those with its sequence number.
    fn applied(&mut self, change: &Change, batch: &mut Batch) -> Result<Vec<(u64, Change)>, ApplyError> {
        let (actor, seq) = (change.actor_id().clone(), change.seq());
        let rivals = self.by_seq.get(&(actor.clone(), seq)).cloned().unwrap_or_default();
        for hash in rivals {
            if let Some(rival) = self.release(&hash) {
                if !batch.queued.contains(&hash) {
                    batch.woken.push(rival);
                }
                batch.refuse(hash, ApplyError::DuplicateSeq { actor: actor.clone(), seq, hash })?;
            }
        }
        let waited = self.by_dep.remove(&change.hash()).unwrap_or_default();
        Ok(waited.iter().filter_map(|hash| self.release(hash)).collect())
    }

    /// Those that wait for what was refused wait in vain: they are refused, too.
    fn refuse_dependents(&mut self, batch: &mut Batch) {
        let refused = |(_, why): &&(ChangeHash, ApplyError)| !matches!(why, ApplyError::Limit(_));
        let on: Vec<ChangeHash> = batch.refused.iter().filter(refused).map(|(hash, _)| *hash).collect();
        batch.refused.extend(self.refuse_waiting_for(on));
    }

    /// Ends the waiting of changes that depend on some that are refused, and gives them.
    pub(crate) fn refuse_waiting_for(&mut self, refused: Vec<ChangeHash>) -> Vec<(ChangeHash, ApplyError)> {
        let (mut todo, mut dependents) = (refused, vec![]);
        if self.waiting.is_empty() || todo.is_empty() {
            return dependents;
        }
        let mut waiters: HashMap<ChangeHash, Vec<ChangeHash>> = HashMap::new();
        for (hash, (_, change)) in &self.waiting {
            change.deps().iter().for_each(|dep| waiters.entry(*dep).or_default().push(*hash));
        }
        while let Some(on) = todo.pop() {
            for hash in waiters.remove(&on).unwrap_or_default() {
                if self.release(&hash).is_some() {
                    dependents.push((hash, ApplyError::Dependency { hash, on }));
                    todo.push(hash);
                }
            }
        }
        self.sweep();
        dependents
    }

    /// Takes a failed batch back: changes that had waited before it wait again.
    fn restore(&mut self, state: &mut State, batch: Batch) {
        if let Some(savepoint) = batch.savepoint {
            let rows = ChangeIdx::each(batch.first..state.history.next());
            let hashes: Vec<(ChangeIdx, ChangeHash)> = rows.map(|row| (row, state.hash(row))).collect();
            state.history.cut(batch.first);
            for (row, hash) in hashes.iter().rev() {
                state.history.known_mut().forget(*row, hash);
            }
            state.undo(&savepoint);
            state.history.log_len = state.log.runs.len() as u32;
        }
        state.history.heads = batch.heads;
        batch.queued.iter().for_each(|hash| drop(self.release(hash)));
        self.sweep();
        for (arrived, change) in batch.woken {
            let missing = change.deps().iter().find(|dep| state.row(dep).is_none()).copied();
            self.wait(missing.expect("it waited for a change that is not here"), arrived, change);
        }
    }

    /// What is neither here nor waiting on the way to `heads`, ascending. What others wait for besides does not count.
    pub(crate) fn missing_before(&self, state: &State, heads: &[ChangeHash]) -> Vec<ChangeHash> {
        if self.waiting.is_empty() {
            // The heads are in ascending order.
            return heads.iter().filter(|hash| state.row(hash).is_none()).copied().collect();
        }
        let (mut todo, mut passed, mut missing) = (heads.to_vec(), HashSet::new(), vec![]);
        while let Some(hash) = todo.pop() {
            match self.waiting.get(&hash) {
                Some((_, change)) if passed.insert(hash) => todo.extend(change.deps()),
                Some(_) => {}
                None if state.row(&hash).is_none() => missing.push(hash),
                None => {}
            }
        }
        missing.sort_unstable();
        missing.dedup();
        missing
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

/// Applies a change whose dependencies are the rows `deps`. What it leaves when it fails is taken back by `savepoint`.
#[inline]
fn apply(
    state: &mut State,
    change: &Change,
    deps: SmallVec<[ChangeIdx; 2]>,
    limits: &Limits,
    budget: &mut Budget,
    savepoint: &mut Option<Savepoint>,
) -> Result<(), ApplyError> {
    // Chunks of the heap may be half empty.
    if state.heap.room(change.body_len() * 3).is_err() {
        return Err(LimitError { what: "bytes of values", limit: u32::MAX.into() }.into());
    }
    let fault = |fault| ApplyError::Fault { hash: change.hash(), fault };
    rules::author(change.seq(), change.author().is_some()).map_err(fault)?;
    state.apply(change, deps, limits, budget, savepoint).map_err(|why| match why {
        Refusal::Fault(found) => fault(found),
        Refusal::Limit(limit) => limit.into(),
    })
}
