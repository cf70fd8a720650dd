//! From the paired samples of one session to the one number that the session contributes.

use super::order::median;

/// One sample, placed: nanoseconds per iteration of a side in a session. Samples come in the order of their rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// Which session.
    pub session: usize,
    /// Which side.
    pub side: usize,
    /// Nanoseconds per iteration.
    pub ns: f64,
}

/// The samples of one side, grouped by session; those of sessions from `sessions` on are left out.
#[must_use]
pub fn by_session(samples: impl Iterator<Item = Placed>, sessions: usize, side: usize) -> Vec<Vec<f64>> {
    let mut grouped = vec![Vec::new(); sessions];
    for sample in samples.filter(|sample| sample.side == side && sample.session < sessions) {
        grouped[sample.session].push(sample.ns);
    }
    grouped
}

/// The delta of every session from grouped samples of the baseline and of another side.
#[must_use]
pub fn deltas(baseline: &[Vec<f64>], other: &[Vec<f64>]) -> Vec<f64> {
    let sessions = baseline.iter().zip(other);
    let paired = sessions.map(|(a, b)| a.iter().copied().zip(b.iter().copied()).collect::<Vec<_>>());
    paired.filter_map(|rounds| session_delta(&rounds)).collect()
}

/// Median over the rounds of one session of `ln(b / a)`: the session's paired log ratio.
///
/// The session, not the round, is the unit of replication: rounds of one process share its addresses, its pages
/// and its luck. `None` when the session has no complete round.
///
/// Rounded to a millionth, which is finer than any claim, so that a stored number and the one behind it are the same.
#[must_use]
pub fn session_delta(rounds: &[(f64, f64)]) -> Option<f64> {
    let ratios: Vec<f64> = rounds.iter().map(|(a, b)| (b / a).ln()).collect();
    // Adding zero turns a negative zero into a plain one.
    (!ratios.is_empty()).then(|| (median(&ratios) * 1e6).round() / 1e6 + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_disturbed_round_does_not_move_the_session() {
        let steady = session_delta(&[(100.0, 102.0), (200.0, 204.0), (300.0, 306.0)]);
        let burst = session_delta(&[(100.0, 102.0), (200.0, 900.0), (300.0, 306.0)]);
        assert_eq!(steady, Some(0.019_803), "ln 1.02 to a millionth");
        assert_eq!(burst, steady);
        assert_eq!(session_delta(&[]), None);
    }

    #[test]
    fn a_difference_of_nothing_is_a_plain_zero() {
        let slightly_less = session_delta(&[(1e9, 1e9 - 1.0)]);
        assert!(
            slightly_less.is_some_and(|delta| delta == 0.0 && delta.is_sign_positive()),
            "{slightly_less:?}"
        );
    }

    #[test]
    fn sessions_are_kept_apart() {
        let samples = [(0, 0, 10.0), (0, 1, 20.0), (1, 1, 50.0), (1, 0, 10.0), (2, 0, 1.0)];
        let samples = samples.map(|(session, side, ns)| Placed { session, side, ns });
        let group = |side| by_session(samples.into_iter(), 2, side);
        assert_eq!(group(0), [[10.0], [10.0]], "the third session is not whole");
        assert_eq!(
            deltas(&group(0), &group(1)),
            [2.0, 5.0].map(|ratio: f64| (ratio.ln() * 1e6).round() / 1e6)
        );
    }
}
