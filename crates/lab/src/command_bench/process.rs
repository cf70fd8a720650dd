//! Runs a command once and collects its results.

use super::command_line::Invocation;
use crate::fingerprint::hex;
use crate::measure::session::handle::SessionError;
use crate::measure::session::protocol::{Reply, Sampled};
use crate::model::labels::brief;
use hashmill_machine::{ChildEnd, ChildRun, ChildUsage, Watch, ended_by_signal, open_output, run_child};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Standard input of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Input {
    #[default]
    Null,
    File(PathBuf),
}

/// Destination of a command's output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Output {
    /// Read through a pipe, for a digest.
    #[default]
    Pipe,
    Null,
    /// The same as the lab's own output.
    Inherit,
    File(PathBuf),
}

/// How a command is started, except for what differs between runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandSpec {
    /// Command line with expanded parameters.
    pub(crate) line: String,
    pub(crate) invocation: Invocation,
    pub(crate) input: Input,
    pub(crate) output: Output,
}

/// A run that ended by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunResult {
    pub(crate) time: Duration,
    pub(crate) usage: Option<ChildUsage>,
    /// Exit code as in shells: the code, or 128 plus the signal number.
    pub(crate) code: i32,
    pub(crate) signal: Option<i32>,
    pub(crate) printed: Option<Printed>,
    pub(crate) left_behind: bool,
    /// End of its standard error output.
    pub(crate) last_words: String,
}

/// Standard output of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Printed {
    pub(crate) sha256: String,
    pub(crate) bytes: u64,
}

/// Reason why a run has no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum RunError {
    #[error("`{line}` cannot be started: {reason}")]
    Start { line: String, reason: String },
    #[error("`{0}` needs a file: {1}")]
    File(String, String),
    #[error("`{line}` did not end within {limit} s and was killed{words}; {flag} allows more")]
    TooLong { line: String, limit: f64, words: String, flag: &'static str },
    #[error(
        "`{0}` was stopped, probably because it reads from a terminal, which a measured command does not have; give it an --input"
    )]
    Terminal(String),
    /// A helper command failed.
    #[error("{0}")]
    Failed(String),
    #[error("interrupted before anything was measured")]
    Stopped,
}

/// Limits of runs.
#[derive(Clone, Copy)]
pub(crate) struct RunLimits<'a> {
    pub(crate) limit: Duration,
    /// Flag that raises the limit.
    pub(crate) flag: &'static str,
    pub(crate) stop: &'a (dyn Fn() -> bool + Sync),
}

impl CommandSpec {
    /// Runs it once. `padding` bytes are added to its environment, which change the address of its stack and thus the
    /// alignment of data.
    pub(crate) fn run(&self, padding: usize, limits: RunLimits<'_>) -> Result<RunResult, RunError> {
        let mut command = self.command(padding, limits.stop)?;
        let mut digest = Sha256::new();
        let mut bytes = 0;
        let mut sink = |more: &[u8]| {
            digest.update(more);
            bytes += more.len() as u64;
        };
        let watched = self.output == Output::Pipe;
        let watch = Watch {
            limit: Some(limits.limit),
            stop: limits.stop,
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
                let (limit, words) = (limits.limit.as_secs_f64(), error_output(&last_words));
                return Err(RunError::TooLong { line: line(), limit, words, flag: limits.flag });
            }
            ChildEnd::WantsTerminal => return Err(RunError::Terminal(line())),
            _ => return Err(RunError::Stopped),
        };
        let signal = ended_by_signal(status);
        let code = status.code().or(signal.map(|signal| 128 + signal)).unwrap_or(-1);
        let printed = watched.then(|| Printed { sha256: hex(&digest.finalize()), bytes });
        let ChildRun { time, usage, left_behind, .. } = run;
        Ok(RunResult { time, usage, code, signal, printed, left_behind, last_words })
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
            // The caller creates the pipe.
            Output::Pipe | Output::Null => command.stdout(Stdio::null()),
            Output::Inherit => command.stdout(Stdio::inherit()).stderr(Stdio::inherit()),
            Output::File(path) => command.stdout(file(path, open_output(path, stop))?),
        };
        Ok(command)
    }
}

impl RunError {
    /// Reply of a session.
    pub(crate) fn reply(self) -> Result<Reply, SessionError> {
        match self {
            RunError::Stopped => {
                Err(SessionError::Died { status: self.to_string(), last_words: String::new() })
            }
            error => Ok(Reply::Failed { reason: error.to_string() }),
        }
    }
}

impl RunResult {
    pub(crate) fn nanoseconds(&self) -> u64 {
        u64::try_from(self.time.as_nanos()).unwrap_or(u64::MAX).max(1)
    }

    /// Sample of a session.
    pub(crate) fn sampled(&self, digest: String) -> Sampled {
        Sampled {
            ns: self.nanoseconds(),
            digest,
            cpu_ns: self.usage.map(|usage| (usage.user + usage.system).as_nanos() as u64),
            faults: self.usage.map(|usage| usage.minor_faults + usage.major_faults),
            switches: self.usage.map(|usage| usage.involuntary_switches),
        }
    }

    /// Failure as the end of a sentence.
    pub(crate) fn failure(&self) -> String {
        let end = match self.signal {
            Some(signal) => format!("was ended by signal {signal}"),
            None => format!("returned {}", self.code),
        };
        end + &error_output(&self.last_words)
    }
}

/// Error output of a failed command as the end of a sentence.
fn error_output(words: &str) -> String {
    let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(3)..].join("; ");
    if last.is_empty() { String::new() } else { format!("; it said: {last}") }
}
