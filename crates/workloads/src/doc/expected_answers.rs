//! Expected answers of workloads, computed without an engine.

use super::case::Answer;
use crate::doc::workload_names::{BULK, WorkloadName, letters};
use crate::doc::{hub_simulation, loaded_documents};

impl WorkloadName {
    /// Expected answer, computed without an engine. `position` is the one that the call reads, if it reads one.
    #[must_use]
    pub fn answer(self, size: usize, position: usize) -> Answer {
        let last = size as i64 - 1;
        match self {
            WorkloadName::MapPut | WorkloadName::MapPutBatch | WorkloadName::PutScale => last.into(),
            WorkloadName::MapGet
            | WorkloadName::ListGet
            | WorkloadName::CursorCreate
            | WorkloadName::CursorResolve => position.into(),
            WorkloadName::Load | WorkloadName::LoadLarge => (size / 2).into(),
            WorkloadName::MapKeys | WorkloadName::ForkMergeBatch | WorkloadName::TextSpliceAppend => {
                size.into()
            }
            WorkloadName::GetScale | WorkloadName::ConcurrentReads => (size as i64 * last / 2).into(),
            WorkloadName::ListInsertAppend | WorkloadName::ListInsertFront => 42_usize.into(),
            WorkloadName::TextSpliceBulk => (size * BULK).into(),
            WorkloadName::MarksPut
            | WorkloadName::MarksRead
            | WorkloadName::TextObserved
            | WorkloadName::TextObserver => size.into(),
            // Each marked part and the unmarked one after it.
            WorkloadName::SpansRead => (2 * size).into(),
            // One insertion forwards, one deletion backwards.
            WorkloadName::DiffOne | WorkloadName::DiffAll => 2_usize.into(),
            WorkloadName::TextRead => letters(size).into(),
            WorkloadName::SaveChanges
            | WorkloadName::SaveAfterChange
            | WorkloadName::Save
            | WorkloadName::SaveLarge
            | WorkloadName::SyncGenerateMessage
            | WorkloadName::SyncFullRoundTrip
            | WorkloadName::SyncUpdate
            | WorkloadName::SyncDiverged
            | WorkloadName::LoadedFirstSave
            | WorkloadName::LoadedSync => 1_usize.into(),
            // The last change that wrote key7, one of every ten.
            WorkloadName::LoadChanges => (last / 10 * 100 + 7).into(),
            WorkloadName::Merge => (2 * size + 1).into(),
            WorkloadName::SaveDocs | WorkloadName::LoadDocs => size.into(),
            WorkloadName::MergeReduce => (10 * size).into(),
            WorkloadName::DocumentConstructor | WorkloadName::Fork | WorkloadName::GetAt => 0_usize.into(),
            WorkloadName::TextAt => "Hello".to_owned().into(),
            WorkloadName::Typists | WorkloadName::TypistsEverybody => hub_simulation::text(size).into(),
            WorkloadName::LoadedHearEach | WorkloadName::LoadedHearAll | WorkloadName::LoadedMerge => {
                loaded_documents::text(size).into()
            }
        }
    }
}
