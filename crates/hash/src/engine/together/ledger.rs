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

/// What is to be done, and how fast each engine is.
pub(super) struct Ledger<P> {
    /// What nobody has. The last is given away first.
    left: Vec<P>,
    engines: Vec<Pace>,
    /// How many engines have a part now.
    busy: usize,
}

/// What is known of an engine.
#[derive(Clone, Copy)]
struct Pace {
    /// What it should be given at least.
    batch: u64,
    /// How much it has done in a second.
    rate: Option<f64>,
    /// It works, or would take more.
    goes_on: bool,
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
    /// All of this, for engines that should be given so much at least.
    pub(super) fn new(all: P, batches: impl Iterator<Item = u64>) -> Ledger<P> {
        let engines = batches.map(|batch| Pace { batch: batch.max(1), rate: None, goes_on: true });
        let left = if all.len() > 0 { vec![all] } else { Vec::new() };
        Ledger { left, engines: engines.collect(), busy: 0 }
    }

    /// What this engine does next.
    pub(super) fn take(&mut self, engine: usize) -> Next<P> {
        let left = self.left.iter().map(Divisible::len).fold(0, u64::saturating_add);
        let others: f64 = self.others(engine).filter_map(|other| other.rate).sum();
        let Some(last) = self.left.pop() else {
            return if self.busy == 0 { Next::End } else { Next::Wait };
        };
        let Pace { batch, rate, .. } = self.engines[engine];
        let share = match rate {
            // A batch says what it does in a second, and what the others do.
            None => batch,
            Some(_) if self.others(engine).any(|other| other.rate.is_none()) => batch,
            // The others are done with everything before it has done a batch.
            Some(rate) if left as f64 * rate < batch as f64 * others => {
                self.left.push(last);
                self.engines[engine].goes_on = false;
                return Next::Wait;
            }
            Some(rate) => {
                // Half of its share: what it does in a second changes, and the others' estimates are no better.
                let half = left as f64 * rate / (rate + others) / 2.0;
                let batches = half.min(rate * A_WHILE) / batch as f64;
                (batches as u64).max(1).saturating_mul(batch)
            }
        };
        self.busy += 1;
        self.engines[engine].goes_on = true;
        if share >= last.len() {
            return Next::Do(last);
        }
        let (part, rest) = last.split(share);
        self.left.push(rest);
        Next::Do(part)
    }

    /// All others that have not taken their leave.
    fn others(&self, engine: usize) -> impl Iterator<Item = &Pace> {
        let others = self.engines.iter().enumerate().filter(move |(number, _)| *number != engine);
        others.map(|(_, other)| other).filter(|other| other.goes_on)
    }

    /// An engine has done so much in so long, and gives back what is left of its part.
    pub(super) fn done(&mut self, engine: usize, count: u64, took: Duration, rest: Option<P>) {
        if count > 0 {
            self.engines[engine].rate = Some(count as f64 / took.as_secs_f64().max(1e-6));
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

    /// What nobody has done.
    pub(super) fn left(self) -> Vec<P> {
        self.left
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

    /// An engine of a simulation: its batch takes so long, however little of it there is.
    #[derive(Clone, Copy)]
    struct Sim {
        batch: u64,
        seconds: f64,
        /// It fails with this part.
        fails: Option<usize>,
    }

    const fn sim(batch: u64, seconds: f64) -> Sim {
        Sim { batch, seconds, fails: None }
    }

    /// When the last of them is done with so much, and how many parts each has had.
    fn simulated(engines: &[Sim], count: u64) -> (f64, Vec<usize>) {
        let mut ledger = Ledger::new(0..count, engines.iter().map(|engine| engine.batch));
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
                    let took =
                        part.len().div_ceil(engines[engine].batch.max(1)) as f64 * engines[engine].seconds;
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
        assert_eq!((whole, ledger.left.len(), ledger.busy), ((0, count), 0, 0));
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
        let mut ledger = Ledger::new(0..u64::MAX, [10_u64].into_iter());
        assert_eq!(ledger.take(0), Next::Do(0..10));
        ledger.done(0, 10, Duration::from_secs(1), None);
        assert_eq!(ledger.take(0), Next::Do(10..210));
        ledger.done(0, 0, Duration::ZERO, Some(100..210));
        assert_eq!(ledger.take(0), Next::Do(100..210), "what comes back goes first");
        ledger.done(0, 110, Duration::ZERO, None);
        assert!(matches!(ledger.take(0), Next::Do(Range { start: 210, .. })));
        // Of two, as long as nobody knows how fast the other is, a batch; and what it can once the other has left.
        let mut ledger = Ledger::new(0..1000, [10_u64, 10].into_iter());
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
