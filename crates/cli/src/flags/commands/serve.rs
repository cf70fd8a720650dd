//! The flags of `hashmill serve`.

use clap::{Args, Subcommand, ValueEnum};
use serde::Deserialize;
use std::path::PathBuf;

/// Sync documents of automerge-repo's clients, and store them
///
/// Clients are told that the server has a change only when the change is on the disk. Until tokens are set or `--open-to-all`, the
/// server listens on this machine alone. PORT and DATA_DIR in the environment mean what they mean to automerge-repo-sync-server;
/// flags go before them, and they go before the settings file. SIGTERM and Ctrl-C store what was received and end the server. Exit
/// codes: 0 stopped, 1 the server cannot start or failed, 2 the command line cannot be used.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  hashmill serve init && hashmill serve token ann >> hashmill-serve.toml
  hashmill serve --settings hashmill-serve.toml --listen 0.0.0.0:3030"
)]
pub(crate) struct ServeArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ServeCommand>,

    /// Address and port to listen on [default: 127.0.0.1:3030]
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,

    /// Directory of the storage [default: hashmill-data]
    ///
    /// It is created if it does not exist.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,

    /// Let everyone who reaches the server read and change all documents
    ///
    /// A client needs the id of a document.
    #[arg(long)]
    pub(crate) open_to_all: bool,

    /// Take no changes
    #[arg(long, hide_short_help = true)]
    pub(crate) read_only: bool,

    /// Form of messages on standard error [default: text]
    #[arg(long, value_name = "FORMAT", hide_short_help = true)]
    pub(crate) log: Option<LogFormat>,

    /// Settings file, see `hashmill serve init`
    #[arg(long, value_name = "FILE")]
    pub(crate) settings: Option<PathBuf>,
}

/// Form of messages.
#[derive(ValueEnum, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    /// Lines for people
    Text,
    /// A JSON object in each line
    Json,
}

/// The commands of `hashmill serve`.
#[derive(Subcommand, Debug)]
pub(crate) enum ServeCommand {
    Init(InitArgs),
    Token(TokenArgs),
    Import(ImportStorageArgs),
    Export(ExportStorageArgs),
    Check(CheckStorageArgs),
    Backup(BackUpStorageArgs),
    Restore(RestoreStorageArgs),
    Doctor(DoctorArgs),
    Delete(DeleteDocumentArgs),
    Undelete(UndeleteDocumentArgs),
    List(ListDocumentsArgs),
    Show(ShowDocumentArgs),
}

/// Make a token for a client, and the lines of the settings file that let it in
///
/// The settings hold the digest of the token alone. Lines with other rights are in the file of `hashmill serve init`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill serve token ann
  hashmill serve token ann >> hashmill-serve.toml")]
pub(crate) struct TokenArgs {
    /// Name of the client, for messages
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
}

/// Write a settings file with the defaults and their meaning
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill serve init
  hashmill serve init /etc/hashmill-serve.toml")]
pub(crate) struct InitArgs {
    /// The file, which must not exist
    #[arg(value_name = "FILE", default_value = "hashmill-serve.toml")]
    pub(crate) file: PathBuf,
}

/// Import the documents of automerge-repo's server or samod
///
/// The directory is one of automerge-repo's NodeFS storage or samod's file storage, whose program is stopped. Documents that are in both
/// are merged, and nothing is deleted. A new storage takes over the id of the imported one, so that clients continue where they
/// were. Chunks that cannot be read are named and copied; documents consist of the others. An interrupted import can be repeated.
/// Exit codes: 0 all is there and readable, 1 something is damaged or failed, 2 the command line cannot be used.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill serve import .amrg
  hashmill serve import /srv/automerge --data /var/lib/hashmill")]
pub(crate) struct ImportStorageArgs {
    /// Directory to import
    #[arg(value_name = "FROM")]
    pub(crate) from: PathBuf,

    #[command(flatten)]
    pub(crate) storage: StorageFlag,
}

/// Write all documents in the format of automerge-repo's server and samod
///
/// The server is stopped meanwhile. The directory is new or empty. Exit codes: 0 all was written, 1 something failed, 2 the command line
/// cannot be used.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill serve export .amrg
  hashmill serve export /backup/automerge --data /var/lib/hashmill")]
pub(crate) struct ExportStorageArgs {
    /// Directory to write
    #[arg(value_name = "TO")]
    pub(crate) to: PathBuf,

    #[command(flatten)]
    pub(crate) storage: StorageFlag,
}

/// Read all documents of the storage or of a backup, and name what is damaged
///
/// A server that uses the storage goes on meanwhile. Counts of stored bytes that are wrong are corrected. Exit codes: 0 all is sound, 1
/// something is damaged, was wrong or failed, 2 the command line cannot be used.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill serve check
  hashmill serve check --data /var/lib/hashmill
  hashmill serve check /backup/hashmill.backup")]
pub(crate) struct CheckStorageArgs {
    /// The backup to check, in place of the storage
    #[arg(value_name = "BACKUP", conflicts_with = "data")]
    pub(crate) backup: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) storage: StorageFlag,
}

/// Write the storage into one file, without its blobs
///
/// A server that uses the storage goes on meanwhile: the backup has all that was confirmed to clients before it began. It has documents,
/// deleted ones, owners and the id of the storage, and digests of all of it; blobs are copied by `hashmill serve export` alone. The file
/// appears when it is complete, checked and on the disk; its owner alone can read it. Exit codes: 0 it is there, 1 something failed, 2 the
/// command line cannot be used.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill serve backup /backup/hashmill.backup
  hashmill serve backup /backup --data /var/lib/hashmill")]
pub(crate) struct BackUpStorageArgs {
    /// The file, where an earlier backup is replaced; or a directory, which gets a file named after the time
    #[arg(value_name = "TO")]
    pub(crate) to: PathBuf,

    #[command(flatten)]
    pub(crate) storage: StorageFlag,
}

/// Restore the storage from a backup
///
/// The directory is new or empty. The whole backup is checked before anything changes. The storage keeps its id, so that clients
/// continue where they were, and send what the backup does not have. Exit codes: 0 all is restored, 1 the backup is damaged or
/// something failed, 2 the command line cannot be used.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill serve restore /backup/hashmill.backup
  hashmill serve restore /backup/hashmill.backup --data copy --new-storage-id")]
pub(crate) struct RestoreStorageArgs {
    /// The backup
    #[arg(value_name = "BACKUP")]
    pub(crate) from: PathBuf,

    /// Replace the storage that is there
    ///
    /// No server uses it meanwhile. It is replaced at once when everything is restored.
    #[arg(long)]
    pub(crate) replace: bool,

    /// Give the storage a new id
    ///
    /// For a copy that is served beside the original: clients take servers with one id for one storage.
    #[arg(long)]
    pub(crate) new_storage_id: bool,

    /// Restore all sound parts of a damaged backup
    ///
    /// What is damaged is named and left out. The exit code is 1.
    #[arg(long)]
    pub(crate) salvage: bool,

    #[command(flatten)]
    pub(crate) storage: StorageFlag,
}

/// Say what would hurt a server with these settings in production
///
/// One line for each, with the remedy: access for everyone, a disk without room, too few open files, damaged documents, and others. The
/// settings are those that the server is started with. Exit codes: 0 nothing was found, 1 something was found or failed, 2 the command
/// line or a setting is wrong.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill serve doctor --settings hashmill-serve.toml
  hashmill serve doctor --data /var/lib/hashmill --json")]
pub(crate) struct DoctorArgs {
    /// Settings file of the server
    #[arg(long, value_name = "FILE")]
    pub(crate) settings: Option<PathBuf>,

    /// Address of the server, as for `hashmill serve`
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,

    /// Directory of the storage, as for `hashmill serve`
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,

    /// The server is started with --open-to-all
    #[arg(long)]
    pub(crate) open_to_all: bool,

    /// Do not read all documents
    #[arg(long)]
    pub(crate) skip_documents: bool,

    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Delete a document
///
/// A running server that uses the storage deletes it at once, also for open connections; otherwise the storage is changed. For clients
/// the document is then absent: their changes to it are ignored, and do not bring it back. `hashmill serve undelete` brings it back for
/// as long as the setting `undelete-days` says. Then its contents are removed. Exit codes: 0 it is deleted, 1 there is no such document
/// or something failed, 2 the command line cannot be used.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill serve delete 4VNSEjuC2AHmKGKEK27f1aBErpCV
  hashmill serve delete automerge:4VNSEjuC2AHmKGKEK27f1aBErpCV --data store")]
pub(crate) struct DeleteDocumentArgs {
    /// Id or URL of the document
    #[arg(value_name = "DOC")]
    pub(crate) document: String,

    #[command(flatten)]
    pub(crate) storage: StorageFlag,
}

/// Bring a deleted document back
///
/// With every change that was confirmed before it was deleted. A running server that uses the storage gives it to its clients at once.
/// Exit codes: 0 it is back, 1 there is no such document, its contents were removed, or something failed, 2 the command line cannot be
/// used.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill serve undelete 4VNSEjuC2AHmKGKEK27f1aBErpCV
  hashmill serve undelete 4VNSEjuC2AHmKGKEK27f1aBErpCV --data store")]
pub(crate) struct UndeleteDocumentArgs {
    /// Id or URL of the document
    #[arg(value_name = "DOC")]
    pub(crate) document: String,

    #[command(flatten)]
    pub(crate) storage: StorageFlag,
}

/// List stored documents, or deleted ones
///
/// With their sizes and owners; deleted ones with the time of their deletion. A running server that uses the storage answers; otherwise
/// the storage is read. Exit codes: 0 all were listed, 1 something failed, 2 the command line cannot be used.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill serve list
  hashmill serve list --deleted --json --data store")]
pub(crate) struct ListDocumentsArgs {
    /// List deleted documents
    #[arg(long)]
    pub(crate) deleted: bool,

    /// Print a JSON object in each line
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) storage: StorageFlag,
}

/// Show sizes, heads, clients and the latest changes of a document
///
/// A running server that uses the storage answers; otherwise the storage is read. Exit codes: 0 it was shown, 1 there is no such document
/// or something failed, 2 the command line cannot be used.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill serve show 4VNSEjuC2AHmKGKEK27f1aBErpCV
  hashmill serve show 4VNSEjuC2AHmKGKEK27f1aBErpCV --json --data store")]
pub(crate) struct ShowDocumentArgs {
    /// Id or URL of the document
    #[arg(value_name = "DOC")]
    pub(crate) document: String,

    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) storage: StorageFlag,
}

/// The directory of a storage.
#[derive(Args, Debug)]
pub(crate) struct StorageFlag {
    /// Directory of the storage [default: DATA_DIR, or hashmill-data]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}
