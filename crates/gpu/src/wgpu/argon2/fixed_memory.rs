//! Device memory for a fixed number of Argon2 hashes, with its transfers.

use super::kernels::Kernels;
use crate::Error;
use crate::argon2::schedule::{
    BLOCK_BYTES, KernelParams, SegmentRange, segment_blocks, slice_group, table_slices,
};
use crate::argon2::{self, MAX_RANGES, Words, allocate_with_backoff, device_word_index, in_standard_order};
use crate::wgpu::error_scope::guarded;
use crate::wgpu::scratch::{PARAMS_STRIDE, Readback, buffer};
use ::wgpu::{
    BindGroup, BindGroupEntry, BindingResource, Buffer, BufferBinding, BufferUsages, CommandEncoder,
    ComputePass, ComputePassDescriptor, Device, Queue,
};
use hashmill_hash::argon2::{Params, Stop};
use std::num::NonZero;
use zeroize::Zeroizing;

/// Workgroups in a row of the grid, as in the kernels.
const ROW: u32 = 1 << 15;

/// Memory for the hashes that one kernel addresses.
struct MemoryPart {
    /// Lanes of all its hashes.
    lane_count: u32,
    slices: [Buffer; 4],
    params: Buffer,
    table: Buffer,
    progress: Buffer,
    last_back: Buffer,
    group: BindGroup,
}

impl MemoryPart {
    fn new(device: &Device, kernels: &Kernels, params: Params, hashes: u32) -> Result<MemoryPart, Error> {
        let lane_count = u64::from(hashes) * u64::from(params.lanes());
        let slice = lane_count * u64::from(segment_blocks(params)) * BLOCK_BYTES;
        guarded(device, bytes(params, hashes), || {
            let new_buffer = |size, usage| buffer(device, size, usage | BufferUsages::COPY_DST);
            let both = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
            let slices = [(); 4].map(|()| new_buffer(slice, both));
            let params_buffer = new_buffer(params_buffer_bytes(), BufferUsages::UNIFORM);
            let (table, progress) =
                (new_buffer(reference_table_bytes(params), both), new_buffer(lane_count * 4, both));
            let window = |buffer, size| BufferBinding { buffer, offset: 0, size: NonZero::new(size) };
            let [s0, s1, s2, s3, progress_binding] =
                [&slices[0], &slices[1], &slices[2], &slices[3], &progress]
                    .map(Buffer::as_entire_buffer_binding);
            let (params_binding, table_binding) = (
                window(&params_buffer, KernelParams::LEN as u64),
                window(&table, slice_table_bytes(params).min(table.size())),
            );
            let entries: Vec<_> = (0..)
                .zip([params_binding, s0, s1, s2, s3, table_binding, progress_binding])
                .map(|(binding, buffer)| BindGroupEntry {
                    binding,
                    resource: BindingResource::Buffer(buffer),
                })
                .collect();
            let group = device.create_bind_group(&::wgpu::BindGroupDescriptor {
                label: None,
                layout: &kernels.layout,
                entries: &entries,
            });
            let last_back = new_buffer(lane_count * BLOCK_BYTES, BufferUsages::MAP_READ);
            let lane_count = lane_count as u32;
            MemoryPart { lane_count, slices, params: params_buffer, table, progress, last_back, group }
        })
    }
}

/// Runs a kernel in `groups` workgroups; `at` has the offsets of its parameters and of its slice of the
/// table.
fn dispatch(pass: &mut ComputePass<'_>, part: &MemoryPart, at: [u32; 2], groups: u32) {
    pass.set_bind_group(0, &part.group, &at);
    pass.dispatch_workgroups(groups.min(ROW), groups.div_ceil(ROW), 1);
}

/// Device memory for a fixed number of hashes, in parts that are filled together.
pub(crate) struct FixedMemory {
    device: Device,
    queue: Queue,
    kernels: Kernels,
    params: Params,
    parts: Vec<MemoryPart>,
    /// The slice group whose references are in the tables.
    loaded_slice_group: Option<u32>,
    /// Progress of all parts in transfer to the host, for two submissions in turn.
    progress_back: [Buffer; 2],
}

impl FixedMemory {
    /// One part for each of these numbers of hashes, or fewer if memory does not suffice.
    pub(super) fn new(
        (device, queue): (&Device, &Queue),
        kernels: &Kernels,
        params: Params,
        hashes: &[u32],
    ) -> Result<FixedMemory, Error> {
        let parts = allocate_with_backoff(hashes, |hashes| MemoryPart::new(device, kernels, params, hashes))?;
        let progress_bytes: u64 = parts.iter().map(|part| u64::from(part.lane_count) * 4).sum();
        let progress_back = guarded(device, 2 * progress_bytes, || {
            [(); 2].map(|()| buffer(device, progress_bytes, BufferUsages::MAP_READ | BufferUsages::COPY_DST))
        })?;
        let (device, queue, kernels) = (device.clone(), queue.clone(), kernels.clone());
        Ok(FixedMemory { device, queue, kernels, params, parts, loaded_slice_group: None, progress_back })
    }

    /// Computes the references of a slice group in each part, and reads them back: the only check that the kernel
    /// ran.
    fn load_references(&self, number: u32) -> Result<(), Error> {
        // No block refers to this one.
        const NONE: u8 = 0xff;
        let (params, slices): (_, Vec<_>) = (self.params, slice_group(self.params, number).collect());
        let groups = segment_blocks(params).div_ceil(128) * params.lanes();
        for part in &self.parts {
            let bytes = part.table.size();
            let (back, readback) = guarded(&self.device, bytes, || {
                self.queue.write_buffer(&part.table, 0, &vec![NONE; bytes as usize]);
                let mut table = (0..).step_by(slice_table_stride(params) as usize);
                for some in slices.chunks(MAX_RANGES) {
                    self.write_params(part, 1, some, 0);
                    let mut encoder = self.encoder();
                    for (at, table) in (0..).step_by(PARAMS_STRIDE as usize).zip(&mut table).take(some.len())
                    {
                        let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
                        pass.set_pipeline(&self.kernels.references);
                        dispatch(&mut pass, part, [at, table], groups);
                    }
                    self.queue.submit([encoder.finish()]);
                }
                let back = buffer(&self.device, bytes, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
                let mut encoder = self.encoder();
                encoder.copy_buffer_to_buffer(&part.table, 0, &back, 0, bytes);
                let readback = Readback::begin(&self.queue, encoder, &back, bytes);
                (back, readback)
            })?;
            readback.wait(&self.device)?;
            let is_complete = readback.read(&self.device, &back, |bytes| {
                let mut slices = bytes.chunks(slice_table_stride(params) as usize).take(slices.len());
                slices.all(|slice| {
                    !slice[..slice_table_bytes(params) as usize].as_chunks().0.contains(&[NONE; 4])
                })
            })?;
            if !is_complete {
                return Err(incomplete_kernel_error());
            }
        }
        Ok(())
    }

    /// Writes the kernels' parameters for ranges, the first of which is number `step`, for `lane_count` lanes in
    /// a part.
    fn write_params(&self, part: &MemoryPart, lane_count: u32, ranges: &[SegmentRange], step: u32) {
        let (params, mut bytes) = (KernelParams::new(self.params, lane_count), Vec::new());
        for (range, step) in ranges.iter().zip(step..) {
            bytes.extend(params.bytes(*range, step));
            bytes.resize(bytes.len().next_multiple_of(PARAMS_STRIDE as usize), 0);
        }
        self.queue.write_buffer(&part.params, 0, &bytes);
    }

    /// The number of hashes in each part.
    pub(super) fn hashes(&self) -> impl Iterator<Item = u32> {
        self.parts.iter().map(|part| part.lane_count / self.params.lanes())
    }

    /// The parts that hold the first `lane_count` lanes of all hashes, with the number of lanes in each.
    fn used_parts(&self, mut lane_count: u32) -> impl Iterator<Item = (&MemoryPart, u32)> {
        let share = move |part: &MemoryPart| {
            let share = part.lane_count.min(lane_count);
            lane_count -= share;
            share
        };
        let shares = self.parts.iter().scan(share, |share, part| Some((part, share(part))));
        shares.take_while(|&(_, share)| share > 0)
    }

    fn encoder(&self) -> CommandEncoder {
        self.device.create_command_encoder(&::wgpu::CommandEncoderDescriptor::default())
    }
}

impl argon2::LaneMemory for FixedMemory {
    type Submission = Readback;

    fn width(&self) -> usize {
        self.hashes().map(|hashes| hashes as usize).sum()
    }

    /// Writes first blocks, two per lane, and clears the progress of these lanes.
    fn upload_first_blocks(&mut self, blocks: &[Words]) -> Result<(), Error> {
        let stride = u64::from(segment_blocks(self.params)) * BLOCK_BYTES;
        let mut lanes = blocks.as_chunks::<2>().0;
        guarded(&self.device, 0, || {
            let mut bytes = Zeroizing::new([0; 2 * BLOCK_BYTES as usize]);
            let mut encoder = self.encoder();
            for (part, lane_count) in self.used_parts(lanes.len() as u32) {
                let (here, rest) = lanes.split_at(lane_count as usize);
                lanes = rest;
                for (two, at) in here.iter().zip((0..).step_by(stride as usize)) {
                    for (words, bytes) in two.iter().zip(bytes.chunks_mut(BLOCK_BYTES as usize)) {
                        for (word, value) in words.iter().enumerate() {
                            bytes[8 * device_word_index(word)..][..8].copy_from_slice(&value.to_le_bytes());
                        }
                    }
                    self.queue.write_buffer(&part.slices[0], at, &*bytes);
                }
                encoder.clear_buffer(&part.progress, 0, None);
            }
            self.queue.submit([encoder.finish()]);
        })
    }

    /// Submits ranges, the first of which is number `step`, for `lane_count` lanes of all hashes. The result
    /// transfers the progress.
    ///
    /// All parts are filled at the same time. wgpu inserts a barrier before each use of a buffer that was written
    /// earlier in the same pass, and a barrier waits for all work, not only for that buffer. So a pass uses each buffer
    /// once: it has one range of all parts, and one barrier at its beginning. For the same reason each part has its own
    /// table.
    fn submit_fill(
        &mut self,
        lane_count: u32,
        ranges: &[SegmentRange],
        step: u32,
        buffer_set: usize,
    ) -> Result<Readback, Error> {
        assert!(ranges.len() <= MAX_RANGES, "the buffer of parameters has space for them");
        // All ranges of a submission share one table.
        let wanted = ranges.iter().find_map(|range| range.in_table(self.params));
        if let Some((wanted, _)) = wanted.filter(|(wanted, _)| self.loaded_slice_group != Some(*wanted)) {
            self.loaded_slice_group = None;
            self.load_references(wanted)?;
            self.loaded_slice_group = Some(wanted);
        }
        guarded(&self.device, 0, || {
            for (part, lane_count) in self.used_parts(lane_count) {
                self.write_params(part, lane_count, ranges, step);
            }
            let mut encoder = self.encoder();
            for (range, at) in ranges.iter().zip((0..).step_by(PARAMS_STRIDE as usize)) {
                let slice = range.in_table(self.params).map_or(0, |(_, slice)| slice);
                let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
                pass.set_pipeline(&self.kernels.fill);
                for (part, lane_count) in self.used_parts(lane_count) {
                    dispatch(
                        &mut pass,
                        part,
                        [at, slice * slice_table_stride(self.params) as u32],
                        lane_count,
                    );
                }
            }
            let (back, mut bytes) = (&self.progress_back[buffer_set], 0);
            for (part, lane_count) in self.used_parts(lane_count) {
                let len = u64::from(lane_count) * 4;
                encoder.copy_buffer_to_buffer(&part.progress, 0, back, bytes, len);
                bytes += len;
            }
            Readback::begin(&self.queue, encoder, back, bytes)
        })
    }

    /// Waits until these ranges and all before them have been computed: `steps` in all.
    ///
    /// # Errors
    /// [`Error::Driver`] if a kernel did not run to its end; [`Error::Lost`].
    fn wait_for_fill(
        &mut self,
        readback: &Readback,
        steps: u32,
        buffer_set: usize,
        _: &Stop,
    ) -> Result<(), Error> {
        readback.wait(&self.device)?;
        let all = |bytes: &[u8]| bytes.as_chunks().0.iter().all(|lane| u32::from_le_bytes(*lane) == steps);
        if readback.read(&self.device, &self.progress_back[buffer_set], all)? {
            return Ok(());
        }
        Err(incomplete_kernel_error())
    }

    fn last_blocks(&mut self, lane_count: u32) -> Result<Zeroizing<Vec<Words>>, Error> {
        let segment = u64::from(segment_blocks(self.params));
        let readbacks = guarded(&self.device, 0, || {
            let readback = |(part, lane_count): (&MemoryPart, u32)| {
                let (lane_count, mut encoder) = (u64::from(lane_count), self.encoder());
                for stream in 0..lane_count {
                    let (from, to) = (((stream + 1) * segment - 1) * BLOCK_BYTES, stream * BLOCK_BYTES);
                    encoder.copy_buffer_to_buffer(&part.slices[3], from, &part.last_back, to, BLOCK_BYTES);
                }
                Readback::begin(&self.queue, encoder, &part.last_back, lane_count * BLOCK_BYTES)
            };
            self.used_parts(lane_count).map(readback).collect::<Vec<_>>()
        })?;
        // All are unmapped, even if one fails.
        let read = self.parts.iter().zip(&readbacks).map(|(part, readback)| {
            readback.wait(&self.device)?;
            readback.read(&self.device, &part.last_back, |bytes| {
                Zeroizing::new(bytes.chunks(BLOCK_BYTES as usize).map(in_standard_order).collect::<Vec<_>>())
            })
        });
        let mut last = Zeroizing::new(Vec::with_capacity(lane_count as usize));
        for part in read.collect::<Vec<_>>() {
            last.extend_from_slice(&part?);
        }
        Ok(last)
    }

    /// Wipes the memory of `lane_count` lanes, after all earlier submissions. Does not wait.
    fn wipe(&mut self, lane_count: u32) -> Result<(), Error> {
        guarded(&self.device, 0, || {
            let mut encoder = self.encoder();
            for (part, lane_count) in self.used_parts(lane_count) {
                let bytes = u64::from(lane_count) * BLOCK_BYTES;
                for slice in &part.slices {
                    encoder.clear_buffer(slice, 0, Some(bytes * u64::from(segment_blocks(self.params))));
                }
                encoder.clear_buffer(&part.last_back, 0, Some(bytes));
            }
            self.queue.submit([encoder.finish()]);
        })
    }
}

fn incomplete_kernel_error() -> Error {
    Error::Driver { reason: "a kernel did not run to its end".to_owned() }
}

/// Bytes on the device for a part of `hashes` hashes.
pub(super) fn bytes(params: Params, hashes: u32) -> u64 {
    u64::from(hashes) * bytes_per_hash(params) + bytes_per_part(params)
}

/// Bytes of a hash: its blocks, and the last block and the progress of each lane.
fn bytes_per_hash(params: Params) -> u64 {
    params.blocks() * BLOCK_BYTES + u64::from(params.lanes()) * (BLOCK_BYTES + 12)
}

/// Bytes of a part without hashes.
fn bytes_per_part(params: Params) -> u64 {
    reference_table_bytes(params) + params_buffer_bytes()
}

/// Bytes of the references of a slice of one hash, four per block.
fn slice_table_bytes(params: Params) -> u64 {
    u64::from(segment_blocks(params)) * u64::from(params.lanes()) * 4
}

/// Bytes from one slice of a table to the next.
fn slice_table_stride(params: Params) -> u64 {
    slice_table_bytes(params).next_multiple_of(PARAMS_STRIDE)
}

/// Bytes of a table of references.
fn reference_table_bytes(params: Params) -> u64 {
    (u64::from(table_slices(params)) * slice_table_stride(params)).max(4)
}

/// The number of hashes in each part, for as many parts as memory and `max_hashes` allow, and at least one. A part has at
/// most `bound_hashes`. With unknown memory there is one part.
pub(super) fn part_sizes(
    params: Params,
    bound_hashes: u64,
    memory: Option<u64>,
    max_hashes: u64,
) -> Vec<u32> {
    let (bound_hashes, mut sizes) = (bound_hashes.min(u64::from(u32::MAX)), Vec::new());
    let (mut left, mut wanted) = (memory.unwrap_or(u64::MAX), max_hashes);
    loop {
        let fit = left.saturating_sub(bytes_per_part(params)) / bytes_per_hash(params);
        let hashes = bound_hashes.min(fit).min(wanted) as u32;
        if hashes == 0 {
            break;
        }
        sizes.push(hashes);
        if memory.is_none() {
            break;
        }
        left -= bytes(params, hashes);
        wanted -= u64::from(hashes);
    }
    if sizes.is_empty() { vec![1] } else { sizes }
}

const fn params_buffer_bytes() -> u64 {
    PARAMS_STRIDE * MAX_RANGES as u64
}

#[cfg(test)]
impl FixedMemory {
    /// The memory of a hash, lanes one after another, in the layout of crates/hash.
    pub(super) fn memory(&self, mut hash: usize) -> Vec<[u64; 128]> {
        let mut parts = self.parts.iter().zip(self.hashes());
        let part = loop {
            let (part, hashes) = parts.next().expect("one of the parts holds the hash");
            match hash.checked_sub(hashes as usize) {
                Some(left) => hash = left,
                None => break part,
            }
        };
        let len = part.slices[0].size();
        let back = buffer(&self.device, 4 * len, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
        let mut encoder = self.encoder();
        for (slice, at) in part.slices.iter().zip((0..).step_by(len as usize)) {
            encoder.copy_buffer_to_buffer(slice, 0, &back, at, len);
        }
        let readback = Readback::begin(&self.queue, encoder, &back, 4 * len);
        readback.wait(&self.device).unwrap();
        let (segment, lanes) = (segment_blocks(self.params) as usize, self.params.lanes() as usize);
        readback
            .read(&self.device, &back, |bytes| {
                let block = |lane: usize, index: usize| {
                    let (slice, index) = (index / segment, index % segment);
                    let at = slice * len as usize
                        + ((hash * lanes + lane) * segment + index) * BLOCK_BYTES as usize;
                    in_standard_order(&bytes[at..at + BLOCK_BYTES as usize])
                };
                (0..lanes).flat_map(|lane| (0..4 * segment).map(move |index| block(lane, index))).collect()
            })
            .unwrap()
    }
}
