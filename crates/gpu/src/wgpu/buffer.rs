//! Memory on a device of wgpu, with copies from and to the host.

use super::Device;
use super::scratch::{Readback, buffer};
use crate::Error;
use crate::blake3::{buffer_error, check_range};
use ::wgpu::{BufferUsages, PollType};

/// Bytes of one copy: the driver allocates host memory of this size.
const COPY_BYTES: usize = 64 << 20;

/// Copies begin and end at multiples of this number of bytes.
const WORD_BYTES: u64 = 4;

/// Kernels read this number of bytes at a time.
const GROUP_BYTES: u64 = 16;

/// Memory on a device. Clones are the same memory.
#[derive(Clone)]
pub(crate) struct Buffer {
    raw: ::wgpu::Buffer,
    len: u64,
    device: Device,
}

impl Device {
    /// Allocates `bytes` bytes, all of them zero.
    pub(crate) fn buffer(&self, bytes: u64) -> Result<Buffer, Error> {
        let size = bytes.max(1).checked_next_multiple_of(GROUP_BYTES);
        let size = size.filter(|size| *size <= self.info().buffer).ok_or(Error::OutOfMemory { bytes })?;
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        let raw = self.guarded(size, |device, _| buffer(device, size, usage))?;
        Ok(Buffer { raw, len: bytes, device: self.clone() })
    }
}

impl Buffer {
    /// Wraps a buffer that the caller has created on this device.
    pub(crate) fn from_raw(device: &Device, raw: ::wgpu::Buffer) -> Buffer {
        Buffer { len: raw.size(), raw, device: device.clone() }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The buffer of wgpu.
    pub(crate) fn raw(&self) -> &::wgpu::Buffer {
        &self.raw
    }

    /// Is it in the memory of this device?
    pub(super) fn belongs_to(&self, device: &Device) -> bool {
        self.device.is_same(device)
    }

    /// Copies these bytes into it, from `at` on, and waits for the copy. They must begin and end at a multiple of
    /// four, or at the end of the buffer.
    pub(crate) fn write(&self, at: u64, bytes: &[u8]) -> Result<(), Error> {
        let len = bytes.len() as u64;
        check_range(at, len, self.len)?;
        if !at.is_multiple_of(WORD_BYTES) || !(len.is_multiple_of(WORD_BYTES) || at + len == self.len) {
            return Err(buffer_error(format!(
                "{len} bytes from {at} on are no whole words of {WORD_BYTES} bytes"
            )));
        }
        let (whole, rest) = bytes.split_at((len / WORD_BYTES * WORD_BYTES) as usize);
        self.device.guarded(len, |_, queue| {
            for (number, piece) in whole.chunks(COPY_BYTES).enumerate() {
                queue.write_buffer(&self.raw, at + (number * COPY_BYTES) as u64, piece);
                queue.submit([]);
            }
            if !rest.is_empty() {
                let mut word = [0; WORD_BYTES as usize];
                word[..rest.len()].copy_from_slice(rest);
                queue.write_buffer(&self.raw, at + whole.len() as u64, &word);
                queue.submit([]);
            }
        })?;
        let waited = self.device.raw().0.poll(PollType::wait_indefinitely());
        waited.map(drop).map_err(|error| Error::Driver { reason: error.to_string() })
    }

    /// Copies its contents from `at` on, and waits for the copy.
    pub(crate) fn read(&self, at: u64, bytes: &mut [u8]) -> Result<(), Error> {
        check_range(at, bytes.len() as u64, self.len)?;
        for (number, piece) in bytes.chunks_mut(COPY_BYTES).enumerate() {
            let from = at + (number * COPY_BYTES) as u64;
            let start = from / WORD_BYTES * WORD_BYTES;
            let size = (from + piece.len() as u64).next_multiple_of(WORD_BYTES) - start;
            let (back, readback) = self.device.guarded(size, |device, queue| {
                let back = buffer(device, size, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
                let mut encoder = device.create_command_encoder(&::wgpu::CommandEncoderDescriptor::default());
                encoder.copy_buffer_to_buffer(&self.raw, start, &back, 0, size);
                let readback = Readback::begin(queue, encoder, &back, size);
                (back, readback)
            })?;
            let device = self.device.raw().0;
            readback.wait(device)?;
            let first = (from - start) as usize;
            readback.read(device, &back, |copied| piece.copy_from_slice(&copied[first..][..piece.len()]))?;
        }
        Ok(())
    }
}
