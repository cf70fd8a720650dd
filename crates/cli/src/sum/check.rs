//! `--check`: reads lists, hashes what they name, compares.

use crate::os;
use crate::out::json::{self, Name};
use crate::out::{Closed, Out, shown};
use hashmill_files::checkfile::{Entry, LineError, Lines, Note, Parsed, Style, parse};
use hashmill_files::{Digest, Error, Files, Input, Item, Sink};
use hashmill_hash::blake3::Hash;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// What to tolerate and what to show.
pub(super) struct How {
    pub(super) seek: u64,
    pub(super) tree: bool,
    pub(super) json: bool,
    pub(super) quiet: bool,
    pub(super) status: bool,
    pub(super) ignore_missing: bool,
    pub(super) warn: bool,
    pub(super) strict: bool,
}

pub(super) fn run(files: &Files, lists: &[PathBuf], how: &How, style: Style, out: &mut Out) {
    let mut mismatches = 0;
    let mut flow = ControlFlow::Continue(());
    for list in lists {
        if flow.is_break() {
            out.fail(&format!("{}: not checked", shown(list)));
            continue;
        }
        let mut check = Check {
            files,
            list,
            how,
            style,
            out,
            entries: 0,
            verified: 0,
            mismatches: 0,
            broken: false,
            reached: 0,
            notes: Vec::new(),
        };
        flow = check.run();
        check.conclude(flow);
        mismatches += check.mismatches;
    }
    if mismatches > 0 {
        out.failed = true;
        if !how.status {
            let plural = if mismatches == 1 { "" } else { "s" };
            out.note(&format!("WARNING: {mismatches} computed checksum{plural} did NOT match"));
        }
    }
}

/// The check of one list.
struct Check<'a> {
    files: &'a Files,
    list: &'a Path,
    how: &'a How,
    style: Style,
    out: &'a mut Out,
    /// Lines that say something, rightly or wrongly.
    entries: u64,
    verified: u64,
    mismatches: u64,
    /// The list could not be read, or not to its end.
    broken: bool,
    /// The last line that was dealt with.
    reached: u64,
    /// How often each oddity was accepted.
    notes: Vec<(Note, u64)>,
}

/// What is to be done about one line.
enum Task {
    Compare(Entry),
    /// A line that counts as a failure.
    Malformed(LineError),
    /// A line that only `--strict` counts as a failure.
    Odd(Note),
    /// The list itself cannot be read any further.
    Broken(io::Error),
}

struct Tag {
    line: u64,
    task: Task,
}

impl Check<'_> {
    fn run(&mut self) -> ControlFlow<Closed> {
        let from_stdin = self.list.as_os_str() == "-";
        let reader: io::Result<Box<dyn BufRead>> = if from_stdin {
            os::stdin().map(|stdin| Box::new(stdin.lock()) as _)
        } else {
            File::open(self.list).map(|file| Box::new(BufReader::new(file)) as _)
        };
        let reader = match reader {
            Ok(reader) => reader,
            Err(error) => return self.cannot_read(&error),
        };
        let items = items(reader, self.style, from_stdin);
        if self.how.tree {
            for item in items {
                self.compare_tree(item)?;
            }
            return ControlFlow::Continue(());
        }
        let files = self.files;
        files.hash_many(items, Comparer(self))
    }

    /// Trees come one after the other: each of them keeps all threads busy.
    fn compare_tree(&mut self, item: Item<Tag>) -> ControlFlow<Closed> {
        self.reached = item.tag.line;
        let Task::Compare(entry) = item.tag.task else {
            return self.take(item.tag, Err(Error::Refused("not hashed")));
        };
        if self.refused(item.tag.line, &entry.notes) {
            return ControlFlow::Continue(());
        }
        match self.files.hash_tree(&entry.path) {
            Ok(hash) => self.verdict(item.tag.line, &entry, &Ok(hash)),
            Err(failures) => {
                let (path, error) =
                    failures.into_iter().next().unwrap_or_else(|| unreachable!("a failure has a cause"));
                if path != entry.path && !self.how.status {
                    self.out.note(&format!("{}: {error}", shown(&path)));
                }
                self.verdict(item.tag.line, &entry, &Err(error))
            }
        }
    }

    /// Handles the answer for one line.
    fn take(&mut self, tag: Tag, result: Result<Digest, Error>) -> ControlFlow<Closed> {
        self.reached = self.reached.max(tag.line);
        match tag.task {
            Task::Compare(entry) => {
                if self.refused(tag.line, &entry.notes) {
                    return ControlFlow::Continue(());
                }
                let found = result.and_then(|digest| {
                    let bytes = digest.output.bytes_at(self.how.seek);
                    bytes.map(Hash::from_bytes).ok_or(Error::Refused("the output ends before --seek"))
                });
                self.verdict(tag.line, &entry, &found)
            }
            Task::Malformed(error) => self.malformed(tag.line, &error.to_string()),
            Task::Odd(note) => {
                if self.refused(tag.line, &[note]) {
                    self.entries += 1;
                }
                ControlFlow::Continue(())
            }
            Task::Broken(error) => self.cannot_read(&error),
        }
    }

    fn cannot_read(&mut self, error: &io::Error) -> ControlFlow<Closed> {
        self.broken = true;
        self.out.fail(&format!("{}: {error}", shown(self.list)));
        ControlFlow::Continue(())
    }

    /// Notes what is odd about a line; whether that makes it a failure.
    fn refused(&mut self, line: u64, notes: &[Note]) -> bool {
        for note in notes {
            if self.how.strict {
                // A refusal on paper only would be worse than none.
                let _ = self.malformed(line, &format!("{note} (--strict)"));
                return true;
            }
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

    fn malformed(&mut self, line: u64, reason: &str) -> ControlFlow<Closed> {
        self.entries += 1;
        self.mismatches += 1;
        if !self.how.status {
            self.out.note(&format!("{}:{line}: {reason}", shown(self.list)));
        }
        if self.how.json {
            return self.json(line, None, "malformed", Some(reason.to_owned()));
        }
        ControlFlow::Continue(())
    }

    /// The result for one entry.
    fn verdict(&mut self, line: u64, entry: &Entry, found: &Result<Hash, Error>) -> ControlFlow<Closed> {
        self.entries += 1;
        let missing = matches!(found, Err(Error::Io(error)) if error.kind() == ErrorKind::NotFound);
        if missing && self.how.ignore_missing {
            return ControlFlow::Continue(());
        }
        // Comparing `Hash` values takes the same time wherever they differ.
        let (status, error) = match found {
            Ok(hash) if *hash == Hash::from_bytes(entry.digest) => ("ok", None),
            Ok(_) => ("failed", None),
            Err(error) if missing => ("missing", Some(error.to_string())),
            Err(error) => ("unreadable", Some(error.to_string())),
        };
        if found.is_ok() {
            self.verified += 1;
        }
        let ok = status == "ok";
        self.mismatches += u64::from(!ok);
        if self.how.json {
            return self.json(line, Some(&entry.path), status, error);
        }
        if self.how.status || (ok && self.how.quiet) {
            return ControlFlow::Continue(());
        }
        let zero = self.style.zero;
        self.out.print(|out| {
            out.write_all(&entry.label)?;
            match (ok, &error) {
                (true, _) => out.write_all(b": OK")?,
                (false, None) => out.write_all(b": FAILED")?,
                (false, Some(error)) => write!(out, ": FAILED ({error})")?,
            }
            out.write_all(if zero { b"\0" } else { b"\n" })
        })
    }

    fn json(
        &mut self,
        line: u64,
        path: Option<&Path>,
        status: &str,
        error: Option<String>,
    ) -> ControlFlow<Closed> {
        if self.how.status || (self.how.quiet && status == "ok") {
            return ControlFlow::Continue(());
        }
        let list = self.list.to_string_lossy().into_owned();
        let object = json::Checked { list, line, name: path.map(Name::of), status, error };
        self.out.print(|out| json::line(out, &object))
    }

    /// What is to be said about the list as a whole.
    fn conclude(&mut self, flow: ControlFlow<Closed>) {
        let list = shown(self.list).into_owned();
        if flow.is_break() {
            self.out.fail(&format!("{list}: the check stopped after line {}", self.reached));
        } else if self.broken {
            // Whatever is missing may be in the part that could not be read.
        } else if self.entries == 0 {
            self.out.fail(&format!("{list}: no checksum lines found"));
        } else if self.how.ignore_missing && self.verified == 0 && self.mismatches == 0 {
            self.out.fail(&format!("{list}: no file was verified"));
        }
        if self.notes.is_empty() || self.how.status || self.how.warn {
            return;
        }
        let kinds: Vec<_> = self.notes.iter().map(|(kind, count)| format!("{kind}: {count}")).collect();
        self.out.note(&format!("{list}: WARNING: accepted {}; see --warn and --strict", kinds.join(", ")));
    }
}

/// The lines of a list as questions, read as they are needed.
fn items(reader: Box<dyn BufRead>, style: Style, from_stdin: bool) -> impl Iterator<Item = Item<Tag>> {
    let mut lines = Some(Lines::new(reader, style));
    std::iter::from_fn(move || {
        let (line, task) = match lines.as_mut()?.next_line() {
            Ok(None) => return None,
            Ok(Some(line)) => {
                let parsed =
                    line.bytes.ok_or(LineError::TooLong).and_then(|bytes| parse(bytes, line.number, style));
                let task = match parsed {
                    Ok(Parsed::Entry(entry)) => Task::Compare(entry),
                    Ok(Parsed::Nothing(note)) => Task::Odd(note),
                    Err(error) => Task::Malformed(error),
                };
                (line.number, task)
            }
            Err(error) => {
                lines = None;
                (0, Task::Broken(error))
            }
        };
        let (path, input) = match &task {
            Task::Compare(entry) if entry.path.as_os_str() != "-" => (entry.path.clone(), Input::File),
            Task::Compare(entry) if from_stdin => {
                let taken = Error::Refused("standard input is the list itself");
                (entry.path.clone(), Input::Failed(taken))
            }
            Task::Compare(entry) => (entry.path.clone(), Input::Stdin),
            _ => (PathBuf::new(), Input::Failed(Error::Refused("nothing to hash"))),
        };
        Some(Item { path, input, tag: Tag { line, task } })
    })
}

struct Comparer<'a, 'b>(&'a mut Check<'b>);

impl Sink<Tag> for Comparer<'_, '_> {
    type Break = Closed;

    fn answer(&mut self, _: PathBuf, tag: Tag, result: Result<Digest, Error>) -> ControlFlow<Closed> {
        self.0.take(tag, result)
    }

    fn pause(&mut self) -> ControlFlow<Closed> {
        self.0.out.flush()
    }
}
