//! `auto`: the CPU, unless `hashmill tune` has measured that a device is faster.

use super::device_tags::DeviceTags;
use super::quarantine_clock::QuarantineClock;
use super::self_test::{SelfTestResult, run_self_test};
use super::tag_engine::TagEngine;
use crate::budget::Budget;
use crate::event::{EngineEvent, EventSink};
use crate::failure::{EngineFailure, FailureCause};
use crate::quarantine::{Admission, Quarantine};
use crate::tune_file::TunedArgon2;
use hashmill_gpu::{Error, Fault, Tuning};
use hashmill_hash::argon2::{Job, Params, Stop};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Devices that were measured to be faster than the CPU. A device is opened when it gets its first batch.
pub(crate) struct AutoEngine {
    /// The name under which it was requested, for messages.
    label: String,
    events: EventSink,
    clock: QuarantineClock,
    open_device: OpenTags,
    state: Mutex<AutoState>,
}

/// Opens the device of an entry. Its name in messages is the second argument.
type OpenTags = Box<dyn Fn(&TunedArgon2, String) -> Result<Box<dyn TagEngine>, EngineFailure> + Send + Sync>;

struct AutoState {
    devices: Vec<AutoDevice>,
    /// The device of the last batch, by its index.
    opened: Option<(usize, Box<dyn TagEngine>)>,
    /// Names of failed engines that were reported, until they are readmitted.
    reported: Vec<String>,
}

/// One device. The CPU computes while all devices that were measured for a hash are in quarantine.
struct AutoDevice {
    /// Its name in messages.
    label: String,
    /// What was measured on it; never empty.
    entries: Vec<TunedArgon2>,
    quarantine: Quarantine,
    /// Whether it has computed hashes: one of them may turn out to be wrong, even after a failure.
    has_computed: bool,
}

impl AutoDevice {
    fn entry(&self, params: Params) -> Option<&TunedArgon2> {
        self.entries.iter().find(|tuned| tuned.has_costs(params))
    }

    /// Records a failure of work or of a self-test.
    fn report_failure(&mut self, now: Duration) {
        match self.quarantine.admission(now) {
            Admission::SelfTest { .. } => self.quarantine.report_self_test(now, false),
            Admission::Work | Admission::Wait { .. } => self.quarantine.report_failure(now),
        }
    }
}

impl AutoState {
    /// The fastest device for a batch of `count` hashes that is not in quarantine, and its entry.
    fn fastest(&self, params: Params, count: usize, now: Duration) -> Option<(usize, &TunedArgon2)> {
        let waits = |device: &AutoDevice| matches!(device.quarantine.admission(now), Admission::Wait { .. });
        let devices = self.devices.iter().enumerate().filter(|(_, device)| !waits(device));
        let candidates = devices.filter_map(|(index, device)| Some((index, device.entry(params)?)));
        candidates
            .min_by(|(_, one), (_, other)| batch_seconds(one, count).total_cmp(&batch_seconds(other, count)))
    }
}

impl AutoEngine {
    /// `None` if no device was measured to be faster.
    pub(crate) fn new(
        measured: &[TunedArgon2],
        label: String,
        budget: Budget,
        events: EventSink,
    ) -> Option<AutoEngine> {
        let all = measured.to_vec();
        let sink = Arc::clone(&events);
        let open_device = move |entry: &TunedArgon2, label| {
            let tags = DeviceTags::open_tuned(entry, &all, label, budget.clone(), Arc::clone(&sink))?;
            Ok(Box::new(tags) as Box<dyn TagEngine>)
        };
        AutoEngine::with_devices(measured, label, Box::new(open_device), events)
    }

    fn with_devices(
        measured: &[TunedArgon2],
        label: String,
        open_device: OpenTags,
        events: EventSink,
    ) -> Option<AutoEngine> {
        let mut devices: Vec<AutoDevice> = Vec::new();
        for tuned in measured.iter().filter(|tuned| tuned.is_faster()) {
            let is_of = |device: &&mut AutoDevice| device.entries[0].is_for(&tuned.engine, &tuned.device);
            match devices.iter_mut().find(is_of) {
                Some(device) => device.entries.push(tuned.clone()),
                None => devices.push(AutoDevice {
                    label: format!("{label}: {}", tuned.device),
                    entries: vec![tuned.clone()],
                    quarantine: Quarantine::default(),
                    has_computed: false,
                }),
            }
        }
        if devices.is_empty() {
            return None;
        }
        let state = Mutex::new(AutoState { devices, opened: None, reported: Vec::new() });
        Some(AutoEngine { label, events, clock: QuarantineClock::start(), open_device, state })
    }

    fn state(&self) -> MutexGuard<'_, AutoState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failure(&self, cause: FailureCause) -> EngineFailure {
        EngineFailure::new(&*self.label, cause)
    }

    /// Computes on the chosen device, after a self-test if one is due. Opens it, unless it is open.
    fn compute_on(
        &self,
        AutoState { devices, opened, reported }: &mut AutoState,
        chosen: usize,
        params: Params,
        jobs: &mut [Job<'_>],
        stop: &Stop,
    ) -> Result<(), EngineFailure> {
        let device = &mut devices[chosen];
        let tags = match opened.take_if(|(index, _)| *index == chosen) {
            Some((_, tags)) => tags,
            None => {
                // Memory of another device is released first.
                *opened = None;
                (self.open_device)(&device.entries[0], device.label.clone())?
            }
        };
        let (_, tags) = opened.insert((chosen, tags));
        if let Admission::SelfTest { rounds } = device.quarantine.admission(self.clock.now()) {
            let tested = run_self_test(params, (rounds, jobs.len()), |jobs| tags.compute(params, jobs, stop));
            match tested {
                SelfTestResult::Passed => {}
                SelfTestResult::WrongTag => return Err(tags.report_wrong_result()),
                SelfTestResult::Failed(failure) => return Err(failure),
                SelfTestResult::NotTested(error) => {
                    return Err(self.failure(FailureCause::NotTested(error)));
                }
            }
            device.quarantine.report_self_test(self.clock.now(), true);
            reported.retain(|label| *label != device.label && *label != self.label);
            (self.events)(&EngineEvent::Readmitted { engine: device.label.clone() });
        }
        device.has_computed = true;
        tags.compute(params, jobs, stop)
    }
}

/// Whether a failure is one of the device that was tried, rather than of the caller or the CPU.
fn is_fault_of_device(failure: &EngineFailure) -> bool {
    match &failure.cause {
        FailureCause::Stopped
        | FailureCause::NotMeasured
        | FailureCause::HashOutOfBudget { .. }
        | FailureCause::CheckOutOfBudget { .. }
        | FailureCause::NoEngineLeft
        | FailureCause::NotTested(_) => false,
        // The tune file names a device that is not here any more.
        FailureCause::Device(Error::Selector { .. }) => true,
        FailureCause::Device(error) => error.fault() != Fault::Caller,
        FailureCause::Engine(_) | FailureCause::WrongResult { .. } | FailureCause::WrongResultOfGroup => true,
    }
}

/// Time a device takes for `count` hashes. A partly filled batch takes as long as a full one.
fn batch_seconds(tuned: &TunedArgon2, count: usize) -> f64 {
    // `tune_file` drops entries that do not parse. One of another origin is never the fastest.
    let batch_len = tuned.tuning.parse().map_or(usize::MAX, |tuning: Tuning| tuning.hashes as usize);
    (count.div_ceil(batch_len) as f64 * batch_len as f64) / tuned.hashes_per_second
}

impl TagEngine for AutoEngine {
    fn accepts_batch(&self, params: Params, count: usize) -> bool {
        let is_faster = |tuned: &TunedArgon2| batch_seconds(tuned, count) < count as f64 / tuned.of_processor;
        let state = self.state();
        state.fastest(params, count, self.clock.now()).is_some_and(|(_, tuned)| is_faster(tuned))
    }

    fn compute(&self, params: Params, jobs: &mut [Job<'_>], stop: &Stop) -> Result<(), EngineFailure> {
        let mut state = self.state();
        // The batch may be smaller than those it accepts: mismatches of an accepted batch are computed a second time.
        let Some((chosen, _)) = state.fastest(params, jobs.len(), self.clock.now()) else {
            let is_measured = state.devices.iter().any(|device| device.entry(params).is_some());
            let cause = if is_measured { FailureCause::NoEngineLeft } else { FailureCause::NotMeasured };
            return Err(self.failure(cause));
        };
        let done = self.compute_on(&mut state, chosen, params, jobs, stop);
        if done.as_ref().is_err_and(is_fault_of_device) {
            state.devices[chosen].report_failure(self.clock.now());
            // A device that was reset must be opened again.
            state.opened = None;
        }
        done
    }

    fn release_host_memory(&self) {
        if let Some((_, tags)) = &self.state().opened {
            tags.release_host_memory();
        }
    }

    /// Blames the device, if one alone can have computed the result. Otherwise each that can have passes a self-test before further
    /// work.
    fn report_wrong_result(&self) -> EngineFailure {
        let mut state = self.state();
        let now = self.clock.now();
        let mut suspects: Vec<_> = state.devices.iter_mut().filter(|device| device.has_computed).collect();
        if let [device] = &mut suspects[..] {
            device.report_failure(now);
            let cause = FailureCause::WrongResult { device: device.entries[0].device.clone() };
            let failure = EngineFailure::new(&*device.label, cause);
            state.opened = None;
            return failure;
        }
        suspects.into_iter().for_each(|device| device.quarantine.suspect(now));
        self.failure(FailureCause::WrongResultOfGroup)
    }

    fn falls_back_to_cpu(&self, failure: &EngineFailure) -> bool {
        if failure.is_stop() {
            return false;
        }
        // The first failure of an engine is reported. Others follow until it is readmitted.
        if is_fault_of_device(failure) {
            let mut state = self.state();
            let is_new = !state.reported.contains(&failure.engine);
            if is_new {
                state.reported.push(failure.engine.clone());
            }
            drop(state);
            if is_new {
                (self.events)(&EngineEvent::CpuTakesOver { failure: failure.clone() });
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_hash::argon2::{Hasher, Input};
    use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

    fn tuned(passes: u32, hashes: u32, rates: [f64; 2]) -> TunedArgon2 {
        TunedArgon2 {
            measured: "2026-11-27T00:00:00Z".to_owned(),
            engine: "wgpu".to_owned(),
            device: format!("of {hashes}"),
            kind: String::new(),
            memory_kib: 64,
            passes,
            lanes: 1,
            tuning: format!("hashes={hashes} strip-us=4000 ahead=0 grow=yes pairs=no shared=no"),
            hashes_per_second: rates[0],
            of_processor: rates[1],
        }
    }

    /// State of a simulated device.
    #[derive(Default)]
    struct Health {
        is_absent: AtomicBool,
        is_lost: AtomicBool,
        is_wrong: AtomicBool,
        refuses: AtomicBool,
        hashes: AtomicUsize,
    }

    struct ToyDevice {
        label: String,
        health: Arc<Health>,
    }

    impl ToyDevice {
        fn failure(&self, cause: FailureCause) -> EngineFailure {
            EngineFailure::new(&*self.label, cause)
        }
    }

    impl TagEngine for ToyDevice {
        fn accepts_batch(&self, _: Params, _: usize) -> bool {
            true
        }

        fn compute(&self, params: Params, jobs: &mut [Job<'_>], stop: &Stop) -> Result<(), EngineFailure> {
            let is = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
            if stop.is_set() {
                return Err(self.failure(FailureCause::Stopped));
            }
            if is(&self.health.is_lost) {
                return Err(self.failure(FailureCause::Device(Error::Lost)));
            }
            if is(&self.health.refuses) {
                let error = hashmill_hash::argon2::HashError::TagLen { given: 3 };
                return Err(self.failure(FailureCause::Device(Error::Hash(error))));
            }
            for job in jobs {
                Hasher::new(params).hash_into(&job.input, job.tag).expect("good inputs");
                job.tag[5] ^= u8::from(is(&self.health.is_wrong));
                self.health.hashes.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        }

        fn report_wrong_result(&self) -> EngineFailure {
            self.failure(FailureCause::WrongResult { device: "a toy".to_owned() })
        }

        fn falls_back_to_cpu(&self, _: &EngineFailure) -> bool {
            unreachable!("the automatic engine decides")
        }
    }

    /// An engine on simulated devices, one per batch size of the entries, at a settable time.
    struct World {
        auto: AutoEngine,
        devices: Vec<(String, Arc<Health>)>,
        seconds: Arc<AtomicU64>,
        events: Arc<Mutex<Vec<EngineEvent>>>,
    }

    impl World {
        fn new(entries: &[TunedArgon2]) -> World {
            let events: Arc<Mutex<Vec<EngineEvent>>> = Arc::default();
            let log = Arc::clone(&events);
            let sink: EventSink =
                Arc::new(move |event: &EngineEvent| log.lock().expect("no panic").push(event.clone()));
            let devices: Vec<(String, Arc<Health>)> =
                entries.iter().map(|tuned| (tuned.device.clone(), Arc::default())).collect();
            let all = devices.clone();
            let open = move |tuned: &TunedArgon2, label: String| {
                let (_, health) = all.iter().find(|(name, _)| *name == tuned.device).expect("a device");
                if health.is_absent.load(Ordering::Relaxed) {
                    let absent = Error::Selector { requested: tuned.device.clone(), matches: 0, found: 1 };
                    return Err(EngineFailure::new(label, FailureCause::Device(absent)));
                }
                Ok(Box::new(ToyDevice { label, health: Arc::clone(health) }) as Box<dyn TagEngine>)
            };
            let auto = AutoEngine::with_devices(entries, "auto".to_owned(), Box::new(open), sink);
            let mut auto = auto.expect("a device was measured to be faster");
            let seconds = Arc::new(AtomicU64::new(0));
            auto.clock = QuarantineClock::standing_at(Arc::clone(&seconds));
            World { auto, devices, seconds, events }
        }

        fn health(&self, index: usize) -> &Health {
            &self.devices[index].1
        }

        fn hashes(&self) -> Vec<usize> {
            self.devices.iter().map(|(_, health)| health.hashes.swap(0, Ordering::Relaxed)).collect()
        }

        fn admissions(&self) -> Vec<Admission> {
            let now = self.auto.clock.now();
            self.auto.state().devices.iter().map(|device| device.quarantine.admission(now)).collect()
        }

        fn compute(&self, count: usize) -> Result<(), EngineFailure> {
            let mut tags = vec![[0; 32]; count];
            let input = Input::new(b"p", b"eight or more");
            let mut jobs: Vec<_> = tags.iter_mut().map(|tag| Job { input, tag }).collect();
            self.auto.compute(params(1), &mut jobs, &Stop::new())
        }

        fn take_events(&self) -> Vec<EngineEvent> {
            std::mem::take(&mut *self.events.lock().expect("no panic"))
        }
    }

    fn params(passes: u32) -> Params {
        Params::new(64, passes, 1).expect("good costs")
    }

    const WAIT: Admission = Admission::Wait { until: Duration::from_secs(60) };

    #[test]
    fn accepts_batches_that_the_device_computes_faster() {
        // The device computes 100 hashes in 0.1 s, the CPU 10.
        let world = World::new(&[tuned(1, 100, [1000.0, 100.0])]);
        let accepts = |count| world.auto.accepts_batch(params(1), count);
        assert_eq!([0, 1, 9, 10].map(accepts), [false; 4]);
        assert_eq!([11, 100, 101, 4096].map(accepts), [true; 4]);
        assert!(!world.auto.accepts_batch(params(2), 4096), "not measured");
        let mut tag = [0; 32];
        let mut jobs = [Job { input: Input::new(b"p", b"eight or more"), tag: &mut tag }];
        let failure = world.auto.compute(params(2), &mut jobs, &Stop::new()).expect_err("not measured");
        assert_eq!(failure.cause, FailureCause::NotMeasured);
        assert!(world.auto.falls_back_to_cpu(&failure) && world.take_events().is_empty());
        assert!(
            AutoEngine::new(&[tuned(1, 1, [1.0, 2.0])], String::new(), Budget::new(0), Arc::new(|_| {}))
                .is_none()
        );
    }

    /// A small device for small batches, a large one for large batches.
    fn small_and_large() -> World {
        World::new(&[tuned(1, 10, [200.0, 1.0]), tuned(1, 1000, [10_000.0, 1.0])])
    }

    #[test]
    fn chooses_the_device_by_batch_size() {
        let world = small_and_large();
        world.compute(1).expect("a tag");
        assert_eq!(world.hashes(), [1, 0]);
        world.compute(900).expect("tags");
        assert_eq!(world.hashes(), [0, 900]);
    }

    #[test]
    fn accepts_nothing_while_its_only_device_is_in_quarantine() {
        let world = World::new(&[tuned(1, 100, [1000.0, 100.0])]);
        let auto = &world.auto;
        world.health(0).is_lost.store(true, Ordering::Relaxed);
        assert!(auto.accepts_batch(params(1), 4096));
        let failure = world.compute(20).expect_err("lost");
        assert!(auto.falls_back_to_cpu(&failure) && !auto.accepts_batch(params(1), 4096));
        // A batch that was accepted before the failure.
        let late = world.compute(20).expect_err("in quarantine");
        assert_eq!(late.cause, FailureCause::NoEngineLeft);
        assert!(auto.falls_back_to_cpu(&late) && auto.falls_back_to_cpu(&failure));
        assert_eq!(world.take_events(), [EngineEvent::CpuTakesOver { failure }], "one event");
        // The quarantine is over, and the device is gone: the self-test fails.
        world.seconds.store(60, Ordering::Relaxed);
        world.health(0).is_absent.store(true, Ordering::Relaxed);
        assert!(auto.accepts_batch(params(1), 4096));
        let failure = world.compute(20).expect_err("no such device");
        assert!(auto.falls_back_to_cpu(&failure) && world.take_events().is_empty());
        world.seconds.store(179, Ordering::Relaxed);
        assert!(!auto.accepts_batch(params(1), 4096), "the second quarantine is longer");
        world.seconds.store(180, Ordering::Relaxed);
        for flag in [&world.health(0).is_lost, &world.health(0).is_absent] {
            flag.store(false, Ordering::Relaxed);
        }
        world.compute(20).expect("tags");
        assert!(
            matches!(&world.take_events()[..], [EngineEvent::Readmitted { engine }] if engine.contains("of 100"))
        );
    }

    #[test]
    fn a_failure_is_that_of_the_device_that_was_tried() {
        let world = small_and_large();
        world.health(1).is_lost.store(true, Ordering::Relaxed);
        let failure = world.compute(900).expect_err("lost");
        // Another thread uses the small device before the failure is reported.
        world.compute(1).expect("a tag");
        assert!(world.auto.falls_back_to_cpu(&failure));
        assert_eq!(world.admissions(), [Admission::Work, WAIT]);
        // The small device takes large batches meanwhile, where it is faster than the CPU. Its work readmits no other device.
        assert!(world.auto.accepts_batch(params(1), 900));
        world.hashes();
        world.compute(900).expect("tags");
        assert_eq!((world.hashes(), world.admissions()), (vec![900, 0], vec![Admission::Work, WAIT]));
    }

    #[test]
    fn a_wrong_device_is_found_by_its_own_self_test() {
        let world = small_and_large();
        world.health(1).is_wrong.store(true, Ordering::Relaxed);
        world.compute(900).expect("wrong tags");
        world.compute(1).expect("a tag");
        let failure = world.auto.report_wrong_result();
        assert_eq!(failure.cause, FailureCause::WrongResultOfGroup);
        assert!(world.auto.falls_back_to_cpu(&failure));
        let test = Admission::SelfTest { rounds: 1 };
        assert_eq!(world.admissions(), [test, test]);
        world.compute(1).expect("the small device passes");
        assert_eq!(world.admissions(), [Admission::Work, test], "one self-test admits one device");
        let failure = world.compute(900).expect_err("the large device does not");
        assert!(failure.is_wrong_result() && failure.engine.contains("of 1000"), "{failure}");
        assert_eq!(world.admissions(), [Admission::Work, WAIT]);
    }

    #[test]
    fn the_only_device_that_computed_is_blamed_for_a_wrong_result() {
        let world = small_and_large();
        world.compute(900).expect("tags");
        let failure = world.auto.report_wrong_result();
        assert_eq!(failure.cause, FailureCause::WrongResult { device: "of 1000".to_owned() });
        assert_eq!(world.admissions(), [Admission::Work, WAIT]);
        assert!(world.auto.falls_back_to_cpu(&failure));
        assert_eq!(world.take_events(), [EngineEvent::CpuTakesOver { failure }]);
    }

    #[test]
    fn an_absent_device_is_reported_once() {
        let world = World::new(&[tuned(1, 100, [1000.0, 1.0])]);
        world.health(0).is_absent.store(true, Ordering::Relaxed);
        for round in 0..2 {
            let failure = world.compute(20).expect_err("no such device");
            assert!(world.auto.falls_back_to_cpu(&failure));
            let events = world.take_events();
            assert_eq!(events.len(), usize::from(round == 0), "{events:?}");
            assert!(!world.auto.accepts_batch(params(1), 4096), "it is in quarantine");
        }
    }

    #[test]
    fn stops_and_faults_of_the_caller_or_the_cpu_quarantine_nothing() {
        let world = World::new(&[tuned(1, 100, [1000.0, 100.0])]);
        let stop = Stop::new();
        stop.set();
        let mut tag = [0; 32];
        let mut jobs = [Job { input: Input::new(b"p", b"eight or more"), tag: &mut tag }];
        let failure = world.auto.compute(params(1), &mut jobs, &stop).expect_err("stopped");
        assert!(failure.is_stop() && !world.auto.falls_back_to_cpu(&failure));
        world.health(0).refuses.store(true, Ordering::Relaxed);
        let failure = world.compute(20).expect_err("invalid inputs");
        assert!(world.auto.falls_back_to_cpu(&failure), "the CPU says what is wrong with them");
        assert_eq!((world.admissions(), world.take_events()), (vec![Admission::Work], Vec::new()));
        // The CPU cannot compute the right tags of a self-test.
        let not_tested = hashmill_hash::argon2::HashError::OutOfMemory { bytes: 1 };
        let failure = world.auto.failure(FailureCause::NotTested(not_tested));
        assert!(!is_fault_of_device(&failure) && world.auto.falls_back_to_cpu(&failure));
        assert!(world.take_events().is_empty() && world.auto.accepts_batch(params(1), 4096));
    }
}
