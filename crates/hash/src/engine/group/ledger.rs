//! Division of work among engines. No engine is called here, and no clock is read.

use core::time::Duration;

/// Work that can be divided into parts.
pub(super) trait Divisible: Sized {
    fn len(&self) -> u64;

    /// Splits off the first `len` of it; it must be longer than that.
    fn split(self, len: u64) -> (Self, Self);
}

/// Target length of a part in seconds. With shorter parts an engine is idle more often at their beginnings
/// and ends; with longer ones a failure costs more repeated work.
const TARGET_PART_SECONDS: f64 = 20.0;

/// Share of the others' working time that may be spent on retrying an engine that was too slow.
const RETRY_SHARE: f64 = 1.0 / 8.0;

/// The remaining work, and the speed of each engine.
pub(super) struct Ledger<P> {
    /// Work that is not assigned. The last is assigned first.
    left: Vec<P>,
    engines: Vec<Engine>,
    /// Engines that have a part now.
    busy: usize,
}

struct Engine {
    /// The smallest useful part.
    batch: u64,
    throughput: Throughput,
    /// It works, or would take more.
    is_active: bool,
    /// It has had a part.
    had_part: bool,
    /// Time in seconds that the others needed for everything, when it was found to be too slow.
    total_seconds: f64,
}

/// Measured speed of an engine. It outlives a ledger.
#[derive(Clone, Copy, Default)]
pub(super) struct Throughput {
    /// Work per second.
    rate: Option<f64>,
    /// Size of the part that the rate comes from: some engines compute a few in the time of many.
    of: u64,
    /// Seconds of the shortest part.
    least: Option<f64>,
    /// Seconds that a retry may cost by now: a part can be slow by chance, and so can the first.
    retry_budget: f64,
}

impl Throughput {
    /// A rate that was measured with at least a batch.
    pub(super) fn expected(rate: f64) -> Throughput {
        let rate = Some(rate).filter(|rate| rate.is_finite() && *rate > 0.0);
        Throughput { rate, of: u64::MAX, ..Throughput::default() }
    }

    /// Records `count` in `seconds`, for an engine with this batch.
    fn record(&mut self, count: u64, seconds: f64, batch: u64) {
        self.least = Some(self.least.map_or(seconds, |least| least.min(seconds)));
        self.retry_budget = 0.0;
        // A part smaller than a batch is less informative than a larger one.
        if self.rate.is_none() || count >= self.of.min(batch) {
            self.rate = Some(count as f64 / seconds);
            self.of = count;
        }
    }
}

/// The next step of an idle engine.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Assignment<P> {
    Do(P),
    /// Other engines are at work, and may have to return something.
    Wait,
    End,
}

impl<P: Divisible> Ledger<P> {
    /// Divides `all` among engines, given the smallest useful part and the measured speed of each.
    pub(super) fn new(all: P, engines: impl Iterator<Item = (u64, Throughput)>) -> Ledger<P> {
        let engines = engines.map(|(batch, throughput)| Engine {
            batch: batch.max(1),
            throughput,
            is_active: true,
            had_part: false,
            total_seconds: 0.0,
        });
        let left = if all.len() > 0 { vec![all] } else { Vec::new() };
        Ledger { left, engines: engines.collect(), busy: 0 }
    }

    /// The next step of this engine.
    pub(super) fn take(&mut self, engine: usize) -> Assignment<P> {
        let left = self.left.iter().map(Divisible::len).fold(0, u64::saturating_add);
        let others: f64 = self.others(engine).filter_map(|other| other.throughput.rate).sum();
        let least = self.others(engine).filter_map(|other| other.throughput.least);
        let soonest = least.min_by(f64::total_cmp).unwrap_or(f64::INFINITY);
        let all_known = self.others(engine).all(|other| other.throughput.rate.is_some());
        let Some(last) = self.left.pop() else {
            return if self.busy == 0 { Assignment::End } else { Assignment::Wait };
        };
        let count = self.engines.len() as u64;
        let Engine { batch, throughput, .. } = self.engines[engine];
        let share = match throughput.rate {
            // Whole batches, by its own rate and those of the others; if little is left, less than a batch
            // leaves some for all.
            Some(rate) if all_known => {
                // The others finish before this engine could have done anything: by their rates, and by the
                // shortest part of the quickest.
                let alone = soonest.max(left as f64 / others);
                if throughput.least.is_some_and(|least| alone < least - throughput.retry_budget) {
                    self.left.push(last);
                    let engine = &mut self.engines[engine];
                    engine.is_active = false;
                    engine.total_seconds = engine.total_seconds.max(alone);
                    return Assignment::Wait;
                }
                let share = left as f64 * rate / (rate + others);
                // Half of it: rates vary, and the others' estimates are no more exact.
                let batches = (share / 2.0).min(rate * TARGET_PART_SECONDS) / batch as f64;
                match batches as u64 {
                    0 => (share.ceil() as u64).clamp(batch.div_ceil(4), batch),
                    batches => batches.saturating_mul(batch),
                }
            }
            _ if count == 1 => batch,
            _ => batch.min(left.div_ceil(2 * count)),
        };
        self.busy += 1;
        self.engines[engine].is_active = true;
        self.engines[engine].had_part = true;
        if share >= last.len() {
            return Assignment::Do(last);
        }
        let (part, rest) = last.split(share);
        self.left.push(rest);
        Assignment::Do(part)
    }

    /// All others that still take part.
    fn others(&self, engine: usize) -> impl Iterator<Item = &Engine> {
        let others = self.engines.iter().enumerate().filter(move |(number, _)| *number != engine);
        others.map(|(_, other)| other).filter(|other| other.is_active)
    }

    /// An engine has done `count` in the time `took`, and returns the rest of its part.
    pub(super) fn done(&mut self, engine: usize, count: u64, took: Duration, rest: Option<P>) {
        let Engine { batch, throughput, .. } = &mut self.engines[engine];
        if count > 0 {
            throughput.record(count, took.as_secs_f64().max(1e-6), *batch);
        }
        self.give_back(rest);
    }

    /// An engine has failed with this part, and does no more.
    pub(super) fn failed(&mut self, engine: usize, part: P) {
        self.leave(engine);
        self.give_back(Some(part));
    }

    /// Removes an engine, so that the others do not wait to learn its speed.
    pub(super) fn leave(&mut self, engine: usize) {
        self.engines[engine].is_active = false;
    }

    fn give_back(&mut self, part: Option<P>) {
        self.busy -= 1;
        self.left.extend(part.filter(|part| part.len() > 0));
    }

    /// The work that is left, and what is known of each engine now.
    pub(super) fn end(self) -> (Vec<P>, Vec<Throughput>) {
        let throughput = |Engine { throughput, had_part, total_seconds, .. }| {
            let earned = if had_part { 0.0 } else { total_seconds * RETRY_SHARE };
            Throughput { retry_budget: throughput.retry_budget + earned, ..throughput }
        };
        (self.left, self.engines.into_iter().map(throughput).collect())
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

    /// A simulated engine: its batch takes this long.
    #[derive(Clone, Copy)]
    struct Sim {
        batch: u64,
        seconds: f64,
        /// A partial batch takes as long as a whole one.
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

    /// The time at which the last of them is done with `count`, and the number of parts of each.
    fn simulated(engines: &[Sim], count: u64) -> (f64, Vec<usize>) {
        simulated_after(&mut vec![Throughput::default(); engines.len()], engines, count)
    }

    /// As `simulated`, with known speeds.
    fn simulated_after(paces: &mut Vec<Throughput>, engines: &[Sim], count: u64) -> (f64, Vec<usize>) {
        let known = engines.iter().map(|engine| engine.batch).zip(paces.iter().copied());
        let mut ledger = Ledger::new(0..count, known);
        // The time at which each is free, and its finished part with its duration.
        let mut free = vec![0.0; engines.len()];
        let mut has: Vec<Option<(Range<u64>, f64)>> = vec![None; engines.len()];
        let (mut parts, mut finished, mut end) = (vec![0; engines.len()], Vec::new(), 0.0_f64);
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
                finished.push(part.clone());
                ledger.done(engine, part.len(), Duration::from_secs_f64(took), None);
            }
            match ledger.take(engine) {
                Assignment::Do(part) => {
                    parts[engine] += 1;
                    let took = engines[engine].takes(part.len());
                    free[engine] = time + took;
                    has[engine] = Some((part, took));
                }
                Assignment::Wait => free[engine] = time + 0.005,
                Assignment::End => out[engine] = true,
            }
        }
        finished.sort_unstable_by_key(|part| part.start);
        assert!(finished.windows(2).all(|two| two[0].end == two[1].start), "each once: {finished:?}");
        let whole =
            (finished.first().map_or(0, |part| part.start), finished.last().map_or(0, |part| part.end));
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
        // Once, because its speed was unknown.
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
                let mut paces = vec![Throughput::default(); 2];
                let ends = [(); 4].map(|()| simulated_after(&mut paces, &engines, 4096).0);
                assert!(ends.iter().all(|end| *end < 2.1 * best), "{ends:?} of {best}");
                // An engine that takes as long for little as for much is learnt in steps.
                let learnt = if whole { 1.9 } else { 1.5 };
                assert!(ends[3] < learnt * best, "{ends:?} of {best}");
                // With measured rates, from the first list on.
                let mut paces =
                    engines.map(|sim| Throughput::expected(sim.batch as f64 / sim.seconds)).to_vec();
                let (end, parts) = simulated_after(&mut paces, &engines, 4096);
                assert!(end < 1.5 * best, "{end} of {best}, {parts:?}");
            }
        }
        // An engine that takes longer than the other needs for everything is not tried twice.
        let slow = sim(4096, 40.0);
        let mut paces = vec![Throughput::default(); 2];
        let [first, second] = [(); 2].map(|()| simulated_after(&mut paces, &[slow, host], 4096));
        assert!(first.0 > 39.0 && second.0 < 4.2 && second.1[0] == 0, "{first:?}, {second:?}");
        // Invalid rates are ignored.
        assert!(
            [f64::NAN, f64::INFINITY, 0.0, -1.0]
                .iter()
                .all(|rate| Throughput::expected(*rate).rate.is_none())
        );
    }

    #[test]
    fn slow_engines_are_retried_at_low_cost() {
        let host = sim(4, 0.004);
        // Ten times as fast, except for a first part that started late.
        let card = Sim { whole: false, ..sim(500, 0.05) };
        let mut paces = vec![Throughput::default(); 2];
        paces[0].record(125, 1.0, 500);
        paces[1].record(4, 0.004, 4);
        let ends = [(); 20].map(|()| simulated_after(&mut paces, &[card, host], 500).0);
        assert!(ends[1] > 0.4 && ends[19] < 0.1, "{ends:?}");
        // Ten times as slow as everything else together.
        let mut paces = vec![Throughput::default(); 2];
        let slow = sim(4096, 40.0);
        simulated_after(&mut paces, &[slow, host], 4096);
        let ends = [(); 300].map(|()| simulated_after(&mut paces, &[slow, host], 4096).0);
        let (all, trials) = (ends.iter().sum::<f64>(), ends.iter().filter(|end| **end > 39.0).count());
        assert!(trials > 1 && all < 300.0 * 4.1 * (1.0 + 1.1 * RETRY_SHARE), "{trials}, {all}");
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
        let mut ledger = Ledger::new(0..u64::MAX, [(10, Throughput::default())].into_iter());
        assert_eq!(ledger.take(0), Assignment::Do(0..10));
        ledger.done(0, 10, Duration::from_secs(1), None);
        assert_eq!(ledger.take(0), Assignment::Do(10..210));
        ledger.done(0, 0, Duration::ZERO, Some(100..210));
        assert_eq!(ledger.take(0), Assignment::Do(100..210), "returned work is assigned first");
        ledger.done(0, 110, Duration::ZERO, None);
        assert!(matches!(ledger.take(0), Assignment::Do(Range { start: 210, .. })));
        // With two engines, a batch at a time while the other's speed is unknown; full parts once the other
        // has left.
        let mut ledger = Ledger::new(0..1000, [(10, Throughput::default()); 2].into_iter());
        assert_eq!(ledger.take(0), Assignment::Do(0..10));
        ledger.done(0, 10, Duration::from_secs(1), None);
        assert_eq!(ledger.take(0), Assignment::Do(10..20));
        ledger.done(0, 10, Duration::from_secs(1), None);
        ledger.leave(1);
        assert_eq!(ledger.take(0), Assignment::Do(20..220));
    }

    #[test]
    fn other_engines_redo_the_work_of_a_failed_one() {
        for fails in 1..4 {
            let broken = Sim { fails: Some(fails), ..sim(50, 0.5) };
            for others in [&[sim(4, 1.0)][..], &[sim(4, 1.0), sim(80, 1.0)]] {
                let engines: Vec<_> = [broken].into_iter().chain(others.iter().copied()).collect();
                simulated(&engines, 3000);
            }
        }
    }
}
