//! The flags of verbs that change a document where it is.

use super::{ChangeFlags, JsonFlag};
use crate::doc::DocumentId;
use clap::{Args, ValueEnum};
use hashmill_doc::json::Pointer;
use std::ffi::OsString;
use std::path::PathBuf;

/// Put a value at a place
///
/// At a key what was there is replaced; in a list, too, but at its end, which is - or its length, it is added.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc put notes.amrg /title '\"Groceries\"' -m 'a title'
  hashmill doc put notes.amrg /body 'Milk and honey' --text
  hashmill doc put notes.amrg /cards/- '{\"done\": false}'")]
pub(crate) struct PutArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// Where in it, as /cards/0/title
    pub(crate) pointer: Pointer,

    /// The value as JSON, in the form of 'export --tagged'
    #[arg(allow_hyphen_values = true)]
    pub(crate) value: String,

    /// VALUE is a string, not JSON
    #[arg(long)]
    pub(crate) string: bool,

    /// VALUE is what a new text says, which people can edit together; not JSON
    #[arg(long, conflicts_with = "string")]
    pub(crate) text: bool,

    /// Insert into a list, before what is there
    #[arg(long)]
    pub(crate) insert: bool,

    #[command(flatten)]
    pub(crate) change: ChangeFlags,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Delete what is at a place
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc delete notes.amrg /cards/0
  hashmill doc delete notes.amrg /draft -m 'done with it'")]
pub(crate) struct DeleteArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// Where in it, as /cards/0/title
    pub(crate) pointer: Pointer,

    #[command(flatten)]
    pub(crate) change: ChangeFlags,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Edit a text: delete characters, then insert some
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc splice notes.amrg /body 4 0 ' and honey'
  hashmill doc splice notes.amrg /body 0 4 -- '-- Milk'")]
pub(crate) struct SpliceArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// Where in it, as /cards/0/title
    pub(crate) pointer: Pointer,

    /// Where, in characters
    pub(crate) index: usize,

    /// How many characters to delete from there on
    pub(crate) delete: usize,

    /// What to insert there
    #[arg(default_value = "", allow_hyphen_values = true, hide_default_value = true)]
    pub(crate) insert: String,

    #[command(flatten)]
    pub(crate) change: ChangeFlags,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Mark characters of a text, as bold or with a link
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc mark notes.amrg /body 0 4 bold
  hashmill doc mark a.amrg /body 0 4 link '\"https://example.org\"' --expand none
  hashmill doc mark notes.amrg /body 0 4 bold null")]
pub(crate) struct MarkArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// Where in it, as /cards/0/title
    pub(crate) pointer: Pointer,

    /// The first character
    pub(crate) start: usize,

    /// Behind the last character
    pub(crate) end: usize,

    /// What is said of them
    pub(crate) name: String,

    /// How, as JSON; null takes marks of this name off
    #[arg(default_value = "true", allow_hyphen_values = true)]
    pub(crate) value: String,

    /// What is typed at which edges belongs to the mark
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

/// Take over what other copies of a document have
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc merge notes.amrg from-the-phone.amrg
  hashmill doc merge notes.amrg mine.amrg yours.amrg -o all.amrg")]
pub(crate) struct MergeArgs {
    /// The document that takes it
    pub(crate) file: PathBuf,

    /// Documents that have it
    #[arg(required = true, value_name = "FROM")]
    pub(crate) from: Vec<PathBuf>,

    /// Write the result here, and leave FILE as it is
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Bring copies of a document in step: files, or with a server
///
/// OTHER is a file; or a directory, for the file of the same name in it, which is made if it is not there. Of two
/// directories, all documents *.automerge and *.amrg in either are brought in step.
///
/// Or OTHER is a server of automerge-repo, as wss://HOST or ws://HOST:PORT. There a document has an id: --id says which FILE is a copy of,
/// and a FILE that is not there is fetched. Without --id FILE gets a new one, which is printed; whoever knows it can
/// read and write the document. FILE is written when both have the same, not before.
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

    /// What the document is called on the server: automerge:ID, or the ID alone
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<DocumentId>,

    /// Make a new document on the server, and print its id
    #[arg(long, conflicts_with = "id")]
    pub(crate) new: bool,

    /// Trust a server of wss:// whose certificate is signed by one of those in FILE (PEM), and not whom the system trusts
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,

    /// Go on until Ctrl-C: write what others change, send what changes in FILE
    #[arg(long)]
    pub(crate) watch: bool,

    /// Give up a server that says nothing for so long
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub(crate) timeout: u32,

    /// Print what was received and sent as JSON objects, one a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Apply a JSON Patch (RFC 6902), all of it or nothing
///
/// What is moved or copied becomes a new value. A text that is replaced with a string (with --tagged, with
/// a text) stays the same text.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc patch notes.amrg patch.json
  echo '{\"title\": null}' | hashmill doc patch notes.amrg - --merge")]
pub(crate) struct PatchArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// A file with the patch
    pub(crate) patch: PathBuf,

    /// It is a JSON Merge Patch (RFC 7386)
    #[arg(long)]
    pub(crate) merge: bool,

    /// Its values have the form of 'export --tagged'
    #[arg(long)]
    pub(crate) tagged: bool,

    #[command(flatten)]
    pub(crate) change: ChangeFlags,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Take a change back, while what came after it stays
///
/// That makes another change, with the opposite effect: what was put there goes, what was deleted comes back, unless somebody
/// has put something else in its place. To undo that one is to do the first again.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc undo notes.amrg
  hashmill doc undo notes.amrg 3f2a 09bc -m 'not so'")]
pub(crate) struct UndoArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// Which change: its hash as the log shows it, or enough of its beginning; several are taken back together. The newest if
    /// not given
    #[arg(value_name = "HASH")]
    pub(crate) changes: Vec<String>,

    #[command(flatten)]
    pub(crate) change: ChangeFlags,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}
