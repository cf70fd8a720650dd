//! [`Argon2`]: hashes side by side on a device.

mod fit;
mod kernels;
mod room;
#[cfg(test)]
mod tests;

pub(super) use kernels::{FEATURES, Kernels, Means};

use super::Device;
use super::guarded::guarded;
use crate::argon2::schedule::{BLOCK, segment};
use crate::argon2::{self, Fixed, engines};
use crate::{Error, Tuning};
use fit::{side_by_side, usable, worthwhile};
use hashmill_hash::argon2::pow::Pow;
use hashmill_hash::argon2::{HashError, Job, Params, Plan, Stop};
use hashmill_hash::engine::{
    BatchEngine, BatchLimits, EngineError, Hit, NonceEngine, NonceJob, NonceLimits, Searched, Watch,
};
use kernels::BUFFERS;
use room::{Rooms, shares};
use std::fmt;
use std::ops::Range;

/// Argon2 with the same parameters, several hashes side by side, in memory of a device that is kept. The processor has the first
/// blocks and the tag; all between is the device's.
///
/// Memory is wiped after each batch. Copies of first and last blocks that a driver makes on their way are out of reach.
pub struct Argon2 {
    device: Device,
    params: Params,
    /// How the processor makes first blocks.
    plan: Plan,
    tuning: Tuning,
    memory: Fixed<Rooms>,
}

impl Argon2 {
    /// For at most so many hashes side by side, one at least: as many as the device has memory for, and not so many that more are
    /// slower, see [`width`](Argon2::width). It is asked for known tags.
    ///
    /// # Errors
    /// [`Error::Unfit`] where a hash is more than kernels of this device see, [`Error::OutOfMemory`] where there is no memory for
    /// one; [`Error::SelfTest`]; what the driver says.
    pub fn new(device: &Device, params: Params, most: usize) -> Result<Argon2, Error> {
        Argon2::tuned(device, params, guess(params).at_most(most))
    }

    /// As [`new`](Argon2::new), laid out like this, as far as memory allows.
    ///
    /// # Errors
    /// As there.
    pub fn tuned(device: &Device, params: Params, tuning: Tuning) -> Result<Argon2, Error> {
        if device.raw().0.limits().max_storage_buffers_per_shader_stage < BUFFERS {
            let lacks = format!("{BUFFERS} buffers for a kernel");
            return Err(Error::Unfit { device: device.info().name.clone(), lacks });
        }
        let raw = device.raw().0;
        let best = Means::of(raw);
        let means = best.without(tuning.pairs, tuning.shared);
        if means == best {
            return Argon2::with_kernels(device, device.argon2()?, params, tuning);
        }
        let kernels = guarded(raw, 0, || Kernels::new(raw, &means.text()))?;
        Argon2::with_kernels(device, &kernels, params, tuning)
    }

    fn with_kernels(
        device: &Device,
        kernels: &Kernels,
        params: Params,
        tuning: Tuning,
    ) -> Result<Argon2, Error> {
        argon2::self_test(&device.info().name, &argon2::OF_ALL, |params, jobs| {
            Argon2::untested(device, kernels, params, tuning.at_most(jobs.len()))?.hash(jobs)
        })?;
        Argon2::untested(device, kernels, params, tuning)
    }

    fn untested(device: &Device, kernels: &Kernels, params: Params, tuning: Tuning) -> Result<Argon2, Error> {
        let tuning = tuning.bounded();
        let (info, raw) = (device.info(), device.raw());
        let binds = side_by_side(params, info.binding.min(info.buffer));
        if binds == 0 {
            let slice = u64::from(segment(params)) * u64::from(params.lanes()) * BLOCK;
            let lacks = format!("kernels that see {slice} bytes at a time, a quarter of a hash");
            return Err(Error::Unfit { device: info.name.clone(), lacks });
        }
        let shares = shares(params, binds, usable(info), tuning.hashes.into());
        let rooms = Rooms::new(raw, kernels, params, &shares)?;
        Ok(Argon2::with_rooms(device, params, rooms, tuning))
    }

    fn with_rooms(device: &Device, params: Params, rooms: Rooms, tuning: Tuning) -> Argon2 {
        let tuning = Tuning { hashes: argon2::Rooms::width(&rooms) as u32, ahead: 0, grow: false, ..tuning };
        let memory = Fixed::new(params, rooms, tuning.strip);
        Argon2 { device: device.clone(), params, plan: Plan::host(), tuning, memory }
    }

    /// How it is laid out.
    pub fn tuning(&self) -> Tuning {
        self.tuning
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What it computes.
    pub fn params(&self) -> Params {
        self.params
    }

    /// How many hashes go side by side.
    pub fn width(&self) -> usize {
        argon2::Device::width(&self.memory)
    }

    /// Bytes on the device.
    pub fn memory(&self) -> u64 {
        self.memory.rooms.hashes().map(|hashes| room::bytes(self.params, hashes)).sum()
    }

    /// The tags of all jobs, [`width`](Argon2::width) of them at a time.
    ///
    /// # Errors
    /// [`Error::Hash`] for the first job with a length out of range; what happens to the device. Jobs have all of a tag or nothing
    /// of it.
    pub fn hash(&mut self, jobs: &mut [Job<'_>]) -> Result<(), Error> {
        static NEVER: Stop = Stop::new();
        self.hash_until(jobs, &NEVER)
    }

    /// [`hash`](Argon2::hash) that ends early when asked to, from another thread: within some milliseconds.
    ///
    /// # Errors
    /// As there, and [`HashError::Stopped`](hashmill_hash::argon2::HashError::Stopped) as [`Error::Hash`].
    pub fn hash_until(&mut self, jobs: &mut [Job<'_>], stop: &Stop) -> Result<(), Error> {
        let count = jobs.len();
        let done = argon2::hash(&mut self.memory, self.plan, self.params, jobs, stop)?;
        if done == count { Ok(()) } else { Err(HashError::Stopped.into()) }
    }
}

engines!();

impl Device {
    /// Ways of laying out Argon2 with these parameters: what [`Argon2::new`] takes, and others that may be faster on this device.
    pub fn tunings(&self, params: Params) -> Vec<Tuning> {
        let (info, raw, guess) = (self.info(), self.raw().0, guess(params));
        let fit = usable(info).map_or(1, |bytes| bytes / (params.blocks() * BLOCK));
        let more = Tuning { hashes: u32::try_from(fit).unwrap_or(u32::MAX), ..guess };
        let others = [more, Tuning { pairs: true, ..guess }, Tuning { shared: true, ..guess }];
        let differ = |tuning: &Tuning| {
            let means = Means::of(raw);
            tuning.hashes > guess.hashes || means.without(tuning.pairs, tuning.shared) != means
        };
        guess.with_others(fit, others.into_iter().filter(differ))
    }
}

fn guess(params: Params) -> Tuning {
    Tuning { grow: false, ..Tuning::guess(worthwhile(params), 0) }
}

impl fmt::Debug for Argon2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Argon2");
        out.field("device", &self.device).field("params", &self.params).field("width", &self.width());
        out.finish_non_exhaustive()
    }
}
