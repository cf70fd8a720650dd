//! The flags of commands that edit a document in place.

use super::{ChangeFlags, JsonFlag};
use clap::{Args, ValueEnum};
use hashmill_doc::json::Pointer;
use hashmill_repo::DocumentId;
use std::ffi::OsString;
use std::path::PathBuf;

/// Set a value
///
/// A value at a key or a list index is replaced. At the end of a list, which is - or its length, the value is appended.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc put notes.amrg /title '\"Groceries\"' -m 'a title'
  hashmill doc put notes.amrg /body 'Milk and honey' --text
  hashmill doc put notes.amrg /cards/- '{\"done\": false}'")]
pub(crate) struct PutArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// A JSON Pointer, as /cards/0/title
    pub(crate) pointer: Pointer,

    /// The value as JSON, in the form of 'export --tagged'
    #[arg(allow_hyphen_values = true)]
    pub(crate) value: String,

    /// VALUE is a string, not JSON
    #[arg(long)]
    pub(crate) string: bool,

    /// VALUE is the content of a new collaborative text, not JSON
    #[arg(long, conflicts_with = "string")]
    pub(crate) text: bool,

    /// Insert into a list, before the element at this index
    #[arg(long)]
    pub(crate) insert: bool,

    #[command(flatten)]
    pub(crate) change: ChangeFlags,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Delete a value
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc delete notes.amrg /cards/0
  hashmill doc delete notes.amrg /draft -m 'done with it'")]
pub(crate) struct DeleteArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// A JSON Pointer, as /cards/0/title
    pub(crate) pointer: Pointer,

    #[command(flatten)]
    pub(crate) change: ChangeFlags,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Delete and insert characters of a text
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc splice notes.amrg /body 4 0 ' and honey'
  hashmill doc splice notes.amrg /body 0 4 -- '-- Milk'")]
pub(crate) struct SpliceArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// A JSON Pointer, as /cards/0/title
    pub(crate) pointer: Pointer,

    /// Position in characters
    pub(crate) index: usize,

    /// Number of characters to delete there
    pub(crate) delete: usize,

    /// Text to insert there
    #[arg(default_value = "", allow_hyphen_values = true, hide_default_value = true)]
    pub(crate) insert: String,

    #[command(flatten)]
    pub(crate) change: ChangeFlags,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Format a range of a text, as bold or with a link
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc mark notes.amrg /body 0 4 bold
  hashmill doc mark a.amrg /body 0 4 link '\"https://example.org\"' --expand none
  hashmill doc mark notes.amrg /body 0 4 bold null")]
pub(crate) struct MarkArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// A JSON Pointer, as /cards/0/title
    pub(crate) pointer: Pointer,

    /// The first character
    pub(crate) start: usize,

    /// The position after the last character
    pub(crate) end: usize,

    /// The name of the mark
    pub(crate) name: String,

    /// The value of the mark as JSON; null removes marks of this name
    #[arg(default_value = "true", allow_hyphen_values = true)]
    pub(crate) value: String,

    /// At which edges the mark includes newly typed text
    #[arg(long, value_enum, default_value = "after")]
    pub(crate) expand: Expand,

    #[command(flatten)]
    pub(crate) change: ChangeFlags,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Edges of a mark.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum Expand {
    Before,
    After,
    Both,
    None,
}

/// Merge changes from other copies of a document
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc merge notes.amrg from-the-phone.amrg
  hashmill doc merge notes.amrg mine.amrg yours.amrg -o all.amrg")]
pub(crate) struct MergeArgs {
    /// The document that receives the changes
    pub(crate) file: PathBuf,

    /// Documents that have the changes
    #[arg(required = true, value_name = "FROM")]
    pub(crate) from: Vec<PathBuf>,

    /// Write the result here and leave FILE unchanged
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Sync a document with files, directories or a server
///
/// OTHER is a file, or a directory for the file of the same name in it, which is created if missing. With two
/// directories, all documents *.automerge and *.amrg in either are synced.
///
/// Or OTHER is a server of automerge-repo, as wss://HOST or ws://HOST:PORT. A document on a server has an id: --id names the
/// document that FILE is a copy of, and a missing FILE is fetched. With --new FILE gets a new id, which is printed; anyone who
/// knows the id can read and write the document. FILE is written when both sides are equal, not before.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc sync notes.amrg /media/stick/
  hashmill doc sync notes.amrg wss://sync.example.org --new
  hashmill doc sync a.amrg ws://localhost:3030 --id 4NMNnkMhL8jXrdJ9jamS58PAVdXu")]
pub(crate) struct SyncArgs {
    /// The document, or a directory of documents
    pub(crate) file: PathBuf,

    /// Another copy, a directory, or the URL of a server
    pub(crate) other: OsString,

    /// The id of the document on the server: automerge:ID, or ID alone
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<DocumentId>,

    /// Create a new document on the server and print its id
    #[arg(long, conflicts_with = "id")]
    pub(crate) new: bool,

    /// Trust the certificates in FILE (PEM) instead of those of the system, for wss://
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,

    /// Continue until Ctrl-C: write changes of others, send changes of FILE
    #[arg(long)]
    pub(crate) watch: bool,

    /// Give up on a server that is silent for this long
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub(crate) timeout: u32,

    /// Print one JSON object per line on what was received and sent
    #[arg(long)]
    pub(crate) json: bool,
}

/// Apply a JSON Patch (RFC 6902) atomically
///
/// A moved or copied value becomes a new value. A text that is replaced by a string (with --tagged, by a text) is edited and
/// stays the same text.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc patch notes.amrg patch.json
  echo '{\"title\": null}' | hashmill doc patch notes.amrg - --merge")]
pub(crate) struct PatchArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// The file with the patch
    pub(crate) patch: PathBuf,

    /// The patch is a JSON Merge Patch (RFC 7386)
    #[arg(long)]
    pub(crate) merge: bool,

    /// The values of the patch have the form of 'export --tagged'
    #[arg(long)]
    pub(crate) tagged: bool,

    #[command(flatten)]
    pub(crate) change: ChangeFlags,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Revert changes, and keep later ones
///
/// This makes a new change with the opposite effect: added values are removed, deleted values come back, unless a later change
/// has replaced them. Undoing that change restores the first one.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc undo notes.amrg
  hashmill doc undo notes.amrg 3f2a 09bc -m 'not so'")]
pub(crate) struct UndoArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// The change: its hash as in the log, or a unique prefix; several are reverted together [default: the newest]
    #[arg(value_name = "HASH")]
    pub(crate) changes: Vec<String>,

    #[command(flatten)]
    pub(crate) change: ChangeFlags,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}
