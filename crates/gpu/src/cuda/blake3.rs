//! BLAKE3 by CUDA: inputs on a device, inputs of the host, and many short messages.

use super::device::{Buffer, Device};
use super::driver::{Arg, Memory, Pinned, Registered, Shape, Stream};
use crate::Error;
use crate::argon2::try_for_each_parallel;
use crate::blake3::input_split::{InputSplit, WIDTH, chunks};
use crate::blake3::{BATCH, Batch, Fetched, MOST_JOBS, Params, VALUE, all, many, piece_len, shares, wrong};
use hashmill_hash::argon2::HashError;
use hashmill_hash::blake3::hazmat::ChainingValue;
use hashmill_hash::blake3::{CHUNK_LEN, Hash};
use hashmill_hash::engine::Stop;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Kernels do additions as multiplications by this value, which the compiler must not know: the one change
/// that made them faster.
const ONE: u32 = 1;

/// BLAKE3 in one mode, on one device. Threads share it.
///
/// The key, if any, goes to the device with each kernel launch and is not stored there.
pub(crate) struct Blake3 {
    device: Device,
    params: Params,
    /// Free memory of earlier inputs.
    scratch: Mutex<Vec<Scratch>>,
    pieces: Mutex<Vec<WindowBuffer>>,
    batch_buffers: Mutex<Vec<BatchBuffers>>,
}

impl Blake3 {
    /// The device is not tested.
    pub(crate) fn new(device: &Device, params: Params) -> Blake3 {
        let (scratch, pieces, batch_buffers) = (Mutex::default(), Mutex::default(), Mutex::default());
        Blake3 { device: device.clone(), params, scratch, pieces, batch_buffers }
    }

    pub(crate) fn params(&self) -> &Params {
        &self.params
    }

    /// Starts to hash `len` bytes of a buffer, from `offset` on.
    pub(crate) fn start(&self, buffer: &Buffer, offset: u64, len: u64) -> Result<Pending<'_>, Error> {
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
            let mut scratch = self.scratch(InputSplit::subtree(1, CHUNK_LEN as u64))?;
            scratch.fetch(&input, offset, len as usize)?;
            return Ok(Pending { blake3: self, scratch, input, work: Work::Chunk(len as usize) });
        }
        let cut = InputSplit::whole(len, u64::MAX)
            .ok_or_else(|| wrong(format!("{len} bytes are more than a device can be given")))?;
        let mut scratch = self.scratch(cut)?;
        scratch.begin(&self.device, &self.params, (&input, offset), cut, 0)?;
        Ok(Pending { blake3: self, scratch, input, work: Work::Tiles(cut) })
    }

    /// The values of the pieces of more than a chunk in the memory of the host. They go to the device through
    /// pinned memory: several threads copy while the device hashes the pieces that have arrived.
    pub(crate) fn pieces(&self, bytes: &[u8], stop: &Stop) -> Result<Vec<ChainingValue>, Error> {
        let len = piece_len(bytes.len());
        let mut values = vec![[0; VALUE as usize]; bytes.len().div_ceil(len)];
        try_for_each_parallel(&mut values, 1, |number, value| {
            if stop.is_set() {
                return Err(HashError::Stopped.into());
            }
            let at = number * len;
            let some = &bytes[at..bytes.len().min(at + len)];
            let mut lease = PieceLease { blake3: self, piece: Some(self.piece(len)?) };
            let piece = lease.piece.as_mut().expect("present until the drop");
            *value = piece.value(self, at as u64, some)?;
            Ok(())
        })?;
        Ok(values)
    }

    /// As [`pieces`](Blake3::pieces), for registered bytes: the device fetches them in place, with several pieces
    /// in flight. One thread suffices.
    pub(crate) fn registered_pieces(
        &self,
        bytes: &Registered<'_>,
        stop: &Stop,
    ) -> Result<Vec<ChainingValue>, Error> {
        let len = bytes.bytes().len();
        let each = piece_len(len);
        let (mut values, mut in_flight) = (Vec::new(), VecDeque::new());
        for at in (0..len).step_by(each) {
            if stop.is_set() {
                // Dropping the pieces in flight waits for them.
                return Err(HashError::Stopped.into());
            }
            let mut piece = if in_flight.len() < WindowBuffer::MAX_IN_FLIGHT {
                self.piece(each)?
            } else {
                let mut oldest: WindowBuffer = in_flight.pop_front().expect("there are several");
                values.push(oldest.take()?);
                oldest
            };
            piece.begin_registered(self, bytes, at, each.min(len - at))?;
            in_flight.push_back(piece);
        }
        for piece in &mut in_flight {
            values.push(piece.take()?);
        }
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner).extend(in_flight);
        Ok(values)
    }

    /// The digests of many messages in the memory of the host. Several threads copy.
    pub(crate) fn hash_many(&self, messages: &[&[u8]], out: &mut [Hash]) -> Result<(), Error> {
        let mut shares: Vec<_> = shares(messages, out).collect();
        try_for_each_parallel(&mut shares, 1, |_, (messages, out)| self.hash_share(messages, out))
    }

    fn hash_share(&self, messages: &[&[u8]], out: &mut [Hash]) -> Result<(), Error> {
        // Each thread has two of these in flight.
        let most = (BATCH as usize / 8, MOST_JOBS as usize);
        // The host fills a batch while the device computes the one before.
        let (mut batch_buffers, mut before) = (Vec::new(), None::<(BatchBuffers, usize)>);
        many(self.params.mode(), most, messages, out, |batch, values| {
            let now = match batch {
                None => None,
                Some(batch) => {
                    let mut buffers = self.buffers(&mut batch_buffers, batch)?;
                    buffers.begin(&self.device, &self.params, batch)?;
                    let count = batch.jobs.len();
                    batch.jobs.clear();
                    batch.bytes.clear();
                    Some((buffers, count))
                }
            };
            if let Some((mut buffers, count)) = std::mem::replace(&mut before, now) {
                values.extend(buffers.take(count)?);
                batch_buffers.push(buffers);
            }
            Ok(())
        })?;
        self.batch_buffers.lock().unwrap_or_else(PoisonError::into_inner).extend(batch_buffers);
        Ok(())
    }

    /// Memory for a batch, reused where possible: from this list of messages or an earlier one.
    fn buffers(&self, own: &mut Vec<BatchBuffers>, batch: &Batch) -> Result<BatchBuffers, Error> {
        let mut free = self.batch_buffers.lock().unwrap_or_else(PoisonError::into_inner);
        for batch_buffers in [own, &mut free] {
            if let Some(fits) = batch_buffers.iter().position(|buffers| buffers.fits(batch)) {
                return Ok(batch_buffers.swap_remove(fits));
            }
        }
        // Memory that is too small now would be too small again.
        let smaller = free.pop();
        drop(free);
        drop(smaller);
        BatchBuffers::new(&self.device, batch)
    }

    fn free(&self) -> MutexGuard<'_, Vec<Scratch>> {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Scratch memory for `cut`, reused where possible.
    fn scratch(&self, cut: InputSplit) -> Result<Scratch, Error> {
        let mut free = self.free();
        if let Some(fits) = free.iter().position(|scratch| scratch.fits(cut)) {
            return Ok(free.swap_remove(fits));
        }
        // Memory that is too small now would be too small again.
        let smaller = free.pop();
        drop(free);
        drop(smaller);
        Scratch::new(&self.device, cut)
    }

    /// Memory for a piece of an input, reused where possible.
    fn piece(&self, len: usize) -> Result<WindowBuffer, Error> {
        let mut free = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fits) = free.iter().position(|piece| piece.input.bytes() >= len as u64) {
            return Ok(free.swap_remove(fits));
        }
        // Memory that is too small now would be too small again.
        let smaller = free.pop();
        drop(free);
        drop(smaller);
        WindowBuffer::new(&self.device, len)
    }
}

/// A launch of `count` blocks, with the number of threads that every BLAKE3 kernel has.
fn groups(count: u64) -> Shape {
    Shape { blocks: count as u32, threads: WIDTH as u32, shared: 0 }
}

/// An input whose digest is being computed.
pub(crate) struct Pending<'a> {
    blake3: &'a Blake3,
    /// Dropped first: it waits for the device.
    scratch: Scratch,
    input: Arc<Memory>,
    work: Work,
}

enum Work {
    /// One chunk of this many bytes, in download: the processor has its digest sooner than a device would
    /// start.
    Chunk(usize),
    Tiles(InputSplit),
}

impl Pending<'_> {
    /// Is the digest complete? Waits for at most `timeout`.
    pub(crate) fn is_complete(&self, timeout: Duration) -> Result<bool, Error> {
        self.scratch.back.look(timeout)
    }

    /// Waits for the device.
    pub(crate) fn fetch(self) -> Result<Fetched, Error> {
        let Pending { blake3, mut scratch, input, work } = self;
        let fetched = match work {
            Work::Chunk(len) => Fetched::Chunk(scratch.back.bytes()?[..len].to_vec()),
            Work::Tiles(cut) => Fetched::Values(scratch.take(cut)?),
        };
        blake3.free().push(scratch);
        drop(input);
        Ok(fetched)
    }
}

/// Memory besides the input for an input cut into a limited number of tiles, and a stream to compute in.
pub(super) struct Scratch {
    /// Dropped first: it waits for the device.
    pub(super) stream: Stream,
    rows: Memory,
    values: Memory,
    pub(super) back: Pinned,
}

impl Scratch {
    pub(super) fn new(device: &Device, cut: InputSplit) -> Result<Scratch, Error> {
        let (context, tiles) = (device.context(), cut.tiles());
        let back = (tiles * VALUE).max(CHUNK_LEN as u64) as usize;
        Ok(Scratch {
            stream: context.stream()?,
            rows: context.memory(tiles * cut.row() * VALUE)?,
            values: context.memory(tiles * VALUE)?,
            back: context.pinned(back)?,
        })
    }

    /// Is it large enough for `cut`?
    fn fits(&self, cut: InputSplit) -> bool {
        self.rows.bytes() >= cut.tiles() * cut.row() * VALUE && self.values.bytes() >= cut.tiles() * VALUE
    }

    /// Starts the download of a chunk.
    fn fetch(&mut self, input: &Memory, offset: u64, len: usize) -> Result<(), Error> {
        if len == 0 { Ok(()) } else { self.stream.download(input, offset, &mut self.back, len) }
    }

    /// Starts to compute the values of the tiles of `input` from `offset` on; the first chunk has the number
    /// `counter`.
    pub(super) fn begin(
        &mut self,
        device: &Device,
        params: &Params,
        (input, offset): (&Memory, u64),
        cut: InputSplit,
        counter: u64,
    ) -> Result<(), Error> {
        let Scratch { stream, rows, values, back } = self;
        // Values of an earlier input must not pass for results.
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
    pub(super) fn take(&mut self, cut: InputSplit) -> Result<Vec<ChainingValue>, Error> {
        let bytes = &self.back.bytes()?[..(cut.tiles() * VALUE) as usize];
        all(bytes.as_chunks().0.to_vec())
    }
}

/// Memory for a piece of a host input: on the device, and pinned.
pub(super) struct WindowBuffer {
    /// Dropped first: it waits for the device.
    pub(super) scratch: Scratch,
    pub(super) input: Memory,
    /// Filled in turn: one while the device fetches the other.
    transfers: [Pinned; 2],
}

impl WindowBuffer {
    /// Bytes of one transfer.
    const TRANSFER: usize = 1 << 20;

    /// Pieces in flight when the device fetches registered bytes.
    const MAX_IN_FLIGHT: usize = 4;

    pub(super) fn new(device: &Device, len: usize) -> Result<WindowBuffer, Error> {
        let (context, transfer) = (device.context(), len.min(WindowBuffer::TRANSFER));
        Ok(WindowBuffer {
            scratch: Scratch::new(device, InputSplit::subtree(len as u64, len as u64))?,
            input: context.memory(len as u64)?,
            transfers: [context.pinned(transfer)?, context.pinned(transfer)?],
        })
    }

    /// Copies the bytes to the device, and starts to compute the value of their subtree, which is at `offset`
    /// in its input.
    pub(super) fn begin(&mut self, blake3: &Blake3, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let WindowBuffer { scratch, input, transfers } = self;
        let len = transfers[0].as_ref().len();
        for (number, some) in bytes.chunks(len).enumerate() {
            let transfer = &mut transfers[number % 2];
            transfer.bytes()?[..some.len()].copy_from_slice(some);
            scratch.stream.upload(input, (number * len) as u64, &transfer.source(), some.len())?;
        }
        self.begin_there(blake3, offset, bytes.len())
    }

    /// As `begin`, for `len` registered bytes from `at` on. Dropping the piece waits for them.
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

    /// As `begin`, for `len` bytes that are on the device or in transfer.
    pub(super) fn begin_there(&mut self, blake3: &Blake3, offset: u64, len: usize) -> Result<(), Error> {
        let (cut, counter) = (self.cut(len), offset / CHUNK_LEN as u64);
        self.scratch.begin(&blake3.device, &blake3.params, (&self.input, 0), cut, counter)
    }

    fn cut(&self, len: usize) -> InputSplit {
        InputSplit::subtree(len as u64, self.input.bytes())
    }

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

/// A piece that returns to the pool when this is dropped.
struct PieceLease<'a> {
    blake3: &'a Blake3,
    /// Taken only on drop.
    piece: Option<WindowBuffer>,
}

impl Drop for PieceLease<'_> {
    fn drop(&mut self) {
        self.blake3.pieces.lock().unwrap_or_else(PoisonError::into_inner).extend(self.piece.take());
    }
}

/// Memory for a batch of messages: on the device, and pinned for both directions.
struct BatchBuffers {
    /// Dropped first: it waits for the device.
    stream: Stream,
    /// The bytes of all messages, followed by the kernel's description of each chunk.
    input: Memory,
    here: Pinned,
    values: Memory,
    back: Pinned,
}

impl BatchBuffers {
    fn new(device: &Device, batch: &Batch) -> Result<BatchBuffers, Error> {
        let (context, jobs) = (device.context(), batch.jobs.len().next_power_of_two());
        let (bytes, values) = (batch.bytes.len().next_power_of_two() + jobs * 16, jobs * VALUE as usize);
        Ok(BatchBuffers {
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

    /// Starts to compute the values of all chunks of a batch.
    fn begin(&mut self, device: &Device, params: &Params, batch: &Batch) -> Result<(), Error> {
        let BatchBuffers { stream, input, here, values, back } = self;
        let (jobs, count) = (batch.jobs.as_flattened().as_flattened(), batch.jobs.len() as u64);
        let len = batch.bytes.len();
        let bytes = here.bytes()?;
        bytes[..len].copy_from_slice(&batch.bytes);
        bytes[len..len + jobs.len()].copy_from_slice(jobs);
        stream.upload(input, 0, &here.source(), len + jobs.len())?;
        // Values of an earlier batch must not pass for results.
        stream.clear(values, 0, count * VALUE)?;
        let params = params.bytes([0, count, 0, 0, 0, 0]);
        let (bytes, jobs) = (Arg::At(input, 0), Arg::At(input, len as u64));
        let args = [Arg::Words(&*params), bytes, jobs, Arg::At(values, 0), Arg::Number(ONE)];
        stream.launch(&device.kernels().messages, groups(count.div_ceil(WIDTH)), &args)?;
        stream.download(values, 0, back, (count * VALUE) as usize)
    }

    /// The values of `count` chunks.
    fn take(&mut self, count: usize) -> Result<Vec<ChainingValue>, Error> {
        let bytes = &self.back.bytes()?[..count * VALUE as usize];
        all(bytes.as_chunks().0.to_vec())
    }
}
