//! From paired samples to one ratio with an interval, by the statistics of the lab. Pure: no clock, no printing.
//!
//! A process shifts every pair inside it together, so pairs are not independent: the session is the unit. Each gives
//! the median of its log ratios; the estimate is their Hodges–Lehmann median with its exact 99 % interval.

use hashmill_lab::stats::order::median;
use hashmill_lab::stats::paired::session_delta;
use hashmill_lab::stats::signed_rank::{hodges_lehmann, interval};
use hashmill_lab::stats::verdict::LEVEL;

/// What one session measured for one row: nanoseconds per call of the rival and of ours, pair by pair.
pub type Pairs = Vec<[f64; 2]>;

/// How many times faster ours is, and how sure that is.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Median time of the rival, in nanoseconds per call.
    pub rival_ns: f64,
    /// Median time of ours, in nanoseconds per call.
    pub ours_ns: f64,
    /// Rival time over our time: above one, ours is faster.
    pub ratio: f64,
    /// The exact interval; none of fewer than eight sessions.
    pub interval: Option<[f64; 2]>,
}

/// Reduces the sessions of one row. `None` when no session holds a pair.
#[must_use]
pub fn estimate(sessions: &[Pairs]) -> Option<Estimate> {
    let deltas = deltas(sessions);
    let side = |side: usize| {
        let all: Vec<f64> = sessions.iter().flatten().map(|pair| pair[side]).collect();
        median(&all)
    };
    (!deltas.is_empty()).then(|| Estimate {
        rival_ns: side(0),
        ours_ns: side(1),
        ratio: hodges_lehmann(&deltas).exp(),
        interval: interval(&deltas, LEVEL).map(|(low, high)| [low.exp(), high.exp()]),
    })
}

/// The same for what was counted and not timed: it is certain as far as all sessions agree.
#[must_use]
pub fn counted(sessions: &[Pairs]) -> Option<Estimate> {
    let ratios = deltas(sessions).into_iter().map(f64::exp);
    let (low, high) = ratios.fold((f64::INFINITY, 0.0_f64), |(low, high), r| (low.min(r), high.max(r)));
    estimate(sessions).map(|estimate| Estimate { interval: Some([low, high]), ..estimate })
}

/// The log ratio of every session.
fn deltas(sessions: &[Pairs]) -> Vec<f64> {
    let of_session = |pairs: &Pairs| {
        let rounds: Vec<(f64, f64)> = pairs.iter().map(|&[rival, ours]| (ours, rival)).collect();
        session_delta(&rounds)
    };
    sessions.iter().filter_map(of_session).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equal but for the millionth to which the lab rounds what a session gave.
    fn close(a: f64, b: f64) -> bool {
        (a / b - 1.0).abs() < 1e-6
    }

    #[test]
    fn nothing_measured_is_nothing_known() {
        assert_eq!(estimate(&[]), None);
        assert_eq!(estimate(&[vec![]]), None);
    }

    #[test]
    fn a_session_counts_once_and_eight_make_an_interval() {
        let session = |ratio: f64| vec![[ratio * 10.0, 10.0], [ratio * 10.0, 10.0], [1.0, 1000.0]];
        let few = estimate(&[session(2.0), session(2.0)]).expect("pairs");
        assert!(close(few.ratio, 2.0) && few.interval.is_none(), "{few:?}");
        let many: Vec<Pairs> = [1.7, 1.8, 1.9, 2.0, 2.0, 2.1, 2.2, 2.3].map(session).into();
        let many = estimate(&many).expect("pairs");
        let [low, high] = many.interval.expect("eight sessions");
        assert!(close(low, 1.7) && close(high, 2.3) && many.ratio > 1.9 && many.ratio < 2.1, "{many:?}");
    }

    #[test]
    fn counts_are_certain_as_far_as_they_agree() {
        let once = counted(&[vec![[30.0, 10.0]]]).expect("a pair");
        assert_eq!(once.interval, Some([once.ratio, once.ratio]));
        let twice = counted(&[vec![[30.0, 10.0]], vec![[20.0, 10.0]]]).expect("pairs");
        let [low, high] = twice.interval.expect("counted");
        assert!(close(low, 2.0) && close(high, 3.0), "{twice:?}");
    }
}
