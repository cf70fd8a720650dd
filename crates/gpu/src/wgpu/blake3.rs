//! BLAKE3 by wgpu: inputs on a device, inputs of the host, and many short messages.

use super::error_scope::guarded;
use super::scratch::{Readback, Scratch, VALUE_USAGES, bind, buffer, dispatch};
use super::{Buffer, Device};
use crate::Error;
use crate::blake3::input_split::{GROUP_CHUNKS, InputSplit};
use crate::blake3::{
    Batch, DeviceResult, MAX_BATCH_BYTES, MAX_BATCH_JOBS, Params, buffer_error, check_values, hash_batches,
    piece_len,
};
use ::wgpu::BufferUsages;
use hashmill_hash::argon2::HashError;
use hashmill_hash::blake3::hazmat::ChainingValue;
use hashmill_hash::blake3::{CHUNK_LEN, Hash};
use hashmill_hash::engine::Stop;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// BLAKE3 in one mode, on one device. Threads share it.
///
/// The key, if any, stays in the device's memory until this is dropped.
pub(crate) struct Blake3 {
    device: Device,
    params: Params,
    /// Free memory of earlier inputs.
    scratch: Mutex<Vec<Scratch>>,
}

impl Blake3 {
    /// Compiles the kernels on first use of the device, which is not tested.
    pub(crate) fn new(device: &Device, params: Params) -> Result<Blake3, Error> {
        device.kernels()?;
        Ok(Blake3 { device: device.clone(), params, scratch: Mutex::default() })
    }

    pub(crate) fn params(&self) -> &Params {
        &self.params
    }

    /// Starts to hash `len` bytes of a buffer, from `offset` on.
    pub(crate) fn start(&self, buffer: &Buffer, offset: u64, len: u64) -> Result<Pending<'_>, Error> {
        if !buffer.belongs_to(&self.device) {
            return Err(buffer_error("it is another device's".to_owned()));
        }
        let buffer = buffer.raw();
        check(buffer, offset, len)?;
        let work = if len <= CHUNK_LEN as u64 {
            self.fetch(buffer, offset, len)?
        } else {
            let split = InputSplit::for_input(len, self.device.info().binding)
                .ok_or_else(|| buffer_error(format!("{len} bytes are more than this device can be given")))?;
            let scratch = self.scratch(split)?;
            let readback = scratch.begin(self.device.kernels()?, &self.params, (buffer, offset), split, 0)?;
            Work::Tiles(scratch, readback)
        };
        Ok(Pending { blake3: self, work })
    }

    /// The values of the pieces of more than a chunk in the memory of the host. One piece is copied while the
    /// device hashes another.
    pub(crate) fn pieces(&self, bytes: &[u8], stop: &Stop) -> Result<Vec<ChainingValue>, Error> {
        let bound = usize::try_from(self.device.info().binding).unwrap_or(usize::MAX);
        let len = piece_len(bytes.len()).min(1 << bound.max(CHUNK_LEN).ilog2());
        let mut memory = [Window::new(self, len)?, Window::new(self, len)?];
        let (mut values, mut before) = (Vec::new(), None::<(usize, Readback)>);
        for (number, piece) in bytes.chunks(len).enumerate() {
            if stop.is_set() {
                return Err(HashError::Stopped.into());
            }
            let turn = number % 2;
            let readback = memory[turn].begin(self, (number * len) as u64, piece)?;
            if let Some((turn, readback)) = before.replace((turn, readback)) {
                values.push(memory[turn].value(&readback)?);
            }
        }
        if let Some((turn, readback)) = before {
            values.push(memory[turn].value(&readback)?);
        }
        Ok(values)
    }

    /// The digests of many messages in the memory of the host.
    pub(crate) fn hash_many(&self, messages: &[&[u8]], out: &mut [Hash]) -> Result<(), Error> {
        let binding = self.device.info().binding;
        let limits = (binding.min(MAX_BATCH_BYTES) as usize, (binding / 32).min(MAX_BATCH_JOBS) as usize);
        hash_batches(self.params.mode(), limits, messages, out, |batch, values| {
            batch.map_or(Ok(()), |batch| self.run(batch, values))
        })
    }

    /// Hashes a batch, and empties it.
    fn run(&self, batch: &mut Batch, values: &mut Vec<ChainingValue>) -> Result<(), Error> {
        let count = batch.jobs.len() as u64;
        // A buffer must not be empty.
        batch.bytes.resize(batch.bytes.len().max(16), 0);
        let (device, queue) = self.device.raw();
        let kernels = self.device.kernels()?;
        let requested = batch.bytes.len() as u64 + count * 80;
        let (back, readback) = guarded(device, requested, || {
            let new_buffer = |size: usize, usage| buffer(device, size as u64, usage);
            let storage = BufferUsages::STORAGE;
            let params = new_buffer(Params::LEN, BufferUsages::UNIFORM | BufferUsages::COPY_DST);
            let input = new_buffer(batch.bytes.len(), storage | BufferUsages::COPY_DST);
            let jobs = new_buffer(batch.jobs.len() * 16, storage | BufferUsages::COPY_DST);
            // New buffers are zero.
            let digests = new_buffer(batch.jobs.len() * 32, VALUE_USAGES);
            let back = new_buffer(batch.jobs.len() * 32, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
            queue.write_buffer(&params, 0, &*self.params.bytes([0, count, 0, 0, 0, 0]));
            queue.write_buffer(&input, 0, &batch.bytes);
            queue.write_buffer(&jobs, 0, batch.jobs.as_flattened().as_flattened());
            let mut encoder = device.create_command_encoder(&::wgpu::CommandEncoderDescriptor::default());
            let buffers = [(0, &params), (1, &input), (3, &digests), (4, &jobs)]
                .map(|(number, buffer)| (number, buffer.as_entire_buffer_binding()));
            let group = bind(device, &kernels.messages, buffers);
            dispatch(&mut encoder, &kernels.messages, &group, count.div_ceil(GROUP_CHUNKS));
            encoder.clear_buffer(&params, 0, None);
            encoder.copy_buffer_to_buffer(&digests, 0, &back, 0, count * 32);
            let readback = Readback::begin(queue, encoder, &back, count * 32);
            (back, readback)
        })?;
        readback.wait(device)?;
        values.extend(readback.values(device, &back).and_then(check_values)?);
        batch.jobs.clear();
        batch.bytes.clear();
        Ok(())
    }

    /// Downloads an input of one chunk: the processor hashes it in less time than a launch takes.
    fn fetch(&self, from: &::wgpu::Buffer, offset: u64, len: u64) -> Result<Work, Error> {
        if len == 0 {
            return Ok(Work::Empty);
        }
        let (device, queue) = self.device.raw();
        let size = len.next_multiple_of(32);
        let (back, readback) = guarded(device, size, || {
            let back = buffer(device, size, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
            let mut encoder = device.create_command_encoder(&::wgpu::CommandEncoderDescriptor::default());
            encoder.copy_buffer_to_buffer(from, offset, &back, 0, len.next_multiple_of(4));
            let readback = Readback::begin(queue, encoder, &back, size);
            (back, readback)
        })?;
        Ok(Work::Chunk(back, readback, len as usize))
    }

    fn lock_scratch(&self) -> std::sync::MutexGuard<'_, Vec<Scratch>> {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Scratch memory for `split`, reused where possible.
    fn scratch(&self, split: InputSplit) -> Result<Scratch, Error> {
        let mut free = self.lock_scratch();
        if let Some(fits) = free.iter().position(|scratch| scratch.fits(split)) {
            return Ok(free.swap_remove(fits));
        }
        // Frees scratch memory that is too small: inputs of one caller often have equal lengths.
        let smaller = free.pop();
        drop(free);
        drop(smaller);
        self.new_scratch(split)
    }

    fn new_scratch(&self, split: InputSplit) -> Result<Scratch, Error> {
        let (device, queue) = self.device.raw();
        Scratch::new(device, queue, split, self.params.is_secret())
    }
}

/// Refuses ranges that kernels cannot read: see [`hash_buffer`](crate::Blake3::hash_buffer).
fn check(buffer: &::wgpu::Buffer, offset: u64, len: u64) -> Result<(), Error> {
    const ALIGNED: u64 = 256;
    let end = offset.checked_add(len).and_then(|end| end.checked_next_multiple_of(16));
    if !offset.is_multiple_of(ALIGNED) {
        return Err(buffer_error(format!("it is read from {offset} on, which is no multiple of {ALIGNED}")));
    }
    if end.is_none_or(|end| end > buffer.size()) {
        let size = buffer.size();
        return Err(buffer_error(format!(
            "{len} bytes from {offset} on, and those up to a multiple of 16, are not in its {size}"
        )));
    }
    let needs = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
    if !buffer.usage().contains(needs) {
        return Err(buffer_error("it lacks the usages STORAGE and COPY_SRC".to_owned()));
    }
    Ok(())
}

/// Memory on the device for a subtree of at most `len` bytes.
pub(super) struct Window {
    len: u64,
    input: ::wgpu::Buffer,
    scratch: Scratch,
}

impl Window {
    pub(super) fn new(blake3: &Blake3, len: usize) -> Result<Window, Error> {
        let len = len as u64;
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        let input = blake3.device.guarded(len, |device, _| buffer(device, len, usage))?;
        Ok(Window { len, input, scratch: blake3.new_scratch(InputSplit::subtree(len, len))? })
    }

    /// Copies the bytes to the device, and starts to compute the value of their subtree, which is at `offset` in
    /// its input.
    pub(super) fn begin(&mut self, blake3: &Blake3, offset: u64, bytes: &[u8]) -> Result<Readback, Error> {
        // Only whole words can be copied.
        let (words, rest) = bytes.as_chunks::<4>();
        blake3.device.guarded(0, |_, queue| {
            queue.write_buffer(&self.input, 0, words.as_flattened());
            if !rest.is_empty() {
                let mut last = [0; 4];
                last[..rest.len()].copy_from_slice(rest);
                queue.write_buffer(&self.input, (words.len() * 4) as u64, &last);
            }
        })?;
        let (split, counter) = (InputSplit::subtree(bytes.len() as u64, self.len), offset / CHUNK_LEN as u64);
        self.scratch.begin(blake3.device.kernels()?, &blake3.params, (&self.input, 0), split, counter)
    }

    /// Is the value complete? Waits for at most `timeout`.
    pub(super) fn is_complete(
        &self,
        blake3: &Blake3,
        readback: &Readback,
        timeout: Duration,
    ) -> Result<bool, Error> {
        readback.is_complete(blake3.device.raw().0, timeout)
    }

    /// Waits for the value.
    pub(super) fn value(&mut self, readback: &Readback) -> Result<ChainingValue, Error> {
        match self.scratch.take(readback)?[..] {
            [value] => Ok(value),
            _ => Err(Error::Driver { reason: "another number of values than was requested".to_owned() }),
        }
    }
}

/// An input whose digest is being computed.
pub(crate) struct Pending<'a> {
    blake3: &'a Blake3,
    work: Work,
}

enum Work {
    /// An empty input.
    Empty,
    /// One chunk in transfer to the host.
    Chunk(::wgpu::Buffer, Readback, usize),
    Tiles(Scratch, Readback),
}

impl Pending<'_> {
    /// Is the digest complete? Waits for at most `timeout`.
    pub(crate) fn is_complete(&self, timeout: Duration) -> Result<bool, Error> {
        match &self.work {
            Work::Empty => Ok(true),
            Work::Chunk(_, readback, _) | Work::Tiles(_, readback) => {
                readback.is_complete(self.blake3.device.raw().0, timeout)
            }
        }
    }

    /// Waits for the device.
    pub(crate) fn fetch(self) -> Result<DeviceResult, Error> {
        let Pending { blake3, work } = self;
        Ok(match work {
            Work::Empty => DeviceResult::Chunk(Vec::new()),
            Work::Chunk(back, readback, len) => {
                let (device, _) = blake3.device.raw();
                readback.wait(device)?;
                let mut bytes = readback.values(device, &back)?.into_flattened();
                bytes.truncate(len);
                DeviceResult::Chunk(bytes)
            }
            Work::Tiles(scratch, readback) => {
                let values = scratch.take(&readback)?;
                blake3.lock_scratch().push(scratch);
                DeviceResult::Values(values)
            }
        })
    }
}
