//! Campaign: which session and which sample comes next, and when to stop. It makes no decision about results except
//! whether more sessions are needed, and prints nothing.

pub(crate) mod iteration_counts;

use super::plan::Plan;
use crate::measure::session::handle::{Launcher, Link, SessionError, SessionHandle};
use crate::measure::session::protocol::{Memory, Reply, Request};
use crate::model::class::{Class, InputLocation, Sampling};
use crate::model::engine::Amount;
use crate::model::key::Key;
use crate::stats::cache_level::CacheLevel;
use crate::stats::layout::LayoutEffect;
use crate::stats::order::{median, six_digits};
use crate::stats::order_rng::OrderRng;
use crate::stats::paired::{Placed, by_session, deltas};
use crate::stats::verdict::Evidence;
use hashmill_machine::Load;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Cases measured side by side. A single side is a row without a comparison.
#[derive(Clone, Debug)]
pub(crate) struct CaseGroup {
    pub(crate) title: String,
    pub(crate) sides: Vec<Side>,
    /// Whether all sides share one process per session.
    pub(crate) together: bool,
    /// Fixed number of sessions; the plan decides if absent.
    pub(crate) sessions: Option<usize>,
    /// Known layout effect, if its sides have one link each.
    pub(crate) layouts: Option<LayoutEffect>,
}

#[derive(Clone, Debug)]
pub(crate) struct Side {
    pub(crate) label: String,
    pub(crate) role: Role,
    pub(crate) build: usize,
    pub(crate) key: Key,
}

/// Role of a side in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    /// The first side of a group, with which the others are compared.
    Baseline,
    /// Compared with the baseline.
    Candidate,
    /// The baseline again: any difference to it is a measurement error.
    Control,
}

/// State of a side.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SideState {
    pub(crate) kernel: String,
    pub(crate) unit: String,
    pub(crate) units: u64,
    pub(crate) working_set: u64,
    /// Duration of its last opening.
    pub(crate) setup_ns: u64,
    /// Inputs of its session; 0 if its build does not report them.
    pub(crate) inputs: u64,
    /// Iterations per sample in the current or last session.
    pub(crate) iterations: u64,
    /// Untimed calls before each sample.
    pub(crate) lead_in: u64,
    pub(crate) digest: String,
    pub(crate) reference: String,
    pub(crate) amounts: Vec<Amount>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) session: usize,
    pub(crate) round: usize,
    /// Position in the order of its round.
    pub(crate) position: usize,
    pub(crate) side: usize,
    pub(crate) ns: u64,
    pub(crate) cpu_ns: Option<u64>,
    pub(crate) faults: Option<u64>,
    pub(crate) switches: Option<u64>,
}

/// Data of a whole session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SessionStats {
    pub(crate) before: Load,
    pub(crate) after: Load,
    pub(crate) memory: Memory,
    /// Processor to which all sides were pinned.
    pub(crate) cpu: Option<usize>,
    /// Iterations per sample of each side.
    pub(crate) iterations: Vec<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Being measured; also the state in a report whose writer was killed.
    Running,
    Complete,
    /// Stopped from outside; measured data is kept.
    Interrupted,
    /// This machine lacks what a side needs.
    Skipped(String),
    /// A side's result differs from the reference.
    Incorrect(String),
    /// A session failed, died or hung.
    Failed(String),
}

/// Measured data of one group.
#[derive(Clone, Debug)]
pub(crate) struct GroupResult {
    pub(crate) group: CaseGroup,
    pub(crate) side_states: Vec<SideState>,
    /// Rounds per session, set by the first calibration.
    pub(crate) rounds: usize,
    pub(crate) samples: Vec<Sample>,
    pub(crate) sessions: Vec<SessionStats>,
    /// Lost sessions that were repeated, with the reason.
    pub(crate) retried: Vec<(usize, String)>,
    pub(crate) outcome: Outcome,
}

/// Evidence of a row: what a report stores of its sessions.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RowEvidence {
    /// Median time of an iteration per side and session.
    pub(crate) session_ns: Vec<Vec<f64>>,
    /// Paired log ratio of the first side to each side, per session; empty for the first.
    pub(crate) deltas: Vec<Vec<f64>>,
    /// Time of each sample in order, for a sustained run.
    pub(crate) windows_ns: Vec<u64>,
}

/// Amount of work in the samples of one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SampleWork {
    /// Iterations per sample, per whole session.
    pub(crate) iterations: Vec<u64>,
    /// Units per iteration.
    pub(crate) units: u64,
}

impl RowEvidence {
    /// Computes the evidence from samples. `work` has one entry per side.
    pub(crate) fn from_samples(
        class: &Class,
        samples: impl Iterator<Item = (usize, usize, u64)> + Clone,
        sessions: usize,
        work: &[SampleWork],
    ) -> Self {
        let grouped = |side: usize, units: &dyn Fn(&SampleWork) -> u64| {
            // Samples of an incomplete session are ignored.
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
        // Sides may differ in work per iteration; the time for equal work is compared.
        let same_work = |work: &SampleWork| work.units;
        let sides = 0..work.len();
        let medians =
            |side| grouped(side, &alone).iter().map(|session| six_digits(median(session))).collect();
        let differences = |side| match side {
            0 => Vec::new(),
            side => deltas(&grouped(0, &same_work), &grouped(side, &same_work)),
        };
        let sustained = class.sampling() == Sampling::Sustained;
        RowEvidence {
            session_ns: sides.clone().map(medians).collect(),
            deltas: sides.map(differences).collect(),
            windows_ns: if sustained { samples.map(|(.., ns)| ns).collect() } else { Vec::new() },
        }
    }
}

/// Reason why a session ended early.
enum SessionAbort {
    /// Its process ended or hung, which may be accidental.
    Lost(String),
    /// Anything else would end the next session too.
    Ended(Outcome),
}

impl From<Outcome> for SessionAbort {
    fn from(outcome: Outcome) -> Self {
        SessionAbort::Ended(outcome)
    }
}

/// Observer that displays, stores and stops a campaign.
pub(crate) trait Observer {
    /// Group `index` has one session more, of `wanted` until its next look.
    fn progress(&mut self, index: usize, wanted: usize, all: &[GroupResult]);
    /// Whether to stop now; called before every sample.
    fn stop(&self) -> bool;
}

impl GroupResult {
    fn new(group: CaseGroup) -> Self {
        let side_states = vec![SideState::default(); group.sides.len()];
        let (samples, sessions, retried) = (Vec::new(), Vec::new(), Vec::new());
        GroupResult { group, side_states, rounds: 1, samples, sessions, retried, outcome: Outcome::Running }
    }

    /// Evidence of the whole sessions.
    pub(crate) fn row_evidence(&self) -> RowEvidence {
        let samples = self.samples.iter().map(|sample| (sample.session, sample.side, sample.ns));
        let work = self.side_states.iter().enumerate().map(|(side, state)| SampleWork {
            iterations: self.sessions.iter().map(|session| session.iterations[side]).collect(),
            units: state.units,
        });
        let work: Vec<SampleWork> = work.collect();
        RowEvidence::from_samples(&self.group.sides[0].key.class, samples, self.sessions.len(), &work)
    }

    /// Whether every call of a side was long in the last whole session.
    fn was_long(&self) -> bool {
        let Some(last) = self.sessions.len().checked_sub(1) else { return false };
        let of_last = self.samples.iter().rev().take_while(|sample| sample.session >= last);
        let of_last = of_last.filter(|sample| sample.session == last);
        let mut shortest_ns = vec![f64::INFINITY; self.side_states.len()];
        for sample in of_last {
            let ns = sample.ns as f64 / self.sessions[last].iterations[sample.side].max(1) as f64;
            shortest_ns[sample.side] = shortest_ns[sample.side].min(ns);
        }
        shortest_ns.iter().any(|ns| (iteration_counts::LONG_NS..f64::INFINITY).contains(ns))
    }

    pub(crate) fn evidence(&self, side: usize) -> Evidence {
        let layouts = self.group.layouts.as_ref().map(|moved| moved.by);
        Evidence { deltas: self.row_evidence().deltas.swap_remove(side), reach: self.reach(), layouts }
    }

    /// Cache level, known once a session was opened: from the side with the largest working set.
    pub(crate) fn reach(&self) -> CacheLevel {
        CacheLevel::from_working_set(
            self.side_states.iter().map(|state| state.working_set).max().unwrap_or(0),
        )
    }

    fn wanted(&self, plan: &Plan, family: usize) -> Option<usize> {
        if self.outcome != Outcome::Running {
            return None;
        }
        let fixed = self.group.sessions;
        if let Some(sessions) = fixed.or((self.group.sides.len() == 1).then_some(plan.solo_sessions)) {
            return (self.sessions.len() < sessions).then_some(sessions);
        }
        // A control never prolongs its group.
        let sides = self.group.sides.iter().enumerate();
        let candidates = sides.filter(|(_, side)| side.role == Role::Candidate);
        let wanted = |side| plan.rule.sessions_wanted(family, &self.evidence(side));
        candidates.filter_map(|(side, _)| wanted(side)).max()
    }
}

/// Number of comparisons that share one error budget.
pub(crate) fn family_size(groups: &[CaseGroup]) -> usize {
    let roles = groups.iter().flat_map(|group| group.sides.iter().map(|side| side.role));
    roles.filter(|role| *role == Role::Candidate).count().max(1)
}

/// Measures all groups, one session of each in turn, until none needs more.
pub(crate) fn run(
    groups: Vec<CaseGroup>,
    plan: &Plan,
    launcher: &dyn Launcher,
    observer: &mut dyn Observer,
) -> Vec<GroupResult> {
    let family = family_size(&groups);
    let mut order_rng = OrderRng::new(plan.seed);
    let mut all: Vec<GroupResult> = groups.into_iter().map(GroupResult::new).collect();
    loop {
        let mut idle = true;
        for index in 0..all.len() {
            let Some(wanted) = all[index].wanted(plan, family) else { continue };
            idle = false;
            let measured = &mut all[index];
            if let Err(outcome) = session_or_again(measured, plan, &mut order_rng, launcher, observer) {
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

/// Maximum random padding of the environment: it moves the stack and varies alignment.
const MOST_PADDING: usize = 4096;

/// Runs a session, and repeats it if its process is lost. Two losses in a row are an error.
fn session_or_again(
    measured: &mut GroupResult,
    plan: &Plan,
    order_rng: &mut OrderRng,
    launcher: &dyn Launcher,
    observer: &dyn Observer,
) -> Result<(), Outcome> {
    let whole = measured.samples.len();
    let reason = match session(measured, plan, order_rng, launcher, observer) {
        Ok(()) => return Ok(()),
        Err(SessionAbort::Ended(outcome)) => return Err(outcome),
        Err(SessionAbort::Lost(reason)) => reason,
    };
    let session_number = measured.sessions.len();
    if measured.retried.iter().any(|(session, _)| *session == session_number) {
        return Err(Outcome::Failed(reason));
    }
    let torn = measured.samples.split_off(whole);
    measured.retried.push((session_number, reason));
    session_or_again(measured, plan, order_rng, launcher, observer).inspect_err(|_| {
        // The second attempt gave no sample, so keep the samples of the first as for any incomplete session.
        if measured.samples.len() == whole {
            measured.samples.extend(torn);
        }
    })
}

/// Runs one session of one group. Samples are kept in any case; the session counts only if it is complete.
fn session(
    measured: &mut GroupResult,
    plan: &Plan,
    order_rng: &mut OrderRng,
    launcher: &dyn Launcher,
    observer: &dyn Observer,
) -> Result<(), SessionAbort> {
    let before = Load::read();
    let mut running = ActiveSession::gather(measured, plan, order_rng, launcher, observer)?;
    let cpu = if plan.pin { running.pin(measured, order_rng.next()) } else { None };
    let cold = measured.group.is_cold();
    if !cold {
        running.check(measured)?;
        running.calibrate(measured, plan)?;
        // A side this slow is warm since the check.
        let warm_ups = if measured.rounds == 1 && plan.rounds > 1 { 0 } else { plan.warm_ups };
        for _ in 0..warm_ups {
            for side in order_rng.permutation(measured.group.sides.len()) {
                running.sample(measured, side)?;
            }
        }
    }
    let session = measured.sessions.len();
    for round in 0..measured.rounds {
        for (position, side) in order_rng.permutation(measured.group.sides.len()).into_iter().enumerate() {
            let sample = running.sample(measured, side)?;
            measured.samples.push(Sample { session, round, position, side, ..sample });
        }
    }
    if cold {
        running.check(measured)?;
    }
    let memory = running.memory();
    drop(running);
    let iterations = measured.side_states.iter().map(|state| state.iterations.max(1)).collect();
    measured.sessions.push(SessionStats { before, after: Load::read(), memory, cpu, iterations });
    Ok(())
}

#[cfg(feature = "gates")]
impl CaseGroup {
    /// The same group in another build of the program.
    pub(crate) fn in_build(mut self, build: usize, label: &str) -> Self {
        self.sides.iter_mut().for_each(|side| side.build = build);
        self.title = format!("{} ({label})", self.title);
        self
    }
}

impl CaseGroup {
    /// Whether a candidate runs different code than the baseline, so that layouts differ.
    pub(crate) fn is_of_two_codes(&self) -> bool {
        let code = |side: &Side| (side.build, side.key.engine.clone(), side.key.kernel.clone());
        let mut candidates = self.sides.iter().filter(|side| side.role == Role::Candidate);
        candidates.any(|side| code(side) != code(&self.sides[0]))
    }

    fn is_cold(&self) -> bool {
        self.sides.iter().any(|side| side.key.class.sampling() == Sampling::Cold)
    }
}

/// Processes of one session.
struct ActiveSession<'a> {
    handles: Vec<Box<dyn SessionHandle + 'a>>,
    /// Index of the process for each side; a side's slot is its own index.
    slots: Vec<usize>,
    observer: &'a dyn Observer,
}

impl<'a> ActiveSession<'a> {
    /// Starts the processes and opens the cases, both in random order.
    fn gather(
        measured: &mut GroupResult,
        plan: &Plan,
        order_rng: &mut OrderRng,
        launcher: &'a dyn Launcher,
        observer: &'a dyn Observer,
    ) -> Result<Self, SessionAbort> {
        let group = measured.group.clone();
        let together = group.together && !group.is_cold();
        // One input for all sides, so that its address favours none; or one for each. If only some sides shared it,
        // they would find it in the caches, which caused a false difference of 5 to 30 % on this project's machines.
        let share = together && group.sides.iter().all(|side| side.key.same_input(&group.sides[0].key));
        let mut running = ActiveSession { handles: Vec::new(), slots: vec![0; group.sides.len()], observer };
        for index in order_rng.permutation(group.sides.len()) {
            let side = &group.sides[index];
            if !together || running.handles.is_empty() {
                let session = measured.sessions.len();
                let link = Link { session, control: side.role == Role::Control };
                let handle = launcher.launch_link(side.build, link, order_rng.below(MOST_PADDING));
                running.handles.push(handle.map_err(|error| running.blame(&error))?);
            }
            running.slots[index] = running.handles.len() - 1;
            let seed = plan.session_seed(measured.sessions.len());
            let request = Request::Open { slot: index, case: side.key.to_string(), seed, share };
            let Reply::Opened { unit, units, working_set, inputs, setup_ns, reference } =
                running.ask(index, &request)?
            else {
                return Err(confused("open"));
            };
            let state = &mut measured.side_states[index];
            (state.unit, state.units, state.setup_ns, state.reference) = (unit, units, setup_ns, reference);
            state.inputs = inputs;
            // The maximum so far: the cache level must not alternate between two looks.
            state.working_set = state.working_set.max(working_set);
        }
        Ok(running)
    }

    /// Pins all sides of single-threaded cases to one processor, a different one in each session: processors of a
    /// virtual machine differ from second to second, and only one side runs at a time anyway.
    fn pin(&mut self, measured: &GroupResult, choice: u64) -> Option<usize> {
        if measured.group.sides.iter().any(|side| side.key.threads != 1) {
            return None;
        }
        let mut cpu = None;
        for handle in &mut self.handles {
            let Ok(Reply::Pinned { cpu: Some(pinned) }) = handle.ask(&Request::Pin { choice }) else {
                return None;
            };
            cpu = Some(pinned);
        }
        cpu
    }

    fn check(&mut self, measured: &mut GroupResult) -> Result<(), SessionAbort> {
        for side in 0..self.slots.len() {
            // Counted amounts are equal in every session.
            let first = measured.sessions.is_empty();
            let amounts = first && measured.group.sides[side].role != Role::Control;
            let Reply::Checked { kernel, digest, amounts } =
                self.ask(side, &Request::Check { slot: side, amounts })?
            else {
                return Err(confused("check"));
            };
            measured.side_states[side].kernel = kernel;
            if first {
                measured.side_states[side].amounts = amounts;
            }
            verify(measured, side, digest)?;
            agree(measured, side)?;
        }
        Ok(())
    }

    /// Chooses the iterations of every side for this session, from the minimum of several alternating probes. The
    /// counts of the previous session are kept while they fit.
    fn calibrate(&mut self, measured: &mut GroupResult, plan: &Plan) -> Result<(), SessionAbort> {
        let is_first = measured.sessions.is_empty();
        let of_class =
            |holds: fn(&Class) -> bool| measured.group.sides.iter().any(|side| holds(&side.key.class));
        let is_process = of_class(|class| class.input_location() == InputLocation::Process);
        // A process is one iteration, and calls that were long in the previous session are not shorter now.
        if !is_first && (is_process || measured.was_long()) {
            return Ok(());
        }
        let probes = if is_process || of_class(|class| class.sampling() == Sampling::Sustained) {
            1
        } else {
            iteration_counts::PROBES
        };
        let (mut least_ns, mut longest_ns) = (vec![f64::INFINITY; self.slots.len()], 1);
        for _ in 0..probes {
            for (side, least_ns) in least_ns.iter_mut().enumerate() {
                if (10.0 * iteration_counts::LONG_NS..f64::INFINITY).contains(least_ns) {
                    continue;
                }
                let reply = self.ask(side, &Request::Calibrate { slot: side, sample_ns: plan.sample_ns })?;
                let Reply::Calibrated { iterations, ns } = reply else {
                    return Err(confused("calibrate"));
                };
                *least_ns = least_ns.min(ns as f64 / iterations.max(1) as f64);
            }
        }
        let keys: Vec<&Key> = measured.group.sides.iter().map(|side| &side.key).collect();
        let call_ns = iteration_counts::of_cases(&keys, &least_ns);
        let previous: Vec<u64> = measured.side_states.iter().map(|state| state.iterations).collect();
        let chosen = match is_first || !iteration_counts::still_fit(&previous, &call_ns, plan.sample_ns) {
            true => iteration_counts::choose(&call_ns, plan.sample_ns),
            false => previous,
        };
        // Older builds do not report their inputs; they get as many as the others.
        let inputs = measured.side_states.iter().map(|state| state.inputs).max().unwrap_or(0);
        for ((state, iterations), (call_ns, least_ns)) in
            measured.side_states.iter_mut().zip(chosen).zip(call_ns.iter().zip(&least_ns))
        {
            state.iterations = iterations;
            state.lead_in = if is_process { 0 } else { iteration_counts::lead_in(inputs, *call_ns) };
            longest_ns = longest_ns.max((*least_ns * iterations as f64) as u64);
        }
        if is_first {
            let setup_ns = measured.side_states.iter().map(|state| state.setup_ns).max().unwrap_or(0);
            measured.rounds = plan.rounds_for(longest_ns, setup_ns);
        }
        Ok(())
    }

    /// Takes one sample; the caller sets its position.
    fn sample(&mut self, measured: &mut GroupResult, side: usize) -> Result<Sample, SessionAbort> {
        if self.observer.stop() {
            return Err(Outcome::Interrupted.into());
        }
        let iterations = measured.side_states[side].iterations.max(1);
        measured.side_states[side].iterations = iterations;
        // The lead-in is requested here and not left to the worker, so that builds of any age get the same.
        let lead_in = measured.side_states[side].lead_in;
        if lead_in > 0 {
            let Reply::Sampled(sampled) =
                self.ask(side, &Request::Work { slot: side, iterations: lead_in })?
            else {
                return Err(confused("work"));
            };
            verify(measured, side, sampled.digest)?;
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

    /// Total memory of all processes.
    fn memory(&mut self) -> Memory {
        let replies = self.handles.iter_mut().map(|handle| match handle.ask(&Request::Memory) {
            Ok(Reply::Memory(memory)) => memory,
            _ => Memory::default(),
        });
        let all: Vec<Memory> = replies.collect();
        let sum = |of: fn(&Memory) -> Option<u64>| all.iter().map(of).sum();
        Memory {
            huge_bytes: sum(|memory| memory.huge_bytes),
            resident_bytes: sum(|memory| memory.resident_bytes),
            reserved_bytes: sum(|memory| memory.reserved_bytes),
            gigantic_bytes: sum(|memory| memory.gigantic_bytes),
        }
    }

    fn ask(&mut self, side: usize, request: &Request) -> Result<Reply, SessionAbort> {
        match self.handles[self.slots[side]].ask(request) {
            Ok(Reply::Unavailable { reason }) => Err(Outcome::Skipped(reason).into()),
            Ok(Reply::Failed { reason }) => Err(Outcome::Failed(reason).into()),
            Ok(reply) => Ok(reply),
            Err(error) => Err(self.blame(&error)),
        }
    }

    /// Classifies an error. An interrupt at the terminal also ends the sessions; then it is not a failure of the
    /// session.
    fn blame(&self, error: &SessionError) -> SessionAbort {
        match error {
            _ if self.observer.stop() => Outcome::Interrupted.into(),
            SessionError::Died { .. } | SessionError::Hung(_) => SessionAbort::Lost(error.to_string()),
            _ => Outcome::Failed(error.to_string()).into(),
        }
    }
}

fn confused(what: &str) -> SessionAbort {
    Outcome::Failed(format!("the session gave an unexpected reply with `{what}`")).into()
}

/// A wrong result ends the group: the speed of a wrong result is meaningless.
fn verify(measured: &mut GroupResult, side: usize, digest: String) -> Result<(), Outcome> {
    let state = &mut measured.side_states[side];
    state.digest = digest;
    if state.digest == state.reference {
        return Ok(());
    }
    let key = &measured.group.sides[side].key;
    Err(Outcome::Incorrect(format!("{key} computed {}, the reference is {}", state.digest, state.reference)))
}

/// Each build has its own reference. Builds whose references differ compute different things, and their times are not
/// comparable.
fn agree(measured: &GroupResult, side: usize) -> Result<(), Outcome> {
    let key = |side: usize| &measured.group.sides[side].key;
    let (digest, first) = (&measured.side_states[side].digest, &measured.side_states[0].digest);
    if !key(side).same_input(key(0)) || digest == first {
        return Ok(());
    }
    Err(Outcome::Incorrect(format!(
        "from one input, {} makes {digest} and {} makes {first}",
        name(measured, side),
        name(measured, 0)
    )))
}

fn name(measured: &GroupResult, side: usize) -> &str {
    &measured.group.sides[side].label
}

#[cfg(test)]
mod bias;
#[cfg(test)]
mod tests;
