//! `--update`: updates a checksum list; only changed files are hashed.

use super::audit::{file_count, may_exist};
use super::operands::Operands;
use crate::output::audit_output::{Digests, Findings, Show};
use crate::output::json;
use crate::output::progress::{ProgressState, hash_many};
use crate::output::{Out, StdoutClosed, display_path, other_names_note};
use hashmill_atomic_file::Error as ReplaceError;
use hashmill_files::checksum_list::{
    Audit, AuditEntry, ChecksumTable, ListUpdate, Scope, TableEntry, normalize_name,
};
use hashmill_files::{Digest, DigestVerdict, Error, Files, HashJob, Input, Output, ResultSink, Time};
use std::cell::RefCell;
use std::convert::Infallible;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Resolution of file times in seconds on some file systems. A file modified within this time before it was hashed may change
/// again without a new time.
const MTIME_RESOLUTION_S: i64 = 2;

/// Options of `--update`.
pub(super) struct UpdateOptions {
    /// Hash all files, also those with unchanged size and time.
    pub(super) paranoid: bool,
    /// Replace the entries of corrupt files.
    pub(super) retag: bool,
    /// Accept that all files below an operand are gone.
    pub(super) allow_gone: bool,
    pub(super) show: Show,
}

/// State of a file before it is hashed.
struct FileState {
    size: u64,
    modified: Option<Time>,
    /// Size and time are unchanged.
    is_unchanged: bool,
    /// The current time.
    now: Option<Time>,
}

/// Why a run ends without a new list.
enum Stop {
    Failed(ReplaceError),
    /// All files below this directory would be removed from the list; their number.
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
    mut update: ListUpdate,
    path: &Path,
    roots: &[PathBuf],
    options: &UpdateOptions,
    out: &mut Out,
) {
    update.set_retag(options.retag);
    let scope = Scope::Below(
        roots.iter().map(|root| normalize_name(root.as_os_str().as_encoded_bytes()).into_owned()).collect(),
    );
    let old = Arc::clone(update.old());
    let replaces = update.replaces();
    let update = RefCell::new(update);
    let mut updater = ListUpdater {
        update: &update,
        old: &old,
        counts: EntryCounts::default(),
        audit: Audit::new(&old),
        findings: Findings::for_update(options.show),
        prints_all: options.show.verbose,
        out,
    };
    let done = updater.run(files, items, &scope, options);
    let ListUpdater { counts, findings, .. } = updater;
    let done = match done {
        Ok(()) => update.into_inner().finish().map_err(Stop::Failed),
        // Nothing of this run is kept: the next one hashes new and changed files again.
        Err(Stop::Emptied(root, count)) => match update.into_inner().abandon() {
            Ok(()) => Err(Stop::Emptied(root, count)),
            Err(error) => Err(error.into()),
        },
        Err(stop) => Err(stop),
    };
    match done {
        Ok(finished) => {
            if let Some(message) = other_names_note(&display_path(path), finished) {
                out.note(&message);
            }
            print_summary(path, &counts, &findings, options.show, out);
        }
        Err(Stop::Failed(error)) => out.fail(&failure(&display_path(path), &error, replaces)),
        Err(Stop::Emptied(root, count)) => {
            let root = if root.as_os_str().is_empty() { Path::new(".") } else { &root };
            let files = file_count(count);
            out.fail(&format!(
                "{}: none of its {files} below {} exists, as if a disk is not mounted; the list is unchanged; see --allow-gone",
                display_path(path),
                display_path(root)
            ));
        }
    }
}

fn print_summary(path: &Path, entries: &EntryCounts, findings: &Findings, show: Show, out: &mut Out) {
    if show.quiet {
        return;
    }
    let (EntryCounts { files, hashed, reused }, counts) = (*entries, &findings.counts);
    let list = display_path(path).into_owned();
    let _: ControlFlow<StdoutClosed> = if show.json {
        out.print(|out| {
            json::line(out, &json::Updated { manifest: list, files, hashed, kept: reused, counts })
        })
    } else {
        let json::Counts { new, changed, gone, moved, .. } = counts;
        let nonzero = findings.nonzero_counts(&[(*moved, "moved")]);
        let noun = if files == 1 { "file" } else { "files" };
        let line = format!(
            "{list}: {files} {noun}, {hashed} hashed, {reused} kept; {new} new, {changed} changed, {gone} gone{nonzero}"
        );
        out.print(|out| writeln!(out, "{line}"))
    };
}

/// The message for an update that could not be finished; `replaces` says whether there was a list before.
fn failure(name: &str, error: &ReplaceError, replaces: bool) -> String {
    let state = match error {
        // The list is that of another program, or the new one; the error says so.
        ReplaceError::Changed | ReplaceError::Exists | ReplaceError::Unsynced(_) => "",
        _ if replaces => "; it is unchanged",
        _ => "; it was not created",
    };
    format!("{name}: {error}{state}")
}

/// Attaches the state of a file, and its digest if it is unchanged.
fn with_state(
    item: HashJob<()>,
    update: &ListUpdate,
    paranoid: bool,
    progress: Option<&ProgressState>,
) -> HashJob<Option<FileState>> {
    let HashJob { path, input, tag: () } = item;
    if !matches!(input, Input::File) {
        return HashJob { path, input, tag: None };
    }
    let Ok(metadata) = fs::metadata(&path) else { return HashJob { path, input, tag: None } };
    let (size, modified) = (metadata.len(), Time::modified(&metadata).filter(|_| metadata.is_file()));
    let name = normalize_name(path.as_os_str().as_encoded_bytes());
    let digest = modified.and_then(|modified| update.known(&name, size, modified, paranoid));
    let (input, is_unchanged) = match digest {
        Some(digest) => (Input::Known(Digest { output: Output::Whole(digest.into()), len: size }), true),
        None => (Input::File, false),
    };
    if let Some(progress) = progress.filter(|_| is_unchanged) {
        progress.add_known(size);
    }
    let now = Time::from_system(SystemTime::now());
    HashJob { path, input, tag: Some(FileState { size, modified, is_unchanged, now }) }
}

/// Numbers of entries of the new list.
#[derive(Clone, Copy, Default)]
struct EntryCounts {
    files: u64,
    hashed: u64,
    reused: u64,
}

struct ListUpdater<'a> {
    update: &'a RefCell<ListUpdate>,
    old: &'a ChecksumTable,
    counts: EntryCounts,
    audit: Audit<'a>,
    findings: Findings,
    /// Print all files, also new ones of a new list.
    prints_all: bool,
    out: &'a mut Out,
}

impl ResultSink<Option<FileState>> for &mut ListUpdater<'_> {
    type Break = io::Error;

    fn answer(
        &mut self,
        path: PathBuf,
        state: Option<FileState>,
        result: Result<Digest, Error>,
    ) -> ControlFlow<io::Error> {
        match self.add(&path, state, result) {
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

impl ListUpdater<'_> {
    /// Writes the entries of the new list.
    fn run(
        &mut self,
        files: &Files,
        items: Operands,
        scope: &Scope,
        options: &UpdateOptions,
    ) -> Result<(), Stop> {
        self.keep_entries(|_, _, name| !scope.counts(name))?;
        let (progress, update) = (self.out.progress(), self.update);
        let items =
            items.map(|item| with_state(item, &update.borrow(), options.paranoid, progress.as_deref()));
        if let ControlFlow::Break(error) = hash_many(files, progress.clone(), items, &mut *self) {
            return Err(error.into());
        }
        let left_out = self.audit.leave_out(|name| scope.counts(name) && may_exist(&scope.path(name)));
        let rest = self.audit.rest(|name| scope.counts(name));
        if !options.allow_gone
            && let Some((root, count)) = self.audit.emptied(&rest, scope)
        {
            return Err(Stop::Emptied(root, count));
        }
        self.keep_entries(|audit, number, name| {
            audit.is_shut(name) || left_out.binary_search(&number).is_ok()
        })?;
        if !left_out.is_empty() {
            self.out
                .note(&format!("{} of the list left out; the lines are kept", file_count(left_out.len())));
        }
        let ListUpdater { audit, findings, out, .. } = self;
        let Ok(()) = audit.tell(&rest, |finding| -> Result<(), Infallible> {
            let _ = findings.report(finding, out);
            Ok(())
        });
        Ok(())
    }

    /// Copies the selected entries of the old list.
    fn keep_entries(&mut self, selects: impl Fn(&Audit<'_>, u32, &[u8]) -> bool) -> io::Result<()> {
        let mut update = self.update.borrow_mut();
        for (number, row) in (0..).zip(self.old.files()) {
            if selects(&self.audit, number, row.name) {
                update.keep_number(number)?;
                self.counts.files += 1;
                self.counts.reused += 1;
            }
        }
        Ok(())
    }

    /// Prints something. If standard output is closed, the update continues, and `out` keeps the failure.
    fn print(&mut self, print: impl FnOnce(&mut Findings, &mut Out) -> ControlFlow<StdoutClosed>) {
        let (ControlFlow::Continue(()) | ControlFlow::Break(StdoutClosed)) =
            print(&mut self.findings, self.out);
    }

    fn add(
        &mut self,
        path: &Path,
        state: Option<FileState>,
        result: Result<Digest, Error>,
    ) -> io::Result<()> {
        let update = self.update;
        let mut update = update.borrow_mut();
        let name = normalize_name(path.as_os_str().as_encoded_bytes());
        let digest = match result {
            Ok(digest) => digest,
            Err(error @ (Error::Special | Error::Pseudo(_))) => {
                self.out.note(&format!("{}: skipped: {error}", display_path(path)));
                return Ok(());
            }
            Err(error) => {
                self.print(|findings, out| findings.report_unread(&name, path, &error, out));
                self.audit.unread(&name);
                // The old entry is the best information there is.
                if update.keep_old(&name)? {
                    self.counts.files += 1;
                    self.counts.reused += 1;
                }
                return Ok(());
            }
        };
        let algorithm = update.algorithm();
        let mut bytes = vec![0; algorithm.digest_len()];
        digest.output.fill(0, &mut bytes);
        let mut modified = state.as_ref().and_then(|state| state.modified);
        let row = TableEntry { name: &name, digest: &bytes, size: Some(digest.len), modified };
        self.counts.files += 1;
        let verdict = if state.as_ref().is_some_and(|state| state.is_unchanged) {
            self.counts.reused += 1;
            update.keep(row)?
        } else {
            self.counts.hashed += 1;
            let is_steady = state.as_ref().is_some_and(|state| {
                let after = fs::metadata(path).ok();
                let after = after.map(|after| (after.len(), Time::modified(&after)));
                after == Some((state.size, state.modified)) && digest.len == state.size
            });
            if modified.is_some() && !is_steady {
                self.out.fail(&format!("{}: it changed while it was read", display_path(path)));
            }
            modified = modified.filter(|_| is_steady);
            // The time is proof only if the file did not change while it was read, and if a later change would get another time.
            let is_settled =
                state.and_then(|state| Some(state.modified? < state.now?.before(MTIME_RESOLUTION_S)));
            let proven_time = modified.filter(|_| is_settled == Some(true));
            update.take(TableEntry { modified: proven_time, ..row }, modified)?
        };
        if verdict == DigestVerdict::New && self.old.is_empty() {
            // In a new list all files are new, and none can have moved.
            if self.prints_all {
                self.print(|findings, out| {
                    findings.report(AuditEntry { verdict, name: &name, from: None }, out)
                });
            } else {
                self.findings.count(verdict);
            }
            return Ok(());
        }
        // A new file may be a moved one, which is known only at the end.
        let too_many = |_| io::Error::other("too many files");
        if self.audit.file(&name, &bytes, modified).map_err(too_many)?.is_none() {
            return Ok(());
        }
        let old = self.old;
        match old.find(&name).map(|number| old.file(number)) {
            Some(stored) if verdict == DigestVerdict::Corrupt => {
                let digests = Digests { algorithm, stored: stored.digest, found: &bytes };
                self.print(|findings, out| findings.report_corrupt(&name, path, digests, out));
            }
            _ => self
                .print(|findings, out| findings.report(AuditEntry { verdict, name: &name, from: None }, out)),
        }
        Ok(())
    }
}
