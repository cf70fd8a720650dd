//! A handful of files on one thread: small ones are read side by side and hashed together, across SIMD lanes.

use crate::error::Error;
use crate::files::Files;
use crate::function::Digest;
use crate::plan::{FIRST, SMALL, fits_small};
use crate::pool::{Buffer, LINE};
use crate::source::{self, read};
use std::fs::File;
use std::ops::Range;
use std::path::Path;

/// Room for small files until they are hashed. It fits into a second-level cache together with what else is there.
pub(crate) const ARENA: usize = 512 * 1024;

/// The results for `paths`, in their order.
pub(crate) fn hash(files: &Files, paths: &[&Path]) -> Vec<Result<Digest, Error>> {
    let arenas = files.arenas.here();
    let mut batch = Batch { files, arena: arenas.take(), used: 0, bytes: 0, waiting: Vec::new() };
    let mut results: Vec<_> = paths.iter().map(|_| Err(Error::Refused("not hashed yet"))).collect();
    for (index, path) in paths.iter().enumerate() {
        if batch.arena.len() - batch.used < SMALL {
            batch.flush(&mut results);
        }
        match batch.open(path) {
            Ok(Opened::Small(range)) => batch.waiting.push((index, range)),
            Ok(Opened::Hashed(digest)) => results[index] = Ok(digest),
            Err(error) => results[index] = Err(error),
        }
    }
    batch.flush(&mut results);
    arenas.give(batch.arena);
    files.progress.add_files(paths.len() as u64);
    results
}

struct Batch<'a> {
    files: &'a Files,
    arena: Buffer,
    used: usize,
    /// Of which this many belong to files.
    bytes: u64,
    /// Small files in the arena that wait for their digests.
    waiting: Vec<(usize, Range<usize>)>,
}

enum Opened {
    /// The whole file lies in this part of the arena.
    Small(Range<usize>),
    Hashed(Digest),
}

impl Batch<'_> {
    fn open(&mut self, path: &Path) -> Result<Opened, Error> {
        let mut file = File::open(path)?;
        if !self.files.looks_first() {
            return source::hash_file(self.files, &file, &[]).map(Opened::Hashed);
        }
        let room = &mut self.arena[self.used..self.used + SMALL];
        let mut len = read::fill(&mut file, &mut room[..FIRST])?;
        let mut ended = len < FIRST;
        if !ended && fits_small(&file.metadata()?) {
            len += read::fill(&mut file, &mut room[FIRST..])?;
            ended = len < SMALL;
        }
        if !ended {
            return source::hash_file(self.files, &file, &room[..len]).map(Opened::Hashed);
        }
        let range = self.used..self.used + len;
        // The next file begins at a line again, whatever the length of this one.
        self.used += len.next_multiple_of(LINE);
        self.bytes += len as u64;
        Ok(Opened::Small(range))
    }

    /// Hashes what waits and makes the arena free again.
    fn flush(&mut self, results: &mut [Result<Digest, Error>]) {
        let messages: Vec<&[u8]> = self.waiting.iter().map(|(_, range)| &self.arena[range.clone()]).collect();
        let outputs = self.files.function.batch(&messages);
        for ((index, range), output) in self.waiting.drain(..).zip(outputs) {
            results[index] = Ok(Digest { output, len: range.len() as u64 });
        }
        self.files.progress.add_bytes(std::mem::take(&mut self.bytes));
        self.used = 0;
    }
}
