//! The flags of `hashmill doc`.

mod create;
mod read;
mod write;

pub(crate) use create::{
    AnonymiseArgs, AtArgs, ForkArgs, ImportArgs, NewArgs, RescueArgs, SquashArgs, ViewArgs,
};
pub(crate) use read::{
    BlameArgs, CheckArgs, DiffArgs, ExamineArgs, ExamineSyncArgs, ExportArgs, GetArgs, LogArgs, ShowArgs,
};
pub(crate) use write::{
    DeleteArgs, Expand, MarkArgs, MergeArgs, PatchArgs, PutArgs, SpliceArgs, SyncArgs, UndoArgs,
};

use clap::{Args, Subcommand};
use hashmill_doc::ActorId;

/// Edit, merge and sync Automerge documents
///
/// FILE may be - for standard input; an edited document then goes to standard output. A file is replaced atomically,
/// and only if no other program changed it meanwhile. POINTER is a JSON Pointer (RFC 6901): /cards/0/title,
/// or '' for the whole document.
///
/// Exit codes: 0 success, 1 failure, 2 the command line cannot be used.
#[derive(Args, Debug)]
#[command(arg_required_else_help = true, subcommand_required = true)]
#[command(after_help = "\
Examples:
  hashmill doc put notes.amrg /title Groceries --string
  hashmill doc log notes.amrg")]
pub(crate) struct DocArgs {
    #[command(subcommand)]
    pub(crate) command: DocCommand,
}

/// The commands of `hashmill doc`.
#[derive(Subcommand, Debug)]
pub(crate) enum DocCommand {
    New(NewArgs),
    Show(ShowArgs),
    Get(GetArgs),
    Put(PutArgs),
    Delete(DeleteArgs),
    Splice(SpliceArgs),
    Mark(MarkArgs),
    Fork(ForkArgs),
    Merge(MergeArgs),
    Sync(SyncArgs),
    Undo(UndoArgs),
    Patch(PatchArgs),
    Diff(DiffArgs),
    Log(LogArgs),
    Blame(BlameArgs),
    At(AtArgs),
    Export(ExportArgs),
    Import(ImportArgs),
    Check(CheckArgs),
    Rescue(RescueArgs),
    Squash(SquashArgs),
    Anonymise(AnonymiseArgs),
    Examine(ExamineArgs),
    ExamineSync(ExamineSyncArgs),
    View(ViewArgs),
}

/// Metadata of a change.
#[derive(Args, Debug, Default)]
pub(crate) struct ChangeFlags {
    /// Message of the change, for the log
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) message: Option<String>,

    /// Actor id of the change, in hexadecimal [default: a new one]
    #[arg(long, value_name = "HEX")]
    pub(crate) actor: Option<ActorId>,

    /// Time of the change, in seconds since 1970 [default: now]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, hide_short_help = true)]
    pub(crate) time: Option<i64>,
}

/// The version to read.
#[derive(Args, Debug)]
pub(crate) struct AtFlag {
    /// The version at these changes: hashes as in the log, or unique prefixes
    #[arg(long, value_name = "HASH", value_delimiter = ',')]
    pub(crate) at: Vec<String>,
}

/// JSON output.
#[derive(Args, Debug)]
pub(crate) struct JsonFlag {
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
