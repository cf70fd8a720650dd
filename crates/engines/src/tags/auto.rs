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
use hashmill_gpu::Tuning;
use hashmill_hash::argon2::{Job, Params, Stop};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Devices that were measured to be faster than the CPU. A device is opened when it gets its first batch.
pub(crate) struct AutoEngine {
    faster: Vec<TunedArgon2>,
    /// The name under which it was requested, for messages.
    label: String,
    budget: Budget,
    events: EventSink,
    clock: QuarantineClock,
    state: Mutex<AutoState>,
}

#[derive(Default)]
struct AutoState {
    /// The device of the last batch.
    opened: Option<(TunedArgon2, DeviceTags)>,
    /// The CPU computes while the devices are in quarantine.
    quarantine: Quarantine,
}

impl AutoEngine {
    /// `None` if no device was measured to be faster.
    pub(crate) fn new(
        measured: &[TunedArgon2],
        label: String,
        budget: Budget,
        events: EventSink,
    ) -> Option<AutoEngine> {
        let faster: Vec<_> = measured.iter().filter(|tuned| tuned.is_faster()).cloned().collect();
        let (clock, state) = (QuarantineClock::start(), Mutex::default());
        (!faster.is_empty()).then(|| AutoEngine { faster, label, budget, events, clock, state })
    }

    fn state(&self) -> MutexGuard<'_, AutoState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens `chosen`, unless it is open.
    fn open<'a>(
        &self,
        state: &'a mut AutoState,
        chosen: &TunedArgon2,
    ) -> Result<&'a DeviceTags, EngineFailure> {
        let is_open = |(of, _): &(TunedArgon2, DeviceTags)| of.is_for(&chosen.engine, &chosen.device);
        let opened = match state.opened.take().filter(is_open) {
            Some(open) => open,
            None => {
                let label = format!("{}: {}", self.label, chosen.device);
                let tags = DeviceTags::open_tuned(chosen, &self.faster, label, self.budget.clone())?;
                (chosen.clone(), tags)
            }
        };
        Ok(&state.opened.insert(opened).1)
    }

    /// Computes on the chosen device, after a self-test if one is due.
    fn compute_on(
        &self,
        chosen: &TunedArgon2,
        params: Params,
        jobs: &mut [Job<'_>],
        stop: &Stop,
    ) -> Result<(), EngineFailure> {
        let mut state = self.state();
        let admission = state.quarantine.admission(self.clock.now());
        if let Admission::SelfTest { rounds } = admission {
            let tags = self.open(&mut state, chosen)?;
            let tested = run_self_test(params, (rounds, jobs.len()), |jobs| tags.compute(params, jobs, stop));
            match tested {
                SelfTestResult::Passed => {}
                SelfTestResult::WrongTag => return Err(tags.report_wrong_result()),
                SelfTestResult::Failed(failure) => return Err(failure),
                SelfTestResult::NotTested(error) => {
                    return Err(EngineFailure::new(&*self.label, FailureCause::Engine(error.into())));
                }
            }
            state.quarantine.report_self_test(self.clock.now(), true);
            (self.events)(&EngineEvent::Readmitted { engine: self.label.clone() });
        }
        self.open(&mut state, chosen)?.compute(params, jobs, stop)
    }

    /// The fastest device for a batch of `count` hashes.
    fn fastest(&self, params: Params, count: usize) -> Option<&TunedArgon2> {
        let candidates = self.faster.iter().filter(|tuned| tuned.has_costs(params));
        candidates.min_by(|one, other| batch_seconds(one, count).total_cmp(&batch_seconds(other, count)))
    }
}

/// Time a device takes for `count` hashes. A partly filled batch takes as long as a full one.
fn batch_seconds(tuned: &TunedArgon2, count: usize) -> f64 {
    let batch_len = tuned.tuning.parse().map_or(usize::MAX, |tuning: Tuning| tuning.hashes as usize);
    (count.div_ceil(batch_len) as f64 * batch_len as f64) / tuned.hashes_per_second
}

impl TagEngine for AutoEngine {
    fn accepts_batch(&self, params: Params, count: usize) -> bool {
        let is_faster = |tuned: &TunedArgon2| batch_seconds(tuned, count) < count as f64 / tuned.of_processor;
        let waits = matches!(self.state().quarantine.admission(self.clock.now()), Admission::Wait { .. });
        !waits && self.fastest(params, count).is_some_and(is_faster)
    }

    fn compute(&self, params: Params, jobs: &mut [Job<'_>], stop: &Stop) -> Result<(), EngineFailure> {
        // The batch may be smaller than those it accepts: mismatches of an accepted batch are computed a second time.
        let chosen = self
            .fastest(params, jobs.len())
            .ok_or_else(|| EngineFailure::new(&*self.label, FailureCause::NotMeasured))?;
        self.compute_on(chosen, params, jobs, stop)
    }

    fn release_host_memory(&self) {
        if let Some((_, tags)) = &self.state().opened {
            tags.release_host_memory();
        }
    }

    fn report_wrong_result(&self) -> EngineFailure {
        match &self.state().opened {
            Some((_, tags)) => tags.report_wrong_result(),
            None => EngineFailure::new(&*self.label, FailureCause::WrongResultOfGroup),
        }
    }

    fn falls_back_to_cpu(&self, failure: &EngineFailure) -> bool {
        if failure.is_stop() {
            return false;
        }
        let mut state = self.state();
        let was_quarantined = matches!(state.quarantine.admission(self.clock.now()), Admission::Wait { .. });
        match state.quarantine.admission(self.clock.now()) {
            Admission::SelfTest { .. } => state.quarantine.report_self_test(self.clock.now(), false),
            _ => state.quarantine.report_failure(self.clock.now()),
        }
        // A device that was reset must be opened again.
        state.opened = None;
        drop(state);
        if !was_quarantined {
            (self.events)(&EngineEvent::CpuTakesOver { failure: failure.clone() });
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_hash::argon2::Input;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

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

    fn auto(faster: &[TunedArgon2]) -> (AutoEngine, Arc<Mutex<Vec<EngineEvent>>>) {
        let events: Arc<Mutex<Vec<EngineEvent>>> = Arc::default();
        let log = Arc::clone(&events);
        let sink: EventSink =
            Arc::new(move |event: &EngineEvent| log.lock().expect("no panic").push(event.clone()));
        let auto = AutoEngine::new(faster, "auto".to_owned(), Budget::new(0), sink);
        (auto.expect("a device was measured to be faster"), events)
    }

    fn params(passes: u32) -> Params {
        Params::new(64, passes, 1).expect("good costs")
    }

    #[test]
    fn accepts_batches_that_the_device_computes_faster() {
        // The device computes 100 hashes in 0.1 s, the CPU 10.
        let (auto, _) = auto(&[tuned(1, 100, [1000.0, 100.0])]);
        let accepts = |count| auto.accepts_batch(params(1), count);
        assert_eq!([0, 1, 9, 10].map(accepts), [false; 4]);
        assert_eq!([11, 100, 101, 4096].map(accepts), [true; 4]);
        assert!(!auto.accepts_batch(params(2), 4096), "not measured");
    }

    #[test]
    fn chooses_the_device_by_batch_size() {
        let (auto, _) = auto(&[tuned(1, 1000, [10_000.0, 1.0]), tuned(1, 10, [200.0, 1.0])]);
        let chosen = |count| auto.fastest(params(1), count).map(|tuned| tuned.device.clone());
        assert_eq!(chosen(1).as_deref(), Some("of 10"));
        assert_eq!(chosen(900).as_deref(), Some("of 1000"));
    }

    #[test]
    fn accepts_nothing_while_in_quarantine() {
        let (mut auto, events) = auto(&[tuned(1, 100, [1000.0, 100.0])]);
        let seconds = Arc::new(AtomicU64::new(0));
        auto.clock = QuarantineClock::standing_at(Arc::clone(&seconds));
        let failure = EngineFailure::new("auto: of 100", FailureCause::Device(hashmill_gpu::Error::Lost));
        assert!(auto.accepts_batch(params(1), 4096) && auto.falls_back_to_cpu(&failure));
        assert!(!auto.accepts_batch(params(1), 4096) && auto.falls_back_to_cpu(&failure));
        assert_eq!(*events.lock().expect("no panic"), [EngineEvent::CpuTakesOver { failure }], "one event");
        // The quarantine is over, and the device is gone: the self-test fails.
        seconds.store(60, Ordering::Relaxed);
        assert!(auto.accepts_batch(params(1), 4096));
        let mut tag = [0; 32];
        let mut jobs = [Job { input: Input::new(b"p", b"eight or more"), tag: &mut tag }];
        let failure = auto.compute(params(1), &mut jobs, &Stop::new()).expect_err("no such device");
        assert!(auto.falls_back_to_cpu(&failure));
        seconds.store(120, Ordering::Relaxed);
        assert!(!auto.accepts_batch(params(1), 4096), "the second quarantine is longer");
    }

    #[test]
    fn a_stop_is_no_failure() {
        let (auto, events) = auto(&[tuned(1, 100, [1000.0, 100.0])]);
        assert!(!auto.falls_back_to_cpu(&EngineFailure::new("auto", FailureCause::Stopped)));
        assert!(auto.accepts_batch(params(1), 4096) && events.lock().expect("no panic").is_empty());
    }
}
