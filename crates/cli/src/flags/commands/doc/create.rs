//! The flags of commands that write a new document or page.

use super::{AtFlag, ChangeFlags, JsonFlag};
use clap::Args;
use std::path::PathBuf;

/// Create an empty document
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc new notes.amrg
  hashmill doc new - | hashmill doc put - /title '\"Groceries\"' > notes.amrg")]
pub(crate) struct NewArgs {
    /// The file to create; it must not exist
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Copy a document, to edit it apart and merge later
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc fork notes.amrg mine.amrg
  hashmill doc fork notes.amrg older.amrg --at 3f2a")]
pub(crate) struct ForkArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// The copy; it must not exist
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) at: AtFlag,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Write an earlier version of a document, with its history
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc at notes.amrg 3f2a -o then.amrg
  hashmill doc at notes.amrg 3f2a 09bc -o -  | hashmill doc show -")]
pub(crate) struct AtArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// The last changes of that version: hashes as in the log, or unique prefixes
    #[arg(required = true, value_name = "HASH")]
    pub(crate) heads: Vec<String>,

    /// The file to create; it must not exist
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Create a document from JSON, or from a history as JSON
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc import cards.json -o cards.amrg
  hashmill doc import changes.json -o copy.amrg --changes")]
pub(crate) struct ImportArgs {
    /// A file with one JSON object, or with changes
    #[arg(value_name = "JSON")]
    pub(crate) source: PathBuf,

    /// The file to create; it must not exist
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// Read the form of 'export --tagged'
    #[arg(long)]
    pub(crate) tagged: bool,

    /// Read the form of 'export --flat'
    #[arg(long)]
    pub(crate) flat: bool,

    /// Read the form of 'export --changes': the same history with the same hashes
    #[arg(long, conflicts_with_all = ["tagged", "flat", "message", "actor", "time"])]
    pub(crate) changes: bool,

    #[command(flatten)]
    pub(crate) change: ChangeFlags,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Recover the readable parts of a damaged document
///
/// Reports what is lost, and its position in the file.
///
/// Exit codes: 0 nothing is lost, 1 something is lost, or nothing could be written.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc rescue damaged.amrg -o saved.amrg
  hashmill doc rescue damaged.amrg -o saved.amrg --json | jq .losses")]
pub(crate) struct RescueArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// The file to create; it must not exist
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Copy the content of a document to a new one without history
///
/// Overwritten and deleted values are lost, and the authors; marks and blocks stay. The new document shares no history with the
/// old one: merging them would duplicate the content, so all users must continue from the new one.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc squash notes.amrg -o new.amrg
  hashmill doc squash notes.amrg -o new.amrg -m 'begun anew'")]
pub(crate) struct SquashArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// The file to create; it must not exist
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) change: ChangeFlags,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Replace the content of a document, and keep its structure and history
///
/// For reports of defects.
///
/// Characters are replaced by others of the same length, keys and actors by numbers; numbers keep their sign and highest bit;
/// times are removed. Booleans and line ends stay.
#[derive(Args, Debug)]
#[command(visible_alias = "anonymize")]
#[command(after_help = "\
Examples:
  hashmill doc anonymise notes.amrg -o report.amrg
  hashmill doc anonymise notes.amrg -o - | hashmill doc show -")]
pub(crate) struct AnonymiseArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// The file to create; it must not exist
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Write an HTML page with a document and its history
///
/// The page loads no external resources and contains everything that was ever written to the document.
/// PAGE#12 shows the first twelve changes, PAGE#3f2a the version that the author of that change saw.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill doc view notes.amrg -o notes.html
  hashmill doc at notes.amrg 3f2a -o - | hashmill doc view - -o then.html")]
pub(crate) struct ViewArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// The file to create; it must not exist
    #[arg(short, long, value_name = "PAGE")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) json: JsonFlag,
}
