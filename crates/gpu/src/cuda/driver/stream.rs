//! Streams: work in its order; memory of the host that they fetch and fill.

use super::context::{Context, Kernel, Memory};
use super::{Code, Handle};
use crate::Error;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{slice, thread};
use zeroize::{Zeroize, Zeroizing};

const NOT_READY: Code = 600;

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
    /// Waits until it has been reached.
    fn wait(&self) -> Result<(), Error> {
        let current = self.context.enter()?;
        // SAFETY: it lives.
        let code = unsafe { (current.0.call().cuEventSynchronize)(self.raw) };
        self.context.check("cuEventSynchronize", code, 0)
    }

    /// Whether it has been reached, after waiting so long at most.
    fn reached(&self, timeout: Duration) -> Result<bool, Error> {
        /// A look takes about a microsecond.
        const LOOKS: u32 = 50;
        const PAUSE: Duration = Duration::from_micros(50);
        let (began, mut looks) = (Instant::now(), 0);
        loop {
            let current = self.context.enter()?;
            // SAFETY: it lives.
            let code = unsafe { (current.0.call().cuEventQuery)(self.raw) };
            drop(current);
            match code {
                NOT_READY if began.elapsed() >= timeout => return Ok(false),
                NOT_READY => looks += 1,
                code => return self.context.check("cuEventQuery", code, 0).map(|()| true),
            }
            if looks > LOOKS { thread::sleep(PAUSE) } else { thread::yield_now() }
        }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: it is ours.
        self.context.leave(|call| unsafe { (call.cuEventDestroy_v2)(self.raw) });
    }
}

/// Memory of the host that the device fetches and fills by itself. Its bytes are shown when no copy is under way.
pub(in super::super) struct Pinned(pub(super) Arc<Pages>);

/// The same, for copies to the device only.
#[derive(Clone)]
pub(in super::super) struct Source(Arc<Pages>);

pub(super) struct Pages {
    pub(super) context: Arc<Context>,
    pub(super) start: Handle,
    pub(super) bytes: usize,
    /// The end of the last copy.
    pub(super) event: Event,
    pub(super) under_way: AtomicBool,
}

// SAFETY: the bytes are reached through the one `Pinned` alone, which is borrowed for them.
unsafe impl Send for Pages {}
// SAFETY: as above; a `Source` reads none of them in the host.
unsafe impl Sync for Pages {}

impl Pages {
    /// Waits for the last copy. A context that is gone copies nothing any more.
    fn settle(&self) -> Result<(), Error> {
        if self.under_way.load(Ordering::Acquire) {
            let waited = self.event.wait();
            self.under_way.store(false, Ordering::Release);
            waited?;
        }
        Ok(())
    }

    /// Notes that a copy was handed over.
    fn begin(&self, stream: &Stream) -> Result<(), Error> {
        self.under_way.store(true, Ordering::Release);
        let recorded = stream.record(&self.event);
        if recorded.is_err() {
            // The event says nothing of this copy, so the stream has to.
            stream.synchronize()?;
            self.under_way.store(false, Ordering::Release);
        }
        recorded
    }
}

/// Word by word, where `zeroize` goes byte by byte: whoever stops 2,211 hashes waits for megabytes of first blocks.
fn wipe(bytes: &mut [u8]) {
    // SAFETY: all bits of a word may be anything.
    let (before, words, behind) = unsafe { bytes.align_to_mut::<u64>() };
    before.zeroize();
    words.zeroize();
    behind.zeroize();
}

impl Drop for Pages {
    fn drop(&mut self) {
        // An error is the device's, which nobody asks any more.
        let _ = self.settle();
        // It may have been a secret, and whoever has the pages next is somebody else.
        // SAFETY: the bytes are ours, and nobody sees them any more.
        wipe(unsafe { slice::from_raw_parts_mut(self.start.cast(), self.bytes) });
        // SAFETY: it is ours, and no copy is under way.
        self.context.leave(|call| unsafe { (call.cuMemFreeHost)(self.start) });
    }
}

impl Pinned {
    /// For copies to the device.
    pub(in super::super) fn source(&self) -> Source {
        Source(Arc::clone(&self.0))
    }

    /// Waits for the last copy, and shows what is there.
    pub(in super::super) fn bytes(&mut self) -> Result<&mut [u8], Error> {
        self.0.settle()?;
        // SAFETY: they are ours, zero or written since, and no copy is under way.
        Ok(unsafe { slice::from_raw_parts_mut(self.0.start.cast(), self.0.bytes) })
    }

    /// Wipes what is there, whatever became of the last copy.
    pub(in super::super) fn wipe(&mut self) -> Result<(), Error> {
        let settled = self.0.settle();
        wipe(self.as_mut());
        settled
    }

    /// Whether the last copy has ended, after waiting so long at most.
    pub(in super::super) fn look(&self, timeout: Duration) -> Result<bool, Error> {
        if !self.0.under_way.load(Ordering::Acquire) {
            return Ok(true);
        }
        let reached = self.0.event.reached(timeout)?;
        if reached {
            self.0.under_way.store(false, Ordering::Release);
        }
        Ok(reached)
    }
}

impl AsRef<[u8]> for Pinned {
    fn as_ref(&self) -> &[u8] {
        // An error is told to whoever asks for the value. The device copies nothing any more.
        let _ = self.0.settle();
        // SAFETY: they are ours, zero or written since, and no copy is under way.
        unsafe { slice::from_raw_parts(self.0.start.cast(), self.0.bytes) }
    }
}

impl AsMut<[u8]> for Pinned {
    fn as_mut(&mut self) -> &mut [u8] {
        // As above.
        let _ = self.0.settle();
        // SAFETY: they are ours, zero or written since, and no copy is under way.
        unsafe { slice::from_raw_parts_mut(self.0.start.cast(), self.0.bytes) }
    }
}

/// A word on the device that kernels look at while they run, with a stream of its own to write it.
pub(in super::super) struct Flag {
    stream: Stream,
    word: Memory,
    here: Pinned,
}

impl Flag {
    pub(super) fn new(context: &Arc<Context>) -> Result<Flag, Error> {
        let len = size_of::<u32>();
        let (stream, word) = (context.stream()?, context.memory(len as u64)?);
        let mut flag = Flag { stream, word, here: context.pinned(len)? };
        flag.set(false)?;
        Ok(flag)
    }

    /// Whoever launches kernels afterwards has them see it; others see it soon.
    pub(in super::super) fn set(&mut self, to: bool) -> Result<(), Error> {
        self.here.bytes()?.copy_from_slice(&u32::from(to).to_ne_bytes());
        self.stream.upload(&self.word, 0, &self.here.source(), size_of::<u32>())?;
        self.stream.synchronize()
    }

    pub(in super::super) fn arg(&self) -> Arg<'_> {
        Arg::At(&self.word, 0)
    }
}

/// Work in its order, beside that of other streams.
pub(in super::super) struct Stream {
    pub(super) context: Arc<Context>,
    pub(super) raw: Handle,
}

// SAFETY: as for `Context`.
unsafe impl Send for Stream {}
// SAFETY: as for `Context`.
unsafe impl Sync for Stream {}

/// What a kernel is given.
pub(in super::super) enum Arg<'a> {
    /// The address of memory, so many bytes behind its beginning.
    At(&'a Memory, u64),
    /// A number of 32 bits.
    Number(u32),
    /// A structure, of 64 bytes at most.
    Words(&'a [u8]),
}

/// An argument as the driver takes it: its address is what is handed over.
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
        assert!(bytes <= from.0.bytes, "it has as many");
        let (pointer, current) = (to.at(at, bytes as u64), self.context.enter()?);
        // SAFETY: the bytes are pinned, and shown to nobody until the copy has ended.
        let code = unsafe { (current.0.call().cuMemcpyHtoDAsync_v2)(pointer, from.0.start, bytes, self.raw) };
        self.context.check("cuMemcpyHtoDAsync_v2", code, 0)?;
        from.0.begin(self)
    }

    /// Copies bytes that lie anywhere, and waits for it.
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
        assert!(bytes <= to.0.bytes, "it has room for as many");
        to.0.settle()?;
        let (pointer, current) = (from.at(at, bytes as u64), self.context.enter()?);
        // SAFETY: the bytes are pinned, and shown to nobody until the copy has ended.
        let code = unsafe { (current.0.call().cuMemcpyDtoHAsync_v2)(to.0.start, pointer, bytes, self.raw) };
        self.context.check("cuMemcpyDtoHAsync_v2", code, 0)?;
        to.0.begin(self)
    }

    /// Copies to anywhere, and waits for it.
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

    /// Writes the same byte everywhere.
    pub(in super::super) fn set(&self, memory: &Memory, at: u64, bytes: u64, to: u8) -> Result<(), Error> {
        let (pointer, current) = (memory.at(at, bytes), self.context.enter()?);
        // SAFETY: so many bytes are there.
        let code = unsafe { (current.0.call().cuMemsetD8Async)(pointer, to, bytes as usize, self.raw) };
        self.context.check("cuMemsetD8Async", code, 0)
    }

    /// Runs a kernel in so many blocks of so many threads.
    pub(in super::super) fn launch(
        &self,
        kernel: &Kernel,
        shape: Shape,
        args: &[Arg<'_>],
    ) -> Result<(), Error> {
        let Shape { blocks, threads, shared } = shape;
        // A key may be among them.
        let mut values = Zeroizing::new(vec![Value([0; 64]); args.len()]);
        values.iter_mut().zip(args).for_each(|(value, arg)| arg.put(value));
        let mut addresses: Vec<*mut c_void> =
            values.iter_mut().map(|value| value.0.as_mut_ptr().cast()).collect();
        let current = self.context.enter()?;
        // SAFETY: the arguments are those of the kernel, each no shorter than its parameter (the driver without a card copies as many
        // bytes of as many), and are copied before the call ends. The kernel keeps to the memory that it is given.
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
        // SAFETY: both live, and are of the same context.
        let code = unsafe { (current.0.call().cuEventRecord)(event.raw, self.raw) };
        self.context.check("cuEventRecord", code, 0)
    }

    /// Waits for all that was handed over.
    pub(in super::super) fn synchronize(&self) -> Result<(), Error> {
        let current = self.context.enter()?;
        // SAFETY: it lives.
        let code = unsafe { (current.0.call().cuStreamSynchronize)(self.raw) };
        self.context.check("cuStreamSynchronize", code, 0)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: it is ours. What it has still to do is done.
        self.context.leave(|call| unsafe {
            (call.cuStreamSynchronize)(self.raw);
            (call.cuStreamDestroy_v2)(self.raw)
        });
    }
}

impl Arg<'_> {
    fn put(&self, value: &mut Value) {
        let mut put = |bytes: &[u8]| value.0[..bytes.len()].copy_from_slice(bytes);
        match self {
            Arg::At(memory, at) => put(&memory.at(*at, 0).to_ne_bytes()),
            Arg::Number(number) => put(&number.to_ne_bytes()),
            Arg::Words(bytes) => put(bytes),
        }
    }
}

/// Threads of a kernel, and bytes that those of a block share.
#[derive(Clone, Copy)]
pub(in super::super) struct Shape {
    pub(in super::super) blocks: u32,
    pub(in super::super) threads: u32,
    pub(in super::super) shared: u32,
}
