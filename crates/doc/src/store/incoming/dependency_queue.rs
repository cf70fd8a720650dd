//! Queue of incoming changes: each waits until its dependencies are present.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;

use crate::codec::chunks::change::Change;
use crate::codec::limits::{self, Budget, Limits, cost};
use crate::codec::rules;
use crate::store::history::heads::Heads;
use crate::store::incoming::apply::Refusal;
use crate::store::state::{DocumentState, More};
use crate::store::versions::savepoint::Savepoint;
use crate::types::error::{ApplyError, LimitError};
use crate::types::{ActorId, ChangeHash, ChangeIdx};

/// Outcome of a batch of changes. Changes that were present before are in none of the lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Applied {
    /// Applied changes, including queued ones that waited for them, in the order of application.
    pub taken: Vec<ChangeHash>,
    /// Changes that wait for missing dependencies.
    pub waiting: Vec<ChangeHash>,
    /// Changes that cannot be applied, with the reason, including queued ones. A later attempt can succeed only for
    /// those that were refused because of a limit.
    pub refused: Vec<(ChangeHash, ApplyError)>,
    /// Dependencies of refused changes that had been queued. The caller has the other refused changes.
    pub(crate) waited_deps: Vec<ChangeHash>,
}

/// Queued changes. Cloning copies them; the queue is usually empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct DependencyQueue {
    waiting: HashMap<ChangeHash, (u64, Change)>,
    /// For each missing hash, the changes that wait for it first.
    by_dep: HashMap<ChangeHash, Vec<ChangeHash>>,
    /// Queued changes by actor and sequence number; the one that is ready first is applied.
    by_seq: HashMap<(ActorId, u64), Vec<ChangeHash>>,
    /// Number of arrivals.
    arrived: u64,
    /// Total length of the queued changes in bytes.
    bytes: u64,
}

/// State of a batch: for a rollback if it fails, and for its outcome.
struct ApplyBatch {
    /// Is the batch all or nothing?
    whole: bool,
    /// Row of its first change, and the heads before it.
    first: ChangeIdx,
    heads: Heads,
    /// Savepoint before its first change.
    savepoint: Option<Savepoint>,
    /// Changes of the batch that were queued.
    queued: HashSet<ChangeHash>,
    /// Changes queued before the batch that are not queued any more.
    woken: Vec<(u64, Change)>,
    taken: Vec<ChangeHash>,
    refused: Vec<(ChangeHash, ApplyError)>,
    /// Dependencies of refused changes that had been queued.
    waited_deps: Vec<ChangeHash>,
}

impl ApplyBatch {
    fn begin(state: &DocumentState, whole: bool) -> Self {
        Self {
            whole,
            first: state.history.next(),
            heads: state.history.heads.clone(),
            savepoint: None,
            queued: HashSet::new(),
            woken: vec![],
            taken: vec![],
            refused: vec![],
            waited_deps: vec![],
        }
    }

    /// Refuses a queued change: an error if it came with an all-or-nothing batch.
    fn refuse(&mut self, change: &Change, reason: ApplyError) -> Result<(), ApplyError> {
        if self.whole && self.queued.contains(&change.hash()) {
            return Err(reason);
        }
        self.refused.push((change.hash(), reason));
        self.waited_deps.extend(change.deps());
        Ok(())
    }
}

/// Maximum number of hashes for which memory is reserved before a batch, by the length that it reports.
const FORESEEN: usize = 1 << 16;

impl DependencyQueue {
    /// Queued changes in order of arrival.
    pub(crate) fn changes(&self) -> Vec<&Change> {
        let mut changes: Vec<&(u64, Change)> = self.waiting.values().collect();
        changes.sort_unstable_by_key(|(arrived, _)| *arrived);
        changes.into_iter().map(|(_, change)| change).collect()
    }

    /// Number of queued changes.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn contains(&self, hash: &ChangeHash) -> bool {
        self.waiting.contains_key(hash)
    }

    /// Applies the changes that are ready, including queued ones, and queues the others. All or nothing, except for
    /// queued changes of earlier calls that break a rule: these are returned, and not queued any more.
    pub(crate) fn apply(
        &mut self,
        state: &mut DocumentState,
        changes: impl IntoIterator<Item = Change>,
        limits: &Limits,
        budget: &mut Budget,
    ) -> Result<Vec<(ChangeHash, ApplyError)>, ApplyError> {
        let mut changes = changes.into_iter();
        state.history.hashes_mut().reserve(changes.size_hint().0.min(FORESEEN));
        let mut batch = ApplyBatch::begin(state, true);
        let result = changes.try_for_each(|change| self.offer(state, change, limits, budget, &mut batch));
        if let Err(error) = result {
            self.restore(state, batch);
            return Err(error);
        }
        self.refuse_dependents(&mut batch);
        Ok(batch.refused)
    }

    /// As [`Self::apply`], each change separately.
    pub(crate) fn apply_valid(
        &mut self,
        state: &mut DocumentState,
        changes: impl IntoIterator<Item = Change>,
        limits: &Limits,
        budget: &mut Budget,
    ) -> Applied {
        let mut batch = ApplyBatch::begin(state, false);
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
        let ApplyBatch { taken, refused, waited_deps, .. } = batch;
        Applied { taken, waiting, refused, waited_deps }
    }

    /// Applies a change and those that waited for it, or queues it.
    #[inline]
    fn offer(
        &mut self,
        state: &mut DocumentState,
        change: Change,
        limits: &Limits,
        budget: &mut Budget,
        batch: &mut ApplyBatch,
    ) -> Result<(), ApplyError> {
        if !self.is_new(state, &change)? {
            return Ok(());
        }
        // It may have been decoded within other limits.
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
            None => self.apply_waiting(state, &change, limits, budget, batch),
        }
    }

    /// Copies what `other` has and `state` lacks, if nothing is queued here and there is no conflict; returns whether
    /// it did. All or nothing. If the hashes of `other` were `computed` from its contents, its known hashes are copied,
    /// too.
    pub(crate) fn adopt(
        &mut self,
        state: &mut Arc<DocumentState>,
        other: &DocumentState,
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
            let known = other.history.lock_hashes();
            let hashes = rows.iter().map_while(|row| known.get(*row));
            ChangeIdx::each(first..state.history.next())
                .zip(hashes)
                .for_each(|(row, hash)| state.history.set_next_hash(row, hash));
        }
        adopted
    }

    /// Copies rows of `other`, each after its dependencies, none of which `state` has.
    pub(crate) fn adopt_rows(
        &mut self,
        state: &mut DocumentState,
        other: &DocumentState,
        rows: &[ChangeIdx],
        limits: &Limits,
    ) -> bool {
        let mut batch = ApplyBatch::begin(state, true);
        let mut budget = Budget::of_call(limits);
        batch.savepoint = Some(state.savepoint());
        let numbers = state.numbers_for(other, rows);
        for rows in other.runs_of(rows) {
            let each = u64::from(other.history.at(rows.start).run.ops_per_change);
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

    /// Drops queued changes by an actor that is about to use their sequence numbers.
    pub(crate) fn claim(&mut self, actor: &ActorId, seq: u64) {
        if !self.waiting.is_empty() {
            let claimed = |change: &&Change| change.seq() >= seq && change.actor_id() == actor;
            let waiting = self.waiting.values().map(|(_, change)| change);
            let claimed: Vec<ChangeHash> = waiting.filter(claimed).map(Change::hash).collect();
            claimed.iter().for_each(|hash| drop(self.release(hash)));
            self.drop_empty_lists();
        }
    }

    /// Checks that one more change can be queued.
    fn has_room(&self, change: &Change, limits: &Limits) -> Result<(), LimitError> {
        if self.waiting.len() as u64 >= limits.changes {
            return Err(LimitError { what: limits::WAITING, limit: limits.changes });
        }
        let bytes = self.bytes + change.body_len() as u64;
        let limit = limits.inflated_bytes;
        if bytes > limit { Err(LimitError { what: limits::WAITING_BYTES, limit }) } else { Ok(()) }
    }

    /// Queues a change that waits for a missing one.
    fn wait(&mut self, missing: ChangeHash, arrived: u64, change: Change) {
        let hash = change.hash();
        self.by_dep.entry(missing).or_default().push(hash);
        self.by_seq.entry((change.actor_id().clone(), change.seq())).or_default().push(hash);
        self.bytes += change.body_len() as u64;
        self.waiting.insert(hash, (arrived, change));
    }

    /// Removes a change from the queue.
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

    /// Drops empty dependency lists.
    fn drop_empty_lists(&mut self) {
        let waiting = &self.waiting;
        self.by_dep.retain(|_, hashes| {
            hashes.retain(|hash| waiting.contains_key(hash));
            !hashes.is_empty()
        });
    }

    /// Is a change neither applied nor queued? Two changes with one sequence number mean two writers with one actor id:
    /// the applied one stays.
    fn is_new(&self, state: &DocumentState, change: &Change) -> Result<bool, ApplyError> {
        let (actor, seq, hash) = (change.actor_id(), change.seq(), change.hash());
        if state.actors.find(actor).is_none_or(|actor| u64::from(state.history.seq(actor)) < seq) {
            return Ok(self.waiting.is_empty() || !self.contains(&hash));
        }
        let actor = actor.clone();
        if state.has(change) { Ok(false) } else { Err(ApplyError::DuplicateSeq { actor, seq, hash }) }
    }

    /// Applies a change, or returns a missing dependency. If it fails and is `alone`, it is rolled back, and the batch
    /// continues.
    fn take(
        state: &mut DocumentState,
        change: &Change,
        limits: &Limits,
        budget: &mut Budget,
        batch: &mut ApplyBatch,
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

    /// Applies a change with all dependencies present; rolls it back if it fails.
    fn take_alone(
        state: &mut DocumentState,
        change: &Change,
        deps: SmallVec<[ChangeIdx; 2]>,
        limits: &Limits,
        budget: &mut Budget,
        batch: &mut ApplyBatch,
    ) -> Result<(), ApplyError> {
        let mut savepoint = None;
        let result = apply(state, change, deps, limits, budget, &mut savepoint);
        match (savepoint, &result) {
            (Some(savepoint), Err(_)) => {
                let passed = state.undo(&savepoint);
                state.history.log_len = state.log.runs.len() as u32;
                budget.charge_completed(passed, cost::GLANCE);
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

    /// Applies all changes that waited for an applied one.
    fn apply_waiting(
        &mut self,
        state: &mut DocumentState,
        change: &Change,
        limits: &Limits,
        budget: &mut Budget,
        batch: &mut ApplyBatch,
    ) -> Result<(), ApplyError> {
        let mut ready = self.applied(change, batch)?;
        while let Some((arrived, change)) = ready.pop() {
            let hash = change.hash();
            let came = batch.queued.contains(&hash);
            if !came {
                budget.pay(change.body_len());
            }
            let alone = !(batch.whole && came);
            // Another change with its sequence number may have been applied meanwhile.
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
                Err(reason) => batch.refuse(&change, reason)?,
            }
        }
        Ok(())
    }

    /// Removes from the queue the changes that waited for a change first, which are returned, and those with its
    /// sequence number.
    fn applied(&mut self, change: &Change, batch: &mut ApplyBatch) -> Result<Vec<(u64, Change)>, ApplyError> {
        let (actor, seq) = (change.actor_id().clone(), change.seq());
        let rivals = self.by_seq.get(&(actor.clone(), seq)).cloned().unwrap_or_default();
        for hash in rivals {
            if let Some((arrived, rival)) = self.release(&hash) {
                if !batch.queued.contains(&hash) {
                    batch.woken.push((arrived, rival.clone()));
                }
                batch.refuse(&rival, ApplyError::DuplicateSeq { actor: actor.clone(), seq, hash })?;
            }
        }
        let waited = self.by_dep.remove(&change.hash()).unwrap_or_default();
        Ok(waited.iter().filter_map(|hash| self.release(hash)).collect())
    }

    /// Refuses the changes that wait for refused ones, too.
    fn refuse_dependents(&mut self, batch: &mut ApplyBatch) {
        let refused = |(_, reason): &&(ChangeHash, ApplyError)| !matches!(reason, ApplyError::Limit(_));
        let on: Vec<ChangeHash> = batch.refused.iter().filter(refused).map(|(hash, _)| *hash).collect();
        for (change, reason) in self.refuse_waiting_for(on) {
            batch.refused.push((change.hash(), reason));
            batch.waited_deps.extend(change.deps());
        }
    }

    /// Removes and returns the queued changes that depend on refused ones.
    pub(crate) fn refuse_waiting_for(&mut self, refused: Vec<ChangeHash>) -> Vec<(Change, ApplyError)> {
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
                if let Some((_, change)) = self.release(&hash) {
                    dependents.push((change, ApplyError::Dependency { hash, on }));
                    todo.push(hash);
                }
            }
        }
        self.drop_empty_lists();
        dependents
    }

    /// Rolls back a failed batch: changes that were queued before it are queued again.
    fn restore(&mut self, state: &mut DocumentState, batch: ApplyBatch) {
        if let Some(savepoint) = batch.savepoint {
            let rows = ChangeIdx::each(batch.first..state.history.next());
            let hashes: Vec<(ChangeIdx, ChangeHash)> = rows.map(|row| (row, state.hash(row))).collect();
            state.history.truncate(batch.first);
            for (row, hash) in hashes.iter().rev() {
                state.history.hashes_mut().forget(*row, hash);
            }
            state.undo(&savepoint);
            state.history.log_len = state.log.runs.len() as u32;
        }
        state.history.heads = batch.heads;
        batch.queued.iter().for_each(|hash| drop(self.release(hash)));
        self.drop_empty_lists();
        for (arrived, change) in batch.woken {
            let missing = change.deps().iter().find(|dep| state.row(dep).is_none()).copied();
            self.wait(missing.expect("it waited for a missing change"), arrived, change);
        }
    }

    /// Hashes on the way to `heads` that are neither present nor queued, ascending. Other queued changes are not
    /// considered.
    pub(crate) fn missing_before(&self, state: &DocumentState, heads: &[ChangeHash]) -> Vec<ChangeHash> {
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
    pub(crate) fn missing(&self, state: &DocumentState, heads: &[ChangeHash]) -> Vec<ChangeHash> {
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

/// Applies a change whose dependencies are the rows `deps`. If it fails, the caller rolls back to `savepoint`.
#[inline]
fn apply(
    state: &mut DocumentState,
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
    state.apply(change, deps, limits, budget, savepoint).map_err(|reason| match reason {
        Refusal::Fault(found) => fault(found),
        Refusal::Limit(limit) => limit.into(),
    })
}
