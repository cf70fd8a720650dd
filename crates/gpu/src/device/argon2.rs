//! Argon2 on a device.

use super::{Device, Inner, dispatch};
use crate::argon2::STOP_LATENCY;
#[cfg(feature = "cuda")]
use crate::cuda;
#[cfg(feature = "wgpu")]
use crate::wgpu;
use crate::{Error, Tuning};
use hashmill_hash::argon2::{Job, Params, Stop};
use hashmill_hash::engine::{BatchEngine, BatchLimits, EngineError};
use std::fmt;

/// Argon2 with fixed parameters: several hashes side by side in device memory that is kept between batches.
/// The processor computes the first blocks and the tag; the device computes everything between. The processor does
/// not recompute tags.
///
/// Memory is wiped after each batch, except for transfer copies of first and last blocks that a driver of wgpu
/// makes. With CUDA, hashes of one pass and one lane allocate memory as they advance, if more of them are wanted
/// than fit as a whole.
pub struct Argon2 {
    pub(super) device: Device,
    pub(super) engine: Engine,
}

pub(super) enum Engine {
    #[cfg(feature = "cuda")]
    Cuda(cuda::Argon2),
    #[cfg(feature = "wgpu")]
    Wgpu(wgpu::Argon2),
}

impl Argon2 {
    pub(super) fn new(device: &Device, params: Params, most: usize) -> Result<Argon2, Error> {
        let engine = match &device.0 {
            #[cfg(feature = "cuda")]
            Inner::Cuda(device) => Engine::Cuda(cuda::Argon2::new(device, params, most)?),
            #[cfg(feature = "wgpu")]
            Inner::Wgpu(device) => Engine::Wgpu(wgpu::Argon2::new(device, params, most)?),
        };
        Ok(Argon2 { device: device.clone(), engine })
    }

    pub(super) fn tuned(device: &Device, params: Params, tuning: Tuning) -> Result<Argon2, Error> {
        let engine = match &device.0 {
            #[cfg(feature = "cuda")]
            Inner::Cuda(device) => Engine::Cuda(cuda::Argon2::tuned(device, params, tuning)?),
            #[cfg(feature = "wgpu")]
            Inner::Wgpu(device) => Engine::Wgpu(wgpu::Argon2::tuned(device, params, tuning)?),
        };
        Ok(Argon2 { device: device.clone(), engine })
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The parameters.
    pub fn params(&self) -> Params {
        dispatch!(&self.engine, Engine, argon2 => argon2.params)
    }

    /// The layout. [`Tuning::grow`] says whether hashes allocate memory as they advance.
    pub fn tuning(&self) -> Tuning {
        dispatch!(&self.engine, Engine, argon2 => argon2.tuning)
    }

    /// The number of hashes side by side.
    pub fn width(&self) -> usize {
        dispatch!(&self.engine, Engine, argon2 => argon2.width())
    }

    /// Bytes on the device.
    pub fn memory(&self) -> u64 {
        dispatch!(&self.engine, Engine, argon2 => argon2.memory())
    }

    /// The tags of all jobs, [`width`](Argon2::width) of them at a time.
    ///
    /// # Errors
    /// [`Error::Hash`] for the first job with a length out of range; errors of the device. Each tag is either
    /// complete or untouched.
    pub fn hash(&mut self, jobs: &mut [Job<'_>]) -> Result<(), Error> {
        dispatch!(&mut self.engine, Engine, argon2 => argon2.hash(jobs))
    }

    /// As [`hash`](Argon2::hash), but ends within [`BatchLimits::stop_latency`] when another thread sets `stop`.
    ///
    /// # Errors
    /// As for `hash`, and [`HashError::Stopped`](hashmill_hash::argon2::HashError::Stopped) as [`Error::Hash`].
    pub fn hash_until(&mut self, jobs: &mut [Job<'_>], stop: &Stop) -> Result<(), Error> {
        dispatch!(&mut self.engine, Engine, argon2 => argon2.hash_until(jobs, stop))
    }
}

impl BatchEngine for Argon2 {
    fn name(&self) -> &str {
        &self.device.info().name
    }

    fn limits(&self) -> BatchLimits {
        BatchLimits::new(self.width(), self.memory(), STOP_LATENCY)
    }

    fn hash(&mut self, jobs: &mut [Job<'_>], stop: &Stop) -> Result<usize, EngineError> {
        Ok(dispatch!(&mut self.engine, Engine, argon2 => argon2.hash_jobs(jobs, stop))?)
    }
}

impl fmt::Debug for Argon2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Argon2");
        out.field("device", &self.device).field("params", &self.params()).field("tuning", &self.tuning());
        out.finish_non_exhaustive()
    }
}
