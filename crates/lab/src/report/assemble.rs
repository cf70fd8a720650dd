//! Assembly of a report from measured data. All conclusions are computed here; [`check`](super::check) computes them
//! again with the same functions from the data of the sessions.

use super::analysis::lower_bound;
use super::schema::{
    Answers, Build, Comparison, Kind, Memory, NoiseCard, Plan, Quality, Report, Retry, Role, Row, SCHEMA,
    Side, State, Status, Summary, TimingClass, Units, Verdict,
};
use crate::measure::campaign::iteration_counts::{Length, are_unequal};
use crate::measure::campaign::{CaseGroup, GroupResult, Outcome, SessionStats};
use crate::measure::{campaign, plan};
use crate::model::class::Class;
use crate::model::lower_bound::MinimalWork;
use crate::stats::order::{median, median_interval, six_digits};
use crate::stats::verdict::{self, Evidence, LEAST_FOR_CLAIM, LEVEL, Look, Rule};
use hashmill_machine::{Load, Machine};

/// What is known of a run before the first sample.
pub(crate) struct RunHeader {
    pub(crate) kind: Kind,
    pub(crate) id: String,
    pub(crate) created: String,
    pub(crate) command: Vec<String>,
    pub(crate) machine: Machine,
    pub(crate) builds: Vec<Build>,
    pub(crate) plan: plan::Plan,
    pub(crate) same_code: bool,
    pub(crate) answers: Vec<Answers>,
    pub(crate) noise: Option<NoiseCard>,
    /// Minimal work of each group in order; the list may be shorter than the groups.
    pub(crate) works: Vec<Option<MinimalWork>>,
    pub(crate) before: Load,
}

/// Report of the data measured so far.
pub(crate) fn report(header: &RunHeader, all: &[GroupResult], after: Load, elapsed_ms: u64) -> Report {
    let groups: Vec<CaseGroup> = all.iter().map(|measured| measured.group.clone()).collect();
    let plan = wire_plan(&header.plan, campaign::family_size(&groups), header.same_code);
    let works = header.works.iter().copied().chain(std::iter::repeat(None));
    let mut rows: Vec<Row> = all.iter().zip(works).map(|(measured, work)| row(measured, work)).collect();
    conclude(&plan, &mut rows);
    let state = if all.iter().any(|m| m.outcome == Outcome::Interrupted) {
        State::Interrupted
    } else if all.iter().any(|m| m.outcome == Outcome::Running) {
        State::Running
    } else {
        State::Complete
    };
    let mut report = Report {
        schema: SCHEMA.to_owned(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        id: header.id.clone(),
        created: header.created.clone(),
        command: header.command.clone(),
        kind: header.kind,
        state,
        machine: header.machine.clone(),
        builds: header.builds.clone(),
        plan,
        answers: header.answers.clone(),
        noise: header.noise.clone(),
        samples_sha256: None,
        classes: classes(&groups),
        rows,
        quality: Quality { before: header.before, after, elapsed_ms, flags: Vec::new() },
        seal: String::new(),
    };
    report.quality.flags = crate::report::analysis::conditions::flags(&report);
    report.seal = report.compute_seal();
    report
}

pub(crate) fn wire_plan(plan: &plan::Plan, family: usize, same_code: bool) -> Plan {
    let plan::Plan { rule, solo_sessions, rounds, warm_ups, sample_ns, cool_down_ms, pin, seed, .. } = plan;
    Plan {
        looks: rule.looks.iter().map(|look| look.sessions).collect(),
        alpha: rule.looks.iter().map(|look| look.alpha).collect(),
        min_effect: rule.min_effect,
        min_effect_far: Some(rule.min_effect_far),
        same_within: rule.same_within,
        same_from: rule.same_from,
        fixed_layout: rule.fixed_layout,
        rule: rule.version,
        level: LEVEL,
        solo_sessions: *solo_sessions,
        rounds: *rounds,
        warm_ups: *warm_ups,
        sample_ns: *sample_ns,
        cool_down_ms: *cool_down_ms,
        pin: *pin,
        seed: *seed,
        family,
        same_code,
    }
}

impl Plan {
    /// Decision rule of the plan.
    pub(crate) fn rule(&self) -> Rule {
        let looks = self.looks.iter().zip(&self.alpha);
        Rule {
            looks: looks.map(|(&sessions, &alpha)| Look { sessions, alpha }).collect(),
            min_effect: self.min_effect,
            min_effect_far: self.min_effect_far.unwrap_or(self.min_effect),
            same_within: self.same_within,
            same_from: self.same_from,
            fixed_layout: self.fixed_layout,
            version: self.rule,
        }
    }
}

fn row(measured: &GroupResult, work: Option<MinimalWork>) -> Row {
    let group = &measured.group;
    let row_evidence = measured.row_evidence();
    let sides = group.sides.iter().zip(&measured.side_states);
    let sides = sides.zip(row_evidence.session_ns.into_iter().zip(row_evidence.deltas));
    let counts = |side: usize| -> Vec<u64> {
        let counts = measured.sessions.iter().map(|session| session.iterations[side]);
        let last = measured.side_states[side].iterations.max(1);
        if counts.clone().all(|count| count == last) { Vec::new() } else { counts.collect() }
    };
    let sides = sides.enumerate();
    let sides = sides.map(|(index, ((side, state), (session_ns, deltas)))| Side {
        label: side.label.clone(),
        role: side.role,
        build: side.build,
        key: side.key.to_string(),
        kernel: state.kernel.clone(),
        iterations: state.iterations.max(1),
        session_iterations: counts(index),
        units_per_iteration: (state.units != measured.side_states[0].units).then_some(state.units),
        digest: state.digest.clone(),
        reference: if state.reference == state.digest { String::new() } else { state.reference.clone() },
        session_ns,
        deltas,
        amounts: state.amounts.clone(),
        summary: None,
        floor: None,
    });
    Row {
        title: group.title.clone(),
        class: group.sides[0].key.class.to_string(),
        units: Units {
            kind: measured.side_states[0].unit.clone(),
            per_iteration: measured.side_states[0].units,
        },
        work,
        reach: measured.reach(),
        layouts: group.layouts.clone(),
        together: group.together,
        rounds: measured.rounds,
        status: match &measured.outcome {
            Outcome::Complete => Status::Ok,
            Outcome::Running | Outcome::Interrupted => Status::Unfinished,
            Outcome::Skipped(reason) => Status::Skipped(reason.clone()),
            Outcome::Incorrect(reason) => Status::Incorrect(reason.clone()),
            Outcome::Failed(reason) => Status::Failed(reason.clone()),
        },
        sides: sides.collect(),
        sessions: measured.sessions.iter().map(|session| memory(group, session)).collect(),
        windows_ns: row_evidence.windows_ns,
        retried: measured
            .retried
            .iter()
            .map(|(session, reason)| Retry { session: *session, why: reason.clone() })
            .collect(),
        comparisons: Vec::new(),
        instructions: Vec::new(),
        commands: None,
    }
}

/// For small cases this is the memory of their program.
fn memory(group: &CaseGroup, session: &SessionStats) -> Memory {
    if group.sides.iter().any(is_large) { session.memory } else { Memory::default() }
}

/// Whether the case of a side is large enough to fill a huge page.
fn is_large(side: &campaign::Side) -> bool {
    side.key.size.0 >= crate::report::analysis::page_sizes::LARGE
}

/// Timing classes of all groups without duplicates.
fn classes(groups: &[CaseGroup]) -> Vec<TimingClass> {
    let mut classes: Vec<TimingClass> = Vec::new();
    for group in groups {
        let class = TimingClass::from_class(&group.sides[0].key.class);
        if !classes.contains(&class) {
            classes.push(class);
        }
    }
    classes
}

impl TimingClass {
    pub(crate) fn from_class(class: &Class) -> Self {
        TimingClass { name: class.to_string(), includes: class.includes(), excludes: class.excludes() }
    }
}

/// Computes every summary and comparison from the sessions of the rows: the only source of conclusions.
///
/// The candidates of all rows are one family of comparisons; the controls are another, because they test the
/// measurement.
pub(crate) fn conclude(plan: &Plan, rows: &mut [Row]) {
    let rule = plan.rule();
    for row in rows.iter_mut() {
        let summaries: Vec<Option<Summary>> = (0..row.sides.len()).map(|side| summary(row, side)).collect();
        for (side, summary) in row.sides.iter_mut().zip(summaries) {
            side.summary = summary;
        }
        row.comparisons.clear();
    }
    for role in [Role::Candidate, Role::Control] {
        let places: Vec<(usize, usize)> = (0..rows.len())
            .flat_map(|row| (1..rows[row].sides.len()).map(move |side| (row, side)))
            .filter(|(row, side)| rows[*row].sides[*side].role == role)
            .collect();
        let family: Vec<Evidence> = places.iter().map(|(row, side)| rows[*row].evidence(*side)).collect();
        // A control compares a build with itself, so no layout difference can explain a result.
        let fixed_layout = rule.fixed_layout.filter(|_| role == Role::Candidate);
        let rule = Rule { fixed_layout, ..rule.clone() };
        for ((row, side), result) in places.into_iter().zip(rule.judge(&family)) {
            let mut comparison = wire_comparison(side, &result);
            if rows[row].differs_in_length(side) {
                (comparison.verdict, comparison.sessions_needed) = (Verdict::Inconclusive, None);
            }
            rows[row].comparisons.push(comparison);
        }
    }
    for row in rows.iter_mut() {
        row.comparisons.sort_by_key(|comparison| comparison.side);
    }
    lower_bound::conclude(rows);
}

fn wire_comparison(side: usize, result: &verdict::Comparison) -> Comparison {
    Comparison {
        side,
        sessions: result.sessions,
        ratio: six_digits(result.ratio),
        interval: result.interval.map(|(low, high)| [low, high].map(six_digits)),
        p: six_digits(result.p),
        p_family: six_digits(result.p_family),
        spread: six_digits(result.spread),
        verdict: result.verdict,
        sessions_needed: result.sessions_needed,
    }
}

impl Row {
    /// Whether a finished row has no verdict because samples of a side and of the baseline had different lengths. An unfinished one
    /// has none in any case, and the sessions that it lacks could be the equal ones: it is incomplete and not invalid.
    pub(crate) fn is_unequal(&self, side: usize) -> bool {
        self.status != Status::Unfinished && self.differs_in_length(side)
    }

    /// Whether the samples of a side and of the baseline had different lengths in too many sessions, which makes the side with
    /// shorter samples look slower. With fewer sessions than a claim needs there is no verdict anyway, and one disturbed session
    /// would be most of them.
    pub(crate) fn differs_in_length(&self, side: usize) -> bool {
        let [first, side] = [&self.sides[0], &self.sides[side]];
        let sessions = first.session_ns.iter().zip(&side.session_ns).enumerate();
        sessions.len() >= LEAST_FOR_CLAIM
            && are_unequal(sessions.map(|(session, times)| {
                [(first, times.0), (side, times.1)]
                    .map(|(side, ns)| Length { iterations: side.iterations_in(session), ns: *ns })
            }))
    }

    pub(crate) fn evidence(&self, side: usize) -> Evidence {
        let layouts = self.layouts.as_ref().map(|moved| moved.by);
        Evidence { deltas: self.sides[side].deltas.clone(), reach: self.reach, layouts }
    }
}

fn summary(row: &Row, side: usize) -> Option<Summary> {
    let medians = &row.sides[side].session_ns;
    (!medians.is_empty()).then(|| Summary {
        median_ns: six_digits(median(medians)),
        interval_ns: median_interval(medians, LEVEL).map(|(low, high)| [low, high]),
    })
}
