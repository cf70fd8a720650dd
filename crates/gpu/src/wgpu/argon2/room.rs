//! Memory on a device for several hashes side by side, and what goes in and out of it.

use super::kernels::Kernels;
use super::schedule::{BLOCK, Numbers, Strip, has_known, segment};
use crate::Error;
use crate::wgpu::guarded::guarded;
use crate::wgpu::scratch::{STRIDE, Way, buffer};
use ::wgpu::{
    BindGroup, BindGroupEntry, BindingResource, Buffer, BufferBinding, BufferUsages, CommandEncoder, Device,
    Queue,
};
use hashmill_hash::argon2::Params;
use std::num::NonZero;
use zeroize::Zeroizing;

/// The most strips that are handed over together.
pub(super) const TOGETHER: usize = 32;

/// Workgroups in a row of the grid, as in the kernels.
const ROW: u32 = 1 << 15;

const THREADS_PER_ROW: usize = 4;

/// Where a word of a block lies in the device's memory: as the threads of the kernels hold them, two by two.
pub(super) const fn place(word: usize) -> usize {
    let (row, column) = (word / 16, word % 16);
    let (thread, quarter) = (row * THREADS_PER_ROW + column % 4, column / 4);
    (quarter / 2 * 32 + thread) * 2 + quarter % 2
}

pub(super) struct Room {
    device: Device,
    queue: Queue,
    params: Params,
    /// How many hashes it is for.
    hashes: u32,
    slices: [Buffer; 4],
    numbers: Buffer,
    marks: Buffer,
    /// Marks on their way to the host, for two submissions in turn.
    marks_back: [Buffer; 2],
    last_back: Buffer,
    group: BindGroup,
}

impl Room {
    /// Bytes on the device for so many hashes.
    pub(super) fn bytes(params: Params, hashes: u32) -> u64 {
        let streams = u64::from(hashes) * u64::from(params.lanes());
        let table = if has_known(params) { params.blocks() } else { 4 };
        u64::from(hashes) * params.blocks() * BLOCK + streams * (BLOCK + 12) + table + numbers()
    }

    pub(super) fn new(
        (device, queue): (&Device, &Queue),
        kernels: &Kernels,
        params: Params,
        hashes: u32,
    ) -> Result<Room, Error> {
        let streams = u64::from(hashes) * u64::from(params.lanes());
        let slice = streams * u64::from(segment(params)) * BLOCK;
        // Four bytes for each block of a slice of one hash.
        let table = if has_known(params) { params.blocks() } else { 4 };
        guarded(device, Room::bytes(params, hashes), || {
            let made = |size, usage| buffer(device, size, usage | BufferUsages::COPY_DST);
            let both = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
            let slices = [(); 4].map(|()| made(slice, both));
            let numbers = made(numbers(), BufferUsages::UNIFORM);
            let (table, marks) = (made(table, both), made(streams * 4, both));
            let window =
                BufferBinding { buffer: &numbers, offset: 0, size: NonZero::new(Numbers::LEN as u64) };
            let [s0, s1, s2, s3] = &slices;
            let storage = [s0, s1, s2, s3, &table, &marks].map(Buffer::as_entire_buffer_binding);
            let entries: Vec<_> = (0..)
                .zip([window].into_iter().chain(storage))
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
            Room {
                device: device.clone(),
                queue: queue.clone(),
                params,
                hashes,
                marks_back: [(); 2].map(|()| made(streams * 4, BufferUsages::MAP_READ)),
                last_back: made(streams * BLOCK, BufferUsages::MAP_READ),
                slices,
                numbers,
                marks,
                group,
            }
        })
    }

    pub(super) fn hashes(&self) -> usize {
        self.hashes as usize
    }

    fn encoder(&self) -> CommandEncoder {
        self.device.create_command_encoder(&::wgpu::CommandEncoderDescriptor::default())
    }

    /// Writes first blocks, of each lane two, and sets the marks of its lane to zero.
    pub(super) fn begin(&self, blocks: &[[u64; 128]]) -> Result<(), Error> {
        let stride = u64::from(segment(self.params)) * BLOCK;
        guarded(&self.device, 0, || {
            let mut bytes = Zeroizing::new([0; 2 * BLOCK as usize]);
            for (two, at) in blocks.as_chunks::<2>().0.iter().zip((0..).step_by(stride as usize)) {
                for (words, bytes) in two.iter().zip(bytes.chunks_mut(BLOCK as usize)) {
                    for (word, value) in words.iter().enumerate() {
                        bytes[8 * place(word)..][..8].copy_from_slice(&value.to_le_bytes());
                    }
                }
                self.queue.write_buffer(&self.slices[0], at, &*bytes);
            }
            let mut encoder = self.encoder();
            encoder.clear_buffer(&self.marks, 0, None);
            self.queue.submit([encoder.finish()]);
        })
    }

    /// Hands over strips, the first of which has this number, for as many lanes of all hashes. What comes back are the marks.
    pub(super) fn fill(
        &self,
        kernels: &Kernels,
        streams: u32,
        strips: &[Strip],
        step: u32,
        turn: usize,
    ) -> Result<Way, Error> {
        assert!(strips.len() <= TOGETHER, "there is room for their numbers");
        guarded(&self.device, 0, || {
            let numbers = Numbers::new(self.params, streams);
            let mut encoder = self.encoder();
            {
                let mut pass = encoder.begin_compute_pass(&::wgpu::ComputePassDescriptor::default());
                for ((strip, step), at) in strips.iter().zip(step..).zip((0..).step_by(STRIDE as usize)) {
                    self.queue.write_buffer(&self.numbers, u64::from(at), &numbers.bytes(*strip, step));
                    pass.set_bind_group(0, &self.group, &[at]);
                    if strip.begins_known(self.params) {
                        pass.set_pipeline(&kernels.references);
                        let groups = segment(self.params).div_ceil(128) * self.params.lanes();
                        pass.dispatch_workgroups(groups.min(ROW), groups.div_ceil(ROW), 1);
                    }
                    pass.set_pipeline(&kernels.fill);
                    pass.dispatch_workgroups(streams.min(ROW), streams.div_ceil(ROW), 1);
                }
            }
            let (back, bytes) = (&self.marks_back[turn], u64::from(streams) * 4);
            encoder.copy_buffer_to_buffer(&self.marks, 0, back, 0, bytes);
            Way::begin(&self.queue, encoder, back, bytes)
        })
    }

    /// Waits for strips. They have been computed, all of them and those before: `steps` in all.
    ///
    /// # Errors
    /// [`Error::Driver`] where a kernel did not run to its end; [`Error::Lost`].
    pub(super) fn filled(&self, way: &Way, steps: u32, turn: usize) -> Result<(), Error> {
        way.wait(&self.device)?;
        let all = |bytes: &[u8]| bytes.as_chunks().0.iter().all(|mark| u32::from_le_bytes(*mark) == steps);
        if way.read(&self.device, &self.marks_back[turn], all)? {
            return Ok(());
        }
        Err(Error::Driver { reason: "a kernel did not run to its end".to_owned() })
    }

    /// The last blocks of so many lanes of all hashes.
    pub(super) fn last_blocks(&self, streams: u32) -> Result<Zeroizing<Vec<u8>>, Error> {
        let (segment, bytes) = (u64::from(segment(self.params)), u64::from(streams) * BLOCK);
        let way = guarded(&self.device, 0, || {
            let mut encoder = self.encoder();
            for stream in 0..u64::from(streams) {
                let from = ((stream + 1) * segment - 1) * BLOCK;
                encoder.copy_buffer_to_buffer(&self.slices[3], from, &self.last_back, stream * BLOCK, BLOCK);
            }
            Way::begin(&self.queue, encoder, &self.last_back, bytes)
        })?;
        way.wait(&self.device)?;
        way.read(&self.device, &self.last_back, |bytes| Zeroizing::new(bytes.to_vec()))
    }

    /// Wipes what so many hashes have left, after all that was handed over before. Does not wait for it.
    pub(super) fn wipe(&self, streams: u32) -> Result<(), Error> {
        let bytes = u64::from(streams) * BLOCK;
        guarded(&self.device, 0, || {
            let mut encoder = self.encoder();
            for slice in &self.slices {
                encoder.clear_buffer(slice, 0, Some(bytes * u64::from(segment(self.params))));
            }
            encoder.clear_buffer(&self.last_back, 0, Some(bytes));
            self.queue.submit([encoder.finish()]);
        })
    }
}

const fn numbers() -> u64 {
    STRIDE * TOGETHER as u64
}

#[cfg(test)]
impl Room {
    /// The memory of a hash, lanes one after another, as crates/hash has it.
    pub(super) fn memory(&self, hash: usize) -> Vec<[u64; 128]> {
        let len = self.slices[0].size();
        let back = buffer(&self.device, 4 * len, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
        let mut encoder = self.encoder();
        for (slice, at) in self.slices.iter().zip((0..).step_by(len as usize)) {
            encoder.copy_buffer_to_buffer(slice, 0, &back, at, len);
        }
        let way = Way::begin(&self.queue, encoder, &back, 4 * len);
        way.wait(&self.device).unwrap();
        let (segment, lanes) = (segment(self.params) as usize, self.params.lanes() as usize);
        way.read(&self.device, &back, |bytes| {
            let block = |lane: usize, index: usize| {
                let (slice, index) = (index / segment, index % segment);
                let at = slice * len as usize + ((hash * lanes + lane) * segment + index) * BLOCK as usize;
                let words = bytes[at..at + BLOCK as usize].as_chunks::<8>().0;
                std::array::from_fn(|word| u64::from_le_bytes(words[place(word)]))
            };
            (0..lanes).flat_map(|lane| (0..4 * segment).map(move |index| block(lane, index))).collect()
        })
        .unwrap()
    }
}
