//! Start and end of a hash: from the inputs to the first blocks, and from the last blocks to the tag.

use crate::argon2::error::HashError;
use crate::argon2::kernel::blake2b::{Blake2b, MAX_OUT_LEN};
use crate::argon2::kernel::{Kernel, MAX_CHAINS, Seed};
use crate::argon2::memory::{self, Block, Matrix};
use crate::argon2::params::Params;
use zeroize::Zeroize;

/// The inputs of a hash besides its parameters. Only the password is always secret.
#[derive(Clone, Copy, Default)]
#[non_exhaustive]
pub struct Input<'a> {
    /// The password, or for key derivation the secret to stretch.
    pub password: &'a [u8],
    /// Sixteen random bytes are recommended; any length is computed.
    pub salt: &'a [u8],
    /// A key that is stored apart from the hashes ("pepper"). Usually empty.
    pub secret: &'a [u8],
    /// Any data that the hash should be bound to. Usually empty.
    pub associated_data: &'a [u8],
}

impl<'a> Input<'a> {
    /// A password and its salt.
    pub const fn new(password: &'a [u8], salt: &'a [u8]) -> Input<'a> {
        Input { password, salt, secret: &[], associated_data: &[] }
    }

    /// The same input with a key that is stored apart from the hashes ("pepper").
    pub const fn with_secret(self, secret: &'a [u8]) -> Input<'a> {
        Input { secret, ..self }
    }

    /// The same input, bound to other data, too.
    pub const fn with_associated_data(self, associated_data: &'a [u8]) -> Input<'a> {
        Input { associated_data, ..self }
    }

    fn check(&self) -> Result<(), HashError> {
        let fields = [
            ("password", self.password),
            ("salt", self.salt),
            ("secret", self.secret),
            ("associated data", self.associated_data),
        ];
        for (what, bytes) in fields {
            if bytes.len() as u64 > Params::MAX_LEN {
                return Err(HashError::InputTooLong { what, len: bytes.len() as u64 });
            }
        }
        Ok(())
    }
}

/// Omits the contents, which are secret.
impl core::fmt::Debug for Input<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Input").finish_non_exhaustive()
    }
}

/// Checks lengths; all other functions here rely on that.
pub(in crate::argon2) fn check(input: &Input<'_>, tag_len: usize) -> Result<(), HashError> {
    if tag_len < Params::MIN_TAG_LEN || tag_len as u64 > Params::MAX_LEN {
        return Err(HashError::TagLen { given: tag_len as u64 });
    }
    input.check()
}

/// Fills the first two blocks of every lane.
pub(in crate::argon2) fn begin(
    kernel: Kernel,
    params: Params,
    input: &Input<'_>,
    tag_len: usize,
    matrix: &mut Matrix<'_>,
) {
    let version = params.version().number();
    first_blocks(kernel, params, version, input, tag_len, |lane, index, block| {
        matrix.set(lane, index, block);
    });
}

/// Passes the first two blocks of every lane to `set`, with the numbers of lane and block. `version` is the
/// version number that is hashed.
pub(in crate::argon2) fn first_blocks(
    kernel: Kernel,
    params: Params,
    version: u32,
    input: &Input<'_>,
    tag_len: usize,
    mut set: impl FnMut(u32, u32, &Block),
) {
    let mut digest = digest_of_inputs(params, version, input, tag_len);
    let mut seeds = [Seed::default(); MAX_CHAINS];
    let mut blocks = [Block::ZERO; MAX_CHAINS];
    // The two blocks of a lane are adjacent.
    let end = 2 * u64::from(params.lanes());
    let mut done = 0;
    while done < end {
        let left = (end - done).min(MAX_CHAINS as u64) as usize;
        for (seed, number) in seeds[..left].iter_mut().zip(done..) {
            *seed = seed_of(&digest, (number % 2) as u32, (number / 2) as u32);
        }
        let count = kernel.hash_long(&seeds[..left], &mut blocks);
        for (block, number) in blocks[..count].iter().zip(done..) {
            set((number / 2) as u32, (number % 2) as u32, block);
        }
        done += count as u64;
    }
    digest.zeroize();
    seeds.zeroize();
    memory::wipe(&mut blocks);
}

/// The message whose long hash H' is a block: the length of a block, H0, and the numbers of block and lane.
fn seed_of(digest: &[u8; 64], index: u32, lane: u32) -> Seed {
    let mut bytes = [0; 80];
    bytes[..4].copy_from_slice(&1024u32.to_le_bytes());
    bytes[4..68].copy_from_slice(digest);
    bytes[68..72].copy_from_slice(&index.to_le_bytes());
    bytes[72..76].copy_from_slice(&lane.to_le_bytes());
    let mut seed = Seed::default();
    for (word, bytes) in seed.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    bytes.zeroize();
    seed
}

/// The tag of a filled matrix.
pub(in crate::argon2) fn finish(kernel: Kernel, matrix: &mut Matrix<'_>, tag: &mut [u8]) {
    let mut sum = matrix.last_blocks();
    let mut words = kernel.words(&sum);
    tag_of(&words, tag);
    memory::wipe(core::slice::from_mut(&mut sum));
    words.zeroize();
}

/// The tag of the sum of the last blocks, whose words are in the order of the standard.
pub(in crate::argon2) fn tag_of(sum: &[u64; 128], tag: &mut [u8]) {
    let mut bytes = [0; 1024];
    for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(sum) {
        *bytes = word.to_le_bytes();
    }
    hash_long(&bytes, tag);
    bytes.zeroize();
}

/// H0.
fn digest_of_inputs(params: Params, version: u32, input: &Input<'_>, tag_len: usize) -> [u8; 64] {
    let mut hasher = Blake2b::new(MAX_OUT_LEN);
    let costs = [
        params.lanes(),
        tag_len as u32,
        params.memory_kib(),
        params.passes(),
        version,
        params.variant().number(),
    ];
    for number in costs {
        hasher.update(&number.to_le_bytes());
    }
    for bytes in [input.password, input.salt, input.secret, input.associated_data] {
        hasher.update(&(bytes.len() as u32).to_le_bytes()).update(bytes);
    }
    let mut digest = [0; 64];
    hasher.finalize(&mut digest);
    digest
}

/// H': BLAKE2b with output of any length, which is part of the input. Beyond 64 bytes it is a chain that
/// outputs half of each digest.
fn hash_long(input: &[u8], out: &mut [u8]) {
    let len = (out.len() as u32).to_le_bytes();
    if out.len() <= 64 {
        return blake2b(&[&len, input], out);
    }
    let mut digest = [0; 64];
    blake2b(&[&len, input], &mut digest);
    let mut rest = out;
    loop {
        let (half, tail) = rest.split_at_mut(32);
        half.copy_from_slice(&digest[..32]);
        rest = tail;
        if rest.len() <= 64 {
            blake2b(&[&digest], rest);
            break;
        }
        let before = digest;
        blake2b(&[&before], &mut digest);
    }
    digest.zeroize();
}

fn blake2b(parts: &[&[u8]], out: &mut [u8]) {
    let mut hasher = Blake2b::new(out.len());
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize(out);
}
