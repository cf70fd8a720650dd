//! Words for verdicts.

use crate::report::schema::{Comparison, Report, Row, Status, Verdict};
use crate::stats::MAX_SESSIONS;
use crate::stats::layout::sees;
use crate::stats::ratio::{range, times};

/// Result of a control and its meaning.
pub(crate) fn of_control(control: &Comparison) -> String {
    let judged = if control.verdict.is_claim() { "FAILED: this run is invalid" } else { "ok" };
    format!("{} {} {judged}", times(control.ratio), range(control.interval))
}

/// Text of a verdict; for an inconclusive one, with what would resolve it.
pub(crate) fn verdict(report: &Report, row: &Row, comparison: &Comparison) -> String {
    let unfinished = if row.status == Status::Unfinished { ", unfinished" } else { "" };
    if row.differs_in_length(comparison.side) {
        return "no verdict: samples of unequal length".to_owned() + unfinished;
    }
    if let Some(words) = layout_verdict(report, row, comparison) {
        return words + unfinished;
    }
    let words = match (comparison.verdict, needed(comparison.sessions_needed)) {
        (_, _) if comparison.sessions == 0 => "not measured".to_owned(),
        (Verdict::Inconclusive, Some(needed)) => format!("inconclusive ({needed})"),
        (verdict, _) => verdict.word().to_owned(),
    };
    words + unfinished
}

/// What would resolve a comparison, as flags that the reader can use.
pub(crate) fn needed(sessions: Option<u64>) -> Option<String> {
    sessions.map(|needed| match needed <= MAX_SESSIONS as u64 {
        true => format!("try --sessions {needed}"),
        false => format!("needs over {MAX_SESSIONS} sessions"),
    })
}

/// Text of a verdict that depends on code layout; none otherwise.
fn layout_verdict(report: &Report, row: &Row, comparison: &Comparison) -> Option<String> {
    let Comparison { p_family, ratio, sessions, sessions_needed, .. } = *comparison;
    if comparison.verdict != Verdict::Inconclusive || sessions == 0 {
        return None;
    }
    let rule = report.plan.rule().of_layouts(row.layouts.as_ref().map(|moved| moved.by));
    if rule.may_be_layout(p_family, ratio, row.reach) {
        return Some("not distinguishable from layout".to_owned());
    }
    if !report.is_shuffled() {
        return None;
    }
    let detectable = sees(&rule, report.candidates().count(), &row.evidence(comparison.side))?;
    let needed = needed(sessions_needed).map_or_else(String::new, |needed| format!("; {needed}"));
    Some(format!("inconclusive (sees {:.1} % and more{needed})", detectable * 100.0))
}
