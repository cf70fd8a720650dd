//! Argon2 by CUDA: hashes side by side on a device.

mod fixed_memory;
mod growing_memory;
mod lane_schedule;
mod rounds;
#[cfg(test)]
mod tests;

use super::device::Device;
use crate::argon2::schedule::BLOCK_BYTES;
use crate::argon2::{self, Device as _, FixedEngine, HashSource, allocate_with_backoff};
use crate::{Error, Info, Kind, Tuning};
use fixed_memory::FixedMemory;
use growing_memory::GrowingMemory;
use hashmill_hash::argon2::{Params, Plan, Stop, Variant};

/// Lanes of all hashes per multiprocessor: registers of the kernel suffice for as many.
const LANES_PER_SM: u64 = 28;

/// Argon2 on a device.
pub(crate) type Argon2 = argon2::Argon2<Memory>;

/// Memory of the hashes of a device.
pub(crate) enum Memory {
    /// A hash has all its memory from the start.
    Fixed(Box<FixedEngine<FixedMemory>>),
    /// A hash allocates memory as it advances.
    Growing(Box<GrowingMemory>),
}

impl Argon2 {
    /// For at most `most` hashes side by side: see [`Device::argon2`](crate::Device::argon2).
    pub(crate) fn new(device: &Device, params: Params, most: usize) -> Result<Argon2, Error> {
        Argon2::tuned(device, params, guess(device, params).at_most(most))
    }

    /// With this layout as far as memory allows.
    pub(crate) fn tuned(device: &Device, params: Params, tuning: Tuning) -> Result<Argon2, Error> {
        Argon2::self_test(device, params)?;
        let tuning = tuning.bounded();
        let (most, free) = (u64::from(tuning.hashes), usable_bytes(device.info(), device.free_memory()?));
        let whole = fixed_memory::capacity_for_bytes(params, free);
        if whole < most
            && tuning.grow
            && let Some(growing) = GrowingMemory::new(device, params, tuning, free)?
        {
            return Ok(Argon2::with_memory(params, tuning, Memory::Growing(Box::new(growing))));
        }
        Argon2::fixed(device, params, Tuning { hashes: most.min(whole).max(1) as u32, ..tuning })
    }

    /// Tests every kernel that these parameters may use with known tags: both kernels that fill fixed memory, and
    /// the one for growing memory where that is possible.
    fn self_test(device: &Device, params: Params) -> Result<(), Error> {
        let name = &device.info().name;
        for ahead in [u32::MAX, 0] {
            argon2::self_test(name, &argon2::SELF_TEST_CASES, |params, jobs| {
                Argon2::fixed(device, params, Tuning::guess(jobs.len() as u64, ahead))?.hash(jobs)
            })?;
        }
        if !GrowingMemory::is_possible(params) {
            return Ok(());
        }
        // Half of the references of this variant depend on no data, so both paths of the kernel run.
        argon2::self_test(name, &[(Variant::Id, [512, 1, 1])], |params, jobs| {
            let tuning = Tuning::guess(jobs.len() as u64, 0);
            let growing = GrowingMemory::small(device, params, tuning)?;
            Argon2::with_memory(params, tuning, Memory::Growing(Box::new(growing))).hash(jobs)
        })
    }

    /// For `tuning.hashes` hashes, or as many as the device has memory for.
    fn fixed(device: &Device, params: Params, tuning: Tuning) -> Result<Argon2, Error> {
        let Tuning { hashes, ahead, submission_time, .. } = tuning;
        let memory =
            allocate_with_backoff(&[hashes], |hashes| FixedMemory::new(device, params, hashes, ahead))?
                .remove(0);
        Ok(Argon2::with_memory(
            params,
            tuning,
            Memory::Fixed(Box::new(FixedEngine::new(params, memory, submission_time))),
        ))
    }

    fn with_memory(params: Params, tuning: Tuning, lanes: Memory) -> Argon2 {
        let (hashes, grow) = (lanes.width() as u32, matches!(lanes, Memory::Growing(_)));
        let tuning = Tuning { hashes, grow, pairs: false, shared: false, ..tuning };
        Argon2 { params, plan: Plan::host(), tuning, lanes }
    }

    /// Bytes on the device.
    pub(crate) fn memory(&self) -> u64 {
        match &self.lanes {
            Memory::Fixed(fixed) => fixed.memory.bytes(),
            Memory::Growing(growing) => growing.bytes(),
        }
    }
}

impl Device {
    /// Candidate layouts of Argon2 with these parameters: that of `new`, and others that may be
    /// faster on this device.
    ///
    /// # Errors
    /// Errors of the driver.
    pub(crate) fn tunings(&self, params: Params) -> Result<Vec<Tuning>, Error> {
        let guess = guess(self, params);
        let whole = fixed_memory::capacity_for_bytes(params, usable_bytes(self.info(), self.free_memory()?));
        let grows = GrowingMemory::is_possible(params) && whole < u64::from(guess.hashes);
        let others = [
            // Each of the two kernels for all hashes.
            Tuning { ahead: u32::MAX, ..guess },
            Tuning { ahead: 0, ..guess },
            Tuning { grow: !grows, ..guess },
        ];
        Ok(guess.with_others(whole, others))
    }
}

/// As many lanes as fit, with prefetching where the lanes alone do not saturate the memory.
fn guess(device: &Device, params: Params) -> Tuning {
    let lanes = LANES_PER_SM * u64::from(device.multiprocessors());
    Tuning::guess(lanes / u64::from(params.lanes()), fixed_memory::prefetch_max_lanes(device))
}

impl argon2::Device for Memory {
    fn width(&self) -> usize {
        match self {
            Memory::Fixed(fixed) => fixed.width(),
            Memory::Growing(growing) => growing.width(),
        }
    }

    fn run(&mut self, work: &mut dyn HashSource, stop: &Stop) -> Result<(), Error> {
        match self {
            Memory::Fixed(fixed) => fixed.run(work, stop),
            Memory::Growing(growing) => growing.run(work, stop),
        }
    }
}

/// The part of free memory that hashes may use: the driver needs some itself, and half stays free if it is the
/// host's memory.
fn usable_bytes(info: &Info, free: u64) -> u64 {
    let reserve = match info.kind {
        Kind::Integrated => free / 2,
        _ => free / 128,
    };
    (free - reserve) / BLOCK_BYTES * BLOCK_BYTES
}
