//! [`Blake3`]: inputs that lie on a device, and many short messages.

use super::Device;
use super::cut::{Cut, WIDTH, chunks};
use super::guarded::guarded;
use super::scratch::{Scratch, VALUES, Way, all, bind, buffer, dispatch};
use crate::Error;
use ::wgpu::{Buffer, BufferUsages, ComputePipeline};
use hashmill_hash::blake3::hazmat::{self, ChainingValue, Mode};
use hashmill_hash::blake3::{CHUNK_LEN, Hash, Hasher, OutputReader};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use zeroize::Zeroizing;

/// The text of the kernels.
pub(super) const TEXT: &str = include_str!("blake3.wgsl");

const CHUNK_END: u32 = 2;
const ROOT: u32 = 8;
const KEYED_HASH: u32 = 16;
const DERIVE_KEY_MATERIAL: u32 = 64;

const IV: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// The compiled kernels of a device.
pub(super) struct Kernels {
    pub(super) leaves: ComputePipeline,
    pub(super) tops: ComputePipeline,
    messages: ComputePipeline,
}

impl Kernels {
    pub(super) fn new(device: &::wgpu::Device, text: &str) -> Kernels {
        let module = device.create_shader_module(::wgpu::ShaderModuleDescriptor {
            label: Some("blake3"),
            source: ::wgpu::ShaderSource::Wgsl(text.into()),
        });
        let kernel = |name| {
            device.create_compute_pipeline(&::wgpu::ComputePipelineDescriptor {
                label: Some(name),
                layout: None,
                module: &module,
                entry_point: Some(name),
                compilation_options: ::wgpu::PipelineCompilationOptions {
                    // Every kernel writes what it reads of this first.
                    zero_initialize_workgroup_memory: false,
                    ..Default::default()
                },
                cache: None,
            })
        };
        Kernels { leaves: kernel("leaves"), tops: kernel("tops"), messages: kernel("messages") }
    }
}

/// What decides the values: the key and the flag of a mode.
#[derive(Clone)]
pub(super) struct Params {
    key: Zeroizing<[u8; 32]>,
    flags: u32,
}

impl Params {
    pub(super) const LEN: usize = 64;

    fn new(mode: &Mode<'_>) -> Result<Params, Error> {
        let (key, flags) = match *mode {
            Mode::Hash => {
                let mut key = [0; 32];
                key.as_chunks_mut()
                    .0
                    .iter_mut()
                    .zip(IV)
                    .for_each(|(bytes, word)| *bytes = word.to_le_bytes());
                (key, 0)
            }
            Mode::KeyedHash(key) => (*key, KEYED_HASH),
            Mode::DeriveKeyMaterial(key) => (*key, DERIVE_KEY_MATERIAL),
            _ => return Err(Error::Buffer { reason: format!("the mode {mode:?} is not known here") }),
        };
        Ok(Params { key: Zeroizing::new(key), flags })
    }

    /// As `Params` in the kernels, with the numbers: the first chunk, chunks, bytes of the last of them, chunks of a tile, values
    /// of a row, the first row.
    pub(super) fn bytes(&self, numbers: [u64; 6]) -> Zeroizing<[u8; Params::LEN]> {
        let [counter, chunks, tail, tile, row, first] = numbers;
        let words = [counter as u32, (counter >> 32) as u32, chunks as u32, tail as u32, self.flags];
        let words = words.into_iter().chain([tile, row, first].map(|number| number as u32));
        let mut bytes = Zeroizing::new([0; Params::LEN]);
        let (key, rest) = bytes.split_at_mut(32);
        key.copy_from_slice(&*self.key);
        rest.as_chunks_mut().0.iter_mut().zip(words).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
        bytes
    }

    fn mode(&self) -> Mode<'_> {
        match self.flags {
            KEYED_HASH => Mode::KeyedHash(&self.key),
            DERIVE_KEY_MATERIAL => Mode::DeriveKeyMaterial(&self.key),
            _ => Mode::Hash,
        }
    }
}

/// BLAKE3 in one mode, on one device. Threads share it.
///
/// The key, if there is one, lies in the device's memory until this is dropped.
pub struct Blake3 {
    device: Device,
    params: Params,
    /// Made for earlier inputs, and free.
    scratch: Mutex<Vec<Scratch>>,
}

impl Blake3 {
    /// Compiles the kernels, if that has not been done for this device, and asks for known digests.
    ///
    /// # Errors
    /// [`Error::SelfTest`]; what the driver says.
    pub fn new(device: &Device, mode: &Mode<'_>) -> Result<Blake3, Error> {
        let blake3 = Blake3::untested(device, mode)?;
        blake3.self_test()?;
        Ok(blake3)
    }

    pub(super) fn untested(device: &Device, mode: &Mode<'_>) -> Result<Blake3, Error> {
        device.kernels()?;
        Ok(Blake3 { device: device.clone(), params: Params::new(mode)?, scratch: Mutex::default() })
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The digest of `len` bytes of a buffer, from `offset` on.
    ///
    /// The buffer is one of the same device's, with the usages `STORAGE` and `COPY_SRC`. `offset` is a multiple of 256, and the
    /// buffer goes on to the next multiple of 16 behind the last byte; what stands there is of no meaning.
    ///
    /// # Errors
    /// [`Error::Buffer`]; what happens to the device.
    pub fn hash_buffer(&self, buffer: &Buffer, offset: u64, len: u64) -> Result<Hash, Error> {
        self.start(buffer, offset, len)?.finish()
    }

    /// As [`hash_buffer`](Blake3::hash_buffer), and does not wait: several inputs may be under way at the same time.
    ///
    /// # Errors
    /// As there.
    pub fn start(&self, buffer: &Buffer, offset: u64, len: u64) -> Result<Pending<'_>, Error> {
        self.check(buffer, offset, len)?;
        let work = if len <= CHUNK_LEN as u64 {
            self.fetch(buffer, offset, len)?
        } else {
            let cut = Cut::whole(len, self.device.info().binding)
                .ok_or_else(|| wrong(format!("{len} bytes are more than this device can be given")))?;
            let scratch = self.scratch(cut)?;
            let way = scratch.begin(self.device.kernels()?, &self.params, (buffer, offset), cut, 0)?;
            Work::Tiles(scratch, way)
        };
        Ok(Pending { blake3: self, work })
    }

    /// The digests of many messages: `out[i]` is that of `messages[i]`. For messages that lie in the memory of the host, as
    /// short as they are; those of more than a chunk are put together by the processor.
    ///
    /// # Errors
    /// What happens to the device. What is in `out` is of no meaning then.
    ///
    /// # Panics
    /// If `out` and `messages` differ in length.
    pub fn hash_many(&self, messages: &[&[u8]], out: &mut [Hash]) -> Result<(), Error> {
        assert_eq!(messages.len(), out.len(), "one place for each digest");
        let mut values = Vec::new();
        let binding = self.device.info().binding;
        let (most, most_jobs) = (binding.min(BATCH) as usize, (binding / 32).min(MOST_JOBS) as usize);
        let mut batch = Batch::default();
        for message in messages {
            let single = message.len() <= CHUNK_LEN;
            let flags = if single { CHUNK_END | ROOT } else { CHUNK_END };
            let mut rest = *message;
            for number in 0.. {
                let (piece, more) = rest.split_at(rest.len().min(CHUNK_LEN));
                if batch.bytes.len() + CHUNK_LEN > most || batch.jobs.len() == most_jobs {
                    self.run(&mut batch, &mut values)?;
                }
                batch.add(piece, number, flags);
                rest = more;
                if rest.is_empty() {
                    break;
                }
            }
        }
        self.run(&mut batch, &mut values)?;
        let mut values = &values[..];
        for (message, out) in messages.iter().zip(out) {
            let (own, others) = values.split_at(chunks(message.len() as u64).0 as usize);
            values = others;
            *out = match own {
                [digest] => Hash::from_bytes(*digest),
                row => {
                    let [left, right] = children(row.to_vec(), self.params.mode());
                    hazmat::merge_subtrees_root(&left, &right, self.params.mode())
                }
            };
        }
        Ok(())
    }

    /// Hashes what is in a batch, and empties it.
    fn run(&self, batch: &mut Batch, values: &mut Vec<ChainingValue>) -> Result<(), Error> {
        let count = batch.jobs.len() as u64;
        if count == 0 {
            return Ok(());
        }
        // A kernel is never given nothing.
        batch.bytes.resize(batch.bytes.len().max(16), 0);
        let (device, queue) = self.device.raw();
        let kernels = self.device.kernels()?;
        let asked = batch.bytes.len() as u64 + count * 80;
        let (back, way) = guarded(device, asked, || {
            let made = |size: usize, usage| buffer(device, size as u64, usage);
            let storage = BufferUsages::STORAGE;
            let params = made(Params::LEN, BufferUsages::UNIFORM | BufferUsages::COPY_DST);
            let input = made(batch.bytes.len(), storage | BufferUsages::COPY_DST);
            let jobs = made(batch.jobs.len() * 16, storage | BufferUsages::COPY_DST);
            // New, and therefore empty.
            let digests = made(batch.jobs.len() * 32, VALUES);
            let back = made(batch.jobs.len() * 32, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
            queue.write_buffer(&params, 0, &*self.params.bytes([0, count, 0, 0, 0, 0]));
            queue.write_buffer(&input, 0, &batch.bytes);
            queue.write_buffer(&jobs, 0, batch.jobs.as_flattened().as_flattened());
            let mut encoder = device.create_command_encoder(&::wgpu::CommandEncoderDescriptor::default());
            let buffers = [(0, &params), (1, &input), (3, &digests), (4, &jobs)]
                .map(|(number, buffer)| (number, buffer.as_entire_buffer_binding()));
            let group = bind(device, &kernels.messages, buffers);
            dispatch(&mut encoder, &kernels.messages, &group, count.div_ceil(WIDTH));
            encoder.clear_buffer(&params, 0, None);
            encoder.copy_buffer_to_buffer(&digests, 0, &back, 0, count * 32);
            let way = Way::begin(queue, encoder, &back, count * 32);
            (back, way)
        })?;
        way.wait(device)?;
        values.extend(way.values(device, &back).and_then(all)?);
        batch.jobs.clear();
        batch.bytes.clear();
        Ok(())
    }

    fn check(&self, buffer: &Buffer, offset: u64, len: u64) -> Result<(), Error> {
        const ALIGNED: u64 = 256;
        let end = offset.checked_add(len).and_then(|end| end.checked_next_multiple_of(16));
        if !offset.is_multiple_of(ALIGNED) {
            return Err(wrong(format!("it is read from {offset} on, which is no multiple of {ALIGNED}")));
        }
        if end.is_none_or(|end| end > buffer.size()) {
            let size = buffer.size();
            return Err(wrong(format!(
                "{len} bytes from {offset} on, and those up to a multiple of 16, are not in its {size}"
            )));
        }
        let needs = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
        if !buffer.usage().contains(needs) {
            return Err(wrong("it was made without the usages STORAGE and COPY_SRC".to_owned()));
        }
        Ok(())
    }

    /// Brings an input of one chunk back: the processor has its digest sooner than a device would begin.
    fn fetch(&self, from: &Buffer, offset: u64, len: u64) -> Result<Work, Error> {
        if len == 0 {
            return Ok(Work::Nothing);
        }
        let (device, queue) = self.device.raw();
        let size = len.next_multiple_of(32);
        let (back, way) = guarded(device, size, || {
            let back = buffer(device, size, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
            let mut encoder = device.create_command_encoder(&::wgpu::CommandEncoderDescriptor::default());
            encoder.copy_buffer_to_buffer(from, offset, &back, 0, len.next_multiple_of(4));
            let way = Way::begin(queue, encoder, &back, size);
            (back, way)
        })?;
        Ok(Work::Chunk(back, way, len as usize))
    }

    fn free(&self) -> std::sync::MutexGuard<'_, Vec<Scratch>> {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Scratch with room for this, used before if there is some.
    fn scratch(&self, cut: Cut) -> Result<Scratch, Error> {
        let mut free = self.free();
        if let Some(fits) = free.iter().position(|scratch| scratch.fits(cut)) {
            return Ok(free.swap_remove(fits));
        }
        // What was too small once will be so again.
        let smaller = free.pop();
        drop(free);
        drop(smaller);
        self.new_scratch(cut)
    }

    pub(super) fn new_scratch(&self, cut: Cut) -> Result<Scratch, Error> {
        let (device, queue) = self.device.raw();
        Scratch::new(device, queue, cut, self.params.flags != 0)
    }

    pub(super) fn params(&self) -> &Params {
        &self.params
    }

    /// Messages around the edges of blocks and chunks, and a tree, beside the processor.
    fn self_test(&self) -> Result<(), Error> {
        let bytes: Vec<u8> = (0..5000_usize).map(|i| (i * 31 + i / 251) as u8).collect();
        let lens = [0, 1, 63, 64, 65, 1023, 1024, 1025, 5000];
        let messages = lens.map(|len| &bytes[..len]);
        let mut digests = [Hash::from_bytes([0; 32]); 9];
        self.hash_many(&messages, &mut digests)?;
        let right = |message: &[u8]| Hasher::with_mode(&self.params.mode()).update(message).finalize();
        let (device, queue) = self.device.raw();
        let size = 5008;
        let tree = guarded(device, size, || {
            let tree =
                buffer(device, size, BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST);
            queue.write_buffer(&tree, 0, &bytes);
            tree
        })?;
        let tree = self.hash_buffer(&tree, 0, 5000)?;
        let all = messages.into_iter().zip(digests).all(|(message, digest)| digest == right(message));
        if all && tree == right(&bytes) {
            return Ok(());
        }
        Err(Error::SelfTest { device: self.device.info().name.clone() })
    }
}

impl fmt::Debug for Blake3 {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Blake3");
        out.field("device", &self.device).field("mode", &self.params.mode()).finish_non_exhaustive()
    }
}

fn wrong(reason: String) -> Error {
    Error::Buffer { reason }
}

/// The two values under the root, from those of neighbouring tiles.
fn children(mut row: Vec<ChainingValue>, mode: Mode<'_>) -> [ChainingValue; 2] {
    while row.len() > 2 {
        let parent = |pair: &[ChainingValue]| match pair {
            [left, right] => hazmat::merge_subtrees_non_root(left, right, mode),
            odd => odd[0],
        };
        row = row.chunks(2).map(parent).collect();
    }
    [row[0], row[1]]
}

/// Bytes and chunks that go to a device together.
const BATCH: u64 = 32 << 20;
const MOST_JOBS: u64 = 1 << 20;

/// Chunks of messages that wait for a device.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// Four words each, as the kernel takes them.
    jobs: Vec<[[u8; 4]; 4]>,
}

impl Batch {
    fn add(&mut self, piece: &[u8], number: u32, flags: u32) {
        let words = [(self.bytes.len() / 16) as u32, piece.len() as u32, number, flags];
        self.jobs.push(words.map(u32::to_le_bytes));
        self.bytes.extend_from_slice(piece);
        self.bytes.resize(self.bytes.len().next_multiple_of(16), 0);
    }
}

/// An input that a device is at work on. Dropped, it is given up: its digest is computed, and nobody sees it.
#[must_use = "it is given up if it is dropped"]
pub struct Pending<'a> {
    blake3: &'a Blake3,
    work: Work,
}

enum Work {
    Nothing,
    /// One chunk, on its way to the host.
    Chunk(Buffer, Way, usize),
    Tiles(Scratch, Way),
}

impl Pending<'_> {
    /// Waits for the digest.
    ///
    /// # Errors
    /// What happened to the device.
    pub fn finish(self) -> Result<Hash, Error> {
        let mode = self.blake3.params.mode();
        Ok(match self.fetched()? {
            Fetched::Chunk(bytes) => Hasher::with_mode(&mode).update(&bytes).finalize(),
            Fetched::Children([left, right]) => hazmat::merge_subtrees_root(&left, &right, mode),
        })
    }

    /// Waits for the extended output.
    ///
    /// # Errors
    /// What happened to the device.
    pub fn finish_xof(self) -> Result<OutputReader, Error> {
        let mode = self.blake3.params.mode();
        Ok(match self.fetched()? {
            Fetched::Chunk(bytes) => Hasher::with_mode(&mode).update(&bytes).finalize_xof(),
            Fetched::Children([left, right]) => hazmat::merge_subtrees_root_xof(&left, &right, mode),
        })
    }

    fn fetched(self) -> Result<Fetched, Error> {
        let Pending { blake3, work } = self;
        Ok(match work {
            Work::Nothing => Fetched::Chunk(Vec::new()),
            Work::Chunk(back, way, len) => {
                let (device, _) = blake3.device.raw();
                way.wait(device)?;
                let mut bytes = way.values(device, &back)?.into_flattened();
                bytes.truncate(len);
                Fetched::Chunk(bytes)
            }
            Work::Tiles(scratch, way) => {
                let values = scratch.take(&way)?;
                blake3.free().push(scratch);
                Fetched::Children(children(values, blake3.params.mode()))
            }
        })
    }
}

enum Fetched {
    Chunk(Vec<u8>),
    Children([ChainingValue; 2]),
}

impl fmt::Debug for Pending<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("blake3", self.blake3).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Subtrees;
    use super::*;
    use hashmill_testkit::skip;

    /// A device whose kernels have something wrong.
    fn broken(right: &str, wrong: &str) -> Option<Device> {
        assert!(TEXT.contains(right), "{right}");
        match Device::best() {
            Ok(device) => Some(device.with_kernels(&TEXT.replace(right, wrong)).unwrap()),
            Err(_) => {
                skip("devices that give wrong results", "no device");
                None
            }
        }
    }

    #[test]
    fn a_device_that_gives_wrong_results_is_found_out() {
        let wrongs = [
            // A bit of a constant, of a length, of a rotation; the tail of an input; a pair that is no pair.
            ("0x6a09e667u", "0x6a09e666u"),
            ("vec2<u32>(0u), 64u, params.flags", "vec2<u32>(0u), 65u, params.flags"),
            ("rotate(b ^ c, 7u)", "rotate(b ^ c, 6u)"),
            ("clamp(left, vec4<i32>(0), vec4<i32>(3))", "clamp(left, vec4<i32>(0), vec4<i32>(2))"),
            ("if left + 1u < count {", "if left + 2u < count {"),
        ];
        for (right, wrong) in wrongs {
            let Some(device) = broken(right, wrong) else { return };
            let name = device.info().name.clone();
            let error = Blake3::new(&device, &Mode::Hash).map(|_| ()).unwrap_err();
            assert_eq!(error, Error::SelfTest { device: name.clone() }, "{wrong}");
            let error = Subtrees::new(&device, &Mode::Hash, 1 << 20, 1).map(|_| ()).unwrap_err();
            assert_eq!(error, Error::SelfTest { device: name }, "{wrong}");
        }
    }

    #[test]
    fn a_kernel_that_does_not_run_to_its_end_is_an_error() {
        let wrongs = [
            ("if number < params.chunks {", "if number + 1u < params.chunks {"),
            (
                "    if thread == 0u {\n        values[",
                "    if thread == 0u && group.x > 0u {\n        values[",
            ),
        ];
        for (right, wrong) in wrongs {
            let Some(device) = broken(right, wrong) else { return };
            let error = Blake3::new(&device, &Mode::Hash).map(|_| ()).unwrap_err();
            assert!(matches!(error, Error::Driver { .. }), "{error:?}");
        }
    }

    #[test]
    fn kernels_that_a_driver_does_not_take_are_an_error() {
        let Ok(device) = Device::best() else {
            return skip("kernels that a driver does not take", "no device");
        };
        for (right, wrong) in [("fn leaves(", "fn leaf("), ("var m = block;", "var m = blocks;")] {
            let error = device.with_kernels(&TEXT.replace(right, wrong)).unwrap_err();
            assert!(matches!(error, Error::Driver { .. }), "{error:?}");
        }
    }
}
