//! Registered host memory: memory of the caller that a device reads directly.

use super::super::device::Device;
use super::context::{Context, Memory};
use super::stream::Stream;
use crate::Error;
use std::sync::Arc;
use std::{fmt, mem};

/// Registration flag: valid in all contexts.
const PORTABLE: u32 = 1;

/// Bytes that are registered with the driver, so that a device fetches them in place: see
/// [`Device::registered`](crate::Device::registered).
pub struct Registered<'a> {
    context: Arc<Context>,
    bytes: &'a [u8],
}

impl Device {
    /// Registers bytes with the driver while `with` runs, so that the device fetches them in place.
    pub(crate) fn registered<T>(
        &self,
        bytes: &[u8],
        with: impl FnOnce(&Registered<'_>) -> T,
    ) -> Result<T, Error> {
        let context = self.context();
        if !bytes.is_empty() {
            let current = context.enter()?;
            // SAFETY: the bytes are borrowed until they are unregistered, and devices only read them.
            let code = unsafe {
                let start = bytes.as_ptr().cast_mut().cast();
                (current.0.call().cuMemHostRegister_v2)(start, bytes.len(), PORTABLE)
            };
            context.check("cuMemHostRegister_v2", code, bytes.len() as u64)?;
        }
        // Its drop unregisters the bytes if `with` panics. The caller gets a reference only, and so cannot forget it.
        let registered = Registered { context: Arc::clone(context), bytes };
        let value = with(&registered);
        registered.unregister().map(|()| value)
    }
}

impl Registered<'_> {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes
    }

    fn unregister(mut self) -> Result<(), Error> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        // In a lost context this fails, and the drop calls the driver, which counts references.
        let current = self.context.enter()?;
        let bytes = mem::take(&mut self.bytes);
        // SAFETY: they were registered once, and no copy is in flight.
        let code = unsafe { (current.0.call().cuMemHostUnregister)(bytes.as_ptr().cast_mut().cast()) };
        self.context.check("cuMemHostUnregister", code, 0)
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        if !self.bytes.is_empty() {
            let start = self.bytes.as_ptr().cast_mut().cast();
            // SAFETY: they were registered once, and no copy is in flight.
            self.context.free_with(|call| unsafe { (call.cuMemHostUnregister)(start) });
        }
    }
}

impl fmt::Debug for Registered<'_> {
    /// Omits the contents.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Registered({} bytes)", self.bytes.len())
    }
}

impl Stream {
    /// Copies some of these bytes. The caller waits for the stream before the bytes are unregistered.
    pub(in super::super) fn upload_registered(
        &self,
        to: &Memory,
        from: &Registered<'_>,
        at: usize,
        len: usize,
    ) -> Result<(), Error> {
        let bytes = &from.bytes[at..at + len];
        let (pointer, current) = (to.at(0, len as u64), self.context.enter()?);
        // SAFETY: the caller waits as documented; the bytes are borrowed, so they are not written.
        let code =
            unsafe { (current.0.call().cuMemcpyHtoDAsync_v2)(pointer, bytes.as_ptr().cast(), len, self.raw) };
        self.context.check("cuMemcpyHtoDAsync_v2", code, 0)
    }
}
