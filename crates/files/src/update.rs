//! Files for a hasher that its owner holds: the two methods that the official crate's hasher has for them.

use crate::error::Error;
use crate::plan::{MMAP_TILE, MMAP_WINDOW, SMALL};
use crate::rescue::Rescue;
use crate::source::{Source, mmap::Mapped};
use hashmill_hash::blake3::Hasher;
use std::fs::File;
use std::io;
use std::path::Path;

/// What a [`Hasher`] can do with a file.
///
/// Large files are mapped, with a handler for SIGBUS: see [`Mapping`](crate::Mapping).
///
/// For a hasher with input besides the file. A digest of the file alone comes faster from
/// [`Files`](crate::Files), which also keeps its threads to itself.
pub trait HasherExt {
    /// Takes the whole file, mapped if it is large enough for that to pay.
    ///
    /// # Errors
    /// What the system reports, or that the file shrank. Some of the input has been taken then, so the hasher is
    /// good for nothing but [`reset`](Hasher::reset).
    fn update_mmap(&mut self, path: impl AsRef<Path>) -> io::Result<&mut Self>;

    /// The same, with other threads of the current rayon pool.
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
    // Files of /proc report no size and have bytes all the same.
    if !metadata.is_file() || len < SMALL as u64 {
        return hasher.update_reader(file);
    }
    windows(&file, len, hasher, update)?;
    Ok(hasher)
}

/// Gives the first `len` bytes of `file` to the hasher, in order.
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
        // A window may turn out not to be what the file has, and is read then.
        *hasher = source.with(offset, now as usize, &mut scratch, |seen| {
            let mut next = hasher.clone();
            update(&mut next, seen.bytes);
            next
        })?;
        offset += now;
    }
    source.check()
}
