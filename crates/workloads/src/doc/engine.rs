//! Interface of document engines for workloads. Each engine implements the traits that it supports.

use std::hint::black_box;

/// One edit of a text. Positions and lengths count Unicode scalar values.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    /// Position.
    pub at: usize,
    /// Number of characters to delete.
    pub delete: usize,
    /// Text to insert.
    pub insert: String,
}

/// A document with one text.
pub trait Texts: Sized + 'static {
    /// Name and version.
    const NAME: &'static str;

    /// A new document with an empty text.
    fn blank(actor: u8) -> Self;
    /// One transaction. Positions count Unicode scalar values.
    fn edit(&mut self, patches: &[Patch]);
    /// Completes deferred work of commits: the hashes of all changes, if the engine has them.
    fn complete_commits(&mut self);
    /// The whole text.
    fn text(&mut self) -> String;
    /// Number of characters.
    fn length(&mut self) -> usize;
    /// Saves the whole history in the smallest form.
    fn save(&mut self) -> Vec<u8>;
    /// Saves the whole history in the fastest form: without compression, if the engine compresses.
    fn save_plain(&mut self) -> Vec<u8> {
        self.save()
    }
    /// Loads the output of [`save`](Self::save) with the engine's default checks.
    fn load(bytes: &[u8]) -> Self;
    /// As [`load`](Self::load), with as many checks deferred as possible.
    fn load_deferred(bytes: &[u8]) -> Self {
        Self::load(bytes)
    }
    /// Opens the output of [`save`](Self::save) for reading, with the engine's default checks, independent of `bytes`.
    fn open(bytes: &[u8]) -> impl Sized {
        Self::load_deferred(bytes)
    }
    /// Opens a document and saves it without a read in between.
    fn open_and_save(bytes: &[u8]) -> Vec<u8> {
        Self::load_deferred(bytes).save()
    }
}

/// A document with concurrent editors.
pub trait Shared: Texts {
    /// A second replica.
    fn fork(&mut self, actor: u8) -> Self;
    /// One transaction; returns the update for the other replicas.
    fn edit_and_export(&mut self, patches: &[Patch]) -> Vec<u8>;
    /// Applies updates of other replicas, in causal order.
    fn apply_updates(&mut self, updates: &[Vec<u8>]);
}

/// A document with a map and a list.
pub trait Objects: Texts {
    /// A stable position in the list.
    type Cursor: 'static;
    /// One transaction of puts into the map.
    fn put_all<'a>(&mut self, pairs: impl Iterator<Item = (&'a str, i64)>);
    /// Value of a key.
    fn get(&self, key: &str) -> Option<i64>;
    /// Iterates over all keys in the engine's order, and counts them with [`count_items`].
    fn keys(&self) -> usize;
    /// One transaction of insertions into the list.
    fn insert_all(&mut self, values: impl Iterator<Item = (usize, i64)>);
    /// Value at an index.
    fn get_index(&self, index: usize) -> Option<i64>;
    /// A cursor at an index of the list.
    fn cursor(&self, index: usize) -> Self::Cursor;
    /// The index of a cursor.
    fn resolve(&self, cursor: &Self::Cursor) -> usize;
    /// Merges another replica.
    fn merge(&mut self, other: &mut Self);
}

/// Counts items and forces their construction, also for an engine that could count without it.
pub fn count_items<T>(items: impl Iterator<Item = T>) -> usize {
    items.map(black_box).count()
}

/// A document with a rich text.
pub trait Rich: HistoryReads {
    /// One transaction that marks ranges of the text, each with its own value.
    fn mark_all(&mut self, ranges: impl Iterator<Item = (usize, usize)>);
    /// Iterates over all marks and counts them.
    fn marks(&self) -> usize;
    /// Iterates over all spans and counts them.
    fn spans(&self) -> usize;
    /// One transaction; returns the number of patches for a view.
    fn edit_and_count_patches(&mut self, patches: &[Patch]) -> usize;
    /// As `edit_and_count_patches`, for an observer that was attached before the first edit.
    fn edit_observed(&mut self, patches: &[Patch]) -> usize {
        self.edit_and_count_patches(patches)
    }
    /// Number of patches between two versions; constructs all of them.
    fn diff(&mut self, before: &Self::Version, after: &Self::Version) -> usize;
}

/// A document with a sync protocol.
pub trait Synced: Rich {
    /// Sync state for a peer.
    type Peer: Clone + Default + 'static;
    /// Generates the next message without encoding it; returns whether there is one.
    fn generate(&mut self, peer: &mut Self::Peer) -> bool;
    /// The next message, encoded.
    fn next_message(&mut self, peer: &mut Self::Peer) -> Option<Vec<u8>>;
    /// Receives a message.
    fn receive(&mut self, peer: &mut Self::Peer, message: &[u8]);
    /// Receives a message and passes the text edits to a view: position, deleted and inserted characters. Returns whether anything
    /// changed.
    fn receive_with_view(
        &mut self,
        peer: &mut Self::Peer,
        message: &[u8],
        show: impl FnMut(usize, usize, usize),
    ) -> bool;
    /// Whether both have the same changes.
    fn has_same_changes(&mut self, other: &mut Self) -> bool;
}

/// A document with readable history.
pub trait HistoryReads: Objects {
    /// A version of the document.
    type Version;
    /// The current version.
    fn version(&mut self) -> Self::Version;
    /// Value of a key at a version.
    fn get_at(&mut self, key: &str, version: &Self::Version) -> Option<i64>;
    /// The text at a version.
    fn text_at(&mut self, version: &Self::Version) -> String;
}
