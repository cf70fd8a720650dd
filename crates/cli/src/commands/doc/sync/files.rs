//! Sync of two files, or of the files in two directories.

use super::{Report, file};
use crate::flags::{SyncArgs, UsageError};
use crate::output::{display_path, error_chain, print_error};
use anyhow::{Context as _, Result, bail};
use file::EditedFile;
use hashmill_doc::Document;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Extensions of documents in directories.
const EXTENSIONS: [&str; 2] = ["automerge", "amrg"];

/// Syncs each pair of files. Returns false if some failed, which was reported.
pub(super) fn sync(flags: &SyncArgs) -> Result<bool> {
    let (one, other) = (&flags.file, Path::new(&flags.other));
    if file::is_stream(one) || file::is_stream(other) {
        bail!(UsageError("both sides of a sync are written, so neither can be -".to_owned()));
    }
    match (one.is_dir(), other.is_dir()) {
        (false, false) => sync_pair(flags, one, other, MissingFileRule::Fail)?,
        (false, true) => {
            let name = one.file_name().with_context(|| format!("{}: it has no name", display_path(one)))?;
            sync_pair(flags, one, &other.join(name), MissingFileRule::Create)?;
        }
        (true, false) => {
            bail!(UsageError(format!(
                "{} is a directory: the other side must be one, too",
                display_path(one)
            )));
        }
        (true, true) => return sync_directories(flags, one, other),
    }
    Ok(true)
}

/// What to do for a missing file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingFileRule {
    Fail,
    Create,
}

fn open(path: &Path, rule: MissingFileRule) -> Result<(EditedFile, Document)> {
    if rule == MissingFileRule::Create { EditedFile::open_or_new(path) } else { EditedFile::open(path) }
}

fn sync_pair(flags: &SyncArgs, one: &Path, other: &Path, rule: MissingFileRule) -> Result<()> {
    let ((mut here, mut doc), (mut there, mut copy)) = (open(one, rule)?, open(other, rule)?);
    if here.is_new() && there.is_new() {
        bail!("neither {} nor {} exists", display_path(one), display_path(other));
    }
    let had = [doc.stats().changes, copy.stats().changes];
    doc.merge(&copy).with_context(|| file::name(other))?;
    copy.merge(&doc).with_context(|| file::name(one))?;
    let (received, sent) = (doc.stats().changes - had[0], copy.stats().changes - had[1]);
    // A file that lacked nothing is not rewritten.
    for (edited, doc, new_changes) in [(&mut here, &mut doc, received), (&mut there, &mut copy, sent)] {
        if new_changes > 0 || edited.is_new() {
            edited.replace(doc)?;
        }
    }
    Report { received, sent, ..Report::new(one, &other.to_string_lossy(), &doc) }.print(one, flags.json)
}

/// Syncs every document in either directory. A failure does not stop the others.
fn sync_directories(flags: &SyncArgs, one: &Path, other: &Path) -> Result<bool> {
    let mut names = BTreeSet::new();
    for folder in [one, other] {
        names.extend(documents(folder).with_context(|| display_path(folder).into_owned())?);
    }
    if names.is_empty() {
        bail!("neither {} nor {} has a file *.automerge or *.amrg", display_path(one), display_path(other));
    }
    let mut done = true;
    for name in names {
        if let Err(error) = sync_pair(flags, &one.join(&name), &other.join(&name), MissingFileRule::Create) {
            if error.is::<crate::output::ReaderGone>() {
                return Err(error);
            }
            print_error(&error_chain(&error));
            done = false;
        }
    }
    Ok(done)
}

fn documents(folder: &Path) -> std::io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = PathBuf::from(entry?.file_name());
        let hidden = name.as_os_str().as_encoded_bytes().starts_with(b".");
        let ending = name.extension().and_then(|ending| ending.to_str());
        if !hidden && ending.is_some_and(|ending| EXTENSIONS.contains(&ending)) {
            names.push(name.into_os_string());
        }
    }
    Ok(names)
}
