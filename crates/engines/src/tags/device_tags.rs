//! Argon2 tags computed by one device.

use super::tag_engine::{RequestedEngine, TagEngine, cpu_replaces_requested};
use crate::budget::{Budget, Reservation, Reserved};
use crate::device::OpenDevice;
use crate::event::EventSink;
use crate::failure::{EngineFailure, FailureCause};
use crate::tune_file::TunedArgon2;
use hashmill_gpu::Argon2;
use hashmill_hash::argon2::{Job, Params, Stop};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Computes Argon2 tags on a device. Keeps device memory for the parameters of the last batch.
pub(crate) struct DeviceTags {
    device: OpenDevice,
    /// What `hashmill tune` measured on it.
    tuned: Vec<TunedArgon2>,
    /// The name under which it was requested, for messages.
    label: String,
    budget: Budget,
    events: EventSink,
    last: Arc<Mutex<Option<Prepared>>>,
}

/// Memory for hashes of the same parameters.
struct Prepared {
    params: Params,
    /// The number of hashes that were asked for.
    capacity: usize,
    argon2: Argon2,
    reservation: Reservation,
}

impl Reserved for Prepared {
    fn reservations(&self) -> Vec<&Reservation> {
        vec![&self.reservation]
    }
}

impl DeviceTags {
    pub(crate) fn new(
        device: OpenDevice,
        tuned: Vec<TunedArgon2>,
        label: String,
        budget: Budget,
        events: EventSink,
    ) -> DeviceTags {
        let last = Arc::new(Mutex::new(None));
        budget.add_kept_memory(&last);
        DeviceTags { device, tuned, label, budget, events, last }
    }

    /// Opens the device of `measured`, with all entries of that device.
    ///
    /// # Errors
    /// The device is gone, or its driver fails.
    pub(super) fn open_tuned(
        measured: &TunedArgon2,
        all: &[TunedArgon2],
        label: String,
        budget: Budget,
        events: EventSink,
    ) -> Result<DeviceTags, EngineFailure> {
        match OpenDevice::open_model(&measured.engine, &measured.device) {
            Ok(device) => {
                let tuned = device.tuned_entries(all);
                Ok(DeviceTags::new(device, tuned, label, budget, events))
            }
            Err(error) => Err(EngineFailure::new(label, error.into())),
        }
    }

    fn last(&self) -> MutexGuard<'_, Option<Prepared>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` with memory for at most `max_hashes` hashes. Reuses the memory of the last batch if it is large enough.
    fn with_memory<T>(
        &self,
        params: Params,
        max_hashes: usize,
        work: impl FnOnce(&mut Argon2) -> T,
    ) -> Result<T, FailureCause> {
        let wanted = max_hashes.min(self.device.max_hashes(params));
        let mut last = self.last();
        let is_reusable = |open: &Prepared| open.params == params && open.capacity >= wanted;
        let mut prepared = match last.take().filter(is_reusable) {
            Some(prepared) => prepared,
            None => {
                let mut reservation =
                    self.budget.reserve_on_requested_device(self.device.info(), params, wanted);
                let max_hashes = match reservation.hashes() {
                    // Other engines have reserved the host's memory.
                    0 if self.device.uses_host_memory() => {
                        let (bytes, left) = (params.blocks() << 10, reservation.left());
                        return Err(FailureCause::HashOutOfBudget { bytes, left });
                    }
                    hashes if self.device.uses_host_memory() => hashes,
                    // Some of them start when others have ended.
                    _ if reservation.is_alone() => wanted,
                    // A card reports an error of its own if one is too much.
                    hashes => hashes.max(1),
                };
                let measured = self.tuned.iter().find(|tuned| tuned.has_costs(params));
                let argon2 = self.device.argon2(params, max_hashes, measured)?;
                reservation.charge(argon2.memory());
                Prepared { params, capacity: wanted, argon2, reservation }
            }
        };
        let result = work(&mut prepared.argon2);
        *last = Some(prepared);
        Ok(result)
    }

    fn failure(&self, cause: FailureCause) -> EngineFailure {
        EngineFailure::new(&*self.label, cause)
    }
}

impl TagEngine for DeviceTags {
    fn accepts_batch(&self, _: Params, _: usize) -> bool {
        true
    }

    fn compute(&self, params: Params, jobs: &mut [Job<'_>], stop: &Stop) -> Result<(), EngineFailure> {
        let done = self.with_memory(params, jobs.len(), |argon2| argon2.hash_until(jobs, stop));
        done.and_then(|done| done.map_err(FailureCause::from)).map_err(|cause| self.failure(cause))
    }

    fn release_host_memory(&self) {
        if self.device.uses_host_memory() {
            self.last().take();
        }
    }

    fn report_wrong_result(&self) -> EngineFailure {
        // An engine is tested with known answers when it is made.
        self.last().take();
        let device = self.device.info().name.clone();
        EngineFailure::new(&*self.label, FailureCause::WrongResult { device })
    }

    fn falls_back_to_cpu(&self, failure: &EngineFailure) -> bool {
        cpu_replaces_requested(failure, &self.events)
    }
}

impl RequestedEngine for DeviceTags {
    fn batch_width(&self, params: Params, max_hashes: usize) -> Result<usize, EngineFailure> {
        self.with_memory(params, max_hashes, |argon2| argon2.width()).map_err(|cause| self.failure(cause))
    }

    fn names(&self) -> (String, String) {
        (self.device.engine().to_owned(), self.device.info().name.clone())
    }
}
