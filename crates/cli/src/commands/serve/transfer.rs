//! Import, export and check of a server's storage.

use super::admin::RunningServer;
use super::settings::{random_bytes, storage_folder};
use crate::flags::{CheckStorageArgs, ExportStorageArgs, ImportStorageArgs};
use crate::output::{self, ReportedError, display_path, print_error, print_note};
use anyhow::{Context as _, Result};
use hashmill_atomic_file::open_regular;
use hashmill_server::shell::{
    self, OpenError, StorageSummary, TransferCounts, TransferError, TransferFact, WrongCount,
};
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
    if let Some(path) = &flags.backup {
        let mut file = open_regular(path).with_context(|| display_path(path).into_owned())?;
        let summary = shell::read_backup(&mut file, true, &mut print_fact);
        let summary = summary.with_context(|| display_path(path).into_owned())?;
        return finish(&format!("checked {}", display_path(path)), &summary.counts);
    }
    let folder: &Path = &storage_folder(&flags.storage);
    let summary = match shell::check(folder, &mut print_fact) {
        Err(TransferError::Open(OpenError::InUse(_))) => check_in_use(folder)?,
        checked => checked?,
    };
    for WrongCount { owner, counted, stored } in &summary.wrong_counts {
        print_error(&format!(
            "the stored bytes of {owner:?} were counted as {counted}, and are {stored}: corrected"
        ));
    }
    finish(&format!("checked {}", display_path(folder)), &summary.counts)?;
    if summary.wrong_counts.is_empty() { Ok(()) } else { Err(ReportedError.into()) }
}

/// Checks the storage of a running server, by its snapshot.
fn check_in_use(folder: &Path) -> Result<StorageSummary> {
    let server = RunningServer::of_storage(folder)?;
    let summary = server.read_backup(|backup| {
        shell::read_backup(backup, true, &mut print_fact).with_context(|| server.name())
    })?;
    if !summary.wrong_counts.is_empty() {
        server.correct_counts()?;
    }
    Ok(summary)
}

pub(super) fn print_fact(fact: &TransferFact) {
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
pub(super) fn finish(done: &str, counts: &TransferCounts) -> Result<()> {
    let TransferCounts { documents, chunks, bytes, blobs, blob_bytes, damaged, ignored, deleted, .. } =
        counts;
    let mut line = format!("{done}: {documents} documents, {chunks} chunks, {bytes} bytes");
    if *blobs > 0 {
        line.push_str(&format!(", {blobs} blobs, {blob_bytes} bytes"));
    }
    if counts.left_out_blobs > 0 {
        line.push_str(&format!(
            ", without the {} blobs of the storage, {} bytes",
            counts.left_out_blobs, counts.left_out_blob_bytes
        ));
    }
    for (count, word) in [(damaged, "damaged"), (ignored, "ignored"), (deleted, "deleted and left out")] {
        if *count > 0 {
            line.push_str(&format!(", {count} {word}"));
        }
    }
    output::print(&format!("{line}\n"))?;
    if counts.left_out_blobs > 0 {
        print_note(
            "only `hashmill serve export` copies blobs, and only a check of a stopped server reads them",
        );
    }
    if *damaged > 0 { Err(ReportedError.into()) } else { Ok(()) }
}
