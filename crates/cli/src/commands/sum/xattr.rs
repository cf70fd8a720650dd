//! `--xattr`: digests stored in extended attributes, and verdicts on their files.

use super::check::Hashers;
use super::operands::Operands;
use crate::output::audit_output::{Digests, Show, print_verdict};
use crate::output::json::{self, Name};
use crate::output::progress::hash_many;
use crate::output::{Out, StdoutClosed, display_path, hex, quoted_path};
use hashmill_files::checksum_list::Algorithm;
use hashmill_files::digest_xattr::{self, FileState, StoredDigest, XattrError};
use hashmill_files::{Digest, DigestVerdict, Error, FileId, HashJob, Input, ResultSink};
use std::cell::RefCell;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Options of `--xattr`.
pub(super) struct XattrOptions {
    /// The hash function, if the flags determine it.
    pub(super) requested: Option<Algorithm>,
    /// Store new digests for corrupt files and malformed attributes, too.
    pub(super) retag: bool,
    /// Write nothing.
    pub(super) dry_run: bool,
    pub(super) show: Show,
}

/// What to do for a name.
enum NameTask {
    /// Hash the file by this function and compare with its stored digest.
    Verdict { by: Algorithm, facts: FileState, tag: Option<StoredDigest> },
    /// Report that the file has no stored digest and gets none.
    Untagged(XattrError),
    /// Repeat the answer of another name of the same file.
    SameFile(FileId),
}

impl NameTask {
    /// The hash function, if the file is hashed.
    fn by(&self) -> Option<Algorithm> {
        match self {
            NameTask::Verdict { by, .. } => Some(*by),
            NameTask::Untagged(_) | NameTask::SameFile(_) => None,
        }
    }
}

/// The result for a file, shared by all its names.
#[derive(Clone)]
enum FileResult {
    Read {
        verdict: DigestVerdict,
        by: Algorithm,
        digest: Box<[u8]>,
        /// The stored digest.
        stored: Option<Box<[u8]>>,
        /// Why the new digest was not stored.
        untagged: Option<Complaint>,
    },
    Failed(&'static str, Complaint),
    Skipped(String),
}

/// Why a file has no stored digest.
#[derive(Clone)]
struct Complaint {
    text: String,
    /// The device, if it does not support attributes.
    device: Option<Option<u64>>,
}

/// Files by id: a file with several names is read and written once. Otherwise the second name would find that the file has
/// changed, as the first one stored a digest.
#[derive(Default)]
struct SharedFiles(HashMap<FileId, SharedFile>);

struct SharedFile {
    /// The file has several names, so further names may follow the result.
    linked: bool,
    /// Names without a result, besides the first.
    waiting: usize,
    answer: Option<FileResult>,
}

impl SharedFiles {
    /// Registers a name. Returns the id if another name of the same file was registered before.
    fn register(&mut self, facts: &FileState) -> Option<FileId> {
        let id = facts.id()?;
        match self.0.entry(id) {
            Entry::Occupied(mut shared) => {
                shared.get_mut().waiting += 1;
                Some(id)
            }
            Entry::Vacant(entry) => {
                entry.insert(SharedFile { linked: facts.is_linked(), waiting: 0, answer: None });
                None
            }
        }
    }

    /// Stores the first result for the other names.
    fn set_result(&mut self, id: Option<FileId>, answer: &FileResult) {
        if let Some(id) = id
            && let Entry::Occupied(mut shared) = self.0.entry(id)
        {
            if shared.get().linked || shared.get().waiting > 0 {
                shared.get_mut().answer = Some(answer.clone());
            } else {
                shared.remove();
            }
        }
    }

    /// The stored result. Results come in the order of the names, so there is one.
    fn take_result(&mut self, id: FileId) -> Option<FileResult> {
        let Entry::Occupied(mut shared) = self.0.entry(id) else { return None };
        shared.get_mut().waiting -= 1;
        if shared.get().linked || shared.get().waiting > 0 {
            shared.get().answer.clone()
        } else {
            shared.remove().answer
        }
    }
}

pub(super) fn run(hashers: &Hashers, items: Operands, options: &XattrOptions, out: &mut Out) {
    let shared = RefCell::default();
    let mut items = items.map(|item| name_task(item, options, &shared)).peekable();
    let progress = out.progress();
    let (counts, without) = (json::TagCounts::default(), HashSet::new());
    let mut reporter = XattrReporter { options, out, shared: &shared, counts, without };
    // Consecutive files with equal hash function are hashed together: usually the whole tree.
    while let Some(first) = items.peek() {
        let by = first.tag.by().unwrap_or_default();
        let run = std::iter::from_fn(|| items.next_if(|item| item.tag.by().is_none_or(|other| other == by)));
        if let ControlFlow::Break(StdoutClosed) =
            hash_many(hashers.by(by), progress.clone(), run, &mut reporter)
        {
            return;
        }
    }
    reporter.finish();
}

/// Decides what to do for a name. Files that cannot store a digest, and second names, are not read.
fn name_task(item: HashJob<()>, options: &XattrOptions, shared: &RefCell<SharedFiles>) -> HashJob<NameTask> {
    let HashJob { path, input, tag: () } = item;
    if !matches!(input, Input::File) {
        return HashJob { path, input, tag: NameTask::Untagged(XattrError::NotAFile) };
    }
    let read = digest_xattr::read(&path, options.requested).and_then(|(facts, tag)| match tag {
        Err(XattrError::Malformed(_)) if options.retag => Ok((facts, None)),
        tag => tag.map(|tag| (facts, tag)),
    });
    let tag = match read {
        Ok((facts, tag)) => match shared.borrow_mut().register(&facts) {
            None => {
                let by = tag.as_ref().map(|tag| tag.algorithm).or(options.requested).unwrap_or_default();
                return HashJob { path, input, tag: NameTask::Verdict { by, facts, tag } };
            }
            Some(id) => NameTask::SameFile(id),
        },
        Err(error) => NameTask::Untagged(error),
    };
    HashJob { path, input: Input::Failed(Error::Refused("not read")), tag }
}

struct XattrReporter<'a> {
    options: &'a XattrOptions,
    out: &'a mut Out,
    shared: &'a RefCell<SharedFiles>,
    counts: json::TagCounts,
    /// Devices without attributes that were reported.
    without: HashSet<Option<u64>>,
}

impl ResultSink<NameTask> for &mut XattrReporter<'_> {
    type Break = StdoutClosed;

    fn answer(
        &mut self,
        path: PathBuf,
        task: NameTask,
        result: Result<Digest, Error>,
    ) -> ControlFlow<StdoutClosed> {
        let answer = match (task, result) {
            (NameTask::SameFile(id), _) => self.shared.borrow_mut().take_result(id),
            (NameTask::Untagged(error), Err(Error::Refused(_)) | Ok(_)) => Some(untagged(&error)),
            (NameTask::Untagged(_), Err(error)) => Some(unread(&error)),
            (NameTask::Verdict { by, facts, tag }, result) => {
                let answer = match result {
                    Ok(digest) => read(&path, by, &facts, tag.as_ref(), &digest, self.options),
                    Err(error) => unread(&error),
                };
                self.shared.borrow_mut().set_result(facts.id(), &answer);
                Some(answer)
            }
        };
        match answer {
            Some(answer) => self.report(&path, answer),
            None => ControlFlow::Continue(()),
        }
    }

    fn pause(&mut self) -> ControlFlow<StdoutClosed> {
        self.out.flush()
    }
}

/// The result for a file that was read. Stores the new digest if the verdict requires it.
fn read(
    path: &Path,
    by: Algorithm,
    facts: &FileState,
    tag: Option<&StoredDigest>,
    digest: &Digest,
    options: &XattrOptions,
) -> FileResult {
    let mut bytes = vec![0; by.digest_len()];
    digest.output.fill(0, &mut bytes);
    let verdict = digest_xattr::verdict(tag, facts, &bytes);
    let writes = match verdict {
        DigestVerdict::Same => false,
        DigestVerdict::Corrupt => options.retag,
        _ => true,
    };
    // The digest of a file that changed meanwhile is that of no version of it.
    let done = if writes && !options.dry_run {
        digest_xattr::write(path, facts, by, &bytes)
    } else {
        digest_xattr::ensure_unchanged(path, facts)
    };
    if let Err(error @ XattrError::ChangedMeanwhile) = done {
        return untagged(&error);
    }
    let stored = tag.map(|tag| tag.digest.clone());
    let untagged = done.err().map(|reason| complaint(&reason));
    FileResult::Read { verdict, by, digest: bytes.into(), stored, untagged }
}

/// The result for a file that could not be read.
fn unread(error: &Error) -> FileResult {
    match error {
        Error::Special | Error::Pseudo(_) => FileResult::Skipped(error.to_string()),
        _ => FileResult::Failed("unread", Complaint { text: error.to_string(), device: None }),
    }
}

/// The result for a file that has no stored digest and gets none.
fn untagged(reason: &XattrError) -> FileResult {
    let word = if matches!(reason, XattrError::ChangedMeanwhile) { "changed" } else { "untagged" };
    FileResult::Failed(word, complaint(reason))
}

fn complaint(reason: &XattrError) -> Complaint {
    let text = match reason {
        XattrError::Io(error) if error.kind() == ErrorKind::PermissionDenied => {
            format!("its stored digest cannot be read or written: {error}")
        }
        XattrError::Io(error) if error.kind() == ErrorKind::IsADirectory => {
            format!("{error}; see --recursive")
        }
        XattrError::Malformed(_) => format!("{reason}; see --retag"),
        _ => reason.to_string(),
    };
    let device = if let XattrError::Unsupported(device) = reason { Some(*device) } else { None };
    Complaint { text, device }
}

impl XattrReporter<'_> {
    /// Counts and prints a result.
    fn report(&mut self, path: &Path, answer: FileResult) -> ControlFlow<StdoutClosed> {
        let (verdict, by, digest, stored, untagged) = match answer {
            FileResult::Read { verdict, by, digest, stored, untagged } => {
                (verdict, by, digest, stored, untagged)
            }
            FileResult::Skipped(reason) => {
                self.out.note(&format!("{}: skipped: {reason}", display_path(path)));
                return ControlFlow::Continue(());
            }
            FileResult::Failed(word, complaint) => {
                *match word {
                    "changed" => &mut self.counts.changed,
                    "unread" => &mut self.counts.unread,
                    _ => &mut self.counts.untagged,
                } += 1;
                let error = Some(self.print_error(path, complaint));
                return if self.options.show.json {
                    let (name, algorithm) = (Name::from_path(path), None);
                    let line =
                        json::Tagged { status: word, name, algorithm, digest: None, stored: None, error };
                    self.out.print(|out| json::line(out, &line))
                } else {
                    ControlFlow::Continue(())
                };
            }
        };
        let counts = &mut self.counts;
        *match verdict {
            DigestVerdict::New => &mut counts.new,
            DigestVerdict::Touched => &mut counts.touched,
            DigestVerdict::Corrupt => &mut counts.corrupt,
            DigestVerdict::Same => &mut counts.ok,
            // A stored digest always has a time, and removed files have none.
            _ => &mut counts.outdated,
        } += 1;
        if let (DigestVerdict::Corrupt, Some(stored)) = (verdict, &stored) {
            let digests = Digests { algorithm: by, stored, found: &digest };
            self.out.fail(&format!("{}: {digests}", display_path(path)));
        }
        let error = untagged.map(|complaint| {
            self.counts.untagged += 1;
            self.print_error(path, complaint)
        });
        if !self.options.show.prints(verdict, verdict == DigestVerdict::Corrupt || error.is_some()) {
            return ControlFlow::Continue(());
        }
        let word = if verdict == DigestVerdict::Same { "ok" } else { verdict.word() };
        if self.options.show.json {
            let (name, algorithm) = (Name::from_path(path), Some(by.key()));
            let (digest, stored) = (Some(hex(&digest)), stored.map(|stored| hex(&stored)));
            let line = json::Tagged { status: word, name, algorithm, digest, stored, error };
            return self.out.print(|out| json::line(out, &line));
        }
        print_verdict(verdict, word, &quoted_path(path), self.out)
    }

    /// Prints why a file has no stored digest, once per device without attributes, and returns the reason.
    fn print_error(&mut self, path: &Path, Complaint { text, device }: Complaint) -> String {
        self.out.failed = true;
        let is_repeated = device.is_some_and(|device| !self.without.insert(device));
        if !is_repeated {
            self.out.fail(&format!("{}: {text}", display_path(path)));
        }
        text
    }

    fn finish(self) {
        if self.options.show.quiet {
            return;
        }
        let counts = self.counts;
        let _: ControlFlow<StdoutClosed> = if self.options.show.json {
            self.out.print(|out| json::line(out, &json::TagSummary { summary: counts }))
        } else {
            let json::TagCounts { ok, new, outdated, touched, corrupt, changed, unread, untagged } = counts;
            let mut line =
                format!("{ok} ok, {new} new, {outdated} outdated, {touched} touched, {corrupt} corrupt");
            for (count, words) in
                [(changed, "changed while read"), (unread, "unread"), (untagged, "not tagged")]
            {
                if count > 0 {
                    line += &format!(", {count} {words}");
                }
            }
            self.out.print(|out| writeln!(out, "{line}"))
        };
    }
}
