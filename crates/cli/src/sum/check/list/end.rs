//! What is to be said of a list at its end.

use super::super::tally::Tally;
use super::super::which::other;
use super::super::words;
use super::{Check, Stop};
use crate::out::shown;
use crate::program::Program;
use hashmill_files::checkfile::LineError;
use std::ops::ControlFlow;
use std::path::Path;

impl Check<'_> {
    /// Says what is to be said about the list as a whole, and gives the numbers.
    pub(in super::super) fn conclude(mut self, mut flow: ControlFlow<Stop>) -> Tally {
        if flow.is_continue() {
            flow = self.release();
        }
        let list = words::list(self.how.program, self.list).into_owned();
        match flow {
            ControlFlow::Break(Stop::Closed) => {
                let after = match self.reached {
                    0 => "before the first line".to_owned(),
                    line => format!("after line {line}"),
                };
                self.out.fail(&format!("{list}: the check stopped {after}"));
            }
            ControlFlow::Break(Stop::NoList) => self.out.fail(&format!("{list}: {}", no_list(&self.held))),
            ControlFlow::Break(Stop::Unread) => {}
            // Whatever is missing may be in the part that could not be read.
            ControlFlow::Continue(()) if self.broken => {}
            ControlFlow::Continue(()) if self.lines() == 0 => {
                if let Some(said) = words::no_lines(self.how.program) {
                    self.out.fail(&format!("{list}: {said}"));
                }
                if matches!(self.how.program, Program::Gnu(_)) {
                    // That says it all.
                    self.tally = Tally::default();
                }
            }
            ControlFlow::Continue(()) if matches!(self.how.program, Program::Gnu(_)) => self.as_gnu(&list),
            ControlFlow::Continue(()) if self.tally.hashed() == 0 && self.tally.failures() == 0 => {
                self.out.fail(&format!("{list}: no file was verified"));
            }
            ControlFlow::Continue(()) => {}
        }
        if !self.how.status && self.how.program == Program::Hashmill {
            self.hints(&list);
        }
        self.tally
    }

    /// What GNU's programs say of each list: its numbers, and whether anything came of it.
    fn as_gnu(&mut self, list: &str) {
        let none = self.how.ignore_missing && self.tally.matched == 0;
        if self.how.status {
            // It is a failure in silence, too.
            self.out.failed |= none;
            return;
        }
        words::warnings(self.how.program, &self.tally).iter().for_each(|warning| self.out.note(warning));
        if none {
            self.out.fail(&format!("{list}: no file was verified"));
        }
    }

    /// How many lines say something, as far as the program that was called counts them.
    fn lines(&self) -> u64 {
        let lines = self.tally.lines() + self.ignored;
        match self.how.program {
            Program::Gnu(_) => lines - self.tally.malformed,
            _ => lines,
        }
    }

    /// The directory of the list, if none of its files is here, and the first one is there.
    fn files_are_beside(&self) -> Option<&Path> {
        let first = self.first_missing.as_ref().filter(|_| self.tally.missing == self.tally.lines())?;
        let directory = self.list.parent().filter(|directory| !directory.as_os_str().is_empty())?;
        (first.is_relative() && directory.join(first).is_file()).then_some(directory)
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
        if self.which.may_be_blake2b() {
            self.out.note(&format!(
                "{list}: taken as SHA-512; digests of BLAKE2b (see b2sum) and of BLAKE3 with --length 64 have as many digits"
            ));
        }
        if self.signed && !self.how.quiet {
            self.out.note(&format!("{list}: the signature was not verified; see gpg --verify"));
        }
        if let Some(directory) = self.files_are_beside() {
            let directory = shown(directory);
            self.out.note(&format!("{list}: its files are not here but beside it: check it in {directory}"));
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
