//! Runs two sides of a comparison against one clock, pair by pair, in alternating order.
//!
//! The harness owns the clock and the loop: a side says what one call is, never what is timed.

use std::time::{Duration, Instant};

use hashmill_testkit::Rng;

/// Where the time comes from. Tests hand in a clock that moves only when told to.
pub trait Clock {
    /// Nanoseconds since some fixed moment.
    fn now_ns(&mut self) -> u64;
}

/// The monotonic clock of the system.
#[derive(Debug)]
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    fn now_ns(&mut self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).expect("no run lasts for centuries")
    }
}

/// One side of a comparison.
///
/// The loop over the calls is inside the closure, so that a call of sixty nanoseconds is not measured together with
/// an indirect jump. The second argument is where in its page the input starts this round.
pub struct Side<'a> {
    calls: Box<dyn FnMut(u64, usize) + 'a>,
    before_each: Option<Box<dyn FnMut() + 'a>>,
}

impl std::fmt::Debug for Side<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Side").field("prepared", &self.before_each.is_some()).finish_non_exhaustive()
    }
}

impl<'a> Side<'a> {
    /// A side whose calls follow one another without a pause.
    pub fn new(calls: impl FnMut(u64, usize) + 'a) -> Self {
        Self { calls: Box::new(calls), before_each: None }
    }

    /// The same, with something that happens before each call and is not timed.
    pub fn prepared(self, before_each: impl FnMut() + 'a) -> Self {
        Self { before_each: Some(Box::new(before_each)), ..self }
    }

    fn time(&mut self, clock: &mut impl Clock, calls: u64, offset: usize) -> u64 {
        let Some(before_each) = &mut self.before_each else {
            let start = clock.now_ns();
            (self.calls)(calls, offset);
            return clock.now_ns() - start;
        };
        let mut total = 0;
        for _ in 0..calls {
            before_each();
            let start = clock.now_ns();
            (self.calls)(1, offset);
            total += clock.now_ns() - start;
        }
        total
    }
}

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    /// Pairs to measure, when the budget allows.
    pub pairs: usize,
    /// The shortest sample worth taking: below it the clock itself shows.
    pub sample: Duration,
    /// No more pairs are started after this long, except to reach [`Timer::FEWEST`].
    pub budget: Duration,
}

impl Timer {
    /// Fewer sessions have no exact interval, and a median of fewer pairs says nothing about noise.
    pub const FEWEST: usize = 8;
}

/// What [`measure`] saw.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    /// Calls per sample, the same for both sides.
    pub calls: u64,
    /// `[rival, ours]` in nanoseconds per call.
    pub pairs: Vec<[f64; 2]>,
}

/// Measures `rival` against `ours`.
///
/// Both sides run the same number of calls. The order inside a pair alternates from a random start (A,B, B,A, A,B …),
/// so that whatever drifts favours neither; both sides of a pair see the same input offset, drawn anew for each pair.
pub fn measure(
    clock: &mut impl Clock,
    mut rival: Side<'_>,
    mut ours: Side<'_>,
    timer: Timer,
    offsets: usize,
    rng: &mut Rng,
) -> Samples {
    let calls = calibrate(clock, &mut rival, &mut ours, timer);
    let budget = u64::try_from(timer.budget.as_nanos()).unwrap_or(u64::MAX);
    let mut rival_first = rng.below(2) == 0;
    let mut pairs = Vec::with_capacity(timer.pairs);
    let start = clock.now_ns();
    while pairs.len() < timer.pairs
        && (pairs.len() < Timer::FEWEST.min(timer.pairs) || clock.now_ns() - start < budget)
    {
        let offset = rng.below(offsets.max(1));
        let pair = if rival_first {
            let rival = rival.time(clock, calls, offset);
            [rival, ours.time(clock, calls, offset)]
        } else {
            let ours = ours.time(clock, calls, offset);
            [rival.time(clock, calls, offset), ours]
        };
        pairs.push(pair.map(|ns| ns as f64 / calls as f64));
        rival_first = !rival_first;
    }
    Samples { calls, pairs }
}

/// Calls per sample where each one is prepared: what comes before a call takes longer than the call.
const PREPARED_CALLS: u64 = 16;

/// Finds how many calls make the quicker side fill a sample. Runs both sides, so it warms them up as well.
fn calibrate(clock: &mut impl Clock, rival: &mut Side<'_>, ours: &mut Side<'_>, timer: Timer) -> u64 {
    // A call that is long enough alone was made once already, to see whether the answers agree.
    if timer.sample.is_zero() {
        return 1;
    }
    let wanted = u64::try_from(timer.sample.as_nanos()).unwrap_or(u64::MAX).max(1);
    let prepared = rival.before_each.is_some() || ours.before_each.is_some();
    let most = if prepared { PREPARED_CALLS } else { u64::MAX };
    let mut calls = 1;
    loop {
        let took = rival.time(clock, calls, 0).min(ours.time(clock, calls, 0)).max(1);
        if took >= wanted || calls >= most {
            return calls;
        }
        // The first, cold calls overstate the time: never jump by more than eight, and look again.
        let factor = wanted.div_ceil(took).clamp(2, 8);
        calls = (calls * factor).min(most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    /// A clock that only the sides of a test move.
    struct Fake<'a>(&'a Cell<u64>);

    impl Clock for Fake<'_> {
        fn now_ns(&mut self) -> u64 {
            self.0.get()
        }
    }

    const PACE: Timer =
        Timer { pairs: 6, sample: Duration::from_nanos(1000), budget: Duration::from_secs(1) };

    #[test]
    fn both_sides_run_the_same_calls_and_are_timed_per_call() {
        let time = Cell::new(0);
        let rival = Side::new(|calls, _| time.set(time.get() + 30 * calls));
        let ours = Side::new(|calls, _| time.set(time.get() + 10 * calls));
        let samples = measure(&mut Fake(&time), rival, ours, PACE, 1, &mut Rng::new(1));
        assert!(samples.calls >= 100, "the quicker side fills a sample: {}", samples.calls);
        assert_eq!(samples.pairs, vec![[30.0, 10.0]; 6]);
    }

    #[test]
    fn the_order_alternates_and_a_pair_shares_its_offset() {
        let time = Cell::new(0);
        let log = RefCell::new(Vec::new());
        let side = |name: char| {
            let (time, log) = (&time, &log);
            Side::new(move |_, offset| {
                time.set(time.get() + 5000);
                log.borrow_mut().push((name, offset));
            })
        };
        measure(&mut Fake(&time), side('r'), side('o'), PACE, 4096, &mut Rng::new(1));
        let log = log.into_inner();
        let measured = &log[2..];
        assert_eq!(measured.len(), 12);
        for (i, pair) in measured.chunks(2).enumerate() {
            assert_eq!(pair[0].1, pair[1].1, "pair {i}");
            assert_ne!(pair[0].0, pair[1].0, "pair {i}");
            if i > 0 {
                assert_eq!(
                    pair[0].0,
                    measured[2 * i - 1].0,
                    "pair {i} starts with the side that ended the last"
                );
            }
        }
        assert!(measured.iter().any(|&(_, offset)| offset != measured[0].1));
    }

    #[test]
    fn what_comes_before_a_call_is_not_timed() {
        let time = Cell::new(0);
        let tick = |ns: u64| time.set(time.get() + ns);
        let side = || Side::new(|calls, _| tick(700 * calls)).prepared(|| tick(1_000_000));
        let samples = measure(&mut Fake(&time), side(), side(), PACE, 1, &mut Rng::new(1));
        assert!(samples.pairs.iter().all(|&pair| pair == [700.0, 700.0]), "{samples:?}");
        assert!(samples.calls <= PREPARED_CALLS, "{samples:?}");
    }

    #[test]
    fn a_slow_row_stops_at_its_budget_but_not_before_the_fewest_pairs() {
        let time = Cell::new(0);
        let side = || Side::new(|_, _| time.set(time.get() + 1_000_000_000));
        let timer = Timer { pairs: 50, ..PACE };
        let samples = measure(&mut Fake(&time), side(), side(), timer, 1, &mut Rng::new(1));
        assert_eq!(samples.pairs.len(), Timer::FEWEST);
    }
}
