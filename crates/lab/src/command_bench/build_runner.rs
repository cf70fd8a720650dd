//! Runs programs that do not contain the lab, from two builds: every sample is a process from start to end, and every
//! session uses a relinked program, if possible.

use super::command_line::{SearchPath, Shell};
use super::parameters::fill;
use super::process::{CommandSpec, Input, Output, RunError, RunLimits, RunResult};
use crate::builds::RelinkLauncher;
use crate::counters::callgrind::{Callgrind, Count, CountedRun, Counter, Refusal, count};
use crate::measure::session::handle::{Launcher, Link, SessionError, SessionHandle};
use crate::measure::session::protocol::{Reply, Request};
use crate::model::key::Key;
use crate::model::labels::brief;
use std::path::{Path, PathBuf};

/// Command line of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedCommand {
    pub(crate) name: String,
    /// Contains `{program}` for the program and `{folder}` for the folder of the recipe.
    pub(crate) text: String,
}

/// The builds and their command lines.
pub(crate) struct BuildRunner<'a> {
    pub(crate) programs: Vec<PathBuf>,
    pub(crate) linked: Option<RelinkLauncher>,
    pub(crate) lines: Vec<NamedCommand>,
    pub(crate) folder: PathBuf,
    pub(crate) places: SearchPath<'a>,
    pub(crate) limits: RunLimits<'a>,
}

impl NamedCommand {
    /// Commands have no registry: the key of a case is derived from its line.
    pub(crate) fn key(&self) -> Key {
        format!("{}/command/process/1/t1", self.name).parse().expect("names of lines are names of workloads")
    }
}

impl BuildRunner<'_> {
    /// Command that starts `program` for a case.
    fn start(&self, key: &Key, program: &str) -> Result<CommandSpec, String> {
        let line = self.lines.iter().find(|line| line.name == key.workload);
        let text = &line.ok_or_else(|| format!("no line is called {}", key.workload))?.text;
        let blanks = [("folder", quoted(&self.folder)?), ("program", program.to_owned())];
        let text = fill(text, &blanks.map(|(name, value)| (name.to_owned(), value)));
        let invocation = Shell::WhereNeeded.invoke(&text, &self.places).map_err(|error| error.to_string())?;
        Ok(CommandSpec { line: text, invocation, input: Input::Null, output: Output::Pipe })
    }

    /// Instructions of a process of build `build`.
    pub(crate) fn count(&self, key: &Key, build: usize, scratch: &Path) -> Result<Count, Refusal> {
        let native = SingleBuild { sides: self, build };
        count(key, &native, &CallgrindProcess { sides: self, program: &self.programs[build], scratch })
    }

    fn whole(&self, program: PathBuf, padding: usize) -> Box<dyn SessionHandle + '_> {
        Box::new(ProcessSession { sides: self, program, padding, start: None, reference: None })
    }
}

/// Quotes a path for shells and for parsers of command lines.
fn quoted(path: &Path) -> Result<String, String> {
    let text = path.to_str().ok_or_else(|| format!("{} is not UTF-8, as lines are", path.display()))?;
    Ok(format!("'{}'", text.replace('\'', "'\\''")))
}

impl Launcher for BuildRunner<'_> {
    fn launch(&self, build: usize, padding: usize) -> Result<Box<dyn SessionHandle + '_>, SessionError> {
        Ok(self.whole(self.programs[build].clone(), padding))
    }

    fn launch_link(
        &self,
        build: usize,
        link: Link,
        padding: usize,
    ) -> Result<Box<dyn SessionHandle + '_>, SessionError> {
        match &self.linked {
            Some(linked) => Ok(self.whole(linked.link(build, link)?, padding)),
            None => self.launch(build, padding),
        }
    }
}

/// A single build, for counting.
struct SingleBuild<'a> {
    sides: &'a BuildRunner<'a>,
    build: usize,
}

impl Launcher for SingleBuild<'_> {
    fn launch(&self, _: usize, padding: usize) -> Result<Box<dyn SessionHandle + '_>, SessionError> {
        self.sides.launch(self.build, padding)
    }
}

/// One side in one session. Each sample is a new process.
struct ProcessSession<'a> {
    sides: &'a BuildRunner<'a>,
    program: PathBuf,
    padding: usize,
    start: Option<CommandSpec>,
    /// Its first output.
    reference: Option<String>,
}

impl SessionHandle for ProcessSession<'_> {
    fn ask(&mut self, request: &Request) -> Result<Reply, SessionError> {
        let reply = match request {
            Request::Open { case, .. } => self.open(case),
            Request::Check { .. } => self.run().map(|ran| Reply::Checked {
                kernel: String::new(),
                digest: digest(&ran),
                amounts: Vec::new(),
            }),
            // A process is one iteration: the author of the command decides the length of a sample.
            Request::Calibrate { .. } => {
                self.run().map(|ran| Reply::Calibrated { iterations: 1, ns: ran.nanoseconds() })
            }
            Request::Sample { .. } | Request::Work { .. } => {
                self.run().map(|ran| Reply::Sampled(ran.sampled(digest(&ran))))
            }
            _ => Ok(Reply::Pinned { cpu: None }),
        };
        reply.or_else(RunError::reply)
    }
}

impl ProcessSession<'_> {
    /// Both sides must always print this first output.
    fn open(&mut self, case: &str) -> Result<Reply, RunError> {
        let key: Key = case.parse().map_err(|_| RunError::Failed(format!("{case} is no case")))?;
        let program = quoted(&self.program).map_err(RunError::Failed)?;
        self.start = Some(self.sides.start(&key, &program).map_err(RunError::Failed)?);
        let reference = digest(&self.run()?);
        self.reference = Some(reference.clone());
        Ok(Reply::Opened {
            unit: "operations".to_owned(),
            units: 1,
            working_set: 0,
            inputs: 1,
            setup_ns: 0,
            reference,
        })
    }

    fn run(&self) -> Result<RunResult, RunError> {
        let start = self.start.as_ref().ok_or_else(|| RunError::Failed("no case is open".to_owned()))?;
        let ran = once(start, self.padding, self.sides.limits)?;
        match &self.reference {
            Some(reference) if *reference != digest(&ran) => Err(RunError::Failed(format!(
                "`{}` prints different output in each run; if this is intended, end the line with > /dev/null",
                brief(&start.line)
            ))),
            _ => Ok(ran),
        }
    }
}

fn once(start: &CommandSpec, padding: usize, limits: RunLimits<'_>) -> Result<RunResult, RunError> {
    let ran = start.run(padding, limits)?;
    match ran.code {
        0 => Ok(ran),
        _ => Err(RunError::Failed(format!("`{}` {}", brief(&start.line), ran.failure()))),
    }
}

/// Part of a hash, enough to distinguish outputs.
fn digest(ran: &RunResult) -> String {
    ran.printed.as_ref().map_or_else(String::new, |printed| printed.sha256[..16].to_owned())
}

/// Complete processes under callgrind.
struct CallgrindProcess<'a> {
    sides: &'a BuildRunner<'a>,
    program: &'a Path,
    scratch: &'a Path,
}

impl Counter for CallgrindProcess<'_> {
    fn run(&self, key: &Key, iterations: u64) -> Result<CountedRun, Refusal> {
        let words = Callgrind::words(&self.scratch.join("callgrind.%p"), self.program);
        let words: Result<Vec<String>, _> = words.iter().map(|word| quoted(Path::new(word))).collect();
        let start =
            words.and_then(|words| self.sides.start(key, &words.join(" "))).map_err(Refusal::Failed)?;
        let mut total = 0;
        for _ in 0..iterations {
            once(&start, 0, self.sides.limits).map_err(|error| Refusal::Failed(error.to_string()))?;
            total += Callgrind::collect(self.scratch)?;
        }
        Ok(CountedRun { kernel: String::new(), total })
    }
}
