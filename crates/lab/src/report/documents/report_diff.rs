//! Comparison of two saved reports of one machine: what changed from the earlier to the later report.
//!
//! The sessions of the two runs were not interleaved, so each difference includes drift of the machine. Comparisons
//! of the same two sides suffer least: both sides of each ran under the same conditions, and their ratios are
//! compared. A single time counts as changed only if the change exceeds the drift that the probes of both reports
//! show.

use crate::model::units::duration;
use crate::report::analysis::lower_bound::is_probe;
use crate::report::schema::{Comparison, Report, Role, Row, Side, Status};
use crate::report::sections::warnings::warnings;
use crate::report::view::{Line, Table, Tone, View, Warning};
use crate::stats::ratio::{bounds, range, ratio, times};
use serde::Serialize;

/// Assumed drift between runs if no probe shows it: other processes, memory layouts, clocks.
const DEFAULT_DRIFT: f64 = 0.10;
/// Minimum drift assumed, even if the probes show less.
const MIN_DRIFT: f64 = 0.03;

/// Reason why two reports cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReportDiffError {
    #[error("the reports are from different machines ({before}, {after}); measure both on one machine")]
    DifferentMachines { before: String, after: String },
    #[error("the reports have no common case with an interval")]
    NoCommonCase,
    #[error("both reports are of the same run, {0}")]
    SameRun(String),
}

/// Verdict about a case in two reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DiffVerdict {
    Faster,
    Slower,
    /// The difference is within the drift between the runs.
    Unproven,
    /// The result or the kernel differs: the speeds cannot be compared.
    #[serde(rename = "other")]
    NotComparable,
}

/// One case in both reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct CaseDiff {
    pub(crate) case: String,
    /// What it was compared with in both reports: before and after are then ratios, how many times as fast the case
    /// is, and nanoseconds otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) against: Option<String>,
    pub(crate) before: f64,
    pub(crate) after: f64,
    /// Speed after relative to before: above 1 is faster; with the range that both intervals allow.
    pub(crate) ratio: f64,
    pub(crate) interval: [f64; 2],
    #[serde(rename = "became")]
    pub(crate) verdict: DiffVerdict,
}

/// Differences between two reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ReportDiff {
    pub(crate) before: String,
    pub(crate) after: String,
    /// Least relative change of a single time that is reported.
    pub(crate) drift: f64,
    /// Whether the drift was measured by probes of both reports.
    pub(crate) is_drift_measured: bool,
    pub(crate) pairs: Vec<CaseDiff>,
    /// Cases of the earlier report that are missing in the later one, and the reverse.
    pub(crate) only_before: Vec<String>,
    pub(crate) only_after: Vec<String>,
    #[serde(skip)]
    warnings: Vec<Warning>,
}

impl ReportDiff {
    /// Compares the earlier report with the later one; the order of the arguments does not matter.
    pub(crate) fn from_reports(one: &Report, other: &Report) -> Result<Self, ReportDiffError> {
        // Reports of the same second are ordered by name, so that the output does not depend on the order of
        // arguments.
        let is_earlier = (&one.created, &one.id) <= (&other.created, &other.id);
        let (before, after) = if is_earlier { (one, other) } else { (other, one) };
        if before.id == after.id {
            return Err(ReportDiffError::SameRun(before.id.clone()));
        }
        if before.machine.id != after.machine.id {
            let (before, after) = (before.machine.id.clone(), after.machine.id.clone());
            return Err(ReportDiffError::DifferentMachines { before, after });
        }
        let measured = measured_drift(before, after);
        let drift = measured.map_or(DEFAULT_DRIFT, |drift| (2.0 * drift).max(MIN_DRIFT));
        let least = before.plan.min_effect.max(after.plan.min_effect);
        let pairs: Vec<CaseDiff> = usable(before)
            .filter(|row| !is_probe(row))
            .flat_map(|row| {
                let same_inputs = |later: &Row| {
                    before.plan.seed == after.plan.seed && row.sessions.len() == later.sessions.len()
                };
                usable(after).filter_map(move |later| match_rows(row, later, same_inputs(later)))
            })
            .map(|pair| {
                // A ratio of ratios has the error of two comparisons.
                let least = if pair.against.is_some() { 2.0 * least } else { drift };
                pair.with_verdict(least)
            })
            .collect();
        if pairs.is_empty() {
            return Err(ReportDiffError::NoCommonCase);
        }
        let named = |report: &Report, name: &str| {
            let about = warnings(report).into_iter();
            about.map(|w| Warning { message: format!("{name}: {}", w.message), ..w }).collect::<Vec<_>>()
        };
        Ok(ReportDiff {
            before: run_label(before),
            after: run_label(after),
            drift,
            is_drift_measured: measured.is_some(),
            only_before: unmatched_cases(before, &pairs),
            only_after: unmatched_cases(after, &pairs),
            pairs,
            warnings: [named(before, "before"), named(after, "after")].concat(),
        })
    }

    /// Whether one of the runs has results that must not be used.
    pub(crate) fn is_fatal(&self) -> bool {
        self.warnings.iter().any(|warning| warning.is_fatal)
    }

    /// Warnings of the two runs.
    pub(crate) fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Whether any case is inconclusive.
    pub(crate) fn is_inconclusive(&self) -> bool {
        self.pairs
            .iter()
            .any(|pair| matches!(pair.verdict, DiffVerdict::Unproven | DiffVerdict::NotComparable))
    }

    pub(crate) fn view(&self) -> View {
        let mut banner = vec![Warning {
            is_fatal: false,
            message: "These runs were not interleaved: every difference includes drift of the machine. To compare two builds, run `lab compare`."
                .to_owned(),
        }];
        banner.extend(self.warnings.iter().cloned());
        let facts = vec![("before", self.before.clone()), ("after", self.after.clone())];
        let source = if self.is_drift_measured {
            "twice the largest change of a common probe, and at least 3 %"
        } else {
            "because the reports have no common probe that shows the drift; `run --floor` measures probes"
        };
        let mut notes = vec![
            format!("a single time counts as changed from {} %: {source}", (self.drift * 1000.0).round() / 10.0),
            "ratio: speed after relative to before, above 1 faster; the interval is the range that the 99 % intervals of both runs allow; if both reports compare the same sides, their ratios are compared, and most of the drift cancels"
                .to_owned(),
        ];
        for (which, cases) in [("earlier", &self.only_before), ("later", &self.only_after)] {
            if !cases.is_empty() {
                notes.push(format!("measured in the {which} run only, not compared: {}", cases.join(", ")));
            }
        }
        let columns = ["case", "before", "after", "ratio", "interval", "became"];
        let tables = vec![Table::new(columns, self.pairs.iter().map(CaseDiff::line))];
        View { title: "lab compare, two saved reports".to_owned(), banner, facts, tables, notes }
    }
}

fn run_label(report: &Report) -> String {
    let commit = report.builds.iter().rev().find_map(|build| build.commit.as_deref());
    let commit =
        commit.map_or_else(String::new, |commit| format!(" at {}", commit.get(..12).unwrap_or(commit)));
    format!("{} of {}{commit}", report.id, report.created)
}

fn usable(report: &Report) -> impl Iterator<Item = &Row> {
    report.rows.iter().filter(|row| row.status == Status::Ok)
}

/// Cases of a report that are in no pair, because they are missing, failed or wrong in the other.
fn unmatched_cases(report: &Report, pairs: &[CaseDiff]) -> Vec<String> {
    let named = |row: &Row| row.sides.iter().any(|side| pairs.iter().any(|pair| pair.case == side.key));
    let cases = usable(report).filter(|row| !is_probe(row) && !named(row));
    cases.filter_map(|row| row.sides.first()).map(|side| side.key.clone()).collect()
}

/// Largest relative change of a probe that both reports have. Probes are code of the lab, the same in both.
fn measured_drift(before: &Report, after: &Report) -> Option<f64> {
    let changes = usable(before).filter(|row| is_probe(row)).filter_map(|row| {
        let same = |later: &&Row| later.sides.len() == 1 && later.sides[0].key == row.sides[0].key;
        let later = usable(after).find(same)?;
        let ratio = later.sides[0].summary?.median_ns / row.sides[0].summary?.median_ns;
        Some(ratio.ln().abs().exp_m1())
    });
    changes.reduce(f64::max)
}

/// Matches a case in both reports, alone or compared with the same other side. Each session has its own inputs and
/// the digest is that of the last one, so digests are comparable only if the inputs are equal.
fn match_rows(row: &Row, later: &Row, same_inputs: bool) -> Option<CaseDiff> {
    let is_same = |a: &Side, b: &Side| a.kernel == b.kernel && (a.digest == b.digest || !same_inputs);
    let [a, b] = [row, later].map(|row| &row.sides[0]);
    if a.key != b.key || row.class != later.class || row.units != later.units || row.title != later.title {
        return None;
    }
    if row.sides.len() == 1 && later.sides.len() == 1 {
        let [x, y] = [a.summary?, b.summary?];
        return Some(CaseDiff {
            case: a.key.clone(),
            against: None,
            before: x.median_ns,
            after: y.median_ns,
            ratio: ratio(x.median_ns, y.median_ns),
            interval: bounds(x.interval_ns?, y.interval_ns?),
            verdict: if is_same(a, b) { DiffVerdict::Unproven } else { DiffVerdict::NotComparable },
        });
    }
    let candidate = |row: &Row| -> Option<(Side, Comparison)> {
        let comparison = row.found(Role::Candidate).next()?;
        Some((row.sides[comparison.side].clone(), *comparison))
    };
    let ((side, x), (side_later, y)) = (candidate(row)?, candidate(later)?);
    let same = is_same(a, b) && side.key == side_later.key && is_same(&side, &side_later);
    Some(CaseDiff {
        case: side.key,
        against: Some(a.key.clone()),
        before: x.ratio,
        after: y.ratio,
        // For ratios, more is faster, so the later ratio takes the place of the earlier time.
        ratio: ratio(y.ratio, x.ratio),
        interval: bounds(y.interval?, x.interval?),
        verdict: if same { DiffVerdict::Unproven } else { DiffVerdict::NotComparable },
    })
}

impl CaseDiff {
    /// A change is reported only if the whole interval lies beyond the drift.
    fn with_verdict(mut self, least: f64) -> Self {
        if self.verdict == DiffVerdict::Unproven {
            let [low, high] = self.interval;
            if low > 1.0 + least {
                self.verdict = DiffVerdict::Faster;
            } else if high < 1.0 / (1.0 + least) {
                self.verdict = DiffVerdict::Slower;
            }
        }
        self
    }

    fn line(&self) -> Line {
        let show = |value: f64| if self.against.is_some() { times(value) } else { duration(value) };
        let name = match &self.against {
            Some(other) => format!("{} against {other}", self.case),
            None => self.case.clone(),
        };
        let (message, tone) = match self.verdict {
            DiffVerdict::Faster => ("faster", Tone::Good),
            DiffVerdict::Slower => ("slower", Tone::Bad),
            DiffVerdict::Unproven => ("not proven", Tone::Dim),
            DiffVerdict::NotComparable => ("another kernel or result", Tone::Warn),
        };
        let ratio = times(self.ratio);
        let interval = range(Some(self.interval));
        Line::new([name, show(self.before), show(self.after), ratio, interval, message.to_owned()], tone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;

    /// A later run in which the time of every single row is multiplied by `factor`.
    fn later(report: &Report, factor: f64) -> Report {
        let mut later =
            Report { id: "later".to_owned(), created: "2026-02-01T12:00:00Z".to_owned(), ..report.clone() };
        for row in later.rows.iter_mut().filter(|row| row.sides.len() == 1) {
            row.sides[0].session_ns.iter_mut().for_each(|ns| *ns *= factor);
        }
        crate::report::assemble::conclude(&later.plan, &mut later.rows);
        later
    }

    fn verdict(diff: &ReportDiff, case: &str) -> Vec<DiffVerdict> {
        diff.pairs.iter().filter(|pair| pair.case.contains(case)).map(|pair| pair.verdict).collect()
    }

    #[test]
    fn a_time_alone_must_change_by_more_than_runs_do() {
        let before = report();
        let found =
            |factor: f64| ReportDiff::from_reports(&before, &later(&before, factor)).expect("one machine");
        for (factor, expected) in
            [(1.08, DiffVerdict::Unproven), (1.2, DiffVerdict::Slower), (0.8, DiffVerdict::Faster)]
        {
            let diff = found(factor);
            assert_eq!(verdict(&diff, "oneshot"), [expected; 3], "{factor}");
            assert!(
                verdict(&diff, "/ours/kernel/").iter().all(|b| *b == DiffVerdict::Unproven),
                "ratios stayed"
            );
            assert!(!diff.is_drift_measured);
        }
        // The order of the arguments does not matter.
        let (a, b) = (later(&before, 1.2), before.clone());
        assert_eq!(ReportDiff::from_reports(&a, &b), ReportDiff::from_reports(&b, &a));
    }

    #[test]
    fn probes_tell_the_drift() {
        let mut before = report();
        before.rows[4].sides[0].key = "lab.cpu/probe/kernel/10/t1".to_owned();
        before.rows[4].title = "probe".to_owned();
        let mut after = later(&before, 1.08);
        after.rows[4].sides[0].session_ns.clone_from(&before.rows[4].sides[0].session_ns);
        crate::report::assemble::conclude(&after.plan, &mut after.rows);
        let quiet = ReportDiff::from_reports(&before, &after).expect("one machine");
        assert_eq!((quiet.drift, verdict(&quiet, "oneshot")), (MIN_DRIFT, vec![DiffVerdict::Slower; 2]));
        after.rows[4].sides[0].session_ns.iter_mut().for_each(|ns| *ns *= 1.1);
        crate::report::assemble::conclude(&after.plan, &mut after.rows);
        let loud = ReportDiff::from_reports(&before, &after).expect("one machine");
        assert!((loud.drift - 0.2).abs() < 1e-4, "{}", loud.drift);
        assert_eq!(verdict(&loud, "oneshot"), [DiffVerdict::Unproven; 2]);
    }

    #[test]
    fn ratios_of_comparisons_are_compared_without_the_drift() {
        let before = report();
        let mut after = later(&before, 3.0);
        // Of the four comparisons, the first one becomes 3 % slower.
        after.rows[0].sides[1].deltas.iter_mut().for_each(|delta| *delta -= 0.03);
        crate::report::assemble::conclude(&after.plan, &mut after.rows);
        let diff = ReportDiff::from_reports(&before, &after).expect("one machine");
        let all = verdict(&diff, "/ours/kernel/");
        assert_eq!(all[0], DiffVerdict::Slower);
        assert!(all[1..].iter().all(|b| *b == DiffVerdict::Unproven), "{all:?}");
        let view = diff.view();
        assert!(view.banner[0].message.starts_with("These runs were not interleaved"), "{:?}", view.banner);
        assert!(view.banner[1].message.starts_with("before: WRONG RESULT"), "{:?}", view.banner);
        assert!(diff.is_fatal() && diff.is_inconclusive());
        after.rows[0].sides[1].digest = "08".to_owned();
        let first = |after: &Report| {
            verdict(&ReportDiff::from_reports(&before, after).expect("one machine"), "/ours/kernel/")[0]
        };
        assert_eq!(first(&after), DiffVerdict::NotComparable);
        after.plan.seed += 1;
        assert_eq!(first(&after), DiffVerdict::Slower, "other inputs have other digests");
    }

    #[test]
    fn lists_unmatched_cases() {
        let before = report();
        let mut after = later(&before, 1.0);
        let gone = after.rows.iter().position(|row| row.title.contains("oneshot")).expect("a case alone");
        let gone = after.rows.remove(gone).sides[0].key.clone();
        let diff = ReportDiff::from_reports(&before, &after).expect("one machine");
        assert!(diff.only_before.contains(&gone) && !diff.only_after.contains(&gone), "{diff:?}");
        let notes = diff.view().notes;
        assert!(notes.iter().any(|n| n.contains("earlier run only") && n.contains(&gone)), "{notes:?}");
    }

    #[test]
    fn rejects_unrelated_reports() {
        let before = report();
        let refused = |change: &dyn Fn(&mut Report)| {
            let mut after = later(&before, 1.0);
            change(&mut after);
            ReportDiff::from_reports(&before, &after).expect_err("nothing to compare").to_string()
        };
        assert!(
            refused(&|r| r.machine.id = "m-other".to_owned())
                .starts_with("the reports are from different machines")
        );
        assert!(refused(&|r| r.rows.clear()).starts_with("the reports have no common case"));
        assert!(refused(&|r| r.id.clone_from(&before.id)).starts_with("both reports are of the same run"));
    }
}
