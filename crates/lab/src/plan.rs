//! How a command measures: the rule of decision, the shape of a session, the seed.

use crate::stats::verdict::{Rule, RuleError};

/// Everything that is fixed before the first sample is taken.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    /// When to look and what counts as a difference.
    pub(crate) rule: Rule,
    /// Sessions of a row that is measured alone.
    pub(crate) solo_sessions: usize,
    /// Most rounds per session; in each, every side gives one sample. See [`Plan::rounds_for`].
    pub(crate) rounds: usize,
    /// Untimed samples per side before the first round.
    pub(crate) warm_ups: usize,
    /// How long a sample should take.
    pub(crate) sample_ns: u64,
    /// Pause between sessions.
    pub(crate) cool_down_ms: u64,
    /// Seed of the inputs and of the random orders. Each session has inputs of its own: see [`Plan::session_seed`].
    pub(crate) seed: u64,
    /// Longest wait for one answer of a session before it counts as hung.
    pub(crate) timeout_s: u64,
    /// Whether single-threaded sides are kept on one processor per session.
    pub(crate) pin: bool,
    /// Which comparisons also set the baseline against itself.
    pub(crate) control: Control,
}

/// Which contests carry an A/A control arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Control {
    /// None.
    Off,
    /// The first of the command.
    First,
    /// All.
    All,
}

/// Why a plan cannot be followed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum PlanError {
    #[error(transparent)]
    Rule(#[from] RuleError),
    #[error("{name} is {value}, but must lie between {least} and {most}")]
    OutOfRange { name: &'static str, value: u64, least: u64, most: u64 },
}

impl Default for Plan {
    /// Up to fifty rounds of half a millisecond. On a disturbed machine many short alternations beat few long ones:
    /// of the same total time, 50 × 0.5 ms left a twentieth of the noise that 5 × 5 ms left between sessions.
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
    /// Fewest rounds of a session whose samples cannot be short, as long as these take no more than [`Plan::PATIENCE_NS`].
    const FEWEST_ROUNDS: u64 = 5;
    /// Most rounds of a session.
    const MOST_ROUNDS: usize = 1000;
    /// How many times as long a session may be as the plan means, where it took long to begin.
    pub(crate) const MOST_LENGTHENING: usize = 4;

    /// A side that takes longer than this for them has fewer rounds: the number of sessions is what proves something.
    const PATIENCE_NS: u64 = 2_000_000_000;

    /// Rounds of a session whose samples take `sample_ns`: as many as fit the time that the plan means for a side,
    /// since one iteration may take longer than a sample should.
    ///
    /// `setup_ns` is what a session spends for each side before its first sample. Where that is more than the rounds
    /// take, there are up to [`Plan::MOST_LENGTHENING`] times as many: who has paid for a process should use it.
    pub(crate) fn rounds_for(&self, sample_ns: u64, setup_ns: u64) -> usize {
        let whole = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let sample_ns = sample_ns.max(1);
        let meant_ns = self.sample_ns.saturating_mul(self.rounds as u64);
        let fewest = (Self::PATIENCE_NS / sample_ns).clamp(1, Self::FEWEST_ROUNDS);
        let fitting = self.rounds.min(whole((meant_ns / sample_ns).max(fewest)));
        let longest = self.rounds.saturating_mul(Self::MOST_LENGTHENING).min(Self::MOST_ROUNDS);
        fitting.max(whole(setup_ns / sample_ns).min(longest))
    }

    /// The seed of the inputs of a session. With one input for all, what is learned of it by branch predictors and by
    /// whoever tunes the code would pass for the speed on any input.
    pub(crate) fn session_seed(&self, session: usize) -> u64 {
        Orders::new(self.seed ^ (session as u64).rotate_left(32)).next()
    }

    /// Whether the plan can be followed at all.
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

/// A small generator for orders and seeds: SplitMix64. The same seed gives the same orders on every machine.
#[derive(Clone, Debug)]
pub(crate) struct Orders {
    state: u64,
}

impl Orders {
    pub(crate) fn new(seed: u64) -> Self {
        Orders { state: seed }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`; the bias of the simple reduction is far below anything that an order could show.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// A random order of `0 .. n`.
    pub(crate) fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        self.shuffle(&mut order);
        order
    }

    /// Puts the items into a random order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        // First outputs of SplitMix64 seeded with 1234567, as in its authors' C code.
        let mut orders = Orders::new(1_234_567);
        assert_eq!(
            [orders.next(), orders.next(), orders.next()],
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn every_order_comes_up_about_equally_often() {
        let mut orders = Orders::new(1);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..6000 {
            *counts.entry(orders.permutation(3)).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|n| (880..1120).contains(n)), "{counts:?}");
    }

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
        assert_eq!(error.to_string(), "rounds is 0, but must lie between 1 and 1000");
    }
}
