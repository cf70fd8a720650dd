//! Exit codes of commands, and the output that they write to.

use std::io::Write;

/// Exit code of a command; the codes are part of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: success.
    Ok = 0,
    /// 1: a gate failed, or a check found an error in a report.
    Failed = 1,
    /// 2: invalid command line.
    Usage = 2,
    /// 3: nothing was proven: interrupted, or inconclusive with `--strict`.
    Inconclusive = 3,
    /// 4: the result must not be used: wrong digest, failed session, failed control.
    Invalid = 4,
}

impl Exit {
    /// The process's exit code.
    #[must_use]
    pub fn code(self) -> i32 {
        self as i32
    }
}

/// Output of a command.
pub(crate) struct Console<'a> {
    pub(crate) out: &'a mut dyn Write,
    pub(crate) colour: bool,
}
