//! One command once: what is started with what, and what is known afterwards.

use super::line::{Invocation, brief};
use crate::fingerprint::hex;
use crate::session::peer::PeerError;
use crate::session::protocol::{Reply, Sampled};
use hashmill_machine::{ChildEnd, ChildRun, ChildUsage, Watch, ended_by_signal, open_output, run_child};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// What a command reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Input {
    #[default]
    Null,
    File(PathBuf),
}

/// Where what a command prints goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Output {
    /// Through a pipe into a digest.
    #[default]
    Pipe,
    Null,
    /// Where the lab's own output goes.
    Inherit,
    File(PathBuf),
}

/// How a command is started, but for what differs from run to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    /// As it was typed, with its blanks filled.
    pub(crate) line: String,
    pub(crate) invocation: Invocation,
    pub(crate) input: Input,
    pub(crate) output: Output,
}

/// One run that ended by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) time: Duration,
    pub(crate) usage: Option<ChildUsage>,
    /// As a shell counts: what it returned, or 128 and the number of a signal.
    pub(crate) code: i32,
    pub(crate) signal: Option<i32>,
    pub(crate) printed: Option<Printed>,
    pub(crate) left_behind: bool,
    /// The end of what it wrote to standard error.
    pub(crate) last_words: String,
}

/// What was printed to standard output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Printed {
    pub(crate) sha256: String,
    pub(crate) bytes: u64,
}

/// Why a run gave no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum RunError {
    #[error("`{line}` cannot be started: {reason}")]
    Start { line: String, reason: String },
    #[error("`{0}` needs a file: {1}")]
    File(String, String),
    #[error("`{line}` did not end within {limit} s and was ended{words}; {flag} allows more")]
    TooLong { line: String, limit: f64, words: String, flag: &'static str },
    #[error(
        "`{0}` was stopped, as one that wants to speak with a terminal, which a measured command cannot have; give it an --input"
    )]
    Terminal(String),
    /// It does not do what it is for.
    #[error("{0}")]
    Failed(String),
    #[error("interrupted before anything was measured")]
    Stopped,
}

/// How runs are watched.
#[derive(Clone, Copy)]
pub(crate) struct Guard<'a> {
    pub(crate) limit: Duration,
    /// The flag that allows more.
    pub(crate) flag: &'static str,
    pub(crate) stop: &'a (dyn Fn() -> bool + Sync),
}

impl Start {
    /// Runs it once. `padding` bytes are added to its environment, which moves its stack, and with it the luck of
    /// alignment.
    pub(crate) fn run(&self, padding: usize, guard: Guard<'_>) -> Result<Ran, RunError> {
        let mut command = self.command(padding, guard.stop)?;
        let mut digest = Sha256::new();
        let mut bytes = 0;
        let mut sink = |more: &[u8]| {
            digest.update(more);
            bytes += more.len() as u64;
        };
        let watched = self.output == Output::Pipe;
        let watch = Watch {
            limit: Some(guard.limit),
            stop: guard.stop,
            output: if watched { Some(&mut sink) } else { None },
            words: self.output != Output::Inherit,
        };
        let line = || brief(&self.line);
        let run = run_child(&mut command, watch)
            .map_err(|error| RunError::Start { line: line(), reason: error.to_string() })?;
        let last_words = String::from_utf8_lossy(&run.last_words).trim().to_owned();
        let status = match run.end {
            ChildEnd::Ended(status) => status,
            ChildEnd::TooLong => {
                let (limit, words) = (guard.limit.as_secs_f64(), said(&last_words));
                return Err(RunError::TooLong { line: line(), limit, words, flag: guard.flag });
            }
            ChildEnd::WantsTerminal => return Err(RunError::Terminal(line())),
            _ => return Err(RunError::Stopped),
        };
        let signal = ended_by_signal(status);
        let code = status.code().or(signal.map(|signal| 128 + signal)).unwrap_or(-1);
        let printed = watched.then(|| Printed { sha256: hex(&digest.finalize()), bytes });
        let ChildRun { time, usage, left_behind, .. } = run;
        Ok(Ran { time, usage, code, signal, printed, left_behind, last_words })
    }

    fn command(&self, padding: usize, stop: &dyn Fn() -> bool) -> Result<Command, RunError> {
        let mut command = Command::new(&self.invocation.program);
        command.args(&self.invocation.arguments).env("HASHMILL_LAB_PADDING", "x".repeat(padding));
        let file = |path: &Path, file: std::io::Result<File>| {
            file.map_err(|error| RunError::File(brief(&self.line), format!("{}: {error}", path.display())))
        };
        match &self.input {
            Input::Null => command.stdin(Stdio::null()),
            Input::File(path) => command.stdin(file(path, File::open(path))?),
        };
        match &self.output {
            // The pipe is made by whoever runs it.
            Output::Pipe | Output::Null => command.stdout(Stdio::null()),
            Output::Inherit => command.stdout(Stdio::inherit()).stderr(Stdio::inherit()),
            Output::File(path) => command.stdout(file(path, open_output(path, stop))?),
        };
        Ok(command)
    }
}

impl RunError {
    /// What a session says of it.
    pub(crate) fn reply(self) -> Result<Reply, PeerError> {
        match self {
            RunError::Stopped => Err(PeerError::Died { status: self.to_string(), last_words: String::new() }),
            error => Ok(Reply::Failed { reason: error.to_string() }),
        }
    }
}

impl Ran {
    pub(crate) fn nanoseconds(&self) -> u64 {
        u64::try_from(self.time.as_nanos()).unwrap_or(u64::MAX).max(1)
    }

    /// As a sample of a session.
    pub(crate) fn sampled(&self, digest: String) -> Sampled {
        Sampled {
            ns: self.nanoseconds(),
            digest,
            cpu_ns: self.usage.map(|usage| (usage.user + usage.system).as_nanos() as u64),
            faults: self.usage.map(|usage| usage.minor_faults + usage.major_faults),
            switches: self.usage.map(|usage| usage.involuntary_switches),
        }
    }

    /// How it failed, as the rest of a sentence about it.
    pub(crate) fn failure(&self) -> String {
        let end = match self.signal {
            Some(signal) => format!("was ended by signal {signal}"),
            None => format!("returned {}", self.code),
        };
        end + &said(&self.last_words)
    }
}

/// What a failed command said, as the end of a sentence.
fn said(words: &str) -> String {
    let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(3)..].join("; ");
    if last.is_empty() { String::new() } else { format!("; it said: {last}") }
}
