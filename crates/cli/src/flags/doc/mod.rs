//! The flags of `hashmill doc`: what the verbs share. Those that edit, read and make documents have files of their own.

mod edit;
mod make;
mod read;

pub(crate) use edit::{
    DeleteArgs, Expand, MarkArgs, MergeArgs, PatchArgs, PutArgs, SpliceArgs, SyncArgs, UndoArgs,
};
pub(crate) use make::{
    AnonymiseArgs, AtArgs, ForkArgs, ImportArgs, NewArgs, RescueArgs, SquashArgs, ViewArgs,
};
pub(crate) use read::{
    BlameArgs, CheckArgs, DiffArgs, ExamineArgs, ExamineSyncArgs, ExportArgs, GetArgs, LogArgs, ShowArgs,
};

use clap::{Args, Subcommand};
use hashmill_doc::ActorId;

/// Read and edit documents that several people keep: Automerge's files
///
/// FILE may be - for standard input; what is edited there goes to standard output. A file is replaced as a whole or
/// not at all, and only if nobody else changed it meanwhile. POINTER is a JSON Pointer (RFC 6901): /cards/0/title,
/// or '' for everything.
///
/// Exit codes: 0 done, 1 not, 2 the command line cannot be used.
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

/// What to do with documents.
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

/// Who makes a change, and what is said about it.
#[derive(Args, Debug, Default)]
pub(crate) struct ChangeFlags {
    /// What to say about the change, for the log
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) message: Option<String>,

    /// Write as this actor, in hexadecimal; a new one if not given
    #[arg(long, value_name = "HEX")]
    pub(crate) actor: Option<ActorId>,

    /// When the change was made, in seconds since 1970; now if not given
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, hide_short_help = true)]
    pub(crate) time: Option<i64>,
}

/// Which moment to look at.
#[derive(Args, Debug)]
pub(crate) struct AtFlag {
    /// As it was at these changes: hashes as the log shows them, or enough of their beginnings
    #[arg(long, value_name = "HASH", value_delimiter = ',')]
    pub(crate) at: Vec<String>,
}

/// Whether a program asks.
#[derive(Args, Debug)]
pub(crate) struct JsonFlag {
    /// Say what was done as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
