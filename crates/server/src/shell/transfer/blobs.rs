//! Blobs of an import, an export and a check: `blobs/ab/cdef…` as in the storage, and the references to them in `blobs/references`.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::{TransferCounts, TransferError, TransferFact, storage_error};
use crate::event::IoFailure;
use crate::shell::blobs::{Files as _, FolderFiles, copy_blob, has_sound_bytes};
use crate::shell::store::Store;
use crate::storage::{BlobHash, BlobReference};

/// The file of references: an object in JSON in each line.
const REFERENCES: &str = "references";
/// Number of blobs that are looked up at once.
const BATCH: usize = 1000;

/// Copies all blobs of a storage in `folder` durably to the directory `to`, and then the references to them. A damaged blob is
/// reported and left out. Blobs may be added meanwhile: those of all references that are copied are copied, too.
pub(in crate::shell) fn copy(
    store: &Store,
    folder: &Path,
    to: &Path,
    counts: &mut TransferCounts,
    report: &mut dyn FnMut(&TransferFact),
) -> Result<(), TransferError> {
    // Before the blobs: each has its blob then.
    let references = store.references().map_err(|failure| storage_error(folder, &failure))?;
    if first_blob(store, folder)?.is_none() {
        return Ok(());
    }
    let (source, target) = (open(folder)?, open(to)?);
    each_blob(store, folder, |blob, _| {
        match copy_blob(&source, &target, blob) {
            Ok(Some(len)) => add(counts, len),
            copied => {
                // It may have been removed meanwhile.
                let is_there =
                    store.blob_len(blob).map_err(|failure| storage_error(folder, &failure))?.is_some();
                if is_there {
                    report_damaged(&source, blob, copied.map(drop), counts, report);
                }
            }
        }
        Ok(())
    })?;
    let lines = references.iter().map(|BlobReference { document, blob, identity }| {
        let line =
            json!({ "document": document.to_string(), "blob": blob.to_string(), "identity": identity });
        format!("{line}\n")
    });
    let path = target.folder().join(REFERENCES);
    hashmill_atomic_file::write(&path, lines.collect::<String>().as_bytes())
        .map_err(|error| file_error(&path, io::Error::other(error.to_string())))?;
    target.remove_upload_folder().map_err(|reason| file_error(target.folder(), reason))
}

/// Adds the blobs of the directory `from` to a storage in `folder`, and the references to them.
pub(super) fn import(
    from: &Path,
    folder: &Path,
    store: &Store,
    counts: &mut TransferCounts,
    report: &mut dyn FnMut(&TransferFact),
) -> Result<(), TransferError> {
    let Some(source) = FolderFiles::find(from).map_err(|reason| file_error(from, reason))? else {
        return Ok(());
    };
    let target = open(folder)?;
    let failed = |failure: IoFailure| storage_error(folder, &failure);
    for first in 0..=u8::MAX {
        let mut copied = Vec::new();
        for blob in source.blobs(first).map_err(|reason| file_error(source.folder(), reason))? {
            match copy_blob(&source, &target, blob) {
                Ok(Some(len)) => {
                    add(counts, len);
                    copied.push((blob, len));
                }
                result => report_damaged(&source, blob, result.map(drop), counts, report),
            }
        }
        if !copied.is_empty() {
            store.import_blobs(&copied, &[]).map_err(failed)?;
        }
    }
    let path = source.folder().join(REFERENCES);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(reason) => return Err(file_error(&path, reason)),
    };
    let mut references = Vec::new();
    for (index, line) in text.lines().enumerate() {
        match parse_reference(line) {
            Some(reference) => references.push(reference),
            None => {
                counts.damaged += 1;
                let chunk = format!("{}, line {}", path.display(), index + 1);
                report(&TransferFact::Damaged { chunk, reason: "it is no reference to a blob".to_owned() });
            }
        }
    }
    store.import_blobs(&[], &references).map_err(failed)
}

/// Reads all blobs of a storage, and reports those with other bytes than their names say.
pub(super) fn check(
    store: &Store,
    folder: &Path,
    counts: &mut TransferCounts,
    report: &mut dyn FnMut(&TransferFact),
) -> Result<(), TransferError> {
    let Some(files) = FolderFiles::find(folder).map_err(|reason| file_error(folder, reason))? else {
        // Records without files are damage of each.
        return each_blob(store, folder, |blob, _| {
            counts.damaged += 1;
            report(&TransferFact::Damaged {
                chunk: blob.to_string(),
                reason: "its file is missing".to_owned(),
            });
            Ok(())
        });
    };
    each_blob(store, folder, |blob, len| {
        match has_sound_bytes(&files, blob, len) {
            Ok(true) => add(counts, len),
            sound => report_damaged(&files, blob, sound.map(drop), counts, report),
        }
        Ok(())
    })
}

fn add(counts: &mut TransferCounts, len: u64) {
    counts.blobs += 1;
    counts.blob_bytes += len;
}

fn report_damaged(
    files: &FolderFiles,
    blob: BlobHash,
    read: io::Result<()>,
    counts: &mut TransferCounts,
    report: &mut dyn FnMut(&TransferFact),
) {
    counts.damaged += 1;
    let reason = match read {
        Ok(()) => "its bytes have another hash".to_owned(),
        Err(error) => error.to_string(),
    };
    report(&TransferFact::Damaged { chunk: files.path(blob).display().to_string(), reason });
}

fn first_blob(store: &Store, folder: &Path) -> Result<Option<BlobHash>, TransferError> {
    let first = store.blobs_after(None, 1).map_err(|failure| storage_error(folder, &failure))?;
    Ok(first.first().map(|(blob, _)| *blob))
}

fn each_blob(
    store: &Store,
    folder: &Path,
    mut visit: impl FnMut(BlobHash, u64) -> Result<(), TransferError>,
) -> Result<(), TransferError> {
    let mut after = None;
    loop {
        let blobs = store.blobs_after(after, BATCH).map_err(|failure| storage_error(folder, &failure))?;
        let Some((last, _)) = blobs.last() else { return Ok(()) };
        after = Some(*last);
        for (blob, len) in blobs {
            visit(blob, len)?;
        }
    }
}

fn parse_reference(line: &str) -> Option<BlobReference> {
    let value: Value = serde_json::from_str(line).ok()?;
    let field = |name: &str| value.get(name).and_then(Value::as_str);
    let (document, blob) = (field("document")?.parse().ok()?, field("blob")?.parse().ok()?);
    Some(BlobReference { document, blob, identity: field("identity")?.to_owned() })
}

fn open(folder: &Path) -> Result<FolderFiles, TransferError> {
    FolderFiles::open(folder).map_err(|reason| file_error(folder, reason))
}

fn file_error(path: &Path, reason: io::Error) -> TransferError {
    TransferError::File { path: path.to_owned(), reason }
}
