//! Windows of a mapped file, safe against truncation. With `guard`, the only `unsafe` code of this crate.
//!
//! A mapping has two dangers. If the file is truncated while it is mapped, touching a page beyond its new end
//! raises SIGBUS, which kills the process. And a mapping of a whole file counts as resident memory for its
//! whole life. So a file is mapped window by window, and while a window is hashed it is registered with a
//! handler for SIGBUS: the handler replaces missing pages by zeros, hashing continues to the end of the
//! window, and the result is discarded. If the file still has its length, the medium has failed, and the
//! bytes are read instead.
//!
//! Truncation inside the last page raises no signal (the rest of the page reads as zeros), so the size is
//! checked again after all windows.

#![allow(unsafe_code, reason = "the one mapping of files into memory")]

#[cfg(unix)]
mod guard;
#[cfg(not(unix))]
#[path = "unguarded.rs"]
mod guard;

use super::{Source, read_tile};
use crate::context::engine::Engine;
use crate::context::pool::Buffer;
use crate::context::tile_bytes::TileBytes;
use crate::error::Error;
use crate::os;
use crate::read::input::Input;
use crate::read::rescue::Rescue;
use guard::Watch;
use memmap2::{Mmap, MmapOptions};
use std::fs::File;
use std::ops::Range;

pub(crate) struct Mapped<'a> {
    file: &'a File,
    len: u64,
    rescue: &'a Rescue,
    /// The whole file if it fits into one window, for all threads: unmapping a window interrupts every other
    /// thread.
    whole: Option<Window>,
}

/// Mapped bytes of the file, and their watch. The watch ends before the mapping does.
struct Window {
    watch: Watch,
    map: Mmap,
}

impl<'a> Mapped<'a> {
    /// A file of `len` bytes, mapped in windows of `window` bytes.
    pub(crate) fn new(file: &'a File, len: u64, window: usize, rescue: &'a Rescue) -> Mapped<'a> {
        os::advise_sequential(file);
        guard::prepare();
        let whole = if len <= window as u64 { map(file, 0, len as usize) } else { None };
        Mapped { file, len, rescue, whole }
    }
}

/// Calls `hash` with a part of a window; `None` if a page was missing.
fn look<R>(window: &Window, part: Range<usize>, hash: impl Fn(TileBytes<'_>) -> R) -> Option<R> {
    let bytes = &window.map[part];
    touch(bytes);
    let value = hash(TileBytes::from_slice(bytes));
    (!window.watch.page_lost()).then_some(value)
}

impl Source for Mapped<'_> {
    type Scratch = Option<Buffer>;

    fn scratch(&self, _: Option<&Engine>) -> Result<Option<Buffer>, Error> {
        Ok(None)
    }

    fn with<R>(
        &self,
        offset: u64,
        len: usize,
        scratch: &mut Option<Buffer>,
        hash: impl Fn(TileBytes<'_>) -> R,
    ) -> Result<R, Error> {
        let hashed = match &self.whole {
            Some(whole) => look(whole, offset as usize..offset as usize + len, &hash),
            // `None` on a file system without mappings, or with more threads than watch slots.
            None => map(self.file, offset, len).and_then(|window| look(&window, 0..len, &hash)),
        };
        if let Some(value) = hashed {
            return Ok(value);
        }
        self.check()?;
        let buffer = match scratch {
            Some(buffer) if buffer.len() >= len => buffer,
            _ => scratch.insert(Buffer::new(len)),
        };
        read_tile(&Input::new(self.file), self.len, offset, buffer, len, self.rescue)?;
        Ok(hash(TileBytes::from_slice(&buffer[..len])))
    }

    fn check(&self) -> Result<(), Error> {
        let found = self.file.metadata()?.len();
        if found < self.len { Err(Error::Shrunk { expected: self.len, found }) } else { Ok(()) }
    }

    fn done(&self, _: Option<Buffer>) {}
}

fn map(file: &File, offset: u64, len: usize) -> Option<Window> {
    // SAFETY: the mapping is only read. Other programs may write to the file meanwhile; the bytes go
    // through arithmetic only, and no index or length depends on them. `Watch` handles pages that vanish.
    let map = unsafe { MmapOptions::new().offset(offset).len(len).map(file) }.ok()?;
    Some(Window { watch: Watch::over(&map)?, map })
}

/// Loads the pages of a window into the page table before it is hashed: the kernel maps sixteen pages with
/// each fault, and faults between the passes of a kernel that hashes sixteen chunks at once cost more than
/// faults in a row. (`MAP_POPULATE` saves as much, but holds a lock against other threads' mappings
/// meanwhile.)
fn touch(window: &[u8]) {
    const FAULT_AROUND: usize = 64 * 1024;
    std::hint::black_box(window.iter().step_by(FAULT_AROUND).fold(0, |sum, byte| sum ^ byte));
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Watch slots belong to the process, and one of the tests takes all of them.
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

    fn file_of(len: u64) -> File {
        let file = tempfile::tempfile().expect("a temporary file");
        file.set_len(len).expect("a sparse file");
        file
    }

    #[test]
    fn a_file_cut_while_its_window_is_read_is_an_error_and_no_death() {
        let _alone = crate::context::pool::lock(&ALONE);
        let file = file_of(1 << 20);
        let rescue = Rescue::new(false);
        let mapped = Mapped::new(&file, 1 << 20, 1 << 16, &rescue);
        let result = mapped.with(0, 1 << 20, &mut None, |tile| {
            file.set_len(5000).expect("truncation");
            tile.bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>()
        });
        assert!(matches!(result, Err(Error::Shrunk { expected: 0x10_0000, found: 5000 })), "{result:?}");
        assert!(matches!(mapped.check(), Err(Error::Shrunk { .. })));

        // The slot is free again, and a whole file is read without error.
        file.set_len(1 << 20).expect("growth");
        assert!(matches!(mapped.with(0, 1 << 20, &mut None, |tile| tile.bytes.len()), Ok(0x10_0000)));
    }

    #[test]
    fn a_cut_within_the_last_page_is_found_by_the_final_check() {
        let _alone = crate::context::pool::lock(&ALONE);
        let file = file_of(8192);
        let rescue = Rescue::new(false);
        let mapped = Mapped::new(&file, 8192, 4096, &rescue);
        let result = mapped.with(0, 8192, &mut None, |tile| {
            file.set_len(8000).expect("truncation");
            tile.bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>()
        });
        assert!(matches!(result, Ok(0)), "no page is lost: {result:?}");
        assert!(matches!(mapped.check(), Err(Error::Shrunk { expected: 8192, found: 8000 })));
    }

    #[test]
    fn with_every_slot_taken_bytes_are_read_instead() {
        let _alone = crate::context::pool::lock(&ALONE);
        let file = file_of(1 << 17);
        let rescue = Rescue::new(false);
        let mapped = Mapped::new(&file, 1 << 17, 1 << 16, &rescue);
        let window = [0; 1];
        let mut watches = Vec::new();
        while let Some(watch) = Watch::over(&window) {
            watches.push(watch);
        }
        let mut scratch = None;
        assert!(matches!(mapped.with(0, 1 << 17, &mut scratch, |tile| tile.bytes.len()), Ok(0x2_0000)));
        assert!(scratch.is_some(), "the bytes came through a buffer");
    }
}
