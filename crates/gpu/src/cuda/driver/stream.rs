//! Streams of ordered device work, and the pinned host memory that they copy.

use super::context::{Context, Kernel, Memory};
use super::{Code, Handle};
use crate::Error;
use std::ffi::{c_uint, c_void};
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{slice, thread};
use zeroize::{Zeroize, Zeroizing};

const NOT_READY: Code = 600;

/// Stream flag: no synchronisation with the default stream.
const NON_BLOCKING: c_uint = 1;

/// Event flags: a waiting thread sleeps; no timestamps are recorded.
const BLOCKING_WITHOUT_TIME: c_uint = 1 | 2;

/// Allocation flag: pinned for all contexts.
const PORTABLE: c_uint = 1;

impl Context {
    /// Memory of the host that the device reads and writes directly, all zero.
    pub(in super::super) fn pinned(self: &Arc<Self>, bytes: usize) -> Result<Pinned, Error> {
        let event = self.event()?;
        let current = self.enter()?;
        let mut start = null_mut();
        let size = bytes.max(1);
        // SAFETY: writes one address.
        let code = unsafe { (current.0.call().cuMemHostAlloc)(&mut start, size, PORTABLE) };
        self.check("cuMemHostAlloc", code, size as u64)?;
        drop(current);
        // SAFETY: it is ours, and of the requested length.
        unsafe { start.cast::<u8>().write_bytes(0, size) };
        let pages =
            Pages { context: Arc::clone(self), start, bytes, event, in_flight: AtomicBool::new(false) };
        Ok(Pinned(Arc::new(pages)))
    }

    /// A word that kernels poll, not set.
    pub(in super::super) fn flag(self: &Arc<Self>) -> Result<Flag, Error> {
        Flag::new(self)
    }

    pub(in super::super) fn stream(self: &Arc<Self>) -> Result<Stream, Error> {
        let current = self.enter()?;
        let mut raw = null_mut();
        // SAFETY: writes one handle.
        let code = unsafe { (current.0.call().cuStreamCreate)(&mut raw, NON_BLOCKING) };
        self.check("cuStreamCreate", code, 0)?;
        drop(current);
        Ok(Stream { context: Arc::clone(self), raw })
    }

    fn event(self: &Arc<Self>) -> Result<Event, Error> {
        let current = self.enter()?;
        let mut raw = null_mut();
        // SAFETY: writes one handle.
        let code = unsafe { (current.0.call().cuEventCreate)(&mut raw, BLOCKING_WITHOUT_TIME) };
        self.check("cuEventCreate", code, 0)?;
        drop(current);
        Ok(Event { context: Arc::clone(self), raw })
    }
}

/// A point in a stream.
pub(super) struct Event {
    pub(super) context: Arc<Context>,
    pub(super) raw: Handle,
}

// SAFETY: as for `Context`.
unsafe impl Send for Event {}
// SAFETY: as for `Context`.
unsafe impl Sync for Event {}

impl Event {
    /// Waits until the stream has reached it.
    fn wait(&self) -> Result<(), Error> {
        let current = self.context.enter()?;
        // SAFETY: it lives.
        let code = unsafe { (current.0.call().cuEventSynchronize)(self.raw) };
        self.context.check("cuEventSynchronize", code, 0)
    }

    /// Has the stream reached it? Waits for at most `timeout`.
    fn reached(&self, timeout: Duration) -> Result<bool, Error> {
        /// A query takes about a microsecond.
        const FAST_QUERIES: u32 = 50;
        const PAUSE: Duration = Duration::from_micros(50);
        let (began, mut queries) = (Instant::now(), 0);
        loop {
            let current = self.context.enter()?;
            // SAFETY: it lives.
            let code = unsafe { (current.0.call().cuEventQuery)(self.raw) };
            drop(current);
            match code {
                NOT_READY if began.elapsed() >= timeout => return Ok(false),
                NOT_READY => queries += 1,
                code => return self.context.check("cuEventQuery", code, 0).map(|()| true),
            }
            if queries > FAST_QUERIES { thread::sleep(PAUSE) } else { thread::yield_now() }
        }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: it is ours.
        self.context.free_with(|call| unsafe { (call.cuEventDestroy_v2)(self.raw) });
    }
}

/// Memory of the host that the device reads and writes directly. Its bytes are accessible when no copy is in
/// flight.
pub(in super::super) struct Pinned(pub(super) Arc<Pages>);

/// As [`Pinned`], for copies to the device only.
#[derive(Clone)]
pub(in super::super) struct Source(Arc<Pages>);

pub(super) struct Pages {
    pub(super) context: Arc<Context>,
    pub(super) start: Handle,
    pub(super) bytes: usize,
    /// The end of the last copy.
    pub(super) event: Event,
    pub(super) in_flight: AtomicBool,
}

// SAFETY: the bytes are reached only through the one `Pinned`, which is borrowed for them.
unsafe impl Send for Pages {}
// SAFETY: as above; a `Source` reads none of them on the host.
unsafe impl Sync for Pages {}

impl Pages {
    /// Waits for the last copy, which has ended after an error too: a lost context copies nothing.
    fn wait_for_copy(&self) -> Result<(), Error> {
        if self.in_flight.load(Ordering::Acquire) {
            let waited = self.event.wait();
            self.in_flight.store(false, Ordering::Release);
            waited?;
        }
        Ok(())
    }

    /// Records that a copy was submitted.
    fn record_copy(&self, stream: &Stream) -> Result<(), Error> {
        self.in_flight.store(true, Ordering::Release);
        let recorded = stream.record(&self.event);
        if recorded.is_err() {
            // The event does not cover this copy, so wait for the stream.
            stream.synchronize()?;
            self.in_flight.store(false, Ordering::Release);
        }
        recorded
    }
}

/// Wipes whole words, where `zeroize` wipes single bytes: a stop of 2,211 hashes waits for megabytes of first blocks.
fn wipe(bytes: &mut [u8]) {
    // SAFETY: all bit patterns of a word are valid.
    let (before, words, behind) = unsafe { bytes.align_to_mut::<u64>() };
    before.zeroize();
    words.zeroize();
    behind.zeroize();
}

impl Drop for Pages {
    fn drop(&mut self) {
        // An error of the device; there is no caller to return it to.
        let _ = self.wait_for_copy();
        // The pages may hold a secret, and another allocation may get them next.
        // SAFETY: the bytes are ours, and no reference to them is left.
        wipe(unsafe { slice::from_raw_parts_mut(self.start.cast(), self.bytes) });
        // SAFETY: it is ours, and no copy is in flight.
        self.context.free_with(|call| unsafe { (call.cuMemFreeHost)(self.start) });
    }
}

impl Pinned {
    /// A handle for copies to the device.
    pub(in super::super) fn source(&self) -> Source {
        Source(Arc::clone(&self.0))
    }

    /// Waits for the last copy, and returns the bytes.
    pub(in super::super) fn bytes(&mut self) -> Result<&mut [u8], Error> {
        self.0.wait_for_copy()?;
        // SAFETY: they are ours, initialised, and no copy is in flight.
        Ok(unsafe { slice::from_raw_parts_mut(self.0.start.cast(), self.0.bytes) })
    }

    /// Wipes the bytes, even if the last copy failed.
    pub(in super::super) fn wipe(&mut self) -> Result<(), Error> {
        let waited = self.0.wait_for_copy();
        wipe(self.as_mut());
        waited
    }

    /// Has the last copy ended? Waits for at most `timeout`.
    pub(in super::super) fn poll(&self, timeout: Duration) -> Result<bool, Error> {
        if !self.0.in_flight.load(Ordering::Acquire) {
            return Ok(true);
        }
        let reached = self.0.event.reached(timeout)?;
        if reached {
            self.0.in_flight.store(false, Ordering::Release);
        }
        Ok(reached)
    }
}

impl AsRef<[u8]> for Pinned {
    fn as_ref(&self) -> &[u8] {
        // `bytes` returns the error. After it the device copies nothing.
        let _ = self.0.wait_for_copy();
        // SAFETY: they are ours, initialised, and no copy is in flight.
        unsafe { slice::from_raw_parts(self.0.start.cast(), self.0.bytes) }
    }
}

impl AsMut<[u8]> for Pinned {
    fn as_mut(&mut self) -> &mut [u8] {
        // As above.
        let _ = self.0.wait_for_copy();
        // SAFETY: they are ours, initialised, and no copy is in flight.
        unsafe { slice::from_raw_parts_mut(self.0.start.cast(), self.0.bytes) }
    }
}

/// A word on the device that running kernels poll, with a stream of its own to write it.
pub(in super::super) struct Flag {
    stream: Stream,
    word: Memory,
    host: Pinned,
}

impl Flag {
    pub(super) fn new(context: &Arc<Context>) -> Result<Flag, Error> {
        let len = size_of::<u32>();
        let (stream, word) = (context.stream()?, context.memory(len as u64)?);
        let mut flag = Flag { stream, word, host: context.pinned(len)? };
        flag.set(false)?;
        Ok(flag)
    }

    /// Sets the word. Kernels launched afterwards see it from the start; running ones see it soon.
    pub(in super::super) fn set(&mut self, to: bool) -> Result<(), Error> {
        self.host.bytes()?.copy_from_slice(&u32::from(to).to_ne_bytes());
        self.stream.upload(&self.word, 0, &self.host.source(), size_of::<u32>())?;
        self.stream.synchronize()
    }

    pub(in super::super) fn arg(&self) -> Arg<'_> {
        Arg::At(&self.word, 0)
    }
}

/// A queue of ordered work, independent of other streams.
pub(in super::super) struct Stream {
    pub(super) context: Arc<Context>,
    pub(super) raw: Handle,
}

// SAFETY: as for `Context`.
unsafe impl Send for Stream {}
// SAFETY: as for `Context`.
unsafe impl Sync for Stream {}

/// A kernel argument.
pub(in super::super) enum Arg<'a> {
    /// The address of memory plus an offset in bytes.
    At(&'a Memory, u64),
    /// A number of 32 bits.
    Number(u32),
    /// A structure of at most 64 bytes.
    Words(&'a [u8]),
}

/// An argument in the driver's form: its address is passed.
#[derive(Clone)]
#[repr(C, align(16))]
struct Value([u8; 64]);

impl Zeroize for Value {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl Stream {
    /// Copies the first bytes of pinned memory.
    pub(in super::super) fn upload(
        &self,
        to: &Memory,
        at: u64,
        from: &Source,
        bytes: usize,
    ) -> Result<(), Error> {
        assert!(bytes <= from.0.bytes, "the source is long enough");
        let (pointer, current) = (to.at(at, bytes as u64), self.context.enter()?);
        // SAFETY: the bytes are pinned, and not accessible until the copy has ended.
        let code = unsafe { (current.0.call().cuMemcpyHtoDAsync_v2)(pointer, from.0.start, bytes, self.raw) };
        self.context.check("cuMemcpyHtoDAsync_v2", code, 0)?;
        from.0.record_copy(self)
    }

    /// Copies bytes of any memory, and waits for the copy.
    pub(in super::super) fn upload_now(&self, to: &Memory, at: u64, from: &[u8]) -> Result<(), Error> {
        if from.is_empty() {
            return Ok(());
        }
        let (pointer, current) = (to.at(at, from.len() as u64), self.context.enter()?);
        // SAFETY: the bytes are borrowed until the copy has ended.
        let code = unsafe {
            (current.0.call().cuMemcpyHtoDAsync_v2)(pointer, from.as_ptr().cast(), from.len(), self.raw)
        };
        let copied = self.context.check("cuMemcpyHtoDAsync_v2", code, 0);
        self.synchronize()?;
        copied
    }

    /// Copies into the first bytes of pinned memory.
    pub(in super::super) fn download(
        &self,
        from: &Memory,
        at: u64,
        to: &mut Pinned,
        bytes: usize,
    ) -> Result<(), Error> {
        assert!(bytes <= to.0.bytes, "the target is long enough");
        to.0.wait_for_copy()?;
        let (pointer, current) = (from.at(at, bytes as u64), self.context.enter()?);
        // SAFETY: the bytes are pinned, and not accessible until the copy has ended.
        let code = unsafe { (current.0.call().cuMemcpyDtoHAsync_v2)(to.0.start, pointer, bytes, self.raw) };
        self.context.check("cuMemcpyDtoHAsync_v2", code, 0)?;
        to.0.record_copy(self)
    }

    /// Copies to any memory, and waits for the copy.
    pub(in super::super) fn download_now(&self, from: &Memory, at: u64, to: &mut [u8]) -> Result<(), Error> {
        if to.is_empty() {
            return Ok(());
        }
        let (pointer, current) = (from.at(at, to.len() as u64), self.context.enter()?);
        // SAFETY: the bytes are borrowed until the copy has ended.
        let code = unsafe {
            (current.0.call().cuMemcpyDtoHAsync_v2)(to.as_mut_ptr().cast(), pointer, to.len(), self.raw)
        };
        let copied = self.context.check("cuMemcpyDtoHAsync_v2", code, 0);
        self.synchronize()?;
        copied
    }

    /// Writes zeros.
    pub(in super::super) fn clear(&self, memory: &Memory, at: u64, bytes: u64) -> Result<(), Error> {
        self.set(memory, at, bytes, 0)
    }

    /// Fills with one byte.
    pub(in super::super) fn set(&self, memory: &Memory, at: u64, bytes: u64, to: u8) -> Result<(), Error> {
        let (pointer, current) = (memory.at(at, bytes), self.context.enter()?);
        // SAFETY: `at` has checked that these bytes exist.
        let code = unsafe { (current.0.call().cuMemsetD8Async)(pointer, to, bytes as usize, self.raw) };
        self.context.check("cuMemsetD8Async", code, 0)
    }

    /// Launches a kernel in `shape.blocks` blocks of `shape.threads` threads.
    pub(in super::super) fn launch(
        &self,
        kernel: &Kernel,
        shape: Shape,
        args: &[Arg<'_>],
    ) -> Result<(), Error> {
        let Shape { blocks, threads, shared } = shape;
        // A key may be among them.
        let mut values = Zeroizing::new(vec![Value([0; 64]); args.len()]);
        values.iter_mut().zip(args).for_each(|(value, arg)| arg.write_to(value));
        let mut addresses: Vec<*mut c_void> =
            values.iter_mut().map(|value| value.0.as_mut_ptr().cast()).collect();
        let current = self.context.enter()?;
        // SAFETY: the arguments match the kernel's parameters in number, each no shorter than its parameter
        // (the simulated driver copies by the parameters' sizes), and are copied before the call ends. The
        // kernel keeps to the memory that it is given.
        let code = unsafe {
            (current.0.call().cuLaunchKernel)(
                kernel.raw,
                blocks,
                1,
                1,
                threads,
                1,
                1,
                shared,
                self.raw,
                addresses.as_mut_ptr(),
                null_mut(),
            )
        };
        self.context.check("cuLaunchKernel", code, 0)
    }

    fn record(&self, event: &Event) -> Result<(), Error> {
        let current = self.context.enter()?;
        // SAFETY: both live, and belong to the same context.
        let code = unsafe { (current.0.call().cuEventRecord)(event.raw, self.raw) };
        self.context.check("cuEventRecord", code, 0)
    }

    /// Waits for all submitted work.
    pub(in super::super) fn synchronize(&self) -> Result<(), Error> {
        let current = self.context.enter()?;
        // SAFETY: it lives.
        let code = unsafe { (current.0.call().cuStreamSynchronize)(self.raw) };
        self.context.check("cuStreamSynchronize", code, 0)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: it is ours. Its remaining work is done first.
        self.context.free_with(|call| unsafe {
            (call.cuStreamSynchronize)(self.raw);
            (call.cuStreamDestroy_v2)(self.raw)
        });
    }
}

impl Arg<'_> {
    fn write_to(&self, value: &mut Value) {
        let mut put = |bytes: &[u8]| value.0[..bytes.len()].copy_from_slice(bytes);
        match self {
            Arg::At(memory, at) => put(&memory.at(*at, 0).to_ne_bytes()),
            Arg::Number(number) => put(&number.to_ne_bytes()),
            Arg::Words(bytes) => put(bytes),
        }
    }
}

/// Blocks and threads of a launch, and bytes of shared memory per block.
#[derive(Clone, Copy)]
pub(in super::super) struct Shape {
    pub(in super::super) blocks: u32,
    pub(in super::super) threads: u32,
    pub(in super::super) shared: u32,
}
