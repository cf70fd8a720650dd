//! Commands as sessions of a campaign: what answers for a sample here is a process that is started for it.
//!
//! So which command is next, when it is settled, and what follows is the campaign's, as for everything that the lab
//! measures. Here are only the runs, with what belongs before and after them.

use super::line::brief;
use super::parameters::Choice;
use super::process::{Guard, Printed, Ran, RunError, Start};
use crate::campaign::{Contest, Role, Side};
use crate::plan::Orders;
use crate::session::peer::{Launcher, Link, Peer, PeerError};
use crate::session::protocol::{Reply, Request, Sampled};
use std::cell::RefCell;
use std::time::Instant;

/// One command with what belongs to it.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    /// What it is called in tables.
    pub(crate) label: String,
    /// Its name in exports, or else the line as it was typed.
    pub(crate) name: String,
    pub(crate) choice: Choice,
    pub(crate) start: Start,
    /// Once, before anything is measured.
    pub(crate) setup: Option<Start>,
    /// Before each run.
    pub(crate) prepare: Option<Start>,
    /// After each run.
    pub(crate) conclude: Option<Start>,
    /// Once, when everything is measured.
    pub(crate) cleanup: Option<Start>,
}

/// Which ends of a command are no failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Accepted {
    /// Zero alone.
    #[default]
    Zero,
    /// These too.
    Codes(Vec<i32>),
    Any,
}

/// All commands, and what their runs gave.
pub(crate) struct Desk<'a> {
    pub(crate) subjects: Vec<Subject>,
    pub(crate) accepted: Accepted,
    /// Whether every run of every command must print the same.
    pub(crate) same_output: bool,
    pub(crate) guard: Guard<'a>,
    pub(crate) kept: RefCell<Kept>,
}

/// What is kept from run to run.
pub(crate) struct Kept {
    orders: Orders,
    /// What each command printed at first.
    first: Vec<Option<Printed>>,
    /// The runs of each command, and those of the control behind them.
    pub(crate) runs: Vec<Vec<Ran>>,
}

impl Kept {
    pub(crate) fn new(subjects: usize, seed: u64) -> Self {
        Kept { orders: Orders::new(!seed), first: vec![None; subjects], runs: vec![Vec::new(); subjects + 1] }
    }
}

/// Longest random addition to the environment: it moves the stack, and with it the luck of alignment.
const MOST_PADDING: usize = 4096;

impl Desk<'_> {
    /// All commands against the first; with a control, the first against itself too.
    pub(crate) fn contest(&self, control: bool) -> Contest {
        let side = |number: usize, label: &str, role| Side {
            label: label.to_owned(),
            role,
            build: number,
            // There is no registry of commands; what ran is told by the builds.
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
        Contest { title, sides, together: false, sessions: None, layouts: None }
    }

    /// Sets everything up; how many commands were, and must be cleaned up.
    pub(crate) fn set_up(&self) -> (usize, Result<(), RunError>) {
        for (number, subject) in self.subjects.iter().enumerate() {
            if let Err(halt) = help("setup", subject.setup.as_ref(), self.guard) {
                return (number + 1, Err(halt));
            }
        }
        (self.subjects.len(), Ok(()))
    }

    /// Runs every command unseen: what they print, and how long they take with what belongs before and after them.
    pub(crate) fn warm_up(&self, times: usize) -> Result<Vec<u64>, RunError> {
        let mut shortest = vec![u64::MAX; self.subjects.len()];
        for _ in 0..times {
            let order = self.kept.borrow_mut().orders.permutation(shortest.len());
            for number in order {
                let begin = Instant::now();
                let ran = self.once(number)?;
                let ns = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
                shortest[number] = shortest[number].min(ns);
                self.kept.borrow_mut().first[number].get_or_insert(ran.printed.unwrap_or_default());
            }
        }
        Ok(shortest)
    }

    /// What was set up is cleaned up, whatever happened in between. An interruption is no reason to leave it, but `stop` is.
    pub(crate) fn clean_up(&self, set_up: usize, stop: &(dyn Fn() -> bool + Sync)) -> Result<(), RunError> {
        let patient = Guard { stop, ..self.guard };
        let one = |subject: &Subject| match help("cleanup", subject.cleanup.as_ref(), patient) {
            Err(RunError::Stopped) => Err(RunError::Failed("--cleanup was interrupted".to_owned())),
            other => other,
        };
        self.subjects[..set_up].iter().map(one).fold(Ok(()), Result::and)
    }

    /// One run of a command, with what belongs before and after it.
    fn once(&self, number: usize) -> Result<Ran, RunError> {
        let subject = &self.subjects[number];
        help("prepare", subject.prepare.as_ref(), self.guard)?;
        let padding = self.kept.borrow_mut().orders.below(MOST_PADDING);
        let ran = subject.start.run(padding, self.guard)?;
        help("conclude", subject.conclude.as_ref(), self.guard)?;
        let fine = match &self.accepted {
            Accepted::Any => true,
            Accepted::Zero => ran.code == 0,
            Accepted::Codes(codes) => ran.code == 0 || codes.contains(&ran.code),
        };
        if fine {
            return Ok(ran);
        }
        Err(RunError::Failed(format!(
            "`{}` {}; with --ignore-failure it would be measured all the same",
            brief(&subject.start.line),
            ran.failure()
        )))
    }

    /// What a command prints is what it printed at first, and what the first command printed, if that was asked for.
    fn agree(&self, number: usize, printed: Option<&Printed>) -> Result<(), RunError> {
        let Some(printed) = printed.filter(|_| self.same_output) else { return Ok(()) };
        for other in [number, 0] {
            let kept = self.kept.borrow();
            let Some(expected) = kept.first[other].as_ref().filter(|expected| *expected != printed) else {
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

/// A command that is not measured, and must do what it is for.
fn help(what: &str, start: Option<&Start>, guard: Guard<'_>) -> Result<(), RunError> {
    let Some(start) = start else { return Ok(()) };
    let ran = start.run(0, guard)?;
    if ran.code == 0 {
        return Ok(());
    }
    Err(RunError::Failed(format!("--{what} `{}` {}", brief(&start.line), ran.failure())))
}

impl Launcher for Desk<'_> {
    fn launch(&self, build: usize, _padding: usize) -> Result<Box<dyn Peer + '_>, PeerError> {
        Ok(Box::new(Station { desk: self, number: build, side: build }))
    }

    fn launch_link(
        &self,
        build: usize,
        link: Link,
        _padding: usize,
    ) -> Result<Box<dyn Peer + '_>, PeerError> {
        let side = if link.control { self.subjects.len() } else { build };
        Ok(Box::new(Station { desk: self, number: build, side }))
    }
}

/// Where the runs of one side are asked for. No process lives longer than one sample.
struct Station<'a> {
    desk: &'a Desk<'a>,
    number: usize,
    side: usize,
}

impl Peer for Station<'_> {
    fn ask(&mut self, request: &Request) -> Result<Reply, PeerError> {
        Ok(match request {
            Request::Open { .. } => Reply::Opened {
                unit: "operations".to_owned(),
                units: 1,
                working_set: 0,
                inputs: 1,
                setup_ns: 0,
                reference: String::new(),
            },
            // What commands print is looked at here, run by run.
            Request::Check { .. } => {
                Reply::Checked { kernel: String::new(), digest: String::new(), amounts: Vec::new() }
            }
            // A process is one iteration, and how many rounds there are was decided before.
            Request::Calibrate { sample_ns, .. } => Reply::Calibrated { iterations: 1, ns: *sample_ns },
            Request::Sample { .. } => return self.sample().map(Reply::Sampled).or_else(RunError::reply),
            _ => Reply::Pinned { cpu: None },
        })
    }
}

impl Station<'_> {
    fn sample(&mut self) -> Result<Sampled, RunError> {
        let ran = self.desk.once(self.number)?;
        self.desk.agree(self.number, ran.printed.as_ref())?;
        let sampled = ran.sampled(String::new());
        let ran = Ran { last_words: String::new(), ..ran };
        self.desk.kept.borrow_mut().runs[self.side].push(ran);
        Ok(sampled)
    }
}
