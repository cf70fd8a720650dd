//! The check of one list.

mod end;
mod explain;
mod refused;

use super::lines::{Line, Task, lines};
use super::tally::Tally;
use super::which::{Which, other};
use super::{Hashers, How, words};
use crate::os;
use crate::out::colour::Ink;
use crate::out::json::{self, Name};
use crate::out::progress::hash_many;
use crate::out::{Closed, Out, shown};
use crate::program::Program;
use hashmill_files::checkfile::{Algorithm, Entry, LineError, Mode, Note, Style};
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
    /// It cannot be read, and the program that was called goes no further.
    Unread,
}

impl From<Closed> for Stop {
    fn from(_: Closed) -> Stop {
        Stop::Closed
    }
}

pub(super) struct Check<'a> {
    hashers: &'a Hashers,
    list: &'a Path,
    /// All lists of this check.
    lists: &'a [PathBuf],
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
    /// The first file that does not exist.
    first_missing: Option<PathBuf>,
    /// Entries that turned out to be directories.
    directories: u64,
    /// A line that would match by the function that the user did not choose; `Some(None)` if the first was no such line.
    elsewise: Option<Option<u64>>,
    /// What standard input was taken for, which could not be read a second time.
    stdin_as: Option<Algorithm>,
    /// Whether there is a signature in the list that nobody has verified.
    signed: bool,
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
        lists: &'a [PathBuf],
        how: &'a How,
        style: Style,
        out: &'a mut Out,
    ) -> Check<'a> {
        Check {
            hashers,
            list,
            lists,
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
            // Other programs take for a list what they are given as one.
            is_list: how.program != Program::Hashmill,
            first_missing: None,
            directories: 0,
            elsewise: None,
            stdin_as: None,
            signed: false,
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
            Err(error) => return self.cannot_read(&error),
        };
        let mut lines = lines(reader, self.style, self.how.program);
        // One by one until something tells which function it is. Trees keep all threads busy by themselves.
        while self.how.tree || self.which.is_open() {
            let Some(line) = lines.next() else { return ControlFlow::Continue(()) };
            self.take(line, None)?;
            self.out.flush().map_break(Stop::from)?;
        }
        let (by, from_stdin) = (self.which.expected(), self.from_stdin);
        let files = self.hashers.of(by);
        let which = self.which.clone();
        let questions = lines.map(move |line| question(line, by, &which, from_stdin));
        hash_many(files, self.out.job(), questions, Comparer { check: self, by })
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
                // A list that comes from there cannot be about what comes from there.
                if matches!(self.how.program, Program::Gnu(_))
                    && self.from_stdin
                    && entry.path.as_os_str() == "-"
                {
                    return self.malformed(line.number, &LineError::NoName);
                }
                let job = self.out.job().filter(|_| hashed.is_none());
                if let Some(job) = &job {
                    job.begin(&entry.path);
                }
                let compared = self.compare(line.number, &entry, hashed);
                if let Some(job) = &job {
                    job.end_file();
                }
                let verdict = match compared {
                    Ok(verdict) => verdict,
                    Err(reason) => return self.unusable(line.number, reason),
                };
                self.verdict(line.number, &entry, verdict)
            }
            Task::Malformed(error) if self.is_list => self.malformed(line.number, &error),
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
            Task::Broken(error) => self.cannot_read(&error),
        }
    }

    /// Names the lines that were held back.
    fn release(&mut self) -> ControlFlow<Stop> {
        for (number, error) in std::mem::take(&mut self.held) {
            self.malformed(number, &error)?;
        }
        ControlFlow::Continue(())
    }

    /// Notes what is odd about a line; whether that makes it a failure.
    fn odd(&mut self, line: u64, notes: &[Note]) -> bool {
        let strict = self.how.strict && self.how.program == Program::Hashmill;
        if strict || notes.iter().any(|note| !words::accepts(self.how.program, *note)) {
            let plain =
                |note| note == Note::Header || note == Note::Base64 && self.how.program == Program::Hashmill;
            return !notes.iter().all(|note| plain(*note));
        }
        for note in notes {
            match note {
                // What the list says of itself is nothing odd, nor how others write digests.
                Note::Header | Note::Base64 => continue,
                Note::Signature => {
                    self.signed = true;
                    continue;
                }
                _ => {}
            }
            if self.how.warn && !self.how.status && self.how.program == Program::Hashmill {
                self.out.note(&format!("{}:{line}: WARNING: {note}", shown(self.list)));
            }
            match self.notes.iter_mut().find(|(kind, _)| kind == note) {
                Some((_, count)) => *count += 1,
                None => self.notes.push((*note, 1)),
            }
        }
        false
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
        self.fits(entry)?;
        let first = self.which.first(entry);
        let then = match entry.algorithm {
            Some(told) => {
                self.which.is_told(told);
                None
            }
            None => self.which.otherwise(),
        };
        let found = match hashed {
            Some((by, result)) if by == first => result,
            _ => self.hash(first, entry),
        };
        let found = found.and_then(|digest| Ok((self.is_digest(&digest, entry)?, digest.len)));
        let (matches, len) = match found {
            Ok(found) => found,
            Err(error) => {
                self.which.says_nothing();
                return Ok(self.failed(error));
            }
        };
        if matches {
            self.which.matches(first, entry.tagged);
            return Ok(Verdict::Matches(first));
        }
        if entry.path.as_os_str() == "-" {
            self.stdin_as = then.map(|_| first);
        } else if entry.algorithm.is_none() && self.how.seek == 0 {
            let alternative = then.or_else(|| self.elsewise.is_none().then(|| other(first)));
            let by = alternative.filter(|by| self.is_by(*by, entry, len));
            match (then, by) {
                (Some(_), Some(by)) => {
                    self.which.matches(by, false);
                    return Ok(Verdict::Matches(by));
                }
                (None, _) if self.elsewise.is_none() => self.elsewise = Some(by.map(|_| line)),
                _ => {}
            }
        }
        self.which.differs(first);
        Ok(Verdict::Differs)
    }

    /// Whether a line can be meant as the flags are.
    fn fits(&self, entry: &Entry) -> Result<(), String> {
        if let (Some(told), Some(said)) = (entry.algorithm, self.which.said())
            && told != said
        {
            let tagged = if entry.tagged { "tagged" } else { "a digest of" };
            let name = if entry.tagged { told.tag() } else { told.name() };
            return Err(format!("{tagged} {name}; see --algorithm"));
        }
        let said = self.which.said().filter(|_| self.style.length.is_none());
        if let Some(said) =
            said.filter(|said| entry.algorithm.is_none() && said.digest_len() != entry.digest.len())
        {
            let digits = LineError::DigestLength {
                digits: 2 * entry.digest.len(),
                expected: Some(2 * said.digest_len() as u64),
            };
            return Err(digits.to_string());
        }
        if let Some(mode) = entry.mode.filter(|mode| *mode != self.how.mode) {
            return Err(match mode {
                Mode::Keyed => "a digest under a key; see --keyed".to_owned(),
                Mode::DeriveKey => "a derived key; see --derive-key".to_owned(),
                _ => "a digest without a key".to_owned(),
            });
        }
        match entry.seek {
            Some(seek) if seek != self.how.seek => Err(format!("output from byte {seek} on; see --seek")),
            _ => Ok(()),
        }
    }

    /// Whether the digest of an entry, whose file has this length, is by this function, too. A file that cannot be read again
    /// is as it was the first time.
    fn is_by(&self, algorithm: Algorithm, entry: &Entry, len: u64) -> bool {
        if let Some(job) = self.out.job() {
            job.again(len);
        }
        self.hash(algorithm, entry).and_then(|digest| self.is_digest(&digest, entry)).unwrap_or(false)
    }

    fn hash(&self, algorithm: Algorithm, entry: &Entry) -> Result<Digest, Error> {
        let files = self.hashers.of(algorithm);
        match input(entry, self.from_stdin) {
            Input::Stdin => files.hash_stdin(),
            Input::Failed(error) => Err(error),
            _ => files.hash_file(&entry.path),
        }
    }

    /// Whether the part of the output that lists have is what the entry says.
    fn is_digest(&self, digest: &Digest, entry: &Entry) -> Result<bool, Error> {
        // Most fit here.
        let (mut short, mut long) = ([0; 64], Vec::new());
        let found = match short.get_mut(..entry.digest.len()) {
            Some(found) => found,
            None => {
                long.resize(entry.digest.len(), 0);
                &mut long[..]
            }
        };
        if !digest.output.fill(self.how.seek, found) {
            return Err(Error::Refused("the output ends before --seek"));
        }
        Ok(same(found, &entry.digest))
    }

    fn compare_tree(&mut self, entry: &Entry) -> Result<Verdict, String> {
        if entry.algorithm.is_some_and(|tag| tag != Algorithm::Blake3) {
            return Err("the digest of a directory is BLAKE3".to_owned());
        }
        Ok(match self.hashers.tree.hash_tree(&entry.path) {
            Ok(hash) if same(hash.as_bytes(), &entry.digest) => Verdict::Matches(Algorithm::Blake3),
            Ok(_) => {
                self.explain(entry);
                Verdict::Differs
            }
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
        if status == "missing" && self.first_missing.is_none() {
            self.first_missing = Some(entry.path.clone());
        }
        let program = self.how.program;
        if let (Program::Gnu(_), Some(error)) = (program, &error) {
            self.out.note(&format!("{}: {}", shown(&entry.path), program.words(error)));
        }
        if self.how.json {
            return self.json(line, Some(&entry.path), status, algorithm, error);
        }
        let ok = status == "ok";
        if self.how.status || (ok && self.how.quiet) {
            return ControlFlow::Continue(());
        }
        let zero = self.style.zero;
        let (begin, end) = self.out.ink(if ok { Ink::Good } else { Ink::Bad });
        let name = self.out.named(words::label(program, entry));
        let printed = self.out.print(|out| {
            out.write_all(&name)?;
            write!(out, ": {begin}")?;
            match (ok, &error) {
                (true, _) => out.write_all(b"OK")?,
                (false, None) => out.write_all(b"FAILED")?,
                (false, Some(error)) => out.write_all(words::unread(program, error).as_bytes())?,
            }
            out.write_all(end.as_bytes())?;
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
            json::Checked { list, line, name, status, algorithm: algorithm.map(Algorithm::key), error };
        self.out.print(|out| json::line(out, &object)).map_break(Stop::from)
    }
}

/// Compares in a time that does not tell where digests differ.
pub(in crate::sum) fn same(found: &[u8], expected: &[u8]) -> bool {
    let piece = |bytes: &[u8]| {
        let mut piece = [0; 32];
        piece[..bytes.len()].copy_from_slice(bytes);
        Hash::from_bytes(piece)
    };
    let pieces = found.chunks(32).zip(expected.chunks(32));
    found.len() == expected.len() && pieces.fold(true, |all, (a, b)| all & (piece(a) == piece(b)))
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

/// A line as something to be hashed by one function, if that is what it is tried with first.
fn question(line: Line, by: Algorithm, which: &Which, from_stdin: bool) -> Item<Line> {
    let nothing = Input::Failed(Error::Refused("nothing to hash"));
    let (path, input) = match &line.task {
        Task::Compare(entry) => {
            let is_by = which.first(entry) == by && !entry.is_tree();
            (entry.path.clone(), if is_by { input(entry, from_stdin) } else { nothing })
        }
        _ => (PathBuf::new(), nothing),
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
