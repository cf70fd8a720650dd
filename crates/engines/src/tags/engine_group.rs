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
mod tests {
    use super::*;
    use hashmill_hash::argon2::{Hasher, Input};
    use hashmill_hash::engine::BatchLimits;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
    use std::time::Duration;

    /// An engine that is lost after a number of batches, counted over all engines of one factory.
    struct FailingEngine {
        batches_left: Arc<AtomicUsize>,
        /// 1 to flip a bit of each tag.
        is_faulty: Arc<AtomicUsize>,
        width: usize,
        hasher: Hasher,
    }

    impl BatchEngine for FailingEngine {
        fn name(&self) -> &str {
            "toy"
        }

        fn limits(&self) -> BatchLimits {
            BatchLimits::new(self.width, 0, Duration::ZERO)
        }

        fn hash(&mut self, jobs: &mut [Job<'_>], _: &Stop) -> Result<usize, EngineError> {
            let taken = self
                .batches_left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            taken.map_err(|_| EngineError::System { reason: "lost".to_owned() })?;
            for job in &mut *jobs {
                self.hasher.hash_into(&job.input, job.tag).expect("good inputs");
                job.tag[0] ^= self.is_faulty.load(Ordering::Relaxed) as u8;
            }
            Ok(jobs.len())
        }
    }

    type Requests = Arc<Mutex<Vec<usize>>>;

    /// Makes [`FailingEngine`]s, or refuses with a message (`""`: for lack of memory). Records the batch length of each request.
    struct TestFactory {
        refuses: Option<&'static str>,
        batches_left: Arc<AtomicUsize>,
        is_faulty: Arc<AtomicUsize>,
        requests: Requests,
    }

    impl EngineFactory for TestFactory {
        fn names(&self) -> (&'static str, Option<&str>) {
            ("wgpu", Some("a toy"))
        }

        fn engine(
            &self,
            params: Params,
            max_hashes: usize,
            _: &Budget,
        ) -> Result<Option<FundedEngine>, String> {
            self.requests.lock().expect("no panic").push(max_hashes);
            let engine = || FailingEngine {
                batches_left: Arc::clone(&self.batches_left),
                is_faulty: Arc::clone(&self.is_faulty),
                width: 4,
                hasher: Hasher::new(params),
            };
            match self.refuses {
                None => Ok(Some((Box::new(engine()), None))),
                Some("") => Ok(None),
                Some(why) => Err(why.to_owned()),
            }
        }

        fn tuned(&self, _: Params) -> Option<&TunedArgon2> {
            None
        }
    }

    fn factory(refuses: Option<&'static str>, batches: usize) -> (TestFactory, Requests) {
        let requests = Requests::default();
        let batches_left = Arc::new(AtomicUsize::new(batches));
        let is_faulty = Arc::default();
        (TestFactory { refuses, batches_left, is_faulty, requests: Arc::clone(&requests) }, requests)
    }

    fn group(device: TestFactory, with_cpu: bool) -> RequestedGroup {
        let mut factories: Vec<(String, Box<dyn EngineFactory>)> =
            vec![("--engine wgpu".to_owned(), Box::new(device))];
        if with_cpu {
            factories.insert(0, ("--engine cpu".to_owned(), Box::new(CpuEngine { plan: Plan::host() })));
        }
        let budget = Budget::of_free_memory();
        RequestedGroup::new("--engine cpu,wgpu".to_owned(), factories, budget, Arc::new(|_: &EngineEvent| {}))
    }

    /// Computes `count` hashes and checks each tag.
    fn compute(group: &RequestedGroup, params: Params, count: usize) -> Result<(), EngineFailure> {
        let salts: Vec<_> = (0..count as u64).map(u64::to_le_bytes).collect();
        let mut tags = vec![[0; 32]; count];
        let jobs = salts.iter().zip(&mut tags).map(|(salt, tag)| Job { input: Input::new(b"p", salt), tag });
        group.compute(params, &mut jobs.collect::<Vec<_>>(), &Stop::new())?;
        for (salt, tag) in salts.iter().zip(&tags) {
            assert_eq!(Hasher::new(params).hash::<32>(&Input::new(b"p", salt)), Ok(*tag));
        }
        Ok(())
    }

    fn params(passes: u32) -> Params {
        Params::new(16, passes, 1).expect("good costs")
    }

    #[test]
    fn members_share_a_batch_and_count_their_hashes() {
        let (device, requests) = factory(None, usize::MAX);
        let group = group(device, true);
        assert_eq!(group.batch_width(params(1), 1), Ok(1));
        for count in [3, 100, 40] {
            compute(&group, params(1), count).expect("tags");
        }
        let shares = group.shares();
        assert_eq!(shares.iter().map(|share| share.hashes).sum::<u64>(), 143);
        assert_eq!((shares[0].engine, &shares[0].device), ("cpu", &None));
        assert_eq!((shares[1].engine, shares[1].device.as_deref()), ("wgpu", Some("a toy")));
        assert!(shares.iter().all(|share| share.failed.is_none()));
        assert_eq!(group.names(), ("cpu,wgpu".to_owned(), "a toy".to_owned()));
        assert_eq!(requests.lock().expect("no panic")[..], [1, 3, 100], "a smaller batch reuses the engines");
    }

    #[test]
    fn a_lost_member_gets_no_further_work() {
        let (device, requests) = factory(None, 1);
        let group = group(device, true);
        let failed = || group.shares()[1].failed.clone();
        // The CPU may compute a whole batch before the device gets a part.
        let is_lost = (0..1000).any(|_| {
            compute(&group, params(1), 50).expect("tags");
            failed().is_some()
        });
        assert!(is_lost, "the device gets a second batch");
        let before = group.shares()[1].hashes;
        compute(&group, params(2), 50).expect("tags");
        assert!(failed().is_some_and(|why| why.contains("lost")));
        assert_eq!((requests.lock().expect("no panic").len(), group.shares()[1].hashes), (1, before));
    }

    #[test]
    fn a_member_that_refuses_parameters_is_not_lost() {
        for refuses in ["", "unfit"] {
            let (device, requests) = factory(Some(refuses), usize::MAX);
            let group = group(device, true);
            for passes in [1, 2] {
                compute(&group, params(passes), 9).expect("tags");
            }
            assert_eq!((group.shares()[0].hashes, group.shares()[1].hashes), (18, 0));
            assert!(group.shares()[1].failed.is_some() && requests.lock().expect("no panic").len() == 2);
        }
    }

    /// Computes one hash with an empty budget.
    fn compute_beyond_budget(group: &RequestedGroup) -> Result<(), EngineFailure> {
        let open = group.open_engines(params(1), 1, &Budget::new(0))?;
        *group.last() = Some(open);
        compute(group, params(1), 1)
    }

    #[test]
    fn the_cpu_exceeds_the_budget_only_if_no_device_is_left() {
        let hashes =
            |group: &RequestedGroup| group.shares().iter().map(|share| share.hashes).collect::<Vec<_>>();
        let both = group(factory(None, usize::MAX).0, true);
        compute_beyond_budget(&both).expect("a tag");
        assert_eq!(hashes(&both), [0, 1]);
        assert_eq!(both.shares()[0].failed.as_deref(), Some("no memory is left for such a hash"));
        for refuses in ["", "unfit"] {
            let cpu = group(factory(Some(refuses), usize::MAX).0, true);
            compute_beyond_budget(&cpu).expect("a tag");
            assert_eq!(hashes(&cpu), [1, 0]);
            assert_eq!(cpu.shares()[0].failed, None);
        }
        let neither = group(factory(Some(""), usize::MAX).0, false);
        let words = compute_beyond_budget(&neither).expect_err("no memory").to_string();
        assert!(words.ends_with("none of these can compute such a hash"), "{words}");
        // The device is lost during the hash; the CPU repeats it.
        let lost = group(factory(None, 0).0, true);
        compute_beyond_budget(&lost).expect("a tag");
        assert_eq!(hashes(&lost), [1, 0]);
        assert_eq!(lost.shares()[0].failed, None, "it computed the hash");
        assert!(lost.shares()[1].failed.is_some());
    }

    #[test]
    fn a_member_that_was_readmitted_counts_when_another_is_tried() {
        // One batch is the self-test; the work is lost. The budget has no memory for the CPU, which comes in when no device is left.
        let mut group = group(factory(None, 1).0, true);
        group.budget = Budget::new(0);
        group.members()[1].quarantine.suspect(group.clock.now());
        compute(&group, params(1), 1).expect("the CPU repeats it");
        let shares = group.shares();
        assert_eq!((shares[0].hashes, shares[1].hashes), (1, 0));
        assert!(shares[1].failed.as_ref().is_some_and(|why| why.contains("lost")), "{shares:?}");
    }

    #[test]
    fn the_cpu_replaces_a_requested_group_only_after_a_wrong_result() {
        let events: Arc<Mutex<Vec<EngineEvent>>> = Arc::default();
        let log = Arc::clone(&events);
        let mut group = group(factory(None, usize::MAX).0, false);
        group.events = Arc::new(move |event: &EngineEvent| log.lock().expect("no panic").push(event.clone()));
        for cause in [FailureCause::Stopped, FailureCause::NoEngineLeft] {
            assert!(!group.falls_back_to_cpu(&group.failure(cause)));
        }
        assert!(events.lock().expect("no panic").is_empty());
        let failure = group.report_wrong_result();
        assert!(group.falls_back_to_cpu(&failure));
        assert_eq!(*events.lock().expect("no panic"), [EngineEvent::CpuTakesOver { failure }]);
    }

    #[test]
    fn an_idle_group_leaves_its_memory_to_another() {
        let (budget, params) = (Budget::new(3 << 20), Params::new(1024, 1, 1).expect("good costs"));
        let group = || {
            let cpu: Box<dyn EngineFactory> = Box::new(CpuEngine { plan: Plan::host() });
            let factories = vec![("cpu".to_owned(), cpu)];
            RequestedGroup::new("cpu".to_owned(), factories, budget.clone(), Arc::new(|_: &EngineEvent| {}))
        };
        let (first, second) = (group(), group());
        for group in [&first, &second, &first] {
            compute(group, params, 2).expect("tags");
            let open = group.last();
            let memory = open.as_ref().expect("it keeps its engines").reservations();
            assert_eq!(memory[0].hashes(), machine::threads().min(2), "as if it were alone");
            let reserved: u64 = budget.reserved_on_host();
            assert!(reserved <= 3 << 20 && reserved >= memory[0].hashes() as u64 * (1 << 20));
        }
    }

    #[test]
    fn a_loss_replaces_an_earlier_failure() {
        let group = group(factory(None, 0).0, false);
        group.members()[0].report_failure("unfit", &group.events);
        compute(&group, params(1), 1).expect_err("lost");
        assert_eq!(group.shares()[0].failed.as_deref(), Some("the system refuses: lost"));
    }

    #[test]
    fn fails_if_all_members_are_lost() {
        let alone = group(factory(None, 1).0, false);
        compute(&alone, params(1), 2).expect("one batch");
        for expected in
            ["--engine cpu,wgpu: the system refuses: lost", "--engine cpu,wgpu: none of these can"]
        {
            let words = compute(&alone, params(2), 2).expect_err("lost").to_string();
            assert!(words.starts_with(expected), "{words}");
            let words = compute(&alone, params(1), 2).expect_err("lost").to_string();
            assert!(words.starts_with("--engine cpu,wgpu: none of these can"), "{words}");
        }
    }

    #[test]
    fn cpu_rate_comes_from_a_device_entry() {
        let tuned = |hashes_per_second| TunedArgon2 {
            measured: String::new(),
            engine: "wgpu".to_owned(),
            device: String::new(),
            kind: String::new(),
            memory_kib: 64,
            passes: 1,
            lanes: 1,
            tuning: String::new(),
            hashes_per_second,
            of_processor: 7.0,
        };
        let (cpu, device) = ((true, None), (false, None));
        let all = [cpu.clone(), (false, Some(tuned(9.0))), device.clone()];
        assert_eq!(expected_rates(&all), [Some(7.0), Some(9.0), None]);
        assert_eq!(expected_rates(&[cpu, device]), [None, None]);
    }

    #[test]
    fn a_member_that_recovers_gets_work_again() {
        let (device, requests) = factory(None, usize::MAX);
        let batches_left = Arc::clone(&device.batches_left);
        let mut group = group(device, false);
        let seconds = Arc::new(AtomicU64::new(0));
        group.clock = QuarantineClock::standing_at(Arc::clone(&seconds));
        let events: Arc<Mutex<Vec<EngineEvent>>> = Arc::default();
        let log = Arc::clone(&events);
        group.events = Arc::new(move |event: &EngineEvent| log.lock().expect("no panic").push(event.clone()));
        compute(&group, params(1), 4).expect("tags");
        batches_left.store(0, Ordering::Relaxed);
        compute(&group, params(1), 4).expect_err("lost");
        batches_left.store(usize::MAX, Ordering::Relaxed);
        seconds.store(59, Ordering::Relaxed);
        compute(&group, params(1), 4).expect_err("in quarantine");
        assert_eq!(requests.lock().expect("no panic").len(), 1);
        seconds.store(60, Ordering::Relaxed);
        compute(&group, params(1), 4).expect("tags");
        assert_eq!((group.shares()[0].hashes, group.shares()[0].failed.clone()), (8, None));
        let name = "--engine wgpu".to_owned();
        let left =
            EngineEvent::MemberLeft { member: name.clone(), reason: "the system refuses: lost".to_owned() };
        assert_eq!(*events.lock().expect("no panic"), [left, EngineEvent::Readmitted { engine: name }]);
        // The second failure in a row: a longer quarantine, and the self-test fails.
        batches_left.store(0, Ordering::Relaxed);
        compute(&group, params(1), 4).expect_err("lost");
        seconds.store(179, Ordering::Relaxed);
        compute(&group, params(1), 4).expect_err("in quarantine");
        seconds.store(180, Ordering::Relaxed);
        compute(&group, params(1), 4).expect_err("the self-test fails");
        batches_left.store(usize::MAX, Ordering::Relaxed);
        seconds.store(180 + 239, Ordering::Relaxed);
        compute(&group, params(1), 4).expect_err("in quarantine");
        seconds.store(180 + 240, Ordering::Relaxed);
        compute(&group, params(1), 4).expect("tags");
    }

    #[test]
    fn a_member_that_computes_wrong_tags_is_found_by_the_self_test() {
        let is_faulty = Arc::new(AtomicUsize::new(0));
        let (mut device, _) = factory(None, usize::MAX);
        device.is_faulty = Arc::clone(&is_faulty);
        let group = group(device, true);
        compute(&group, params(1), 40).expect("tags");
        is_faulty.store(1, Ordering::Relaxed);
        assert!(group.report_wrong_result().to_string().ends_with("request one engine alone"));
        let before = group.shares()[1].hashes;
        compute(&group, params(1), 40).expect("the CPU passes its self-test");
        assert_eq!(group.shares()[1].hashes, before);
        assert!(group.shares()[1].failed.as_ref().is_some_and(|why| why.contains("wrong digests")));
        assert_eq!(group.shares()[0].failed, None);
    }

    #[test]
    fn a_stop_ends_the_batch_and_quarantines_nothing() {
        let (device, _) = factory(None, usize::MAX);
        let group = group(device, true);
        let stop = Stop::new();
        stop.set();
        let mut tag = [0; 32];
        let mut jobs = [Job { input: Input::new(b"p", b"eight or more"), tag: &mut tag }];
        let failure = group.compute(params(1), &mut jobs, &stop).expect_err("stopped");
        assert!(failure.is_stop() && group.shares().iter().all(|share| share.failed.is_none()));
        compute(&group, params(1), 9).expect("tags");
    }
}
