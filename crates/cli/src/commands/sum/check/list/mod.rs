//! Check of one checksum list.

mod malformed;
mod summary;
mod tree_diff;

use super::counts::LineCounts;
use super::guess_algorithm::{AlgorithmGuess, other};
use super::lines::{Line, Task, lines};
use super::{CheckOptions, Hashers, messages};
use crate::os;
use crate::output::colour::TextStyle;
use crate::output::json::{self, Name};
use crate::output::progress::hash_many;
use crate::output::{Out, StdoutClosed, display_path};
use crate::personality::Personality;
use hashmill_files::checksum_list::{Algorithm, Entry, LineError, LineWarning, ListFormat, Mode};
use hashmill_files::{Digest, Error, HashJob, Input, ResultSink};
use hashmill_hash::blake3::Hash;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// A file whose first lines up to this number are all malformed is not a list.
const MAX_LEADING_MALFORMED: usize = 10;

/// Maximum number of malformed lines printed; further ones are counted.
const MAX_PRINTED_MALFORMED: u64 = 20;

/// Why the check of a list stops early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// Standard output accepts no more data.
    StdoutClosed,
    /// The file is not a checksum list.
    NotAList,
    /// The list cannot be read, and this personality stops then.
    ReadError,
}

impl From<StdoutClosed> for Stop {
    fn from(_: StdoutClosed) -> Stop {
        Stop::StdoutClosed
    }
}

pub(super) struct Check<'a> {
    hashers: &'a Hashers,
    list: &'a Path,
    /// All lists of this check.
    lists: &'a [PathBuf],
    from_stdin: bool,
    options: &'a CheckOptions,
    style: ListFormat,
    out: &'a mut Out,
    guess: AlgorithmGuess,
    counts: LineCounts,
    /// Entries skipped by `--ignore-missing`.
    ignored: u64,
    /// The list could not be read to its end.
    has_read_error: bool,
    /// The last processed line.
    last_line: u64,
    /// How often each unusual form was accepted.
    notes: Vec<(LineWarning, u64)>,
    /// Malformed lines before the first checksum.
    leading_malformed: Vec<(u64, LineError)>,
    /// A checksum was found.
    is_list: bool,
    /// The first missing file.
    first_missing: Option<PathBuf>,
    /// Entries that are directories.
    directories: u64,
    /// The first differing line, if it matches by the function that was not requested; `Some(None)` if it does not.
    matches_other: Option<Option<u64>>,
    /// The function used for standard input, which cannot be read twice.
    stdin_as: Option<Algorithm>,
    /// The list has a signature, which is not verified.
    signed: bool,
}

/// Result for one entry.
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
        options: &'a CheckOptions,
        style: ListFormat,
        out: &'a mut Out,
    ) -> Check<'a> {
        Check {
            hashers,
            list,
            lists,
            from_stdin: list.as_os_str() == "-",
            options,
            style,
            out,
            guess: AlgorithmGuess::from_list_name(list, options.requested),
            counts: LineCounts::default(),
            ignored: 0,
            has_read_error: false,
            last_line: 0,
            notes: Vec::new(),
            leading_malformed: Vec::new(),
            // Other personalities treat every operand as a list.
            is_list: options.personality != Personality::Hashmill,
            first_missing: None,
            directories: 0,
            matches_other: None,
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
            Err(error) => return self.read_error(&error),
        };
        let mut lines = lines(reader, self.style, self.options.personality);
        // One by one until there is evidence for the hash function. Trees keep all threads busy by themselves.
        while self.options.tree || self.guess.is_undecided() {
            let Some(line) = lines.next() else { return ControlFlow::Continue(()) };
            self.process(line, None)?;
            self.out.flush().map_break(Stop::from)?;
        }
        let (by, from_stdin) = (self.guess.expected(), self.from_stdin);
        let files = self.hashers.by(by);
        let guess = self.guess.clone();
        let items = lines.map(move |line| hash_item(line, by, &guess, from_stdin));
        hash_many(files, self.out.progress(), items, Comparer { check: self, by })
    }

    /// Processes a line, whose file may be hashed already.
    fn process(
        &mut self,
        line: Line,
        hashed: Option<(Algorithm, Result<Digest, Error>)>,
    ) -> ControlFlow<Stop> {
        self.last_line = self.last_line.max(line.number);
        match line.task {
            Task::Compare(entry) => {
                self.report_leading_malformed()?;
                self.is_list = true;
                if self.refuses(line.number, &entry.notes) {
                    return self.refused(line.number, &entry.notes);
                }
                // A list on standard input cannot check standard input.
                if matches!(self.options.personality, Personality::Gnu(_))
                    && self.from_stdin
                    && entry.path.as_os_str() == "-"
                {
                    return self.malformed(line.number, &LineError::NoName);
                }
                let progress = self.out.progress().filter(|_| hashed.is_none());
                if let Some(progress) = &progress {
                    progress.begin_file(&entry.path);
                }
                let compared = self.compare(line.number, &entry, hashed);
                if let Some(progress) = &progress {
                    progress.end_file();
                }
                let verdict = match compared {
                    Ok(verdict) => verdict,
                    Err(reason) => return self.unusable(line.number, reason),
                };
                self.report(line.number, &entry, verdict)
            }
            Task::Malformed(error) if self.is_list => self.malformed(line.number, &error),
            Task::Malformed(error) => {
                self.leading_malformed.push((line.number, error));
                if self.leading_malformed.len() < MAX_LEADING_MALFORMED {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(Stop::NotAList)
                }
            }
            Task::Odd(note) if self.refuses(line.number, &[note]) => self.refused(line.number, &[note]),
            Task::Odd(_) => ControlFlow::Continue(()),
            Task::ReadError(error) => self.read_error(&error),
        }
    }

    /// Reports the malformed lines before the first checksum.
    fn report_leading_malformed(&mut self) -> ControlFlow<Stop> {
        for (number, error) in std::mem::take(&mut self.leading_malformed) {
            self.malformed(number, &error)?;
        }
        ControlFlow::Continue(())
    }

    /// Counts the unusual forms of a line. Returns whether they make it a failure.
    fn refuses(&mut self, line: u64, notes: &[LineWarning]) -> bool {
        let strict = self.options.strict && self.options.personality == Personality::Hashmill;
        if strict || notes.iter().any(|note| !messages::accepts(self.options.personality, *note)) {
            let plain = |note| {
                note == LineWarning::Header
                    || note == LineWarning::Base64 && self.options.personality == Personality::Hashmill
            };
            return !notes.iter().all(|note| plain(*note));
        }
        for note in notes {
            match note {
                // Headers and base64 digests are not unusual.
                LineWarning::Header | LineWarning::Base64 => continue,
                LineWarning::Signature => {
                    self.signed = true;
                    continue;
                }
                _ => {}
            }
            if self.options.warn && !self.options.status && self.options.personality == Personality::Hashmill
            {
                self.out.note(&format!("{}:{line}: WARNING: {note}", display_path(self.list)));
            }
            match self.notes.iter_mut().find(|(kind, _)| kind == note) {
                Some((_, count)) => *count += 1,
                None => self.notes.push((*note, 1)),
            }
        }
        false
    }

    /// Compares a file with its entry, by each candidate function. An error is an entry that conflicts with the flags.
    fn compare(
        &mut self,
        line: u64,
        entry: &Entry,
        hashed: Option<(Algorithm, Result<Digest, Error>)>,
    ) -> Result<Verdict, String> {
        if self.options.tree || entry.is_tree() {
            return self.compare_tree(entry);
        }
        self.check_flags(entry)?;
        let first = self.guess.first_candidate(entry);
        let second = match entry.algorithm {
            Some(named) => {
                self.guess.record_named(named);
                None
            }
            None => self.guess.second_candidate(),
        };
        let found = match hashed {
            Some((by, result)) if by == first => result,
            _ => self.hash(first, entry),
        };
        let found = found.and_then(|digest| Ok((self.equals(&digest, entry)?, digest.len)));
        let (matches, len) = match found {
            Ok(found) => found,
            Err(error) => {
                self.guess.record_no_evidence();
                return Ok(self.failed(error));
            }
        };
        if matches {
            self.guess.record_match(first, entry.tagged);
            return Ok(Verdict::Matches(first));
        }
        if entry.path.as_os_str() == "-" {
            self.stdin_as = second.map(|_| first);
        } else if entry.algorithm.is_none() && self.options.seek == 0 {
            let alternative = second.or_else(|| self.matches_other.is_none().then(|| other(first)));
            let by = alternative.filter(|by| self.matches_by(*by, entry, len));
            match (second, by) {
                (Some(_), Some(by)) => {
                    self.guess.record_match(by, false);
                    return Ok(Verdict::Matches(by));
                }
                (None, _) if self.matches_other.is_none() => self.matches_other = Some(by.map(|_| line)),
                _ => {}
            }
        }
        self.guess.record_difference(first);
        Ok(Verdict::Differs)
    }

    /// Checks that an entry does not conflict with the flags.
    fn check_flags(&self, entry: &Entry) -> Result<(), String> {
        if let (Some(named), Some(requested)) = (entry.algorithm, self.guess.requested())
            && named != requested
        {
            let tagged = if entry.tagged { "tagged" } else { "a digest of" };
            let name = if entry.tagged { named.tag() } else { named.name() };
            return Err(format!("{tagged} {name}; see --algorithm"));
        }
        let requested = self.guess.requested().filter(|_| self.style.length.is_none());
        if let Some(requested) = requested
            .filter(|requested| entry.algorithm.is_none() && requested.digest_len() != entry.digest.len())
        {
            let digits = LineError::DigestLength {
                digits: 2 * entry.digest.len(),
                expected: Some(2 * requested.digest_len() as u64),
            };
            return Err(digits.to_string());
        }
        if let Some(mode) = entry.mode.filter(|mode| *mode != self.options.mode) {
            return Err(match mode {
                Mode::Keyed => "a digest under a key; see --keyed".to_owned(),
                Mode::DeriveKey => "a derived key; see --derive-key".to_owned(),
                _ => "a digest without a key".to_owned(),
            });
        }
        match entry.seek {
            Some(seek) if seek != self.options.seek => Err(format!("output from byte {seek} on; see --seek")),
            _ => Ok(()),
        }
    }

    /// Whether the file of an entry, of length `len`, matches by another function. A file that cannot be read again does not.
    fn matches_by(&self, algorithm: Algorithm, entry: &Entry, len: u64) -> bool {
        if let Some(progress) = self.out.progress() {
            progress.add_repeated(len);
        }
        self.hash(algorithm, entry).and_then(|digest| self.equals(&digest, entry)).unwrap_or(false)
    }

    fn hash(&self, algorithm: Algorithm, entry: &Entry) -> Result<Digest, Error> {
        let files = self.hashers.by(algorithm);
        match input(entry, self.from_stdin) {
            Input::Stdin => files.hash_stdin(),
            Input::Failed(error) => Err(error),
            _ => files.hash_file(&entry.path),
        }
    }

    /// Whether the digest equals that of the entry.
    fn equals(&self, digest: &Digest, entry: &Entry) -> Result<bool, Error> {
        // Most digests fit into the stack buffer.
        let (mut short, mut long) = ([0; 64], Vec::new());
        let found = match short.get_mut(..entry.digest.len()) {
            Some(found) => found,
            None => {
                long.resize(entry.digest.len(), 0);
                &mut long[..]
            }
        };
        if !digest.output.fill(self.options.seek, found) {
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
                self.print_tree_diff(entry);
                Verdict::Differs
            }
            Err(failures) => {
                let (path, error) =
                    failures.into_iter().next().unwrap_or_else(|| unreachable!("a failure has a cause"));
                if path != entry.path && !self.options.status {
                    self.out.note(&format!("{}: {error}", display_path(&path)));
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

    /// Counts and prints a result.
    fn report(&mut self, line: u64, entry: &Entry, verdict: Verdict) -> ControlFlow<Stop> {
        let (status, count, algorithm, error) = match verdict {
            Verdict::Missing(_) if self.options.ignore_missing => {
                self.ignored += 1;
                return ControlFlow::Continue(());
            }
            Verdict::Matches(by) => ("ok", &mut self.counts.matched, Some(by), None),
            Verdict::Differs => ("failed", &mut self.counts.differ, None, None),
            Verdict::Missing(error) => ("missing", &mut self.counts.missing, None, Some(error.to_string())),
            Verdict::Unreadable(error) => {
                ("unreadable", &mut self.counts.unreadable, None, Some(error.to_string()))
            }
        };
        *count += 1;
        if status == "missing" && self.first_missing.is_none() {
            self.first_missing = Some(entry.path.clone());
        }
        let personality = self.options.personality;
        if let (Personality::Gnu(_), Some(error)) = (personality, &error) {
            self.out.note(&format!("{}: {}", display_path(&entry.path), personality.error_text(error)));
        }
        if self.options.json {
            return self.json(line, Some(&entry.path), status, algorithm, error);
        }
        let ok = status == "ok";
        if self.options.status || (ok && self.options.quiet) {
            return ControlFlow::Continue(());
        }
        let zero = self.style.zero;
        let (begin, end) = self.out.style(if ok { TextStyle::Success } else { TextStyle::Failure });
        let name = self.out.escape_name(messages::file_name(personality, entry));
        let printed = self.out.print(|out| {
            out.write_all(&name)?;
            write!(out, ": {begin}")?;
            match (ok, &error) {
                (true, _) => out.write_all(b"OK")?,
                (false, None) => out.write_all(b"FAILED")?,
                (false, Some(error)) => {
                    out.write_all(messages::unreadable_file(personality, error).as_bytes())?;
                }
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
        if !self.options.json || self.options.status || (self.options.quiet && status == "ok") {
            return ControlFlow::Continue(());
        }
        let list = self.list.to_string_lossy().into_owned();
        let name = path.map(Name::from_path);
        let object =
            json::Checked { list, line, name, status, algorithm: algorithm.map(Algorithm::key), error };
        self.out.print(|out| json::line(out, &object)).map_break(Stop::from)
    }
}

/// Compares digests in constant time.
pub(in crate::commands::sum) fn same(found: &[u8], expected: &[u8]) -> bool {
    let piece = |bytes: &[u8]| {
        let mut piece = [0; 32];
        piece[..bytes.len()].copy_from_slice(bytes);
        Hash::from_bytes(piece)
    };
    let pieces = found.chunks(32).zip(expected.chunks(32));
    found.len() == expected.len() && pieces.fold(true, |all, (a, b)| all & (piece(a) == piece(b)))
}

/// The input for an entry.
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

/// The item to hash for a line, if the line is tried with this function first.
fn hash_item(line: Line, by: Algorithm, guess: &AlgorithmGuess, from_stdin: bool) -> HashJob<Line> {
    let nothing = Input::Failed(Error::Refused("nothing to hash"));
    let (path, input) = match &line.task {
        Task::Compare(entry) => {
            let is_by = guess.first_candidate(entry) == by && !entry.is_tree();
            (entry.path.clone(), if is_by { input(entry, from_stdin) } else { nothing })
        }
        _ => (PathBuf::new(), nothing),
    };
    HashJob { path, input, tag: line }
}

struct Comparer<'a, 'b> {
    check: &'a mut Check<'b>,
    /// The function that hashed the files.
    by: Algorithm,
}

impl ResultSink<Line> for Comparer<'_, '_> {
    type Break = Stop;

    fn answer(&mut self, _: PathBuf, line: Line, result: Result<Digest, Error>) -> ControlFlow<Stop> {
        self.check.process(line, Some((self.by, result)))
    }

    fn pause(&mut self) -> ControlFlow<Stop> {
        self.check.out.flush().map_break(Stop::from)
    }
}
