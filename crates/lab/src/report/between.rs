//! Two saved reports of one machine: what changed from the earlier to the later one.
//!
//! Their sessions were not interleaved, so whatever the machine did in between lies in the difference. Two comparisons of the
//! same sides suffer least from it: both sides of each saw the same machine, and their ratios are compared. A time alone is
//! called changed only where its change is larger than the machine's own, as the probes of both reports saw it.

use super::banner::{Warning, warnings};
use super::floor::is_probe;
use super::schema::{Comparison, Report, Role, Row, Side, Status};
use super::view::{Line, Table, Tone, View};
use crate::model::units::duration;
use crate::stats::ratio::{bounds, range, ratio, times};
use serde::Serialize;

/// Drift between runs where no probe tells: neighbours, layouts of memory, clocks.
const UNKNOWN_DRIFT: f64 = 0.10;
/// The least that is believed of a drift, also where the probes saw less.
const LEAST_DRIFT: f64 = 0.03;

/// Why two reports say nothing about each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BetweenError {
    #[error(
        "they are of two machines, {before} and {after}: no difference between them is one of the code; measure both on one"
    )]
    Machines { before: String, after: String },
    #[error("they have no case in common that was measured to an interval")]
    Nothing,
    #[error("they are one and the same run, {0}")]
    Same(String),
}

/// What became of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Became {
    Faster,
    Slower,
    /// The difference is not larger than what lies between two runs.
    Unproven,
    /// It computed something else, or another kernel ran: no difference in speed is one of this code.
    Other,
}

/// One case in both reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Pair {
    pub(crate) case: String,
    /// What it was compared with in both; then before and after are how many times as fast it is, else nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) against: Option<String>,
    pub(crate) before: f64,
    pub(crate) after: f64,
    /// How many times as fast it became: above 1, faster; with what both intervals allow.
    pub(crate) ratio: f64,
    pub(crate) interval: [f64; 2],
    pub(crate) became: Became,
}

/// What lies between two reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Between {
    pub(crate) before: String,
    pub(crate) after: String,
    /// Change of a time alone below which nothing is claimed, as a share.
    pub(crate) drift: f64,
    /// Whether probes of both reports told it.
    pub(crate) is_drift_measured: bool,
    pub(crate) pairs: Vec<Pair>,
    /// Cases of the earlier that have no equal in the later, and the other way round.
    pub(crate) only_before: Vec<String>,
    pub(crate) only_after: Vec<String>,
    #[serde(skip)]
    warnings: Vec<Warning>,
}

impl Between {
    /// Compares the earlier with the later, in whichever order they come.
    pub(crate) fn of(one: &Report, other: &Report) -> Result<Self, BetweenError> {
        // Of two that began in the same second, the name decides, so that the order of the words never does.
        let is_earlier = (&one.created, &one.id) <= (&other.created, &other.id);
        let (before, after) = if is_earlier { (one, other) } else { (other, one) };
        if before.id == after.id {
            return Err(BetweenError::Same(before.id.clone()));
        }
        if before.machine.id != after.machine.id {
            let (before, after) = (before.machine.id.clone(), after.machine.id.clone());
            return Err(BetweenError::Machines { before, after });
        }
        let measured = drift(before, after);
        let drift = measured.map_or(UNKNOWN_DRIFT, |drift| (2.0 * drift).max(LEAST_DRIFT));
        let least = before.plan.min_effect.max(after.plan.min_effect);
        let pairs: Vec<Pair> = usable(before)
            .filter(|row| !is_probe(row))
            .flat_map(|row| {
                let same_inputs = |later: &Row| {
                    before.plan.seed == after.plan.seed && row.sessions.len() == later.sessions.len()
                };
                usable(after).filter_map(move |later| meet(row, later, same_inputs(later)))
            })
            .map(|pair| {
                // A ratio of ratios has the errors of two comparisons.
                let least = if pair.against.is_some() { 2.0 * least } else { drift };
                pair.judged(least)
            })
            .collect();
        if pairs.is_empty() {
            return Err(BetweenError::Nothing);
        }
        let named = |report: &Report, name: &str| {
            let about = warnings(report).into_iter();
            about.map(|w| Warning { says: format!("{name}: {}", w.says), ..w }).collect::<Vec<_>>()
        };
        Ok(Between {
            before: named_run(before),
            after: named_run(after),
            drift,
            is_drift_measured: measured.is_some(),
            only_before: lacking(before, &pairs),
            only_after: lacking(after, &pairs),
            pairs,
            warnings: [named(before, "before"), named(after, "after")].concat(),
        })
    }

    /// Whether one of the runs has results that must not be used.
    pub(crate) fn is_fatal(&self) -> bool {
        self.warnings.iter().any(|warning| warning.is_fatal)
    }

    /// What the runs themselves say of what they are worth.
    pub(crate) fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Whether something was left open.
    pub(crate) fn is_inconclusive(&self) -> bool {
        self.pairs.iter().any(|pair| matches!(pair.became, Became::Unproven | Became::Other))
    }

    pub(crate) fn view(&self) -> View {
        let mut banner = vec![Warning {
            is_fatal: false,
            says: "Two runs, one after the other: what the machine did in between lies in every difference. To compare two builds, \
                   measure them side by side."
                .to_owned(),
        }];
        banner.extend(self.warnings.iter().cloned());
        let facts = vec![("before", self.before.clone()), ("after", self.after.clone())];
        let told = if self.is_drift_measured {
            "twice the largest change of a probe that both have, and no less than 3 %"
        } else {
            "because no probe stands in both that would tell what the machine did; `run --floor` measures them"
        };
        let mut notes = vec![
            format!("a time alone is called changed from {} % on: {told}", (self.drift * 1000.0).round() / 10.0),
            "ratio: how many times as fast it became, above 1 faster; the interval is what the 99 % intervals of both runs allow; where a comparison of the same sides stands in both, \
             their ratios are compared, and most of the drift cancels"
                .to_owned(),
        ];
        for (which, cases) in [("earlier", &self.only_before), ("later", &self.only_after)] {
            if !cases.is_empty() {
                notes.push(format!(
                    "measured in the {which} run alone, and not compared: {}",
                    cases.join(", ")
                ));
            }
        }
        let columns = ["case", "before", "after", "ratio", "interval", "became"];
        let tables = vec![Table::new(columns, self.pairs.iter().map(Pair::line))];
        View { title: "lab compare, two saved reports".to_owned(), banner, facts, tables, notes }
    }
}

fn named_run(report: &Report) -> String {
    let commit = report.builds.iter().rev().find_map(|build| build.commit.as_deref());
    let commit =
        commit.map_or_else(String::new, |commit| format!(" at {}", commit.get(..12).unwrap_or(commit)));
    format!("{} of {}{commit}", report.id, report.created)
}

fn usable(report: &Report) -> impl Iterator<Item = &Row> {
    report.rows.iter().filter(|row| row.status == Status::Ok)
}

/// The cases of a report that are in no pair, whatever became of them in the other: left out, failed, or wrong.
fn lacking(report: &Report, pairs: &[Pair]) -> Vec<String> {
    let named = |row: &Row| row.sides.iter().any(|side| pairs.iter().any(|pair| pair.case == side.key));
    let cases = usable(report).filter(|row| !is_probe(row) && !named(row));
    cases.filter_map(|row| row.sides.first()).map(|side| side.key.clone()).collect()
}

/// The largest change of a probe that both reports have, as a share: code of the lab itself, the same in both.
fn drift(before: &Report, after: &Report) -> Option<f64> {
    let changes = usable(before).filter(|row| is_probe(row)).filter_map(|row| {
        let same = |later: &&Row| later.sides.len() == 1 && later.sides[0].key == row.sides[0].key;
        let later = usable(after).find(same)?;
        let ratio = later.sides[0].summary?.median_ns / row.sides[0].summary?.median_ns;
        Some(ratio.ln().abs().exp_m1())
    });
    changes.reduce(f64::max)
}

/// The same case in both, alone or compared with the same other. Sessions have inputs of their own and a digest is of the last one,
/// so that digests of equal work are equal only where the inputs are.
fn meet(row: &Row, later: &Row, same_inputs: bool) -> Option<Pair> {
    let is_same = |a: &Side, b: &Side| a.kernel == b.kernel && (a.digest == b.digest || !same_inputs);
    let [a, b] = [row, later].map(|row| &row.sides[0]);
    if a.key != b.key || row.class != later.class || row.units != later.units || row.title != later.title {
        return None;
    }
    if row.sides.len() == 1 && later.sides.len() == 1 {
        let [x, y] = [a.summary?, b.summary?];
        return Some(Pair {
            case: a.key.clone(),
            against: None,
            before: x.median_ns,
            after: y.median_ns,
            ratio: ratio(x.median_ns, y.median_ns),
            interval: bounds(x.interval_ns?, y.interval_ns?),
            became: if is_same(a, b) { Became::Unproven } else { Became::Other },
        });
    }
    let candidate = |row: &Row| -> Option<(Side, Comparison)> {
        let comparison = row.found(Role::Candidate).next()?;
        Some((row.sides[comparison.side].clone(), *comparison))
    };
    let ((ours, x), (ours_later, y)) = (candidate(row)?, candidate(later)?);
    let same = is_same(a, b) && ours.key == ours_later.key && is_same(&ours, &ours_later);
    Some(Pair {
        case: ours.key,
        against: Some(a.key.clone()),
        before: x.ratio,
        after: y.ratio,
        // Of ratios, more is faster: the later one stands where of times the earlier one does.
        ratio: ratio(y.ratio, x.ratio),
        interval: bounds(y.interval?, x.interval?),
        became: if same { Became::Unproven } else { Became::Other },
    })
}

impl Pair {
    /// A claim needs an interval that lies beyond the drift altogether.
    fn judged(mut self, least: f64) -> Self {
        if self.became == Became::Unproven {
            let [low, high] = self.interval;
            if low > 1.0 + least {
                self.became = Became::Faster;
            } else if high < 1.0 / (1.0 + least) {
                self.became = Became::Slower;
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
        let (says, tone) = match self.became {
            Became::Faster => ("faster", Tone::Good),
            Became::Slower => ("slower", Tone::Bad),
            Became::Unproven => ("not proven", Tone::Dim),
            Became::Other => ("another kernel or result", Tone::Warn),
        };
        let ratio = times(self.ratio);
        let interval = range(Some(self.interval));
        Line::new([name, show(self.before), show(self.after), ratio, interval, says.to_owned()], tone)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::*;

    /// A later run, on which every row alone takes `factor` of its time.
    fn later(report: &Report, factor: f64) -> Report {
        let mut later =
            Report { id: "later".to_owned(), created: "2026-02-01T12:00:00Z".to_owned(), ..report.clone() };
        for row in later.rows.iter_mut().filter(|row| row.sides.len() == 1) {
            row.sides[0].session_ns.iter_mut().for_each(|ns| *ns *= factor);
        }
        super::super::assemble::conclude(&later.plan, &mut later.rows);
        later
    }

    fn became(between: &Between, case: &str) -> Vec<Became> {
        between.pairs.iter().filter(|pair| pair.case.contains(case)).map(|pair| pair.became).collect()
    }

    #[test]
    fn a_time_alone_must_change_by_more_than_runs_do() {
        let before = report();
        let found = |factor: f64| Between::of(&before, &later(&before, factor)).expect("one machine");
        for (factor, expected) in [(1.08, Became::Unproven), (1.2, Became::Slower), (0.8, Became::Faster)] {
            let between = found(factor);
            assert_eq!(became(&between, "oneshot"), [expected; 3], "{factor}");
            assert!(
                became(&between, "/ours/kernel/").iter().all(|b| *b == Became::Unproven),
                "ratios stayed"
            );
            assert!(!between.is_drift_measured);
        }
        // In whichever order they are given, the later one is after.
        let (a, b) = (later(&before, 1.2), before.clone());
        assert_eq!(Between::of(&a, &b), Between::of(&b, &a));
    }

    #[test]
    fn probes_tell_the_drift() {
        let mut before = report();
        before.rows[4].sides[0].key = "lab.cpu/probe/kernel/10/t1".to_owned();
        before.rows[4].title = "probe".to_owned();
        let mut after = later(&before, 1.08);
        after.rows[4].sides[0].session_ns.clone_from(&before.rows[4].sides[0].session_ns);
        super::super::assemble::conclude(&after.plan, &mut after.rows);
        let quiet = Between::of(&before, &after).expect("one machine");
        assert_eq!((quiet.drift, became(&quiet, "oneshot")), (LEAST_DRIFT, vec![Became::Slower; 2]));
        after.rows[4].sides[0].session_ns.iter_mut().for_each(|ns| *ns *= 1.1);
        super::super::assemble::conclude(&after.plan, &mut after.rows);
        let loud = Between::of(&before, &after).expect("one machine");
        assert!((loud.drift - 0.2).abs() < 1e-4, "{}", loud.drift);
        assert_eq!(became(&loud, "oneshot"), [Became::Unproven; 2]);
    }

    #[test]
    fn ratios_of_comparisons_are_compared_without_the_drift() {
        let before = report();
        let mut after = later(&before, 3.0);
        // Of all four comparisons, the first one loses 3 %.
        after.rows[0].sides[1].deltas.iter_mut().for_each(|delta| *delta -= 0.03);
        super::super::assemble::conclude(&after.plan, &mut after.rows);
        let between = Between::of(&before, &after).expect("one machine");
        let all = became(&between, "/ours/kernel/");
        assert_eq!(all[0], Became::Slower);
        assert!(all[1..].iter().all(|b| *b == Became::Unproven), "{all:?}");
        let view = between.view();
        assert!(view.banner[0].says.starts_with("Two runs, one after the other"), "{:?}", view.banner);
        assert!(view.banner[1].says.starts_with("before: WRONG RESULT"), "{:?}", view.banner);
        assert!(between.is_fatal() && between.is_inconclusive());
        after.rows[0].sides[1].digest = "08".to_owned();
        let first =
            |after: &Report| became(&Between::of(&before, after).expect("one machine"), "/ours/kernel/")[0];
        assert_eq!(first(&after), Became::Other);
        after.plan.seed += 1;
        assert_eq!(first(&after), Became::Slower, "other inputs have other digests");
    }

    #[test]
    fn what_one_run_alone_has_is_named() {
        let before = report();
        let mut after = later(&before, 1.0);
        let gone = after.rows.iter().position(|row| row.title.contains("oneshot")).expect("a case alone");
        let gone = after.rows.remove(gone).sides[0].key.clone();
        let between = Between::of(&before, &after).expect("one machine");
        assert!(between.only_before.contains(&gone) && !between.only_after.contains(&gone), "{between:?}");
        let notes = between.view().notes;
        assert!(notes.iter().any(|n| n.contains("earlier run alone") && n.contains(&gone)), "{notes:?}");
    }

    #[test]
    fn what_has_nothing_to_do_with_each_other_is_refused() {
        let before = report();
        let refused = |change: &dyn Fn(&mut Report)| {
            let mut after = later(&before, 1.0);
            change(&mut after);
            Between::of(&before, &after).expect_err("nothing to compare").to_string()
        };
        assert!(refused(&|r| r.machine.id = "m-other".to_owned()).starts_with("they are of two machines"));
        assert!(refused(&|r| r.rows.clear()).starts_with("they have no case in common"));
        assert!(refused(&|r| r.id.clone_from(&before.id)).starts_with("they are one and the same run"));
    }
}
