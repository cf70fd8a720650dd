//! From what was measured to a report. All conclusions are drawn here, and [`check`](super::check) draws them again
//! by the same functions from what the sessions gave.

use super::floor;
use super::schema::{
    Answers, Build, Comparison, Kind, Memory, NoiseCard, Plan, Quality, Report, Retry, Role, Row, SCHEMA,
    Side, State, Status, Summary, TimingClass, Units, Verdict,
};
use crate::campaign::counts::{Length, are_unequal};
use crate::campaign::{self, Contest, Measured, Outcome, SessionSeen};
use crate::model::class::Class;
use crate::model::floor::Work;
use crate::plan;
use crate::stats::order::{median, median_interval, six_digits};
use crate::stats::verdict::{self, Evidence, LEVEL, Look, Rule};
use hashmill_machine::{Load, Machine};

/// What is known before the first sample.
pub(crate) struct Heading {
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
    /// The least work of each contest, in their order; missing at the end where nobody counted.
    pub(crate) works: Vec<Option<Work>>,
    pub(crate) before: Load,
}

/// The report of what was measured so far.
pub(crate) fn report(heading: &Heading, all: &[Measured], after: Load, elapsed_ms: u64) -> Report {
    let contests: Vec<Contest> = all.iter().map(|measured| measured.contest.clone()).collect();
    let plan = wire_plan(&heading.plan, campaign::family_size(&contests), heading.same_code);
    let works = heading.works.iter().copied().chain(std::iter::repeat(None));
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
        id: heading.id.clone(),
        created: heading.created.clone(),
        command: heading.command.clone(),
        kind: heading.kind,
        state,
        machine: heading.machine.clone(),
        builds: heading.builds.clone(),
        plan,
        answers: heading.answers.clone(),
        noise: heading.noise.clone(),
        samples_sha256: None,
        classes: classes(&contests),
        rows,
        quality: Quality { before: heading.before, after, elapsed_ms, flags: Vec::new() },
        seal: String::new(),
    };
    report.quality.flags = super::quality::flags(&report);
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
    /// The rule of decision that the plan describes.
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

fn row(measured: &Measured, work: Option<Work>) -> Row {
    let contest = &measured.contest;
    let gave = measured.gave();
    let sides = contest.sides.iter().zip(&measured.seen);
    let sides = sides.zip(gave.session_ns.into_iter().zip(gave.deltas));
    let counts = |side: usize| -> Vec<u64> {
        let counts = measured.sessions.iter().map(|session| session.iterations[side]);
        let last = measured.seen[side].iterations.max(1);
        if counts.clone().all(|count| count == last) { Vec::new() } else { counts.collect() }
    };
    let sides = sides.enumerate();
    let sides = sides.map(|(index, ((side, seen), (session_ns, deltas)))| Side {
        label: side.label.clone(),
        role: side.role,
        build: side.build,
        key: side.key.to_string(),
        kernel: seen.kernel.clone(),
        iterations: seen.iterations.max(1),
        session_iterations: counts(index),
        units_per_iteration: (seen.units != measured.seen[0].units).then_some(seen.units),
        digest: seen.digest.clone(),
        reference: if seen.reference == seen.digest { String::new() } else { seen.reference.clone() },
        session_ns,
        deltas,
        amounts: seen.amounts.clone(),
        summary: None,
        floor: None,
    });
    Row {
        title: contest.title.clone(),
        class: contest.sides[0].key.class.to_string(),
        units: Units { kind: measured.seen[0].unit.clone(), per_iteration: measured.seen[0].units },
        work,
        reach: measured.reach(),
        layouts: contest.layouts.clone(),
        together: contest.together,
        rounds: measured.rounds,
        status: match &measured.outcome {
            Outcome::Complete => Status::Ok,
            Outcome::Running | Outcome::Interrupted => Status::Unfinished,
            Outcome::Skipped(why) => Status::Skipped(why.clone()),
            Outcome::Incorrect(why) => Status::Incorrect(why.clone()),
            Outcome::Failed(why) => Status::Failed(why.clone()),
        },
        sides: sides.collect(),
        sessions: measured.sessions.iter().map(|seen| memory(contest, seen)).collect(),
        windows_ns: gave.windows_ns,
        retried: measured
            .retried
            .iter()
            .map(|(session, why)| Retry { session: *session, why: why.clone() })
            .collect(),
        comparisons: Vec::new(),
        instructions: Vec::new(),
        commands: None,
    }
}

/// The memory of small cases is that of their program.
fn memory(contest: &Contest, seen: &SessionSeen) -> Memory {
    if contest.sides.iter().any(is_large) { seen.memory } else { Memory::default() }
}

/// Whether a side is of a case that can fill a huge page.
fn is_large(side: &campaign::Side) -> bool {
    side.key.size.0 >= super::pages::LARGE
}

/// The timing classes of all contests, each once.
fn classes(contests: &[Contest]) -> Vec<TimingClass> {
    let mut classes: Vec<TimingClass> = Vec::new();
    for contest in contests {
        let class = TimingClass::of(&contest.sides[0].key.class);
        if !classes.contains(&class) {
            classes.push(class);
        }
    }
    classes
}

impl TimingClass {
    pub(crate) fn of(class: &Class) -> Self {
        TimingClass { name: class.to_string(), includes: class.includes(), excludes: class.excludes() }
    }
}

/// Computes every summary and comparison from what the sessions of the rows gave: the only source of conclusions.
///
/// Candidates of all rows are one family; controls are another, since they are a test of the measurement.
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
        // A control is of one build, so that nothing excuses a difference to it.
        let fixed_layout = rule.fixed_layout.filter(|_| role == Role::Candidate);
        let rule = Rule { fixed_layout, ..rule.clone() };
        for ((row, side), result) in places.into_iter().zip(rule.judge(&family)) {
            let mut comparison = wire_comparison(side, &result);
            if rows[row].is_unequal(side) {
                (comparison.verdict, comparison.sessions_needed) = (Verdict::Inconclusive, None);
            }
            rows[row].comparisons.push(comparison);
        }
    }
    for row in rows.iter_mut() {
        row.comparisons.sort_by_key(|comparison| comparison.side);
    }
    floor::conclude(rows);
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
    /// Whether samples of a side and of the baseline differed in length, so that the side with the shorter ones looks slower
    /// than it is. No verdict follows from such a row.
    pub(crate) fn is_unequal(&self, side: usize) -> bool {
        let [first, side] = [&self.sides[0], &self.sides[side]];
        let sessions = first.session_ns.iter().zip(&side.session_ns).enumerate();
        are_unequal(sessions.map(|(session, times)| {
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
