//! Simulated storage: writes that fail, have an unknown outcome, or are lost or torn by a crash.

use std::collections::BTreeMap;

use hashmill_repo::DocumentId;
use hashmill_testkit::Rng;

use super::promise::Promise;
use super::scenario::Knobs;
use super::violation::Violation;
use crate::chunk::{ChunkKey, StoredChunk};
use crate::event::IoFailure;

/// A write under way.
#[derive(Clone, Debug)]
pub(super) enum Write {
    Put(Vec<StoredChunk>),
    Delete(Vec<ChunkKey>),
}

/// The storage: what survives a crash now.
#[derive(Default)]
pub(super) struct Disk {
    stored: BTreeMap<ChunkKey, Vec<u8>>,
    /// All writes fail.
    pub(super) is_out: bool,
}

impl Disk {
    /// Carries out a write, or part of it. Returns the outcome that the server hears.
    pub(super) fn finish(
        &mut self,
        write: Write,
        knobs: &Knobs,
        rng: &mut Rng,
        promise: &mut Promise,
    ) -> Result<Result<(), IoFailure>, Violation> {
        if self.is_out || rng.below(100) < knobs.failed_writes {
            return Ok(Err(IoFailure::NotDone("no space left".to_owned())));
        }
        if rng.below(100) < knobs.unknown_writes {
            if rng.below(2) == 0 {
                self.apply(write, promise)?;
            }
            return Ok(Err(IoFailure::Unknown("timeout".to_owned())));
        }
        self.apply(write, promise)?;
        Ok(Ok(()))
    }

    fn apply(&mut self, write: Write, promise: &mut Promise) -> Result<(), Violation> {
        match write {
            Write::Put(chunks) => chunks.into_iter().try_for_each(|chunk| self.put(chunk, promise)),
            Write::Delete(keys) => keys.iter().try_for_each(|key| self.delete(key, promise)),
        }
    }

    fn put(&mut self, chunk: StoredChunk, promise: &mut Promise) -> Result<(), Violation> {
        promise.note_stored(&chunk);
        let StoredChunk { key, bytes } = chunk;
        match self.stored.insert(key.clone(), bytes) {
            Some(bytes) => promise.note_deleted(&StoredChunk { key, bytes }),
            None => Ok(()),
        }
    }

    fn delete(&mut self, key: &ChunkKey, promise: &mut Promise) -> Result<(), Violation> {
        match self.stored.remove(key) {
            Some(bytes) => promise.note_deleted(&StoredChunk { key: key.clone(), bytes }),
            None => Ok(()),
        }
    }

    /// The server stops during a write: each part of it is done, not done, or torn.
    pub(super) fn crash(
        &mut self,
        write: Write,
        tears: bool,
        rng: &mut Rng,
        promise: &mut Promise,
    ) -> Result<(), Violation> {
        match write {
            Write::Put(chunks) => {
                for mut chunk in chunks {
                    match rng.below(3) {
                        0 => self.put(chunk, promise)?,
                        // A chunk of the same name is complete already.
                        1 if tears && !self.stored.contains_key(&chunk.key) => {
                            chunk.bytes.truncate(rng.below(chunk.bytes.len()));
                            self.put(chunk, promise)?;
                        }
                        _ => {}
                    }
                }
            }
            Write::Delete(keys) => {
                for key in keys.iter().filter(|_| rng.below(2) == 0) {
                    self.delete(key, promise)?;
                }
            }
        }
        Ok(())
    }

    /// All chunks of a document. A load may fail, or deliver a damaged chunk that is whole on the disk.
    pub(super) fn load(
        &self,
        document: &DocumentId,
        knobs: &Knobs,
        rng: &mut Rng,
    ) -> Result<Vec<StoredChunk>, IoFailure> {
        if rng.below(100) < knobs.failed_loads {
            return Err(IoFailure::NotDone("read error".to_owned()));
        }
        let of_document = self.stored.iter().filter(|(key, _)| key.document == *document);
        let mut chunks: Vec<StoredChunk> =
            of_document.map(|(key, bytes)| StoredChunk { key: key.clone(), bytes: bytes.clone() }).collect();
        if !chunks.is_empty() && rng.below(100) < knobs.damaged_loads {
            let at = rng.below(chunks.len());
            let bytes = &mut chunks[at].bytes;
            if !bytes.is_empty() {
                let offset = rng.below(bytes.len());
                bytes[offset] ^= 1 << rng.below(8);
            }
        }
        Ok(chunks)
    }
}
