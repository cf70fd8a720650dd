//! Paired delta of a session from its samples.

pub(crate) mod rounds;

use crate::stats::order::median;
use crate::stats::ratio::log_ratio;

/// Sample with its session and side. Samples come in the order of their rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Placed {
    pub(crate) session: usize,
    pub(crate) side: usize,
    /// Nanoseconds per iteration.
    pub(crate) ns: f64,
}

/// Samples of one side grouped by session; sessions from `sessions` on are ignored.
pub(crate) fn by_session(
    samples: impl Iterator<Item = Placed>,
    sessions: usize,
    side: usize,
) -> Vec<Vec<f64>> {
    let mut grouped = vec![Vec::new(); sessions];
    for sample in samples.filter(|sample| sample.side == side && sample.session < sessions) {
        grouped[sample.session].push(sample.ns);
    }
    grouped
}

/// Delta of every session from grouped samples of both sides.
pub(crate) fn deltas(other: &[Vec<f64>], current: &[Vec<f64>]) -> Vec<f64> {
    let sessions = other.iter().zip(current);
    let paired = sessions
        .map(|(other, current)| other.iter().copied().zip(current.iter().copied()).collect::<Vec<_>>());
    paired.filter_map(|rounds| session_delta(&rounds)).collect()
}

/// Median over the rounds of a session of `ln(other / ours)`: positive if ours is faster.
///
/// The session, not the round, is the unit of replication: rounds of one process share addresses, pages and layout.
/// `None` if the session has no complete round.
///
/// Rounded to a millionth, which is finer than any claim, so that the stored number equals the computed one.
pub(crate) fn session_delta(rounds: &[(f64, f64)]) -> Option<f64> {
    let ratios: Vec<f64> = rounds.iter().map(|&(other, current)| log_ratio(other, current)).collect();
    // `+ 0.0` turns a negative zero into a positive one.
    (!ratios.is_empty()).then(|| (median(&ratios) * 1e6).round() / 1e6 + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_disturbed_round_does_not_move_the_session() {
        let steady = session_delta(&[(100.0, 102.0), (200.0, 204.0), (300.0, 306.0)]);
        let burst = session_delta(&[(100.0, 102.0), (200.0, 900.0), (300.0, 306.0)]);
        assert_eq!(steady, Some(-0.019_803), "two percent slower: -ln 1.02 to a millionth");
        assert_eq!(burst, steady);
        assert_eq!(session_delta(&[]), None);
    }

    #[test]
    fn no_difference_is_positive_zero() {
        let hardly_slower = session_delta(&[(1e9 - 1.0, 1e9)]);
        assert!(
            hardly_slower.is_some_and(|delta| delta == 0.0 && delta.is_sign_positive()),
            "{hardly_slower:?}"
        );
    }

    #[test]
    fn sessions_are_separate() {
        let samples = [(0, 0, 10.0), (0, 1, 20.0), (1, 1, 50.0), (1, 0, 10.0), (2, 0, 1.0)];
        let samples = samples.map(|(session, side, ns)| Placed { session, side, ns });
        let group = |side| by_session(samples.into_iter(), 2, side);
        assert_eq!(group(0), [[10.0], [10.0]], "the third session is not whole");
        assert_eq!(
            deltas(&group(0), &group(1)),
            [0.5, 0.2].map(|ratio: f64| (ratio.ln() * 1e6).round() / 1e6)
        );
    }
}
