//! Definitions of the flags of each command.

mod compare;
#[cfg(any(not(feature = "doc"), not(feature = "lab"), not(feature = "serve")))]
mod disabled;
#[cfg(feature = "doc")]
pub(super) mod doc;
mod engine;
#[cfg(feature = "generate")]
mod generate;
mod info;
#[cfg(feature = "lab")]
mod lab;
mod password;
#[cfg(feature = "serve")]
mod serve;
mod sum;
mod tune;

pub(crate) use compare::CompareArgs;
#[cfg(not(feature = "doc"))]
use disabled::DisabledArgs as DocArgs;
#[cfg(not(feature = "lab"))]
use disabled::DisabledArgs as LabArgs;
#[cfg(not(feature = "serve"))]
use disabled::DisabledArgs as ServeArgs;
#[cfg(feature = "doc")]
use doc::DocArgs;
pub(crate) use engine::{EngineFlags, EnginesFlags};
#[cfg(feature = "generate")]
pub(crate) use generate::GenerateArgs;
pub(crate) use info::InfoArgs;
#[cfg(feature = "lab")]
pub(crate) use lab::LabArgs;
pub(crate) use password::{
    BenchArgs, CalibrateArgs, CsvColumn, FileFlags, HashArgs, InputFlags, KdfArgs, Kib, LimitFlags,
    NeedsRehashArgs, PasswordArgs, PasswordCommand, PolicyFlags, StoredFlags, UpgradeArgs, VerifyArgs,
};
#[cfg(feature = "serve")]
pub(crate) use serve::{
    BackUpStorageArgs, CheckStorageArgs, DeleteDocumentArgs, DoctorArgs, ExportStorageArgs,
    ImportStorageArgs, InitArgs, ListDocumentsArgs, LogFormat, RestoreStorageArgs, ServeArgs, ServeCommand,
    ShowDocumentArgs, StorageFlag, TokenArgs, UndeleteDocumentArgs,
};
pub(crate) use sum::SumArgs;
pub(crate) use tune::TuneArgs;

use clap::Subcommand;

/// The commands.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Sum(Box<SumArgs>),
    Compare(CompareArgs),
    Password(Box<PasswordArgs>),
    Doc(Box<DocArgs>),
    Serve(Box<ServeArgs>),
    Info(InfoArgs),
    Tune(TuneArgs),
    Lab(LabArgs),
    #[cfg(feature = "generate")]
    Generate(GenerateArgs),
}
