//! The check of one list.

use super::lines::{Line, Task, lines};
use super::tally::Tally;
use super::which::{Which, other};
use super::{Hashers, How};
use crate::os;
use crate::out::json::{self, Name};
use crate::out::{Closed, Out, shown};
use hashmill_files::checkfile::{Algorithm, Entry, LineError, Note, Style};
use hashmill_files::{Digest, Error, Input, Item, Sink};
use hashmill_hash::blake3::Hash;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// A file whose first so many lines are no checksums is no list.
const NO_LIST: usize = 10;

/// So many lines that are no checksums are named; further ones are counted.
const NAMED: u64 = 20;

/// Why a list is not checked to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// Nobody reads the results.
    Closed,
    /// It is no list.
    NoList,
}

impl From<Closed> for Stop {
    fn from(_: Closed) -> Stop {
        Stop::Closed
    }
}

pub(super) struct Check<'a> {
    hashers: &'a Hashers,
    list: &'a Path,
    from_stdin: bool,
    how: &'a How,
    style: Style,
    out: &'a mut Out,
    which: Which,
    tally: Tally,
    /// Entries that were passed over for `--ignore-missing`.
    ignored: u64,
    /// The list could not be read, or not to its end.
    broken: bool,
    /// The last line that was dealt with.
    reached: u64,
    /// How often each oddity was accepted.
    notes: Vec<(Note, u64)>,
    /// Lines that are no checksums, held back until there is one that is.
    held: Vec<(u64, LineError)>,
    /// Whether there was one.
    is_list: bool,
    /// Entries that turned out to be directories.
    directories: u64,
    /// A line that would match by the function that the user did not choose; `Some(None)` if the first was no such line.
    elsewise: Option<Option<u64>>,
    /// What standard input was taken for, which could not be read a second time.
    stdin_as: Option<Algorithm>,
}

/// What came out of one entry.
enum Verdict {
    Matches(Algorithm),
    Differs,
    Missing(Error),
    Unreadable(Error),
}

impl<'a> Check<'a> {
    pub(super) fn new(
        hashers: &'a Hashers,
        list: &'a Path,
        how: &'a How,
        style: Style,
        out: &'a mut Out,
    ) -> Check<'a> {
        Check {
            hashers,
            list,
            from_stdin: list.as_os_str() == "-",
            how,
            style,
            out,
            which: Which::of(list, how.said),
            tally: Tally::default(),
            ignored: 0,
            broken: false,
            reached: 0,
            notes: Vec::new(),
            held: Vec::new(),
            is_list: false,
            directories: 0,
            elsewise: None,
            stdin_as: None,
        }
    }

    pub(super) fn run(&mut self) -> ControlFlow<Stop> {
        let reader: io::Result<Box<dyn BufRead>> = if self.from_stdin {
            os::stdin().map(|stdin| Box::new(stdin.lock()) as _)
        } else {
            File::open(self.list).map(|file| Box::new(BufReader::new(file)) as _)
        };
        let reader = match reader {
            Ok(reader) => reader,
            Err(error) => {
                self.cannot_read(&error);
                return ControlFlow::Continue(());
            }
        };
        let mut lines = lines(reader, self.style);
        // One by one until something tells which function it is. Trees keep all threads busy by themselves.
        while self.how.tree || self.which.is_open() {
            let Some(line) = lines.next() else { return ControlFlow::Continue(()) };
            self.take(line, None)?;
            self.out.flush().map_break(Stop::from)?;
        }
        let (by, from_stdin) = (self.which.expected(), self.from_stdin);
        let files = self.hashers.of(by);
        files.hash_many(lines.map(|line| question(line, by, from_stdin)), Comparer { check: self, by })
    }

    /// Deals with a line, whose file may have been hashed already.
    fn take(&mut self, line: Line, hashed: Option<(Algorithm, Result<Digest, Error>)>) -> ControlFlow<Stop> {
        self.reached = self.reached.max(line.number);
        match line.task {
            Task::Compare(entry) => {
                self.release()?;
                self.is_list = true;
                if self.odd(line.number, &entry.notes) {
                    return self.refused(line.number, &entry.notes);
                }
                let verdict = match self.compare(line.number, &entry, hashed) {
                    Ok(verdict) => verdict,
                    Err(reason) => return self.malformed(line.number, &reason),
                };
                self.verdict(line.number, &entry, verdict)
            }
            Task::Malformed(error) if self.is_list => self.malformed(line.number, &error.to_string()),
            Task::Malformed(error) => {
                self.held.push((line.number, error));
                if self.held.len() < NO_LIST {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(Stop::NoList)
                }
            }
            Task::Odd(note) if self.odd(line.number, &[note]) => self.refused(line.number, &[note]),
            Task::Odd(_) => ControlFlow::Continue(()),
            Task::Broken(error) => {
                self.cannot_read(&error);
                ControlFlow::Continue(())
            }
        }
    }

    fn cannot_read(&mut self, error: &io::Error) {
        self.broken = true;
        self.out.fail(&format!("{}: {error}", shown(self.list)));
    }

    /// Names the lines that were held back.
    fn release(&mut self) -> ControlFlow<Stop> {
        for (number, error) in std::mem::take(&mut self.held) {
            self.malformed(number, &error.to_string())?;
        }
        ControlFlow::Continue(())
    }

    /// Notes what is odd about a line; whether that makes it a failure.
    fn odd(&mut self, line: u64, notes: &[Note]) -> bool {
        if self.how.strict {
            return !notes.is_empty();
        }
        for note in notes {
            if self.how.warn && !self.how.status {
                self.out.note(&format!("{}:{line}: WARNING: {note}", shown(self.list)));
            }
            match self.notes.iter_mut().find(|(kind, _)| kind == note) {
                Some((_, count)) => *count += 1,
                None => self.notes.push((*note, 1)),
            }
        }
        false
    }

    fn refused(&mut self, line: u64, notes: &[Note]) -> ControlFlow<Stop> {
        self.tally.refused += 1;
        let notes: Vec<_> = notes.iter().map(Note::to_string).collect();
        self.no_checksum(line, &format!("{} (--strict)", notes.join(", ")))
    }

    fn malformed(&mut self, line: u64, reason: &str) -> ControlFlow<Stop> {
        self.tally.malformed += 1;
        self.no_checksum(line, reason)
    }

    fn no_checksum(&mut self, line: u64, reason: &str) -> ControlFlow<Stop> {
        let list = shown(self.list);
        match self.tally.malformed + self.tally.refused {
            _ if self.how.status => {}
            ..=NAMED => self.out.note(&format!("{list}:{line}: {reason}")),
            count if count == NAMED + 1 => {
                self.out.note(&format!("{list}: further lines that are no checksums are only counted"));
            }
            _ => {}
        }
        self.json(line, None, "malformed", None, Some(reason.to_owned()))
    }

    /// Hashes what has not been hashed, by every function that the digest may be of. An error is a line that cannot be meant.
    fn compare(
        &mut self,
        line: u64,
        entry: &Entry,
        hashed: Option<(Algorithm, Result<Digest, Error>)>,
    ) -> Result<Verdict, String> {
        if self.how.tree || entry.is_tree() {
            return self.compare_tree(entry);
        }
        let (first, then) = match (entry.algorithm, self.which.said()) {
            (Some(tag), Some(said)) if tag != said => {
                return Err(format!("tagged {}; see --algorithm", tag.tag()));
            }
            (Some(tag), _) => {
                self.which.is_tagged(tag);
                (tag, None)
            }
            (None, _) => (self.which.expected(), self.which.otherwise()),
        };
        let found = match hashed {
            Some((by, result)) if by == first => result,
            _ => self.hash(first, entry),
        };
        let digest = match found.and_then(|digest| self.output(&digest)) {
            Ok(digest) => digest,
            Err(error) => {
                self.which.says_nothing();
                return Ok(self.failed(error));
            }
        };
        // Comparing `Hash` values takes the same time wherever they differ.
        let expected = Hash::from_bytes(entry.digest);
        if digest == expected {
            if entry.algorithm.is_none() {
                self.which.matches(first);
            }
            return Ok(Verdict::Matches(first));
        }
        if entry.path.as_os_str() == "-" {
            self.stdin_as = then.map(|_| first);
        } else if entry.algorithm.is_none() && self.how.seek == 0 {
            let alternative = then.or_else(|| self.elsewise.is_none().then(|| other(first)));
            let by = alternative.filter(|by| self.is_by(*by, entry, expected));
            match (then, by) {
                (Some(_), Some(by)) => {
                    self.which.matches(by);
                    return Ok(Verdict::Matches(by));
                }
                (None, _) if self.elsewise.is_none() => self.elsewise = Some(by.map(|_| line)),
                _ => {}
            }
        }
        self.which.says_nothing();
        Ok(Verdict::Differs)
    }

    /// Whether the digest of an entry is by this function. A file that cannot be read again is as it was the first time.
    fn is_by(&self, algorithm: Algorithm, entry: &Entry, expected: Hash) -> bool {
        self.hash(algorithm, entry)
            .and_then(|digest| self.output(&digest))
            .is_ok_and(|digest| digest == expected)
    }

    fn hash(&self, algorithm: Algorithm, entry: &Entry) -> Result<Digest, Error> {
        let files = self.hashers.of(algorithm);
        match input(entry, self.from_stdin) {
            Input::Stdin => files.hash_stdin(),
            Input::Failed(error) => Err(error),
            _ => files.hash_file(&entry.path),
        }
    }

    /// The part of the output that lists have.
    fn output(&self, digest: &Digest) -> Result<Hash, Error> {
        let bytes = digest.output.bytes_at(self.how.seek);
        bytes.map(Hash::from_bytes).ok_or(Error::Refused("the output ends before --seek"))
    }

    fn compare_tree(&mut self, entry: &Entry) -> Result<Verdict, String> {
        if entry.algorithm.is_some_and(|tag| tag != Algorithm::Blake3) {
            return Err("the digest of a directory is BLAKE3".to_owned());
        }
        Ok(match self.hashers.of(Algorithm::Blake3).hash_tree(&entry.path) {
            Ok(hash) if hash == Hash::from_bytes(entry.digest) => Verdict::Matches(Algorithm::Blake3),
            Ok(_) => Verdict::Differs,
            Err(failures) => {
                let (path, error) =
                    failures.into_iter().next().unwrap_or_else(|| unreachable!("a failure has a cause"));
                if path != entry.path && !self.how.status {
                    self.out.note(&format!("{}: {error}", shown(&path)));
                }
                self.failed(error)
            }
        })
    }

    fn failed(&mut self, error: Error) -> Verdict {
        match &error {
            Error::Io(cause) if cause.kind() == ErrorKind::NotFound => return Verdict::Missing(error),
            Error::Io(cause) if cause.kind() == ErrorKind::IsADirectory => self.directories += 1,
            _ => {}
        }
        Verdict::Unreadable(error)
    }

    /// Counts and shows what came out.
    fn verdict(&mut self, line: u64, entry: &Entry, verdict: Verdict) -> ControlFlow<Stop> {
        let (status, count, algorithm, error) = match verdict {
            Verdict::Missing(_) if self.how.ignore_missing => {
                self.ignored += 1;
                return ControlFlow::Continue(());
            }
            Verdict::Matches(by) => ("ok", &mut self.tally.matched, Some(by), None),
            Verdict::Differs => ("failed", &mut self.tally.differ, None, None),
            Verdict::Missing(error) => ("missing", &mut self.tally.missing, None, Some(error.to_string())),
            Verdict::Unreadable(error) => {
                ("unreadable", &mut self.tally.unreadable, None, Some(error.to_string()))
            }
        };
        *count += 1;
        if self.how.json {
            return self.json(line, Some(&entry.path), status, algorithm, error);
        }
        let ok = status == "ok";
        if self.how.status || (ok && self.how.quiet) {
            return ControlFlow::Continue(());
        }
        let zero = self.style.zero;
        let printed = self.out.print(|out| {
            out.write_all(&entry.label)?;
            match (ok, &error) {
                (true, _) => out.write_all(b": OK")?,
                (false, None) => out.write_all(b": FAILED")?,
                (false, Some(error)) => write!(out, ": FAILED ({error})")?,
            }
            out.write_all(if zero { b"\0" } else { b"\n" })
        });
        printed.map_break(Stop::from)
    }

    fn json(
        &mut self,
        line: u64,
        path: Option<&Path>,
        status: &str,
        algorithm: Option<Algorithm>,
        error: Option<String>,
    ) -> ControlFlow<Stop> {
        if !self.how.json || self.how.status || (self.how.quiet && status == "ok") {
            return ControlFlow::Continue(());
        }
        let list = self.list.to_string_lossy().into_owned();
        let name = path.map(Name::of);
        let object =
            json::Checked { list, line, name, status, algorithm: algorithm.map(json::algorithm), error };
        self.out.print(|out| json::line(out, &object)).map_break(Stop::from)
    }

    /// Says what is to be said about the list as a whole, and gives the numbers.
    pub(super) fn conclude(mut self, mut flow: ControlFlow<Stop>) -> Tally {
        if flow.is_continue() {
            flow = self.release();
        }
        let list = shown(self.list).into_owned();
        match flow {
            ControlFlow::Break(Stop::Closed) => {
                self.out.fail(&format!("{list}: the check stopped after line {}", self.reached));
            }
            ControlFlow::Break(Stop::NoList) => self.out.fail(&format!("{list}: {}", no_list(&self.held))),
            // Whatever is missing may be in the part that could not be read.
            ControlFlow::Continue(()) if self.broken => {}
            ControlFlow::Continue(()) if self.tally.lines() + self.ignored == 0 => {
                self.out.fail(&format!("{list}: no checksum lines found"));
            }
            ControlFlow::Continue(()) if self.tally.hashed() == 0 && self.tally.failures() == 0 => {
                self.out.fail(&format!("{list}: no file was verified"));
            }
            ControlFlow::Continue(()) => {}
        }
        if !self.how.status {
            self.hints(&list);
        }
        self.tally
    }

    fn hints(&mut self, list: &str) {
        if let Some(Some(line)) = self.elsewise {
            let by = self.which.said().map_or("", |said| other(said).name());
            self.out.note(&format!("{list}:{line}: matches as {by}; see --algorithm"));
        }
        if let Some(by) = self.stdin_as {
            self.out.note(&format!("{list}: standard input was taken as {}; see --algorithm", by.name()));
        }
        if let Some(found) = self.which.found().filter(|_| !self.how.quiet) {
            self.out.note(&format!("{list}: {found}"));
        }
        match self.directories {
            0 => {}
            1 => self
                .out
                .note(&format!("{list}: 1 entry is a directory; for a list made with --tree, see --tree")),
            count => {
                self.out.note(&format!(
                    "{list}: {count} entries are directories; for a list made with --tree, see --tree"
                ));
            }
        }
        if !self.notes.is_empty() && !self.how.warn {
            let kinds: Vec<_> = self.notes.iter().map(|(kind, count)| format!("{kind}: {count}")).collect();
            self.out
                .note(&format!("{list}: WARNING: accepted {}; see --warn and --strict", kinds.join(", ")));
        }
    }
}

/// What such lines have in common.
fn no_list(held: &[(u64, LineError)]) -> String {
    let mut foreign = held.iter().map(|(_, error)| error.foreign());
    if let Some(first) = foreign.next().flatten()
        && foreign.all(|next| next == Some(first))
    {
        return format!("a list of {} digests, which are not known here; see {}", first.name, first.program);
    }
    let reason = held.first().map_or_else(String::new, |(line, error)| format!("; line {line}: {error}"));
    format!("no list of checksums: not one of its first {} lines is one{reason}", held.len())
}

/// Where the bytes of an entry come from.
fn input(entry: &Entry, from_stdin: bool) -> Input {
    if entry.path.as_os_str() != "-" {
        return Input::File;
    }
    match os::stdin() {
        Ok(_) if from_stdin => Input::Failed(Error::Refused("standard input is the list itself")),
        Ok(_) => Input::Stdin,
        Err(error) => Input::Failed(error.into()),
    }
}

/// A line as something to be hashed by one function, if it can be.
fn question(line: Line, by: Algorithm, from_stdin: bool) -> Item<Line> {
    let (path, input) = match &line.task {
        Task::Compare(entry) if entry.algorithm.is_none_or(|tag| tag == by) && !entry.is_tree() => {
            (entry.path.clone(), input(entry, from_stdin))
        }
        _ => (PathBuf::new(), Input::Failed(Error::Refused("nothing to hash"))),
    };
    Item { path, input, tag: line }
}

struct Comparer<'a, 'b> {
    check: &'a mut Check<'b>,
    /// What has hashed.
    by: Algorithm,
}

impl Sink<Line> for Comparer<'_, '_> {
    type Break = Stop;

    fn answer(&mut self, _: PathBuf, line: Line, result: Result<Digest, Error>) -> ControlFlow<Stop> {
        self.check.take(line, Some((self.by, result)))
    }

    fn pause(&mut self) -> ControlFlow<Stop> {
        self.check.out.flush().map_break(Stop::from)
    }
}
