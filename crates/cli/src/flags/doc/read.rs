//! The flags of verbs that read documents.

use super::AtFlag;
use clap::Args;
use hashmill_doc::json::Pointer;
use std::path::PathBuf;

/// Show what is in a document, and where it stands
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc show notes.amrg
  hashmill doc show notes.amrg --at 3f2a --json | jq .value.title")]
pub(crate) struct ShowArgs {
    /// The document
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) at: AtFlag,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print a value as JSON on one line
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc get notes.amrg /cards/0/title
  hashmill doc get notes.amrg /body --raw --at 3f2a")]
pub(crate) struct GetArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// Where in it, as /cards/0/title
    pub(crate) pointer: Pointer,

    #[command(flatten)]
    pub(crate) at: AtFlag,

    /// Print a string or a text as it is, without quotation marks
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) raw: bool,

    /// Print every value that was put there at the same time, the winner last, each on a line of its own
    #[arg(long, conflicts_with = "raw")]
    pub(crate) all: bool,

    /// Print an object for each value, which says what it is too
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print what became of a document, for people or as a JSON Patch
///
/// On a terminal that is a line for each thing that came, went or changed; else a JSON Patch (RFC 6902), a step a line. It goes
/// from before the last changes to now, unless something else is asked for.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc diff notes.amrg
  hashmill doc diff notes.amrg --from 3f2a --human
  hashmill doc diff notes.amrg mine.amrg > to-mine.json")]
pub(crate) struct DiffArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// Another copy of it, to which the patch leads; FILE itself if not given
    pub(crate) other: Option<PathBuf>,

    /// Begin where FILE was at these changes; if neither is given, before its last ones
    #[arg(long, value_name = "HASH", value_delimiter = ',')]
    pub(crate) from: Vec<String>,

    /// End where the document was at these changes
    #[arg(long, value_name = "HASH", value_delimiter = ',')]
    pub(crate) to: Vec<String>,

    /// Values in the form of 'export --tagged'
    #[arg(long)]
    pub(crate) tagged: bool,

    /// For people: what came (+), went (-) and changed (~), marks and conflicts too
    #[arg(long, conflicts_with_all = ["tagged", "json"])]
    pub(crate) human: bool,

    /// As a JSON Patch, on a terminal too
    #[arg(long)]
    pub(crate) json: bool,

    /// As a JSON Merge Patch (RFC 7386), which tells lists and texts that changed as a whole
    #[arg(long, conflicts_with_all = ["human", "json"])]
    pub(crate) merge: bool,
}

/// List the changes of a document, the latest first
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc log notes.amrg | head
  hashmill doc log notes.amrg --json | jq -r .message")]
pub(crate) struct LogArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Say who made what of a map, a list or a text, and when
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc blame notes.amrg /body
  hashmill doc blame notes.amrg '' --json")]
pub(crate) struct BlameArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// Where in it, as /cards/0/title
    pub(crate) pointer: Pointer,

    #[command(flatten)]
    pub(crate) at: AtFlag,

    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print a document, or its history, as JSON
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc export notes.amrg | jq .title
  hashmill doc export notes.amrg --changes > history.jsonl")]
pub(crate) struct ExportArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// Print the whole history, a change with every operation on each line, instead of what came of it
    #[arg(long, conflicts_with_all = ["at", "tagged", "pretty", "flat"])]
    pub(crate) changes: bool,

    #[command(flatten)]
    pub(crate) at: AtFlag,

    /// Keep apart what JSON has no form for: counters, times, texts, bytes, unsigned numbers
    #[arg(long)]
    pub(crate) tagged: bool,

    /// A line for each value
    #[arg(long)]
    pub(crate) pretty: bool,

    /// One object without others inside: JSON Pointers, and the single values they lead to
    #[arg(long, conflicts_with = "pretty")]
    pub(crate) flat: bool,

    /// As JSON, which it is anyway
    #[arg(long)]
    json: bool,
}

/// Look whether documents are whole: each checksum, change and hash
///
/// Exit codes: 0 all are, 1 some are not.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc check *.amrg
  hashmill doc check --json *.amrg | jq -r 'select(.ok | not).path'")]
pub(crate) struct CheckArgs {
    /// The documents
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show what a file is made of: its chunks, and the changes in them
///
/// Exit codes: 0 all is good, 1 something is not.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc examine notes.amrg
  hashmill doc examine notes.amrg --json | jq .changes[].ops[]")]
pub(crate) struct ExamineArgs {
    /// A document, or changes one after the other
    pub(crate) file: PathBuf,

    /// Print a JSON object for each chunk, with every operation of its changes
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show what a sync message says
///
/// Exit codes: 0 it is a good one, 1 not.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc examine-sync message.bin
  hashmill doc examine-sync message.bin --json | jq .heads")]
pub(crate) struct ExamineSyncArgs {
    /// A file with one message
    pub(crate) file: PathBuf,

    /// Print one JSON object, with every operation of the changes in it
    #[arg(long)]
    pub(crate) json: bool,
}
