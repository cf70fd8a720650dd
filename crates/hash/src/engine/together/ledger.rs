//! Who gets how much of what is to be done. No engine is touched here, and no clock is looked at.

use core::time::Duration;

/// What can be given away in parts.
pub(super) trait Divisible: Sized {
    fn len(&self) -> u64;

    /// The first `len` of it, of more than that, and the rest.
    fn split(self, len: u64) -> (Self, Self);
}

/// For how many seconds an engine is left alone with a part: in fewer it does less, because it begins and ends with little to do, and in
/// more there is more to be done again if it fails.
const A_WHILE: f64 = 20.0;

/// What part of the time that others work alone may be lost by asking an engine again that was too slow.
const FOR_TRIAL: f64 = 1.0 / 8.0;

/// What is to be done, and how fast each engine is.
pub(super) struct Ledger<P> {
    /// What nobody has. The last is given away first.
    left: Vec<P>,
    engines: Vec<Engine>,
    /// How many engines have a part now.
    busy: usize,
}

struct Engine {
    /// What it should be given at least.
    batch: u64,
    pace: Pace,
    /// It works, or would take more.
    goes_on: bool,
    /// It has had a part.
    had_part: bool,
    /// Seconds of the others for everything, when it was found to be too slow.
    spared: f64,
}

/// What is known of how fast an engine is. It outlives a ledger.
#[derive(Clone, Copy, Default)]
pub(super) struct Pace {
    /// How much it does in a second.
    rate: Option<f64>,
    /// Learnt from a part of so much: some engines do a few in the time of many.
    of: u64,
    /// Seconds of the part that was done soonest.
    least: Option<f64>,
    /// Seconds that asking it again may cost by now: a part can be slow by chance, as the first may be.
    trial: f64,
}

impl Pace {
    /// So much in a second, as somebody has measured with at least a batch.
    pub(super) fn expected(rate: f64) -> Pace {
        let rate = Some(rate).filter(|rate| rate.is_finite() && *rate > 0.0);
        Pace { rate, of: u64::MAX, ..Pace::default() }
    }

    /// It did so much in so many seconds, as an engine with this batch.
    fn learn(&mut self, count: u64, seconds: f64, batch: u64) {
        self.least = Some(self.least.map_or(seconds, |least| least.min(seconds)));
        self.trial = 0.0;
        // A part that is smaller than a batch says less than a larger one did.
        if self.rate.is_none() || count >= self.of.min(batch) {
            self.rate = Some(count as f64 / seconds);
            self.of = count;
        }
    }
}

/// What an engine does that has nothing to do.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Next<P> {
    Do(P),
    /// Others are at work, and may have to give something back.
    Wait,
    End,
}

impl<P: Divisible> Ledger<P> {
    /// All of this, for engines that should be given so much at least and of which so much is known.
    pub(super) fn new(all: P, engines: impl Iterator<Item = (u64, Pace)>) -> Ledger<P> {
        let engines = engines.map(|(batch, pace)| Engine {
            batch: batch.max(1),
            pace,
            goes_on: true,
            had_part: false,
            spared: 0.0,
        });
        let left = if all.len() > 0 { vec![all] } else { Vec::new() };
        Ledger { left, engines: engines.collect(), busy: 0 }
    }

    /// What this engine does next.
    pub(super) fn take(&mut self, engine: usize) -> Next<P> {
        let left = self.left.iter().map(Divisible::len).fold(0, u64::saturating_add);
        let others: f64 = self.others(engine).filter_map(|other| other.pace.rate).sum();
        let least = self.others(engine).filter_map(|other| other.pace.least);
        let soonest = least.min_by(f64::total_cmp).unwrap_or(f64::INFINITY);
        let all_known = self.others(engine).all(|other| other.pace.rate.is_some());
        let Some(last) = self.left.pop() else {
            return if self.busy == 0 { Next::End } else { Next::Wait };
        };
        let count = self.engines.len() as u64;
        let Engine { batch, pace, .. } = self.engines[engine];
        let share = match pace.rate {
            // A batch says what it does in a second, and what the others do; of little, less than a batch leaves some for all.
            Some(rate) if all_known => {
                // The others are done with everything before it has done anything: by their rates, and by what took the quickest of them least.
                let alone = soonest.max(left as f64 / others);
                if pace.least.is_some_and(|least| alone < least - pace.trial) {
                    self.left.push(last);
                    let engine = &mut self.engines[engine];
                    engine.goes_on = false;
                    engine.spared = engine.spared.max(alone);
                    return Next::Wait;
                }
                let share = left as f64 * rate / (rate + others);
                // Half of it: what it does in a second changes, and the others' estimates are no better.
                let batches = (share / 2.0).min(rate * A_WHILE) / batch as f64;
                match batches as u64 {
                    0 => (share.ceil() as u64).clamp(batch.div_ceil(4), batch),
                    batches => batches.saturating_mul(batch),
                }
            }
            _ if count == 1 => batch,
            _ => batch.min(left.div_ceil(2 * count)),
        };
        self.busy += 1;
        self.engines[engine].goes_on = true;
        self.engines[engine].had_part = true;
        if share >= last.len() {
            return Next::Do(last);
        }
        let (part, rest) = last.split(share);
        self.left.push(rest);
        Next::Do(part)
    }

    /// All others that have not taken their leave.
    fn others(&self, engine: usize) -> impl Iterator<Item = &Engine> {
        let others = self.engines.iter().enumerate().filter(move |(number, _)| *number != engine);
        others.map(|(_, other)| other).filter(|other| other.goes_on)
    }

    /// An engine has done so much in so long, and gives back what is left of its part.
    pub(super) fn done(&mut self, engine: usize, count: u64, took: Duration, rest: Option<P>) {
        let Engine { batch, pace, .. } = &mut self.engines[engine];
        if count > 0 {
            pace.learn(count, took.as_secs_f64().max(1e-6), *batch);
        }
        self.give_back(rest);
    }

    /// An engine has failed with this part, and does no more.
    pub(super) fn failed(&mut self, engine: usize, part: P) {
        self.leave(engine);
        self.give_back(Some(part));
    }

    /// Nobody waits to hear how fast an engine is that takes nothing.
    pub(super) fn leave(&mut self, engine: usize) {
        self.engines[engine].goes_on = false;
    }

    fn give_back(&mut self, part: Option<P>) {
        self.busy -= 1;
        self.left.extend(part.filter(|part| part.len() > 0));
    }

    /// What nobody has done, and what is known of each engine now.
    pub(super) fn end(self) -> (Vec<P>, Vec<Pace>) {
        let pace = |Engine { pace, had_part, spared, .. }| {
            let earned = if had_part { 0.0 } else { spared * FOR_TRIAL };
            Pace { trial: pace.trial + earned, ..pace }
        };
        (self.left, self.engines.into_iter().map(pace).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ops::Range;

    impl Divisible for Range<u64> {
        fn len(&self) -> u64 {
            self.end - self.start
        }

        fn split(self, len: u64) -> (Range<u64>, Range<u64>) {
            let middle = self.start + len;
            (self.start..middle, middle..self.end)
        }
    }

    /// An engine of a simulation: its batch takes so long.
    #[derive(Clone, Copy)]
    struct Sim {
        batch: u64,
        seconds: f64,
        /// However little of it there is.
        whole: bool,
        /// It fails with this part.
        fails: Option<usize>,
    }

    const fn sim(batch: u64, seconds: f64) -> Sim {
        Sim { batch, seconds, whole: true, fails: None }
    }

    impl Sim {
        fn takes(&self, count: u64) -> f64 {
            let batches = count as f64 / self.batch.max(1) as f64;
            (if self.whole { batches.ceil() } else { batches }) * self.seconds
        }
    }

    /// When the last of them is done with so much, and how many parts each has had.
    fn simulated(engines: &[Sim], count: u64) -> (f64, Vec<usize>) {
        simulated_after(&mut vec![Pace::default(); engines.len()], engines, count)
    }

    /// The same, of engines of which so much is known.
    fn simulated_after(paces: &mut Vec<Pace>, engines: &[Sim], count: u64) -> (f64, Vec<usize>) {
        let known = engines.iter().map(|engine| engine.batch).zip(paces.iter().copied());
        let mut ledger = Ledger::new(0..count, known);
        // When each is free, and what it has then done in how long.
        let mut free = vec![0.0; engines.len()];
        let mut has: Vec<Option<(Range<u64>, f64)>> = vec![None; engines.len()];
        let (mut parts, mut seen, mut end) = (vec![0; engines.len()], Vec::new(), 0.0_f64);
        let mut out = vec![false; engines.len()];
        loop {
            let active = (0..engines.len()).filter(|&engine| !out[engine]);
            let Some(engine) = active.min_by(|&a, &b| f64::total_cmp(&free[a], &free[b])) else { break };
            let time = free[engine];
            if let Some((part, took)) = has[engine].take() {
                end = end.max(time);
                if engines[engine].fails == Some(parts[engine]) {
                    ledger.failed(engine, part);
                    out[engine] = true;
                    continue;
                }
                seen.push(part.clone());
                ledger.done(engine, part.len(), Duration::from_secs_f64(took), None);
            }
            match ledger.take(engine) {
                Next::Do(part) => {
                    parts[engine] += 1;
                    let took = engines[engine].takes(part.len());
                    free[engine] = time + took;
                    has[engine] = Some((part, took));
                }
                Next::Wait => free[engine] = time + 0.005,
                Next::End => out[engine] = true,
            }
        }
        seen.sort_unstable_by_key(|part| part.start);
        assert!(seen.windows(2).all(|two| two[0].end == two[1].start), "each once: {seen:?}");
        let whole = (seen.first().map_or(0, |part| part.start), seen.last().map_or(0, |part| part.end));
        assert_eq!((whole, ledger.busy), ((0, count), 0));
        let (left, learnt) = ledger.end();
        assert_eq!(left, []);
        *paces = learnt;
        (end, parts)
    }

    #[test]
    fn engines_of_very_different_speeds_end_together() {
        let (card, slow, host) = (sim(66, 0.8), sim(8, 1.0), sim(4, 0.7));
        for engines in [&[card, host][..], &[host, card], &[card, slow, host], &[card, card, slow]] {
            let rate: f64 = engines.iter().map(|engine| engine.batch as f64 / engine.seconds).sum();
            for count in [500, 5000, 50_000] {
                let (end, parts) = simulated(engines, count);
                let best = count as f64 / rate;
                assert!(end < best * 1.05 + 2.0, "{count}: {end} of {best}, {parts:?}");
            }
        }
    }

    #[test]
    fn a_slow_engine_takes_nothing_that_would_keep_all_waiting() {
        let (card, slow) = (sim(100, 1.0), sim(1, 60.0));
        let (end, parts) = simulated(&[card, slow], 100 * 200);
        // Once, because nobody knew.
        assert_eq!(parts[1], 1 + 2, "of 60 s each");
        assert!(end < 201.0, "{end}");
        // Alone it does everything.
        assert_eq!(simulated(&[slow], 3).0, 180.0);
    }

    #[test]
    fn lists_shorter_than_a_batch_have_something_for_all() {
        let host = sim(4, 0.004);
        for whole in [true, false] {
            let card = Sim { whole, ..sim(4096, 1.0) };
            let best = if whole { 1.0 } else { 4096.0 / (4096.0 + 1000.0) };
            for engines in [[card, host], [host, card]] {
                let mut paces = vec![Pace::default(); 2];
                let ends = [(); 4].map(|()| simulated_after(&mut paces, &engines, 4096).0);
                assert!(ends.iter().all(|end| *end < 2.1 * best), "{ends:?} of {best}");
                // What takes as long for little as for much is learnt in steps.
                let learnt = if whole { 1.9 } else { 1.5 };
                assert!(ends[3] < learnt * best, "{ends:?} of {best}");
                // Where somebody has measured it, from the first on.
                let mut paces = engines.map(|sim| Pace::expected(sim.batch as f64 / sim.seconds)).to_vec();
                let (end, parts) = simulated_after(&mut paces, &engines, 4096);
                assert!(end < 1.5 * best, "{end} of {best}, {parts:?}");
            }
        }
        // One that takes longer than the other needs for everything is not asked twice.
        let slow = sim(4096, 40.0);
        let mut paces = vec![Pace::default(); 2];
        let [first, second] = [(); 2].map(|()| simulated_after(&mut paces, &[slow, host], 4096));
        assert!(first.0 > 39.0 && second.0 < 4.2 && second.1[0] == 0, "{first:?}, {second:?}");
        // Nonsense is as good as nothing.
        assert!([f64::NAN, f64::INFINITY, 0.0, -1.0].iter().all(|rate| Pace::expected(*rate).rate.is_none()));
    }

    #[test]
    fn what_was_slow_once_is_tried_again_and_what_is_slow_costs_little() {
        let host = sim(4, 0.004);
        // Ten times as fast, but for a first part that began late.
        let card = Sim { whole: false, ..sim(500, 0.05) };
        let mut paces = vec![Pace::default(); 2];
        paces[0].learn(125, 1.0, 500);
        paces[1].learn(4, 0.004, 4);
        let ends = [(); 20].map(|()| simulated_after(&mut paces, &[card, host], 500).0);
        assert!(ends[1] > 0.4 && ends[19] < 0.1, "{ends:?}");
        // Ten times as slow as everything.
        let mut paces = vec![Pace::default(); 2];
        let slow = sim(4096, 40.0);
        simulated_after(&mut paces, &[slow, host], 4096);
        let ends = [(); 300].map(|()| simulated_after(&mut paces, &[slow, host], 4096).0);
        let (all, trials) = (ends.iter().sum::<f64>(), ends.iter().filter(|end| **end > 39.0).count());
        assert!(trials > 1 && all < 300.0 * 4.1 * (1.0 + 1.1 * FOR_TRIAL), "{trials}, {all}");
    }

    #[test]
    fn nothing_little_and_less_than_a_batch_are_done_once() {
        for count in [0, 1, 7, 100, 101] {
            for engines in
                [&[sim(100, 1.0)][..], &[sim(100, 1.0), sim(100, 1.0)], &[sim(1, 1.0), sim(0, 0.5)]]
            {
                simulated(engines, count);
            }
        }
    }

    #[test]
    fn parts_take_a_while_and_no_longer() {
        let mut ledger = Ledger::new(0..u64::MAX, [(10, Pace::default())].into_iter());
        assert_eq!(ledger.take(0), Next::Do(0..10));
        ledger.done(0, 10, Duration::from_secs(1), None);
        assert_eq!(ledger.take(0), Next::Do(10..210));
        ledger.done(0, 0, Duration::ZERO, Some(100..210));
        assert_eq!(ledger.take(0), Next::Do(100..210), "what comes back goes first");
        ledger.done(0, 110, Duration::ZERO, None);
        assert!(matches!(ledger.take(0), Next::Do(Range { start: 210, .. })));
        // Of two, as long as nobody knows how fast the other is, a batch; and what it can once the other has left.
        let mut ledger = Ledger::new(0..1000, [(10, Pace::default()); 2].into_iter());
        assert_eq!(ledger.take(0), Next::Do(0..10));
        ledger.done(0, 10, Duration::from_secs(1), None);
        assert_eq!(ledger.take(0), Next::Do(10..20));
        ledger.done(0, 10, Duration::from_secs(1), None);
        ledger.leave(1);
        assert_eq!(ledger.take(0), Next::Do(20..220));
    }

    #[test]
    fn what_one_has_taken_that_fails_is_done_by_others() {
        for fails in 1..4 {
            let broken = Sim { fails: Some(fails), ..sim(50, 0.5) };
            for others in [&[sim(4, 1.0)][..], &[sim(4, 1.0), sim(80, 1.0)]] {
                let engines: Vec<_> = [broken].into_iter().chain(others.iter().copied()).collect();
                simulated(&engines, 3000);
            }
        }
    }
}
