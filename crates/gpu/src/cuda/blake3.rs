//! [`Blake3`]: inputs that lie on a device, those of the host, and many short messages.

use super::device::{Buffer, Device};
use super::driver::{Arg, Memory, Pinned, Registered, Shape, Stream};
use crate::Error;
use crate::argon2::by_threads;
use crate::blake3::{self, BATCH, Batch, MOST_JOBS, Params, VALUE, all, children, wrong};
use crate::cut::{Cut, WIDTH, chunks};
use hashmill_hash::argon2::HashError;
use hashmill_hash::blake3::hazmat::{self, ChainingValue, Mode};
use hashmill_hash::blake3::{CHUNK_LEN, Hash, Hasher, OutputReader};
use hashmill_hash::engine::Stop;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Additions are done as multiplications by this, which the compiler must not know: the one thing that made the kernels faster.
const ONE: u32 = 1;

/// BLAKE3 in one mode, on one device. Threads share it.
///
/// The key, if there is one, goes to the device with each kernel, and is kept nowhere there.
pub struct Blake3 {
    device: Device,
    params: Params,
    /// Made for earlier inputs, and free.
    scratch: Mutex<Vec<Scratch>>,
    pieces: Mutex<Vec<Piece>>,
    desks: Mutex<Vec<Desk>>,
}

impl Blake3 {
    /// Asks the device for known digests.
    ///
    /// # Errors
    /// [`Error::SelfTest`]; what the driver says.
    pub fn new(device: &Device, mode: &Mode<'_>) -> Result<Blake3, Error> {
        let blake3 = Blake3::untested(device, mode)?;
        let tree = |bytes: &[u8]| {
            let buffer = device.buffer(bytes.len() as u64)?;
            buffer.write(0, bytes)?;
            blake3.hash_buffer(&buffer, 0, bytes.len() as u64)
        };
        let many = |messages: &[&[u8]], digests: &mut [Hash]| blake3.hash_many(messages, digests);
        blake3::self_test(&device.info().name, mode, many, tree)?;
        Ok(blake3)
    }

    pub(super) fn untested(device: &Device, mode: &Mode<'_>) -> Result<Blake3, Error> {
        let (scratch, pieces, desks) = (Mutex::default(), Mutex::default(), Mutex::default());
        Ok(Blake3 { device: device.clone(), params: Params::new(mode)?, scratch, pieces, desks })
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The digest of `len` bytes of a buffer, from `offset` on.
    ///
    /// What is to be hashed is there: whoever writes it by a stream of his own has waited for that. Its address is a multiple of 16.
    ///
    /// # Errors
    /// [`Error::Buffer`]; what happens to the device.
    pub fn hash_buffer(&self, buffer: &Buffer, offset: u64, len: u64) -> Result<Hash, Error> {
        self.start(buffer, offset, len)?.finish()
    }

    /// As [`hash_buffer`](Blake3::hash_buffer), and does not wait: several inputs may be under way at the same time.
    ///
    /// # Errors
    /// As there.
    pub fn start(&self, buffer: &Buffer, offset: u64, len: u64) -> Result<Pending<'_>, Error> {
        buffer.check(offset, len)?;
        if !buffer.is_of(&self.device) {
            return Err(wrong("it is another device's".to_owned()));
        }
        let address = buffer.pointer() + offset;
        if !address.is_multiple_of(16) {
            return Err(wrong(format!("it is read from {address:#x} on, which is no multiple of 16")));
        }
        let input = Arc::clone(buffer.memory());
        if len <= CHUNK_LEN as u64 {
            let mut scratch = self.scratch(Cut::subtree(1, CHUNK_LEN as u64))?;
            scratch.fetch(&input, offset, len as usize)?;
            return Ok(Pending { blake3: self, scratch, input, work: Work::Chunk(len as usize) });
        }
        let cut = Cut::whole(len, u64::MAX)
            .ok_or_else(|| wrong(format!("{len} bytes are more than a device can be given")))?;
        let mut scratch = self.scratch(cut)?;
        scratch.begin(&self.device, &self.params, (&input, offset), cut, 0)?;
        Ok(Pending { blake3: self, scratch, input, work: Work::Tiles(cut) })
    }

    /// The digest of bytes that lie in the memory of the host. They go to the device piece by piece, through memory that it fetches
    /// by itself: several threads copy, and the device hashes what is there meanwhile.
    ///
    /// # Errors
    /// What happens to the device.
    pub fn hash_bytes(&self, bytes: &[u8]) -> Result<Hash, Error> {
        static NEVER: Stop = Stop::new();
        self.hash_bytes_until(bytes, &NEVER)
    }

    /// As [`hash_bytes`](Blake3::hash_bytes), and ends early when asked to, from another thread.
    ///
    /// # Errors
    /// As there, and [`HashError::Stopped`] as [`Error::Hash`].
    pub fn hash_bytes_until(&self, bytes: &[u8], stop: &Stop) -> Result<Hash, Error> {
        let mode = self.params.mode();
        if bytes.len() <= CHUNK_LEN {
            return Ok(Hasher::with_mode(&mode).update(bytes).finalize());
        }
        // Two at least, because the node above the last two is the host's.
        let len = (hazmat::left_subtree_len(bytes.len() as u64) as usize).min(Piece::LEN);
        let mut values = vec![[0; VALUE as usize]; bytes.len().div_ceil(len)];
        by_threads(&mut values, 1, |number, value| {
            if stop.is_set() {
                return Err(HashError::Stopped.into());
            }
            let at = number * len;
            let some = &bytes[at..bytes.len().min(at + len)];
            let mut lent = Lent { blake3: self, piece: Some(self.piece(len)?) };
            let piece = lent.piece.as_mut().expect("taken only when dropped");
            *value = piece.value(self, at as u64, some)?;
            Ok(())
        })?;
        let [left, right] = children(values, mode);
        Ok(hazmat::merge_subtrees_root(&left, &right, mode))
    }

    /// The digest of bytes that the driver knows: the device fetches them where they lie, and several pieces are on their way together.
    /// One thread suffices. Ends early when asked to, from another thread.
    ///
    /// # Errors
    /// What happens to the device, and [`HashError::Stopped`] as [`Error::Hash`].
    pub fn hash_registered(&self, bytes: &Registered<'_>, stop: &Stop) -> Result<Hash, Error> {
        let (mode, len) = (self.params.mode(), bytes.bytes().len());
        if len <= CHUNK_LEN {
            return Ok(Hasher::with_mode(&mode).update(bytes.bytes()).finalize());
        }
        let each = (hazmat::left_subtree_len(len as u64) as usize).min(Piece::LEN);
        let (mut values, mut under_way) = (Vec::new(), VecDeque::new());
        for at in (0..len).step_by(each) {
            if stop.is_set() {
                // What is under way is dropped, which waits for it.
                return Err(HashError::Stopped.into());
            }
            let mut piece = if under_way.len() < Piece::UNDER_WAY {
                self.piece(each)?
            } else {
                let mut oldest: Piece = under_way.pop_front().expect("there are several");
                values.push(oldest.take()?);
                oldest
            };
            piece.begin_registered(self, bytes, at, each.min(len - at))?;
            under_way.push_back(piece);
        }
        for piece in &mut under_way {
            values.push(piece.take()?);
        }
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner).extend(under_way);
        let [left, right] = children(values, mode);
        Ok(hazmat::merge_subtrees_root(&left, &right, mode))
    }

    /// The digests of many messages: `out[i]` is that of `messages[i]`. For messages that lie in the memory of the host, as
    /// short as they are; those of more than a chunk are put together by the processor. Several threads copy.
    ///
    /// # Errors
    /// What happens to the device. What is in `out` is of no meaning then.
    ///
    /// # Panics
    /// If `out` and `messages` differ in length.
    pub fn hash_many(&self, messages: &[&[u8]], out: &mut [Hash]) -> Result<(), Error> {
        assert_eq!(messages.len(), out.len(), "one place for each digest");
        let mut shares: Vec<_> = blake3::shares(messages, out).collect();
        by_threads(&mut shares, 1, |_, (messages, out)| self.hash_share(messages, out))
    }

    fn hash_share(&self, messages: &[&[u8]], out: &mut [Hash]) -> Result<(), Error> {
        // Each thread has two of these under way.
        let most = (BATCH as usize / 8, MOST_JOBS as usize);
        // The host makes a batch while the device is at work on the one before.
        let (mut desks, mut before) = (Vec::new(), None::<(Desk, usize)>);
        blake3::many(self.params.mode(), most, messages, out, |batch, values| {
            let now = match batch {
                None => None,
                Some(batch) => {
                    let mut desk = self.desk(&mut desks, batch)?;
                    desk.begin(&self.device, &self.params, batch)?;
                    let count = batch.jobs.len();
                    batch.jobs.clear();
                    batch.bytes.clear();
                    Some((desk, count))
                }
            };
            if let Some((mut desk, count)) = std::mem::replace(&mut before, now) {
                values.extend(desk.take(count)?);
                desks.push(desk);
            }
            Ok(())
        })?;
        self.desks.lock().unwrap_or_else(PoisonError::into_inner).extend(desks);
        Ok(())
    }

    /// Memory for a batch, used before if there is some: by this list of messages, or by an earlier one.
    fn desk(&self, own: &mut Vec<Desk>, batch: &Batch) -> Result<Desk, Error> {
        let mut free = self.desks.lock().unwrap_or_else(PoisonError::into_inner);
        for desks in [own, &mut free] {
            if let Some(fits) = desks.iter().position(|desk| desk.fits(batch)) {
                return Ok(desks.swap_remove(fits));
            }
        }
        // What was too small once will be so again.
        let smaller = free.pop();
        drop(free);
        drop(smaller);
        Desk::new(&self.device, batch)
    }

    fn free(&self) -> MutexGuard<'_, Vec<Scratch>> {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Scratch with room for this, used before if there is some.
    fn scratch(&self, cut: Cut) -> Result<Scratch, Error> {
        let mut free = self.free();
        if let Some(fits) = free.iter().position(|scratch| scratch.fits(cut)) {
            return Ok(free.swap_remove(fits));
        }
        // What was too small once will be so again.
        let smaller = free.pop();
        drop(free);
        drop(smaller);
        Scratch::new(&self.device, cut)
    }

    /// Memory for a piece of an input, used before if there is some.
    fn piece(&self, len: usize) -> Result<Piece, Error> {
        let mut free = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fits) = free.iter().position(|piece| piece.input.bytes() >= len as u64) {
            return Ok(free.swap_remove(fits));
        }
        // What was too small once will be so again.
        let smaller = free.pop();
        drop(free);
        drop(smaller);
        Piece::new(&self.device, len)
    }
}

impl fmt::Debug for Blake3 {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Blake3");
        out.field("device", &self.device).field("mode", &self.params.mode()).finish_non_exhaustive()
    }
}

/// So many blocks of the threads that every kernel of BLAKE3 has.
fn groups(count: u64) -> Shape {
    Shape { blocks: count as u32, threads: WIDTH as u32, shared: 0 }
}

/// An input that a device is at work on. Dropped, it is given up: its digest is computed, and nobody sees it.
#[must_use = "it is given up if it is dropped"]
pub struct Pending<'a> {
    blake3: &'a Blake3,
    /// Dropped first: it waits for the device.
    scratch: Scratch,
    input: Arc<Memory>,
    work: Work,
}

enum Work {
    /// One chunk of so many bytes, on its way to the host: the processor has its digest sooner than a device would begin.
    Chunk(usize),
    Tiles(Cut),
}

enum Fetched {
    Chunk(Vec<u8>),
    Children([ChainingValue; 2]),
}

impl Pending<'_> {
    /// Waits for the digest.
    ///
    /// # Errors
    /// What happened to the device.
    pub fn finish(self) -> Result<Hash, Error> {
        let mode = self.blake3.params.mode();
        Ok(match self.fetched()? {
            Fetched::Chunk(bytes) => Hasher::with_mode(&mode).update(&bytes).finalize(),
            Fetched::Children([left, right]) => hazmat::merge_subtrees_root(&left, &right, mode),
        })
    }

    /// Waits for the extended output.
    ///
    /// # Errors
    /// What happened to the device.
    pub fn finish_xof(self) -> Result<OutputReader, Error> {
        let mode = self.blake3.params.mode();
        Ok(match self.fetched()? {
            Fetched::Chunk(bytes) => Hasher::with_mode(&mode).update(&bytes).finalize_xof(),
            Fetched::Children([left, right]) => hazmat::merge_subtrees_root_xof(&left, &right, mode),
        })
    }

    /// Whether the digest is there, after waiting so long at most.
    ///
    /// # Errors
    /// What happened to the device.
    pub fn look(&self, timeout: Duration) -> Result<bool, Error> {
        self.scratch.back.look(timeout)
    }

    fn fetched(self) -> Result<Fetched, Error> {
        let Pending { blake3, mut scratch, input, work } = self;
        let fetched = match work {
            Work::Chunk(len) => Fetched::Chunk(scratch.back.bytes()?[..len].to_vec()),
            Work::Tiles(cut) => Fetched::Children(children(scratch.take(cut)?, blake3.params.mode())),
        };
        blake3.free().push(scratch);
        drop(input);
        Ok(fetched)
    }
}

impl fmt::Debug for Pending<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("blake3", self.blake3).finish_non_exhaustive()
    }
}

/// Memory for inputs that are cut into so many pieces at most, beside the input, and a stream to compute them in.
pub(super) struct Scratch {
    /// Dropped first: it waits for the device.
    pub(super) stream: Stream,
    rows: Memory,
    values: Memory,
    pub(super) back: Pinned,
}

impl Scratch {
    pub(super) fn new(device: &Device, cut: Cut) -> Result<Scratch, Error> {
        let (context, tiles) = (device.context(), cut.tiles());
        let back = (tiles * VALUE).max(CHUNK_LEN as u64) as usize;
        Ok(Scratch {
            stream: context.stream()?,
            rows: context.memory(tiles * cut.row() * VALUE)?,
            values: context.memory(tiles * VALUE)?,
            back: context.pinned(back)?,
        })
    }

    /// Whether it has room for this.
    fn fits(&self, cut: Cut) -> bool {
        self.rows.bytes() >= cut.tiles() * cut.row() * VALUE && self.values.bytes() >= cut.tiles() * VALUE
    }

    /// Begins to bring a chunk to the host.
    fn fetch(&mut self, input: &Memory, offset: u64, len: usize) -> Result<(), Error> {
        if len == 0 { Ok(()) } else { self.stream.download(input, offset, &mut self.back, len) }
    }

    /// Begins to compute the values of the tiles of what lies in `input` from `offset` on, whose first chunk has the number
    /// `counter`.
    pub(super) fn begin(
        &mut self,
        device: &Device,
        params: &Params,
        (input, offset): (&Memory, u64),
        cut: Cut,
        counter: u64,
    ) -> Result<(), Error> {
        let Scratch { stream, rows, values, back } = self;
        // What an earlier input has left must not pass for an answer.
        stream.clear(rows, 0, cut.tiles() * cut.row() * VALUE)?;
        stream.clear(values, 0, cut.tiles() * VALUE)?;
        for window in cut.windows() {
            let (count, tail) = chunks(window.end - window.start);
            let counter = counter + window.start / CHUNK_LEN as u64;
            let params = params.bytes([counter, count, tail, 0, 0, cut.first_row(window.start)]);
            let input = Arg::At(input, offset + window.start);
            let args = [Arg::Words(&*params), input, Arg::At(rows, 0), Arg::Number(ONE)];
            stream.launch(&device.kernels().leaves, groups(count.div_ceil(WIDTH)), &args)?;
        }
        let (count, tail) = chunks(cut.len);
        let bytes = cut.tiles() * VALUE;
        let params = params.bytes([0, count, tail, cut.tile / CHUNK_LEN as u64, cut.row(), 0]);
        let args = [Arg::Words(&*params), Arg::At(rows, 0), Arg::At(values, 0), Arg::Number(ONE)];
        stream.launch(&device.kernels().tops, groups(cut.tiles()), &args)?;
        stream.download(values, 0, back, bytes as usize)
    }

    /// The values of the tiles.
    pub(super) fn take(&mut self, cut: Cut) -> Result<Vec<ChainingValue>, Error> {
        let bytes = &self.back.bytes()?[..(cut.tiles() * VALUE) as usize];
        all(bytes.as_chunks().0.to_vec())
    }
}

/// Memory for a piece of an input of the host: on the device, and on the way.
pub(super) struct Piece {
    /// Dropped first: it waits for the device.
    pub(super) scratch: Scratch,
    pub(super) input: Memory,
    /// Filled in turn: one of them while the device fetches the other.
    ways: [Pinned; 2],
}

impl Piece {
    /// Bytes of the largest piece of an input that is hashed as a whole.
    const LEN: usize = 8 << 20;

    /// Bytes that are on the way together.
    const WAY: usize = 1 << 20;

    /// Pieces that the device fetches together, where nobody copies them.
    const UNDER_WAY: usize = 4;

    pub(super) fn new(device: &Device, len: usize) -> Result<Piece, Error> {
        let (context, way) = (device.context(), len.min(Piece::WAY));
        Ok(Piece {
            scratch: Scratch::new(device, Cut::subtree(len as u64, len as u64))?,
            input: context.memory(len as u64)?,
            ways: [context.pinned(way)?, context.pinned(way)?],
        })
    }

    /// Copies the bytes to the device, and begins to compute the value of the subtree that they are, so far into an input.
    pub(super) fn begin(&mut self, blake3: &Blake3, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let Piece { scratch, input, ways } = self;
        let len = ways[0].as_ref().len();
        for (number, some) in bytes.chunks(len).enumerate() {
            let way = &mut ways[number % 2];
            way.bytes()?[..some.len()].copy_from_slice(some);
            scratch.stream.upload(input, (number * len) as u64, &way.source(), some.len())?;
        }
        self.begin_there(blake3, offset, bytes.len())
    }

    /// The same of so many bytes that the driver knows, from `at` on. The piece waits for them when it is dropped.
    fn begin_registered(
        &mut self,
        blake3: &Blake3,
        bytes: &Registered<'_>,
        at: usize,
        len: usize,
    ) -> Result<(), Error> {
        self.scratch.stream.upload_registered(&self.input, bytes, at, len)?;
        self.begin_there(blake3, at as u64, len)
    }

    /// The same of so many bytes that are there, or on the way.
    pub(super) fn begin_there(&mut self, blake3: &Blake3, offset: u64, len: usize) -> Result<(), Error> {
        let (cut, counter) = (self.cut(len), offset / CHUNK_LEN as u64);
        self.scratch.begin(&blake3.device, &blake3.params, (&self.input, 0), cut, counter)
    }

    fn cut(&self, len: usize) -> Cut {
        Cut::subtree(len as u64, self.input.bytes())
    }

    /// Waits for the value.
    pub(super) fn take(&mut self) -> Result<ChainingValue, Error> {
        match self.scratch.take(self.cut(1))?[..] {
            [value] => Ok(value),
            _ => Err(Error::Driver { reason: "another number of values than was asked for".to_owned() }),
        }
    }

    fn value(&mut self, blake3: &Blake3, offset: u64, bytes: &[u8]) -> Result<ChainingValue, Error> {
        self.begin(blake3, offset, bytes)?;
        self.take()
    }
}

/// A piece that goes back whatever becomes of it.
struct Lent<'a> {
    blake3: &'a Blake3,
    /// Taken only when dropped.
    piece: Option<Piece>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.blake3.pieces.lock().unwrap_or_else(PoisonError::into_inner).extend(self.piece.take());
    }
}

/// Memory for a batch of messages: on the device, and on the way there and back.
struct Desk {
    /// Dropped first: it waits for the device.
    stream: Stream,
    /// The bytes of all messages, and behind them what the kernel is told of each chunk.
    input: Memory,
    here: Pinned,
    values: Memory,
    back: Pinned,
}

impl Desk {
    fn new(device: &Device, batch: &Batch) -> Result<Desk, Error> {
        let (context, jobs) = (device.context(), batch.jobs.len().next_power_of_two());
        let (bytes, values) = (batch.bytes.len().next_power_of_two() + jobs * 16, jobs * VALUE as usize);
        Ok(Desk {
            stream: context.stream()?,
            input: context.memory(bytes as u64)?,
            here: context.pinned(bytes)?,
            values: context.memory(values as u64)?,
            back: context.pinned(values)?,
        })
    }

    fn fits(&self, batch: &Batch) -> bool {
        let jobs = batch.jobs.len() as u64;
        self.input.bytes() >= batch.bytes.len() as u64 + jobs * 16 && self.values.bytes() >= jobs * VALUE
    }

    /// Begins to compute the values of all chunks of a batch.
    fn begin(&mut self, device: &Device, params: &Params, batch: &Batch) -> Result<(), Error> {
        let Desk { stream, input, here, values, back } = self;
        let (jobs, count) = (batch.jobs.as_flattened().as_flattened(), batch.jobs.len() as u64);
        let len = batch.bytes.len();
        let bytes = here.bytes()?;
        bytes[..len].copy_from_slice(&batch.bytes);
        bytes[len..len + jobs.len()].copy_from_slice(jobs);
        stream.upload(input, 0, &here.source(), len + jobs.len())?;
        // What an earlier batch has left must not pass for an answer.
        stream.clear(values, 0, count * VALUE)?;
        let params = params.bytes([0, count, 0, 0, 0, 0]);
        let (bytes, jobs) = (Arg::At(input, 0), Arg::At(input, len as u64));
        let args = [Arg::Words(&*params), bytes, jobs, Arg::At(values, 0), Arg::Number(ONE)];
        stream.launch(&device.kernels().messages, groups(count.div_ceil(WIDTH)), &args)?;
        stream.download(values, 0, back, (count * VALUE) as usize)
    }

    /// The values of so many chunks.
    fn take(&mut self, count: usize) -> Result<Vec<ChainingValue>, Error> {
        let bytes = &self.back.bytes()?[..count * VALUE as usize];
        all(bytes.as_chunks().0.to_vec())
    }
}
