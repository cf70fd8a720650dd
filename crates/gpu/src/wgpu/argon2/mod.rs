//! Argon2 by wgpu: hashes side by side on a device.

mod batch_size;
mod fixed_memory;
mod kernels;
#[cfg(test)]
mod tests;

pub(super) use kernels::{FEATURES, KernelOptions, Kernels};

use super::Device;
use super::error_scope::guarded;
use crate::argon2::schedule::{BLOCK_BYTES, segment_blocks};
use crate::argon2::{self, FixedEngine};
use crate::{Error, Tuning};
use batch_size::{max_bound_hashes, usable_bytes, useful_hashes};
use fixed_memory::{FixedMemory, part_sizes};
use hashmill_hash::argon2::{Params, Plan};
use kernels::BUFFERS;

/// Argon2 on a device.
pub(crate) type Argon2 = argon2::Argon2<FixedEngine<FixedMemory>>;

impl Argon2 {
    /// For at most `most` hashes side by side: see [`Device::argon2`](crate::Device::argon2).
    pub(crate) fn new(device: &Device, params: Params, most: usize) -> Result<Argon2, Error> {
        Argon2::tuned(device, params, guess(params).at_most(most))
    }

    /// With this layout as far as memory allows.
    pub(crate) fn tuned(device: &Device, params: Params, tuning: Tuning) -> Result<Argon2, Error> {
        if device.raw().0.limits().max_storage_buffers_per_shader_stage < BUFFERS {
            let lacks = format!("{BUFFERS} buffers for a kernel");
            return Err(Error::Unfit { device: device.info().name.clone(), lacks });
        }
        let raw = device.raw().0;
        let best = KernelOptions::from_device(raw);
        let options = best.without(tuning.pairs, tuning.shared);
        if options == best {
            return Argon2::with_kernels(device, device.argon2()?, params, tuning);
        }
        let kernels = guarded(raw, 0, || Kernels::new(raw, &options.text()))?;
        Argon2::with_kernels(device, &kernels, params, tuning)
    }

    fn with_kernels(
        device: &Device,
        kernels: &Kernels,
        params: Params,
        tuning: Tuning,
    ) -> Result<Argon2, Error> {
        argon2::self_test(&device.info().name, &argon2::SELF_TEST_CASES, |params, jobs| {
            Argon2::untested(device, kernels, params, tuning.at_most(jobs.len()))?.hash(jobs)
        })?;
        Argon2::untested(device, kernels, params, tuning)
    }

    fn untested(device: &Device, kernels: &Kernels, params: Params, tuning: Tuning) -> Result<Argon2, Error> {
        let tuning = tuning.bounded();
        let (info, raw) = (device.info(), device.raw());
        let bound_hashes = max_bound_hashes(params, info.binding.min(info.buffer));
        if bound_hashes == 0 {
            let slice = u64::from(segment_blocks(params)) * u64::from(params.lanes()) * BLOCK_BYTES;
            let lacks = format!("kernels that see {slice} bytes at a time, a quarter of a hash");
            return Err(Error::Unfit { device: info.name.clone(), lacks });
        }
        let sizes = part_sizes(params, bound_hashes, usable_bytes(info), tuning.hashes.into());
        let memory = FixedMemory::new(raw, kernels, params, &sizes)?;
        Ok(Argon2::with_memory(params, memory, tuning))
    }

    fn with_memory(params: Params, memory: FixedMemory, tuning: Tuning) -> Argon2 {
        let lanes = FixedEngine::new(params, memory, tuning.submission_time);
        let hashes = argon2::Device::width(&lanes) as u32;
        Argon2 {
            params,
            plan: Plan::host(),
            tuning: Tuning { hashes, ahead: 0, grow: false, ..tuning },
            lanes,
        }
    }

    /// Bytes on the device.
    pub(crate) fn memory(&self) -> u64 {
        self.lanes.memory.hashes().map(|hashes| fixed_memory::bytes(self.params, hashes)).sum()
    }
}

impl Device {
    /// Candidate layouts of Argon2 with these parameters: that of `new`, and others that may be
    /// faster on this device.
    pub(crate) fn tunings(&self, params: Params) -> Vec<Tuning> {
        let (info, raw, guess) = (self.info(), self.raw().0, guess(params));
        let fit = usable_bytes(info).map_or(1, |bytes| bytes / (params.blocks() * BLOCK_BYTES));
        let more = Tuning { hashes: u32::try_from(fit).unwrap_or(u32::MAX), ..guess };
        let others = [more, Tuning { pairs: true, ..guess }, Tuning { shared: true, ..guess }];
        let differ = |tuning: &Tuning| {
            let options = KernelOptions::from_device(raw);
            tuning.hashes > guess.hashes || options.without(tuning.pairs, tuning.shared) != options
        };
        guess.with_others(fit, others.into_iter().filter(differ))
    }
}

fn guess(params: Params) -> Tuning {
    Tuning { grow: false, ..Tuning::guess(useful_hashes(params), 0) }
}
