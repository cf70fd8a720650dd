//! A handful of files on one thread: small ones are read side by side and hashed together, across SIMD lanes.

use crate::error::Error;
use crate::file;
use crate::function::Digest;
use crate::os::{self, fill};
use crate::plan::{FIRST, SMALL, fits_small};
use crate::pool::{Buffer, BufferList, LINE};
use crate::work::Work;
use std::fs::File;
use std::io::{self, Seek};
use std::ops::Range;
use std::path::Path;

/// Takes files one by one and gives their results in the same order.
pub(crate) struct Batch<'a> {
    work: &'a Work,
    arenas: BufferList<'a>,
    arena: Buffer,
    used: usize,
    /// How many files were opened, or not.
    files: u64,
    /// What came of them since the arena was last made free.
    opened: Vec<Result<Opened, Error>>,
    /// The results of all before.
    results: Vec<Result<Digest, Error>>,
}

enum Opened {
    /// The whole file lies in this part of the arena and waits for its digest.
    Small(Range<usize>),
    Hashed(Digest),
}

impl<'a> Batch<'a> {
    /// Room for this many results.
    pub(crate) fn new(work: &'a Work, most: usize) -> Batch<'a> {
        let arenas = work.arenas.here();
        let arena = arenas.take();
        let (opened, results) = (Vec::with_capacity(most), Vec::with_capacity(most));
        Batch { work, arenas, arena, used: 0, files: 0, opened, results }
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

    /// Adds a result that is known already.
    pub(crate) fn known(&mut self, result: Result<Digest, Error>) {
        self.opened.push(result.map(Opened::Hashed));
    }

    /// The results, as many as were added.
    pub(crate) fn finish(mut self) -> Vec<Result<Digest, Error>> {
        self.flush();
        self.work.progress.add_files(self.files);
        self.arenas.give(self.arena);
        self.results
    }

    fn open(&mut self, path: &Path) -> Result<Opened, Error> {
        self.work.go_on()?;
        let mut file = File::open(path)?;
        if !self.work.options.strategy.looks_first() {
            return file::hash(self.work, &file, &[]).map(Opened::Hashed);
        }
        let room = &mut self.arena[self.used..self.used + SMALL];
        let (len, ended) = match beginning(&mut file, room) {
            // Once more from the beginning, by whoever knows how to read around such places.
            Err(error) if os::is_of_place(&error) && file.rewind().is_ok() => (0, false),
            found => found?,
        };
        if !ended {
            return file::hash(self.work, &file, &room[..len]).map(Opened::Hashed);
        }
        let range = self.used..self.used + len;
        // The next file begins at a line again, whatever the length of this one.
        self.used += len.next_multiple_of(LINE);
        Ok(Opened::Small(range))
    }

    /// Hashes what waits and makes the arena free again.
    fn flush(&mut self) {
        let small = |opened: &Result<Opened, Error>| match opened {
            Ok(Opened::Small(range)) => Some(&self.arena[range.clone()]),
            _ => None,
        };
        let messages: Vec<&[u8]> = self.opened.iter().filter_map(small).collect();
        self.work.progress.add_bytes(messages.iter().map(|message| message.len() as u64).sum());
        let mut outputs = self.work.function.batch(&messages).into_iter();
        self.results.extend(self.opened.drain(..).map(|opened| {
            Ok(match opened? {
                Opened::Small(range) => {
                    let output = outputs.next().expect("an output for each message");
                    Digest { output, len: range.len() as u64 }
                }
                Opened::Hashed(digest) => digest,
            })
        }));
        self.used = 0;
    }
}

/// Reads the first bytes of a file, all if it is small: how many, and whether it ended.
fn beginning(file: &mut File, room: &mut [u8]) -> io::Result<(usize, bool)> {
    let len = fill(file, &mut room[..FIRST])?;
    if len < FIRST || !fits_small(&file.metadata()?) {
        return Ok((len, len < FIRST));
    }
    let len = len + fill(file, &mut room[FIRST..])?;
    Ok((len, len < SMALL))
}
