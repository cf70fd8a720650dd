//! Groups of engines that share a batch of hashes and one account of memory, as `cpu,cuda`.
//!
//! An engine that fails is quarantined: the others compute its part, and it gets work again when it has passed a self-test.

use super::quarantine_clock::QuarantineClock;
use super::self_test::{SelfTestResult, run_self_test};
use super::tag_engine::{EngineShare, RequestedEngine, TagEngine, cpu_replaces_requested};
use crate::budget::{Budget, Reservation, Reserved};
#[cfg(feature = "gpu")]
use crate::device::OpenDevice;
use crate::event::{EngineEvent, EventSink};
use crate::failure::{EngineFailure, FailureCause};
use crate::quarantine::{Admission, Quarantine};
use crate::spec::EngineName;
use crate::tune_file::TunedArgon2;
use hashmill_hash::argon2::{Batches, Job, PagePolicy, Params, Plan, Stop};
use hashmill_hash::engine::{BatchEngine, EngineError, EngineGroup};
use hashmill_machine as machine;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A group of engines, with memory for the parameters of the last batch.
pub(crate) struct RequestedGroup {
    /// The name under which the group was requested, for messages.
    label: String,
    budget: Budget,
    events: EventSink,
    clock: QuarantineClock,
    members: Mutex<Vec<GroupMember>>,
    last: Arc<Mutex<Option<OpenEngines>>>,
}

/// One member of a group.
struct GroupMember {
    /// The name under which it was requested, for messages.
    label: String,
    factory: Box<dyn EngineFactory>,
    /// Number of hashes it has computed.
    hashes: u64,
    /// The first reason why it had no part. It was reported.
    failure: Option<String>,
    quarantine: Quarantine,
}

/// Makes engines for given parameters.
pub(crate) trait EngineFactory: Send + Sync {
    /// The names of its engine and of its device.
    fn names(&self) -> (&'static str, Option<&str>);

    /// Whether it is the CPU: the tune file stores the CPU's rate in the entries of devices.
    fn is_cpu(&self) -> bool {
        false
    }

    /// Whether it uses host memory.
    fn uses_host_memory(&self) -> bool {
        self.is_cpu()
    }

    /// An engine for at most `max_hashes` hashes side by side, within the budget; `None` if the budget is too small for one.
    fn engine(
        &self,
        params: Params,
        max_hashes: usize,
        budget: &Budget,
    ) -> Result<Option<FundedEngine>, String>;

    /// An engine for one hash at a time, whatever the budget, for when no other engine is left. `None` for a device, which
    /// checks its own memory.
    fn engine_beyond_budget(&self, _: Params) -> Result<Option<Engine>, String> {
        Ok(None)
    }

    /// What `hashmill tune` measured for it.
    fn tuned(&self, params: Params) -> Option<&TunedArgon2>;
}

pub(crate) type Engine = Box<dyn BatchEngine>;

/// An engine, and the memory that it has reserved.
pub(crate) type FundedEngine = (Engine, Option<Reservation>);

/// All threads of the CPU.
pub(crate) struct CpuEngine {
    pub(crate) plan: Plan,
}

/// A device and its entries of the tune file.
#[cfg(feature = "gpu")]
pub(crate) struct DeviceEntry {
    pub(crate) device: OpenDevice,
    pub(crate) tuned: Vec<TunedArgon2>,
}

impl CpuEngine {
    /// An engine with this number of threads; `None` for 0.
    fn with_threads(&self, params: Params, threads: usize) -> Result<Option<Engine>, String> {
        if threads == 0 {
            return Ok(None);
        }
        let batches = Batches::new(params, self.plan, PagePolicy::default(), threads);
        batches.map(|batches| Some(Box::new(batches) as Engine)).map_err(|error| error.to_string())
    }
}

impl EngineFactory for CpuEngine {
    fn names(&self) -> (&'static str, Option<&str>) {
        (EngineName::Cpu.name(), None)
    }

    fn is_cpu(&self) -> bool {
        true
    }

    fn engine(
        &self,
        params: Params,
        max_hashes: usize,
        budget: &Budget,
    ) -> Result<Option<FundedEngine>, String> {
        let memory = budget.reserve_on_cpu(params, machine::threads().min(max_hashes));
        let engine = self.with_threads(params, memory.hashes())?;
        Ok(engine.map(|engine| (engine, Some(memory))))
    }

    /// The caller has checked that one hash fits into free memory.
    fn engine_beyond_budget(&self, params: Params) -> Result<Option<Engine>, String> {
        self.with_threads(params, 1)
    }

    fn tuned(&self, _: Params) -> Option<&TunedArgon2> {
        None
    }
}

#[cfg(feature = "gpu")]
impl EngineFactory for DeviceEntry {
    fn names(&self) -> (&'static str, Option<&str>) {
        (self.device.engine(), Some(&self.device.info().name))
    }

    fn uses_host_memory(&self) -> bool {
        self.device.uses_host_memory()
    }

    fn engine(
        &self,
        params: Params,
        max_hashes: usize,
        budget: &Budget,
    ) -> Result<Option<FundedEngine>, String> {
        let mut memory = budget.reserve_on_device(self.device.info(), params, max_hashes);
        if memory.hashes() == 0 {
            return Ok(None);
        }
        match self.device.argon2(params, memory.hashes(), self.tuned(params)) {
            Ok(argon2) => {
                memory.charge(argon2.memory());
                Ok(Some((Box::new(argon2), Some(memory))))
            }
            Err(error) => Err(error.to_string()),
        }
    }

    fn tuned(&self, params: Params) -> Option<&TunedArgon2> {
        self.tuned.iter().find(|tuned| tuned.has_costs(params))
    }
}

/// Engines for hashes of the same parameters.
struct OpenEngines {
    params: Params,
    /// The largest batch they have memory for.
    max_hashes: usize,
    /// The index of each engine's member.
    members: Vec<usize>,
    engines: EngineGroup,
    memory: Vec<Option<Reservation>>,
}

impl Reserved for OpenEngines {
    fn reservations(&self) -> Vec<&Reservation> {
        self.memory.iter().flatten().collect()
    }
}

impl RequestedGroup {
    /// A group of these engines, each with its name in messages.
    pub(crate) fn new(
        label: String,
        factories: Vec<(String, Box<dyn EngineFactory>)>,
        budget: Budget,
        events: EventSink,
    ) -> RequestedGroup {
        let member = |(label, factory)| GroupMember {
            label,
            factory,
            hashes: 0,
            failure: None,
            quarantine: Quarantine::default(),
        };
        let members = Mutex::new(factories.into_iter().map(member).collect());
        let last = Arc::default();
        budget.add_kept_memory(&last);
        RequestedGroup { label, budget, events, clock: QuarantineClock::start(), members, last }
    }

    fn members(&self) -> MutexGuard<'_, Vec<GroupMember>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last(&self) -> MutexGuard<'_, Option<OpenEngines>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Engines of all members that are not in quarantine, for at most `max_hashes` hashes within the budget. A member whose
    /// quarantine is over passes a self-test first.
    fn open_engines(
        &self,
        params: Params,
        max_hashes: usize,
        budget: &Budget,
    ) -> Result<OpenEngines, EngineFailure> {
        let mut members = self.members();
        let mut opened: Vec<(usize, FundedEngine)> = Vec::new();
        let mut failed: Vec<(usize, String)> = Vec::new();
        for (index, member) in members.iter_mut().enumerate() {
            let admission = member.quarantine.admission(self.clock.now());
            if matches!(admission, Admission::Wait { .. }) {
                continue;
            }
            match member.factory.engine(params, max_hashes, budget) {
                Ok(Some(mut engine)) => match self.admit(member, admission, params, &mut engine.0) {
                    Ok(()) => opened.push((index, engine)),
                    Err(why) => failed.push((index, why)),
                },
                Ok(None) => failed.push((index, "no memory is left for such a hash".to_owned())),
                Err(why) => failed.push((index, why)),
            }
        }
        if opened.is_empty() {
            failed.retain_mut(|(index, why)| {
                let member = &members[*index];
                if member.quarantine.admission(self.clock.now()) != Admission::Work {
                    return true;
                }
                match member.factory.engine_beyond_budget(params) {
                    Ok(Some(engine)) => {
                        opened.push((*index, (engine, None)));
                        false
                    }
                    Ok(None) => true,
                    Err(error) => {
                        *why = error;
                        true
                    }
                }
            });
        }
        failed.iter().for_each(|(index, why)| members[*index].report_failure(why, &self.events));
        // A member that takes part now has not failed, even if it had no part in an earlier batch.
        opened.iter().for_each(|(index, _)| members[*index].failure = None);
        let (indices, funded): (Vec<usize>, Vec<FundedEngine>) = opened.into_iter().unzip();
        let (engines, memory): (Vec<Engine>, Vec<Option<Reservation>>) = funded.into_iter().unzip();
        let factories = indices.iter().map(|index| &members[*index].factory);
        let tuned: Vec<_> =
            factories.map(|factory| (factory.is_cpu(), factory.tuned(params).cloned())).collect();
        let rates = expected_rates(&tuned);
        // The only error is that of no engines.
        let engines = EngineGroup::hashing(engines).map_err(|_| self.failure(FailureCause::NoEngineLeft))?;
        Ok(OpenEngines { params, max_hashes, members: indices, engines: engines.expecting(rates), memory })
    }

    /// Runs the self-test of a member whose quarantine is over.
    fn admit(
        &self,
        member: &mut GroupMember,
        admission: Admission,
        params: Params,
        engine: &mut Engine,
    ) -> Result<(), String> {
        let Admission::SelfTest { rounds } = admission else { return Ok(()) };
        let (width, never) = (engine.limits().width, Stop::new());
        let tested = run_self_test(params, (rounds, width), |jobs| match engine.hash(jobs, &never) {
            Ok(count) if count == jobs.len() => Ok(()),
            Ok(_) => Err("it ended before its work was done".to_owned()),
            Err(error) => Err(error.to_string()),
        });
        let why = match tested {
            SelfTestResult::Passed => {
                member.quarantine.report_self_test(self.clock.now(), true);
                (self.events)(&EngineEvent::Readmitted { engine: member.label.clone() });
                return Ok(());
            }
            // The CPU lacks memory for the right tags: nothing is known, and the next batch tries again.
            SelfTestResult::NotTested(error) => return Err(error.to_string()),
            SelfTestResult::WrongTag => {
                EngineError::SelfTest { engine: engine.name().to_owned() }.to_string()
            }
            SelfTestResult::Failed(why) => why,
        };
        member.quarantine.report_self_test(self.clock.now(), false);
        Err(why)
    }

    /// Runs `work` with engines for at most `max_hashes` hashes. Reuses the engines of the last batch if they are large enough,
    /// and no member waits for its self-test.
    fn with_engines<T>(
        &self,
        params: Params,
        max_hashes: usize,
        work: impl FnOnce(&mut OpenEngines) -> T,
    ) -> Result<T, EngineFailure> {
        let mut last = self.last();
        let waits = self.members().iter().any(|member| {
            matches!(member.quarantine.admission(self.clock.now()), Admission::SelfTest { .. })
        });
        let is_reusable =
            |open: &OpenEngines| !waits && open.params == params && open.max_hashes >= max_hashes;
        let open = match last.take().filter(is_reusable) {
            Some(open) => open,
            None => self.open_engines(params, max_hashes, &self.budget)?,
        };
        Ok(work(last.insert(open)))
    }

    fn try_compute(
        &self,
        open: &mut OpenEngines,
        jobs: &mut [Job<'_>],
        stop: &Stop,
    ) -> Result<(), FailureCause> {
        let before: Vec<u64> = open.engines.shares().map(|share| share.done).collect();
        let done = open.engines.hash(jobs, stop);
        let mut members = self.members();
        for ((share, before), index) in open.engines.shares().zip(before).zip(&open.members) {
            let member = &mut members[*index];
            member.hashes += share.done - before;
            let admission = member.quarantine.admission(self.clock.now());
            if let Some(error) = share.failed.filter(|_| admission == Admission::Work) {
                member.quarantine.report_failure(self.clock.now());
                // A loss is reported even if an earlier failure for other parameters was.
                member.failure = None;
                member.report_failure(&error.to_string(), &self.events);
            }
        }
        match done {
            Ok(count) if count == jobs.len() => Ok(()),
            Ok(_) => Err(FailureCause::Stopped),
            Err(error) => Err(FailureCause::Engine(error)),
        }
    }

    fn failure(&self, cause: FailureCause) -> EngineFailure {
        EngineFailure::new(&*self.label, cause)
    }
}

/// The expected hashes per second of each engine, if measured. The CPU has no entry of its own: its rate is in the entries of
/// devices.
fn expected_rates(tuned: &[(bool, Option<TunedArgon2>)]) -> Vec<Option<f64>> {
    let of_processor = tuned.iter().find_map(|(_, tuned)| Some(tuned.as_ref()?.of_processor));
    let rate = |(is_cpu, tuned): &(bool, Option<TunedArgon2>)| match tuned {
        None if *is_cpu => of_processor,
        tuned => Some(tuned.as_ref()?.hashes_per_second),
    };
    tuned.iter().map(rate).collect()
}

impl GroupMember {
    /// Reports once that the other members take over its part.
    fn report_failure(&mut self, why: &str, events: &EventSink) {
        if self.failure.is_none() {
            self.failure = Some(why.to_owned());
            events(&EngineEvent::MemberLeft { member: self.label.clone(), reason: why.to_owned() });
        }
    }
}

impl TagEngine for RequestedGroup {
    fn accepts_batch(&self, _: Params, _: usize) -> bool {
        true
    }

    fn compute(&self, params: Params, jobs: &mut [Job<'_>], stop: &Stop) -> Result<(), EngineFailure> {
        let is_admitted =
            |member: &&GroupMember| member.quarantine.admission(self.clock.now()) == Admission::Work;
        let left = || self.members().iter().filter(is_admitted).count();
        loop {
            // Counted after the self-tests, which readmit members.
            let (before, done) = self.with_engines(params, jobs.len(), |open| {
                let before = left();
                (before, self.try_compute(open, jobs, stop))
            })?;
            let Err(cause) = done else { return Ok(()) };
            if cause == FailureCause::Stopped {
                return Err(self.failure(cause));
            }
            self.last().take();
            // All engines of this batch have failed. Try again if those were not all members: the CPU may have had no part for
            // lack of memory.
            if !(1..before).contains(&left()) {
                return Err(self.failure(cause));
            }
        }
    }

    fn release_host_memory(&self) {
        let mut last = self.last();
        let members = self.members();
        let uses_host_memory = |open: &OpenEngines| {
            open.members.iter().any(|member| members[*member].factory.uses_host_memory())
        };
        if last.as_ref().is_some_and(uses_host_memory) {
            *last = None;
        }
    }

    fn report_wrong_result(&self) -> EngineFailure {
        for member in &mut *self.members() {
            member.quarantine.suspect(self.clock.now());
        }
        self.failure(FailureCause::WrongResultOfGroup)
    }

    fn falls_back_to_cpu(&self, failure: &EngineFailure) -> bool {
        cpu_replaces_requested(failure, &self.events)
    }

    fn shares(&self) -> Vec<EngineShare> {
        let share = |GroupMember { factory, hashes, failure, .. }: &GroupMember| {
            let (engine, device) = factory.names();
            EngineShare {
                engine,
                device: device.map(str::to_owned),
                hashes: *hashes,
                failed: failure.clone(),
            }
        };
        self.members().iter().map(share).collect()
    }
}

impl RequestedEngine for RequestedGroup {
    fn batch_width(&self, params: Params, max_hashes: usize) -> Result<usize, EngineFailure> {
        self.with_engines(params, max_hashes, |open| open.engines.limits().width.min(max_hashes))
    }

    fn names(&self) -> (String, String) {
        let members = self.members();
        let (engines, devices): (Vec<_>, Vec<_>) =
            members.iter().map(|member| member.factory.names()).unzip();
        let devices: Vec<_> = devices.into_iter().flatten().collect();
        (engines.join(","), devices.join(" and "))
    }
}

#[cfg(test)]
mod tests;
