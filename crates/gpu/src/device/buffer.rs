//! Memory on a device.

use super::{Device, Inner, dispatch};
use crate::Error;
#[cfg(feature = "cuda")]
use crate::cuda;
#[cfg(feature = "wgpu")]
use crate::wgpu;
use std::fmt;

/// Memory on a device. Clones are the same memory.
#[derive(Clone)]
pub struct Buffer(pub(super) Memory);

#[derive(Clone)]
pub(super) enum Memory {
    #[cfg(feature = "cuda")]
    Cuda(cuda::Buffer),
    #[cfg(feature = "wgpu")]
    Wgpu(wgpu::Buffer),
}

impl Buffer {
    pub(super) fn new(device: &Device, bytes: u64) -> Result<Buffer, Error> {
        match &device.0 {
            #[cfg(feature = "cuda")]
            Inner::Cuda(device) => Ok(Buffer(Memory::Cuda(device.buffer(bytes)?))),
            #[cfg(feature = "wgpu")]
            Inner::Wgpu(device) => Ok(Buffer(Memory::Wgpu(device.buffer(bytes)?))),
        }
    }

    /// Wraps a buffer that the caller has created on this device.
    ///
    /// # Errors
    /// [`Error::Unfit`] if the device is not one of wgpu.
    #[cfg(feature = "wgpu")]
    pub fn from_wgpu(device: &Device, buffer: wgpu::api::Buffer) -> Result<Buffer, Error> {
        match &device.0 {
            Inner::Wgpu(device) => Ok(Buffer(Memory::Wgpu(wgpu::Buffer::from_raw(device, buffer)))),
            #[cfg(feature = "cuda")]
            Inner::Cuda(device) => {
                Err(Error::Unfit { device: device.info().name.clone(), lacks: "buffers of wgpu".to_owned() })
            }
        }
    }

    /// The buffer of wgpu: `None` for another back end.
    #[cfg(feature = "wgpu")]
    pub fn as_wgpu(&self) -> Option<&wgpu::api::Buffer> {
        match &self.0 {
            Memory::Wgpu(buffer) => Some(buffer.raw()),
            #[cfg(feature = "cuda")]
            Memory::Cuda(_) => None,
        }
    }

    /// Its address on a device of CUDA, for other kernels and libraries: `None` for another back end.
    #[cfg(feature = "cuda")]
    pub fn cuda_address(&self) -> Option<u64> {
        match &self.0 {
            Memory::Cuda(buffer) => Some(buffer.pointer()),
            #[cfg(feature = "wgpu")]
            Memory::Wgpu(_) => None,
        }
    }

    /// The length in bytes.
    pub fn len(&self) -> u64 {
        dispatch!(&self.0, Memory, buffer => buffer.len())
    }

    /// Is it empty?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies these bytes into it, from the offset `at` on, and waits for the copy. With wgpu they must begin and end
    /// at a multiple of four, or at the end of the buffer.
    ///
    /// # Errors
    /// [`Error::Buffer`] if they do not fit; errors of the driver.
    pub fn write(&self, at: u64, bytes: &[u8]) -> Result<(), Error> {
        dispatch!(&self.0, Memory, buffer => buffer.write(at, bytes))
    }

    /// Copies its contents from the offset `at` on, and waits for the copy.
    ///
    /// # Errors
    /// [`Error::Buffer`] if it has fewer bytes; errors of the driver.
    pub fn read(&self, at: u64, bytes: &mut [u8]) -> Result<(), Error> {
        dispatch!(&self.0, Memory, buffer => buffer.read(at, bytes))
    }
}

#[cfg(feature = "cuda")]
impl Device {
    /// `bytes` bytes of memory on this device that other code has allocated: CUDA's runtime, another library. It
    /// is not freed.
    ///
    /// # Errors
    /// [`Error::Buffer`] if the driver knows no such memory of this device, or it is shorter; [`Error::Unfit`]
    /// unless the back end is CUDA; errors of the driver.
    ///
    /// # Safety
    /// The memory lives and is not written until every value that refers to it is dropped: clones of the
    /// buffer, and digests in flight.
    #[allow(unsafe_code, reason = "memory of another library, by its address")]
    pub unsafe fn borrow(&self, address: u64, bytes: u64) -> Result<Buffer, Error> {
        // SAFETY: as promised.
        let buffer = unsafe { self.as_cuda()?.borrow(address, bytes) }?;
        Ok(Buffer(Memory::Cuda(buffer)))
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.len())
    }
}
