//! Memory on a device for many hashes side by side, and what goes in and out of it.

use super::kernels::Kernels;
use crate::Error;
use crate::argon2::schedule::{BLOCK, Numbers, Strip, chapter, segment, table_slices};
use crate::argon2::{self, TOGETHER, Words, backing_off, in_order, place};
use crate::wgpu::guarded::guarded;
use crate::wgpu::scratch::{STRIDE, Way, buffer};
use ::wgpu::{
    BindGroup, BindGroupEntry, BindingResource, Buffer, BufferBinding, BufferUsages, CommandEncoder,
    ComputePass, ComputePassDescriptor, Device, Queue,
};
use hashmill_hash::argon2::{Params, Stop};
use std::num::NonZero;
use zeroize::Zeroizing;

/// Workgroups in a row of the grid, as in the kernels.
const ROW: u32 = 1 << 15;

/// Memory for as many hashes as kernels see together.
struct Room {
    /// How many lanes of all hashes it is for.
    streams: u32,
    slices: [Buffer; 4],
    numbers: Buffer,
    table: Buffer,
    marks: Buffer,
    last_back: Buffer,
    group: BindGroup,
}

impl Room {
    fn new(device: &Device, kernels: &Kernels, params: Params, hashes: u32) -> Result<Room, Error> {
        let streams = u64::from(hashes) * u64::from(params.lanes());
        let slice = streams * u64::from(segment(params)) * BLOCK;
        guarded(device, bytes(params, hashes), || {
            let made = |size, usage| buffer(device, size, usage | BufferUsages::COPY_DST);
            let both = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
            let slices = [(); 4].map(|()| made(slice, both));
            let numbers = made(numbers(), BufferUsages::UNIFORM);
            let (table, marks) = (made(table(params), both), made(streams * 4, both));
            let window = |buffer, size| BufferBinding { buffer, offset: 0, size: NonZero::new(size) };
            let [s0, s1, s2, s3, marked] = [&slices[0], &slices[1], &slices[2], &slices[3], &marks]
                .map(Buffer::as_entire_buffer_binding);
            let (numbered, known) =
                (window(&numbers, Numbers::LEN as u64), window(&table, of_slice(params).min(table.size())));
            let entries: Vec<_> = (0..)
                .zip([numbered, s0, s1, s2, s3, known, marked])
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
            let last_back = made(streams * BLOCK, BufferUsages::MAP_READ);
            Room { streams: streams as u32, slices, numbers, table, marks, last_back, group }
        })
    }
}

/// Runs a kernel in so many workgroups, with the numbers and the slice of the table that begin there.
fn dispatch(pass: &mut ComputePass<'_>, room: &Room, at: [u32; 2], groups: u32) {
    pass.set_bind_group(0, &room.group, &at);
    pass.dispatch_workgroups(groups.min(ROW), groups.div_ceil(ROW), 1);
}

/// Rooms that are filled together.
pub(super) struct Rooms {
    device: Device,
    queue: Queue,
    kernels: Kernels,
    params: Params,
    rooms: Vec<Room>,
    /// Which references are in their tables.
    chapter: Option<u32>,
    /// Marks of all rooms on their way to the host, for two submissions in turn.
    marks_back: [Buffer; 2],
}

impl Rooms {
    /// One for each of these numbers of hashes; fewer where there is no memory for all.
    pub(super) fn new(
        (device, queue): (&Device, &Queue),
        kernels: &Kernels,
        params: Params,
        hashes: &[u32],
    ) -> Result<Rooms, Error> {
        let rooms = backing_off(hashes, |hashes| Room::new(device, kernels, params, hashes))?;
        let marks: u64 = rooms.iter().map(|room| u64::from(room.streams) * 4).sum();
        let marks_back = guarded(device, 2 * marks, || {
            [(); 2].map(|()| buffer(device, marks, BufferUsages::MAP_READ | BufferUsages::COPY_DST))
        })?;
        let (device, queue, kernels) = (device.clone(), queue.clone(), kernels.clone());
        Ok(Rooms { device, queue, kernels, params, rooms, chapter: None, marks_back })
    }

    /// Makes the references of a chapter in each room, and reads them: a kernel that was left out is noticed here, and nowhere else.
    fn know(&self, number: u32) -> Result<(), Error> {
        // No block refers to this one.
        const NONE: u8 = 0xff;
        let (params, slices): (_, Vec<_>) = (self.params, chapter(self.params, number).collect());
        let groups = segment(params).div_ceil(128) * params.lanes();
        for room in &self.rooms {
            let bytes = room.table.size();
            let (back, way) = guarded(&self.device, bytes, || {
                self.queue.write_buffer(&room.table, 0, &vec![NONE; bytes as usize]);
                let mut table = (0..).step_by(stride(params) as usize);
                for some in slices.chunks(TOGETHER) {
                    self.number(room, 1, some, 0);
                    let mut encoder = self.encoder();
                    for (at, table) in (0..).step_by(STRIDE as usize).zip(&mut table).take(some.len()) {
                        let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
                        pass.set_pipeline(&self.kernels.references);
                        dispatch(&mut pass, room, [at, table], groups);
                    }
                    self.queue.submit([encoder.finish()]);
                }
                let back = buffer(&self.device, bytes, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
                let mut encoder = self.encoder();
                encoder.copy_buffer_to_buffer(&room.table, 0, &back, 0, bytes);
                let way = Way::begin(&self.queue, encoder, &back, bytes);
                (back, way)
            })?;
            way.wait(&self.device)?;
            let made = way.read(&self.device, &back, |bytes| {
                let mut slices = bytes.chunks(stride(params) as usize).take(slices.len());
                slices.all(|slice| !slice[..of_slice(params) as usize].as_chunks().0.contains(&[NONE; 4]))
            })?;
            if !made {
                return Err(unfinished());
            }
        }
        Ok(())
    }

    /// Writes what kernels are told of strips, the first of which has this number, for so many lanes in a room.
    fn number(&self, room: &Room, streams: u32, strips: &[Strip], step: u32) {
        let (numbers, mut bytes) = (Numbers::new(self.params, streams), Vec::new());
        for (strip, step) in strips.iter().zip(step..) {
            bytes.extend(numbers.bytes(*strip, step));
            bytes.resize(bytes.len().next_multiple_of(STRIDE as usize), 0);
        }
        self.queue.write_buffer(&room.numbers, 0, &bytes);
    }

    /// How many hashes each is for.
    pub(super) fn hashes(&self) -> impl Iterator<Item = u32> {
        self.rooms.iter().map(|room| room.streams / self.params.lanes())
    }

    /// The rooms that so many lanes of all hashes lie in, and how many of them in each.
    fn taken(&self, mut streams: u32) -> impl Iterator<Item = (&Room, u32)> {
        let share = move |room: &Room| {
            let share = room.streams.min(streams);
            streams -= share;
            share
        };
        let shares = self.rooms.iter().scan(share, |share, room| Some((room, share(room))));
        shares.take_while(|&(_, share)| share > 0)
    }

    fn encoder(&self) -> CommandEncoder {
        self.device.create_command_encoder(&::wgpu::CommandEncoderDescriptor::default())
    }
}

impl argon2::Rooms for Rooms {
    type Way = Way;

    fn width(&self) -> usize {
        self.hashes().map(|hashes| hashes as usize).sum()
    }

    /// Writes first blocks, of each lane two, and sets the marks of its lane to zero.
    fn begin(&mut self, blocks: &[Words]) -> Result<(), Error> {
        let stride = u64::from(segment(self.params)) * BLOCK;
        let mut lanes = blocks.as_chunks::<2>().0;
        guarded(&self.device, 0, || {
            let mut bytes = Zeroizing::new([0; 2 * BLOCK as usize]);
            let mut encoder = self.encoder();
            for (room, streams) in self.taken(lanes.len() as u32) {
                let (here, rest) = lanes.split_at(streams as usize);
                lanes = rest;
                for (two, at) in here.iter().zip((0..).step_by(stride as usize)) {
                    for (words, bytes) in two.iter().zip(bytes.chunks_mut(BLOCK as usize)) {
                        for (word, value) in words.iter().enumerate() {
                            bytes[8 * place(word)..][..8].copy_from_slice(&value.to_le_bytes());
                        }
                    }
                    self.queue.write_buffer(&room.slices[0], at, &*bytes);
                }
                encoder.clear_buffer(&room.marks, 0, None);
            }
            self.queue.submit([encoder.finish()]);
        })
    }

    /// Hands over strips, the first of which has this number, for as many lanes of all hashes. What comes back are the marks.
    ///
    /// Rooms are to be filled side by side. But wgpu puts a barrier before whatever uses a buffer that was written earlier in the
    /// same pass, and a barrier waits for everything, whichever buffer it names. So within a pass each buffer is used once: a pass
    /// has one strip, of all rooms, and begins with the only barrier. For the same reason each room has a table of its own.
    fn fill(&mut self, streams: u32, strips: &[Strip], step: u32, turn: usize) -> Result<Way, Error> {
        assert!(strips.len() <= TOGETHER, "there is room for their numbers");
        // Strips that are handed over together have one table.
        let wanted = strips.iter().find_map(|strip| strip.in_table(self.params));
        if let Some((wanted, _)) = wanted.filter(|(wanted, _)| self.chapter != Some(*wanted)) {
            self.chapter = None;
            self.know(wanted)?;
            self.chapter = Some(wanted);
        }
        guarded(&self.device, 0, || {
            for (room, streams) in self.taken(streams) {
                self.number(room, streams, strips, step);
            }
            let mut encoder = self.encoder();
            for (strip, at) in strips.iter().zip((0..).step_by(STRIDE as usize)) {
                let slice = strip.in_table(self.params).map_or(0, |(_, slice)| slice);
                let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
                pass.set_pipeline(&self.kernels.fill);
                for (room, streams) in self.taken(streams) {
                    dispatch(&mut pass, room, [at, slice * stride(self.params) as u32], streams);
                }
            }
            let (back, mut bytes) = (&self.marks_back[turn], 0);
            for (room, streams) in self.taken(streams) {
                let len = u64::from(streams) * 4;
                encoder.copy_buffer_to_buffer(&room.marks, 0, back, bytes, len);
                bytes += len;
            }
            Way::begin(&self.queue, encoder, back, bytes)
        })
    }

    /// Waits for strips. They have been computed, all of them and those before: `steps` in all.
    ///
    /// # Errors
    /// [`Error::Driver`] where a kernel did not run to its end; [`Error::Lost`].
    fn filled(&mut self, way: &Way, steps: u32, turn: usize, _: &Stop) -> Result<(), Error> {
        way.wait(&self.device)?;
        let all = |bytes: &[u8]| bytes.as_chunks().0.iter().all(|mark| u32::from_le_bytes(*mark) == steps);
        if way.read(&self.device, &self.marks_back[turn], all)? {
            return Ok(());
        }
        Err(unfinished())
    }

    fn last_blocks(&mut self, streams: u32) -> Result<Zeroizing<Vec<Words>>, Error> {
        let segment = u64::from(segment(self.params));
        let ways = guarded(&self.device, 0, || {
            let way = |(room, streams): (&Room, u32)| {
                let (streams, mut encoder) = (u64::from(streams), self.encoder());
                for stream in 0..streams {
                    let (from, to) = (((stream + 1) * segment - 1) * BLOCK, stream * BLOCK);
                    encoder.copy_buffer_to_buffer(&room.slices[3], from, &room.last_back, to, BLOCK);
                }
                Way::begin(&self.queue, encoder, &room.last_back, streams * BLOCK)
            };
            self.taken(streams).map(way).collect::<Vec<_>>()
        })?;
        // All of them are unmapped, whatever becomes of one.
        let read = self.rooms.iter().zip(&ways).map(|(room, way)| {
            way.wait(&self.device)?;
            way.read(&self.device, &room.last_back, |bytes| {
                Zeroizing::new(bytes.chunks(BLOCK as usize).map(in_order).collect::<Vec<_>>())
            })
        });
        let mut last = Zeroizing::new(Vec::with_capacity(streams as usize));
        for room in read.collect::<Vec<_>>() {
            last.extend_from_slice(&room?);
        }
        Ok(last)
    }

    /// Wipes what so many lanes have left, after all that was handed over before. Does not wait for it.
    fn wipe(&mut self, streams: u32) -> Result<(), Error> {
        guarded(&self.device, 0, || {
            let mut encoder = self.encoder();
            for (room, streams) in self.taken(streams) {
                let bytes = u64::from(streams) * BLOCK;
                for slice in &room.slices {
                    encoder.clear_buffer(slice, 0, Some(bytes * u64::from(segment(self.params))));
                }
                encoder.clear_buffer(&room.last_back, 0, Some(bytes));
            }
            self.queue.submit([encoder.finish()]);
        })
    }
}

fn unfinished() -> Error {
    Error::Driver { reason: "a kernel did not run to its end".to_owned() }
}

/// Bytes on the device for a room of so many hashes.
pub(super) fn bytes(params: Params, hashes: u32) -> u64 {
    u64::from(hashes) * bytes_of_hash(params) + bytes_of_all(params)
}

/// Besides its blocks, of each lane the last one and its marks.
fn bytes_of_hash(params: Params) -> u64 {
    params.blocks() * BLOCK + u64::from(params.lanes()) * (BLOCK + 12)
}

fn bytes_of_all(params: Params) -> u64 {
    table(params) + numbers()
}

/// Bytes of the references of a slice of one hash, four for each block.
fn of_slice(params: Params) -> u64 {
    u64::from(segment(params)) * u64::from(params.lanes()) * 4
}

/// Bytes from one slice of a table to the next.
fn stride(params: Params) -> u64 {
    of_slice(params).next_multiple_of(STRIDE)
}

/// Bytes of a table.
fn table(params: Params) -> u64 {
    (u64::from(table_slices(params)) * stride(params)).max(4)
}

/// How many hashes each room is for, of as many rooms as there is memory for and hashes are wanted, one at least. A room has no more
/// than a device binds. Where nobody knows how much memory there is, there is one room.
pub(super) fn shares(params: Params, binds: u64, memory: Option<u64>, most: u64) -> Vec<u32> {
    let (binds, mut shares) = (binds.min(u64::from(u32::MAX)), Vec::new());
    let (mut left, mut wanted) = (memory.unwrap_or(u64::MAX), most);
    loop {
        let fit = left.saturating_sub(bytes_of_all(params)) / bytes_of_hash(params);
        let hashes = binds.min(fit).min(wanted) as u32;
        if hashes == 0 {
            break;
        }
        shares.push(hashes);
        if memory.is_none() {
            break;
        }
        left -= bytes(params, hashes);
        wanted -= u64::from(hashes);
    }
    if shares.is_empty() { vec![1] } else { shares }
}

const fn numbers() -> u64 {
    STRIDE * TOGETHER as u64
}

#[cfg(test)]
impl Rooms {
    /// The memory of a hash, lanes one after another, as crates/hash has it.
    pub(super) fn memory(&self, mut hash: usize) -> Vec<[u64; 128]> {
        let mut rooms = self.rooms.iter().zip(self.hashes());
        let room = loop {
            let (room, hashes) = rooms.next().expect("a room has it");
            match hash.checked_sub(hashes as usize) {
                Some(left) => hash = left,
                None => break room,
            }
        };
        let len = room.slices[0].size();
        let back = buffer(&self.device, 4 * len, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
        let mut encoder = self.encoder();
        for (slice, at) in room.slices.iter().zip((0..).step_by(len as usize)) {
            encoder.copy_buffer_to_buffer(slice, 0, &back, at, len);
        }
        let way = Way::begin(&self.queue, encoder, &back, 4 * len);
        way.wait(&self.device).unwrap();
        let (segment, lanes) = (segment(self.params) as usize, self.params.lanes() as usize);
        way.read(&self.device, &back, |bytes| {
            let block = |lane: usize, index: usize| {
                let (slice, index) = (index / segment, index % segment);
                let at = slice * len as usize + ((hash * lanes + lane) * segment + index) * BLOCK as usize;
                in_order(&bytes[at..at + BLOCK as usize])
            };
            (0..lanes).flat_map(|lane| (0..4 * segment).map(move |index| block(lane, index))).collect()
        })
        .unwrap()
    }
}
