//! `--update`: a manifest that is brought up to date, of which only what has changed is hashed.

use super::operands::Operands;
use crate::findings::{Digests, Findings, Show};
use crate::out::json;
use crate::out::progress::{Job, hash_many};
use crate::out::{Closed, Out, other_names, shown};
use hashmill_atomic_file::Error as ReplaceError;
use hashmill_files::manifest::{Audit, File as Row, Finding, Manifest, Scope, Update, tidy};
use hashmill_files::{Digest, Error, Files, Input, Item, Output, Sink, Time, Verdict};
use std::cell::RefCell;
use std::convert::Infallible;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Times of files are as coarse as two seconds on some file systems: a file that was changed so shortly before it was
/// hashed may change again without a new time.
const COARSE: i64 = 2;

/// What to do, and what to show.
pub(super) struct How {
    /// Hash everything, whatever sizes and times say.
    pub(super) paranoid: bool,
    /// Replace the rows of corrupt files.
    pub(super) retag: bool,
    /// All files below an operand may be gone.
    pub(super) allow_gone: bool,
    pub(super) show: Show,
}

/// What is known of a file before it is hashed.
struct Facts {
    size: u64,
    modified: Option<Time>,
    /// Nothing has changed, as far as size and time tell.
    known: bool,
    now: Option<Time>,
}

/// Why a run ends without a new manifest.
enum Stop {
    Failed(ReplaceError),
    /// All files below this directory, and their number, would leave the list.
    Emptied(PathBuf, usize),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Failed(error.into())
    }
}

pub(super) fn run(
    files: &Files,
    items: Operands,
    mut update: Update,
    path: &Path,
    roots: &[PathBuf],
    how: &How,
    out: &mut Out,
) {
    update.set_retag(how.retag);
    let scope = Scope::Below(
        roots.iter().map(|root| tidy(root.as_os_str().as_encoded_bytes()).into_owned()).collect(),
    );
    let old = Arc::clone(update.old());
    let replaces = update.replaces();
    let update = RefCell::new(update);
    let mut keeper = Keeper {
        update: &update,
        old: &old,
        rows: Rows::default(),
        audit: Audit::new(&old),
        findings: Findings::of_update(how.show),
        names_all: how.show.verbose,
        out,
    };
    let done = keeper.run(files, items, &scope, how);
    let Keeper { rows, findings, .. } = keeper;
    let done = match done {
        Ok(()) => update.into_inner().finish().map_err(Stop::Failed),
        // The files that came and changed are read again by the next run: nothing of this one is left.
        Err(Stop::Emptied(root, count)) => match update.into_inner().abandon() {
            Ok(()) => Err(Stop::Emptied(root, count)),
            Err(error) => Err(error.into()),
        },
        Err(stop) => Err(stop),
    };
    match done {
        Ok(finished) => {
            if let Some(message) = other_names(&shown(path), finished) {
                out.note(&message);
            }
            summarise(path, &rows, &findings, how.show, out);
        }
        Err(Stop::Failed(error)) => out.fail(&failure(&shown(path), &error, replaces)),
        Err(Stop::Emptied(root, count)) => {
            let root = if root.as_os_str().is_empty() { Path::new(".") } else { &root };
            let files = if count == 1 { "1 file" } else { &format!("{count} files") };
            out.fail(&format!(
                "{}: it has {files} below {}, and none of them is there, as on a disk that is not mounted; it is as it was; \
                 see --allow-gone",
                shown(path),
                shown(root)
            ));
        }
    }
}

fn summarise(path: &Path, rows: &Rows, findings: &Findings, show: Show, out: &mut Out) {
    if show.quiet {
        return;
    }
    let (Rows { files, hashed, kept }, counts) = (*rows, &findings.counts);
    let manifest = shown(path).into_owned();
    let _: ControlFlow<Closed> = if show.json {
        out.print(|out| json::line(out, &json::Updated { manifest, files, hashed, kept, counts }))
    } else {
        let json::Counts { new, changed, gone, moved, .. } = counts;
        let rare = findings.rare(&[(*moved, "moved")]);
        let noun = if files == 1 { "file" } else { "files" };
        let line = format!(
            "{manifest}: {files} {noun}, {hashed} hashed, {kept} kept; {new} new, {changed} changed, {gone} gone{rare}"
        );
        out.print(|out| writeln!(out, "{line}"))
    };
}

/// The message about an update that could not be finished; `replaces` says whether there was a manifest before.
fn failure(name: &str, error: &ReplaceError, replaces: bool) -> String {
    let state = match error {
        // The manifest is another program's, or the new one: the error says so.
        ReplaceError::Changed | ReplaceError::Exists | ReplaceError::Unsynced(_) => "",
        _ if replaces => "; it is as it was",
        _ => "; it was not created",
    };
    format!("{name}: {error}{state}")
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

/// Rows of the new manifest.
#[derive(Clone, Copy, Default)]
struct Rows {
    files: u64,
    hashed: u64,
    kept: u64,
}

struct Keeper<'a> {
    update: &'a RefCell<Update>,
    old: &'a Manifest,
    rows: Rows,
    audit: Audit<'a>,
    findings: Findings,
    /// Files are named of which there is nothing to say, too.
    names_all: bool,
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
        self.print(|_, out| out.flush());
        match self.update.borrow_mut().flush() {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl Keeper<'_> {
    /// Writes the rows of the new manifest.
    fn run(&mut self, files: &Files, items: Operands, scope: &Scope, how: &How) -> Result<(), Stop> {
        self.keep(|_, name| !scope.counts(name))?;
        let (job, update) = (self.out.job(), self.update);
        let items = items.map(|item| question(item, &update.borrow(), how.paranoid, job.as_deref()));
        if let ControlFlow::Break(error) = hash_many(files, job.clone(), items, &mut *self) {
            return Err(error.into());
        }
        let rest = self.audit.rest(|name| scope.counts(name));
        if !how.allow_gone
            && let Some((root, count)) = self.audit.emptied(&rest, scope)
        {
            return Err(Stop::Emptied(root, count));
        }
        self.keep(|audit, name| audit.is_shut(name))?;
        let Keeper { audit, findings, out, .. } = self;
        let Ok(()) = audit.tell(&rest, |finding| -> Result<(), Infallible> {
            let _ = findings.take(finding, out);
            Ok(())
        });
        Ok(())
    }

    /// Keeps the rows of some files as they are.
    fn keep(&mut self, which: impl Fn(&Audit<'_>, &[u8]) -> bool) -> io::Result<()> {
        let mut update = self.update.borrow_mut();
        for (number, row) in (0..).zip(self.old.files()) {
            if which(&self.audit, row.name) {
                update.keep_number(number)?;
                self.rows.files += 1;
                self.rows.kept += 1;
            }
        }
        Ok(())
    }

    /// Shows something. If the output takes no more, the manifest is brought up to date all the same, and the end of the
    /// command tells.
    fn print(&mut self, print: impl FnOnce(&mut Findings, &mut Out) -> ControlFlow<Closed>) {
        let (ControlFlow::Continue(()) | ControlFlow::Break(Closed)) = print(&mut self.findings, self.out);
    }

    fn take(&mut self, path: &Path, facts: Option<Facts>, result: Result<Digest, Error>) -> io::Result<()> {
        let update = self.update;
        let mut update = update.borrow_mut();
        let name = tidy(path.as_os_str().as_encoded_bytes());
        let digest = match result {
            Ok(digest) => digest,
            Err(error @ (Error::Special | Error::Pseudo(_))) => {
                self.out.note(&format!("{}: skipped: {error}", shown(path)));
                return Ok(());
            }
            Err(error) => {
                self.print(|findings, out| findings.unread(&name, path, &error, out));
                self.audit.unread(&name);
                // What was known of it is still the best that there is.
                if update.keep_old(&name)? {
                    self.rows.files += 1;
                    self.rows.kept += 1;
                }
                return Ok(());
            }
        };
        let algorithm = update.algorithm();
        let mut bytes = vec![0; algorithm.digest_len()];
        digest.output.fill(0, &mut bytes);
        let mut modified = facts.as_ref().and_then(|facts| facts.modified);
        let row = Row { name: &name, digest: &bytes, size: Some(digest.len), modified };
        self.rows.files += 1;
        let verdict = if facts.as_ref().is_some_and(|facts| facts.known) {
            self.rows.kept += 1;
            update.keep(row)?
        } else {
            self.rows.hashed += 1;
            let steady = facts.as_ref().is_some_and(|facts| {
                let after = fs::metadata(path).ok();
                let after = after.map(|after| (after.len(), Time::modified(&after)));
                after == Some((facts.size, facts.modified)) && digest.len == facts.size
            });
            if modified.is_some() && !steady {
                self.out.fail(&format!("{}: it changed while it was read", shown(path)));
            }
            modified = modified.filter(|_| steady);
            // A time proves something if it is that of the bytes that were read, and if a change after it had another.
            let settled = facts.and_then(|facts| Some(facts.modified? < facts.now?.before(COARSE)));
            let proven = modified.filter(|_| settled == Some(true));
            update.take(Row { modified: proven, ..row }, modified)?
        };
        if verdict == Verdict::New && self.old.is_empty() {
            // Everything is new in a list that is made now, and no file can have moved.
            if self.names_all {
                self.print(|findings, out| findings.take(Finding { verdict, name: &name, from: None }, out));
            } else {
                self.findings.count(verdict);
            }
            return Ok(());
        }
        // A new file may be one that moved: that is known at the end.
        let too_many = |_| io::Error::other("more files than can be numbered");
        if self.audit.file(&name, &bytes, modified).map_err(too_many)?.is_none() {
            return Ok(());
        }
        let old = self.old;
        match old.find(&name).map(|number| old.file(number)) {
            Some(stored) if verdict == Verdict::Corrupt => {
                let digests = Digests { algorithm, stored: stored.digest, found: &bytes };
                self.print(|findings, out| findings.corrupt(&name, path, digests, out));
            }
            _ => self.print(|findings, out| findings.take(Finding { verdict, name: &name, from: None }, out)),
        }
        Ok(())
    }
}
