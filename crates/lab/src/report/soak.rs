//! What a sustained run shows: its first quarter against its last, by time, and the slope between.
//!
//! Nothing of this is stored: it is computed from the windows of the row whenever it is shown.

use super::schema::Row;
use crate::stats::order::median;
use crate::stats::trend::theil_sen;

/// Below this the last quarter is called throttled: its rate over that of the first.
const THROTTLED: f64 = 0.97;
/// A slope that changes the rate by more than this over the run is called a drift.
const DRIFT: f64 = 0.01;
/// Fewest windows: two for each quarter.
const FEWEST: usize = 8;

/// How a sustained run went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Course {
    /// As fast at its end as at its start.
    Stable,
    /// Slowly changing.
    Drifting,
    /// Clearly slower at its end.
    Throttled,
}

/// A sustained run in windows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Soak {
    /// Middle of each window in seconds of measured time, and its units per nanosecond.
    pub(crate) windows: Vec<(f64, f64)>,
    /// Median rate of the first quarter of the time.
    pub(crate) first: f64,
    /// Median rate of the last quarter of the time.
    pub(crate) last: f64,
    /// Change of the rate per minute, as a share of the first quarter's rate.
    pub(crate) slope_per_minute: f64,
    /// What it amounts to.
    pub(crate) course: Course,
}

impl Course {
    /// The word of a table.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Course::Stable => "stable",
            Course::Drifting => "drifting",
            Course::Throttled => "throttled",
        }
    }
}

impl Soak {
    /// Reads a row as a sustained run; none when it holds too few windows.
    pub(crate) fn of(row: &Row) -> Option<Self> {
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
        let course = if last / first < THROTTLED {
            Course::Throttled
        } else if (slope_per_minute * seconds / 60.0).abs() > DRIFT {
            Course::Drifting
        } else {
            Course::Stable
        };
        Some(Soak { windows, first, last, slope_per_minute, course })
    }
}
