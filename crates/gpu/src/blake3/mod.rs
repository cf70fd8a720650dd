//! Device-independent part of BLAKE3: kernel parameters, batches of short messages, nodes near the root. No device
//! calls here.

pub(crate) mod input_split;
pub(crate) mod subtrees;

use crate::Error;
use hashmill_hash::blake3::hazmat::{self, ChainingValue, Mode};
use hashmill_hash::blake3::{CHUNK_LEN, Hash, Hasher};
use input_split::chunks;
use zeroize::Zeroizing;

/// Bytes of a chaining value.
pub(crate) const VALUE_BYTES: u64 = 32;

const CHUNK_END: u32 = 2;
const ROOT: u32 = 8;
const KEYED_HASH: u32 = 16;
const DERIVE_KEY_MATERIAL: u32 = 64;

const IV: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// Key and flag of a mode.
#[derive(Clone)]
pub(crate) struct Params {
    key: Zeroizing<[u8; 32]>,
    flags: u32,
}

impl Params {
    pub(crate) const LEN: usize = 64;

    pub(crate) fn new(mode: &Mode<'_>) -> Result<Params, Error> {
        let (key, flags) = match *mode {
            Mode::Hash => {
                let mut key = [0; 32];
                key.as_chunks_mut()
                    .0
                    .iter_mut()
                    .zip(IV)
                    .for_each(|(bytes, word)| *bytes = word.to_le_bytes());
                (key, 0)
            }
            Mode::KeyedHash(key) => (*key, KEYED_HASH),
            Mode::DeriveKeyMaterial(key) => (*key, DERIVE_KEY_MATERIAL),
            _ => return Err(Error::Buffer { reason: format!("the mode {mode:?} is not known here") }),
        };
        Ok(Params { key: Zeroizing::new(key), flags })
    }

    /// As `Params` in the kernels, with these numbers: first chunk, chunks, bytes of the last chunk, chunks
    /// of a tile, values of a row, first row.
    pub(crate) fn bytes(&self, numbers: [u64; 6]) -> Zeroizing<[u8; Params::LEN]> {
        let [counter, chunks, tail, tile, row, first] = numbers;
        let words = [counter as u32, (counter >> 32) as u32, chunks as u32, tail as u32, self.flags];
        let words = words.into_iter().chain([tile, row, first].map(|number| number as u32));
        let mut bytes = Zeroizing::new([0; Params::LEN]);
        let (key, rest) = bytes.split_at_mut(32);
        key.copy_from_slice(&*self.key);
        rest.as_chunks_mut().0.iter_mut().zip(words).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
        bytes
    }

    /// Is the key a secret?
    #[cfg(feature = "wgpu")]
    pub(crate) fn is_secret(&self) -> bool {
        self.flags != 0
    }

    pub(crate) fn mode(&self) -> Mode<'_> {
        match self.flags {
            KEYED_HASH => Mode::KeyedHash(&self.key),
            DERIVE_KEY_MATERIAL => Mode::DeriveKeyMaterial(&self.key),
            _ => Mode::Hash,
        }
    }
}

/// The error for a buffer of the caller that cannot be used.
pub(crate) fn buffer_error(reason: String) -> Error {
    Error::Buffer { reason }
}

/// Refuses `bytes` bytes from `at` on unless they are in a buffer of `len` bytes.
pub(crate) fn check_range(at: u64, bytes: u64, len: u64) -> Result<(), Error> {
    match at.checked_add(bytes) {
        Some(end) if end <= len => Ok(()),
        _ => Err(buffer_error(format!("{bytes} bytes from {at} on are not in its {len}"))),
    }
}

/// Results of a device for one input.
pub(crate) enum DeviceResult {
    /// The bytes of an input of at most one chunk: the processor hashes them in less time than a launch takes.
    Chunk(Vec<u8>),
    /// The values of neighbouring tiles.
    Values(Vec<ChainingValue>),
}

/// Bytes of a piece of an input in the memory of the host. Each piece is a subtree of at most half of the input,
/// because the host computes the root above the last two values.
pub(crate) fn piece_len(len: usize) -> usize {
    const LARGEST: usize = 8 << 20;
    (hazmat::left_subtree_len(len as u64) as usize).min(LARGEST)
}

/// The two values under the root, merged from the values of neighbouring tiles.
pub(crate) fn root_children(mut row: Vec<ChainingValue>, mode: Mode<'_>) -> [ChainingValue; 2] {
    while row.len() > 2 {
        let parent = |pair: &[ChainingValue]| match pair {
            [left, right] => hazmat::merge_subtrees_non_root(left, right, mode),
            odd => odd[0],
        };
        row = row.chunks(2).map(parent).collect();
    }
    [row[0], row[1]]
}

/// Limits of one batch: bytes and chunks.
pub(crate) const MAX_BATCH_BYTES: u64 = 32 << 20;
pub(crate) const MAX_BATCH_JOBS: u64 = 1 << 20;

/// Consecutive messages and their digests, in portions that are each large enough for a thread.
#[cfg(feature = "cuda")]
pub(crate) fn thread_portions<'a, 'b>(
    messages: &'a [&'b [u8]],
    out: &'a mut [Hash],
) -> impl Iterator<Item = (&'a [&'b [u8]], &'a mut [Hash])> {
    /// Bytes of a portion, and the fixed cost of a message as bytes.
    const PORTION_BYTES: usize = 2 << 20;
    const MESSAGE_BYTES: usize = 256;
    let mut rest = (messages, out);
    std::iter::from_fn(move || {
        let (messages, out) = std::mem::take(&mut rest);
        let mut cost = 0;
        let more = messages.iter().position(|message| {
            cost += MESSAGE_BYTES + message.len();
            cost > PORTION_BYTES
        });
        // The message that exceeds the limit ends the portion.
        let count = more.map_or(messages.len(), |last| last + 1);
        let (portion, messages) = messages.split_at(count);
        let (digests, out) = out.split_at_mut(count);
        rest = (messages, out);
        (!portion.is_empty()).then_some((portion, digests))
    })
}

/// Chunks of messages to be sent to a device.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) bytes: Vec<u8>,
    /// Four words per chunk, in the kernel's layout.
    pub(crate) jobs: Vec<[[u8; 4]; 4]>,
}

impl Batch {
    fn add(&mut self, piece: &[u8], number: u32, flags: u32) {
        let words = [(self.bytes.len() / 16) as u32, piece.len() as u32, number, flags];
        self.jobs.push(words.map(u32::to_le_bytes));
        self.bytes.extend_from_slice(piece);
        self.bytes.resize(self.bytes.len().next_multiple_of(16), 0);
    }
}

/// Returns the values if a kernel has written all of them: their memory was cleared before, and no value is zero.
pub(crate) fn check_values(values: Vec<ChainingValue>) -> Result<Vec<ChainingValue>, Error> {
    if values.contains(&[0; VALUE_BYTES as usize]) {
        return Err(Error::Driver { reason: "a kernel did not run to its end".to_owned() });
    }
    Ok(values)
}

/// Computes the digests of many messages in batches of at most `max_bytes` bytes and `max_jobs` chunks. `run` submits a
/// non-empty batch, empties it, and appends the values of this or earlier batches in order. Without a batch it appends
/// all outstanding values.
pub(crate) fn hash_batches(
    mode: Mode<'_>,
    (max_bytes, max_jobs): (usize, usize),
    messages: &[&[u8]],
    out: &mut [Hash],
    mut run: impl FnMut(Option<&mut Batch>, &mut Vec<ChainingValue>) -> Result<(), Error>,
) -> Result<(), Error> {
    assert_eq!(messages.len(), out.len(), "one digest for each message");
    let mut values = Vec::new();
    let mut batch = Batch::default();
    for message in messages {
        let single = message.len() <= CHUNK_LEN;
        let flags = if single { CHUNK_END | ROOT } else { CHUNK_END };
        let mut rest = *message;
        for number in 0.. {
            let (piece, more) = rest.split_at(rest.len().min(CHUNK_LEN));
            if batch.bytes.len() + CHUNK_LEN > max_bytes || batch.jobs.len() == max_jobs {
                run(Some(&mut batch), &mut values)?;
            }
            batch.add(piece, number, flags);
            rest = more;
            if rest.is_empty() {
                break;
            }
        }
    }
    if !batch.jobs.is_empty() {
        run(Some(&mut batch), &mut values)?;
    }
    run(None, &mut values)?;
    let mut values = &values[..];
    for (message, out) in messages.iter().zip(out) {
        let (own, rest) = values.split_at(chunks(message.len() as u64).0 as usize);
        values = rest;
        *out = match own {
            [digest] => Hash::from_bytes(*digest),
            row => {
                let [left, right] = root_children(row.to_vec(), mode);
                hazmat::merge_subtrees_root(&left, &right, mode)
            }
        };
    }
    Ok(())
}

/// Bytes of a tree with every level that kernels have: tiles of 512 chunks, the second of which has three groups; the
/// last group is not full and ends with part of a chunk. A multiple of four, because wgpu copies whole words. Rows of
/// more than 256 values take further rounds of the same loop.
pub(crate) const SELF_TEST_TREE_BYTES: usize = (512 + 259) * CHUNK_LEN + 776;

/// Input for self-tests.
pub(crate) fn self_test_input(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + i / 251) as u8).collect()
}

/// Hashes messages around the edges of blocks and chunks, and a tree, and compares the digests with those of the
/// processor.
pub(crate) fn self_test(
    device: &str,
    mode: &Mode<'_>,
    many: impl FnOnce(&[&[u8]], &mut [Hash]) -> Result<(), Error>,
    tree: impl FnOnce(&[u8]) -> Result<Hash, Error>,
) -> Result<(), Error> {
    let bytes = self_test_input(SELF_TEST_TREE_BYTES);
    let lens = [0, 1, 63, 64, 65, 1023, 1024, 1025, 5000];
    let messages = lens.map(|len| &bytes[..len]);
    let mut digests = [Hash::from_bytes([0; 32]); 9];
    many(&messages, &mut digests)?;
    let right = |message: &[u8]| Hasher::with_mode(mode).update(message).finalize();
    let tree = tree(&bytes)?;
    let all = messages.into_iter().zip(digests).all(|(message, digest)| digest == right(message));
    if all && tree == right(&bytes) {
        return Ok(());
    }
    Err(Error::SelfTest { device: device.to_owned() })
}
