//! Messages at the end of a checksum list.

use super::super::counts::LineCounts;
use super::super::guess_algorithm::other;
use super::super::messages;
use super::{Check, Stop};
use crate::output::display_path;
use crate::personality::Personality;
use hashmill_files::checksum_list::LineError;
use std::ops::ControlFlow;
use std::path::Path;

impl Check<'_> {
    /// Prints the messages about the whole list and returns the counts.
    pub(in super::super) fn conclude(mut self, mut flow: ControlFlow<Stop>) -> LineCounts {
        if flow.is_continue() {
            flow = self.report_leading_malformed();
        }
        let list = messages::list_name(self.options.personality, self.list).into_owned();
        match flow {
            ControlFlow::Break(Stop::StdoutClosed) => {
                let after = match self.last_line {
                    0 => "before the first line".to_owned(),
                    line => format!("after line {line}"),
                };
                self.out.fail(&format!("{list}: the check stopped {after}"));
            }
            ControlFlow::Break(Stop::NotAList) => {
                self.out.fail(&format!("{list}: {}", not_a_list(&self.leading_malformed)));
            }
            ControlFlow::Break(Stop::ReadError) => {}
            // What seems to be missing may be in the part that could not be read.
            ControlFlow::Continue(()) if self.has_read_error => {}
            ControlFlow::Continue(()) if self.lines() == 0 => {
                if let Some(message) = messages::empty_list(self.options.personality) {
                    self.out.fail(&format!("{list}: {message}"));
                }
                if matches!(self.options.personality, Personality::Gnu(_)) {
                    // GNU's programs print no counts then.
                    self.counts = LineCounts::default();
                }
            }
            ControlFlow::Continue(()) if matches!(self.options.personality, Personality::Gnu(_)) => {
                self.print_gnu_summary(&list);
            }
            ControlFlow::Continue(()) if self.counts.hashed() == 0 && self.counts.failures() == 0 => {
                self.out.fail(&format!("{list}: no file was verified"));
            }
            ControlFlow::Continue(()) => {}
        }
        if !self.options.status && self.options.personality == Personality::Hashmill {
            self.print_hints(&list);
        }
        self.counts
    }

    /// The summary of GNU's programs after each list.
    fn print_gnu_summary(&mut self, list: &str) {
        let none = self.options.ignore_missing && self.counts.matched == 0;
        if self.options.status {
            // With --status it is a silent failure.
            self.out.failed |= none;
            return;
        }
        messages::warnings(self.options.personality, &self.counts)
            .iter()
            .for_each(|warning| self.out.note(warning));
        if none {
            self.out.fail(&format!("{list}: no file was verified"));
        }
    }

    /// Number of lines that the personality counts.
    fn lines(&self) -> u64 {
        let lines = self.counts.lines() + self.ignored;
        match self.options.personality {
            Personality::Gnu(_) => lines - self.counts.malformed,
            _ => lines,
        }
    }

    /// The directory of the list, if all its files are missing here and the first exists there.
    fn files_are_beside(&self) -> Option<&Path> {
        let first = self.first_missing.as_ref().filter(|_| self.counts.missing == self.counts.lines())?;
        let directory = self.list.parent().filter(|directory| !directory.as_os_str().is_empty())?;
        (first.is_relative() && directory.join(first).is_file()).then_some(directory)
    }

    fn print_hints(&mut self, list: &str) {
        if let Some(Some(line)) = self.matches_other {
            let by = self.guess.requested().map_or("", |requested| other(requested).name());
            self.out.note(&format!("{list}:{line}: matches as {by}; see --algorithm"));
        }
        if let Some(by) = self.stdin_as {
            self.out.note(&format!("{list}: standard input was taken as {}; see --algorithm", by.name()));
        }
        if let Some(note) = self.guess.note().filter(|_| !self.options.quiet) {
            self.out.note(&format!("{list}: {note}"));
        }
        if self.guess.may_be_blake2b() {
            self.out.note(&format!(
                "{list}: taken as SHA-512; digests of BLAKE2b (see b2sum) and of BLAKE3 with --length 64 have as many digits"
            ));
        }
        if self.signed && !self.options.quiet {
            self.out.note(&format!("{list}: the signature was not verified; see gpg --verify"));
        }
        if let Some(directory) = self.files_are_beside() {
            let directory = display_path(directory);
            self.out.note(&format!(
                "{list}: its files are in the directory of the list: check it in {directory}"
            ));
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
        if !self.notes.is_empty() && !self.options.warn {
            let kinds: Vec<_> = self.notes.iter().map(|(kind, count)| format!("{kind}: {count}")).collect();
            self.out
                .note(&format!("{list}: WARNING: accepted {}; see --warn and --strict", kinds.join(", ")));
        }
    }
}

/// The message for a file that is not a checksum list.
fn not_a_list(malformed: &[(u64, LineError)]) -> String {
    let mut foreign = malformed.iter().map(|(_, error)| error.foreign());
    if let Some(first) = foreign.next().flatten()
        && foreign.all(|next| next == Some(first))
    {
        return format!("a list of {} digests, which are not supported; see {}", first.name, first.program);
    }
    let reason =
        malformed.first().map_or_else(String::new, |(line, error)| format!("; line {line}: {error}"));
    format!("not a checksum list: none of its first {} lines is a checksum{reason}", malformed.len())
}
