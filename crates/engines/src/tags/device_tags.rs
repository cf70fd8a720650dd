//! Argon2 tags computed by one device.

use super::tag_engine::{RequestedEngine, TagEngine};
use crate::budget::{Budget, Reservation};
use crate::device::OpenDevice;
use crate::failure::{EngineFailure, FailureCause};
use crate::tune_file::TunedArgon2;
use hashmill_gpu::{Argon2, Error};
use hashmill_hash::argon2::{Job, Params, Stop};
use std::sync::{Mutex, PoisonError};

/// Computes Argon2 tags on a device. Keeps device memory for the parameters of the last batch.
pub(crate) struct DeviceTags {
    device: OpenDevice,
    /// What `hashmill tune` measured on it.
    tuned: Vec<TunedArgon2>,
    /// The name under which it was requested, for messages.
    label: String,
    budget: Budget,
    last: Mutex<Option<Prepared>>,
}

/// Memory for hashes of the same parameters.
struct Prepared {
    params: Params,
    /// The number of hashes that were asked for.
    capacity: usize,
    argon2: Argon2,
    /// Host memory, if the device uses it.
    _reservation: Option<Reservation>,
}

impl DeviceTags {
    pub(crate) fn new(
        device: OpenDevice,
        tuned: Vec<TunedArgon2>,
        label: String,
        budget: Budget,
    ) -> DeviceTags {
        DeviceTags { device, tuned, label, budget, last: Mutex::new(None) }
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
    ) -> Result<DeviceTags, EngineFailure> {
        match OpenDevice::open_model(&measured.engine, &measured.device) {
            Ok(device) => {
                let tuned = device.tuned_entries(all);
                Ok(DeviceTags::new(device, tuned, label, budget))
            }
            Err(error) => Err(EngineFailure::new(label, error.into())),
        }
    }

    /// Runs `work` with memory for at most `max_hashes` hashes. Reuses the memory of the last batch if it is large enough.
    fn with_memory<T>(
        &self,
        params: Params,
        max_hashes: usize,
        work: impl FnOnce(&mut Argon2) -> T,
    ) -> Result<T, Error> {
        let wanted = max_hashes.min(self.device.max_hashes(params));
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_reusable = |open: &Prepared| open.params == params && open.capacity >= wanted;
        let mut prepared = match last.take().filter(is_reusable) {
            Some(prepared) => prepared,
            None => {
                // A card reports itself how many hashes it has memory for: some of them start when others have ended.
                let reservation = self
                    .device
                    .uses_host_memory()
                    .then(|| self.budget.reserve_on_device(self.device.info(), params, wanted));
                let max_hashes = reservation.as_ref().map_or(wanted, |memory| memory.hashes().max(1));
                let measured = self.tuned.iter().find(|tuned| tuned.has_costs(params));
                let argon2 = self.device.argon2(params, max_hashes, measured)?;
                Prepared { params, capacity: wanted, argon2, _reservation: reservation }
            }
        };
        let result = work(&mut prepared.argon2);
        *last = Some(prepared);
        Ok(result)
    }

    fn failure(&self, error: Error) -> EngineFailure {
        EngineFailure::new(&*self.label, FailureCause::from(error))
    }
}

/// A requested device never falls back to the CPU.
impl TagEngine for DeviceTags {
    fn accepts_batch(&self, _: Params, _: usize) -> bool {
        true
    }

    fn compute(&self, params: Params, jobs: &mut [Job<'_>], stop: &Stop) -> Result<(), EngineFailure> {
        let done = self.with_memory(params, jobs.len(), |argon2| argon2.hash_until(jobs, stop));
        done.flatten().map_err(|error| self.failure(error))
    }

    fn release_host_memory(&self) {
        if self.device.uses_host_memory() {
            self.last.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
    }

    fn report_wrong_result(&self) -> EngineFailure {
        self.failure(Error::SelfTest { device: self.device.info().name.clone() })
    }

    fn falls_back_to_cpu(&self, _: &EngineFailure) -> bool {
        false
    }
}

impl RequestedEngine for DeviceTags {
    fn batch_width(&self, params: Params, max_hashes: usize) -> Result<usize, EngineFailure> {
        self.with_memory(params, max_hashes, |argon2| argon2.width()).map_err(|error| self.failure(error))
    }

    fn names(&self) -> (String, String) {
        (self.device.engine().to_owned(), self.device.info().name.clone())
    }
}
