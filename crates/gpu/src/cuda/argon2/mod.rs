//! [`Argon2`]: hashes side by side on a device.

mod grow;
mod growing;
mod nonces;
mod room;
#[cfg(test)]
mod tests;

pub use nonces::Nonces;

use super::device::Device;
use crate::argon2::schedule::BLOCK;
use crate::argon2::{self, Device as _, Fixed, Work, backing_off};
use crate::{Error, Info, Kind};
use growing::Growing;
use hashmill_hash::argon2::{Job, Params, Plan, Stop, Variant};
use room::Room;
use std::fmt;

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
        Argon2::self_test(device, params)?;
        let worthwhile = (LANES * u64::from(device.multiprocessors()) / u64::from(params.lanes())).max(1);
        let (most, free) = (worthwhile.min(most as u64).max(1), usable(device.info(), device.free_memory()?));
        let whole = room::hashes(params, free);
        if whole < most
            && Growing::can(params)
            && let Some(growing) = Growing::new(device, params, most, free)?
        {
            return Ok(Argon2::with(device, params, Memory::Growing(Box::new(growing))));
        }
        Argon2::fixed(device, params, most.min(whole).max(1), room::ahead(device))
    }

    /// Every kernel that may answer for these parameters is asked for known tags: either of two that fill memory, and the one for
    /// lanes that grow where these can.
    fn self_test(device: &Device, params: Params) -> Result<(), Error> {
        let name = &device.info().name;
        for ahead in [u32::MAX, 0] {
            argon2::self_test(name, &argon2::OF_ALL, |params, jobs| {
                Argon2::fixed(device, params, jobs.len() as u64, ahead)?.hash(jobs)
            })?;
        }
        if !Growing::can(params) {
            return Ok(());
        }
        // Half of the references of this variant are known, so the kernel goes both its ways.
        argon2::self_test(name, &[(Variant::Id, [512, 1, 1])], |params, jobs| {
            let growing = Growing::small(device, params, jobs.len() as u64)?;
            Argon2::with(device, params, Memory::Growing(Box::new(growing))).hash(jobs)
        })
    }

    /// For so many hashes, or as many as the device gives memory for. Of up to so many lanes blocks are fetched ahead.
    fn fixed(device: &Device, params: Params, hashes: u64, ahead: u32) -> Result<Argon2, Error> {
        let hashes = u32::try_from(hashes).unwrap_or(u32::MAX);
        let room = backing_off(&[hashes], |hashes| Room::new(device, params, hashes, ahead))?.remove(0);
        Ok(Argon2::with(device, params, Memory::Fixed(Box::new(Fixed::new(params, room)))))
    }

    fn with(device: &Device, params: Params, memory: Memory) -> Argon2 {
        Argon2 { device: device.clone(), params, plan: Plan::host(), memory }
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
        argon2::hash(&mut self.memory, self.plan, self.params, jobs, stop)
    }
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
        out.field("device", &self.device).field("params", &self.params).field("width", &self.width());
        out.field("grows", &self.grows()).finish_non_exhaustive()
    }
}
