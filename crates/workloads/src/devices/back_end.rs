//! What rows ask of a back end.

use hashmill_gpu::{Error, Info};
use hashmill_hash::argon2::pow::Pow;
use hashmill_hash::argon2::{Job, Params};
use hashmill_hash::blake3::Hash;
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::engine::{NonceEngine, SubtreeEngine};

/// The same of every back end, under its names.
pub(super) trait BackEnd: 'static {
    /// As on command lines.
    const NAME: &'static str;

    type Device: 'static;
    type Blake3: 'static;
    type Buffer: 'static;
    type Argon2: 'static;

    /// The best device.
    fn open() -> Result<Self::Device, Error>;
    fn info(device: &Self::Device) -> &Info;

    fn blake3(device: &Self::Device, mode: &Mode<'_>) -> Result<Self::Blake3, Error>;
    /// A buffer for so many bytes.
    fn buffer(device: &Self::Device, len: usize) -> Result<Self::Buffer, Error>;
    /// Fills it from its beginning. All bytes are there afterwards.
    fn upload(device: &Self::Device, buffer: &Self::Buffer, bytes: &[u8]) -> Result<(), Error>;
    fn hash(blake3: &Self::Blake3, buffer: &Self::Buffer, len: usize) -> Result<Hash, Error>;
    fn many(blake3: &Self::Blake3, messages: &[&[u8]], out: &mut [Hash]) -> Result<(), Error>;
    fn subtrees(
        device: &Self::Device,
        tile: usize,
        in_flight: usize,
    ) -> Result<Box<dyn SubtreeEngine>, Error>;

    fn argon2(device: &Self::Device, params: Params, most: usize) -> Result<Self::Argon2, Error>;
    fn tags(argon2: &mut Self::Argon2, jobs: &mut [Job<'_>]) -> Result<(), Error>;
    fn nonces(device: &Self::Device, pow: Pow, most: usize) -> Result<Box<dyn NonceEngine>, Error>;
}

/// A device in the words of reports: its name, and what speaks to it.
pub(super) fn words(info: &Info) -> String {
    format!("{}, {}, {}", info.name, info.interface, info.driver)
}
