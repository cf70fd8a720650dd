//! Quarantine of an engine that failed: a state machine that decides when the engine gets work again.
//!
//! ```text
//!            failure                      time is over            self-test passed
//! admitted ───────────▶ quarantined ───────────────▶ self-test ───────────────────▶ admitted
//!                            ▲                           │ failed                      │
//!                            └───────────────────────────┴─────────── failure ◀────────┘
//! ```
//!
//! Each failure in a row doubles the time in quarantine and the length of the self-test, up to a limit. An engine that works for as
//! long as its last quarantine took goes back by one step. Time is passed in, so that a simulation can run years of it.

use std::time::Duration;

/// Times and lengths of a quarantine. Both double with each failure in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QuarantineTimes {
    /// Time in quarantine after the first failure.
    pub first: Duration,
    /// The longest time in quarantine.
    pub longest: Duration,
    /// Batches of the first self-test.
    pub first_rounds: u32,
    /// The most batches of a self-test.
    pub most_rounds: u32,
}

impl Default for QuarantineTimes {
    fn default() -> QuarantineTimes {
        QuarantineTimes {
            first: Duration::from_secs(60),
            longest: Duration::from_secs(3600),
            first_rounds: 1,
            most_rounds: 16,
        }
    }
}

/// What an engine may do now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Admission {
    /// Compute.
    Work,
    /// Pass a self-test of this many batches first, and report its result.
    SelfTest {
        /// The number of batches.
        rounds: u32,
    },
    /// Nothing until then.
    Wait {
        /// The time at which the quarantine is over.
        until: Duration,
    },
}

/// Quarantine of one engine. All times count from the same moment, such as the start of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Quarantine {
    times: QuarantineTimes,
    /// Failures in a row, less those that good work has made up for.
    failures: u32,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The engine works since then, or since the last failure was made up for.
    Admitted {
        since: Duration,
    },
    Quarantined {
        until: Duration,
    },
}

impl Default for Quarantine {
    fn default() -> Quarantine {
        Quarantine::new(QuarantineTimes::default())
    }
}

impl Quarantine {
    /// An engine that has not failed.
    pub fn new(times: QuarantineTimes) -> Quarantine {
        Quarantine { times, failures: 0, state: State::Admitted { since: Duration::ZERO } }
    }

    /// What the engine may do at this time. Ask again after each self-test.
    pub fn admission(&self, now: Duration) -> Admission {
        match self.state {
            State::Admitted { .. } => Admission::Work,
            State::Quarantined { until } if now < until => Admission::Wait { until },
            State::Quarantined { .. } => Admission::SelfTest { rounds: self.rounds() },
        }
    }

    /// Records that the engine failed. A failure of work that began before the quarantine changes nothing.
    pub fn report_failure(&mut self, now: Duration) {
        if matches!(self.state, State::Quarantined { until } if now < until) {
            return;
        }
        self.forgive(now);
        self.failures = self.failures.saturating_add(1);
        self.state = State::Quarantined { until: now.saturating_add(self.time()) };
    }

    /// Demands a self-test before further work, because the engine may have computed a wrong result.
    pub fn suspect(&mut self, now: Duration) {
        if matches!(self.state, State::Admitted { .. }) {
            self.forgive(now);
            self.state = State::Quarantined { until: now };
        }
    }

    /// Records the result of a self-test that [`admission`](Quarantine::admission) demanded.
    pub fn report_self_test(&mut self, now: Duration, passed: bool) {
        match self.admission(now) {
            Admission::SelfTest { .. } if passed => self.state = State::Admitted { since: now },
            Admission::SelfTest { .. } => self.report_failure(now),
            Admission::Work | Admission::Wait { .. } => {}
        }
    }

    /// Goes back by one failure for each stretch of work as long as the quarantine of that failure.
    fn forgive(&mut self, now: Duration) {
        let State::Admitted { mut since } = self.state else { return };
        while self.failures > 0 && now.saturating_sub(since) >= self.time() {
            since = since.saturating_add(self.time());
            self.failures -= 1;
        }
        self.state = State::Admitted { since };
    }

    /// Time in quarantine after the last failure.
    fn time(&self) -> Duration {
        self.times.first.saturating_mul(self.factor()).min(self.times.longest.max(self.times.first))
    }

    fn rounds(&self) -> u32 {
        let QuarantineTimes { first_rounds, most_rounds, .. } = self.times;
        first_rounds.saturating_mul(self.factor()).min(most_rounds.max(first_rounds)).max(1)
    }

    fn factor(&self) -> u32 {
        1_u32.checked_shl(self.failures.saturating_sub(1)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn times() -> QuarantineTimes {
        QuarantineTimes { first: 10 * SECOND, longest: 100 * SECOND, first_rounds: 1, most_rounds: 8 }
    }

    #[test]
    fn each_failure_in_a_row_doubles_the_quarantine_and_the_self_test() {
        let mut quarantine = Quarantine::new(times());
        let mut now = Duration::ZERO;
        let mut quarantines = Vec::new();
        for _ in 0..6 {
            quarantine.report_failure(now);
            let Admission::Wait { until } = quarantine.admission(now) else { panic!("it failed") };
            assert_eq!(quarantine.admission(until - Duration::from_nanos(1)), Admission::Wait { until });
            let Admission::SelfTest { rounds } = quarantine.admission(until) else { panic!("time is over") };
            quarantines.push(((until - now).as_secs(), rounds));
            now = until;
        }
        assert_eq!(quarantines, [(10, 1), (20, 2), (40, 4), (80, 8), (100, 8), (100, 8)]);
    }

    #[test]
    fn good_work_makes_up_for_failures() {
        let mut quarantine = Quarantine::new(times());
        quarantine.report_failure(Duration::ZERO);
        quarantine.report_self_test(10 * SECOND, false);
        quarantine.report_self_test(30 * SECOND, true);
        // After 20 s of work the second failure is made up for, after 10 s more the first.
        for (works_until, expected) in [(40, 40), (50, 20), (59, 20), (60, 10), (1000, 10)] {
            let mut again = quarantine.clone();
            let now = works_until * SECOND;
            again.report_failure(now);
            assert_eq!(
                again.admission(now),
                Admission::Wait { until: now + expected * SECOND },
                "{works_until}"
            );
        }
    }

    #[test]
    fn a_suspect_is_tested_at_once_and_is_not_punished_if_it_passes() {
        let mut quarantine = Quarantine::new(times());
        quarantine.suspect(5 * SECOND);
        assert_eq!(quarantine.admission(5 * SECOND), Admission::SelfTest { rounds: 1 });
        let mut faulty = quarantine.clone();
        quarantine.report_self_test(5 * SECOND, true);
        assert_eq!(quarantine, {
            let mut new = Quarantine::new(times());
            new.state = State::Admitted { since: 5 * SECOND };
            new
        });
        faulty.report_self_test(5 * SECOND, false);
        assert_eq!(faulty.admission(6 * SECOND), Admission::Wait { until: 15 * SECOND });
    }

    #[test]
    fn late_reports_change_nothing() {
        let mut quarantine = Quarantine::new(times());
        quarantine.report_self_test(SECOND, false);
        assert_eq!(quarantine.admission(SECOND), Admission::Work, "none was demanded");
        quarantine.report_failure(SECOND);
        let before = quarantine.clone();
        quarantine.report_failure(2 * SECOND);
        quarantine.report_self_test(2 * SECOND, true);
        quarantine.suspect(2 * SECOND);
        assert_eq!(quarantine, before);
    }

    /// Small generator of random numbers (SplitMix64).
    struct Random(u64);

    impl Random {
        fn below(&mut self, end: u64) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut value = self.0;
            value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (value ^ (value >> 31)) % end
        }
    }

    /// An engine that is healthy and faulty in turns, for random times, under random work. A faulty engine fails a batch or a round
    /// of a self-test with some probability.
    #[test]
    fn simulation_keeps_the_promises() {
        for seed in 0..hashmill_testkit::size::of(200, 5000) {
            let mut random = Random(seed);
            let times = QuarantineTimes {
                first: Duration::from_secs(1 + random.below(100)),
                longest: Duration::from_secs(1 + random.below(5000)),
                first_rounds: 1 + random.below(3) as u32,
                most_rounds: 1 + random.below(30) as u32,
            };
            let longest = times.longest.max(times.first);
            let mut quarantine = Quarantine::new(times);
            let (mut now, mut health_ends, mut is_faulty) = (Duration::ZERO, Duration::ZERO, true);
            // Of each thousand batches of a faulty engine, this many fail.
            let fault_rate = 1 + random.below(1000);
            let mut last_failure: Option<(Duration, Duration, u32)> = None;
            let (mut failures, mut healthy_since) = (0_u64, Duration::ZERO);
            for _ in 0..2000 {
                now += Duration::from_millis(1 + random.below(20_000));
                if now >= health_ends {
                    is_faulty = !is_faulty;
                    healthy_since = now;
                    health_ends = now + Duration::from_secs(random.below(20_000));
                }
                let fails = |random: &mut Random| is_faulty && random.below(1000) < fault_rate;
                match quarantine.admission(now) {
                    Admission::Work => {
                        if fails(&mut random) {
                            quarantine.report_failure(now);
                            let Admission::Wait { until } = quarantine.admission(now) else {
                                panic!("seed {seed}: work after a failure")
                            };
                            assert!(until - now >= times.first && until - now <= longest, "seed {seed}");
                            last_failure = Some((now, until, quarantine.rounds()));
                            failures += 1;
                        }
                    }
                    Admission::Wait { until } => {
                        // A healthy engine waits no longer than the longest quarantine.
                        assert!(until > now && until - now <= longest, "seed {seed}");
                        assert!(is_faulty || now - healthy_since <= longest, "seed {seed}: still waiting");
                    }
                    Admission::SelfTest { rounds } => {
                        let (failed, until, demanded) = last_failure.expect("a failure before the test");
                        assert!(now >= until && now - failed >= times.first, "seed {seed}: too early");
                        assert_eq!(rounds, demanded, "seed {seed}");
                        let passed = !(0..rounds).any(|_| fails(&mut random));
                        quarantine.report_self_test(now, passed);
                        match quarantine.admission(now) {
                            Admission::Work => assert!(passed, "seed {seed}: admitted after a failed test"),
                            Admission::Wait { until: next } => {
                                assert!(!passed, "seed {seed}: not admitted after a passed test");
                                let grows = next - now >= (until - failed).min(longest);
                                assert!(
                                    grows && quarantine.rounds() >= rounds,
                                    "seed {seed}: shorter than before"
                                );
                                last_failure = Some((now, next, quarantine.rounds()));
                                failures += 1;
                            }
                            Admission::SelfTest { .. } => panic!("seed {seed}: twice in a row"),
                        }
                    }
                }
                // Each failure costs at least the shortest quarantine.
                assert!(failures <= 1 + now.as_nanos() as u64 / times.first.as_nanos() as u64, "seed {seed}");
            }
        }
    }
}
