//! What rows mean by wgpu.

use super::back_end::BackEnd;
use hashmill_gpu::wgpu::api::{self, Buffer};
use hashmill_gpu::wgpu::{Argon2, Blake3, Device, Nonces, Subtrees};
use hashmill_gpu::{Error, Info};
use hashmill_hash::argon2::pow::Pow;
use hashmill_hash::argon2::{Job, Params};
use hashmill_hash::blake3::Hash;
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::engine::{NonceEngine, SubtreeEngine};

pub(super) struct Wgpu;

/// Bytes that are handed to the driver together.
const PIECE: usize = 64 << 20;

/// What the driver copies is a multiple of.
const ALIGNED: usize = 4;

impl BackEnd for Wgpu {
    const NAME: &'static str = "wgpu";

    type Device = Device;
    type Blake3 = Blake3;
    type Buffer = Buffer;
    type Argon2 = Argon2;

    fn open() -> Result<Device, Error> {
        Device::best()
    }

    fn info(device: &Device) -> &Info {
        device.info()
    }

    fn blake3(device: &Device, mode: &Mode<'_>) -> Result<Blake3, Error> {
        Blake3::new(device, mode)
    }

    fn buffer(device: &Device, len: usize) -> Result<Buffer, Error> {
        // What is longer than any buffer counts as missing memory, too.
        if len as u64 > device.info().buffer {
            return Err(Error::OutOfMemory { bytes: len as u64 });
        }
        let usage = api::BufferUsages::STORAGE | api::BufferUsages::COPY_SRC | api::BufferUsages::COPY_DST;
        let size = len.next_multiple_of(16).max(16) as u64;
        let descriptor = api::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
        device.guarded(size, |raw, _| raw.create_buffer(&descriptor))
    }

    fn upload(device: &Device, buffer: &Buffer, bytes: &[u8]) -> Result<(), Error> {
        let (whole, rest) = bytes.split_at(bytes.len() / ALIGNED * ALIGNED);
        device.guarded(bytes.len() as u64, |_, queue| {
            for (number, piece) in whole.chunks(PIECE).enumerate() {
                queue.write_buffer(buffer, (number * PIECE) as u64, piece);
                queue.submit([]);
            }
            if !rest.is_empty() {
                let mut last = [0; ALIGNED];
                last[..rest.len()].copy_from_slice(rest);
                queue.write_buffer(buffer, whole.len() as u64, &last);
                queue.submit([]);
            }
        })?;
        let waited = device.raw().0.poll(api::PollType::wait_indefinitely());
        waited.map(drop).map_err(|error| Error::Driver { reason: error.to_string() })
    }

    fn hash(blake3: &Blake3, buffer: &Buffer, len: usize) -> Result<Hash, Error> {
        blake3.hash_buffer(buffer, 0, len as u64)
    }

    fn many(blake3: &Blake3, messages: &[&[u8]], out: &mut [Hash]) -> Result<(), Error> {
        blake3.hash_many(messages, out)
    }

    fn subtrees(device: &Device, tile: usize, in_flight: usize) -> Result<Box<dyn SubtreeEngine>, Error> {
        Ok(Box::new(Subtrees::new(device, &Mode::Hash, tile, in_flight)?))
    }

    fn argon2(device: &Device, params: Params, most: usize) -> Result<Argon2, Error> {
        Argon2::new(device, params, most)
    }

    fn tags(argon2: &mut Argon2, jobs: &mut [Job<'_>]) -> Result<(), Error> {
        argon2.hash(jobs)
    }

    fn nonces(device: &Device, pow: Pow, most: usize) -> Result<Box<dyn NonceEngine>, Error> {
        Ok(Box::new(Nonces::new(device, pow, most)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_driver_refuses_is_an_error() {
        let device = match Wgpu::open() {
            Ok(device) => device,
            Err(error) => {
                return hashmill_testkit::skip("buffers of wgpu that are refused", &error.to_string());
            }
        };
        let small = Wgpu::buffer(&device, 16).expect("a buffer");
        let error = Wgpu::upload(&device, &small, &[7; 64]).expect_err("it is too small");
        assert!(matches!(error, Error::Driver { .. }), "{error}");
        // More than fits the largest buffer, and more than there is of all.
        let larger = device.guarded(1, |raw, _| {
            let (size, usage) = (u64::MAX / 16 * 16, api::BufferUsages::STORAGE);
            raw.create_buffer(&api::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
        });
        larger.expect_err("nobody has so much");
        Wgpu::upload(&device, &small, &[7; 16]).expect("the device goes on");
    }
}
