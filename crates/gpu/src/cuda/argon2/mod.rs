//! [`Argon2`]: hashes side by side on a device.

mod grow;
mod growing;
mod room;
#[cfg(test)]
mod tests;

use super::device::Device;
use crate::argon2::schedule::BLOCK;
use crate::argon2::{self, Device as _, Fixed, Work, backing_off, engines};
use crate::{Error, Info, Kind, Tuning};
use growing::Growing;
use hashmill_hash::argon2::pow::Pow;
use hashmill_hash::argon2::{HashError, Job, Params, Plan, Stop, Variant};
use hashmill_hash::engine::{
    BatchEngine, BatchLimits, EngineError, Hit, NonceEngine, NonceJob, NonceLimits, Searched, Watch,
};
use room::Room;
use std::fmt;
use std::ops::Range;

/// Lanes of all hashes for each multiprocessor: as many as have room there, by the registers that a kernel takes.
const LANES: u64 = 28;

/// Argon2 with the same parameters, several hashes side by side, in memory of a device that is kept. The processor has the first
/// blocks and the tag; all between is the device's.
///
/// Memory is wiped after each batch.
pub struct Argon2 {
    device: Device,
    params: Params,
    /// How the processor makes first blocks.
    plan: Plan,
    tuning: Tuning,
    memory: Memory,
}

/// How memory is given to hashes.
enum Memory {
    /// All of it from the beginning.
    Fixed(Box<Fixed<Room>>),
    /// As a hash advances.
    Growing(Box<Growing>),
}

impl Argon2 {
    /// For at most so many hashes side by side, one at least: as many as the device has memory for, and not so many that more are
    /// no faster, see [`width`](Argon2::width). It is asked for known tags.
    ///
    /// Of a hash of one pass and one lane, memory is taken as it advances, where more of them than fit as a whole are wanted.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] where there is no memory for one; [`Error::SelfTest`]; what the driver says.
    pub fn new(device: &Device, params: Params, most: usize) -> Result<Argon2, Error> {
        Argon2::tuned(device, params, guess(device, params).at_most(most))
    }

    /// As [`new`](Argon2::new), laid out like this, as far as memory allows.
    ///
    /// # Errors
    /// As there.
    pub fn tuned(device: &Device, params: Params, tuning: Tuning) -> Result<Argon2, Error> {
        Argon2::self_test(device, params)?;
        let tuning = tuning.bounded();
        let (most, free) = (u64::from(tuning.hashes), usable(device.info(), device.free_memory()?));
        let whole = room::hashes(params, free);
        if whole < most
            && tuning.grow
            && let Some(growing) = Growing::new(device, params, tuning, free)?
        {
            return Ok(Argon2::with(device, params, tuning, Memory::Growing(Box::new(growing))));
        }
        Argon2::fixed(device, params, Tuning { hashes: most.min(whole).max(1) as u32, ..tuning })
    }

    /// Every kernel that may answer for these parameters is asked for known tags: either of two that fill memory, and the one for
    /// lanes that grow where these can.
    fn self_test(device: &Device, params: Params) -> Result<(), Error> {
        let name = &device.info().name;
        for ahead in [u32::MAX, 0] {
            argon2::self_test(name, &argon2::OF_ALL, |params, jobs| {
                Argon2::fixed(device, params, Tuning::guess(jobs.len() as u64, ahead))?.hash(jobs)
            })?;
        }
        if !Growing::can(params) {
            return Ok(());
        }
        // Half of the references of this variant are known, so the kernel goes both its ways.
        argon2::self_test(name, &[(Variant::Id, [512, 1, 1])], |params, jobs| {
            let tuning = Tuning::guess(jobs.len() as u64, 0);
            let growing = Growing::small(device, params, tuning)?;
            Argon2::with(device, params, tuning, Memory::Growing(Box::new(growing))).hash(jobs)
        })
    }

    /// For so many hashes, or as many as the device gives memory for.
    fn fixed(device: &Device, params: Params, tuning: Tuning) -> Result<Argon2, Error> {
        let Tuning { hashes, ahead, strip, .. } = tuning;
        let room = backing_off(&[hashes], |hashes| Room::new(device, params, hashes, ahead))?.remove(0);
        Ok(Argon2::with(device, params, tuning, Memory::Fixed(Box::new(Fixed::new(params, room, strip)))))
    }

    fn with(device: &Device, params: Params, tuning: Tuning, memory: Memory) -> Argon2 {
        let (hashes, grow) = (memory.width() as u32, matches!(memory, Memory::Growing(_)));
        let tuning = Tuning { hashes, grow, pairs: false, shared: false, ..tuning };
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
        self.memory.width()
    }

    /// Whether hashes get their memory as they advance.
    pub fn grows(&self) -> bool {
        matches!(self.memory, Memory::Growing(_))
    }

    /// Bytes on the device.
    pub fn memory(&self) -> u64 {
        match &self.memory {
            Memory::Fixed(fixed) => fixed.rooms.bytes(),
            Memory::Growing(growing) => growing.bytes(),
        }
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

    /// [`hash`](Argon2::hash) that ends early when asked to, from another thread: kernels look for it.
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
    ///
    /// # Errors
    /// What the driver says.
    pub fn tunings(&self, params: Params) -> Result<Vec<Tuning>, Error> {
        let guess = guess(self, params);
        let whole = room::hashes(params, usable(self.info(), self.free_memory()?));
        let grows = Growing::can(params) && whole < u64::from(guess.hashes);
        let others = [
            // Either kernel for all of them.
            Tuning { ahead: u32::MAX, ..guess },
            Tuning { ahead: 0, ..guess },
            Tuning { grow: !grows, ..guess },
        ];
        Ok(guess.with_others(whole, others))
    }
}

/// As many lanes as have room, with blocks fetched ahead where they do not fill the memory without.
fn guess(device: &Device, params: Params) -> Tuning {
    let lanes = LANES * u64::from(device.multiprocessors());
    Tuning::guess(lanes / u64::from(params.lanes()), room::ahead(device))
}

impl argon2::Device for Memory {
    fn width(&self) -> usize {
        match self {
            Memory::Fixed(fixed) => fixed.width(),
            Memory::Growing(growing) => growing.width(),
        }
    }

    fn run(&mut self, work: &mut dyn Work, stop: &Stop) -> Result<(), Error> {
        match self {
            Memory::Fixed(fixed) => fixed.run(work, stop),
            Memory::Growing(growing) => growing.run(work, stop),
        }
    }
}

/// How much of what is free hashes may have: not all, since the driver wants some for itself, and half where it is the host's.
fn usable(info: &Info, free: u64) -> u64 {
    let reserve = match info.kind {
        Kind::Integrated => free / 2,
        _ => free / 128,
    };
    (free - reserve) / BLOCK * BLOCK
}

impl fmt::Debug for Argon2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Argon2");
        out.field("device", &self.device).field("params", &self.params).field("tuning", &self.tuning);
        out.finish_non_exhaustive()
    }
}
