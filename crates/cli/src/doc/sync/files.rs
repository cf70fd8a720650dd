//! Sync with another file, or of the files in two directories.

use super::{Report, file};
use crate::flags::{Misuse, SyncArgs};
use crate::out::{complain, shown, told};
use anyhow::{Context as _, Result, bail};
use file::Edited;
use hashmill_doc::Document;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// How names of documents end, for those who sync whole directories.
const ENDINGS: [&str; 2] = ["automerge", "amrg"];

/// Syncs each pair of files; false if some failed, and that was said.
pub(super) fn sync(low: &SyncArgs) -> Result<bool> {
    let (one, other) = (&low.file, Path::new(&low.other));
    if file::is_stream(one) || file::is_stream(other) {
        bail!(Misuse("both sides of a sync are written: - cannot be one".to_owned()));
    }
    match (one.is_dir(), other.is_dir()) {
        (false, false) => pair(low, one, other, Absent::IsMissed)?,
        (false, true) => {
            let name = one.file_name().with_context(|| format!("{}: it has no name", shown(one)))?;
            pair(low, one, &other.join(name), Absent::IsMade)?;
        }
        (true, false) => {
            bail!(Misuse(format!("{} is a directory: the other must be one, too", shown(one))));
        }
        (true, true) => return all(low, one, other),
    }
    Ok(true)
}

/// What becomes of a file that is not there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Absent {
    IsMissed,
    IsMade,
}

fn open(path: &Path, absent: Absent) -> Result<(Edited, Document)> {
    if absent == Absent::IsMade { Edited::open_or_new(path) } else { Edited::open(path) }
}

fn pair(low: &SyncArgs, one: &Path, other: &Path, absent: Absent) -> Result<()> {
    let ((mut here, mut doc), (mut there, mut copy)) = (open(one, absent)?, open(other, absent)?);
    if here.is_new() && there.is_new() {
        bail!("neither {} nor {} is there", shown(one), shown(other));
    }
    let had = [doc.stats().changes, copy.stats().changes];
    doc.merge(&copy).with_context(|| file::name(other))?;
    copy.merge(&doc).with_context(|| file::name(one))?;
    let (received, sent) = (doc.stats().changes - had[0], copy.stats().changes - had[1]);
    // One that lacked nothing stays as it is, byte for byte.
    for (edited, doc, came) in [(&mut here, &mut doc, received), (&mut there, &mut copy, sent)] {
        if came > 0 || edited.is_new() {
            edited.replace(doc)?;
        }
    }
    Report { received, sent, ..Report::of(one, &other.to_string_lossy(), &doc) }.print(one, low.json)
}

/// Every document that is in either directory. One that cannot be synced takes no other with it.
fn all(low: &SyncArgs, one: &Path, other: &Path) -> Result<bool> {
    let mut names = BTreeSet::new();
    for folder in [one, other] {
        names.extend(documents(folder).with_context(|| shown(folder).into_owned())?);
    }
    if names.is_empty() {
        bail!("neither {} nor {} has a file *.automerge or *.amrg", shown(one), shown(other));
    }
    let mut done = true;
    for name in names {
        if let Err(error) = pair(low, &one.join(&name), &other.join(&name), Absent::IsMade) {
            if error.is::<crate::out::Unread>() {
                return Err(error);
            }
            complain(&told(&error));
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
        if !hidden && ending.is_some_and(|ending| ENDINGS.contains(&ending)) {
            names.push(name.into_os_string());
        }
    }
    Ok(names)
}
