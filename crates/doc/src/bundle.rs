//! Bundles: some changes of a document in one chunk.

use crate::codec::bundle;
use crate::codec::change::{Change, Scratch};
use crate::codec::chunk::{Chunk, ChunkType};
use crate::codec::column::{ChunkError, Fault};
use crate::codec::limits::{Budget, Limits};
use crate::codec::reader::Reader;
use crate::document::Document;
use crate::error::{BundleError, DecodeError, Rule};
use crate::types::{ActorId, ChangeHash, ChangeIdx};

/// Some changes in one table, as small as a document with them would be. What reads files reads it:
/// [`Document::load_incremental`], or [`Document::load`] where it has all that its changes depend on.
///
/// The format calls bundles an experiment: a later version may say them otherwise.
#[derive(Clone, Debug)]
pub struct Bundle {
    bytes: Vec<u8>,
    deps: Vec<ChangeHash>,
    actors: Vec<ActorId>,
    changes: Vec<Change>,
}

impl Bundle {
    /// Reads a bundle within limits.
    pub fn read(bytes: &[u8], limits: &Limits) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let chunk = Chunk::read(&mut reader, limits).map_err(|error| error.place(0, 0))?;
        let place = |error: ChunkError| error.place(0, chunk.header);
        reader.finish().map_err(|rule| ChunkError::from(Fault::at(reader.offset(), rule)).place(0, 0))?;
        if chunk.kind != ChunkType::Bundle {
            return Err(ChunkError::from(Fault::at(8, Rule::ChunkType(chunk.kind as u8))).place(0, 0));
        }
        let (deps, actors) = bundle::read_lists(&mut Reader::new(&chunk.body)).map_err(place)?;
        let mut budget = Budget::of_call(limits);
        let changes =
            bundle::read(&chunk.body, limits, &mut budget, &mut Scratch::default()).map_err(place)?;
        Ok(Self { bytes: bytes.to_vec(), deps, actors, changes })
    }

    /// The chunk.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What its changes depend on and it does not have.
    pub fn deps(&self) -> &[ChangeHash] {
        &self.deps
    }

    /// Everybody whom its changes name.
    pub fn actors(&self) -> &[ActorId] {
        &self.actors
    }

    /// Its changes, each after those it depends on.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Its changes, each after those it depends on.
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
    /// These changes, whatever is missing between them, as a bundle. It is read again before it is given out: what cannot be
    /// within the limits of this document is an error.
    ///
    /// Costs O(n log n) in the operations of the changes, and a look at the whole of each list and text that they touch.
    pub fn bundle(&self, hashes: impl IntoIterator<Item = ChangeHash>) -> Result<Bundle, BundleError> {
        let state = self.settled();
        let rows = hashes.into_iter().map(|hash| state.row(&hash).ok_or(BundleError::UnknownHash(hash)));
        let mut rows = rows.collect::<Result<Vec<ChangeIdx>, _>>()?;
        rows.sort_unstable();
        rows.dedup();
        let bundle = Bundle::read(&state.write_bundle(&rows), &self.limits)?;
        let same = bundle.changes.iter().map(Change::hash).eq(rows.iter().map(|row| state.hash(*row)));
        assert!(same, "a bundle has the changes that it was made of");
        Ok(bundle)
    }
}
