//! Graphics devices of either back end.

mod argon2;
mod blake3;
mod buffer;
mod nonces;
#[cfg(test)]
mod tests;

pub use argon2::Argon2;
pub use blake3::{Blake3, Pending};
pub use buffer::Buffer;
pub use nonces::Nonces;

use crate::blake3::subtrees;
#[cfg(feature = "cuda")]
use crate::cuda::{self, Driver, Registered};
#[cfg(feature = "wgpu")]
use crate::wgpu;
use crate::{Error, Info, Selector, Tuning};
use hashmill_hash::argon2::pow::HitChecker;
use hashmill_hash::argon2::{Hasher, Input, Job, Params};
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::engine::SubtreeEngine;
use std::fmt;
use std::sync::Arc;

/// The interface through which a device is used.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum BackEnd {
    /// NVIDIA's driver.
    #[cfg(feature = "cuda")]
    Cuda,
    /// Vulkan, Metal or DirectX 12.
    #[cfg(feature = "wgpu")]
    Wgpu,
}

impl BackEnd {
    /// All back ends of this build, the faster one for the same device first.
    pub const ALL: &[BackEnd] = &[
        #[cfg(feature = "cuda")]
        BackEnd::Cuda,
        #[cfg(feature = "wgpu")]
        BackEnd::Wgpu,
    ];

    /// Its name on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            #[cfg(feature = "cuda")]
            BackEnd::Cuda => "cuda",
            #[cfg(feature = "wgpu")]
            BackEnd::Wgpu => "wgpu",
        }
    }

    /// Descriptions of its devices, by number.
    ///
    /// # Errors
    /// [`Error::NoDriver`] without NVIDIA's driver; errors of the driver.
    pub fn devices(self) -> Result<Vec<Info>, Error> {
        match self {
            #[cfg(feature = "cuda")]
            BackEnd::Cuda => Driver::load()?.devices(),
            #[cfg(feature = "wgpu")]
            BackEnd::Wgpu => Ok(wgpu::devices()),
        }
    }
}

impl fmt::Display for BackEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An open device. Clones are the same device; threads share it.
///
/// It tests every engine with known answers first, in the mode and with the kernels that the engine uses.
#[derive(Clone)]
pub struct Device(Inner);

#[derive(Clone)]
enum Inner {
    #[cfg(feature = "cuda")]
    Cuda(cuda::Device),
    #[cfg(feature = "wgpu")]
    Wgpu(wgpu::Device),
}

/// Evaluates an expression for the value of either back end.
macro_rules! dispatch {
    ($value:expr, $kind:ident, $inner:ident => $result:expr) => {
        match $value {
            #[cfg(feature = "cuda")]
            $kind::Cuda($inner) => $result,
            #[cfg(feature = "wgpu")]
            $kind::Wgpu($inner) => $result,
        }
    };
}
use dispatch;

impl Device {
    /// Opens a device.
    ///
    /// # Errors
    /// [`Error::NoDriver`]; those of [`Selector::choose`]; [`Error::Unfit`] if the device lacks a feature; errors of
    /// the driver.
    pub fn open(back_end: BackEnd, selector: Selector<'_>) -> Result<Device, Error> {
        match back_end {
            #[cfg(feature = "cuda")]
            BackEnd::Cuda => Device::open_by_driver(&Driver::load()?, selector),
            #[cfg(feature = "wgpu")]
            BackEnd::Wgpu => wgpu::Device::open(selector).map(|device| Device(Inner::Wgpu(device))),
        }
    }

    /// As [`open`](Device::open), by a CUDA driver that is loaded.
    ///
    /// # Errors
    /// As for `open`.
    #[cfg(feature = "cuda")]
    pub fn open_by_driver(driver: &Driver, selector: Selector<'_>) -> Result<Device, Error> {
        cuda::Device::open(driver, selector).map(|device| Device(Inner::Cuda(device)))
    }

    /// Wraps a device that the caller has opened, with the caller's own limits.
    ///
    /// # Errors
    /// [`Error::Unfit`].
    #[cfg(feature = "wgpu")]
    pub fn from_wgpu(device: wgpu::api::Device, queue: wgpu::api::Queue) -> Result<Device, Error> {
        wgpu::Device::from_parts(device, queue).map(|device| Device(Inner::Wgpu(device)))
    }

    /// The device and queue of wgpu, for callers that create buffers: `None` for another back end.
    #[cfg(feature = "wgpu")]
    pub fn as_wgpu(&self) -> Option<(&wgpu::api::Device, &wgpu::api::Queue)> {
        match &self.0 {
            Inner::Wgpu(device) => Some(device.raw()),
            #[cfg(feature = "cuda")]
            Inner::Cuda(_) => None,
        }
    }

    /// Its back end.
    pub fn back_end(&self) -> BackEnd {
        match &self.0 {
            #[cfg(feature = "cuda")]
            Inner::Cuda(_) => BackEnd::Cuda,
            #[cfg(feature = "wgpu")]
            Inner::Wgpu(_) => BackEnd::Wgpu,
        }
    }

    /// The description of the device.
    pub fn info(&self) -> &Info {
        dispatch!(&self.0, Inner, device => device.info())
    }

    /// Bytes of its memory that are free at this moment, if the driver reports them.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn free_memory(&self) -> Result<Option<u64>, Error> {
        match &self.0 {
            #[cfg(feature = "cuda")]
            Inner::Cuda(device) => device.free_memory().map(Some),
            #[cfg(feature = "wgpu")]
            Inner::Wgpu(_) => Ok(None),
        }
    }

    /// Allocates `bytes` bytes with unspecified contents.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; errors of the driver.
    pub fn buffer(&self, bytes: u64) -> Result<Buffer, Error> {
        Buffer::new(self, bytes)
    }

    /// Registers bytes with the driver while `with` runs: the device then fetches them directly, without a copy
    /// by the host. Registration locks their pages in memory and takes time for each page. It pays if the same
    /// bytes are hashed again, or a buffer is reused.
    ///
    /// # Errors
    /// [`Error::Unfit`] unless the back end is CUDA. Errors of the driver: for example, the bytes are registered
    /// already, or belong to a read-only file mapping.
    #[cfg(feature = "cuda")]
    pub fn registered<T>(&self, bytes: &[u8], with: impl FnOnce(&Registered<'_>) -> T) -> Result<T, Error> {
        self.as_cuda()?.registered(bytes, with)
    }

    /// The device of CUDA, for operations that only NVIDIA's driver has.
    #[cfg(feature = "cuda")]
    fn as_cuda(&self) -> Result<&cuda::Device, Error> {
        match &self.0 {
            Inner::Cuda(device) => Ok(device),
            #[cfg(feature = "wgpu")]
            Inner::Wgpu(_) => Err(self.lacks_cuda()),
        }
    }

    /// The error if an operation of NVIDIA's driver is requested from another back end.
    #[cfg(all(feature = "cuda", feature = "wgpu"))]
    fn lacks_cuda(&self) -> Error {
        Error::Unfit { device: self.info().name.clone(), lacks: "NVIDIA's driver".to_owned() }
    }

    /// BLAKE3 in this mode. Compiles the kernels if necessary, and tests the device with known digests.
    ///
    /// # Errors
    /// [`Error::SelfTest`]; errors of the driver.
    pub fn blake3(&self, mode: &Mode<'_>) -> Result<Blake3, Error> {
        Blake3::new(self, mode)
    }

    /// An engine for subtrees in this mode, with memory for `in_flight` tiles of at most `tile` bytes, and as much
    /// again for tiles that are computed in place. Tests the device with known values.
    ///
    /// CUDA fetches tiles in the engine's own staging memory directly; all others are copied. The engine belongs
    /// to the process that created it: in a forked child it returns an error.
    ///
    /// # Errors
    /// [`Error::Engine`] for no tiles or too many, and for tiles that are no power of two of chunks or larger than
    /// the device can bind; [`Error::OutOfMemory`]; [`Error::SelfTest`]; errors of the driver.
    pub fn subtrees(
        &self,
        mode: &Mode<'_>,
        tile: usize,
        in_flight: usize,
    ) -> Result<Arc<dyn SubtreeEngine>, Error> {
        subtrees::check(tile, in_flight, self.info().binding)?;
        match &self.0 {
            #[cfg(feature = "cuda")]
            Inner::Cuda(device) => cuda::subtrees(device, mode, tile, in_flight),
            #[cfg(feature = "wgpu")]
            Inner::Wgpu(device) => wgpu::subtrees(device, mode, tile, in_flight),
        }
    }

    /// Argon2 with fixed parameters, for at most `most` hashes side by side, and at least one: as many as the
    /// device has memory for, but no more than increase its speed; see [`Argon2::width`]. Tests the device with known
    /// tags.
    ///
    /// # Errors
    /// [`Error::Unfit`] if a hash exceeds what kernels of the device can address; [`Error::OutOfMemory`] if not
    /// even one hash fits; [`Error::SelfTest`]; errors of the driver.
    pub fn argon2(&self, params: Params, most: usize) -> Result<Argon2, Error> {
        Argon2::new(self, params, most)
    }

    /// As [`argon2`](Device::argon2), with this layout as far as memory allows.
    ///
    /// # Errors
    /// As for `argon2`.
    pub fn argon2_tuned(&self, params: Params, tuning: Tuning) -> Result<Argon2, Error> {
        Argon2::tuned(self, params, tuning)
    }

    /// A nonce search by the function of `checker`, with at most `most` nonces at a time, tested with known
    /// digests. The checker recomputes the hits: one is enough for all engines of a machine that search by the
    /// same function. A search allocates no memory.
    ///
    /// # Errors
    /// As for [`argon2`](Device::argon2).
    pub fn nonces(&self, checker: Arc<HitChecker>, most: usize) -> Result<Nonces, Error> {
        Nonces::new(self, checker, most)
    }

    /// As [`nonces`](Device::nonces), with this layout as far as memory allows.
    ///
    /// # Errors
    /// As for `nonces`.
    pub fn nonces_tuned(&self, checker: Arc<HitChecker>, tuning: Tuning) -> Result<Nonces, Error> {
        Nonces::tuned(self, checker, tuning)
    }

    /// Candidate layouts of Argon2 with these parameters: that of [`argon2`](Device::argon2), and others that may
    /// be faster on this device.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn tunings(&self, params: Params) -> Result<Vec<Tuning>, Error> {
        match &self.0 {
            #[cfg(feature = "cuda")]
            Inner::Cuda(device) => device.tunings(params),
            #[cfg(feature = "wgpu")]
            Inner::Wgpu(device) => Ok(device.tunings(params)),
        }
    }

    /// Tests BLAKE3, and Argon2 by every kernel that hashes of these parameters may use: the tests that engines
    /// pass when they are created, and two hashes with these parameters. For a device that has failed.
    ///
    /// # Errors
    /// As for [`blake3`](Device::blake3) and [`argon2`](Device::argon2).
    pub fn self_test(&self, params: Params) -> Result<(), Error> {
        self.blake3(&Mode::Hash)?;
        let mut argon2 = self.argon2(params, 2)?;
        let input = Input::new(b"a password", b"a salt of hashmill");
        let (mut tags, mut right) = ([[0; 32]; 2], [0; 32]);
        Hasher::new(params).hash_into(&input, &mut right)?;
        argon2.hash(&mut tags.iter_mut().map(|tag| Job { input, tag }).collect::<Vec<_>>())?;
        if tags == [right; 2] { Ok(()) } else { Err(Error::SelfTest { device: self.info().name.clone() }) }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Device").field(self.info()).finish()
    }
}
