//! Table cells for rows, sides and comparisons.

use crate::model::units::{self, duration};
use crate::report::schema::{Comparison, Report, Row, Side, Status};
use crate::report::view::{shown, span};
use crate::stats::ratio::times;

/// Speed ratio, if measured.
pub(crate) fn speed(comparison: &Comparison) -> String {
    shown(Some(comparison.ratio).filter(|_| comparison.sessions > 0), times)
}

pub(crate) fn side_time(side: &Side) -> String {
    shown(side.summary, |summary| duration(summary.median_ns))
}

/// Baseline and candidate, if they are the same in all comparisons.
pub(crate) fn met(report: &Report) -> Option<[&str; 2]> {
    let mut names: Vec<[&str; 2]> = report
        .candidates()
        .map(|(row, comparison)| [&*row.sides[0].label, &*row.sides[comparison.side].label])
        .collect();
    names.dedup();
    match names[..] {
        [met] => Some(met),
        _ => None,
    }
}

pub(crate) fn status(status: &Status) -> String {
    match status {
        Status::Ok => "ok".to_owned(),
        Status::Unfinished => "unfinished".to_owned(),
        Status::Skipped(reason) => format!("skipped: {reason}"),
        Status::Incorrect(_) => "WRONG RESULT".to_owned(),
        Status::Failed(_) => "FAILED".to_owned(),
    }
}

/// Interval of the median time of a side.
pub(crate) fn side_interval(side: &Side) -> String {
    shown(side.summary.and_then(|summary| summary.interval_ns), span)
}

/// Rate of a side in the units of its row.
pub(crate) fn side_rate(row: &Row, side: &Side) -> String {
    shown(row_units(row).zip(side.summary), |(units, summary)| units.rate(summary.median_ns))
}

/// Work of an iteration as a type of the model.
pub(crate) fn row_units(row: &Row) -> Option<units::Units> {
    let count = row.units.per_iteration;
    match row.units.kind.as_str() {
        "bytes" => Some(units::Units::Bytes(count)),
        "hashes" => Some(units::Units::Hashes(count)),
        "operations" => Some(units::Units::Operations(count)),
        _ => None,
    }
}
