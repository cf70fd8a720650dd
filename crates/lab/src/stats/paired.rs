//! From the paired samples of one session to the one number that the session contributes.

use super::order::median;

/// Median over the rounds of one session of `ln(b / a)`: the session's paired log ratio.
///
/// The session, not the round, is the unit of replication: rounds of one process share its addresses, its pages
/// and its luck. `None` when the session has no complete round.
#[must_use]
pub fn session_delta(rounds: &[(f64, f64)]) -> Option<f64> {
    let ratios: Vec<f64> = rounds.iter().map(|(a, b)| (b / a).ln()).collect();
    (!ratios.is_empty()).then(|| median(&ratios))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_disturbed_round_does_not_move_the_session() {
        let steady = session_delta(&[(100.0, 102.0), (200.0, 204.0), (300.0, 306.0)]);
        let burst = session_delta(&[(100.0, 102.0), (200.0, 900.0), (300.0, 306.0)]);
        assert_eq!(steady, Some((1.02_f64).ln()));
        assert_eq!(burst, steady);
        assert_eq!(session_delta(&[]), None);
    }
}
