//! What BLAKE3 on every device has in common: parameters of kernels, batches of short messages, the nodes near the root. No device is
//! touched here.

use crate::Error;
use crate::cut::chunks;
use hashmill_hash::blake3::hazmat::{self, ChainingValue, Mode};
use hashmill_hash::blake3::{CHUNK_LEN, Hash, Hasher};
use zeroize::Zeroizing;

/// Bytes of a value.
pub(crate) const VALUE: u64 = 32;

const CHUNK_END: u32 = 2;
const ROOT: u32 = 8;
const KEYED_HASH: u32 = 16;
const DERIVE_KEY_MATERIAL: u32 = 64;

const IV: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// What decides the values: the key and the flag of a mode.
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

    /// As `Params` in the kernels, with the numbers: the first chunk, chunks, bytes of the last of them, chunks of a tile, values
    /// of a row, the first row.
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

    /// Whether there is a key to hide.
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

pub(crate) fn wrong(reason: String) -> Error {
    Error::Buffer { reason }
}

/// The two values under the root, from those of neighbouring tiles.
pub(crate) fn children(mut row: Vec<ChainingValue>, mode: Mode<'_>) -> [ChainingValue; 2] {
    while row.len() > 2 {
        let parent = |pair: &[ChainingValue]| match pair {
            [left, right] => hazmat::merge_subtrees_non_root(left, right, mode),
            odd => odd[0],
        };
        row = row.chunks(2).map(parent).collect();
    }
    [row[0], row[1]]
}

/// Bytes and chunks that go to a device together.
pub(crate) const BATCH: u64 = 32 << 20;
pub(crate) const MOST_JOBS: u64 = 1 << 20;

/// Messages that follow each other, and their places: as many at a time as are worth a thread.
#[cfg(feature = "cuda")]
pub(crate) fn shares<'a, 'b>(
    messages: &'a [&'b [u8]],
    out: &'a mut [Hash],
) -> impl Iterator<Item = (&'a [&'b [u8]], &'a mut [Hash])> {
    /// Bytes, and messages, of which each costs about as much as so many.
    const SHARE: usize = 2 << 20;
    const MESSAGE: usize = 256;
    let mut rest = (messages, out);
    std::iter::from_fn(move || {
        let (messages, out) = std::mem::take(&mut rest);
        let mut cost = 0;
        let more = messages.iter().position(|message| {
            cost += MESSAGE + message.len();
            cost > SHARE
        });
        // The one that is too much for a share ends it.
        let count = more.map_or(messages.len(), |last| last + 1);
        let (share, messages) = messages.split_at(count);
        let (places, out) = out.split_at_mut(count);
        rest = (messages, out);
        (!share.is_empty()).then_some((share, places))
    })
}

/// Chunks of messages that wait for a device.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) bytes: Vec<u8>,
    /// Four words each, as the kernel takes them.
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

/// The values, if a kernel has written every one of them: their memory was empty before, and no value is.
pub(crate) fn all(values: Vec<ChainingValue>) -> Result<Vec<ChainingValue>, Error> {
    if values.contains(&[0; VALUE as usize]) {
        return Err(Error::Driver { reason: "a kernel did not run to its end".to_owned() });
    }
    Ok(values)
}

/// The digests of many messages, by batches of so many bytes and chunks at most. `run` empties a batch that is not empty, and adds
/// the values of its chunks, or of those before, in their order; without a batch it adds all that it owes.
pub(crate) fn many(
    mode: Mode<'_>,
    (most, most_jobs): (usize, usize),
    messages: &[&[u8]],
    out: &mut [Hash],
    mut run: impl FnMut(Option<&mut Batch>, &mut Vec<ChainingValue>) -> Result<(), Error>,
) -> Result<(), Error> {
    assert_eq!(messages.len(), out.len(), "one place for each digest");
    let mut values = Vec::new();
    let mut batch = Batch::default();
    for message in messages {
        let single = message.len() <= CHUNK_LEN;
        let flags = if single { CHUNK_END | ROOT } else { CHUNK_END };
        let mut rest = *message;
        for number in 0.. {
            let (piece, more) = rest.split_at(rest.len().min(CHUNK_LEN));
            if batch.bytes.len() + CHUNK_LEN > most || batch.jobs.len() == most_jobs {
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
        let (own, others) = values.split_at(chunks(message.len() as u64).0 as usize);
        values = others;
        *out = match own {
            [digest] => Hash::from_bytes(*digest),
            row => {
                let [left, right] = children(row.to_vec(), mode);
                hazmat::merge_subtrees_root(&left, &right, mode)
            }
        };
    }
    Ok(())
}

/// Bytes whose tree has every level that kernels have: tiles of 512 chunks, of which the second is three groups, the last of them not
/// full, with part of a chunk at the end. A multiple of four, because wgpu copies no other. Rows of more than 256 values are the same
/// loop, gone through again.
pub(crate) const TREE: usize = (512 + 259) * CHUNK_LEN + 776;

/// Bytes to ask a device about.
pub(crate) fn known(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + i / 251) as u8).collect()
}

/// Asks for messages around the edges of blocks and chunks, and for a tree, and compares them with the processor's.
pub(crate) fn self_test(
    device: &str,
    mode: &Mode<'_>,
    many: impl FnOnce(&[&[u8]], &mut [Hash]) -> Result<(), Error>,
    tree: impl FnOnce(&[u8]) -> Result<Hash, Error>,
) -> Result<(), Error> {
    let bytes = known(TREE);
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
