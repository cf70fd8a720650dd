//! From an open file to its digest: asks for the facts, follows the route.

use crate::engine::Engine;
use crate::error::Error;
use crate::function::Digest;
use crate::input::{InOrder, Input};
use crate::os;
use crate::plan::{Facts, MMAP_WINDOW, Route, Via, route};
use crate::rescue::{Careful, Rescue};
use crate::source::{mmap::Mapped, pread::Pread};
use crate::work::Work;
use crate::{stream, tiles};
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};

/// Hashes an open file, of which `prefix` has been read already.
pub(crate) fn hash(work: &Work, file: &File, prefix: &[u8]) -> Result<Digest, Error> {
    let metadata = file.metadata()?;
    let len = metadata.len();
    let facts = Facts {
        sized: metadata.is_file() && len > 0,
        len,
        threads: work.pool.threads(),
        tree: work.function.mode().is_some(),
        positioned: os::POSITIONED,
        mapping: work.options.mapping,
        most: work.most(),
        slots: work.engine.as_ref().and_then(Engine::slots),
    };
    let rescue = Rescue::new(work.options.keep_going);
    let digest = match route(work.options.strategy, facts) {
        Route::Stream => {
            os::advise_sequential(file);
            stream::hash(work, &mut Cursor::new(prefix).chain(Careful::new(file, &rescue)))
        }
        Route::StreamDirect => {
            stream::hash(work, &mut Careful::new(InOrder::new(Input::direct(file, work)), &rescue))
        }
        Route::Tiles { via: Via::Pread, tile, workers } => {
            os::advise_sequential(file);
            let input = Input::new(file);
            tiles::hash(work, &Pread::new(input, len, tile, &work.buffers, &rescue), len, tile, workers)
        }
        Route::Tiles { via: Via::Direct, tile, workers } => {
            let input = Input::direct(file, work);
            tiles::hash(work, &Pread::new(input, len, tile, &work.buffers, &rescue), len, tile, workers)
        }
        Route::Tiles { via: Via::Mmap, tile, workers } => {
            tiles::hash(work, &Mapped::new(file, len, MMAP_WINDOW, &rescue), len, tile, workers)
        }
    };
    rescue.finish(digest?)
}

/// Hashes what is left of standard input.
pub(crate) fn hash_stdin(work: &Work) -> Result<Digest, Error> {
    let digest = match os::stdin_file() {
        None => stream::hash(work, &mut io::stdin())?,
        Some(mut stdin) if is_whole_file(&stdin) => {
            let digest = hash(work, &stdin, &[])?;
            // Other programs, and another mention of it, go on where this one ended.
            stdin.seek(SeekFrom::Start(digest.len))?;
            digest
        }
        Some(mut stdin) => {
            os::widen_pipe(&stdin);
            let rescue = Rescue::new(work.options.keep_going);
            let digest = stream::hash(work, &mut Careful::new(&mut stdin, &rescue))?;
            rescue.finish(digest)?
        }
    };
    work.progress.add_files(1);
    Ok(digest)
}

fn is_whole_file(mut stdin: &File) -> bool {
    stdin.metadata().is_ok_and(|metadata| metadata.is_file())
        && stdin.stream_position().is_ok_and(|position| position == 0)
}
