//! Ratio of a quantity of two sides, for programs that measure both in rounds of their own.

use super::session_delta;
use crate::stats::MAX_SESSIONS;
use crate::stats::order::median;
use crate::stats::signed_rank::hodges_lehmann;
use crate::stats::verdict::Rule;

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
        let (low, high) = crate::stats::signed_rank::interval(&deltas, 0.99).expect("twelve rounds");
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
