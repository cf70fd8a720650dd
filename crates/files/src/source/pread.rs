//! Tiles read at their offsets, into a buffer per thread that stays in that thread's cache.

use super::{Source, read_tile};
use crate::error::Error;
use crate::os;
use crate::pool::{Buffer, Buffers};
use crate::rescue::Rescue;
use std::fs::File;

pub(crate) struct Pread<'a> {
    file: &'a File,
    len: u64,
    buffers: &'a Buffers,
    rescue: &'a Rescue,
}

impl<'a> Pread<'a> {
    pub(crate) fn new(file: &'a File, len: u64, buffers: &'a Buffers, rescue: &'a Rescue) -> Pread<'a> {
        os::advise_sequential(file);
        Pread { file, len, buffers, rescue }
    }
}

impl Source for Pread<'_> {
    type Scratch = Buffer;

    fn scratch(&self) -> Buffer {
        self.buffers.take()
    }

    fn with<R>(
        &self,
        offset: u64,
        len: usize,
        scratch: &mut Buffer,
        hash: impl Fn(&[u8]) -> R,
    ) -> Result<R, Error> {
        read_tile(self.file, self.len, offset, &mut scratch[..len], self.rescue).map(hash)
    }

    fn check(&self) -> Result<(), Error> {
        // Every byte was read by a call that said so.
        Ok(())
    }

    fn done(&self, scratch: Buffer) {
        self.buffers.give(scratch);
    }
}
