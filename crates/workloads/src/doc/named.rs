//! The names of workloads, and what of each can be said without an engine.

use super::cases::Answer;
use super::{loaded, typists};
use std::fmt;
use std::str::FromStr;

/// A workload that its name and a number say whole.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[expect(missing_docs, reason = "the names are their documentation")]
pub enum Named {
    MapPut,
    MapPutBatch,
    MapGet,
    MapKeys,
    ListInsertAppend,
    ListInsertFront,
    ListGet,
    TextSpliceAppend,
    TextSpliceBulk,
    TextRead,
    PutScale,
    GetScale,
    SaveChanges,
    SaveAfterChange,
    LoadChanges,
    Save,
    Load,
    SaveLarge,
    LoadLarge,
    Fork,
    Merge,
    SaveDocs,
    LoadDocs,
    ForkMergeBatch,
    ConcurrentReads,
    MergeReduce,
    DocumentConstructor,
    CursorCreate,
    CursorResolve,
    GetAt,
    TextAt,
    MarksPut,
    MarksRead,
    SpansRead,
    TextObserved,
    TextHeard,
    DiffOne,
    DiffAll,
    SyncGenerateMessage,
    SyncFullRoundTrip,
    SyncUpdate,
    SyncDiverged,
    Typists,
    TypistsEverybody,
    LoadedHearEach,
    LoadedHearAll,
    LoadedFirstSave,
    LoadedSync,
    LoadedMerge,
}

/// Each with its name, and the sizes worth measuring.
const NAMED: [(Named, &str, &[u64]); 49] = [
    (Named::MapPut, "map_put", &[10_000]),
    (Named::MapPutBatch, "map_put_batch", &[1_000]),
    (Named::MapGet, "map_get", &[100]),
    (Named::MapKeys, "map_keys", &[100]),
    (Named::ListInsertAppend, "list_insert_append", &[10_000]),
    (Named::ListInsertFront, "list_insert_front", &[10_000]),
    (Named::ListGet, "list_get", &[1_000]),
    (Named::TextSpliceAppend, "text_splice_append", &[10_000]),
    (Named::TextSpliceBulk, "text_splice_bulk", &[1_000]),
    (Named::TextRead, "text_read", &[1_000, 120_000]),
    (Named::PutScale, "put_scale", &[100_000, 1_000_000]),
    (Named::GetScale, "get_scale", &[100_000, 1_000_000]),
    (Named::SaveChanges, "save_many_changes", &[100, 1_000]),
    (Named::SaveAfterChange, "save_after_change", &[100, 1_000]),
    (Named::LoadChanges, "load_many_changes", &[100, 1_000]),
    (Named::Save, "save", &[100, 10_000]),
    (Named::Load, "load", &[100, 10_000]),
    (Named::SaveLarge, "save_large", &[1_000]),
    (Named::LoadLarge, "load_large", &[1_000]),
    (Named::Fork, "fork", &[100, 260_000]),
    (Named::Merge, "merge", &[10]),
    (Named::SaveDocs, "save_docs", &[500]),
    (Named::LoadDocs, "load_docs", &[500]),
    (Named::ForkMergeBatch, "fork_merge_batch", &[4_000]),
    (Named::ConcurrentReads, "concurrent_reads", &[1_000]),
    (Named::MergeReduce, "merge_reduce", &[64]),
    (Named::DocumentConstructor, "document_constructor", &[1]),
    (Named::CursorCreate, "cursor_create", &[1_000]),
    (Named::CursorResolve, "cursor_resolve", &[1_000]),
    (Named::GetAt, "get_at", &[10, 1_000]),
    (Named::TextAt, "text_at", &[10, 1_000]),
    (Named::MarksPut, "marks_put", &[10_000]),
    (Named::MarksRead, "marks_read", &[10_000]),
    (Named::SpansRead, "spans_read", &[10_000]),
    (Named::TextObserved, "transact_with_patches_text", &[10_000]),
    (Named::TextHeard, "observer_text", &[10_000]),
    (Named::DiffOne, "diff_one_edit", &[100_000]),
    (Named::DiffAll, "diff_first_last", &[10_000]),
    (Named::SyncGenerateMessage, "sync_generate_message", &[50]),
    (Named::SyncFullRoundTrip, "sync_full_round_trip", &[20]),
    (Named::SyncUpdate, "sync_update", &[1_000]),
    (Named::SyncDiverged, "sync_diverged", &[10_000]),
    (Named::Typists, "typists", &[8, 50]),
    (Named::TypistsEverybody, "typists_everybody", &[8, 50]),
    (Named::LoadedHearEach, "loaded_hear_each", &[2_000]),
    (Named::LoadedHearAll, "loaded_hear_all", &[2_000]),
    (Named::LoadedFirstSave, "loaded_first_save", &[2_000]),
    (Named::LoadedSync, "loaded_sync", &[2_000]),
    (Named::LoadedMerge, "loaded_merge", &[2_000]),
];

impl Named {
    /// Every one.
    pub fn every() -> impl Iterator<Item = Named> {
        NAMED.iter().map(|(named, ..)| *named)
    }

    fn entry(self) -> &'static (Named, &'static str, &'static [u64]) {
        NAMED.iter().find(|(named, ..)| *named == self).expect("a test finds each in the table")
    }

    /// The sizes worth measuring.
    #[must_use]
    pub fn sizes(self) -> &'static [u64] {
        self.entry().2
    }

    /// Whether each call uses up something that is made before it.
    #[must_use]
    pub fn is_prepared(self) -> bool {
        matches!(
            self,
            Named::Merge
                | Named::MergeReduce
                | Named::SaveAfterChange
                | Named::SyncFullRoundTrip
                | Named::SyncUpdate
                | Named::SyncDiverged
                | Named::Typists
                | Named::TypistsEverybody
        ) || self.is_loaded()
    }

    /// Whether each call asks for one place of a document, of which sessions take several.
    #[must_use]
    pub fn asks_for_a_place(self) -> bool {
        matches!(self, Named::MapGet | Named::ListGet | Named::CursorCreate | Named::CursorResolve)
    }

    /// Whether only engines of Automerge's format have it: rich texts, patches and syncs.
    #[must_use]
    pub fn is_of_the_format(self) -> bool {
        use Named::{DiffAll, DiffOne, MarksPut, MarksRead, SpansRead, TextHeard, TextObserved};
        use Named::{SyncDiverged, SyncFullRoundTrip, SyncGenerateMessage, SyncUpdate};
        use Named::{Typists, TypistsEverybody};
        matches!(self, MarksPut | MarksRead | SpansRead | TextObserved | TextHeard | DiffOne | DiffAll)
            || matches!(self, SyncGenerateMessage | SyncFullRoundTrip | SyncUpdate | SyncDiverged)
            || matches!(self, Typists | TypistsEverybody)
            || self.is_loaded()
    }

    /// Whether each call has a document that was loaded just before.
    fn is_loaded(self) -> bool {
        use Named::{LoadedFirstSave, LoadedHearAll, LoadedHearEach, LoadedMerge, LoadedSync};
        matches!(self, LoadedHearEach | LoadedHearAll | LoadedFirstSave | LoadedSync | LoadedMerge)
    }

    /// How many operations its users count in one call.
    #[must_use]
    pub fn operations(self, size: u64) -> u64 {
        match self {
            Named::MapGet
            | Named::ListGet
            | Named::TextRead
            | Named::SaveChanges
            | Named::SaveAfterChange
            | Named::LoadChanges
            | Named::Save
            | Named::Load
            | Named::SaveLarge
            | Named::LoadLarge
            | Named::Fork
            | Named::Merge
            | Named::DocumentConstructor
            | Named::CursorCreate
            | Named::CursorResolve
            | Named::GetAt
            | Named::TextAt
            | Named::MarksRead
            | Named::SpansRead
            | Named::DiffOne
            | Named::DiffAll
            | Named::SyncGenerateMessage
            | Named::SyncFullRoundTrip
            | Named::SyncUpdate
            | Named::SyncDiverged
            // A second of typing.
            | Named::Typists
            | Named::TypistsEverybody
            | Named::LoadedFirstSave
            | Named::LoadedSync
            | Named::LoadedMerge => 1,
            // Both typed as many.
            Named::LoadedHearEach | Named::LoadedHearAll => 2 * size,
            _ => size,
        }
    }

    /// What must come out, worked out without an engine. `place` is what the call asks for, if it asks for one.
    #[must_use]
    pub fn answer(self, size: usize, place: usize) -> Answer {
        let last = size as i64 - 1;
        match self {
            Named::MapPut | Named::MapPutBatch | Named::PutScale => last.into(),
            Named::MapGet | Named::ListGet | Named::CursorCreate | Named::CursorResolve => place.into(),
            Named::Load | Named::LoadLarge => (size / 2).into(),
            Named::MapKeys | Named::ForkMergeBatch | Named::TextSpliceAppend => size.into(),
            Named::GetScale | Named::ConcurrentReads => (size as i64 * last / 2).into(),
            Named::ListInsertAppend | Named::ListInsertFront => 42_usize.into(),
            Named::TextSpliceBulk => (size * BULK).into(),
            Named::MarksPut | Named::MarksRead | Named::TextObserved | Named::TextHeard => size.into(),
            // Each marked part and the one behind it.
            Named::SpansRead => (2 * size).into(),
            // Something came, and goes again.
            Named::DiffOne | Named::DiffAll => 2_usize.into(),
            Named::TextRead => letters(size).into(),
            Named::SaveChanges
            | Named::SaveAfterChange
            | Named::Save
            | Named::SaveLarge
            | Named::SyncGenerateMessage
            | Named::SyncFullRoundTrip
            | Named::SyncUpdate
            | Named::SyncDiverged
            | Named::LoadedFirstSave
            | Named::LoadedSync => 1_usize.into(),
            // The last change that wrote key7, one of every ten.
            Named::LoadChanges => (last / 10 * 100 + 7).into(),
            Named::Merge => (2 * size + 1).into(),
            Named::SaveDocs | Named::LoadDocs => size.into(),
            Named::MergeReduce => (10 * size).into(),
            Named::DocumentConstructor | Named::Fork | Named::GetAt => 0_usize.into(),
            Named::TextAt => "Hello".to_owned().into(),
            Named::Typists | Named::TypistsEverybody => typists::text(size).into(),
            Named::LoadedHearEach | Named::LoadedHearAll | Named::LoadedMerge => loaded::text(size).into(),
        }
    }
}

/// Characters of one piece of `text_splice_bulk`.
pub(super) const BULK: usize = 100;

/// A text of that many letters and spaces.
pub(super) fn letters(length: usize) -> String {
    let letters = "abcdefghijklmnopqrstuvwxyz ";
    letters.repeat(length / letters.len() + 1)[..length].to_owned()
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry().1)
    }
}

impl FromStr for Named {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        NAMED.iter().find(|(_, known, _)| *known == name).map(|(named, ..)| *named).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        let names: Vec<String> = Named::every().map(|named| named.to_string()).collect();
        for (named, name) in Named::every().zip(&names) {
            assert_eq!(name.parse(), Ok(named));
            assert!(!named.sizes().is_empty());
        }
        assert_eq!("map".parse::<Named>(), Err(()));
    }
}
