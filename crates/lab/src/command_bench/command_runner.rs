//! Runs commands as sessions of a campaign: each sample is a new process.
//!
//! The campaign decides which command is next and when the comparison ends, as for all measurements of the lab. This
//! module only runs the commands and what belongs before and after them.

use super::parameters::Choice;
use super::process::{CommandSpec, Printed, RunError, RunLimits, RunResult};
use crate::measure::campaign::{CaseGroup, Role, Side};
use crate::measure::session::handle::{Launcher, Link, SessionError, SessionHandle};
use crate::measure::session::protocol::{Reply, Request, Sampled};
use crate::model::labels::brief;
use crate::stats::order_rng::OrderRng;
use std::cell::RefCell;
use std::time::Instant;

/// A command with its setup and cleanup.
#[derive(Clone, Debug)]
pub(crate) struct BenchCommand {
    /// Label in tables.
    pub(crate) label: String,
    /// Name in exports, or the command line as typed.
    pub(crate) name: String,
    pub(crate) choice: Choice,
    pub(crate) start: CommandSpec,
    /// Runs once before the measurement.
    pub(crate) setup: Option<CommandSpec>,
    /// Runs before each run.
    pub(crate) prepare: Option<CommandSpec>,
    /// Runs after each run.
    pub(crate) conclude: Option<CommandSpec>,
    /// Runs once after the measurement.
    pub(crate) cleanup: Option<CommandSpec>,
}

/// Exit codes that are not failures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum AcceptedExit {
    /// Only zero.
    #[default]
    Zero,
    /// Also these.
    Codes(Vec<i32>),
    Any,
}

/// All commands and their results.
pub(crate) struct CommandRunner<'a> {
    pub(crate) subjects: Vec<BenchCommand>,
    pub(crate) accepted: AcceptedExit,
    /// Whether all runs of all commands must print the same.
    pub(crate) same_output: bool,
    pub(crate) limits: RunLimits<'a>,
    pub(crate) log: RefCell<RunLog>,
}

/// State between runs.
pub(crate) struct RunLog {
    order_rng: OrderRng,
    /// First output of each command.
    first: Vec<Option<Printed>>,
    /// Runs of each command, then those of the control.
    pub(crate) runs: Vec<Vec<RunResult>>,
}

impl RunLog {
    pub(crate) fn new(subjects: usize, seed: u64) -> Self {
        RunLog {
            order_rng: OrderRng::new(!seed),
            first: vec![None; subjects],
            runs: vec![Vec::new(); subjects + 1],
        }
    }
}

/// Maximum of random bytes added to the environment, which change the address of the stack and thus the alignment of
/// data.
const MOST_PADDING: usize = 4096;

impl CommandRunner<'_> {
    /// Group of all commands, compared with the first; with a control, also the first with itself.
    pub(crate) fn group(&self, control: bool) -> CaseGroup {
        let side = |number: usize, label: &str, role| Side {
            label: label.to_owned(),
            role,
            build: number,
            // Commands have no registry; the builds say what ran.
            key: format!("command/c{}/process/1/t1", number + 1).parse().expect("a key like any other"),
        };
        let role = |number| if number == 0 { Role::Baseline } else { Role::Candidate };
        let all = self.subjects.iter().enumerate();
        let mut sides: Vec<Side> = all.map(|(number, s)| side(number, &s.label, role(number))).collect();
        sides.extend(control.then(|| side(0, "control", Role::Control)));
        let first = &self.subjects[0].label;
        let title = match self.subjects.len() {
            1 => first.clone(),
            2 => format!("{} against {first}", self.subjects[1].label),
            _ => format!("against {first}"),
        };
        CaseGroup { title, sides, together: false, sessions: None, layouts: None }
    }

    /// Runs all setups; returns how many commands need a cleanup.
    pub(crate) fn set_up(&self) -> (usize, Result<(), RunError>) {
        for (number, subject) in self.subjects.iter().enumerate() {
            if let Err(halt) = help("setup", subject.setup.as_ref(), self.limits) {
                return (number + 1, Err(halt));
            }
        }
        (self.subjects.len(), Ok(()))
    }

    /// Runs every command without measuring: gets their outputs and their times including what runs before and after.
    pub(crate) fn warm_up(&self, times: usize) -> Result<Vec<u64>, RunError> {
        let mut shortest = vec![u64::MAX; self.subjects.len()];
        for _ in 0..times {
            let order = self.log.borrow_mut().order_rng.permutation(shortest.len());
            for number in order {
                let begin = Instant::now();
                let ran = self.once(number)?;
                let ns = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
                shortest[number] = shortest[number].min(ns);
                self.log.borrow_mut().first[number].get_or_insert(ran.printed.unwrap_or_default());
            }
        }
        Ok(shortest)
    }

    /// Runs the cleanups in any case. An interruption does not prevent them, but `stop` does.
    pub(crate) fn clean_up(&self, set_up: usize, stop: &(dyn Fn() -> bool + Sync)) -> Result<(), RunError> {
        let patient = RunLimits { stop, ..self.limits };
        let one = |subject: &BenchCommand| match help("cleanup", subject.cleanup.as_ref(), patient) {
            Err(RunError::Stopped) => Err(RunError::Failed("--cleanup was interrupted".to_owned())),
            other => other,
        };
        self.subjects[..set_up].iter().map(one).fold(Ok(()), Result::and)
    }

    /// Runs a command once, with what belongs before and after it.
    fn once(&self, number: usize) -> Result<RunResult, RunError> {
        let subject = &self.subjects[number];
        help("prepare", subject.prepare.as_ref(), self.limits)?;
        let padding = self.log.borrow_mut().order_rng.below(MOST_PADDING);
        let ran = subject.start.run(padding, self.limits)?;
        help("conclude", subject.conclude.as_ref(), self.limits)?;
        let fine = match &self.accepted {
            AcceptedExit::Any => true,
            AcceptedExit::Zero => ran.code == 0,
            AcceptedExit::Codes(codes) => ran.code == 0 || codes.contains(&ran.code),
        };
        if fine {
            return Ok(ran);
        }
        Err(RunError::Failed(format!(
            "`{}` {}; --ignore-failure measures it anyway",
            brief(&subject.start.line),
            ran.failure()
        )))
    }

    /// Checks that a command prints the same as in its first run, and the same as the first command, if requested.
    fn agree(&self, number: usize, printed: Option<&Printed>) -> Result<(), RunError> {
        let Some(printed) = printed.filter(|_| self.same_output) else { return Ok(()) };
        for other in [number, 0] {
            let log = self.log.borrow();
            let Some(expected) = log.first[other].as_ref().filter(|expected| *expected != printed) else {
                continue;
            };
            let label = |number: usize| &self.subjects[number].label;
            let whose = if other == number { "at first it" } else { label(0) };
            let short = |printed: &Printed| {
                format!("{} bytes ({}…)", printed.bytes, printed.sha256.get(..12).unwrap_or_default())
            };
            let (name, now, then) = (label(number), short(printed), short(expected));
            return Err(RunError::Failed(format!("{name} printed {now}, {whose} printed {then}")));
        }
        Ok(())
    }
}

/// Runs a command that is not measured and must succeed.
fn help(what: &str, start: Option<&CommandSpec>, limits: RunLimits<'_>) -> Result<(), RunError> {
    let Some(start) = start else { return Ok(()) };
    let ran = start.run(0, limits)?;
    if ran.code == 0 {
        return Ok(());
    }
    Err(RunError::Failed(format!("--{what} `{}` {}", brief(&start.line), ran.failure())))
}

impl Launcher for CommandRunner<'_> {
    fn launch(&self, build: usize, _padding: usize) -> Result<Box<dyn SessionHandle + '_>, SessionError> {
        Ok(Box::new(CommandSession { desk: self, number: build, side: build }))
    }

    fn launch_link(
        &self,
        build: usize,
        link: Link,
        _padding: usize,
    ) -> Result<Box<dyn SessionHandle + '_>, SessionError> {
        let side = if link.control { self.subjects.len() } else { build };
        Ok(Box::new(CommandSession { desk: self, number: build, side }))
    }
}

/// The runs of one side. Each sample is a new process.
struct CommandSession<'a> {
    desk: &'a CommandRunner<'a>,
    number: usize,
    side: usize,
}

impl SessionHandle for CommandSession<'_> {
    fn ask(&mut self, request: &Request) -> Result<Reply, SessionError> {
        Ok(match request {
            Request::Open { .. } => Reply::Opened {
                unit: "operations".to_owned(),
                units: 1,
                working_set: 0,
                inputs: 1,
                setup_ns: 0,
                reference: String::new(),
            },
            // The output of commands is checked here after each run.
            Request::Check { .. } => {
                Reply::Checked { kernel: String::new(), digest: String::new(), amounts: Vec::new() }
            }
            // A process is one iteration, and the number of rounds was decided before.
            Request::Calibrate { sample_ns, .. } => Reply::Calibrated { iterations: 1, ns: *sample_ns },
            Request::Sample { .. } => return self.sample().map(Reply::Sampled).or_else(RunError::reply),
            _ => Reply::Pinned { cpu: None },
        })
    }
}

impl CommandSession<'_> {
    fn sample(&mut self) -> Result<Sampled, RunError> {
        let ran = self.desk.once(self.number)?;
        self.desk.agree(self.number, ran.printed.as_ref())?;
        let sampled = ran.sampled(String::new());
        let ran = RunResult { last_words: String::new(), ..ran };
        self.desk.log.borrow_mut().runs[self.side].push(ran);
        Ok(sampled)
    }
}
