//! Bundles: some changes of a document in one chunk.

use crate::codec::bytes::reader::Reader;
use crate::codec::chunks::bundle;
use crate::codec::chunks::change::{Change, Scratch};
use crate::codec::chunks::container::{Chunk, ChunkType};
use crate::codec::columns::section::{ChunkError, FormatFault};
use crate::codec::limits::{Budget, Limits};
use crate::document::Document;
use crate::types::error::{BundleError, DecodeError, Rule};
use crate::types::{ActorId, ChangeHash, ChangeIdx};

/// Some changes in one table, as small as a document with them. [`Document::load_incremental`] reads it, and so does
/// [`Document::load`] if it contains all dependencies of its changes.
///
/// Bundles are an experimental part of the format: a later version may encode them differently.
#[derive(Clone, Debug)]
pub struct Bundle {
    bytes: Vec<u8>,
    deps: Vec<ChangeHash>,
    actors: Vec<ActorId>,
    changes: Vec<Change>,
}

impl Bundle {
    /// Decodes a bundle within limits.
    pub fn read(bytes: &[u8], limits: &Limits) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let chunk = Chunk::read(&mut reader, limits).map_err(|error| error.at_chunk(0, 0))?;
        let locate = |error: ChunkError| error.at_chunk(0, chunk.header);
        reader
            .finish()
            .map_err(|rule| ChunkError::from(FormatFault::at(reader.offset(), rule)).at_chunk(0, 0))?;
        if chunk.kind != ChunkType::Bundle {
            return Err(
                ChunkError::from(FormatFault::at(8, Rule::ChunkType(chunk.kind as u8))).at_chunk(0, 0)
            );
        }
        let (deps, actors) = bundle::read_lists(&mut Reader::new(&chunk.body)).map_err(locate)?;
        let mut budget = Budget::of_call(limits);
        let changes =
            bundle::read(&chunk.body, limits, &mut budget, &mut Scratch::default()).map_err(locate)?;
        Ok(Self { bytes: bytes.to_vec(), deps, actors, changes })
    }

    /// The encoded chunk.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Dependencies of its changes that are not in it.
    pub fn deps(&self) -> &[ChangeHash] {
        &self.deps
    }

    /// All actors named in its changes.
    pub fn actors(&self) -> &[ActorId] {
        &self.actors
    }

    /// Its changes, each after its dependencies.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Its changes, each after its dependencies.
    pub fn to_changes(&self) -> Vec<Change> {
        self.changes.clone()
    }
}

impl TryFrom<&[u8]> for Bundle {
    type Error = DecodeError;

    fn try_from(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::read(bytes, &Limits::default())
    }
}

impl Document {
    /// Encodes changes as a bundle; changes between them may be missing. The result is decoded as a check: a bundle
    /// beyond the limits of this document is an error.
    ///
    /// Costs O(n log n) in the operations of the changes, and a pass over each list and text that they touch.
    pub fn bundle(&self, hashes: impl IntoIterator<Item = ChangeHash>) -> Result<Bundle, BundleError> {
        let state = self.committed_state();
        let rows = hashes.into_iter().map(|hash| state.row(&hash).ok_or(BundleError::UnknownHash(hash)));
        let mut rows = rows.collect::<Result<Vec<ChangeIdx>, _>>()?;
        rows.sort_unstable();
        rows.dedup();
        let bundle = Bundle::read(&state.write_bundle(&rows), &self.limits)?;
        let same = bundle.changes.iter().map(Change::hash).eq(rows.iter().map(|row| state.hash(*row)));
        assert!(same, "a bundle contains the given changes");
        Ok(bundle)
    }
}
