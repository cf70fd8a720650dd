//! From an open file to its digest: asks for the facts, follows the route.

use crate::error::Error;
use crate::files::Files;
use crate::function::Digest;
use crate::os;
use crate::plan::{Facts, MMAP_WINDOW, Route, Via, route};
use std::fs::File;
use std::io::{Cursor, Read};

pub(crate) mod mmap;
mod pread;
pub(crate) mod read;
pub(crate) mod tiles;

/// Hashes an open file, of which `prefix` has been read already.
pub(crate) fn hash_file(files: &Files, file: &File, prefix: &[u8]) -> Result<Digest, Error> {
    let metadata = file.metadata()?;
    let len = metadata.len();
    let facts = Facts {
        sized: metadata.is_file() && len > 0,
        len,
        threads: files.pool.threads(),
        tree: files.function.mode().is_some(),
        positioned: os::POSITIONED,
        mapping: files.mapping,
        most: files.tile,
    };
    match route(files.strategy, facts) {
        Route::Stream => {
            os::advise_sequential(file);
            read::hash(files, &mut Cursor::new(prefix).chain(file))
        }
        Route::Tiles { via: Via::Pread, tile, workers } => {
            let source = pread::Pread::new(file, len, &files.buffers);
            tiles::hash(files, &source, len, tile, workers)
        }
        Route::Tiles { via: Via::Mmap, tile, workers } => {
            let source = mmap::Mapped::new(file, len, MMAP_WINDOW);
            tiles::hash(files, &source, len, tile, workers)
        }
    }
}

/// Why a file of `reported` bytes had none at `offset`.
fn too_short(file: &File, reported: u64, offset: u64) -> Error {
    match file.metadata() {
        Ok(now) if now.len() < reported => Error::Shrunk { expected: reported, found: now.len() },
        Ok(_) => Error::EndsEarly { reported, offset },
        Err(error) => Error::Io(error),
    }
}
