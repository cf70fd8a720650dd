//! What a piece of work needs on a device beside its input: parameters, rows of the tree, values, and a way back for them.

use super::blake3::Kernels;
use super::guarded::guarded;
use crate::Error;
use crate::blake3::{Params, VALUE, all};
use crate::cut::{Cut, WIDTH, chunks};
use ::wgpu::{
    BindGroup, BindGroupEntry, BindingResource, Buffer, BufferBinding, BufferUsages, CommandEncoder,
    ComputePipeline, Device, PollError, PollStatus, PollType, Queue, SubmissionIndex,
};
use hashmill_hash::blake3::hazmat::ChainingValue;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes from one set of parameters to the next, as every device wants it.
pub(super) const STRIDE: u64 = 256;

/// Makes a buffer without contents. Whoever calls this asks what was refused.
pub(super) fn buffer(device: &Device, size: u64, usage: BufferUsages) -> Buffer {
    device.create_buffer(&::wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
}

/// Binds whole buffers, or parts of them, to the numbers that a kernel knows them by.
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

/// Buffers for inputs that are cut into so many pieces at most.
pub(super) struct Scratch {
    device: Device,
    queue: Queue,
    params: Buffer,
    rows: Buffer,
    values: Buffer,
    back: Buffer,
    /// Its parameters hold a key.
    secret: bool,
}

impl Scratch {
    pub(super) fn new(device: &Device, queue: &Queue, cut: Cut, secret: bool) -> Result<Scratch, Error> {
        let (tiles, windows) = (cut.tiles(), cut.windows().count() as u64);
        let rows = tiles * cut.row() * VALUE;
        let params = (windows + 1) * STRIDE;
        let (device, queue) = (device.clone(), queue.clone());
        guarded(&device.clone(), params + rows + 2 * tiles * VALUE, || Scratch {
            params: buffer(&device, params, BufferUsages::UNIFORM | BufferUsages::COPY_DST),
            rows: buffer(&device, rows, BufferUsages::STORAGE | BufferUsages::COPY_DST),
            values: buffer(&device, tiles * VALUE, VALUES),
            back: buffer(&device, tiles * VALUE, BufferUsages::MAP_READ | BufferUsages::COPY_DST),
            device,
            queue,
            secret,
        })
    }

    /// Whether it has room for this.
    pub(super) fn fits(&self, cut: Cut) -> bool {
        let params = (cut.windows().count() as u64 + 1) * STRIDE;
        self.params.size() >= params
            && self.rows.size() >= cut.tiles() * cut.row() * VALUE
            && self.values.size() >= cut.tiles() * VALUE
    }

    /// Begins to compute the values of the tiles of what lies in `input` from `offset` on, whose first chunk has the number
    /// `counter`.
    pub(super) fn begin(
        &self,
        kernels: &Kernels,
        params: &Params,
        (input, offset): (&Buffer, u64),
        cut: Cut,
        counter: u64,
    ) -> Result<Way, Error> {
        guarded(&self.device, 0, || {
            let mut encoder =
                self.device.create_command_encoder(&::wgpu::CommandEncoderDescriptor::default());
            let mut at = 0;
            // What an earlier input has left must not pass for an answer.
            encoder.clear_buffer(&self.rows, 0, Some(cut.tiles() * cut.row() * VALUE));
            encoder.clear_buffer(&self.values, 0, Some(cut.tiles() * VALUE));
            for window in cut.windows() {
                let len = window.end - window.start;
                let (count, tail) = chunks(len);
                let counter = counter + window.start / 1024;
                let first = cut.first_row(window.start);
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
                dispatch(&mut encoder, &kernels.leaves, &group, count.div_ceil(WIDTH));
                at += STRIDE;
            }
            let (count, tail) = chunks(cut.len);
            let group = bind(
                &self.device,
                &kernels.tops,
                [
                    (0, self.params(params, at, [0, count, tail, cut.tile / 1024, cut.row(), 0])),
                    (2, self.rows.as_entire_buffer_binding()),
                    (3, self.values.as_entire_buffer_binding()),
                ],
            );
            let bytes = cut.tiles() * VALUE;
            dispatch(&mut encoder, &kernels.tops, &group, cut.tiles());
            encoder.copy_buffer_to_buffer(&self.values, 0, &self.back, 0, bytes);
            Way::begin(&self.queue, encoder, &self.back, bytes)
        })
    }

    fn params(&self, params: &Params, at: u64, numbers: [u64; 6]) -> BufferBinding<'_> {
        self.queue.write_buffer(&self.params, at, &*params.bytes(numbers));
        BufferBinding { buffer: &self.params, offset: at, size: std::num::NonZero::new(Params::LEN as u64) }
    }

    /// What a way of this scratch has brought back.
    pub(super) fn take(&self, way: &Way) -> Result<Vec<ChainingValue>, Error> {
        way.wait(&self.device)?;
        way.values(&self.device, &self.back).and_then(all)
    }
}

impl Drop for Scratch {
    /// Writes over the key. Copies that the driver made on the way are out of reach.
    fn drop(&mut self) {
        if self.secret {
            // A device that is gone has no key either.
            let _ = guarded(&self.device, 0, || {
                self.queue.write_buffer(&self.params, 0, &vec![0; self.params.size() as usize]);
                self.queue.submit([]);
            });
        }
    }
}

/// What kernels write values into.
pub(super) const VALUES: BufferUsages =
    BufferUsages::STORAGE.union(BufferUsages::COPY_SRC).union(BufferUsages::COPY_DST);

/// How long a thread waits before it looks around. A wait ends when the work does, or the device. One that ends in vain must be rare:
/// wgpu 30 panics where another thread sees the work done between that end and its look at the device (`Way::look`).
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a thread that looks for a short time sleeps between two looks.
const PAUSE: Duration = Duration::from_micros(100);

/// So many milliseconds after work is done, whoever gave it has been told.
const TELLING: u32 = 1000;

const UNDER_WAY: u8 = 0;
const THERE: u8 = 1;
const NEVER: u8 = 2;

/// Values that are on their way back.
pub(super) struct Way {
    submission: SubmissionIndex,
    bytes: u64,
    state: Arc<AtomicU8>,
    /// How often the work was done, and nothing was told of it.
    untold: AtomicU32,
}

impl Way {
    /// Hands over the work, whose last step fills `back`.
    pub(super) fn begin(queue: &Queue, encoder: CommandEncoder, back: &Buffer, bytes: u64) -> Way {
        let submission = queue.submit([encoder.finish()]);
        let state = Arc::new(AtomicU8::new(UNDER_WAY));
        let told = Arc::clone(&state);
        back.map_async(::wgpu::MapMode::Read, 0..bytes, move |result| {
            told.store(if result.is_ok() { THERE } else { NEVER }, Ordering::Release);
        });
        Way { submission, bytes, state, untold: AtomicU32::new(0) }
    }

    /// Whether they are there, after waiting so long at most.
    ///
    /// Asks again and again: a wait that ends in vain is what wgpu 30 panics after, where another thread sees the work done meanwhile.
    ///
    /// # Errors
    /// [`Error::Lost`]: they will never be.
    pub(super) fn look(&self, device: &Device, timeout: Duration) -> Result<bool, Error> {
        let began = Instant::now();
        loop {
            if self.told(device.poll(PollType::Poll))? {
                return Ok(true);
            }
            if began.elapsed() >= timeout {
                return Ok(false);
            }
            thread::sleep(PAUSE);
        }
    }

    /// Waits until they are there.
    ///
    /// # Errors
    /// [`Error::Lost`].
    pub(super) fn wait(&self, device: &Device) -> Result<(), Error> {
        loop {
            let submission_index = Some(self.submission.clone());
            let polled = match self.state.load(Ordering::Acquire) {
                UNDER_WAY => device.poll(PollType::Wait { submission_index, timeout: Some(PATIENCE) }),
                _ => Ok(PollStatus::Poll),
            };
            if self.told(polled)? {
                return Ok(());
            }
        }
    }

    /// Whether they are there, after a look at the device.
    fn told(&self, polled: Result<PollStatus, PollError>) -> Result<bool, Error> {
        match (self.state.load(Ordering::Acquire), polled) {
            (THERE, _) => Ok(true),
            (NEVER, _) | (_, Err(PollError::WrongSubmissionIndex(..))) => Err(Error::Lost),
            (_, Ok(PollStatus::Poll) | Err(PollError::Timeout)) => Ok(false),
            // The work is done, and another thread that saw it before is about to tell.
            _ if self.untold.fetch_add(1, Ordering::Relaxed) < TELLING => {
                thread::sleep(Duration::from_millis(1));
                Ok(false)
            }
            _ => Err(Error::Lost),
        }
    }

    /// The values in `back`, which may be used again afterwards.
    pub(super) fn values(&self, device: &Device, back: &Buffer) -> Result<Vec<ChainingValue>, Error> {
        self.read(device, back, |bytes| bytes.as_chunks::<{ VALUE as usize }>().0.to_vec())
    }

    /// What `with` makes of the bytes in `back`, which may be used again afterwards.
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
