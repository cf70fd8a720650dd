//! A demand against a report: passed, failed, unproven, or not measured at all.

use super::Demand;
use crate::report::schema::{Comparison, Kind, Report, Role, Row, Side, Status};

/// What a report says about a demand.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// The whole interval lies at or above the bar.
    Pass,
    /// The whole interval lies below the bar.
    Fail,
    /// The interval crosses the bar, or there are too few sessions for one.
    Unproven,
    /// The case could not be measured.
    Missing(String),
}

/// A verdict with its numbers, as the rival's time over ours.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Judged {
    pub(crate) verdict: Verdict,
    pub(crate) ratio: Option<f64>,
    pub(crate) interval: Option<[f64; 2]>,
}

impl Judged {
    fn missing(why: impl Into<String>) -> Self {
        Judged { verdict: Verdict::Missing(why.into()), ratio: None, interval: None }
    }
}

/// Judges one demand by the first report that has its comparison.
pub(crate) fn judge(demand: &Demand, reports: &[Report]) -> Judged {
    let found = reports
        .iter()
        .find_map(|report| report.rows.iter().find_map(|row| Some((row, comparison(demand, report, row)?))));
    let Some((row, comparison)) = found else { return Judged::missing("no report compares it") };
    match &row.status {
        Status::Ok => by_interval(demand.must, comparison),
        Status::Unfinished => Judged::missing("the row is unfinished"),
        Status::Skipped(why) | Status::Incorrect(why) | Status::Failed(why) => Judged::missing(why),
    }
}

fn comparison<'a>(demand: &Demand, report: &Report, row: &'a Row) -> Option<&'a Comparison> {
    let ours = demand.ours.to_string();
    let rival = demand.rival.as_ref().map_or_else(|| ours.clone(), ToString::to_string);
    let baseline: &Side = row.sides.first()?;
    // Without a rival the same case of two builds is meant.
    let kind = demand.rival.is_some() != (report.kind == Kind::Ab);
    row.comparisons.iter().find(|comparison| {
        let side = &row.sides[comparison.side];
        kind && side.role == Role::Candidate && side.key == ours && baseline.key == rival
    })
}

fn by_interval(must: f64, comparison: &Comparison) -> Judged {
    // A report speaks of ours over the rival's; a gate of the rival's over ours.
    let interval = comparison.interval.map(|[low, high]| [1.0 / high, 1.0 / low]);
    let verdict = match interval {
        Some([low, _]) if low >= must => Verdict::Pass,
        Some([_, high]) if high < must => Verdict::Fail,
        _ => Verdict::Unproven,
    };
    Judged { verdict, ratio: Some(1.0 / comparison.ratio), interval }
}

/// A failure that an independent run does not repeat is no proof.
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
    use crate::report::schema;

    fn judged(must: f64, interval: Option<[f64; 2]>) -> Verdict {
        let comparison = Comparison {
            side: 1,
            sessions: 10,
            ratio: 0.5,
            interval,
            p: 0.5,
            p_family: 0.5,
            spread: 0.0,
            verdict: schema::Verdict::Faster,
            sessions_needed: None,
        };
        by_interval(must, &comparison).verdict
    }

    #[test]
    fn the_whole_interval_decides() {
        // Ours over the rival's from 0.5 to 0.8 is a ratio from 1.25 to 2.
        let interval = Some([0.5, 0.8]);
        assert_eq!(judged(1.25, interval), Verdict::Pass);
        assert_eq!(judged(1.26, interval), Verdict::Unproven);
        assert_eq!(judged(2.0, interval), Verdict::Unproven);
        assert_eq!(judged(2.01, interval), Verdict::Fail);
        assert_eq!(judged(1.0, None), Verdict::Unproven);
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
