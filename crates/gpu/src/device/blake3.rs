//! BLAKE3 on a device.

use super::buffer::Memory;
use super::{Buffer, Device, Inner, dispatch};
use crate::Error;
use crate::blake3::{self, DeviceResult, Params, root_children};
#[cfg(feature = "cuda")]
use crate::cuda::{self, Registered};
#[cfg(feature = "wgpu")]
use crate::wgpu;
use hashmill_hash::blake3::hazmat::{ChainingValue, Mode, merge_subtrees_root, merge_subtrees_root_xof};
use hashmill_hash::blake3::{CHUNK_LEN, Hash, Hasher, OutputReader};
use hashmill_hash::engine::Stop;
use std::fmt;
use std::time::Duration;

/// BLAKE3 in one mode, on one device. Threads share it.
///
/// With CUDA a key goes to the device with each kernel launch and is not stored there. With wgpu it stays in the
/// device's memory until this is dropped.
pub struct Blake3 {
    device: Device,
    engine: Engine,
}

enum Engine {
    #[cfg(feature = "cuda")]
    Cuda(cuda::Blake3),
    #[cfg(feature = "wgpu")]
    Wgpu(wgpu::Blake3),
}

impl Blake3 {
    pub(super) fn new(device: &Device, mode: &Mode<'_>) -> Result<Blake3, Error> {
        let params = Params::new(mode)?;
        let engine = match &device.0 {
            #[cfg(feature = "cuda")]
            Inner::Cuda(device) => Engine::Cuda(cuda::Blake3::new(device, params)),
            #[cfg(feature = "wgpu")]
            Inner::Wgpu(device) => Engine::Wgpu(wgpu::Blake3::new(device, params)?),
        };
        let blake3 = Blake3 { device: device.clone(), engine };
        let tree = |bytes: &[u8]| {
            let buffer = device.buffer(bytes.len() as u64)?;
            buffer.write(0, bytes)?;
            blake3.hash_buffer(&buffer, 0, bytes.len() as u64)
        };
        let many = |messages: &[&[u8]], digests: &mut [Hash]| blake3.hash_many(messages, digests);
        blake3::self_test(&device.info().name, mode, many, tree)?;
        Ok(blake3)
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    fn mode(&self) -> Mode<'_> {
        dispatch!(&self.engine, Engine, blake3 => blake3.params().mode())
    }

    /// The digest of `len` bytes of a buffer, from `offset` on.
    ///
    /// The bytes must be complete: a caller that writes them in its own stream waits for that stream first. With
    /// CUDA their address is a multiple of 16. With wgpu `offset` is a multiple of 256; a buffer of the caller has
    /// the usages `STORAGE` and `COPY_SRC` and extends to the next multiple of 16 behind the last byte.
    ///
    /// # Errors
    /// [`Error::Buffer`]; errors of the device.
    pub fn hash_buffer(&self, buffer: &Buffer, offset: u64, len: u64) -> Result<Hash, Error> {
        self.start(buffer, offset, len)?.finish()
    }

    /// As [`hash_buffer`](Blake3::hash_buffer), without waiting: several inputs may be in flight at the same
    /// time.
    ///
    /// # Errors
    /// As for `hash_buffer`.
    pub fn start(&self, buffer: &Buffer, offset: u64, len: u64) -> Result<Pending<'_>, Error> {
        let work = match (&self.engine, &buffer.0) {
            #[cfg(feature = "cuda")]
            (Engine::Cuda(blake3), Memory::Cuda(buffer)) => Work::Cuda(blake3.start(buffer, offset, len)?),
            #[cfg(feature = "wgpu")]
            (Engine::Wgpu(blake3), Memory::Wgpu(buffer)) => Work::Wgpu(blake3.start(buffer, offset, len)?),
            #[cfg(all(feature = "cuda", feature = "wgpu"))]
            _ => return Err(blake3::buffer_error("it is another device's".to_owned())),
        };
        Ok(Pending { blake3: self, work })
    }

    /// The digest of bytes in the memory of the host. The device hashes pieces while others are copied.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn hash_bytes(&self, bytes: &[u8]) -> Result<Hash, Error> {
        static NEVER: Stop = Stop::new();
        self.hash_bytes_until(bytes, &NEVER)
    }

    /// As [`hash_bytes`](Blake3::hash_bytes), but ends early when another thread sets `stop`.
    ///
    /// # Errors
    /// As for `hash_bytes`, and [`HashError::Stopped`](hashmill_hash::argon2::HashError::Stopped) as
    /// [`Error::Hash`].
    pub fn hash_bytes_until(&self, bytes: &[u8], stop: &Stop) -> Result<Hash, Error> {
        self.hash_pieces(bytes, || dispatch!(&self.engine, Engine, blake3 => blake3.pieces(bytes, stop)))
    }

    /// The digest of registered bytes: the device fetches them in place, with several pieces in flight. One
    /// thread suffices. Ends early when another thread sets `stop`.
    ///
    /// # Errors
    /// [`Error::Unfit`] unless the back end is CUDA; errors of the device, and
    /// [`HashError::Stopped`](hashmill_hash::argon2::HashError::Stopped) as [`Error::Hash`].
    #[cfg(feature = "cuda")]
    pub fn hash_registered(&self, bytes: &Registered<'_>, stop: &Stop) -> Result<Hash, Error> {
        match &self.engine {
            Engine::Cuda(blake3) => self.hash_pieces(bytes.bytes(), || blake3.registered_pieces(bytes, stop)),
            #[cfg(feature = "wgpu")]
            Engine::Wgpu(_) => Err(self.device.lacks_cuda()),
        }
    }

    /// The digest of these bytes, from the values of their pieces if they are more than a chunk.
    fn hash_pieces(
        &self,
        bytes: &[u8],
        pieces: impl FnOnce() -> Result<Vec<ChainingValue>, Error>,
    ) -> Result<Hash, Error> {
        let mode = self.mode();
        if bytes.len() <= CHUNK_LEN {
            return Ok(Hasher::with_mode(&mode).update(bytes).finalize());
        }
        let [left, right] = root_children(pieces()?, mode);
        Ok(merge_subtrees_root(&left, &right, mode))
    }

    /// The digests of many messages: `out[i]` is that of `messages[i]`. Suited to short messages in the
    /// memory of the host; the processor merges the chunks of longer ones.
    ///
    /// # Errors
    /// Errors of the device. The contents of `out` are unspecified then.
    ///
    /// # Panics
    /// If `out` and `messages` differ in length.
    pub fn hash_many(&self, messages: &[&[u8]], out: &mut [Hash]) -> Result<(), Error> {
        assert_eq!(messages.len(), out.len(), "one digest for each message");
        dispatch!(&self.engine, Engine, blake3 => blake3.hash_many(messages, out))
    }
}

impl fmt::Debug for Blake3 {
    /// Omits the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Blake3");
        out.field("device", &self.device).field("mode", &self.mode()).finish_non_exhaustive()
    }
}

/// An input whose digest is being computed. Dropping it discards the digest.
#[must_use = "dropping it discards the digest"]
pub struct Pending<'a> {
    blake3: &'a Blake3,
    work: Work<'a>,
}

enum Work<'a> {
    #[cfg(feature = "cuda")]
    Cuda(cuda::Pending<'a>),
    #[cfg(feature = "wgpu")]
    Wgpu(wgpu::Pending<'a>),
}

impl Pending<'_> {
    /// Waits for the digest.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn finish(self) -> Result<Hash, Error> {
        let mode = self.blake3.mode();
        Ok(match self.fetch()? {
            DeviceResult::Chunk(bytes) => Hasher::with_mode(&mode).update(&bytes).finalize(),
            DeviceResult::Values(values) => {
                let [left, right] = root_children(values, mode);
                merge_subtrees_root(&left, &right, mode)
            }
        })
    }

    /// Waits for the extended output.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn finish_xof(self) -> Result<OutputReader, Error> {
        let mode = self.blake3.mode();
        Ok(match self.fetch()? {
            DeviceResult::Chunk(bytes) => Hasher::with_mode(&mode).update(&bytes).finalize_xof(),
            DeviceResult::Values(values) => {
                let [left, right] = root_children(values, mode);
                merge_subtrees_root_xof(&left, &right, mode)
            }
        })
    }

    /// Is the digest complete? Waits for at most `timeout`.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn is_complete(&self, timeout: Duration) -> Result<bool, Error> {
        dispatch!(&self.work, Work, pending => pending.is_complete(timeout))
    }

    fn fetch(self) -> Result<DeviceResult, Error> {
        dispatch!(self.work, Work, pending => pending.fetch())
    }
}

impl fmt::Debug for Pending<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("blake3", self.blake3).finish_non_exhaustive()
    }
}
