//! Device memory for a fixed number of Argon2 hashes, allocated at the start, with its transfers.

use super::super::device::Device;
use super::super::driver::{Arg, Flag, Memory, Pinned, Shape, Stream};
use crate::Error;
use crate::argon2::schedule::{
    BLOCK_BYTES, KernelParams, SegmentRange, segment_blocks, slice_group, table_slices,
};
use crate::argon2::{LaneMemory, Words};
use hashmill_hash::argon2::{HashError, Params, Stop};
use std::time::Duration;
use zeroize::Zeroizing;

/// Threads that compute a lane.
const THREADS: u32 = 32;

/// Bytes of shared memory of a lane.
const SHARED: u32 = 1024;

/// Bytes of the prefetched blocks of a lane.
pub(super) const PREFETCH_RING_BYTES: u32 = 8 * 1024;

/// Lanes per multiprocessor that saturate the memory: with more, nothing is prefetched.
const SATURATING_LANES_PER_SM: u32 = 8;

/// Lanes per block of threads without prefetching.
const LANES_PER_BLOCK: u32 = 4;

/// Fill byte of the progress word of a lane that has not started: no range has this number.
pub(super) const NOT_STARTED: u8 = 0xff;

/// Polling interval for a stop.
pub(super) const STOP_POLL_INTERVAL: Duration = Duration::from_micros(200);

/// Memory for `hashes` hashes.
pub(crate) struct FixedMemory {
    /// Dropped first: it waits for the device.
    stream: Stream,
    device: Device,
    params: Params,
    capacity: u32,
    /// The largest number of lanes for which blocks are prefetched.
    prefetch_max_lanes: u32,
    memory: Memory,
    reference_table: Memory,
    /// The slice group whose references are in the table.
    loaded_slice_group: Option<u32>,
    progress: Memory,
    /// First blocks in upload, last blocks in download.
    edge_blocks: Memory,
    edge_blocks_host: Pinned,
    /// Progress in download, one set of bytes for each of two submissions in turn.
    progress_host: [Pinned; 2],
    stop: Flag,
}

/// The largest number of lanes for which a device prefetches blocks.
pub(super) fn prefetch_max_lanes(device: &Device) -> u32 {
    SATURATING_LANES_PER_SM * device.multiprocessors()
}

impl FixedMemory {
    pub(super) fn new(
        device: &Device,
        params: Params,
        capacity: u32,
        prefetch_max_lanes: u32,
    ) -> Result<FixedMemory, Error> {
        let (context, lane_count) = (device.context(), u64::from(capacity) * u64::from(params.lanes()));
        let fits = |bytes: u64| usize::try_from(bytes).map_err(|_| Error::OutOfMemory { bytes });
        // A kernel numbers lanes with 32 bits.
        u32::try_from(lane_count).map_err(|_| Error::OutOfMemory { bytes: u64::MAX })?;
        Ok(FixedMemory {
            stream: context.stream()?,
            device: device.clone(),
            params,
            capacity,
            prefetch_max_lanes,
            memory: context.memory(u64::from(capacity) * params.blocks() * BLOCK_BYTES)?,
            reference_table: context.memory(reference_table_bytes(params))?,
            loaded_slice_group: None,
            progress: context.memory(lane_count * 4)?,
            edge_blocks: context.memory(lane_count * 2 * BLOCK_BYTES)?,
            edge_blocks_host: context.pinned(fits(lane_count * 2 * BLOCK_BYTES)?)?,
            progress_host: [context.pinned(fits(lane_count * 4)?)?, context.pinned(fits(lane_count * 4)?)?],
            stop: context.flag()?,
        })
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> u64 {
        [&self.memory, &self.reference_table, &self.progress, &self.edge_blocks]
            .map(Memory::bytes)
            .iter()
            .sum()
    }

    fn numbers(&self, lane_count: u32, range: SegmentRange, step: u32) -> [u8; KernelParams::LEN] {
        KernelParams::new(self.params, lane_count).bytes(range, step)
    }

    /// Runs the kernel for the first or the last blocks of `lane_count` lanes.
    fn launch_edge_kernel(&self, first: bool, lane_count: u32) -> Result<(), Error> {
        const NOTHING: SegmentRange = SegmentRange { pass: 0, slice: 0, from: 0, to: 0 };
        let (kernels, numbers) = (self.device.kernels(), self.numbers(lane_count, NOTHING, 0));
        let shape = Shape { blocks: lane_count, threads: THREADS, shared: 0 };
        let (memory, edges) = (Arg::At(&self.memory, 0), Arg::At(&self.edge_blocks, 0));
        if first {
            let args = [Arg::Words(&numbers), edges, memory, Arg::At(&self.progress, 0)];
            self.stream.launch(&kernels.first, shape, &args)
        } else {
            self.stream.launch(&kernels.last, shape, &[Arg::Words(&numbers), memory, edges])
        }
    }
}

impl LaneMemory for FixedMemory {
    type Submission = u32;

    fn width(&self) -> usize {
        self.capacity as usize
    }

    fn upload_first_blocks(&mut self, first: &[Words]) -> Result<(), Error> {
        let lane_count = (first.len() / 2) as u32;
        // Wait for cancelled kernels first: the flag must not cancel later ones.
        self.stream.synchronize()?;
        self.stop.set(false)?;
        let host = self.edge_blocks_host.bytes()?;
        for (bytes, word) in host.as_chunks_mut().0.iter_mut().zip(first.as_flattened()) {
            *bytes = word.to_le_bytes();
        }
        self.stream.upload(
            &self.edge_blocks,
            0,
            &self.edge_blocks_host.source(),
            first.len() * BLOCK_BYTES as usize,
        )?;
        // Progress of an earlier hash must not be taken for that of a lane that has started.
        self.stream.set(&self.progress, 0, u64::from(lane_count) * 4, NOT_STARTED)?;
        self.launch_edge_kernel(true, lane_count)
    }

    fn submit_fill(
        &mut self,
        lane_count: u32,
        ranges: &[SegmentRange],
        step: u32,
        buffer_set: usize,
    ) -> Result<u32, Error> {
        let params = self.params;
        // All ranges of a submission share one table.
        let wanted = ranges.iter().find_map(|range| range.in_table(params));
        if let Some((wanted, _)) = wanted.filter(|(wanted, _)| self.loaded_slice_group != Some(*wanted)) {
            self.loaded_slice_group = None;
            compute_references(&self.stream, &self.device, params, wanted, &self.reference_table)?;
            self.loaded_slice_group = Some(wanted);
        }
        let kernels = self.device.kernels();
        let (kernel, lanes, shared) = if lane_count > self.prefetch_max_lanes {
            (&kernels.fill, LANES_PER_BLOCK, LANES_PER_BLOCK * SHARED)
        } else {
            (&kernels.fill_ahead, 1, SHARED + PREFETCH_RING_BYTES)
        };
        let fill = Shape { blocks: lane_count.div_ceil(lanes), threads: THREADS * lanes, shared };
        for (range, step) in ranges.iter().zip(step..) {
            let numbers = self.numbers(lane_count, *range, step);
            let slice = range.in_table(params).map_or(0, |(_, slice)| slice);
            let table = Arg::At(&self.reference_table, u64::from(slice) * slice_table_bytes(params));
            let (memory, progress) = (Arg::At(&self.memory, 0), Arg::At(&self.progress, 0));
            let args = [Arg::Words(&numbers), memory, table, progress, self.stop.arg()];
            self.stream.launch(kernel, fill, &args)?;
        }
        self.stream.download(
            &self.progress,
            0,
            &mut self.progress_host[buffer_set],
            lane_count as usize * 4,
        )?;
        Ok(lane_count)
    }

    fn wait_for_fill(
        &mut self,
        lane_count: &u32,
        steps: u32,
        buffer_set: usize,
        stop: &Stop,
    ) -> Result<(), Error> {
        let progress = &mut self.progress_host[buffer_set];
        while !progress.poll(STOP_POLL_INTERVAL)? {
            if stop.is_set() {
                self.stop.set(true)?;
                return Err(HashError::Stopped.into());
            }
        }
        let progress = &progress.bytes()?[..*lane_count as usize * 4];
        if progress.as_chunks().0.iter().all(|lane| u32::from_le_bytes(*lane) == steps) {
            return Ok(());
        }
        Err(incomplete_kernel_error())
    }

    fn last_blocks(&mut self, lane_count: u32) -> Result<Zeroizing<Vec<Words>>, Error> {
        // Clear first: stale first blocks must not be taken for results.
        self.stream.clear(&self.edge_blocks, 0, u64::from(lane_count) * BLOCK_BYTES)?;
        self.launch_edge_kernel(false, lane_count)?;
        self.stream.download(
            &self.edge_blocks,
            0,
            &mut self.edge_blocks_host,
            lane_count as usize * BLOCK_BYTES as usize,
        )?;
        let bytes = self.edge_blocks_host.bytes()?;
        let last = words(&bytes[..lane_count as usize * BLOCK_BYTES as usize]);
        // No block is all zero.
        if last.contains(&[0; 128]) { Err(incomplete_kernel_error()) } else { Ok(last) }
    }

    fn wipe(&mut self, lane_count: u32) -> Result<(), Error> {
        let blocks = self.params.blocks() / u64::from(self.params.lanes());
        // Wipes all, even if one fails.
        let memory = self.stream.clear(&self.memory, 0, u64::from(lane_count) * blocks * BLOCK_BYTES);
        let edges = self.stream.clear(&self.edge_blocks, 0, u64::from(lane_count) * 2 * BLOCK_BYTES);
        let host = self.edge_blocks_host.wipe();
        memory.and(edges).and(host)
    }
}

/// Blocks in the byte order of a device.
pub(super) fn words(bytes: &[u8]) -> Zeroizing<Vec<Words>> {
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    let mut words = Zeroizing::new(vec![[0; 128]; bytes.len() / BLOCK_BYTES as usize]);
    words.as_flattened_mut().iter_mut().zip(bytes.as_chunks().0).for_each(|(to, from)| *to = word(from));
    words
}

/// The error of a kernel that skipped a lane.
pub(super) fn incomplete_kernel_error() -> Error {
    Error::Driver { reason: "a kernel did not run to its end".to_owned() }
}

/// Computes the references of a slice group, which are the same for all hashes, and reads them back: the only
/// check that the kernel ran.
pub(super) fn compute_references(
    stream: &Stream,
    device: &Device,
    params: Params,
    number: u32,
    table: &Memory,
) -> Result<(), Error> {
    // No block refers to this one.
    const NONE: u8 = 0xff;
    let blocks = segment_blocks(params).div_ceil(128) * params.lanes();
    let shape = Shape { blocks, threads: THREADS, shared: SHARED };
    stream.set(table, 0, table.bytes(), NONE)?;
    let mut bytes = 0;
    for range in slice_group(params, number) {
        let numbers = KernelParams::new(params, 1).bytes(range, 0);
        let args = [Arg::Words(&numbers), Arg::At(table, bytes)];
        stream.launch(&device.kernels().references, shape, &args)?;
        bytes += slice_table_bytes(params);
    }
    let mut references = vec![0; bytes as usize];
    stream.download_now(table, 0, &mut references)?;
    if references.as_chunks().0.contains(&[NONE; 4]) { Err(incomplete_kernel_error()) } else { Ok(()) }
}

/// Bytes of the references of a slice of one hash, four per block.
fn slice_table_bytes(params: Params) -> u64 {
    u64::from(segment_blocks(params)) * u64::from(params.lanes()) * 4
}

/// The number of hashes that fit into `bytes` bytes.
pub(super) fn capacity_for_bytes(params: Params, bytes: u64) -> u64 {
    let edges_and_progress = u64::from(params.lanes()) * (2 * BLOCK_BYTES + 4);
    bytes.saturating_sub(reference_table_bytes(params)) / (params.blocks() * BLOCK_BYTES + edges_and_progress)
}

/// Bytes of a table of references.
pub(super) fn reference_table_bytes(params: Params) -> u64 {
    (u64::from(table_slices(params)) * slice_table_bytes(params)).max(4)
}

#[cfg(test)]
impl FixedMemory {
    pub(super) fn stop(&mut self) {
        self.stop.set(true).unwrap();
    }

    /// Are first and last blocks wiped, on the device and in pinned memory?
    pub(super) fn edge_blocks_are_empty(&mut self) -> bool {
        let mut bytes = vec![0; self.edge_blocks.bytes() as usize];
        self.stream.download_now(&self.edge_blocks, 0, &mut bytes).unwrap();
        bytes.iter().chain(&*self.edge_blocks_host.bytes().unwrap()).all(|byte| *byte == 0)
    }

    /// The memory of a hash, lanes one after another, in the layout of crates/hash.
    pub(super) fn memory(&self, hash: u64) -> Vec<Words> {
        let len = self.params.blocks() * BLOCK_BYTES;
        let mut bytes = vec![0; len as usize];
        self.stream.download_now(&self.memory, hash * len, &mut bytes).unwrap();
        bytes.chunks(BLOCK_BYTES as usize).map(crate::argon2::in_standard_order).collect()
    }
}
