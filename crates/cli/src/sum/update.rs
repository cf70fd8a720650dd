//! `--update`: a manifest that is brought up to date, of which only what has changed is hashed.

use super::operands::Operands;
use crate::out::json;
use crate::out::progress::{Job, hash_many};
use crate::out::{Closed, Out, shown};
use hashmill_files::manifest::{File as Row, Scope, Shut, Update, tidy};
use hashmill_files::{Digest, Error, Files, Input, Item, Output, Sink, Time};
use std::cell::RefCell;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Times of files are as coarse as two seconds on some file systems: a file that was changed so shortly before it was
/// hashed may change again without a new time.
const COARSE: i64 = 2;

/// What to do, and what to show.
pub(super) struct How {
    /// Hash everything, whatever sizes and times say.
    pub(super) paranoid: bool,
    pub(super) json: bool,
    pub(super) quiet: bool,
}

/// What is known of a file before it is hashed.
struct Facts {
    size: u64,
    modified: Option<Time>,
    /// Nothing has changed, as far as size and time tell.
    known: bool,
    now: Option<Time>,
}

pub(super) fn run(
    files: &Files,
    items: Operands,
    update: Update,
    path: &Path,
    roots: &[PathBuf],
    how: &How,
    out: &mut Out,
) {
    let scope = Scope::Below(
        roots.iter().map(|root| tidy(root.as_os_str().as_encoded_bytes()).into_owned()).collect(),
    );
    let mut counts = json::Updated { manifest: shown(path).into_owned(), ..json::Updated::default() };
    let update = RefCell::new(update);
    let others = keep_others(&mut update.borrow_mut(), &scope, &mut counts);
    let done = others.and_then(|in_scope| {
        let job = out.job();
        let items = items.map(|item| question(item, &update.borrow(), how.paranoid, job.as_deref()));
        let mut keeper = Keeper { update: &update, counts: &mut counts, met: 0, shut: Shut::default(), out };
        match hash_many(files, job.clone(), items, &mut keeper) {
            ControlFlow::Break(error) => Err(error),
            ControlFlow::Continue(()) => {
                let (met, shut) = (keeper.met, keeper.shut);
                let kept = keep(&mut update.borrow_mut(), &mut counts, |name| shut.holds(name))?;
                Ok(in_scope.saturating_sub(met + kept))
            }
        }
    });
    let done = done.and_then(|gone| {
        counts.gone = gone;
        update.into_inner().finish()
    });
    if let Err(error) = done {
        out.fail(&format!("{}: {error}; it is as it was", shown(path)));
        return;
    }
    if how.quiet {
        return;
    }
    let _: ControlFlow<Closed> = if how.json {
        out.print(|out| json::line(out, &counts))
    } else {
        let json::Updated { manifest, files, hashed, kept, new, changed, gone } = &counts;
        let line = format!(
            "{manifest}: {files} files, {hashed} hashed, {kept} kept; {new} new, {changed} changed, {gone} gone"
        );
        out.print(|out| writeln!(out, "{line}"))
    };
}

/// Writes what the manifest has of files elsewhere, and tells how many it has here.
fn keep_others(update: &mut Update, scope: &Scope, counts: &mut json::Updated) -> io::Result<u64> {
    let others = keep(update, counts, |name| !scope.counts(name))?;
    Ok(update.old().len() as u64 - others)
}

/// Writes what the manifest has of some files, and tells how many these are.
fn keep(update: &mut Update, counts: &mut json::Updated, which: impl Fn(&[u8]) -> bool) -> io::Result<u64> {
    let mut kept = 0;
    for number in 0..update.old().len() as u32 {
        if which(update.old().file(number).name) {
            update.keep_number(number)?;
            kept += 1;
        }
    }
    counts.files += kept;
    counts.kept += kept;
    Ok(kept)
}

/// A file as a question, or with its answer if nothing has changed.
fn question(item: Item<()>, update: &Update, paranoid: bool, job: Option<&Job>) -> Item<Option<Facts>> {
    let Item { path, input, tag: () } = item;
    if !matches!(input, Input::File) {
        return Item { path, input, tag: None };
    }
    let Ok(metadata) = fs::metadata(&path) else { return Item { path, input, tag: None } };
    let (size, modified) = (metadata.len(), Time::modified(&metadata).filter(|_| metadata.is_file()));
    let name = tidy(path.as_os_str().as_encoded_bytes());
    let known = modified.and_then(|modified| update.known(&name, size, modified, paranoid));
    let (input, known) = match known {
        Some(digest) => (Input::Known(Digest { output: Output::Whole(digest.into()), len: size }), true),
        None => (Input::File, false),
    };
    if let Some(job) = job.filter(|_| known) {
        job.know(size);
    }
    let now = Time::of(SystemTime::now());
    Item { path, input, tag: Some(Facts { size, modified, known, now }) }
}

struct Keeper<'a> {
    update: &'a RefCell<Update>,
    counts: &'a mut json::Updated,
    /// Files that the manifest had before.
    met: u64,
    /// What could not be read, and is not in the manifest: directories, among others.
    shut: Shut,
    out: &'a mut Out,
}

impl Sink<Option<Facts>> for &mut Keeper<'_> {
    type Break = io::Error;

    fn answer(
        &mut self,
        path: PathBuf,
        facts: Option<Facts>,
        result: Result<Digest, Error>,
    ) -> ControlFlow<io::Error> {
        match self.take(&path, facts, result) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn pause(&mut self) -> ControlFlow<io::Error> {
        match self.update.borrow_mut().flush() {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl Keeper<'_> {
    fn take(&mut self, path: &Path, facts: Option<Facts>, result: Result<Digest, Error>) -> io::Result<()> {
        let mut update = self.update.borrow_mut();
        let name = tidy(path.as_os_str().as_encoded_bytes());
        let digest = match result {
            Ok(digest) => digest,
            Err(error @ (Error::Special | Error::Pseudo(_))) => {
                self.out.note(&format!("{}: skipped: {error}", shown(path)));
                return Ok(());
            }
            Err(error) => {
                self.out.fail(&format!("{}: {error}", shown(path)));
                // What was known of it is still the best that there is.
                if update.keep_old(&name)? {
                    self.met += 1;
                    self.counts.files += 1;
                    self.counts.kept += 1;
                } else {
                    self.shut.add(&name);
                }
                return Ok(());
            }
        };
        let mut bytes = vec![0; update.algorithm().digest_len()];
        digest.output.fill(0, &mut bytes);
        let before = update.before(&name).map(|before| before.digest == bytes);
        self.counts.files += 1;
        match before {
            None => self.counts.new += 1,
            Some(same) => {
                self.met += 1;
                self.counts.changed += u64::from(!same);
            }
        }
        let modified = facts.as_ref().and_then(|facts| facts.modified);
        let row = Row { name: &name, digest: &bytes, size: Some(digest.len), modified };
        if facts.as_ref().is_some_and(|facts| facts.known) {
            self.counts.kept += 1;
            return update.keep(row);
        }
        self.counts.hashed += 1;
        let steady = facts.as_ref().is_some_and(|facts| {
            let after = fs::metadata(path).ok();
            let after = after.map(|after| (after.len(), Time::modified(&after)));
            after == Some((facts.size, facts.modified)) && digest.len == facts.size
        });
        if facts.as_ref().is_some_and(|facts| facts.modified.is_some()) && !steady {
            self.out.fail(&format!("{}: it changed while it was read", shown(path)));
        }
        // A time proves something if it is that of the bytes that were read, and if a change after it had another.
        let settled = facts.and_then(|facts| Some(facts.modified? < facts.now?.before(COARSE)));
        let proves = steady && settled == Some(true);
        update.take(Row { modified: modified.filter(|_| proves), ..row })
    }
}
