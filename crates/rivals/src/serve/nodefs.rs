//! Storage directories in the format of automerge-repo's file storage, with one snapshot for each document.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use hashmill_repo::{DocumentId, StorageId};

/// Folder and file of the storage's id.
const STORAGE_ID: (&str, &str) = ("st", "orage-adapter-id");

/// Writes the id of a storage, which servers otherwise make.
pub(super) fn write_storage_id(folder: &Path, bytes: [u8; 16]) -> anyhow::Result<()> {
    let (outer, name) = STORAGE_ID;
    write(&folder.join(outer), name, StorageId::from_random_bytes(bytes).as_str().as_bytes())
}

/// Writes a saved document.
pub(super) fn write_document(folder: &Path, id: &DocumentId, saved: &[u8]) -> anyhow::Result<()> {
    let id = id.to_string();
    let (outer, inner) = id.split_at(2);
    // Servers read a snapshot of any name.
    write(&folder.join(outer).join(inner).join("snapshot"), "0".repeat(64).as_str(), saved)
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(folder.join(name), bytes))
        .with_context(|| folder.join(name).display().to_string())
}
