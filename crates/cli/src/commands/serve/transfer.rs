//! Import, export and check of a server's storage.

use super::settings::{random_bytes, storage_folder};
use crate::flags::{CheckStorageArgs, ExportStorageArgs, ImportStorageArgs};
use crate::output::{self, ReportedError, display_path, print_error, print_note};
use anyhow::Result;
use hashmill_server::shell::{self, TransferCounts, TransferFact};
use std::path::Path;

pub(super) fn import(flags: &ImportStorageArgs) -> Result<()> {
    let folder = storage_folder(&flags.storage);
    let counts = shell::import(&flags.from, &folder, random_bytes()?, &mut print_fact)?;
    finish(&format!("imported into {}", display_path(&folder)), &counts)
}

pub(super) fn export(flags: &ExportStorageArgs) -> Result<()> {
    let counts = shell::export(&storage_folder(&flags.storage), &flags.to, &mut print_fact)?;
    finish(&format!("exported to {}", display_path(&flags.to)), &counts)
}

pub(super) fn check(flags: &CheckStorageArgs) -> Result<()> {
    let folder: &Path = &storage_folder(&flags.storage);
    let counts = shell::check(folder, &mut print_fact)?;
    finish(&format!("checked {}", display_path(folder)), &counts)
}

fn print_fact(fact: &TransferFact) {
    match fact {
        TransferFact::Damaged { chunk, reason } => {
            print_error(&format!("{} cannot be read: {reason}", display_path(Path::new(chunk))));
        }
        TransferFact::Ignored { path, reason } => {
            print_note(&format!("{}: ignored: {reason}", display_path(path)));
        }
        TransferFact::Deleted(document) => {
            print_note(&format!("{document} is deleted here and was not imported: undelete it first"));
        }
        TransferFact::StorageIdUnchanged { current, imported } => {
            print_note(&format!(
                "the storage keeps its id {current}; that of the imported one was {imported}"
            ));
        }
    }
}

/// Prints the counts. Damaged chunks are a failure that was reported.
fn finish(done: &str, counts: &TransferCounts) -> Result<()> {
    let TransferCounts { documents, chunks, bytes, blobs, blob_bytes, damaged, ignored, deleted } = counts;
    let mut line = format!("{done}: {documents} documents, {chunks} chunks, {bytes} bytes");
    if *blobs > 0 {
        line.push_str(&format!(", {blobs} blobs, {blob_bytes} bytes"));
    }
    for (count, word) in [(damaged, "damaged"), (ignored, "ignored"), (deleted, "deleted and left out")] {
        if *count > 0 {
            line.push_str(&format!(", {count} {word}"));
        }
    }
    output::print(&format!("{line}\n"))?;
    if *damaged > 0 { Err(ReportedError.into()) } else { Ok(()) }
}
