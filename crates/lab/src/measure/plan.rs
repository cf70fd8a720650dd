//! Measurement plan: decision rule, shape of a session, seed.

use crate::stats::order_rng::OrderRng;
use crate::stats::verdict::{Rule, RuleError};

/// Everything fixed before the first sample.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    /// Looks and thresholds.
    pub(crate) rule: Rule,
    /// Sessions of a row without a comparison.
    pub(crate) solo_sessions: usize,
    /// Maximum rounds per session; each side gives one sample per round. See [`Plan::rounds_for`].
    pub(crate) rounds: usize,
    /// Untimed samples per side before the first round.
    pub(crate) warm_ups: usize,
    /// Intended length of a sample.
    pub(crate) sample_ns: u64,
    /// Pause between sessions.
    pub(crate) cool_down_ms: u64,
    /// Seed of inputs and random orders. Each session has its own inputs: see [`Plan::session_seed`].
    pub(crate) seed: u64,
    /// Timeout for one reply of a session.
    pub(crate) timeout_s: u64,
    /// Whether single-threaded sides are pinned to one processor per session.
    pub(crate) pin: bool,
    /// Comparisons that also compare the baseline with itself.
    pub(crate) control: Control,
}

/// Comparisons with an A/A control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Control {
    /// None.
    Off,
    /// The first comparison of the command.
    First,
    /// All comparisons.
    All,
}

/// Error in a plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum PlanError {
    #[error(transparent)]
    Rule(#[from] RuleError),
    #[error("{name} is {value}, but must be between {least} and {most}")]
    OutOfRange { name: &'static str, value: u64, least: u64, most: u64 },
}

impl Default for Plan {
    /// Up to 50 rounds of 0.5 ms. On a disturbed machine many short alternations are better than few long ones: in
    /// the same total time, 50 × 0.5 ms left a twentieth of the noise between sessions that 5 × 5 ms left.
    fn default() -> Self {
        Plan {
            rule: Rule::standard(),
            solo_sessions: 10,
            rounds: 50,
            warm_ups: 2,
            sample_ns: 500_000,
            cool_down_ms: 0,
            seed: 1,
            timeout_s: 120,
            pin: true,
            control: Control::All,
        }
    }
}

impl Plan {
    /// Minimum rounds of a session whose samples cannot be short, as long as they take no more than
    /// [`Plan::PATIENCE_NS`].
    const FEWEST_ROUNDS: u64 = 5;
    /// Maximum rounds of a session.
    const MOST_ROUNDS: usize = 1000;
    /// Maximum factor by which a session may exceed its planned length if its setup took long.
    pub(crate) const MOST_LENGTHENING: usize = 4;

    /// A side whose minimum rounds take longer than this has fewer: the number of sessions decides what can be
    /// proven.
    const PATIENCE_NS: u64 = 2_000_000_000;

    /// Rounds of a session whose samples take `sample_ns`: as many as fit the planned time of a side, because one
    /// iteration may take longer than a sample should.
    ///
    /// `setup_ns` is the setup time of a session per side. If it exceeds the time of the rounds, there are up to
    /// [`Plan::MOST_LENGTHENING`] times as many, to make use of the started process.
    pub(crate) fn rounds_for(&self, sample_ns: u64, setup_ns: u64) -> usize {
        let whole = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let sample_ns = sample_ns.max(1);
        let meant_ns = self.sample_ns.saturating_mul(self.rounds as u64);
        let fewest = (Self::PATIENCE_NS / sample_ns).clamp(1, Self::FEWEST_ROUNDS);
        let fitting = self.rounds.min(whole((meant_ns / sample_ns).max(fewest)));
        let longest = self.rounds.saturating_mul(Self::MOST_LENGTHENING).min(Self::MOST_ROUNDS);
        fitting.max(whole(setup_ns / sample_ns).min(longest))
    }

    /// Seed of the inputs of a session. With one input for all sessions, effects that branch predictors or a tuner of
    /// the code learned from that input would be taken for speed on any input.
    pub(crate) fn session_seed(&self, session: usize) -> u64 {
        OrderRng::new(self.seed ^ (session as u64).rotate_left(32)).next()
    }

    /// Checks that the plan is consistent.
    pub(crate) fn validate(&self) -> Result<(), PlanError> {
        self.rule.validate()?;
        let most_sessions = crate::stats::MAX_SESSIONS as u64;
        for (name, value, least, most) in [
            ("sessions", self.solo_sessions as u64, 1, most_sessions),
            ("rounds", self.rounds as u64, 1, Self::MOST_ROUNDS as u64),
            ("warm_ups", self.warm_ups as u64, 0, 1000),
            ("sample_ns", self.sample_ns, 1, 600_000_000_000),
            ("cool_down_ms", self.cool_down_ms, 0, 3_600_000),
            ("timeout_s", self.timeout_s, 1, 86_400),
        ] {
            if !(least..=most).contains(&value) {
                return Err(PlanError::OutOfRange { name, value, least, most });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_samples_get_fewer_rounds() {
        let plan = Plan { rounds: 50, sample_ns: 500_000, ..Plan::default() };
        for (sample_ns, rounds) in [
            (1, 50),
            (500_000, 50),
            (1_000_000, 25),
            (4_000_000, 6),
            (300_000_000, 5),
            (900_000_000, 2),
            (3_000_000_000, 1),
        ] {
            assert_eq!(plan.rounds_for(sample_ns, 0), rounds);
        }
        assert_eq!(Plan { rounds: 2, ..plan }.rounds_for(300_000_000, 0), 2, "never more than asked for");
    }

    #[test]
    fn sessions_that_take_long_to_begin_go_on_longer() {
        let plan = Plan { rounds: 50, sample_ns: 500_000, ..Plan::default() };
        let rounds = |setup_ms: u64| plan.rounds_for(500_000, setup_ms * 1_000_000);
        assert_eq!(
            [0, 25, 40, 100, 900].map(rounds),
            [50, 50, 80, 200, 200],
            "as long as it took, four times at most"
        );
        assert_eq!(plan.rounds_for(25_000_000, 400_000_000), 16, "a slow case with a slower set-up");
        assert_eq!(Plan { rounds: 1000, ..plan }.rounds_for(500_000, u64::MAX), 1000);
    }

    #[test]
    fn plans_that_cannot_be_followed_are_refused() {
        assert_eq!(Plan::default().validate(), Ok(()));
        let error = Plan { rounds: 0, ..Plan::default() }.validate().expect_err("no rounds");
        assert_eq!(error.to_string(), "rounds is 0, but must be between 1 and 1000");
    }
}
