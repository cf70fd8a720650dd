//! Lists that cannot be read, and lines that say nothing.

use super::super::words;
use super::{Check, NAMED, Stop};
use crate::out::shown;
use crate::program::Program;
use hashmill_files::checkfile::{LineError, Note};
use std::io;
use std::ops::ControlFlow;

impl Check<'_> {
    pub(super) fn cannot_read(&mut self, error: &io::Error) -> ControlFlow<Stop> {
        self.broken = true;
        if self.how.program == Program::B3sum {
            self.out.end(&error.to_string());
            return ControlFlow::Break(Stop::Unread);
        }
        self.out.fail(&format!(
            "{}: {}",
            words::list(self.how.program, self.list),
            words::unread_list(self.how.program, error)
        ));
        ControlFlow::Continue(())
    }

    pub(super) fn refused(&mut self, line: u64, notes: &[Note]) -> ControlFlow<Stop> {
        if self.how.program == Program::B3sum {
            self.tally.malformed += 1;
            self.out.note(words::refused(notes));
            return ControlFlow::Continue(());
        }
        if let Program::Gnu(_) = self.how.program {
            return self.malformed(line, &LineError::NoName);
        }
        self.tally.refused += 1;
        let notes: Vec<_> = notes.iter().map(Note::to_string).collect();
        self.no_checksum(line, format!("{} (--strict)", notes.join(", ")))
    }

    pub(super) fn malformed(&mut self, line: u64, error: &LineError) -> ControlFlow<Stop> {
        self.tally.malformed += 1;
        if self.how.program == Program::Hashmill {
            return self.no_checksum(line, error.to_string());
        }
        let list = words::list(self.how.program, self.list);
        let said = words::no_checksum(self.how.program, &list, line, error, self.how.warn);
        if let Some(said) = said.filter(|_| !self.how.status) {
            self.out.note(&said);
        }
        ControlFlow::Continue(())
    }

    /// A line whose digest cannot be meant as the flags are.
    pub(super) fn unusable(&mut self, line: u64, reason: String) -> ControlFlow<Stop> {
        match self.how.program {
            Program::Hashmill => {
                self.tally.malformed += 1;
                self.no_checksum(line, reason)
            }
            Program::B3sum => {
                self.tally.malformed += 1;
                ControlFlow::Continue(())
            }
            Program::Gnu(_) => self.malformed(line, &LineError::NoName),
        }
    }

    fn no_checksum(&mut self, line: u64, reason: String) -> ControlFlow<Stop> {
        let list = shown(self.list);
        match self.tally.malformed + self.tally.refused {
            _ if self.how.status => {}
            ..=NAMED => self.out.note(&format!("{list}:{line}: {reason}")),
            count if count == NAMED + 1 => {
                self.out.note(&format!("{list}: further lines that are no checksums are only counted"));
            }
            _ => {}
        }
        self.json(line, None, "malformed", None, Some(reason))
    }
}
