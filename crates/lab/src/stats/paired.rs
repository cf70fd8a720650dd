//! Paired delta of a session from its samples.

use super::MAX_SESSIONS;
use super::order::median;
use super::ratio::log_ratio;
use super::signed_rank::hodges_lehmann;
use super::verdict::Rule;

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

/// Ratio of a baseline to a candidate. Above 1, the candidate needs less.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedRatio {
    /// The Hodges–Lehmann estimate over the rounds.
    pub ratio: f64,
    /// The exact interval at 99 %. `None` with fewer than eight rounds.
    pub interval: Option<(f64, f64)>,
}

/// The ratio from the values of a baseline and a candidate in each round, by the rule of the lab's reports for a number of sessions that
/// was fixed before: a round counts as a session, so its sides must run in processes of their own.
///
/// `None` without rounds, with more than 400, or if a value is not finite and above zero.
#[must_use]
pub fn paired_ratio(rounds: &[(f64, f64)]) -> Option<PairedRatio> {
    let is_valid = |value: f64| value.is_finite() && value > 0.0;
    let are_valid = rounds.iter().all(|(baseline, candidate)| is_valid(*baseline) && is_valid(*candidate));
    if !are_valid || !(1..=MAX_SESSIONS).contains(&rounds.len()) {
        return None;
    }
    let deltas: Vec<f64> = rounds.iter().filter_map(|round| session_delta(&[*round])).collect();
    let interval = Rule::at(&[deltas.len()]).interval(&deltas);
    Some(PairedRatio {
        ratio: hodges_lehmann(&deltas).exp(),
        interval: interval.map(|(low, high)| (low.exp(), high.exp())),
    })
}

/// Middle value, or the mean of the two middle values. `NaN` for an empty slice.
#[must_use]
pub fn median_of_rounds(values: &[f64]) -> f64 {
    median(values)
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

    #[test]
    fn a_constant_ratio_has_an_interval_of_one_point_from_eight_rounds_on() {
        let rounds: Vec<(f64, f64)> = (1..=8).map(|round| (f64::from(4 * round), f64::from(round))).collect();
        let PairedRatio { ratio, interval } = paired_ratio(&rounds).expect("eight rounds");
        let (low, high) = interval.expect("eight rounds reach 99 %");
        // Deltas are rounded to a millionth.
        assert!(
            [ratio, low, high].iter().all(|value| (value / 4.0 - 1.0).abs() < 1e-6),
            "{ratio} {low} {high}"
        );
        assert_eq!(paired_ratio(&rounds[..7]).map(|ratio| ratio.interval), Some(None));
    }

    #[test]
    fn the_interval_is_that_of_one_look() {
        let rounds: Vec<(f64, f64)> = (1..=12).map(|round| (1.0 + 0.1 * f64::from(round), 1.0)).collect();
        let deltas: Vec<f64> = rounds.iter().filter_map(|round| session_delta(&[*round])).collect();
        let (low, high) = super::super::signed_rank::interval(&deltas, 0.99).expect("twelve rounds");
        assert_eq!(paired_ratio(&rounds).and_then(|ratio| ratio.interval), Some((low.exp(), high.exp())));
    }

    #[test]
    fn values_without_a_ratio_have_none() {
        for rounds in [&[][..], &[(0.0, 1.0)], &[(1.0, 0.0)], &[(1.0, f64::NAN)], &[(f64::INFINITY, 1.0)]] {
            assert_eq!(paired_ratio(rounds), None, "{rounds:?}");
        }
        assert_eq!(paired_ratio(&[(1.0, 1.0); MAX_SESSIONS + 1]), None);
    }
}
