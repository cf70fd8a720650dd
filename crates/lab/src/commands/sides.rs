//! Programs of two builds that know nothing of the lab: every sample is a process from its start to its end, and every session
//! starts a link of its own, where there are such.

use super::line::{Places, Shell, brief};
use super::parameters::fill;
use super::process::{Guard, Input, Output, Ran, RunError, Start};
use crate::build::Linked;
use crate::count::{Callgrind, Count, Counter, Refusal, Run, count};
use crate::model::key::Key;
use crate::session::peer::{Launcher, Link, Peer, PeerError};
use crate::session::protocol::{Reply, Request};
use std::path::{Path, PathBuf};

/// What a side does in a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) name: String,
    /// With `{program}` for the program, and `{folder}` for where the recipe lies.
    pub(crate) text: String,
}

/// The builds, and the lines that start them.
pub(crate) struct Sides<'a> {
    pub(crate) programs: Vec<PathBuf>,
    pub(crate) linked: Option<Linked>,
    pub(crate) lines: Vec<Line>,
    pub(crate) folder: PathBuf,
    pub(crate) places: Places<'a>,
    pub(crate) guard: Guard<'a>,
}

impl Line {
    /// There is no registry of commands: a case is called after its line.
    pub(crate) fn key(&self) -> Key {
        format!("{}/command/process/1/t1", self.name).parse().expect("names of lines are names of workloads")
    }
}

impl Sides<'_> {
    /// What starts `program` in a case.
    fn start(&self, key: &Key, program: &str) -> Result<Start, String> {
        let line = self.lines.iter().find(|line| line.name == key.workload);
        let text = &line.ok_or_else(|| format!("no line is called {}", key.workload))?.text;
        let blanks = [("folder", quoted(&self.folder)?), ("program", program.to_owned())];
        let text = fill(text, &blanks.map(|(name, value)| (name.to_owned(), value)));
        let invocation = Shell::WhereNeeded.invoke(&text, &self.places).map_err(|error| error.to_string())?;
        Ok(Start { line: text, invocation, input: Input::Null, output: Output::Pipe })
    }

    /// Instructions of a process of build `build`.
    pub(crate) fn count(&self, key: &Key, build: usize, scratch: &Path) -> Result<Count, Refusal> {
        let native = Alone { sides: self, build };
        count(key, &native, &Counted { sides: self, program: &self.programs[build], scratch })
    }

    fn whole(&self, program: PathBuf, padding: usize) -> Box<dyn Peer + '_> {
        Box::new(Whole { sides: self, program, padding, start: None, reference: None })
    }
}

/// For a shell, and for what takes lines apart as shells do.
fn quoted(path: &Path) -> Result<String, String> {
    let text = path.to_str().ok_or_else(|| format!("{} is not UTF-8, as lines are", path.display()))?;
    Ok(format!("'{}'", text.replace('\'', "'\\''")))
}

impl Launcher for Sides<'_> {
    fn launch(&self, build: usize, padding: usize) -> Result<Box<dyn Peer + '_>, PeerError> {
        Ok(self.whole(self.programs[build].clone(), padding))
    }

    fn launch_link(&self, build: usize, link: Link, padding: usize) -> Result<Box<dyn Peer + '_>, PeerError> {
        match &self.linked {
            Some(linked) => Ok(self.whole(linked.link(build, link)?, padding)),
            None => self.launch(build, padding),
        }
    }
}

/// One build, for counting.
struct Alone<'a> {
    sides: &'a Sides<'a>,
    build: usize,
}

impl Launcher for Alone<'_> {
    fn launch(&self, _: usize, padding: usize) -> Result<Box<dyn Peer + '_>, PeerError> {
        self.sides.launch(self.build, padding)
    }
}

/// One side in one session. No process lives longer than one sample.
struct Whole<'a> {
    sides: &'a Sides<'a>,
    program: PathBuf,
    padding: usize,
    start: Option<Start>,
    /// What it printed at first.
    reference: Option<String>,
}

impl Peer for Whole<'_> {
    fn ask(&mut self, request: &Request) -> Result<Reply, PeerError> {
        let reply = match request {
            Request::Open { case, .. } => self.open(case),
            Request::Check { .. } => self.run().map(|ran| Reply::Checked {
                kernel: String::new(),
                digest: digest(&ran),
                amounts: Vec::new(),
            }),
            // A process is one iteration: what a sample holds is decided by whoever wrote the command.
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

impl Whole<'_> {
    /// What it prints now is what it must print ever after, on both sides.
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

    fn run(&self) -> Result<Ran, RunError> {
        let start = self.start.as_ref().ok_or_else(|| RunError::Failed("no case is open".to_owned()))?;
        let ran = once(start, self.padding, self.sides.guard)?;
        match &self.reference {
            Some(reference) if *reference != digest(&ran) => Err(RunError::Failed(format!(
                "`{}` prints something else from run to run; where that is no fault, end the line with > /dev/null",
                brief(&start.line)
            ))),
            _ => Ok(ran),
        }
    }
}

fn once(start: &Start, padding: usize, guard: Guard<'_>) -> Result<Ran, RunError> {
    let ran = start.run(padding, guard)?;
    match ran.code {
        0 => Ok(ran),
        _ => Err(RunError::Failed(format!("`{}` {}", brief(&start.line), ran.failure()))),
    }
}

/// Enough of a fingerprint to tell outputs apart.
fn digest(ran: &Ran) -> String {
    ran.printed.as_ref().map_or_else(String::new, |printed| printed.sha256[..16].to_owned())
}

/// Whole processes under callgrind.
struct Counted<'a> {
    sides: &'a Sides<'a>,
    program: &'a Path,
    scratch: &'a Path,
}

impl Counter for Counted<'_> {
    fn run(&self, key: &Key, iterations: u64) -> Result<Run, Refusal> {
        let words = Callgrind::words(&self.scratch.join("callgrind.%p"), self.program);
        let words: Result<Vec<String>, _> = words.iter().map(|word| quoted(Path::new(word))).collect();
        let start =
            words.and_then(|words| self.sides.start(key, &words.join(" "))).map_err(Refusal::Failed)?;
        let mut total = 0;
        for _ in 0..iterations {
            once(&start, 0, self.sides.guard).map_err(|error| Refusal::Failed(error.to_string()))?;
            total += Callgrind::collect(self.scratch)?;
        }
        Ok(Run { kernel: String::new(), total })
    }
}
