//! From what was measured to a report. All conclusions are drawn here, and [`check`](super::check) draws them again
//! by the same functions from the columns of the report.

use super::floor;
use super::schema::{
    Answers, Build, Comparison, Kind, NoiseCard, Plan, Quality, Report, Role, Row, SCHEMA, Samples, Session,
    Side, State, Status, Summary, TimingClass, Units,
};
use crate::campaign::{self, Contest, Measured, Outcome};
use crate::model::floor::Work;
use crate::plan;
use crate::stats::order::{mad, median, median_interval, percentile};
use crate::stats::paired::{Placed, by_session, deltas};
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
    #[must_use]
    pub fn rule(&self) -> Rule {
        let looks = self.looks.iter().zip(&self.alpha);
        Rule {
            looks: looks.map(|(&sessions, &alpha)| Look { sessions, alpha }).collect(),
            min_effect: self.min_effect,
            min_effect_far: self.min_effect_far.unwrap_or(self.min_effect),
            same_within: self.same_within,
            same_from: self.same_from,
        }
    }
}

fn row(measured: &Measured, work: Option<Work>) -> Row {
    let contest = &measured.contest;
    let class = &contest.sides[0].key.class;
    let sides = contest.sides.iter().zip(&measured.seen);
    let sides = sides.map(|(side, seen)| Side {
        label: side.label.clone(),
        role: side.role,
        build: side.build,
        key: side.key.to_string(),
        kernel: seen.kernel.clone(),
        iterations: seen.iterations.max(1),
        units_per_iteration: (seen.units != measured.seen[0].units).then_some(seen.units),
        digest: seen.digest.clone(),
        reference: seen.reference.clone(),
        summary: None,
        floor: None,
    });
    let mut samples = Samples::default();
    for sample in &measured.samples {
        samples.session.push(sample.session);
        samples.round.push(sample.round);
        samples.position.push(sample.position);
        samples.side.push(sample.side);
        samples.ns.push(sample.ns);
        samples.cpu_ns.push(sample.cpu_ns);
        samples.faults.push(sample.faults);
        samples.switches.push(sample.switches);
    }
    Row {
        title: contest.title.clone(),
        class: TimingClass {
            name: class.to_string(),
            includes: class.includes(),
            excludes: class.excludes(),
        },
        units: Units { kind: measured.seen[0].unit.clone(), per_iteration: measured.seen[0].units },
        work,
        reach: measured.reach(),
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
        samples,
        sessions: measured
            .sessions
            .iter()
            .map(|seen| Session {
                before: seen.before,
                after: seen.after,
                huge_bytes: seen.memory.huge,
                resident_bytes: seen.memory.resident,
                reserved_bytes: seen.memory.reserved,
                gigantic_bytes: seen.memory.gigantic,
                cpu: seen.cpu,
            })
            .collect(),
        comparisons: Vec::new(),
    }
}

/// Computes every summary and comparison from the samples of the rows: the only source of conclusions.
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
        for ((row, side), result) in places.into_iter().zip(rule.judge(&family)) {
            rows[row].comparisons.push(wire_comparison(side, &result));
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
        ratio: result.ratio,
        interval: result.interval.map(|(low, high)| [low, high]),
        p: result.p,
        p_family: result.p_family,
        spread: result.spread,
        verdict: result.verdict,
        sessions_needed: result.sessions_needed,
    }
}

impl Row {
    /// Nanoseconds per iteration of the samples of `side`, grouped by whole sessions.
    fn by_session(&self, side: usize) -> Vec<Vec<f64>> {
        self.grouped(side, |side| side.iterations as f64)
    }

    /// The paired log ratio of `side` to the first side, for each whole session: of the times for the same work.
    pub(crate) fn deltas(&self, side: usize) -> Vec<f64> {
        let work = |side: &Side| {
            let units = side.units_per_iteration.unwrap_or(self.units.per_iteration);
            side.iterations as f64 * units.max(1) as f64
        };
        deltas(&self.grouped(0, work), &self.grouped(side, work))
    }

    fn grouped(&self, side: usize, divisor: impl Fn(&Side) -> f64) -> Vec<Vec<f64>> {
        let columns = self.samples.session.iter().zip(&self.samples.side).zip(&self.samples.ns);
        let placed = columns.map(|((&session, &side), &ns)| Placed {
            session,
            side,
            ns: ns as f64 / divisor(&self.sides[side]),
        });
        by_session(placed, self.sessions.len(), side)
    }

    pub(crate) fn evidence(&self, side: usize) -> Evidence {
        Evidence { deltas: self.deltas(side), reach: self.reach }
    }
}

fn summary(row: &Row, side: usize) -> Option<Summary> {
    let sessions = row.by_session(side);
    let medians: Vec<f64> = sessions.iter().filter(|s| !s.is_empty()).map(|s| median(s)).collect();
    let all: Vec<f64> = sessions.concat();
    (!all.is_empty()).then(|| Summary {
        samples: all.len(),
        median_ns: median(&medians),
        interval_ns: median_interval(&medians, LEVEL).map(|(low, high)| [low, high]),
        mad_ns: mad(&medians),
        mean_ns: all.iter().sum::<f64>() / all.len() as f64,
        p95_ns: percentile(&all, 0.95),
    })
}
