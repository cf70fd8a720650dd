//! Names and properties of document workloads.

use std::fmt;
use std::str::FromStr;

/// A workload, defined by its name and a size.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[expect(missing_docs, reason = "the names are their documentation")]
pub enum WorkloadName {
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
    TextObserver,
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

/// All workloads with their names and suggested sizes.
const NAMED: [(WorkloadName, &str, &[u64]); 49] = [
    (WorkloadName::MapPut, "map_put", &[10_000]),
    (WorkloadName::MapPutBatch, "map_put_batch", &[1_000]),
    (WorkloadName::MapGet, "map_get", &[100]),
    (WorkloadName::MapKeys, "map_keys", &[100]),
    (WorkloadName::ListInsertAppend, "list_insert_append", &[10_000]),
    (WorkloadName::ListInsertFront, "list_insert_front", &[10_000]),
    (WorkloadName::ListGet, "list_get", &[1_000]),
    (WorkloadName::TextSpliceAppend, "text_splice_append", &[10_000]),
    (WorkloadName::TextSpliceBulk, "text_splice_bulk", &[1_000]),
    (WorkloadName::TextRead, "text_read", &[1_000, 120_000]),
    (WorkloadName::PutScale, "put_scale", &[100_000, 1_000_000]),
    (WorkloadName::GetScale, "get_scale", &[100_000, 1_000_000]),
    (WorkloadName::SaveChanges, "save_many_changes", &[100, 1_000]),
    (WorkloadName::SaveAfterChange, "save_after_change", &[100, 1_000]),
    (WorkloadName::LoadChanges, "load_many_changes", &[100, 1_000]),
    (WorkloadName::Save, "save", &[100, 10_000]),
    (WorkloadName::Load, "load", &[100, 10_000]),
    (WorkloadName::SaveLarge, "save_large", &[1_000]),
    (WorkloadName::LoadLarge, "load_large", &[1_000]),
    (WorkloadName::Fork, "fork", &[100, 260_000]),
    (WorkloadName::Merge, "merge", &[10]),
    (WorkloadName::SaveDocs, "save_docs", &[500]),
    (WorkloadName::LoadDocs, "load_docs", &[500]),
    (WorkloadName::ForkMergeBatch, "fork_merge_batch", &[4_000]),
    (WorkloadName::ConcurrentReads, "concurrent_reads", &[1_000]),
    (WorkloadName::MergeReduce, "merge_reduce", &[64]),
    (WorkloadName::DocumentConstructor, "document_constructor", &[1]),
    (WorkloadName::CursorCreate, "cursor_create", &[1_000]),
    (WorkloadName::CursorResolve, "cursor_resolve", &[1_000]),
    (WorkloadName::GetAt, "get_at", &[10, 1_000]),
    (WorkloadName::TextAt, "text_at", &[10, 1_000]),
    (WorkloadName::MarksPut, "marks_put", &[10_000]),
    (WorkloadName::MarksRead, "marks_read", &[10_000]),
    (WorkloadName::SpansRead, "spans_read", &[10_000]),
    (WorkloadName::TextObserved, "transact_with_patches_text", &[10_000]),
    (WorkloadName::TextObserver, "observer_text", &[10_000]),
    (WorkloadName::DiffOne, "diff_one_edit", &[100_000]),
    (WorkloadName::DiffAll, "diff_first_last", &[10_000]),
    (WorkloadName::SyncGenerateMessage, "sync_generate_message", &[50]),
    (WorkloadName::SyncFullRoundTrip, "sync_full_round_trip", &[20]),
    (WorkloadName::SyncUpdate, "sync_update", &[1_000]),
    (WorkloadName::SyncDiverged, "sync_diverged", &[10_000]),
    (WorkloadName::Typists, "typists", &[8, 50]),
    (WorkloadName::TypistsEverybody, "typists_everybody", &[8, 50]),
    (WorkloadName::LoadedHearEach, "loaded_hear_each", &[2_000]),
    (WorkloadName::LoadedHearAll, "loaded_hear_all", &[2_000]),
    (WorkloadName::LoadedFirstSave, "loaded_first_save", &[2_000]),
    (WorkloadName::LoadedSync, "loaded_sync", &[2_000]),
    (WorkloadName::LoadedMerge, "loaded_merge", &[2_000]),
];

impl WorkloadName {
    /// All workloads.
    pub fn every() -> impl Iterator<Item = WorkloadName> {
        NAMED.iter().map(|(named, ..)| *named)
    }

    fn entry(self) -> &'static (WorkloadName, &'static str, &'static [u64]) {
        NAMED.iter().find(|(named, ..)| *named == self).expect("a test finds each in the table")
    }

    /// Suggested sizes.
    #[must_use]
    pub fn sizes(self) -> &'static [u64] {
        self.entry().2
    }

    /// Whether each call consumes a prepared input.
    #[must_use]
    pub fn is_prepared(self) -> bool {
        matches!(
            self,
            WorkloadName::Merge
                | WorkloadName::MergeReduce
                | WorkloadName::SaveAfterChange
                | WorkloadName::SyncFullRoundTrip
                | WorkloadName::SyncUpdate
                | WorkloadName::SyncDiverged
                | WorkloadName::Typists
                | WorkloadName::TypistsEverybody
        ) || self.is_loaded()
    }

    /// Whether each call reads one position; sessions use several.
    #[must_use]
    pub fn reads_one_position(self) -> bool {
        matches!(
            self,
            WorkloadName::MapGet
                | WorkloadName::ListGet
                | WorkloadName::CursorCreate
                | WorkloadName::CursorResolve
        )
    }

    /// Whether only engines of Automerge's format have the workload: rich texts, patches and sync.
    #[must_use]
    pub fn needs_automerge_format(self) -> bool {
        use WorkloadName::{DiffAll, DiffOne, MarksPut, MarksRead, SpansRead, TextObserved, TextObserver};
        use WorkloadName::{SyncDiverged, SyncFullRoundTrip, SyncGenerateMessage, SyncUpdate};
        use WorkloadName::{Typists, TypistsEverybody};
        matches!(self, MarksPut | MarksRead | SpansRead | TextObserved | TextObserver | DiffOne | DiffAll)
            || matches!(self, SyncGenerateMessage | SyncFullRoundTrip | SyncUpdate | SyncDiverged)
            || matches!(self, Typists | TypistsEverybody)
            || self.is_loaded()
    }

    /// Whether each call uses a freshly loaded document.
    fn is_loaded(self) -> bool {
        use WorkloadName::{LoadedFirstSave, LoadedHearAll, LoadedHearEach, LoadedMerge, LoadedSync};
        matches!(self, LoadedHearEach | LoadedHearAll | LoadedFirstSave | LoadedSync | LoadedMerge)
    }

    /// Number of operations per call, as users count them.
    #[must_use]
    pub fn operations(self, size: u64) -> u64 {
        match self {
            WorkloadName::MapGet
            | WorkloadName::ListGet
            | WorkloadName::TextRead
            | WorkloadName::SaveChanges
            | WorkloadName::SaveAfterChange
            | WorkloadName::LoadChanges
            | WorkloadName::Save
            | WorkloadName::Load
            | WorkloadName::SaveLarge
            | WorkloadName::LoadLarge
            | WorkloadName::Fork
            | WorkloadName::Merge
            | WorkloadName::DocumentConstructor
            | WorkloadName::CursorCreate
            | WorkloadName::CursorResolve
            | WorkloadName::GetAt
            | WorkloadName::TextAt
            | WorkloadName::MarksRead
            | WorkloadName::SpansRead
            | WorkloadName::DiffOne
            | WorkloadName::DiffAll
            | WorkloadName::SyncGenerateMessage
            | WorkloadName::SyncFullRoundTrip
            | WorkloadName::SyncUpdate
            | WorkloadName::SyncDiverged
            // A second of typing.
            | WorkloadName::Typists
            | WorkloadName::TypistsEverybody
            | WorkloadName::LoadedFirstSave
            | WorkloadName::LoadedSync
            | WorkloadName::LoadedMerge => 1,
            // Both users typed `size` keys.
            WorkloadName::LoadedHearEach | WorkloadName::LoadedHearAll => 2 * size,
            _ => size,
        }
    }
}

/// Characters of one piece of `text_splice_bulk`.
pub(super) const BULK: usize = 100;

/// A text of `length` letters and spaces.
pub(super) fn letters(length: usize) -> String {
    let letters = "abcdefghijklmnopqrstuvwxyz ";
    letters.repeat(length / letters.len() + 1)[..length].to_owned()
}

impl fmt::Display for WorkloadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry().1)
    }
}

impl FromStr for WorkloadName {
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
        let names: Vec<String> = WorkloadName::every().map(|named| named.to_string()).collect();
        for (named, name) in WorkloadName::every().zip(&names) {
            assert_eq!(name.parse(), Ok(named));
            assert!(!named.sizes().is_empty());
        }
        assert_eq!("map".parse::<WorkloadName>(), Err(()));
    }
}
