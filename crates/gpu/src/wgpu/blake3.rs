//! [`Blake3`]: inputs that lie on a device, and many short messages.

use super::Device;
use super::guarded::guarded;
use super::scratch::{Scratch, VALUES, Way, bind, buffer, dispatch};
use crate::Error;
use crate::blake3::{self, BATCH, Batch, MOST_JOBS, Params, all, children, wrong};
use crate::cut::{Cut, WIDTH};
use ::wgpu::{Buffer, BufferUsages, ComputePipeline};
use hashmill_hash::blake3::hazmat::{self, ChainingValue, Mode};
use hashmill_hash::blake3::{CHUNK_LEN, Hash, Hasher, OutputReader};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The text of the kernels.
pub(super) const TEXT: &str = include_str!("blake3.wgsl");

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
        let binding = self.device.info().binding;
        let most = (binding.min(BATCH) as usize, (binding / 32).min(MOST_JOBS) as usize);
        blake3::many(self.params.mode(), most, messages, out, |batch, values| {
            batch.map_or(Ok(()), |batch| self.run(batch, values))
        })
    }

    /// Hashes what is in a batch, and empties it.
    fn run(&self, batch: &mut Batch, values: &mut Vec<ChainingValue>) -> Result<(), Error> {
        let count = batch.jobs.len() as u64;
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
        Scratch::new(device, queue, cut, self.params.is_secret())
    }

    pub(super) fn params(&self) -> &Params {
        &self.params
    }

    fn self_test(&self) -> Result<(), Error> {
        let (device, queue) = self.device.raw();
        let tree = |bytes: &[u8]| {
            let size = bytes.len().next_multiple_of(16) as u64;
            let tree = guarded(device, size, || {
                let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
                let tree = buffer(device, size, usage);
                queue.write_buffer(&tree, 0, bytes);
                tree
            })?;
            self.hash_buffer(&tree, 0, bytes.len() as u64)
        };
        let many = |messages: &[&[u8]], digests: &mut [Hash]| self.hash_many(messages, digests);
        blake3::self_test(&self.device.info().name, &self.params.mode(), many, tree)
    }
}

impl fmt::Debug for Blake3 {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Blake3");
        out.field("device", &self.device).field("mode", &self.params.mode()).finish_non_exhaustive()
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

    /// Whether the digest is there, after waiting so long at most.
    ///
    /// # Errors
    /// What happened to the device.
    pub fn look(&self, timeout: Duration) -> Result<bool, Error> {
        match &self.work {
            Work::Nothing => Ok(true),
            Work::Chunk(_, way, _) | Work::Tiles(_, way) => way.look(self.blake3.device.raw().0, timeout),
        }
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
            // The first value of a row, the last of a row of three, one in the middle.
            (
                "    if thread == 0u {\n        let at",
                "    if thread == 0u && group.x > 0u {\n        let at",
            ),
            (
                "    if thread == 0u {\n        let at",
                "    if thread == 0u && group.x != 6u {\n        let at",
            ),
            (
                "    if thread == 0u {\n        let at",
                "    if thread == 0u && group.x != 5u {\n        let at",
            ),
        ];
        for (right, wrong) in wrongs {
            let Some(device) = broken(right, wrong) else { return };
            let error = Blake3::new(&device, &Mode::Hash).map(|_| ()).unwrap_err();
            assert!(matches!(error, Error::Driver { .. }), "{wrong}: {error:?}");
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
