//! The flags of `hashmill doc`.

use crate::doc::DocumentId;
use clap::{Args, Subcommand, ValueEnum};
use hashmill_doc::ActorId;
use hashmill_doc::json::Pointer;
use std::ffi::OsString;
use std::path::PathBuf;

/// Read and edit documents that several people keep: Automerge's files
///
/// FILE may be - for standard input; what is edited there goes to standard output. A file is replaced as a whole or
/// not at all, and only if nobody else changed it meanwhile. POINTER is a JSON Pointer (RFC 6901): /cards/0/title,
/// or '' for everything.
///
/// Exit codes: 0 done, 1 not, 2 the command line cannot be used.
#[derive(Args, Debug)]
#[command(arg_required_else_help = true, subcommand_required = true)]
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
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub(crate) time: Option<i64>,
}

/// Which moment to look at.
#[derive(Args, Debug)]
pub(crate) struct AtFlag {
    /// As it was at these changes: hashes as the log shows them, or enough of their beginnings
    #[arg(long, value_name = "HASH", value_delimiter = ',')]
    pub(crate) at: Vec<String>,
}

/// Make a document with nothing in it
#[derive(Args, Debug)]
pub(crate) struct NewArgs {
    /// Where; nothing may be there
    pub(crate) file: PathBuf,
}

/// Show what is in a document, and where it stands
#[derive(Args, Debug)]
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
pub(crate) struct GetArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// Where in it, as /cards/0/title
    pub(crate) pointer: Pointer,

    #[command(flatten)]
    pub(crate) at: AtFlag,

    /// Print a string or a text as it is, without quotation marks
    #[arg(short, long)]
    pub(crate) raw: bool,

    /// Print every value that was put there at the same time, the winner last, each on a line of its own
    #[arg(long, conflicts_with = "raw")]
    pub(crate) all: bool,
}

/// Put a value at a place
///
/// At a key what was there is replaced; in a list, too, but at its end, which is - or its length, it is added.
#[derive(Args, Debug)]
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
}

/// Delete what is at a place
#[derive(Args, Debug)]
pub(crate) struct DeleteArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// Where in it, as /cards/0/title
    pub(crate) pointer: Pointer,

    #[command(flatten)]
    pub(crate) change: ChangeFlags,
}

/// Edit a text: delete characters, then insert some
#[derive(Args, Debug)]
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
}

/// Mark characters of a text, as bold or with a link
#[derive(Args, Debug)]
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
pub(crate) struct MergeArgs {
    /// The document that takes it
    pub(crate) file: PathBuf,

    /// Documents that have it
    #[arg(required = true, value_name = "FROM")]
    pub(crate) from: Vec<PathBuf>,

    /// Write the result here, and leave FILE as it is
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
}

/// Bring copies of a document in step: each takes over what the other has
///
/// OTHER is a file; or a directory, for the file of the same name in it, which is made if it is not there. Of two
/// directories, all documents *.automerge and *.amrg in either are brought in step.
///
/// Or OTHER is a server of automerge-repo, as ws://HOST:PORT. There a document has an id: --id says which FILE is a copy of,
/// and a FILE that is not there is fetched. Without --id FILE gets a new one, which is printed; whoever knows it can
/// read and write the document. FILE is written when both have the same, not before.
#[derive(Args, Debug)]
pub(crate) struct SyncArgs {
    /// The document, or a directory of documents
    pub(crate) file: PathBuf,

    /// Another copy, a directory, or the URL of a server
    pub(crate) other: OsString,

    /// What the document is called on the server: automerge:ID, or the ID alone
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<DocumentId>,

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
}

/// Take a change back, while what came after it stays
///
/// That makes another change, with the opposite effect: what was put there goes, what was deleted comes back, unless somebody
/// has put something else in its place. To undo that one is to do the first again.
#[derive(Args, Debug)]
pub(crate) struct UndoArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// Which change: its hash as the log shows it, or enough of its beginning; several are taken back together. The newest if
    /// not given
    #[arg(value_name = "HASH")]
    pub(crate) changes: Vec<String>,

    #[command(flatten)]
    pub(crate) change: ChangeFlags,
}

/// Make a copy that goes its own way, to be merged later
#[derive(Args, Debug)]
pub(crate) struct ForkArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// The copy; nothing may be there
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) at: AtFlag,
}

/// Print what became of a document: on a terminal for people, else as a JSON Patch (RFC 6902), a step a line
#[derive(Args, Debug)]
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
pub(crate) struct LogArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Say who made what of a map, a list or a text, and when
#[derive(Args, Debug)]
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

/// Write a document as it was, with the history up to then
#[derive(Args, Debug)]
pub(crate) struct AtArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// The changes that were its last ones: hashes as the log shows them, or enough of their beginnings
    #[arg(required = true, value_name = "HASH")]
    pub(crate) heads: Vec<String>,

    /// Where to write it; nothing may be there
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
}

/// Print a document as JSON
#[derive(Args, Debug)]
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
}

/// Make a document of JSON
#[derive(Args, Debug)]
pub(crate) struct ImportArgs {
    /// A file with one JSON object, or with changes
    pub(crate) json: PathBuf,

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
}

/// Look whether documents are whole: every checksum, every change, every hash
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// The documents
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Save what can be saved of a damaged document, and say what cannot
///
/// Exit codes: 0 nothing is lost, 1 something is, or nothing could be written.
#[derive(Args, Debug)]
pub(crate) struct RescueArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// Where to write the document; nothing may be there
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
}

/// Write what is in a document to a new one, without its history
///
/// What was overwritten and deleted is gone then, and who wrote what; marks and blocks stay. The new document has nothing in
/// common with the old one: merged, the two would be one beside the other, so everybody has to go on from the new one.
#[derive(Args, Debug)]
pub(crate) struct SquashArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// Where to write the new one; nothing may be there
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) change: ChangeFlags,
}

/// Write a document with the same history in which nothing is to be read, to send with a report of a defect
///
/// Characters become others of the same length, keys and actors become numbers, numbers keep their sign and their highest bit,
/// and times go. Yes and no stay, and where lines end.
#[derive(Args, Debug)]
#[command(visible_alias = "anonymize")]
pub(crate) struct AnonymiseArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// Where to write it; nothing may be there
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
}

/// Show what a file is made of: its chunks, good or bad, and the changes in them
///
/// Exit codes: 0 all is good, 1 something is not.
#[derive(Args, Debug)]
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
pub(crate) struct ExamineSyncArgs {
    /// A file with one message
    pub(crate) file: PathBuf,

    /// Print one JSON object, with every operation of the changes in it
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write a page to look at: the document at every moment of its history, in one HTML file
///
/// Any browser opens it; it loads nothing from anywhere and holds everything that was ever written to the document.
/// PAGE#12 shows the first twelve changes, PAGE#3f2a what the maker of that change saw.
#[derive(Args, Debug)]
pub(crate) struct ViewArgs {
    /// The document
    pub(crate) file: PathBuf,

    /// Where to write the page; nothing may be there
    #[arg(short, long, value_name = "PAGE")]
    pub(crate) output: PathBuf,
}
