//! Batch of files on one thread: small files are read side by side and hashed together, across SIMD lanes.

use crate::context::HashContext;
use crate::context::pool::{Buffer, BufferList, LINE};
use crate::error::Error;
use crate::function::Digest;
use crate::hashing::file;
use crate::os::{self, fill};
use crate::read::plan::{FIRST, SMALL, fits_small};
use std::fs::File;
use std::io::{self, Seek};
use std::ops::Range;
use std::path::Path;

/// Collects files, and returns their results in the same order.
pub(crate) struct Batch<'a> {
    context: &'a HashContext,
    arenas: BufferList<'a>,
    arena: Buffer,
    used: usize,
    /// The number of files, failed ones included.
    files: u64,
    /// Files since the last flush of the arena.
    opened: Vec<Result<OpenFile, Error>>,
    /// The results of earlier files.
    results: Vec<Result<Digest, Error>>,
}

enum OpenFile {
    /// The whole file is in this range of the arena, not yet hashed.
    Small(Range<usize>),
    Hashed(Digest),
}

impl<'a> Batch<'a> {
    /// A batch of up to `most` files.
    pub(crate) fn new(context: &'a HashContext, most: usize) -> Batch<'a> {
        let arenas = context.arenas.here();
        let arena = arenas.take();
        let (opened, results) = (Vec::with_capacity(most), Vec::with_capacity(most));
        Batch { context, arenas, arena, used: 0, files: 0, opened, results }
    }

    /// Adds the file at `path`.
    pub(crate) fn file(&mut self, path: &Path) {
        if self.arena.len() - self.used < SMALL {
            self.flush();
        }
        self.files += 1;
        let opened = self.open(path);
        self.opened.push(opened);
    }

    /// Adds a known result.
    pub(crate) fn known(&mut self, result: Result<Digest, Error>) {
        self.opened.push(result.map(OpenFile::Hashed));
    }

    /// The results, as many as were added.
    pub(crate) fn finish(mut self) -> Vec<Result<Digest, Error>> {
        self.flush();
        self.context.progress.add_files(self.files);
        self.arenas.give(self.arena);
        self.results
    }

    fn open(&mut self, path: &Path) -> Result<OpenFile, Error> {
        self.context.check_stopped()?;
        let mut file = File::open(path)?;
        if !self.context.options.strategy.reads_beginning_first() {
            return file::hash(self.context, &file, &[]).map(OpenFile::Hashed);
        }
        let room = &mut self.arena[self.used..self.used + SMALL];
        let (len, ended) = match read_beginning(&mut file, room) {
            // Start again with a method that can read around unreadable ranges.
            Err(error) if os::is_media_error(&error) && file.rewind().is_ok() => (0, false),
            found => found?,
        };
        if !ended {
            return file::hash(self.context, &file, &room[..len]).map(OpenFile::Hashed);
        }
        let range = self.used..self.used + len;
        // The next file begins at a cache line.
        self.used += len.next_multiple_of(LINE);
        Ok(OpenFile::Small(range))
    }

    /// Hashes the files in the arena, and empties it.
    fn flush(&mut self) {
        let small = |opened: &Result<OpenFile, Error>| match opened {
            Ok(OpenFile::Small(range)) => Some(&self.arena[range.clone()]),
            _ => None,
        };
        let messages: Vec<&[u8]> = self.opened.iter().filter_map(small).collect();
        self.context.progress.add_bytes(messages.iter().map(|message| message.len() as u64).sum());
        let mut outputs = self.context.function.batch(&messages).into_iter();
        self.results.extend(self.opened.drain(..).map(|opened| {
            Ok(match opened? {
                OpenFile::Small(range) => {
                    let output = outputs.next().expect("an output for each message");
                    Digest { output, len: range.len() as u64 }
                }
                OpenFile::Hashed(digest) => digest,
            })
        }));
        self.used = 0;
    }
}

/// Reads the first bytes of a file, or all if it is small. Returns their number, and whether the file ended.
fn read_beginning(file: &mut File, room: &mut [u8]) -> io::Result<(usize, bool)> {
    let len = fill(file, &mut room[..FIRST])?;
    if len < FIRST || !fits_small(&file.metadata()?) {
        return Ok((len, len < FIRST));
    }
    let len = len + fill(file, &mut room[FIRST..])?;
    Ok((len, len < SMALL))
}
