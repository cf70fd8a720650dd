//! The flags of verbs that write a document, or a page, where nothing is.

use super::{AtFlag, ChangeFlags, JsonFlag};
use clap::Args;
use std::path::PathBuf;

/// Make a document with nothing in it
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc new notes.amrg
  hashmill doc new - | hashmill doc put - /title '\"Groceries\"' > notes.amrg")]
pub(crate) struct NewArgs {
    /// Where; nothing may be there
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Make a copy that goes its own way, to be merged later
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc fork notes.amrg mine.amrg
  hashmill doc fork notes.amrg older.amrg --at 3f2a")]
pub(crate) struct ForkArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// The copy; nothing may be there
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) at: AtFlag,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Write a document as it was, with the history up to then
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc at notes.amrg 3f2a -o then.amrg
  hashmill doc at notes.amrg 3f2a 09bc -o -  | hashmill doc show -")]
pub(crate) struct AtArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// The changes that were its last ones: hashes as the log shows them, or enough of their beginnings
    #[arg(required = true, value_name = "HASH")]
    pub(crate) heads: Vec<String>,

    /// Where to write it; nothing may be there
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Make a document of JSON, or of a history as JSON
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc import cards.json -o cards.amrg
  hashmill doc import changes.json -o copy.amrg --changes")]
pub(crate) struct ImportArgs {
    /// A file with one JSON object, or with changes
    #[arg(value_name = "JSON")]
    pub(crate) source: PathBuf,

    /// Where to write the document; nothing may be there
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// Read the form of 'export --tagged'
    #[arg(long)]
    pub(crate) tagged: bool,

    /// Read the form of 'export --flat'
    #[arg(long)]
    pub(crate) flat: bool,

    /// Read the form of 'export --changes': the same history, under the same names
    #[arg(long, conflicts_with_all = ["tagged", "flat", "message", "actor", "time"])]
    pub(crate) changes: bool,

    #[command(flatten)]
    pub(crate) change: ChangeFlags,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Save what can be saved of a damaged document
///
/// What is lost is said, and where it stood in the file.
///
/// Exit codes: 0 nothing is lost, 1 something is, or nothing could be written.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc rescue damaged.amrg -o saved.amrg
  hashmill doc rescue damaged.amrg -o saved.amrg --json | jq .losses")]
pub(crate) struct RescueArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// Where to write the document; nothing may be there
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Write what is in a document to a new one without history
///
/// What was overwritten and deleted is gone then, and who wrote what; marks and blocks stay. The new document has nothing in
/// common with the old one: merged, the two would be one beside the other, so everybody has to go on from the new one.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc squash notes.amrg -o new.amrg
  hashmill doc squash notes.amrg -o new.amrg -m 'begun anew'")]
pub(crate) struct SquashArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// Where to write the new one; nothing may be there
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) change: ChangeFlags,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Hide the words and keep the history
///
/// To be sent with a report of a defect.
///
/// Characters become others of the same length, keys and actors become numbers, numbers keep their sign and their highest bit,
/// and times go. Yes and no stay, and where lines end.
#[derive(Args, Debug)]
#[command(visible_alias = "anonymize")]
#[command(after_help = "\
Examples:
  hashmill doc anonymise notes.amrg -o report.amrg
  hashmill doc anonymise notes.amrg -o - | hashmill doc show -")]
pub(crate) struct AnonymiseArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// Where to write it; nothing may be there
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Write a page to look at: the document and its whole history
///
/// Any browser opens it; it loads nothing from anywhere and holds everything that was ever written to the document.
/// PAGE#12 shows the first twelve changes, PAGE#3f2a what the maker of that change saw.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc view notes.amrg -o notes.html
  hashmill doc at notes.amrg 3f2a -o - | hashmill doc view - -o then.html")]
pub(crate) struct ViewArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// Where to write the page; nothing may be there
    #[arg(short, long, value_name = "PAGE")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}
