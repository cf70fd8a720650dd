//! Judges demands by reports: passed, failed, unproven, or not measured.

use super::gate::{Demand, Measure, Pair};
use crate::report::schema::{Build, Comparison, Kind, Report, Role, Row, Side, Status};
use crate::stats::order::{median, median_interval};
use crate::stats::signed_rank::hodges_lehmann;
use crate::stats::verdict::{LEVEL, Rule};
use std::collections::BTreeSet;

/// Verdict on a demand.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// The whole interval is at or above the threshold.
    Pass,
    /// The whole interval is below the threshold.
    Fail,
    /// The interval contains the threshold, or there are too few sessions.
    Unproven,
    /// There is no threshold.
    Open,
    /// The run was interrupted before the last analysis. The numbers are those of the measured sessions.
    Unfinished,
    /// The case could not be measured.
    Missing(String),
    /// The samples of the two sides had different lengths, so there is no conclusion.
    Unequal,
}

/// A verdict with its ratio, the other's time divided by ours.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Judged {
    pub(crate) verdict: Verdict,
    pub(crate) ratio: Option<f64>,
    pub(crate) interval: Option<[f64; 2]>,
}

impl Judged {
    fn missing(reason: impl Into<String>) -> Self {
        Judged { verdict: Verdict::Missing(reason.into()), ratio: None, interval: None }
    }
}

/// Judges each demand by the first report that compares any of it in a build that the demand applies to, using the
/// least favourable of these builds. Results of other builds do not count.
///
/// All demands are one family: the intervals are wide enough that all thresholds of a file are judged correctly in 99
/// of 100 runs, whatever the number of analyses. Demands without a threshold and counted amounts do not widen the
/// other intervals.
pub(crate) fn judge(demands: &[&Demand], reports: &[Report]) -> Vec<Judged> {
    let found: Vec<Option<(&Report, BTreeSet<usize>)>> =
        demands.iter().map(|demand| measured(demand, reports)).collect();
    let with_bar = demands
        .iter()
        .zip(&found)
        .filter(|(demand, _)| demand.must.is_some() && !demand.measure.is_counted());
    let family: usize = with_bar.filter_map(|(_, found)| Some(found.as_ref()?.1.len())).sum();
    let judged = demands.iter().zip(found).map(|(demand, found)| match found {
        Some((report, builds)) => in_report(demand, report, builds, family),
        None => unmeasured(demand, reports),
    });
    judged.collect()
}

/// The first report that compares any of the demand in builds that it applies to, and these builds.
fn measured<'a>(demand: &Demand, reports: &'a [Report]) -> Option<(&'a Report, BTreeSet<usize>)> {
    let of = |report: &Report| -> BTreeSet<usize> {
        let builds = in_any_build(demand, report).into_iter();
        builds
            .filter(|build| report.builds.get(*build).is_some_and(|b| is_about(demand, report, b)))
            .collect()
    };
    reports.iter().map(|report| (report, of(report))).find(|(_, builds)| !builds.is_empty())
}

/// All builds of a report that compare any of the demand.
fn in_any_build(demand: &Demand, report: &Report) -> BTreeSet<usize> {
    let builds = |pair| match demand.measure.is_alone() {
        true => own_sides(pair, report).map(|(build, ..)| build).collect::<Vec<_>>(),
        false => comparisons(pair, report).map(|(build, ..)| build).collect(),
    };
    demand.pairs.iter().flat_map(builds).collect()
}

/// Whether the demand applies to a build: one that it lists, or else the program itself. In a comparison of two
/// builds it applies to them, whatever their labels.
fn is_about(demand: &Demand, report: &Report, build: &Build) -> bool {
    match &demand.builds[..] {
        [] => report.kind == Kind::Builds || build.label == Build::SELF,
        named => named.contains(&build.label),
    }
}

/// Reason why no report covers the demand.
fn unmeasured(demand: &Demand, reports: &[Report]) -> Judged {
    let labels = reports.iter().flat_map(|report| {
        let builds = in_any_build(demand, report).into_iter();
        builds.filter_map(|build| report.builds.get(build)).map(|build| format!("`{}`", build.label))
    });
    let others: BTreeSet<String> = labels.collect();
    if others.is_empty() {
        return Judged::missing("no report compares it");
    }
    let others = others.into_iter().collect::<Vec<_>>().join(", ");
    let requested: Vec<&str> = match &demand.builds[..] {
        [] => vec![Build::SELF],
        named => named.iter().map(String::as_str).collect(),
    };
    Judged::missing(format!("measured in build {others}, but the gate is about `{}`", requested.join("`, `")))
}

fn in_report(demand: &Demand, report: &Report, measured: BTreeSet<usize>, family: usize) -> Judged {
    let missing = demand.builds.iter().find(|label| {
        !measured.iter().any(|build| report.builds.get(*build).is_some_and(|build| build.label == **label))
    });
    if let Some(label) = missing {
        return Judged::missing(format!("build `{label}` was not measured"));
    }
    let judged = measured.into_iter().map(|build| in_build(demand, report, build, family));
    let worst = judged.min_by(|a, b| {
        let order = severity(a).cmp(&severity(b));
        order.then(a.ratio.unwrap_or(0.0).total_cmp(&b.ratio.unwrap_or(0.0)))
    });
    worst.unwrap_or_else(|| Judged::missing("no report compares it"))
}

/// Rank of a verdict; worse is less.
fn severity(judged: &Judged) -> u8 {
    match judged.verdict {
        Verdict::Missing(_) | Verdict::Unequal => 0,
        Verdict::Fail => 1,
        Verdict::Unproven | Verdict::Unfinished => 2,
        Verdict::Pass | Verdict::Open => 3,
    }
}

/// All comparisons of a pair in a report.
fn comparisons<'a>(
    pair: &'a Pair,
    report: &'a Report,
) -> impl Iterator<Item = (usize, &'a Row, &'a Comparison)> {
    let own = pair.own.to_string();
    let rival = pair.rival.as_ref().map_or_else(|| own.clone(), ToString::to_string);
    // Without a rival, the case is compared between two builds.
    let kind = pair.rival.is_some() != (report.kind == Kind::Builds);
    let rows =
        report.rows.iter().filter(move |row| kind && row.sides.first().is_some_and(|s| s.key == rival));
    rows.filter_map(move |row| {
        let is_own_side = |side: &Side| side.role == Role::Candidate && side.key == own;
        let comparison =
            row.comparisons.iter().find(|comparison| is_own_side(&row.sides[comparison.side]))?;
        Some((row.sides[comparison.side].build, row, comparison))
    })
}

/// Our side of a pair in all rows; of two builds, ours.
fn own_sides<'a>(pair: &'a Pair, report: &'a Report) -> impl Iterator<Item = (usize, &'a Row, &'a Side)> {
    let key = pair.own.to_string();
    let sides = report.rows.iter().flat_map(|row| row.sides.iter().map(move |side| (side.build, row, side)));
    let other = if report.kind == Kind::Builds { Role::Baseline } else { Role::Control };
    sides.filter(move |(_, _, side)| ![other, Role::Control].contains(&side.role) && side.key == key)
}

/// Reason why a row cannot be used.
fn broken(row: &Row) -> Option<Judged> {
    match &row.status {
        Status::Ok | Status::Unfinished => None,
        Status::Skipped(reason) | Status::Incorrect(reason) | Status::Failed(reason) => {
            Some(Judged::missing(reason))
        }
    }
}

/// Judges a demand on our side only.
fn alone(demand: &Demand, report: &Report, build: usize, family: usize) -> Judged {
    let Some((_, row, side)) = own_sides(&demand.pairs[0], report).find(|(b, ..)| *b == build) else {
        return Judged::missing("it was not measured");
    };
    if let Some(judged) = broken(row) {
        return judged;
    }
    match &demand.measure {
        Measure::Within(_) if side.session_ns.is_empty() => {
            Judged { verdict: Verdict::Unfinished, ratio: None, interval: None }
        }
        Measure::Within(ns) => {
            let level = 1.0 - (1.0 - LEVEL) / family.max(1) as f64;
            let interval = median_interval(&side.session_ns, level).map(|(low, high)| [ns / high, ns / low]);
            let verdict = if row.status == Status::Unfinished {
                Verdict::Unfinished
            } else {
                verdict(demand.must, interval)
            };
            Judged { verdict, ratio: Some(ns / median(&side.session_ns)), interval }
        }
        Measure::Beside(name, other) => counted(demand, &[([side, side], [other, name])]),
        Measure::Time | Measure::Amount(_) => Judged::missing("it needs two sides"),
    }
}

/// Geometric mean of ratios of exact amounts, the other's divided by ours.
fn counted(demand: &Demand, all: &[([&Side; 2], [&str; 2])]) -> Judged {
    let mut log = 0.0;
    for (sides, names) in all {
        let mut amounts = [0.0; 2];
        for ((amount, side), name) in amounts.iter_mut().zip(sides).zip(names) {
            match side.amount(name) {
                Some(bytes) if bytes > 0 => *amount = bytes as f64,
                _ => return Judged::missing(format!("{} counted no `{name}`", side.key)),
            }
        }
        log += (amounts[0] / amounts[1]).ln();
    }
    let ratio = (log / all.len() as f64).exp();
    let interval = Some([ratio, ratio]);
    Judged { verdict: verdict(demand.must, interval), ratio: Some(ratio), interval }
}

fn in_build<'a>(demand: &'a Demand, report: &'a Report, build: usize, family: usize) -> Judged {
    if demand.measure.is_alone() {
        return alone(demand, report, build, family);
    }
    let mut found = Vec::new();
    let mut unfinished = false;
    for pair in &demand.pairs {
        let Some((_, row, comparison)) = comparisons(pair, report).find(|(b, ..)| *b == build) else {
            return Judged::missing(format!("no report compares {}", pair.own));
        };
        if let Some(judged) = broken(row) {
            return judged;
        }
        if demand.measure == Measure::Time && row.is_unequal(comparison.side) {
            return Judged { verdict: Verdict::Unequal, ratio: None, interval: None };
        }
        unfinished |= row.status == Status::Unfinished;
        found.push((row, comparison));
    }
    if let Measure::Amount(name) = &demand.measure {
        let sides = |(row, comparison): &(&'a Row, &'a Comparison)| {
            ([&row.sides[0], &row.sides[comparison.side]], [name.as_str(); 2])
        };
        return counted(demand, &found.iter().map(sides).collect::<Vec<_>>());
    }
    if found.iter().any(|(_, comparison)| comparison.sessions == 0) {
        return Judged { verdict: Verdict::Unfinished, ratio: None, interval: None };
    }
    let (ratio, interval) = mean(&found, &report.plan.rule(), family);
    let verdict = if unfinished { Verdict::Unfinished } else { verdict(demand.must, interval) };
    Judged { verdict, ratio: Some(ratio), interval }
}

/// Geometric mean of comparisons with its exact interval: sessions are matched by index, so that each session of the
/// mean is one number again.
fn mean(all: &[(&Row, &Comparison)], rule: &Rule, family: usize) -> (f64, Option<[f64; 2]>) {
    let series: Vec<Vec<f64>> =
        all.iter().map(|(row, comparison)| row.evidence(comparison.side).deltas).collect();
    let sessions = series.iter().map(Vec::len).min().unwrap_or(0);
    let of_session = |session: usize| series.iter().map(|deltas| deltas[session]).sum::<f64>();
    let deltas: Vec<f64> = (0..sessions).map(|s| of_session(s) / series.len() as f64).collect();
    if deltas.is_empty() {
        return (1.0, None);
    }
    let interval = rule.interval_among(&deltas, family).map(|(low, high)| [low.exp(), high.exp()]);
    (hodges_lehmann(&deltas).exp(), interval)
}

fn verdict(must: Option<f64>, interval: Option<[f64; 2]>) -> Verdict {
    match (must, interval) {
        (None, _) => Verdict::Open,
        (Some(must), Some([low, _])) if low >= must => Verdict::Pass,
        (Some(must), Some([_, high])) if high < must => Verdict::Fail,
        _ => Verdict::Unproven,
    }
}

/// A failure that an independent run does not confirm is unproven.
pub(crate) fn confirmed(first: Judged, again: &Judged) -> Judged {
    match (&first.verdict, &again.verdict) {
        (Verdict::Fail, Verdict::Fail) => first,
        (Verdict::Fail, _) => Judged { verdict: Verdict::Unproven, ..first },
        _ => first,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::schema::Amount;

    #[test]
    fn the_whole_interval_decides() {
        let interval = Some([1.25, 2.0]);
        for (must, expected) in [
            (Some(1.25), Verdict::Pass),
            (Some(1.26), Verdict::Unproven),
            (Some(2.0), Verdict::Unproven),
            (Some(2.01), Verdict::Fail),
            (None, Verdict::Open),
        ] {
            assert_eq!(verdict(must, interval), expected, "{must:?}");
        }
        assert_eq!(verdict(Some(1.0), None), Verdict::Unproven);
    }

    /// A report with the same sessions for each of the sizes.
    fn report(sizes: &[u64]) -> Report {
        let mut report = crate::report::tests::report();
        let one = report.rows[0].clone();
        let sized = |size: &u64| {
            let mut row = one.clone();
            for side in &mut row.sides {
                side.key = side.key.replace("4KiB", &size.to_string());
            }
            row
        };
        report.rows = sizes.iter().map(sized).collect();
        report
    }

    #[test]
    fn samples_of_unequal_length_neither_pass_nor_fail_a_threshold() {
        let pair = |engine: &str| format!("hash/{engine}/kernel/4KiB/t1").parse().expect("a key");
        let demand = Demand {
            gate: 0,
            pairs: vec![Pair { own: pair("ours"), rival: Some(pair("rival")) }],
            measure: Measure::Time,
            must: Some(1.0),
            aim: None,
            builds: Vec::new(),
        };
        let mut report = crate::report::tests::report();
        let judged = |report: &Report| judge(&[&demand], std::slice::from_ref(report))[0].clone();
        assert!(judged(&report).ratio.is_some());
        report.rows[0].sides[1].iterations *= 4;
        assert_eq!(judged(&report), Judged { verdict: Verdict::Unequal, ratio: None, interval: None });
        // Further sessions could be equal.
        report.rows[0].status = Status::Unfinished;
        assert_eq!(judged(&report).verdict, Verdict::Unfinished);
    }

    #[test]
    fn many_thresholds_are_judged_together() {
        let demand = |size: u64| {
            let pair = |engine: &str| format!("hash/{engine}/kernel/{size}/t1").parse().expect("a key");
            Demand {
                gate: 0,
                pairs: vec![Pair { own: pair("ours"), rival: Some(pair("rival")) }],
                measure: Measure::Time,
                must: Some(1.0),
                aim: None,
                builds: Vec::new(),
            }
        };
        let sizes: Vec<u64> = (1..=100).collect();
        let demands: Vec<Demand> = sizes.iter().map(|size| demand(*size)).collect();
        let reports = [report(&sizes)];
        let width = |count: usize| {
            let some: Vec<&Demand> = demands.iter().take(count).collect();
            let [low, high] = judge(&some, &reports)[0].interval.expect("twenty sessions");
            high - low
        };
        assert!(width(1) < width(10) && width(10) < width(100), "{} {} {}", width(1), width(10), width(100));
        let mut open = demands.clone();
        open.iter_mut().skip(1).for_each(|demand| demand.must = None);
        let alone = judge(&open.iter().collect::<Vec<_>>(), &reports)[0].clone();
        assert_eq!(alone, judge(&[&demands[0]], &reports)[0], "what is only reported costs nothing");
    }

    #[test]
    fn counted_amounts_are_exact_and_times_have_own_thresholds() {
        let mut reports = [report(&[64])];
        let amount = |name: &str, bytes| Amount { name: name.to_owned(), bytes };
        reports[0].rows[0].sides[0].amounts = vec![amount("saved", 300)];
        reports[0].rows[0].sides[1].amounts = vec![amount("saved", 200), amount("held", 150)];
        let judged = |measure: Measure, must: f64| {
            let pair = |engine: &str| format!("hash/{engine}/kernel/64/t1").parse().expect("a key");
            let rival = (!measure.is_alone()).then(|| pair("rival"));
            let demand = Demand {
                gate: 0,
                pairs: vec![Pair { own: pair("ours"), rival }],
                measure,
                must: Some(must),
                aim: None,
                builds: Vec::new(),
            };
            judge(&[&demand], &reports).remove(0)
        };
        let saved = |must| judged(Measure::Amount("saved".to_owned()), must);
        assert_eq!((saved(1.4).verdict, saved(1.4).ratio), (Verdict::Pass, Some(1.5)));
        assert_eq!(saved(1.6).verdict, Verdict::Fail);
        let beside = judged(Measure::Beside("saved".to_owned(), "held".to_owned()), 0.7);
        assert_eq!((beside.verdict, beside.ratio), (Verdict::Pass, Some(0.75)));
        let lacking = judged(Measure::Amount("held".to_owned()), 1.0).verdict;
        assert_eq!(lacking, Verdict::Missing("hash/rival/kernel/64/t1 counted no `held`".to_owned()));
        // Our side takes 900 ns.
        assert_eq!(judged(Measure::Within(1_000.0), 1.0).verdict, Verdict::Pass);
        assert_eq!(judged(Measure::Within(800.0), 1.0).verdict, Verdict::Fail);
        assert_eq!(judged(Measure::Within(900.0), 1.0).verdict, Verdict::Unproven);
    }

    #[test]
    fn only_the_builds_that_a_gate_is_about_are_judged() {
        // The first build passes, the second one fails.
        let mut two = report(&[64]);
        let mut slow = two.rows[0].clone();
        slow.sides.iter_mut().for_each(|side| side.build = 1);
        slow.sides[1].deltas.iter_mut().for_each(|delta| *delta = -1.0);
        slow.comparisons.iter_mut().for_each(|comparison| comparison.ratio = 0.4);
        two.rows.push(slow);
        two.builds =
            ["self", "shuffled"].map(|label| Build { label: label.to_owned(), ..Build::default() }).into();
        let mut second = two.clone();
        second.rows.remove(0);
        let judged = |builds: &[&str], reports: &[Report]| {
            let pair = |engine: &str| format!("hash/{engine}/kernel/64/t1").parse().expect("a key");
            let demand = Demand {
                gate: 0,
                pairs: vec![Pair { own: pair("ours"), rival: Some(pair("rival")) }],
                measure: Measure::Time,
                must: Some(1.0),
                aim: None,
                builds: builds.iter().map(|build| (*build).to_owned()).collect(),
            };
            judge(&[&demand], reports).remove(0).verdict
        };
        let missing = |reason: &str| Verdict::Missing(reason.to_owned());
        let both = std::slice::from_ref(&two);
        assert_eq!(judged(&[], both), Verdict::Pass, "the program itself");
        assert_eq!(judged(&["shuffled"], both), Verdict::Fail);
        assert_eq!(judged(&["self", "shuffled"], both), Verdict::Fail, "the worst of both");
        assert_eq!(
            judged(&["other"], both),
            missing("measured in build `self`, `shuffled`, but the gate is about `other`")
        );
        let other = std::slice::from_ref(&second);
        assert_eq!(judged(&[], other), missing("measured in build `shuffled`, but the gate is about `self`"));
        assert_eq!(judged(&["self", "shuffled"], other), missing("build `self` was not measured"));
        assert_eq!(judged(&[], &[second, two]), Verdict::Pass, "another report speaks of it");
    }

    #[test]
    fn a_failure_must_repeat() {
        let with = |verdict| Judged { verdict, ratio: Some(1.0), interval: None };
        let verdict = |first, again| confirmed(with(first), &with(again)).verdict;
        assert_eq!(verdict(Verdict::Fail, Verdict::Fail), Verdict::Fail);
        assert_eq!(verdict(Verdict::Fail, Verdict::Unproven), Verdict::Unproven);
        assert_eq!(verdict(Verdict::Fail, Verdict::Pass), Verdict::Unproven);
        assert_eq!(verdict(Verdict::Pass, Verdict::Fail), Verdict::Pass);
    }
}
