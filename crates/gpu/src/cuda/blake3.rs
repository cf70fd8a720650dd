//! BLAKE3 by CUDA: inputs on a device, inputs of the host, and many short messages.

use super::device::{Buffer, Device};
use super::driver::{Arg, Memory, Pinned, Registered, Shape, Stream};
use crate::Error;
use crate::argon2::try_for_each_parallel;
use crate::blake3::input_split::{GROUP_CHUNKS, InputSplit, chunks};
use crate::blake3::{
    Batch, DeviceResult, MAX_BATCH_BYTES, MAX_BATCH_JOBS, Params, VALUE_BYTES, buffer_error, check_values,
    hash_batches, piece_len, thread_portions,
};
use hashmill_hash::argon2::HashError;
use hashmill_hash::blake3::hazmat::ChainingValue;
use hashmill_hash::blake3::{CHUNK_LEN, Hash};
use hashmill_hash::engine::Stop;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Kernels add by multiplications with this value, which is an argument so that the compiler does not know it. It
/// makes them faster.
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
    /// Does not test the device.
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
        if !buffer.belongs_to(&self.device) {
            return Err(buffer_error("it is another device's".to_owned()));
        }
        let address = buffer.pointer() + offset;
        if !address.is_multiple_of(16) {
            return Err(buffer_error(format!("it is read from {address:#x} on, which is no multiple of 16")));
        }
        let input = Arc::clone(buffer.memory());
        if len <= CHUNK_LEN as u64 {
            let mut scratch = self.scratch(InputSplit::subtree(1, CHUNK_LEN as u64))?;
            scratch.fetch(&input, offset, len as usize)?;
            return Ok(Pending { blake3: self, scratch, input, work: Work::Chunk(len as usize) });
        }
        let split = InputSplit::for_input(len, u64::MAX)
            .ok_or_else(|| buffer_error(format!("{len} bytes are more than a device can be given")))?;
        let mut scratch = self.scratch(split)?;
        scratch.begin(&self.device, &self.params, (&input, offset), split, 0)?;
        Ok(Pending { blake3: self, scratch, input, work: Work::Tiles(split) })
    }

    /// The values of the pieces of an input of more than a chunk in the memory of the host. Several threads copy pieces
    /// through pinned memory while the device hashes others.
    pub(crate) fn pieces(&self, bytes: &[u8], stop: &Stop) -> Result<Vec<ChainingValue>, Error> {
        let len = piece_len(bytes.len());
        let mut values = vec![[0; VALUE_BYTES as usize]; bytes.len().div_ceil(len)];
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

    /// As [`pieces`](Blake3::pieces), for registered bytes: the device fetches them in place, with several pieces in
    /// flight. One thread suffices.
    pub(crate) fn registered_pieces(
        &self,
        bytes: &Registered<'_>,
        stop: &Stop,
    ) -> Result<Vec<ChainingValue>, Error> {
        let len = bytes.bytes().len();
        let piece_bytes = piece_len(len);
        let (mut values, mut in_flight) = (Vec::new(), VecDeque::new());
        for at in (0..len).step_by(piece_bytes) {
            if stop.is_set() {
                // The drop of the pieces in flight waits for them.
                return Err(HashError::Stopped.into());
            }
            let mut piece = if in_flight.len() < WindowBuffer::MAX_IN_FLIGHT {
                self.piece(piece_bytes)?
            } else {
                let mut oldest: WindowBuffer = in_flight.pop_front().expect("there are several");
                values.push(oldest.take()?);
                oldest
            };
            piece.begin_registered(self, bytes, at, piece_bytes.min(len - at))?;
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
        let mut portions: Vec<_> = thread_portions(messages, out).collect();
        try_for_each_parallel(&mut portions, 1, |_, (messages, out)| self.hash_portion(messages, out))
    }

    fn hash_portion(&self, messages: &[&[u8]], out: &mut [Hash]) -> Result<(), Error> {
        // Each thread has two batches in flight.
        let limits = (MAX_BATCH_BYTES as usize / 8, MAX_BATCH_JOBS as usize);
        // The host fills a batch while the device computes the previous one.
        let (mut batch_buffers, mut previous) = (Vec::new(), None::<(BatchBuffers, usize)>);
        hash_batches(self.params.mode(), limits, messages, out, |batch, values| {
            let submitted = match batch {
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
            if let Some((mut buffers, count)) = std::mem::replace(&mut previous, submitted) {
                values.extend(buffers.take(count)?);
                batch_buffers.push(buffers);
            }
            Ok(())
        })?;
        self.batch_buffers.lock().unwrap_or_else(PoisonError::into_inner).extend(batch_buffers);
        Ok(())
    }

    /// Memory for a batch, reused where possible, from `own` or from earlier lists of messages.
    fn buffers(&self, own: &mut Vec<BatchBuffers>, batch: &Batch) -> Result<BatchBuffers, Error> {
        let mut free = self.batch_buffers.lock().unwrap_or_else(PoisonError::into_inner);
        for batch_buffers in [own, &mut free] {
            if let Some(fits) = batch_buffers.iter().position(|buffers| buffers.fits(batch)) {
                return Ok(batch_buffers.swap_remove(fits));
            }
        }
        // Frees buffers that are too small: batches of one caller often have equal sizes.
        let smaller = free.pop();
        drop(free);
        drop(smaller);
        BatchBuffers::new(&self.device, batch)
    }

    fn lock_scratch(&self) -> MutexGuard<'_, Vec<Scratch>> {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Scratch memory for `split`, reused where possible.
    fn scratch(&self, split: InputSplit) -> Result<Scratch, Error> {
        let mut free = self.lock_scratch();
        if let Some(fits) = free.iter().position(|scratch| scratch.fits(split)) {
            return Ok(free.swap_remove(fits));
        }
        // Frees memory that is too small: inputs of one caller often have equal lengths.
        let smaller = free.pop();
        drop(free);
        drop(smaller);
        Scratch::new(&self.device, split)
    }

    /// Memory for a piece of an input, reused where possible.
    fn piece(&self, len: usize) -> Result<WindowBuffer, Error> {
        let mut free = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fits) = free.iter().position(|piece| piece.input.bytes() >= len as u64) {
            return Ok(free.swap_remove(fits));
        }
        // Frees memory that is too small: inputs of one caller often have equal lengths.
        let smaller = free.pop();
        drop(free);
        drop(smaller);
        WindowBuffer::new(&self.device, len)
    }
}

/// A launch of `count` blocks, with the number of threads that every BLAKE3 kernel has.
fn launch_shape(count: u64) -> Shape {
    Shape { blocks: count as u32, threads: GROUP_CHUNKS as u32, shared: 0 }
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
    /// One chunk of this many bytes, in download: the processor hashes it in less time than a launch takes.
    Chunk(usize),
    Tiles(InputSplit),
}

impl Pending<'_> {
    /// Is the digest complete? Waits for at most `timeout`.
    pub(crate) fn is_complete(&self, timeout: Duration) -> Result<bool, Error> {
        self.scratch.values_host.poll(timeout)
    }

    /// Waits for the device.
    pub(crate) fn fetch(self) -> Result<DeviceResult, Error> {
        let Pending { blake3, mut scratch, input, work } = self;
        let fetched = match work {
            Work::Chunk(len) => DeviceResult::Chunk(scratch.values_host.bytes()?[..len].to_vec()),
            Work::Tiles(split) => DeviceResult::Values(scratch.take(split)?),
        };
        blake3.lock_scratch().push(scratch);
        drop(input);
        Ok(fetched)
    }
}

/// A stream, and the memory for the tiles of an input besides the input itself.
pub(super) struct Scratch {
    /// Dropped first: it waits for the device.
    pub(super) stream: Stream,
    rows: Memory,
    values: Memory,
    pub(super) values_host: Pinned,
}

impl Scratch {
    pub(super) fn new(device: &Device, split: InputSplit) -> Result<Scratch, Error> {
        let (context, tiles) = (device.context(), split.tiles());
        let host_bytes = (tiles * VALUE_BYTES).max(CHUNK_LEN as u64) as usize;
        Ok(Scratch {
            stream: context.stream()?,
            rows: context.memory(tiles * split.row() * VALUE_BYTES)?,
            values: context.memory(tiles * VALUE_BYTES)?,
            values_host: context.pinned(host_bytes)?,
        })
    }

    /// Is it large enough for `split`?
    fn fits(&self, split: InputSplit) -> bool {
        self.rows.bytes() >= split.tiles() * split.row() * VALUE_BYTES
            && self.values.bytes() >= split.tiles() * VALUE_BYTES
    }

    /// Starts the download of a chunk.
    fn fetch(&mut self, input: &Memory, offset: u64, len: usize) -> Result<(), Error> {
        if len == 0 { Ok(()) } else { self.stream.download(input, offset, &mut self.values_host, len) }
    }

    /// Starts to compute the values of the tiles of `input` from `offset` on; the first chunk has the number
    /// `counter`.
    pub(super) fn begin(
        &mut self,
        device: &Device,
        params: &Params,
        (input, offset): (&Memory, u64),
        split: InputSplit,
        counter: u64,
    ) -> Result<(), Error> {
        let Scratch { stream, rows, values, values_host } = self;
        // Values of an earlier input must not be taken for results.
        stream.clear(rows, 0, split.tiles() * split.row() * VALUE_BYTES)?;
        stream.clear(values, 0, split.tiles() * VALUE_BYTES)?;
        for window in split.windows() {
            let (count, tail) = chunks(window.end - window.start);
            let counter = counter + window.start / CHUNK_LEN as u64;
            let params = params.bytes([counter, count, tail, 0, 0, split.first_row(window.start)]);
            let input = Arg::At(input, offset + window.start);
            let args = [Arg::Words(&*params), input, Arg::At(rows, 0), Arg::Number(ONE)];
            stream.launch(&device.kernels().leaves, launch_shape(count.div_ceil(GROUP_CHUNKS)), &args)?;
        }
        let (count, tail) = chunks(split.len);
        let bytes = split.tiles() * VALUE_BYTES;
        let params = params.bytes([0, count, tail, split.tile / CHUNK_LEN as u64, split.row(), 0]);
        let args = [Arg::Words(&*params), Arg::At(rows, 0), Arg::At(values, 0), Arg::Number(ONE)];
        stream.launch(&device.kernels().tops, launch_shape(split.tiles()), &args)?;
        stream.download(values, 0, values_host, bytes as usize)
    }

    /// The values of the tiles.
    pub(super) fn take(&mut self, split: InputSplit) -> Result<Vec<ChainingValue>, Error> {
        let bytes = &self.values_host.bytes()?[..(split.tiles() * VALUE_BYTES) as usize];
        check_values(bytes.as_chunks().0.to_vec())
    }
}

/// Memory for a piece of a host input: on the device, and pinned.
pub(super) struct WindowBuffer {
    /// Dropped first: it waits for the device.
    pub(super) scratch: Scratch,
    pub(super) input: Memory,
    /// The host fills one while the device fetches the other.
    transfers: [Pinned; 2],
}

impl WindowBuffer {
    /// Bytes of one transfer.
    const TRANSFER_BYTES: usize = 1 << 20;

    /// Pieces in flight when the device fetches registered bytes.
    const MAX_IN_FLIGHT: usize = 4;

    pub(super) fn new(device: &Device, len: usize) -> Result<WindowBuffer, Error> {
        let (context, transfer) = (device.context(), len.min(WindowBuffer::TRANSFER_BYTES));
        Ok(WindowBuffer {
            scratch: Scratch::new(device, InputSplit::subtree(len as u64, len as u64))?,
            input: context.memory(len as u64)?,
            transfers: [context.pinned(transfer)?, context.pinned(transfer)?],
        })
    }

    /// Copies the bytes to the device, and starts to compute the value of their subtree, which is at `offset` in its
    /// input.
    pub(super) fn begin(&mut self, blake3: &Blake3, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let WindowBuffer { scratch, input, transfers } = self;
        let len = transfers[0].as_ref().len();
        for (number, some) in bytes.chunks(len).enumerate() {
            let transfer = &mut transfers[number % 2];
            transfer.bytes()?[..some.len()].copy_from_slice(some);
            scratch.stream.upload(input, (number * len) as u64, &transfer.source(), some.len())?;
        }
        self.begin_uploaded(blake3, offset, bytes.len())
    }

    /// As `begin`, for `len` registered bytes from `at` on. The drop of the piece waits for them.
    fn begin_registered(
        &mut self,
        blake3: &Blake3,
        bytes: &Registered<'_>,
        at: usize,
        len: usize,
    ) -> Result<(), Error> {
        self.scratch.stream.upload_registered(&self.input, bytes, at, len)?;
        self.begin_uploaded(blake3, at as u64, len)
    }

    /// As `begin`, for `len` bytes that are on the device or in transfer.
    pub(super) fn begin_uploaded(&mut self, blake3: &Blake3, offset: u64, len: usize) -> Result<(), Error> {
        let (split, counter) = (self.split(len), offset / CHUNK_LEN as u64);
        self.scratch.begin(&blake3.device, &blake3.params, (&self.input, 0), split, counter)
    }

    fn split(&self, len: usize) -> InputSplit {
        InputSplit::subtree(len as u64, self.input.bytes())
    }

    pub(super) fn take(&mut self) -> Result<ChainingValue, Error> {
        match self.scratch.take(self.split(1))?[..] {
            [value] => Ok(value),
            _ => Err(Error::Driver { reason: "another number of values than was requested".to_owned() }),
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
    input_host: Pinned,
    values: Memory,
    values_host: Pinned,
}

impl BatchBuffers {
    fn new(device: &Device, batch: &Batch) -> Result<BatchBuffers, Error> {
        let (context, jobs) = (device.context(), batch.jobs.len().next_power_of_two());
        let (bytes, values) =
            (batch.bytes.len().next_power_of_two() + jobs * 16, jobs * VALUE_BYTES as usize);
        Ok(BatchBuffers {
            stream: context.stream()?,
            input: context.memory(bytes as u64)?,
            input_host: context.pinned(bytes)?,
            values: context.memory(values as u64)?,
            values_host: context.pinned(values)?,
        })
    }

    fn fits(&self, batch: &Batch) -> bool {
        let jobs = batch.jobs.len() as u64;
        self.input.bytes() >= batch.bytes.len() as u64 + jobs * 16
            && self.values.bytes() >= jobs * VALUE_BYTES
    }

    /// Starts to compute the values of all chunks of a batch.
    fn begin(&mut self, device: &Device, params: &Params, batch: &Batch) -> Result<(), Error> {
        let BatchBuffers { stream, input, input_host, values, values_host } = self;
        let (jobs, count) = (batch.jobs.as_flattened().as_flattened(), batch.jobs.len() as u64);
        let len = batch.bytes.len();
        let bytes = input_host.bytes()?;
        bytes[..len].copy_from_slice(&batch.bytes);
        bytes[len..len + jobs.len()].copy_from_slice(jobs);
        stream.upload(input, 0, &input_host.source(), len + jobs.len())?;
        // Values of an earlier batch must not be taken for results.
        stream.clear(values, 0, count * VALUE_BYTES)?;
        let params = params.bytes([0, count, 0, 0, 0, 0]);
        let (bytes, jobs) = (Arg::At(input, 0), Arg::At(input, len as u64));
        let args = [Arg::Words(&*params), bytes, jobs, Arg::At(values, 0), Arg::Number(ONE)];
        stream.launch(&device.kernels().messages, launch_shape(count.div_ceil(GROUP_CHUNKS)), &args)?;
        stream.download(values, 0, values_host, (count * VALUE_BYTES) as usize)
    }

    /// The values of `count` chunks.
    fn take(&mut self, count: usize) -> Result<Vec<ChainingValue>, Error> {
        let bytes = &self.values_host.bytes()?[..count * VALUE_BYTES as usize];
        check_values(bytes.as_chunks().0.to_vec())
    }
}
