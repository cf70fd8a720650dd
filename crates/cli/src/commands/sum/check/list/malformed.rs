//! Reports of unreadable lists and malformed lines.

use super::super::messages;
use super::{Check, MAX_PRINTED_MALFORMED, Stop};
use crate::output::display_path;
use crate::personality::Personality;
use hashmill_files::checksum_list::{LineError, LineWarning};
use std::io;
use std::ops::ControlFlow;

impl Check<'_> {
    pub(super) fn read_error(&mut self, error: &io::Error) -> ControlFlow<Stop> {
        self.has_read_error = true;
        if self.options.personality == Personality::B3sum {
            self.out.fail_as_b3sum(&error.to_string());
            return ControlFlow::Break(Stop::ReadError);
        }
        self.out.fail(&format!(
            "{}: {}",
            messages::list_name(self.options.personality, self.list),
            messages::list_error(self.options.personality, error)
        ));
        ControlFlow::Continue(())
    }

    pub(super) fn refused(&mut self, line: u64, notes: &[LineWarning]) -> ControlFlow<Stop> {
        if self.options.personality == Personality::B3sum {
            self.counts.malformed += 1;
            self.out.note(messages::refused_line(notes));
            return ControlFlow::Continue(());
        }
        if let Personality::Gnu(_) = self.options.personality {
            return self.malformed(line, &LineError::NoName);
        }
        self.counts.refused += 1;
        let notes: Vec<_> = notes.iter().map(LineWarning::to_string).collect();
        self.print_malformed(line, format!("{} (--strict)", notes.join(", ")))
    }

    pub(super) fn malformed(&mut self, line: u64, error: &LineError) -> ControlFlow<Stop> {
        self.counts.malformed += 1;
        if self.options.personality == Personality::Hashmill {
            return self.print_malformed(line, error.to_string());
        }
        let list = messages::list_name(self.options.personality, self.list);
        let message =
            messages::malformed_line(self.options.personality, &list, line, error, self.options.warn);
        if let Some(message) = message.filter(|_| !self.options.status) {
            self.out.note(&message);
        }
        ControlFlow::Continue(())
    }

    /// Reports a line that conflicts with the flags.
    pub(super) fn unusable(&mut self, line: u64, reason: String) -> ControlFlow<Stop> {
        match self.options.personality {
            Personality::Hashmill => {
                self.counts.malformed += 1;
                self.print_malformed(line, reason)
            }
            Personality::B3sum => {
                self.counts.malformed += 1;
                ControlFlow::Continue(())
            }
            Personality::Gnu(_) => self.malformed(line, &LineError::NoName),
        }
    }

    fn print_malformed(&mut self, line: u64, reason: String) -> ControlFlow<Stop> {
        let list = display_path(self.list);
        match self.counts.malformed + self.counts.refused {
            _ if self.options.status => {}
            ..=MAX_PRINTED_MALFORMED => self.out.note(&format!("{list}:{line}: {reason}")),
            count if count == MAX_PRINTED_MALFORMED + 1 => {
                self.out.note(&format!("{list}: further malformed lines are only counted"));
            }
            _ => {}
        }
        self.json(line, None, "malformed", None, Some(reason))
    }
}
