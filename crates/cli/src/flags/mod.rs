//! Flags as typed: their definitions and the parser. Each command interprets its own.

mod commands;
mod known_values;
mod output_flags;
mod parser;
mod usage_error;

#[cfg(feature = "generate")]
pub(crate) use commands::GenerateArgs;
#[cfg(feature = "lab")]
pub(crate) use commands::LabArgs;
#[cfg(feature = "doc")]
pub(crate) use commands::doc::{
    AnonymiseArgs, AtArgs, BlameArgs, ChangeFlags, CheckArgs, DeleteArgs, DiffArgs, DocCommand, ExamineArgs,
    ExamineSyncArgs, Expand, ExportArgs, ForkArgs, GetArgs, ImportArgs, JsonFlag, LogArgs, MarkArgs,
    MergeArgs, NewArgs, PatchArgs, PutArgs, RescueArgs, ShowArgs, SpliceArgs, SquashArgs, SyncArgs, UndoArgs,
    ViewArgs,
};
#[cfg(feature = "serve")]
pub(crate) use commands::{
    BackUpStorageArgs, CheckStorageArgs, DeleteDocumentArgs, DoctorArgs, ExportStorageArgs,
    ImportStorageArgs, InitArgs, ListDocumentsArgs, LogFormat, RestoreStorageArgs, ServeArgs, ServeCommand,
    ShowDocumentArgs, StorageFlag, TokenArgs, UndeleteDocumentArgs,
};
pub(crate) use commands::{
    BenchArgs, CalibrateArgs, Command, CompareArgs, CsvColumn, EngineFlags, EnginesFlags, FileFlags,
    HashArgs, InfoArgs, InputFlags, KdfArgs, Kib, LimitFlags, NeedsRehashArgs, PasswordCommand, PolicyFlags,
    StoredFlags, SumArgs, TuneArgs, UpgradeArgs, VerifyArgs,
};
#[cfg(feature = "generate")]
pub(crate) use parser::definition;
#[cfg(feature = "serve")]
pub(crate) use parser::nearest;
pub(crate) use parser::{CommandLine, parse};
pub(crate) use usage_error::UsageError;
#[cfg(any(not(feature = "doc"), not(feature = "gpu"), not(feature = "lab"), not(feature = "serve")))]
pub(crate) use usage_error::missing_feature;
