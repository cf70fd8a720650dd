//! Device memory for one input, besides the input itself: parameters, tree rows, values, and their transfer
//! to the host.

use super::blake3_kernels::Kernels;
use super::error_scope::guarded;
use crate::Error;
use crate::blake3::input_split::{GROUP_CHUNKS, InputSplit, chunks};
use crate::blake3::{Params, VALUE_BYTES, check_values};
use ::wgpu::{
    BindGroup, BindGroupEntry, BindingResource, Buffer, BufferBinding, BufferUsages, CommandEncoder,
    ComputePipeline, Device, PollError, PollStatus, PollType, Queue, SubmissionIndex,
};
use hashmill_hash::blake3::hazmat::ChainingValue;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes from one set of parameters to the next: an alignment that every device accepts.
pub(super) const PARAMS_STRIDE: u64 = 256;

/// Creates a buffer. The caller checks for errors.
pub(super) fn buffer(device: &Device, size: u64, usage: BufferUsages) -> Buffer {
    device.create_buffer(&::wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
}

/// Binds buffers, or parts of them, to a kernel's binding numbers.
pub(super) fn bind<const N: usize>(
    device: &Device,
    pipeline: &ComputePipeline,
    buffers: [(u32, BufferBinding<'_>); N],
) -> BindGroup {
    let entry = |(binding, buffer)| BindGroupEntry { binding, resource: BindingResource::Buffer(buffer) };
    device.create_bind_group(&::wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &buffers.map(entry),
    })
}

/// Runs a kernel once.
pub(super) fn dispatch(
    encoder: &mut CommandEncoder,
    pipeline: &ComputePipeline,
    group: &BindGroup,
    groups: u64,
) {
    let mut pass = encoder.begin_compute_pass(&::wgpu::ComputePassDescriptor::default());
    pass.set_pipeline(pipeline);
    pass.set_bind_group(0, group, &[]);
    pass.dispatch_workgroups(groups as u32, 1, 1);
}

/// Buffers for an input split into a limited number of tiles.
pub(super) struct Scratch {
    device: Device,
    queue: Queue,
    params: Buffer,
    rows: Buffer,
    values: Buffer,
    back: Buffer,
    /// Do its parameters hold a key?
    secret: bool,
}

impl Scratch {
    pub(super) fn new(
        device: &Device,
        queue: &Queue,
        split: InputSplit,
        secret: bool,
    ) -> Result<Scratch, Error> {
        let (tiles, windows) = (split.tiles(), split.windows().count() as u64);
        let rows = tiles * split.row() * VALUE_BYTES;
        let params = (windows + 1) * PARAMS_STRIDE;
        let (device, queue) = (device.clone(), queue.clone());
        guarded(&device.clone(), params + rows + 2 * tiles * VALUE_BYTES, || Scratch {
            params: buffer(&device, params, BufferUsages::UNIFORM | BufferUsages::COPY_DST),
            rows: buffer(&device, rows, BufferUsages::STORAGE | BufferUsages::COPY_DST),
            values: buffer(&device, tiles * VALUE_BYTES, VALUE_USAGES),
            back: buffer(&device, tiles * VALUE_BYTES, BufferUsages::MAP_READ | BufferUsages::COPY_DST),
            device,
            queue,
            secret,
        })
    }

    /// Is it large enough for `split`?
    pub(super) fn fits(&self, split: InputSplit) -> bool {
        let params = (split.windows().count() as u64 + 1) * PARAMS_STRIDE;
        self.params.size() >= params
            && self.rows.size() >= split.tiles() * split.row() * VALUE_BYTES
            && self.values.size() >= split.tiles() * VALUE_BYTES
    }

    /// Starts to compute the values of the tiles of `input` from `offset` on; the first chunk has the number
    /// `counter`.
    pub(super) fn begin(
        &self,
        kernels: &Kernels,
        params: &Params,
        (input, offset): (&Buffer, u64),
        split: InputSplit,
        counter: u64,
    ) -> Result<Readback, Error> {
        guarded(&self.device, 0, || {
            let mut encoder =
                self.device.create_command_encoder(&::wgpu::CommandEncoderDescriptor::default());
            let mut at = 0;
            // Values of an earlier input must not be taken for results.
            encoder.clear_buffer(&self.rows, 0, Some(split.tiles() * split.row() * VALUE_BYTES));
            encoder.clear_buffer(&self.values, 0, Some(split.tiles() * VALUE_BYTES));
            for window in split.windows() {
                let len = window.end - window.start;
                let (count, tail) = chunks(len);
                let counter = counter + window.start / 1024;
                let first = split.first_row(window.start);
                let size = len.next_multiple_of(16).try_into().ok();
                let group = bind(
                    &self.device,
                    &kernels.leaves,
                    [
                        (0, self.params(params, at, [counter, count, tail, 0, 0, first])),
                        (1, BufferBinding { buffer: input, offset: offset + window.start, size }),
                        (2, self.rows.as_entire_buffer_binding()),
                    ],
                );
                dispatch(&mut encoder, &kernels.leaves, &group, count.div_ceil(GROUP_CHUNKS));
                at += PARAMS_STRIDE;
            }
            let (count, tail) = chunks(split.len);
            let group = bind(
                &self.device,
                &kernels.tops,
                [
                    (0, self.params(params, at, [0, count, tail, split.tile / 1024, split.row(), 0])),
                    (2, self.rows.as_entire_buffer_binding()),
                    (3, self.values.as_entire_buffer_binding()),
                ],
            );
            let bytes = split.tiles() * VALUE_BYTES;
            dispatch(&mut encoder, &kernels.tops, &group, split.tiles());
            encoder.copy_buffer_to_buffer(&self.values, 0, &self.back, 0, bytes);
            Readback::begin(&self.queue, encoder, &self.back, bytes)
        })
    }

    fn params(&self, params: &Params, at: u64, numbers: [u64; 6]) -> BufferBinding<'_> {
        self.queue.write_buffer(&self.params, at, &*params.bytes(numbers));
        BufferBinding { buffer: &self.params, offset: at, size: std::num::NonZero::new(Params::LEN as u64) }
    }

    /// Waits for the values in transfer.
    pub(super) fn take(&self, readback: &Readback) -> Result<Vec<ChainingValue>, Error> {
        readback.wait(&self.device)?;
        readback.values(&self.device, &self.back).and_then(check_values)
    }
}

impl Drop for Scratch {
    /// Wipes the key, except for transfer copies of the driver.
    fn drop(&mut self) {
        if self.secret {
            // An error means that the device is lost, and its memory with it.
            let _ = guarded(&self.device, 0, || {
                self.queue.write_buffer(&self.params, 0, &vec![0; self.params.size() as usize]);
                self.queue.submit([]);
            });
        }
    }
}

/// Usages of buffers that kernels write values into.
pub(super) const VALUE_USAGES: BufferUsages =
    BufferUsages::STORAGE.union(BufferUsages::COPY_SRC).union(BufferUsages::COPY_DST);

/// Timeout of one wait. A wait ends with the work or the device. Timeouts must be rare: wgpu 30 panics if
/// another thread sees the work done between the timeout and the next poll (`Readback::is_complete`).
const WAIT_TIMEOUT: Duration = Duration::from_secs(10);

/// Pause between two polls of a thread that waits for a short time.
const POLL_INTERVAL: Duration = Duration::from_micros(100);

/// Milliseconds from the end of the work until its callback must have run.
const MAX_LATE_POLLS: u32 = 1000;

const PENDING: u8 = 0;
const COMPLETE: u8 = 1;
const FAILED: u8 = 2;

/// Values in transfer to the host.
pub(crate) struct Readback {
    submission: SubmissionIndex,
    bytes: u64,
    state: Arc<AtomicU8>,
    /// Number of polls that found the work done before its callback had run.
    late_polls: AtomicU32,
}

impl Readback {
    /// Submits the work, whose last step fills `back`.
    pub(super) fn begin(queue: &Queue, encoder: CommandEncoder, back: &Buffer, bytes: u64) -> Readback {
        let submission = queue.submit([encoder.finish()]);
        let state = Arc::new(AtomicU8::new(PENDING));
        let callback_state = Arc::clone(&state);
        back.map_async(::wgpu::MapMode::Read, 0..bytes, move |result| {
            callback_state.store(if result.is_ok() { COMPLETE } else { FAILED }, Ordering::Release);
        });
        Readback { submission, bytes, state, late_polls: AtomicU32::new(0) }
    }

    /// Are the values complete? Waits for at most `timeout`.
    ///
    /// It polls instead of waiting: after a timeout wgpu 30 panics if another thread sees the work done
    /// meanwhile.
    ///
    /// # Errors
    /// [`Error::Lost`] if they will never be.
    pub(super) fn is_complete(&self, device: &Device, timeout: Duration) -> Result<bool, Error> {
        let began = Instant::now();
        loop {
            if self.check_poll(device.poll(PollType::Poll))? {
                return Ok(true);
            }
            if began.elapsed() >= timeout {
                return Ok(false);
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Waits until the values are complete.
    ///
    /// # Errors
    /// [`Error::Lost`].
    pub(super) fn wait(&self, device: &Device) -> Result<(), Error> {
        loop {
            let submission_index = Some(self.submission.clone());
            let polled = match self.state.load(Ordering::Acquire) {
                PENDING => device.poll(PollType::Wait { submission_index, timeout: Some(WAIT_TIMEOUT) }),
                _ => Ok(PollStatus::Poll),
            };
            if self.check_poll(polled)? {
                return Ok(());
            }
        }
    }

    /// Are the values complete, given the result of a poll?
    fn check_poll(&self, polled: Result<PollStatus, PollError>) -> Result<bool, Error> {
        match (self.state.load(Ordering::Acquire), polled) {
            (COMPLETE, _) => Ok(true),
            (FAILED, _) | (_, Err(PollError::WrongSubmissionIndex(..))) => Err(Error::Lost),
            (_, Ok(PollStatus::Poll) | Err(PollError::Timeout)) => Ok(false),
            // The work is done, and another thread that polled earlier is about to run the callback.
            _ if self.late_polls.fetch_add(1, Ordering::Relaxed) < MAX_LATE_POLLS => {
                thread::sleep(Duration::from_millis(1));
                Ok(false)
            }
            _ => Err(Error::Lost),
        }
    }

    /// The values in `back`, which can be reused afterwards.
    pub(super) fn values(&self, device: &Device, back: &Buffer) -> Result<Vec<ChainingValue>, Error> {
        self.read(device, back, |bytes| bytes.as_chunks::<{ VALUE_BYTES as usize }>().0.to_vec())
    }

    /// Applies `with` to the bytes in `back`, which can be reused afterwards.
    pub(super) fn read<T>(
        &self,
        device: &Device,
        back: &Buffer,
        with: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, Error> {
        let read = guarded(device, 0, || {
            let read = back.get_mapped_range(0..self.bytes).map(|range| with(&range));
            back.unmap();
            read
        })?;
        read.map_err(|error| Error::Driver { reason: error.to_string() })
    }
}
