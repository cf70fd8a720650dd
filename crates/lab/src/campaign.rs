//! The course of a measurement: which session next, which sample next, when to stop. It decides nothing about the
//! results but whether more sessions are wanted, and prints nothing.

pub(crate) mod counts;

use crate::model::class::{Class, Place, Sampling};
use crate::model::engine::Amount;
use crate::model::key::Key;
use crate::model::reach::Reach;
use crate::plan::{Orders, Plan};
use crate::session::peer::{Launcher, Link, Peer, PeerError};
use crate::session::protocol::{Memory, Reply, Request};
use crate::stats::layout::Moved;
use crate::stats::order::{median, six_digits};
use crate::stats::paired::{Placed, by_session, deltas};
use crate::stats::verdict::Evidence;
use hashmill_machine::Load;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Cases that are measured side by side. One side alone is a row without a comparison.
#[derive(Clone, Debug)]
pub(crate) struct Contest {
    pub(crate) title: String,
    pub(crate) sides: Vec<Side>,
    /// Whether all sides live in one process per session.
    pub(crate) together: bool,
    /// So many sessions, whatever they say; the plan decides when absent.
    pub(crate) sessions: Option<usize>,
    /// What layouts are known to do to it, where its sides have one link each.
    pub(crate) layouts: Option<Moved>,
}

#[derive(Clone, Debug)]
pub(crate) struct Side {
    pub(crate) label: String,
    pub(crate) role: Role,
    pub(crate) build: usize,
    pub(crate) key: Key,
}

/// Part of a side in its contest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    /// What the others are compared with: the first side of a contest.
    Baseline,
    /// What is compared.
    Candidate,
    /// The baseline once more: any difference to it is an error of the measurement.
    Control,
}

/// What was seen of a side.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Seen {
    pub(crate) kernel: String,
    pub(crate) unit: String,
    pub(crate) units: u64,
    pub(crate) working_set: u64,
    /// Time that its last opening took.
    pub(crate) setup_ns: u64,
    /// Inputs of its session; 0 where its build does not say.
    pub(crate) inputs: u64,
    /// Iterations per sample in the session that is measured, or was last.
    pub(crate) iterations: u64,
    /// Calls before each sample.
    pub(crate) lead_in: u64,
    pub(crate) digest: String,
    pub(crate) reference: String,
    pub(crate) amounts: Vec<Amount>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) session: usize,
    pub(crate) round: usize,
    /// Place in the order of its round.
    pub(crate) position: usize,
    pub(crate) side: usize,
    pub(crate) ns: u64,
    pub(crate) cpu_ns: Option<u64>,
    pub(crate) faults: Option<u64>,
    pub(crate) switches: Option<u64>,
}

/// What was seen of a session as a whole.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SessionSeen {
    pub(crate) before: Load,
    pub(crate) after: Load,
    pub(crate) memory: Memory,
    /// Processor on which all sides were kept.
    pub(crate) cpu: Option<usize>,
    /// Iterations per sample of each side.
    pub(crate) iterations: Vec<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Still being measured; what a report says if its writer was killed.
    Running,
    Complete,
    /// Stopped from outside; what was measured is kept.
    Interrupted,
    /// This machine lacks what a side needs.
    Skipped(String),
    /// A side computed something else than the reference.
    Incorrect(String),
    /// A session failed, died or hung.
    Failed(String),
}

/// All that one contest gave.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) contest: Contest,
    pub(crate) seen: Vec<Seen>,
    /// Rounds per session, known after the first calibration.
    pub(crate) rounds: usize,
    pub(crate) samples: Vec<Sample>,
    pub(crate) sessions: Vec<SessionSeen>,
    /// Sessions that were lost and taken again, with the reason.
    pub(crate) retried: Vec<(usize, String)>,
    pub(crate) outcome: Outcome,
}

/// What the sessions of a row gave: the evidence of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Gave {
    /// Median time of an iteration for each side and session.
    pub(crate) session_ns: Vec<Vec<f64>>,
    /// Paired log ratio of the first side to each, for each session; empty for the first.
    pub(crate) deltas: Vec<Vec<f64>>,
    /// Time of each sample in order, where the row is a sustained run.
    pub(crate) windows_ns: Vec<u64>,
}

/// Work of the samples of one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SampleWork {
    /// Iterations per sample in each whole session.
    pub(crate) iterations: Vec<u64>,
    /// Units of an iteration.
    pub(crate) units: u64,
}

impl Gave {
    /// `work` has one entry for each side.
    pub(crate) fn of(
        class: &Class,
        samples: impl Iterator<Item = (usize, usize, u64)> + Clone,
        sessions: usize,
        work: &[SampleWork],
    ) -> Self {
        let grouped = |side: usize, units: &dyn Fn(&SampleWork) -> u64| {
            // Samples of a session that was cut short are in no conclusion.
            let whole = samples.clone().filter(|(session, ..)| *session < sessions);
            let placed = whole.map(|(session, side, ns)| {
                let work = &work[side];
                let iterations = work.iterations.get(session).copied().unwrap_or(1).max(1);
                let ns = ns as f64 / (iterations as f64 * units(work).max(1) as f64);
                Placed { session, side, ns }
            });
            by_session(placed, sessions, side)
        };
        let alone = |_: &SampleWork| 1;
        // Sides may differ in how much an iteration does: what is compared is the time for the same work.
        let same_work = |work: &SampleWork| work.units;
        let sides = 0..work.len();
        let medians =
            |side| grouped(side, &alone).iter().map(|session| six_digits(median(session))).collect();
        let differences = |side| match side {
            0 => Vec::new(),
            side => deltas(&grouped(0, &same_work), &grouped(side, &same_work)),
        };
        let sustained = class.sampling() == Sampling::Sustained;
        Gave {
            session_ns: sides.clone().map(medians).collect(),
            deltas: sides.map(differences).collect(),
            windows_ns: if sustained { samples.map(|(.., ns)| ns).collect() } else { Vec::new() },
        }
    }
}

/// Why a session did not come to its end.
enum Torn {
    /// Its process ended or hung, which may be a matter of luck.
    Lost(String),
    /// Anything else would end the next one, too.
    Ended(Outcome),
}

impl From<Outcome> for Torn {
    fn from(outcome: Outcome) -> Self {
        Torn::Ended(outcome)
    }
}

/// Who watches, stores and stops a campaign.
pub(crate) trait Observer {
    /// Contest `index` has one session more, of `wanted` until its next look.
    fn progress(&mut self, index: usize, wanted: usize, all: &[Measured]);
    /// Whether to stop now; asked before every sample.
    fn stop(&self) -> bool;
}

impl Measured {
    fn new(contest: Contest) -> Self {
        let seen = vec![Seen::default(); contest.sides.len()];
        let (samples, sessions, retried) = (Vec::new(), Vec::new(), Vec::new());
        Measured { contest, seen, rounds: 1, samples, sessions, retried, outcome: Outcome::Running }
    }

    /// What the whole sessions gave.
    pub(crate) fn gave(&self) -> Gave {
        let samples = self.samples.iter().map(|sample| (sample.session, sample.side, sample.ns));
        let work = self.seen.iter().enumerate().map(|(side, seen)| SampleWork {
            iterations: self.sessions.iter().map(|session| session.iterations[side]).collect(),
            units: seen.units,
        });
        let work: Vec<SampleWork> = work.collect();
        Gave::of(&self.contest.sides[0].key.class, samples, self.sessions.len(), &work)
    }

    /// Whether every call of a side was long in the last whole session.
    fn was_long(&self) -> bool {
        let Some(last) = self.sessions.len().checked_sub(1) else { return false };
        let of_last = self.samples.iter().rev().take_while(|sample| sample.session >= last);
        let of_last = of_last.filter(|sample| sample.session == last);
        let mut shortest_ns = vec![f64::INFINITY; self.seen.len()];
        for sample in of_last {
            let ns = sample.ns as f64 / self.sessions[last].iterations[sample.side].max(1) as f64;
            shortest_ns[sample.side] = shortest_ns[sample.side].min(ns);
        }
        shortest_ns.iter().any(|ns| (counts::LONG_NS..f64::INFINITY).contains(ns))
    }

    pub(crate) fn evidence(&self, side: usize) -> Evidence {
        let layouts = self.contest.layouts.as_ref().map(|moved| moved.by);
        Evidence { deltas: self.gave().deltas.swap_remove(side), reach: self.reach(), layouts }
    }

    /// Where the data lie, once a session was opened: what the side that passes over most of them says.
    pub(crate) fn reach(&self) -> Reach {
        Reach::of(self.seen.iter().map(|seen| seen.working_set).max().unwrap_or(0))
    }

    fn wanted(&self, plan: &Plan, family: usize) -> Option<usize> {
        if self.outcome != Outcome::Running {
            return None;
        }
        let fixed = self.contest.sessions;
        if let Some(sessions) = fixed.or((self.contest.sides.len() == 1).then_some(plan.solo_sessions)) {
            return (self.sessions.len() < sessions).then_some(sessions);
        }
        // A control follows its contest and never prolongs it.
        let sides = self.contest.sides.iter().enumerate();
        let candidates = sides.filter(|(_, side)| side.role == Role::Candidate);
        let wanted = |side| plan.rule.sessions_wanted(family, &self.evidence(side));
        candidates.filter_map(|(side, _)| wanted(side)).max()
    }
}

/// Number of comparisons that share one error budget.
pub(crate) fn family_size(contests: &[Contest]) -> usize {
    let roles = contests.iter().flat_map(|contest| contest.sides.iter().map(|side| side.role));
    roles.filter(|role| *role == Role::Candidate).count().max(1)
}

/// Measures all contests, one session of each in turn, until none wants more.
pub(crate) fn run(
    contests: Vec<Contest>,
    plan: &Plan,
    launcher: &dyn Launcher,
    observer: &mut dyn Observer,
) -> Vec<Measured> {
    let family = family_size(&contests);
    let mut orders = Orders::new(plan.seed);
    let mut all: Vec<Measured> = contests.into_iter().map(Measured::new).collect();
    loop {
        let mut idle = true;
        for index in 0..all.len() {
            let Some(wanted) = all[index].wanted(plan, family) else { continue };
            idle = false;
            let measured = &mut all[index];
            if let Err(outcome) = session_or_again(measured, plan, &mut orders, launcher, observer) {
                measured.outcome = outcome;
            }
            observer.progress(index, wanted, &all);
            std::thread::sleep(Duration::from_millis(plan.cool_down_ms));
        }
        if idle {
            break;
        }
    }
    for measured in &mut all {
        if measured.outcome == Outcome::Running {
            measured.outcome = Outcome::Complete;
        }
    }
    all
}

/// Longest random addition to the environment: it moves the stack, and with it the luck of alignment.
const MOST_PADDING: usize = 4096;

/// A session, and once more if its process is lost. Twice in a row is no accident.
fn session_or_again(
    measured: &mut Measured,
    plan: &Plan,
    orders: &mut Orders,
    launcher: &dyn Launcher,
    observer: &dyn Observer,
) -> Result<(), Outcome> {
    let whole = measured.samples.len();
    let why = match session(measured, plan, orders, launcher, observer) {
        Ok(()) => return Ok(()),
        Err(Torn::Ended(outcome)) => return Err(outcome),
        Err(Torn::Lost(why)) => why,
    };
    let session_number = measured.sessions.len();
    if measured.retried.iter().any(|(session, _)| *session == session_number) {
        return Err(Outcome::Failed(why));
    }
    let torn = measured.samples.split_off(whole);
    measured.retried.push((session_number, why));
    session_or_again(measured, plan, orders, launcher, observer).inspect_err(|_| {
        // Nothing came of the second attempt, and what the first one gave is kept as that of any torn session is.
        if measured.samples.len() == whole {
            measured.samples.extend(torn);
        }
    })
}

/// One session of one contest. The samples stay whatever happens; the session counts only when it is whole.
fn session(
    measured: &mut Measured,
    plan: &Plan,
    orders: &mut Orders,
    launcher: &dyn Launcher,
    observer: &dyn Observer,
) -> Result<(), Torn> {
    let before = Load::read();
    let mut running = Running::gather(measured, plan, orders, launcher, observer)?;
    let cpu = if plan.pin { running.pin(measured, orders.next()) } else { None };
    let cold = measured.contest.is_cold();
    if !cold {
        running.check(measured)?;
        running.calibrate(measured, plan)?;
        // Who takes that long has been warm since the check.
        let warm_ups = if measured.rounds == 1 && plan.rounds > 1 { 0 } else { plan.warm_ups };
        for _ in 0..warm_ups {
            for side in orders.permutation(measured.contest.sides.len()) {
                running.sample(measured, side)?;
            }
        }
    }
    let session = measured.sessions.len();
    for round in 0..measured.rounds {
        for (position, side) in orders.permutation(measured.contest.sides.len()).into_iter().enumerate() {
            let sample = running.sample(measured, side)?;
            measured.samples.push(Sample { session, round, position, side, ..sample });
        }
    }
    if cold {
        running.check(measured)?;
    }
    let memory = running.memory();
    drop(running);
    let iterations = measured.seen.iter().map(|seen| seen.iterations.max(1)).collect();
    measured.sessions.push(SessionSeen { before, after: Load::read(), memory, cpu, iterations });
    Ok(())
}

#[cfg(feature = "gates")]
impl Contest {
    /// The same contest in another build of the program.
    pub(crate) fn in_build(mut self, build: usize, label: &str) -> Self {
        self.sides.iter_mut().for_each(|side| side.build = build);
        self.title = format!("{} ({label})", self.title);
        self
    }
}

impl Contest {
    /// Whether a candidate runs other code than the baseline, which has a layout of its own.
    pub(crate) fn is_of_two_codes(&self) -> bool {
        let code = |side: &Side| (side.build, side.key.engine.clone(), side.key.kernel.clone());
        let mut candidates = self.sides.iter().filter(|side| side.role == Role::Candidate);
        candidates.any(|side| code(side) != code(&self.sides[0]))
    }

    fn is_cold(&self) -> bool {
        self.sides.iter().any(|side| side.key.class.sampling() == Sampling::Cold)
    }
}

/// The processes of one session, and which serves which side.
struct Running<'a> {
    peers: Vec<Box<dyn Peer + 'a>>,
    /// Which peer serves each side; a side's slot is its own number.
    slots: Vec<usize>,
    observer: &'a dyn Observer,
}

impl<'a> Running<'a> {
    /// Starts the processes and opens the cases, both in random order.
    fn gather(
        measured: &mut Measured,
        plan: &Plan,
        orders: &mut Orders,
        launcher: &'a dyn Launcher,
        observer: &'a dyn Observer,
    ) -> Result<Self, Torn> {
        let contest = measured.contest.clone();
        let together = contest.together && !contest.is_cold();
        // One input for all, so that its place in memory favours nobody; or else one for each. Were it shared by some,
        // they would find it warm in the caches, which here made a difference of 5 to 30 % out of nothing.
        let share = together && contest.sides.iter().all(|side| side.key.same_input(&contest.sides[0].key));
        let mut running = Running { peers: Vec::new(), slots: vec![0; contest.sides.len()], observer };
        for index in orders.permutation(contest.sides.len()) {
            let side = &contest.sides[index];
            if !together || running.peers.is_empty() {
                let session = measured.sessions.len();
                let link = Link { session, control: side.role == Role::Control };
                let peer = launcher.launch_link(side.build, link, orders.below(MOST_PADDING));
                running.peers.push(peer.map_err(|error| running.blame(&error))?);
            }
            running.slots[index] = running.peers.len() - 1;
            let seed = plan.session_seed(measured.sessions.len());
            let request = Request::Open { slot: index, case: side.key.to_string(), seed, share };
            let Reply::Opened { unit, units, working_set, inputs, setup_ns, reference } =
                running.ask(index, &request)?
            else {
                return Err(confused("open"));
            };
            let seen = &mut measured.seen[index];
            (seen.unit, seen.units, seen.setup_ns, seen.reference) = (unit, units, setup_ns, reference);
            seen.inputs = inputs;
            // The largest so far: where data lie must not change back and forth between two looks.
            seen.working_set = seen.working_set.max(working_set);
        }
        Ok(running)
    }

    /// Keeps all sides of single-threaded cases on one processor, another one in each session: processors of a
    /// virtual machine differ from one second to the next, and only one side runs at a time anyway.
    fn pin(&mut self, measured: &Measured, choice: u64) -> Option<usize> {
        if measured.contest.sides.iter().any(|side| side.key.threads != 1) {
            return None;
        }
        let mut cpu = None;
        for peer in &mut self.peers {
            let Ok(Reply::Pinned { cpu: Some(pinned) }) = peer.ask(&Request::Pin { choice }) else {
                return None;
            };
            cpu = Some(pinned);
        }
        cpu
    }

    fn check(&mut self, measured: &mut Measured) -> Result<(), Torn> {
        for side in 0..self.slots.len() {
            // What can be counted is the same in every session.
            let first = measured.sessions.is_empty();
            let amounts = first && measured.contest.sides[side].role != Role::Control;
            let Reply::Checked { kernel, digest, amounts } =
                self.ask(side, &Request::Check { slot: side, amounts })?
            else {
                return Err(confused("check"));
            };
            measured.seen[side].kernel = kernel;
            if first {
                measured.seen[side].amounts = amounts;
            }
            verify(measured, side, digest)?;
            agree(measured, side)?;
        }
        Ok(())
    }

    /// Chooses the iterations of every side for this session, from the least of several probes that take turns. Counts of
    /// the session before are kept while they fit.
    fn calibrate(&mut self, measured: &mut Measured, plan: &Plan) -> Result<(), Torn> {
        let is_first = measured.sessions.is_empty();
        let of_class =
            |holds: fn(&Class) -> bool| measured.contest.sides.iter().any(|side| holds(&side.key.class));
        let is_process = of_class(|class| class.place() == Place::Process);
        // A process is one iteration, and calls that were long in the session before are no shorter in this one.
        if !is_first && (is_process || measured.was_long()) {
            return Ok(());
        }
        let probes = if is_process || of_class(|class| class.sampling() == Sampling::Sustained) {
            1
        } else {
            counts::PROBES
        };
        let (mut least_ns, mut longest_ns) = (vec![f64::INFINITY; self.slots.len()], 1);
        for _ in 0..probes {
            for (side, least_ns) in least_ns.iter_mut().enumerate() {
                if (10.0 * counts::LONG_NS..f64::INFINITY).contains(least_ns) {
                    continue;
                }
                let reply = self.ask(side, &Request::Calibrate { slot: side, sample_ns: plan.sample_ns })?;
                let Reply::Calibrated { iterations, ns } = reply else {
                    return Err(confused("calibrate"));
                };
                *least_ns = least_ns.min(ns as f64 / iterations.max(1) as f64);
            }
        }
        let keys: Vec<&Key> = measured.contest.sides.iter().map(|side| &side.key).collect();
        let call_ns = counts::of_cases(&keys, &least_ns);
        let kept: Vec<u64> = measured.seen.iter().map(|seen| seen.iterations).collect();
        let chosen = match is_first || !counts::still_fit(&kept, &call_ns, plan.sample_ns) {
            true => counts::choose(&call_ns, plan.sample_ns),
            false => kept,
        };
        // Builds from before sessions told it get as many as the others.
        let inputs = measured.seen.iter().map(|seen| seen.inputs).max().unwrap_or(0);
        for ((seen, iterations), (call_ns, least_ns)) in
            measured.seen.iter_mut().zip(chosen).zip(call_ns.iter().zip(&least_ns))
        {
            seen.iterations = iterations;
            seen.lead_in = if is_process { 0 } else { counts::lead_in(inputs, *call_ns) };
            longest_ns = longest_ns.max((*least_ns * iterations as f64) as u64);
        }
        if is_first {
            let setup_ns = measured.seen.iter().map(|seen| seen.setup_ns).max().unwrap_or(0);
            measured.rounds = plan.rounds_for(longest_ns, setup_ns);
        }
        Ok(())
    }

    /// One sample; where it belongs is for the caller to say.
    fn sample(&mut self, measured: &mut Measured, side: usize) -> Result<Sample, Torn> {
        if self.observer.stop() {
            return Err(Outcome::Interrupted.into());
        }
        let iterations = measured.seen[side].iterations.max(1);
        measured.seen[side].iterations = iterations;
        // The lead-in is asked for here and not left to the worker, so that builds of any age get the same.
        let lead_in = measured.seen[side].lead_in;
        if lead_in > 0 {
            let Reply::Sampled(seen) = self.ask(side, &Request::Work { slot: side, iterations: lead_in })?
            else {
                return Err(confused("work"));
            };
            verify(measured, side, seen.digest)?;
        }
        let Reply::Sampled(sampled) = self.ask(side, &Request::Sample { slot: side, iterations })? else {
            return Err(confused("sample"));
        };
        verify(measured, side, sampled.digest)?;
        Ok(Sample {
            session: 0,
            round: 0,
            position: 0,
            side,
            ns: sampled.ns,
            cpu_ns: sampled.cpu_ns,
            faults: sampled.faults,
            switches: sampled.switches,
        })
    }

    /// What all processes have together.
    fn memory(&mut self) -> Memory {
        let asked = self.peers.iter_mut().map(|peer| match peer.ask(&Request::Memory) {
            Ok(Reply::Memory(memory)) => memory,
            _ => Memory::default(),
        });
        let all: Vec<Memory> = asked.collect();
        let sum = |of: fn(&Memory) -> Option<u64>| all.iter().map(of).sum();
        Memory {
            huge_bytes: sum(|memory| memory.huge_bytes),
            resident_bytes: sum(|memory| memory.resident_bytes),
            reserved_bytes: sum(|memory| memory.reserved_bytes),
            gigantic_bytes: sum(|memory| memory.gigantic_bytes),
        }
    }

    fn ask(&mut self, side: usize, request: &Request) -> Result<Reply, Torn> {
        match self.peers[self.slots[side]].ask(request) {
            Ok(Reply::Unavailable { reason }) => Err(Outcome::Skipped(reason).into()),
            Ok(Reply::Failed { reason }) => Err(Outcome::Failed(reason).into()),
            Ok(reply) => Ok(reply),
            Err(error) => Err(self.blame(&error)),
        }
    }

    /// An interrupt at the terminal ends the sessions too; then it is not their fault.
    fn blame(&self, error: &PeerError) -> Torn {
        match error {
            _ if self.observer.stop() => Outcome::Interrupted.into(),
            PeerError::Died { .. } | PeerError::Hung(_) => Torn::Lost(error.to_string()),
            _ => Outcome::Failed(error.to_string()).into(),
        }
    }
}

fn confused(what: &str) -> Torn {
    Outcome::Failed(format!("the session gave another answer than was asked for with `{what}`")).into()
}

/// A wrong result stops the contest: its speed is of no interest.
fn verify(measured: &mut Measured, side: usize, digest: String) -> Result<(), Outcome> {
    let seen = &mut measured.seen[side];
    seen.digest = digest;
    if seen.digest == seen.reference {
        return Ok(());
    }
    let key = &measured.contest.sides[side].key;
    Err(Outcome::Incorrect(format!("{key} computed {}, the reference is {}", seen.digest, seen.reference)))
}

/// Each build brings its own reference. Two that differ compute different things, and have no speed in common.
fn agree(measured: &Measured, side: usize) -> Result<(), Outcome> {
    let key = |side: usize| &measured.contest.sides[side].key;
    let (ours, first) = (&measured.seen[side].digest, &measured.seen[0].digest);
    if !key(side).same_input(key(0)) || ours == first {
        return Ok(());
    }
    Err(Outcome::Incorrect(format!(
        "from one input, {} makes {ours} and {} makes {first}",
        name(measured, side),
        name(measured, 0)
    )))
}

fn name(measured: &Measured, side: usize) -> &str {
    &measured.contest.sides[side].label
}

#[cfg(test)]
mod bias;
#[cfg(test)]
mod tests;
