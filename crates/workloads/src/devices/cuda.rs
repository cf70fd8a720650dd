//! What rows mean by NVIDIA's driver.

use super::back_end::BackEnd;
use hashmill_gpu::cuda::{Argon2, Blake3, Buffer, Device, Nonces, Subtrees};
use hashmill_gpu::{Error, Info};
use hashmill_hash::argon2::pow::Pow;
use hashmill_hash::argon2::{Job, Params};
use hashmill_hash::blake3::Hash;
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::engine::{NonceEngine, SubtreeEngine};

pub(super) struct Cuda;

impl BackEnd for Cuda {
    const NAME: &'static str = "cuda";

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
        device.buffer(len as u64)
    }

    fn upload(_: &Device, buffer: &Buffer, bytes: &[u8]) -> Result<(), Error> {
        buffer.write(0, bytes)
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
