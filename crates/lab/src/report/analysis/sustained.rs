//! Result of a sustained run: the rate of its first quarter, that of its last quarter, and the slope.
//!
//! The report does not store this; it is computed from the windows of the row.

use crate::report::schema::Row;
use crate::stats::order::median;
use crate::stats::trend::theil_sen;

/// Threshold of throttling: rate of the last quarter relative to the first.
const THROTTLED: f64 = 0.97;
/// Threshold of drift: change of the rate over the run.
const DRIFT: f64 = 0.01;
/// Minimum number of windows: two per quarter.
const FEWEST: usize = 8;

/// Steadiness of a sustained run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Steadiness {
    /// As fast at the end as at the start.
    Stable,
    /// The rate changes slowly.
    Drifting,
    /// Clearly slower at the end.
    Throttled,
}

/// A sustained run divided into time windows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SustainedRun {
    /// Middle of each window in seconds of measured time, and its rate in units per nanosecond.
    pub(crate) windows: Vec<(f64, f64)>,
    /// Median rate of the first quarter of the time.
    pub(crate) first: f64,
    /// Median rate of the last quarter of the time.
    pub(crate) last: f64,
    /// Change of the rate per minute relative to the first quarter's rate.
    pub(crate) slope_per_minute: f64,
    /// Classification of the run.
    pub(crate) steadiness: Steadiness,
}

impl Steadiness {
    /// Word for tables.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Steadiness::Stable => "stable",
            Steadiness::Drifting => "drifting",
            Steadiness::Throttled => "throttled",
        }
    }
}

impl SustainedRun {
    /// Computes it from a row; none if the row has too few windows.
    pub(crate) fn from_row(row: &Row) -> Option<Self> {
        let units = row.units.per_iteration as f64 * row.sides.first()?.iterations as f64;
        let mut now = 0.0;
        let mut windows = Vec::with_capacity(row.windows_ns.len());
        for ns in &row.windows_ns {
            let ns = *ns as f64;
            windows.push(((now + ns / 2.0) / 1e9, units / ns));
            now += ns;
        }
        if windows.len() < FEWEST {
            return None;
        }
        let seconds = now / 1e9;
        let quarter = |from: f64, to: f64| {
            let inside = windows.iter().filter(|(at, _)| (from * seconds..=to * seconds).contains(at));
            median(&inside.map(|(_, rate)| *rate).collect::<Vec<_>>())
        };
        let (first, last) = (quarter(0.0, 0.25), quarter(0.75, 1.0));
        let slope_per_minute = 60.0 * theil_sen(&windows)? / first;
        let steadiness = if last / first < THROTTLED {
            Steadiness::Throttled
        } else if (slope_per_minute * seconds / 60.0).abs() > DRIFT {
            Steadiness::Drifting
        } else {
            Steadiness::Stable
        };
        Some(SustainedRun { windows, first, last, slope_per_minute, steadiness })
    }
}
