//! Open device context, and its memory and kernels.

use super::super::device::{Buffer, Device};
use super::{Code, Functions, Handle, Ordinal, Pointer};
use crate::Error;
use std::ffi::{CString, c_int, c_void};
use std::ptr::null_mut;
use std::sync::{Arc, OnceLock};

const INVALID_VALUE: Code = 1;

impl Ordinal {
    /// Opens the device's primary context, which the process shares: addresses of other libraries are valid
    /// in it.
    pub(in super::super) fn open(self) -> Result<Arc<Context>, Error> {
        let mut raw = null_mut();
        // SAFETY: writes one handle.
        let code = unsafe { (self.driver.0.call.cuDevicePrimaryCtxRetain)(&mut raw, self.device) };
        self.driver.0.check("cuDevicePrimaryCtxRetain", code, 0)?;
        Ok(Arc::new(Context { ordinal: self, raw, loss: OnceLock::new() }))
    }
}

/// Context of an open device. It is released when its last user is dropped.
pub(in super::super) struct Context {
    ordinal: Ordinal,
    raw: Handle,
    /// The error that ended it.
    loss: OnceLock<Error>,
}

// SAFETY: a context and all that belongs to it may be used by any thread that makes it current, by several at the same time.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

/// A context that is current in this thread.
pub(super) struct Current<'a>(pub(super) &'a Context);

impl Drop for Current<'_> {
    fn drop(&mut self) {
        let mut raw = null_mut();
        // SAFETY: it pops the context that was pushed. If that fails, the context stays current, which is
        // harmless.
        unsafe { (self.0.call().cuCtxPopCurrent_v2)(&mut raw) };
    }
}

impl Device {
    /// Memory on this device that other code has allocated. It is not freed.
    ///
    /// # Safety
    /// The memory lives and is not written until every value that refers to it is dropped: clones of the
    /// buffer, and digests in flight.
    pub(crate) unsafe fn borrow(&self, pointer: u64, bytes: u64) -> Result<Buffer, Error> {
        // SAFETY: as promised.
        Ok(self.borrowed(unsafe { self.context().borrowed(pointer, bytes) }?))
    }
}

impl Context {
    pub(super) fn call(&self) -> &Functions {
        &self.ordinal.driver.0.call
    }

    /// Makes the context current while the result lives.
    pub(super) fn enter(&self) -> Result<Current<'_>, Error> {
        if let Some(loss) = self.loss.get() {
            return Err(loss.clone());
        }
        // SAFETY: it was retained.
        let code = unsafe { (self.call().cuCtxPushCurrent_v2)(self.raw) };
        self.check("cuCtxPushCurrent_v2", code, 0)?;
        Ok(Current(self))
    }

    /// Calls `free` with the context current, even if it is lost: then nothing remains to free, but the driver counts
    /// references.
    pub(super) fn free_with(&self, free: impl FnOnce(&Functions) -> Code) {
        // SAFETY: it was retained. Errors are ignored: memory that cannot be freed is leaked.
        if unsafe { (self.call().cuCtxPushCurrent_v2)(self.raw) } == 0 {
            let current = Current(self);
            free(current.0.call());
        }
    }

    pub(super) fn check(&self, call: &'static str, code: Code, bytes: u64) -> Result<(), Error> {
        self.ordinal.driver.0.check(call, code, bytes).inspect_err(|error| {
            if error.is_lost() {
                // The first error is the cause.
                let _ = self.loss.set(error.clone());
            }
        })
    }

    /// Free bytes of its memory.
    pub(in super::super) fn free(&self) -> Result<u64, Error> {
        let current = self.enter()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: writes two numbers.
        let code = unsafe { (current.0.call().cuMemGetInfo_v2)(&mut free, &mut total) };
        self.check("cuMemGetInfo_v2", code, 0)?;
        Ok(free as u64)
    }

    /// Memory on the device, with unspecified contents.
    pub(in super::super) fn memory(self: &Arc<Self>, bytes: u64) -> Result<Memory, Error> {
        let size = usize::try_from(bytes.max(1)).map_err(|_| Error::OutOfMemory { bytes })?;
        let current = self.enter()?;
        let mut pointer = 0;
        // SAFETY: writes one address.
        let code = unsafe { (current.0.call().cuMemAlloc_v2)(&mut pointer, size) };
        self.check("cuMemAlloc_v2", code, bytes.max(1))?;
        drop(current);
        Ok(Memory { context: Arc::clone(self), pointer, bytes, is_owned: true })
    }

    /// Memory on the device that other code has allocated, at least `bytes` bytes long.
    ///
    /// # Safety
    /// It lives and is not written while anything uses the result.
    pub(in super::super) unsafe fn borrowed(
        self: &Arc<Self>,
        pointer: u64,
        bytes: u64,
    ) -> Result<Memory, Error> {
        const MEMORY_TYPE: c_int = 2;
        const DEVICE_ORDINAL: c_int = 9;
        const RANGE_START: c_int = 11;
        const RANGE_SIZE: c_int = 12;
        const DEVICE: u32 = 2;
        let buffer_error = |reason: String| Error::Buffer { reason };
        let current = self.enter()?;
        let read_attribute = |which, into: *mut c_void| {
            // SAFETY: the attribute has the size of the value that it is written into.
            unsafe { (current.0.call().cuPointerGetAttribute)(into, which, pointer) }
        };
        let (mut kind, mut ordinal, mut start, mut size) = (0_u32, c_int::MIN, 0_u64, 0_usize);
        let code = read_attribute(MEMORY_TYPE, (&raw mut kind).cast());
        // The driver refuses addresses that it does not know.
        if code != INVALID_VALUE {
            self.check("cuPointerGetAttribute", code, 0)?;
        }
        if kind != DEVICE {
            return Err(buffer_error(format!("{pointer:#x} is no address in the memory of a device")));
        }
        // Compare devices, not contexts: memory of pools has no context, and memory of other contexts of this device is
        // valid too.
        self.check("cuPointerGetAttribute", read_attribute(DEVICE_ORDINAL, (&raw mut ordinal).cast()), 0)?;
        if ordinal != self.ordinal.device {
            return Err(buffer_error(format!(
                "{pointer:#x} is in the memory of another device, number {ordinal}"
            )));
        }
        self.check("cuPointerGetAttribute", read_attribute(RANGE_START, (&raw mut start).cast()), 0)?;
        self.check("cuPointerGetAttribute", read_attribute(RANGE_SIZE, (&raw mut size).cast()), 0)?;
        let room = start.saturating_add(size as u64).saturating_sub(pointer);
        if bytes > room {
            return Err(buffer_error(format!("{bytes} bytes from {pointer:#x} on are more than its {room}")));
        }
        drop(current);
        Ok(Memory { context: Arc::clone(self), pointer, bytes, is_owned: false })
    }

    /// Kernels from an image that the driver knows.
    pub(in super::super) fn module(self: &Arc<Self>, image: &'static [u8]) -> Result<Arc<Module>, Error> {
        let current = self.enter()?;
        let mut raw = null_mut();
        // SAFETY: an image contains its own length, and this one is ours.
        let code = unsafe { (current.0.call().cuModuleLoadData)(&mut raw, image.as_ptr().cast()) };
        self.check("cuModuleLoadData", code, 0)?;
        drop(current);
        Ok(Arc::new(Module { context: Arc::clone(self), raw }))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: it was retained once, and all its users are dropped.
        unsafe { (self.call().cuDevicePrimaryCtxRelease_v2)(self.ordinal.device) };
    }
}

/// Memory on a device.
pub(in super::super) struct Memory {
    context: Arc<Context>,
    pointer: Pointer,
    bytes: u64,
    is_owned: bool,
}

impl Memory {
    pub(in super::super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(in super::super) fn pointer(&self) -> u64 {
        self.pointer
    }

    /// The address of `bytes` bytes at offset `at`.
    pub(super) fn at(&self, at: u64, bytes: u64) -> Pointer {
        assert!(
            at.checked_add(bytes).is_some_and(|end| end <= self.bytes),
            "{bytes} at {at} of {}",
            self.bytes
        );
        self.pointer + at
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.is_owned {
            // SAFETY: it is ours. The driver waits for work that uses it; the code that submitted the work
            // has waited too.
            self.context.free_with(|call| unsafe { (call.cuMemFree_v2)(self.pointer) });
        }
    }
}

/// Kernels loaded by the driver.
pub(in super::super) struct Module {
    context: Arc<Context>,
    raw: Handle,
}

// SAFETY: as for `Context`.
unsafe impl Send for Module {}
// SAFETY: as for `Context`.
unsafe impl Sync for Module {}

impl Module {
    pub(in super::super) fn kernel(self: &Arc<Self>, name: &str) -> Result<Kernel, Error> {
        let name = CString::new(name).map_err(|error| Error::Driver { reason: error.to_string() })?;
        let current = self.context.enter()?;
        let mut raw = null_mut();
        // SAFETY: writes one handle.
        let code = unsafe { (current.0.call().cuModuleGetFunction)(&mut raw, self.raw, name.as_ptr()) };
        self.context.check("cuModuleGetFunction", code, 0)?;
        drop(current);
        Ok(Kernel { _module: Arc::clone(self), raw })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: it is ours, and none of its kernels is left.
        self.context.free_with(|call| unsafe { (call.cuModuleUnload)(self.raw) });
    }
}

/// A kernel of a module.
pub(in super::super) struct Kernel {
    _module: Arc<Module>,
    pub(super) raw: Handle,
}

// SAFETY: as for `Context`.
unsafe impl Send for Kernel {}
// SAFETY: as for `Context`.
unsafe impl Sync for Kernel {}
