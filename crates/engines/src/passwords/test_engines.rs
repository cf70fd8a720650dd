//! Engines for tests: faulty, lost, automatically chosen, holding host memory.

use crate::failure::{EngineFailure, FailureCause};
use crate::tags::TagEngine;
use hashmill_hash::argon2::{Hasher, Job, Params, Stop};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The failure for a wrong result.
pub(super) fn wrong() -> EngineFailure {
    EngineFailure::new("toy", FailureCause::WrongResultOfGroup)
}

/// The failure of [`LostEngine`].
pub(super) fn lost() -> EngineFailure {
    EngineFailure::new("toy", FailureCause::Device(hashmill_gpu::Error::Lost))
}

/// Computes right tags, except that it flips a bit of the tag with this number, counted over all calls.
pub(super) struct BitFlipEngine {
    faulty: Option<usize>,
    count: AtomicUsize,
}

impl BitFlipEngine {
    pub(super) fn new(faulty: Option<usize>) -> BitFlipEngine {
        BitFlipEngine { faulty, count: AtomicUsize::new(0) }
    }
}

impl TagEngine for BitFlipEngine {
    fn compute(&self, params: Params, jobs: &mut [Job<'_>], stop: &Stop) -> Result<(), EngineFailure> {
        if stop.is_set() {
            return Err(EngineFailure::new("toy", FailureCause::Stopped));
        }
        for job in jobs {
            Hasher::new(params).hash_into(&job.input, job.tag).expect("good inputs");
            let number = self.count.fetch_add(1, Ordering::Relaxed);
            job.tag[7] ^= u8::from(self.faulty == Some(number)) << 3;
        }
        Ok(())
    }

    fn report_wrong_result(&self) -> EngineFailure {
        wrong()
    }

    fn accepts_batch(&self, _: Params, _: usize) -> bool {
        true
    }

    fn falls_back_to_cpu(&self, _: &EngineFailure) -> bool {
        false
    }
}

/// Flips a bit of every tag.
#[derive(Default)]
pub(super) struct AlwaysWrongEngine {
    pub(super) reports: Arc<AtomicUsize>,
}

impl TagEngine for AlwaysWrongEngine {
    fn compute(&self, params: Params, jobs: &mut [Job<'_>], stop: &Stop) -> Result<(), EngineFailure> {
        BitFlipEngine::new(None).compute(params, jobs, stop)?;
        jobs.iter_mut().for_each(|job| job.tag[7] ^= 1 << 3);
        Ok(())
    }

    fn report_wrong_result(&self) -> EngineFailure {
        self.reports.fetch_add(1, Ordering::Relaxed);
        wrong()
    }

    fn accepts_batch(&self, _: Params, _: usize) -> bool {
        true
    }

    fn falls_back_to_cpu(&self, _: &EngineFailure) -> bool {
        false
    }
}

/// Is lost in its second call, which also stops the work of the CPU.
#[derive(Default)]
pub(super) struct LostLaterEngine(AtomicUsize);

impl TagEngine for LostLaterEngine {
    fn compute(&self, params: Params, jobs: &mut [Job<'_>], stop: &Stop) -> Result<(), EngineFailure> {
        if self.0.fetch_add(1, Ordering::Relaxed) > 0 {
            stop.set();
            return Err(lost());
        }
        BitFlipEngine::new(None).compute(params, jobs, stop)
    }

    fn report_wrong_result(&self) -> EngineFailure {
        unreachable!("it computes right tags")
    }

    fn accepts_batch(&self, _: Params, _: usize) -> bool {
        true
    }

    fn falls_back_to_cpu(&self, _: &EngineFailure) -> bool {
        false
    }
}

/// Corrupts the tag of one batch slot in every call, always in the same way.
pub(super) struct StuckSlotEngine(pub(super) usize);

impl TagEngine for StuckSlotEngine {
    fn compute(&self, params: Params, jobs: &mut [Job<'_>], stop: &Stop) -> Result<(), EngineFailure> {
        BitFlipEngine::new(Some(self.0)).compute(params, jobs, stop)
    }

    fn report_wrong_result(&self) -> EngineFailure {
        wrong()
    }

    fn accepts_batch(&self, _: Params, _: usize) -> bool {
        true
    }

    fn falls_back_to_cpu(&self, _: &EngineFailure) -> bool {
        false
    }
}

/// Fails every call.
pub(super) struct LostEngine;

impl TagEngine for LostEngine {
    fn compute(&self, _: Params, _: &mut [Job<'_>], _: &Stop) -> Result<(), EngineFailure> {
        Err(lost())
    }

    fn report_wrong_result(&self) -> EngineFailure {
        unreachable!("it computes nothing")
    }

    fn accepts_batch(&self, _: Params, _: usize) -> bool {
        true
    }

    fn falls_back_to_cpu(&self, _: &EngineFailure) -> bool {
        false
    }
}

/// An automatically chosen engine: it accepts batches of at least `min_batch` until its first failure, then the CPU takes over.
pub(super) struct AutomaticEngine<E> {
    pub(super) engine: E,
    pub(super) min_batch: usize,
    pub(super) failures: Arc<Mutex<Vec<EngineFailure>>>,
}

impl<E: TagEngine> TagEngine for AutomaticEngine<E> {
    fn accepts_batch(&self, _: Params, count: usize) -> bool {
        count >= self.min_batch && self.failures.lock().expect("no panic").is_empty()
    }

    fn compute(&self, params: Params, jobs: &mut [Job<'_>], stop: &Stop) -> Result<(), EngineFailure> {
        self.engine.compute(params, jobs, stop)
    }

    fn report_wrong_result(&self) -> EngineFailure {
        self.engine.report_wrong_result()
    }

    fn falls_back_to_cpu(&self, failure: &EngineFailure) -> bool {
        self.failures.lock().expect("no panic").push(failure.clone());
        true
    }
}

/// Counts how often its host memory was released.
pub(super) struct MemoryHoldingEngine {
    pub(super) engine: BitFlipEngine,
    pub(super) releases: Arc<AtomicUsize>,
}

impl TagEngine for MemoryHoldingEngine {
    fn accepts_batch(&self, _: Params, _: usize) -> bool {
        true
    }

    fn compute(&self, params: Params, jobs: &mut [Job<'_>], stop: &Stop) -> Result<(), EngineFailure> {
        self.engine.compute(params, jobs, stop)
    }

    fn release_host_memory(&self) {
        self.releases.fetch_add(1, Ordering::Relaxed);
    }

    fn report_wrong_result(&self) -> EngineFailure {
        self.engine.report_wrong_result()
    }

    fn falls_back_to_cpu(&self, _: &EngineFailure) -> bool {
        false
    }
}

/// Records the parameters of each hash that it computes.
pub(super) struct RecordingEngine(pub(super) Arc<Mutex<Vec<Params>>>);

impl TagEngine for RecordingEngine {
    fn accepts_batch(&self, _: Params, _: usize) -> bool {
        true
    }

    fn compute(&self, params: Params, jobs: &mut [Job<'_>], stop: &Stop) -> Result<(), EngineFailure> {
        self.0.lock().expect("no panic").extend(jobs.iter().map(|_| params));
        BitFlipEngine::new(None).compute(params, jobs, stop)
    }

    fn report_wrong_result(&self) -> EngineFailure {
        wrong()
    }

    fn falls_back_to_cpu(&self, _: &EngineFailure) -> bool {
        false
    }
}
