//! The flags of commands that read documents.

use super::AtFlag;
use clap::Args;
use hashmill_doc::json::Pointer;
use std::path::PathBuf;

/// Show the content and status of a document
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

    /// A JSON Pointer, as /cards/0/title
    pub(crate) pointer: Pointer,

    #[command(flatten)]
    pub(crate) at: AtFlag,

    /// Print a string or a text without quotation marks or escapes
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) raw: bool,

    /// Print all concurrent values, one per line, the winner last
    #[arg(long, conflicts_with = "raw")]
    pub(crate) all: bool,

    /// Print one object per value, with its type
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show the differences between two versions, as text or as a JSON Patch
///
/// On a terminal it prints a line for each value added, removed or changed; else a JSON Patch (RFC 6902), one step per line. By
/// default it compares the version before the last changes with the current one.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc diff notes.amrg
  hashmill doc diff notes.amrg --from 3f2a --human
  hashmill doc diff notes.amrg mine.amrg > to-mine.json")]
pub(crate) struct DiffArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// Another copy, the target of the comparison [default: FILE]
    pub(crate) other: Option<PathBuf>,

    /// Start at the version of FILE at these changes [default without OTHER: before the last ones]
    #[arg(long, value_name = "HASH", value_delimiter = ',')]
    pub(crate) from: Vec<String>,

    /// End at the version at these changes
    #[arg(long, value_name = "HASH", value_delimiter = ',')]
    pub(crate) to: Vec<String>,

    /// Values in the form of 'export --tagged'
    #[arg(long)]
    pub(crate) tagged: bool,

    /// Text: values added (+), removed (-) and changed (~), with marks and conflicts
    #[arg(long, conflicts_with_all = ["tagged", "json"])]
    pub(crate) human: bool,

    /// A JSON Patch, on a terminal too
    #[arg(long)]
    pub(crate) json: bool,

    /// A JSON Merge Patch (RFC 7386), which replaces changed lists and texts as a whole
    #[arg(long, conflicts_with_all = ["human", "json"])]
    pub(crate) merge: bool,
}

/// List changes, newest first
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc log notes.amrg | head
  hashmill doc log notes.amrg --json | jq -r .message")]
pub(crate) struct LogArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show who wrote each part of a map, list or text, and when
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc blame notes.amrg /body
  hashmill doc blame notes.amrg '' --json")]
pub(crate) struct BlameArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// A JSON Pointer, as /cards/0/title
    pub(crate) pointer: Pointer,

    #[command(flatten)]
    pub(crate) at: AtFlag,

    /// Print one JSON object per line
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

    /// Print the whole history instead of the content: one change per line, with every operation
    #[arg(long, conflicts_with_all = ["at", "tagged", "pretty", "flat"])]
    pub(crate) changes: bool,

    #[command(flatten)]
    pub(crate) at: AtFlag,

    /// Tag types that JSON lacks: counters, times, texts, bytes, unsigned numbers
    #[arg(long)]
    pub(crate) tagged: bool,

    /// One line per value
    #[arg(long)]
    pub(crate) pretty: bool,

    /// One flat object that maps JSON Pointers to scalars
    #[arg(long, conflicts_with = "pretty")]
    pub(crate) flat: bool,

    /// Print JSON, which is the default
    #[arg(long)]
    json: bool,
}

/// Verify all checksums, changes and hashes of documents
///
/// Exit codes: 0 all documents are valid, 1 some are not.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc check *.amrg
  hashmill doc check --json *.amrg | jq -r 'select(.ok | not).path'")]
pub(crate) struct CheckArgs {
    /// The documents
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// List the chunks of a file and the changes in them
///
/// Exit codes: 0 everything is valid, 1 something is not.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc examine notes.amrg
  hashmill doc examine notes.amrg --json | jq .changes[].ops[]")]
pub(crate) struct ExamineArgs {
    /// A document, or a sequence of changes
    pub(crate) file: PathBuf,

    /// Print one JSON object per chunk, with every operation of its changes
    #[arg(long)]
    pub(crate) json: bool,
}

/// Decode a sync message
///
/// Exit codes: 0 the message is valid, 1 it is not.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc examine-sync message.bin
  hashmill doc examine-sync message.bin --json | jq .heads")]
pub(crate) struct ExamineSyncArgs {
    /// The file with the message
    pub(crate) file: PathBuf,

    /// Print one JSON object, with every operation of the changes in it
    #[arg(long)]
    pub(crate) json: bool,
}
