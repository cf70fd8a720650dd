//! Extension of a hasher for files: the two methods of the official crate's hasher.

use crate::error::Error;
use crate::read::plan::{MMAP_TILE, MMAP_WINDOW, SMALL};
use crate::read::rescue::Rescue;
use crate::read::source::{Source, mmap::Mapped};
use hashmill_hash::blake3::Hasher;
use std::fs::File;
use std::io;
use std::path::Path;

/// Methods of [`Hasher`] for files.
///
/// Large files are mapped, with a handler for SIGBUS: see [`Mapping`](crate::Mapping).
///
/// For a hasher with other input besides the file. A digest of the file alone comes faster from
/// [`Files`](crate::Files), which also has threads of its own.
pub trait HasherExt {
    /// Adds the whole file, mapped if it is large enough for that to pay.
    ///
    /// # Errors
    /// Errors of the system, or that the file shrank. Part of the input has been added then, so the hasher
    /// must be [`reset`](Hasher::reset).
    fn update_mmap(&mut self, path: impl AsRef<Path>) -> io::Result<&mut Self>;

    /// As [`update_mmap`](HasherExt::update_mmap), with other threads of the current rayon pool.
    ///
    /// # Errors
    /// As for [`update_mmap`](HasherExt::update_mmap).
    fn update_mmap_rayon(&mut self, path: impl AsRef<Path>) -> io::Result<&mut Self>;
}

impl HasherExt for Hasher {
    fn update_mmap(&mut self, path: impl AsRef<Path>) -> io::Result<&mut Hasher> {
        take(self, path.as_ref(), |hasher, bytes| {
            hasher.update(bytes);
        })
    }

    fn update_mmap_rayon(&mut self, path: impl AsRef<Path>) -> io::Result<&mut Hasher> {
        take(self, path.as_ref(), |hasher, bytes| {
            hasher.update_parallel(bytes);
        })
    }
}

fn take<'a>(
    hasher: &'a mut Hasher,
    path: &Path,
    update: impl Fn(&mut Hasher, &[u8]),
) -> io::Result<&'a mut Hasher> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    let len = metadata.len();
    // Files of /proc report no size and have contents.
    if !metadata.is_file() || len < SMALL as u64 {
        return hasher.update_reader(file);
    }
    windows(&file, len, hasher, update)?;
    Ok(hasher)
}

/// Adds the first `len` bytes of `file`, in order.
fn windows(
    file: &File,
    len: u64,
    hasher: &mut Hasher,
    update: impl Fn(&mut Hasher, &[u8]),
) -> Result<(), Error> {
    let rescue = Rescue::new(false);
    let source = Mapped::new(file, len, MMAP_WINDOW, &rescue);
    let mut scratch = source.scratch(None)?;
    let mut offset = 0;
    while offset < len {
        let now = (len - offset).min(MMAP_TILE as u64);
        // A window may be found incomplete afterwards, and is then read.
        *hasher = source.with(offset, now as usize, &mut scratch, |tile| {
            let mut next = hasher.clone();
            update(&mut next, tile.bytes);
            next
        })?;
        offset += now;
    }
    source.check()
}
