//! Memory of programs that the device fetches by itself: made known to the driver, and taken back.

use super::super::device::Device;
use super::context::{Context, Memory};
use super::stream::Stream;
use crate::Error;
use std::sync::Arc;
use std::{fmt, mem};

/// For all contexts.
const PORTABLE: u32 = 1;

/// Bytes that a program has and that the driver knows, so that a device fetches them where they lie: see [`Device::registered`].
pub struct Registered<'a> {
    context: Arc<Context>,
    bytes: &'a [u8],
}

impl Device {
    /// Makes bytes known to the driver for as long as `with` runs: a device then fetches them by itself, and nobody copies them. That
    /// keeps their pages in memory, and takes time for each of them: it pays where the same bytes are hashed again, or a buffer is used
    /// again and again.
    ///
    /// # Errors
    /// What the driver says: of bytes that it knows already, for example, or of a file that is mapped and not to be written.
    pub fn registered<T>(&self, bytes: &[u8], with: impl FnOnce(&Registered<'_>) -> T) -> Result<T, Error> {
        let context = self.context();
        if !bytes.is_empty() {
            let current = context.enter()?;
            // SAFETY: the bytes are borrowed until they are given back, and devices only read them.
            let code = unsafe {
                let start = bytes.as_ptr().cast_mut().cast();
                (current.0.call().cuMemHostRegister_v2)(start, bytes.len(), PORTABLE)
            };
            context.check("cuMemHostRegister_v2", code, bytes.len() as u64)?;
        }
        // Given back however `with` ends, and never forgotten: nobody else has the value.
        let registered = Registered { context: Arc::clone(context), bytes };
        let value = with(&registered);
        registered.give_back().map(|()| value)
    }
}

impl Registered<'_> {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes
    }
}

impl Registered<'_> {
    fn give_back(mut self) -> Result<(), Error> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        // A context that is gone is asked all the same, when this is dropped: the driver counts.
        let current = self.context.enter()?;
        let bytes = mem::take(&mut self.bytes);
        // SAFETY: they were made known once, and no copy is under way.
        let code = unsafe { (current.0.call().cuMemHostUnregister)(bytes.as_ptr().cast_mut().cast()) };
        self.context.check("cuMemHostUnregister", code, 0)
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        if !self.bytes.is_empty() {
            let start = self.bytes.as_ptr().cast_mut().cast();
            // SAFETY: they were made known once, and no copy is under way.
            self.context.leave(|call| unsafe { (call.cuMemHostUnregister)(start) });
        }
    }
}

impl fmt::Debug for Registered<'_> {
    /// Without what is in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Registered({} bytes)", self.bytes.len())
    }
}

impl Stream {
    /// Copies some of these bytes. Whoever hands this over waits for the stream before the bytes are given back.
    pub(in super::super) fn upload_registered(
        &self,
        to: &Memory,
        from: &Registered<'_>,
        at: usize,
        len: usize,
    ) -> Result<(), Error> {
        let bytes = &from.bytes[at..at + len];
        let (pointer, current) = (to.at(0, len as u64), self.context.enter()?);
        // SAFETY: as promised; the bytes are borrowed, so nobody writes them.
        let code =
            unsafe { (current.0.call().cuMemcpyHtoDAsync_v2)(pointer, bytes.as_ptr().cast(), len, self.raw) };
        self.context.check("cuMemcpyHtoDAsync_v2", code, 0)
    }
}
