//! Hashing of an open file: gathers its facts and follows the planned route.

use crate::context::HashContext;
use crate::context::engine::Engine;
use crate::error::Error;
use crate::function::Digest;
use crate::hashing::{stream, tiles};
use crate::os;
use crate::read::input::{Input, SequentialReader};
use crate::read::plan::{FileFacts, MMAP_WINDOW, Route, TileSource, route};
use crate::read::rescue::{Rescue, RescueReader};
use crate::read::source::{mmap::Mapped, pread::Pread};
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};

/// Hashes an open file, of which `prefix` has been read already.
pub(crate) fn hash(context: &HashContext, file: &File, prefix: &[u8]) -> Result<Digest, Error> {
    let metadata = file.metadata()?;
    let len = metadata.len();
    let facts = FileFacts {
        sized: metadata.is_file() && len > 0,
        len,
        threads: context.pool.threads(),
        tree: context.function.mode().is_some(),
        positioned: os::POSITIONED,
        mapping: context.options.mapping,
        most: context.most(),
        slots: context.engine.as_ref().and_then(Engine::slots),
    };
    let rescue = Rescue::new(context.options.keep_going);
    let digest = match route(context.options.strategy, facts) {
        Route::Stream => {
            os::advise_sequential(file);
            stream::hash(context, &mut Cursor::new(prefix).chain(RescueReader::new(file, &rescue)))
        }
        Route::StreamDirect => stream::hash(
            context,
            &mut RescueReader::new(SequentialReader::new(Input::direct(file, context)), &rescue),
        ),
        Route::Tiles { via: TileSource::Pread, tile, workers } => {
            os::advise_sequential(file);
            let input = Input::new(file);
            tiles::hash(context, &Pread::new(input, len, tile, &context.buffers, &rescue), len, tile, workers)
        }
        Route::Tiles { via: TileSource::Direct, tile, workers } => {
            let input = Input::direct(file, context);
            tiles::hash(context, &Pread::new(input, len, tile, &context.buffers, &rescue), len, tile, workers)
        }
        Route::Tiles { via: TileSource::Mmap, tile, workers } => {
            tiles::hash(context, &Mapped::new(file, len, MMAP_WINDOW, &rescue), len, tile, workers)
        }
    };
    rescue.finish(digest?)
}

/// Hashes the rest of standard input.
pub(crate) fn hash_stdin(context: &HashContext) -> Result<Digest, Error> {
    let digest = match os::stdin_file() {
        None => stream::hash(context, &mut io::stdin())?,
        Some(mut stdin) if is_whole_file(&stdin) => {
            let digest = hash(context, &stdin, &[])?;
            // Other programs, and later jobs, continue where this one ended.
            stdin.seek(SeekFrom::Start(digest.len))?;
            digest
        }
        Some(mut stdin) => {
            os::widen_pipe(&stdin);
            let rescue = Rescue::new(context.options.keep_going);
            let digest = stream::hash(context, &mut RescueReader::new(&mut stdin, &rescue))?;
            rescue.finish(digest)?
        }
    };
    context.progress.add_files(1);
    Ok(digest)
}

fn is_whole_file(mut stdin: &File) -> bool {
    stdin.metadata().is_ok_and(|metadata| metadata.is_file())
        && stdin.stream_position().is_ok_and(|position| position == 0)
}
