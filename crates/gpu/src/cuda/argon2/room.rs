//! Memory on a device for many hashes side by side, all of it from the beginning, and what goes in and out of it.

use super::super::device::Device;
use super::super::driver::{Arg, Flag, Memory, Pinned, Shape, Stream};
use crate::Error;
use crate::argon2::schedule::{BLOCK, Numbers, Strip, chapter, segment, table_slices};
use crate::argon2::{Rooms, Words};
use hashmill_hash::argon2::{HashError, Params, Stop};
use std::time::Duration;
use zeroize::Zeroizing;

/// A block of threads for each lane, of so many threads.
const THREADS: u32 = 32;

/// Bytes that the threads of a lane share.
const SHARED: u32 = 1024;

/// Bytes of the blocks that are on their way to a lane that fetches them ahead.
pub(super) const RING: u32 = 8 * 1024;

/// Where so many lanes are under way for each multiprocessor, nothing is fetched ahead: memory is full without it.
const FULL: u32 = 8;

/// Lanes in a block of threads then.
const TOGETHER: u32 = 4;

/// Of a lane that has not begun, each byte of its mark: it is at no strip.
pub(super) const NO_MARK: u8 = 0xff;

/// How soon a request to stop is seen.
pub(super) const STOP: Duration = Duration::from_micros(200);

/// Memory for so many hashes.
pub(super) struct Room {
    /// Dropped first: it waits for the device.
    stream: Stream,
    device: Device,
    params: Params,
    hashes: u32,
    /// Of up to so many lanes blocks are fetched ahead.
    ahead: u32,
    memory: Memory,
    table: Memory,
    /// Which references are in it.
    chapter: Option<u32>,
    marks: Memory,
    /// First blocks on their way there, and last ones on their way back.
    ends: Memory,
    ends_here: Pinned,
    /// Marks on their way, for two submissions in turn.
    marks_here: [Pinned; 2],
    stop: Flag,
}

/// Of how many lanes a device fetches blocks ahead.
pub(super) fn ahead(device: &Device) -> u32 {
    FULL * device.multiprocessors()
}

impl Room {
    pub(super) fn new(device: &Device, params: Params, hashes: u32, ahead: u32) -> Result<Room, Error> {
        let (context, streams) = (device.context(), u64::from(hashes) * u64::from(params.lanes()));
        let fits = |bytes: u64| usize::try_from(bytes).map_err(|_| Error::OutOfMemory { bytes });
        // A kernel numbers lanes with 32 bits.
        u32::try_from(streams).map_err(|_| Error::OutOfMemory { bytes: u64::MAX })?;
        Ok(Room {
            stream: context.stream()?,
            device: device.clone(),
            params,
            hashes,
            ahead,
            memory: context.memory(u64::from(hashes) * params.blocks() * BLOCK)?,
            table: context.memory(table(params))?,
            chapter: None,
            marks: context.memory(streams * 4)?,
            ends: context.memory(streams * 2 * BLOCK)?,
            ends_here: context.pinned(fits(streams * 2 * BLOCK)?)?,
            marks_here: [context.pinned(fits(streams * 4)?)?, context.pinned(fits(streams * 4)?)?],
            stop: context.flag()?,
        })
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> u64 {
        [&self.memory, &self.table, &self.marks, &self.ends].map(Memory::bytes).iter().sum()
    }

    fn numbers(&self, streams: u32, strip: Strip, step: u32) -> [u8; Numbers::LEN] {
        Numbers::new(self.params, streams).bytes(strip, step)
    }

    /// Runs a kernel of the ends of so many lanes.
    fn ends(&self, first: bool, streams: u32) -> Result<(), Error> {
        const NOTHING: Strip = Strip { pass: 0, slice: 0, from: 0, to: 0 };
        let (kernels, numbers) = (self.device.kernels(), self.numbers(streams, NOTHING, 0));
        let shape = Shape { blocks: streams, threads: THREADS, shared: 0 };
        let (memory, ends) = (Arg::At(&self.memory, 0), Arg::At(&self.ends, 0));
        if first {
            let args = [Arg::Words(&numbers), ends, memory, Arg::At(&self.marks, 0)];
            self.stream.launch(&kernels.first, shape, &args)
        } else {
            self.stream.launch(&kernels.last, shape, &[Arg::Words(&numbers), memory, ends])
        }
    }
}

impl Rooms for Room {
    type Way = u32;

    fn width(&self) -> usize {
        self.hashes as usize
    }

    fn begin(&mut self, first: &[Words]) -> Result<(), Error> {
        let streams = (first.len() / 2) as u32;
        // Whatever was given up before is over, and kernels are not to give up what comes now.
        self.stream.synchronize()?;
        self.stop.set(false)?;
        let here = self.ends_here.bytes()?;
        for (bytes, word) in here.as_chunks_mut().0.iter_mut().zip(first.as_flattened()) {
            *bytes = word.to_le_bytes();
        }
        self.stream.upload(&self.ends, 0, &self.ends_here.source(), first.len() * BLOCK as usize)?;
        // What an earlier hash has left must not pass for a lane that has begun.
        self.stream.set(&self.marks, 0, u64::from(streams) * 4, NO_MARK)?;
        self.ends(true, streams)
    }

    fn fill(&mut self, streams: u32, strips: &[Strip], step: u32, turn: usize) -> Result<u32, Error> {
        let params = self.params;
        // Strips that are handed over together have one table.
        let wanted = strips.iter().find_map(|strip| strip.in_table(params));
        if let Some((wanted, _)) = wanted.filter(|(wanted, _)| self.chapter != Some(*wanted)) {
            self.chapter = None;
            references(&self.stream, &self.device, params, wanted, &self.table)?;
            self.chapter = Some(wanted);
        }
        let kernels = self.device.kernels();
        let (kernel, lanes, shared) = if streams > self.ahead {
            (&kernels.fill, TOGETHER, TOGETHER * SHARED)
        } else {
            (&kernels.fill_ahead, 1, SHARED + RING)
        };
        let fill = Shape { blocks: streams.div_ceil(lanes), threads: THREADS * lanes, shared };
        for (strip, step) in strips.iter().zip(step..) {
            let numbers = self.numbers(streams, *strip, step);
            let slice = strip.in_table(params).map_or(0, |(_, slice)| slice);
            let table = Arg::At(&self.table, u64::from(slice) * of_slice(params));
            let (memory, marks) = (Arg::At(&self.memory, 0), Arg::At(&self.marks, 0));
            let args = [Arg::Words(&numbers), memory, table, marks, self.stop.arg()];
            self.stream.launch(kernel, fill, &args)?;
        }
        self.stream.download(&self.marks, 0, &mut self.marks_here[turn], streams as usize * 4)?;
        Ok(streams)
    }

    fn filled(&mut self, streams: &u32, steps: u32, turn: usize, stop: &Stop) -> Result<(), Error> {
        let marks = &mut self.marks_here[turn];
        while !marks.look(STOP)? {
            if stop.is_set() {
                self.stop.set(true)?;
                return Err(HashError::Stopped.into());
            }
        }
        let marks = &marks.bytes()?[..*streams as usize * 4];
        if marks.as_chunks().0.iter().all(|mark| u32::from_le_bytes(*mark) == steps) {
            return Ok(());
        }
        Err(unfinished())
    }

    fn last_blocks(&mut self, streams: u32) -> Result<Zeroizing<Vec<Words>>, Error> {
        // Nor first blocks for last ones.
        self.stream.clear(&self.ends, 0, u64::from(streams) * BLOCK)?;
        self.ends(false, streams)?;
        self.stream.download(&self.ends, 0, &mut self.ends_here, streams as usize * BLOCK as usize)?;
        let bytes = self.ends_here.bytes()?;
        let last = words(&bytes[..streams as usize * BLOCK as usize]);
        // No block is empty.
        if last.contains(&[0; 128]) { Err(unfinished()) } else { Ok(last) }
    }

    fn wipe(&mut self, streams: u32) -> Result<(), Error> {
        let blocks = self.params.blocks() / u64::from(self.params.lanes());
        // Each of them, whatever becomes of those before.
        let memory = self.stream.clear(&self.memory, 0, u64::from(streams) * blocks * BLOCK);
        let ends = self.stream.clear(&self.ends, 0, u64::from(streams) * 2 * BLOCK);
        let here = self.ends_here.wipe();
        memory.and(ends).and(here)
    }
}

/// Blocks, as they came from a device.
pub(super) fn words(bytes: &[u8]) -> Zeroizing<Vec<Words>> {
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    let mut words = Zeroizing::new(vec![[0; 128]; bytes.len() / BLOCK as usize]);
    words.as_flattened_mut().iter_mut().zip(bytes.as_chunks().0).for_each(|(to, from)| *to = word(from));
    words
}

/// What a lane says that was left out.
pub(super) fn unfinished() -> Error {
    Error::Driver { reason: "a kernel did not run to its end".to_owned() }
}

/// Makes the references of a chapter, which are the same for all hashes, and reads them: a kernel that was left out is noticed here, and
/// nowhere else.
pub(super) fn references(
    stream: &Stream,
    device: &Device,
    params: Params,
    number: u32,
    table: &Memory,
) -> Result<(), Error> {
    // No block refers to this one.
    const NONE: u8 = 0xff;
    let blocks = segment(params).div_ceil(128) * params.lanes();
    let shape = Shape { blocks, threads: THREADS, shared: SHARED };
    stream.set(table, 0, table.bytes(), NONE)?;
    let mut bytes = 0;
    for strip in chapter(params, number) {
        let numbers = Numbers::new(params, 1).bytes(strip, 0);
        let args = [Arg::Words(&numbers), Arg::At(table, bytes)];
        stream.launch(&device.kernels().references, shape, &args)?;
        bytes += of_slice(params);
    }
    let mut made = vec![0; bytes as usize];
    stream.download_now(table, 0, &mut made)?;
    if made.as_chunks().0.contains(&[NONE; 4]) { Err(unfinished()) } else { Ok(()) }
}

/// Bytes of the references of a slice of one hash, four for each block.
fn of_slice(params: Params) -> u64 {
    u64::from(segment(params)) * u64::from(params.lanes()) * 4
}

/// How many hashes fit into so many bytes.
pub(super) fn hashes(params: Params, bytes: u64) -> u64 {
    let ends = u64::from(params.lanes()) * (2 * BLOCK + 4);
    bytes.saturating_sub(table(params)) / (params.blocks() * BLOCK + ends)
}

/// Bytes of a table.
pub(super) fn table(params: Params) -> u64 {
    (u64::from(table_slices(params)) * of_slice(params)).max(4)
}

#[cfg(test)]
impl Room {
    /// Asks kernels to stop.
    pub(super) fn stop(&mut self) {
        self.stop.set(true).unwrap();
    }

    /// Whether nothing is left of ends, here and there.
    pub(super) fn ends_are_empty(&mut self) -> bool {
        let mut bytes = vec![0; self.ends.bytes() as usize];
        self.stream.download_now(&self.ends, 0, &mut bytes).unwrap();
        bytes.iter().chain(&*self.ends_here.bytes().unwrap()).all(|byte| *byte == 0)
    }

    /// The memory of a hash, lanes one after another, as crates/hash has it.
    pub(super) fn memory(&self, hash: u64) -> Vec<Words> {
        let len = self.params.blocks() * BLOCK;
        let mut bytes = vec![0; len as usize];
        self.stream.download_now(&self.memory, hash * len, &mut bytes).unwrap();
        bytes.chunks(BLOCK as usize).map(crate::argon2::in_order).collect()
    }
}
