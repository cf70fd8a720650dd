//! Choice of the hashes in flight per thread, by rates that are measured while real nonces are searched.
//!
//! Several hashes on a thread hide the latency of memory. Where all threads together already saturate memory,
//! or other programs do, more hashes in flight are slower, and take more of it. The plan of a processor cannot
//! know that.

use super::ThreadPool;
use crate::engine::{EngineError, Hit, Lease, NonceEngine, SearchProgress, Stop, Supply};
use core::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A measured rate of a [`ThreadPool`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct InFlightRate {
    /// Hashes in flight on each thread.
    pub in_flight: usize,
    /// Hashes per second of all threads.
    pub rate: f64,
}

/// How much faster more hashes in flight must be: they take more memory, and a rate that is measured for
/// seconds varies by a percent.
const MIN_GAIN: f64 = 1.02;

/// Measurements of each number. They alternate, because the load of a machine changes with time.
const ROUNDS: usize = 3;

/// Number of hashes in a measurement for each hash that is in flight.
const HASHES_PER_SLOT: u64 = 2;

/// The smallest number of hashes in flight that no larger one clearly surpasses, by the median of its rates.
/// `None` without a rate.
pub fn choose_in_flight(rates: &[InFlightRate]) -> Option<usize> {
    let mut numbers: Vec<usize> = rates.iter().map(|rate| rate.in_flight).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let medians = numbers.into_iter().map(|number| (number, median(rates, number)));
    let best = medians.reduce(|best, more| if more.1 > best.1 * MIN_GAIN { more } else { best });
    best.map(|(number, _)| number)
}

fn median(rates: &[InFlightRate], in_flight: usize) -> f64 {
    let of_number = rates.iter().filter(|rate| rate.in_flight == in_flight);
    let mut sorted: Vec<f64> = of_number.map(|rate| rate.rate).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[(sorted.len() - 1) / 2]
}

impl ThreadPool {
    /// Measures the rate with each number of hashes in flight, up to the one that the pool was made with, and
    /// [limits](ThreadPool::limit) the pool to the best. Searches nonces of `supply` meanwhile, as
    /// [`run`](NonceEngine::run) does, three times a few hashes for each number. Returns all rates; none
    /// if the supply ended or `stop` was set before each number had one, which changes nothing.
    ///
    /// # Errors
    /// As for `run`.
    pub fn measure_in_flight(
        &mut self,
        supply: &dyn Supply,
        stop: &Stop,
    ) -> Result<Vec<InFlightRate>, EngineError> {
        let (threads, before, most) = self.counts();
        let mut rates = Vec::new();
        let measured = 'rounds: {
            for in_flight in (0..ROUNDS).flat_map(|_| 1..=most) {
                let rate = self.measure_rate(threads, in_flight, supply, stop);
                match rate {
                    Ok(Some(rate)) => rates.push(InFlightRate { in_flight, rate }),
                    Ok(None) => break 'rounds Ok(None),
                    Err(error) => break 'rounds Err(error),
                }
            }
            Ok(choose_in_flight(&rates))
        };
        let chosen = measured.as_ref().ok().copied().flatten();
        self.limit(threads, chosen.unwrap_or(before))?;
        if measured?.is_none() {
            rates.clear();
        }
        Ok(rates)
    }

    /// Hashes per second with `in_flight` hashes on each thread; `None` if fewer were computed than planned.
    fn measure_rate(
        &mut self,
        threads: usize,
        in_flight: usize,
        supply: &dyn Supply,
        stop: &Stop,
    ) -> Result<Option<f64>, EngineError> {
        self.limit(threads, in_flight)?;
        let planned = (threads * in_flight) as u64 * HASHES_PER_SLOT;
        let part = PartOfSupply { supply, left: AtomicU64::new(planned), hashes: AtomicU64::new(0) };
        let began = Instant::now();
        self.run(&part, stop)?;
        let seconds = began.elapsed().as_secs_f64().max(1e-9);
        let hashes = part.hashes.into_inner();
        Ok((hashes >= planned).then_some(hashes as f64 / seconds))
    }
}

/// The next nonces of a supply.
struct PartOfSupply<'a> {
    supply: &'a dyn Supply,
    /// Nonces that may still be taken.
    left: AtomicU64,
    hashes: AtomicU64,
}

impl Supply for PartOfSupply<'_> {
    fn take_lease(&self, most: u64) -> Option<Lease> {
        let reserve = |left: u64| (left > 0).then(|| left.saturating_sub(most));
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, reserve).ok()?;
        let most = most.min(left);
        let lease = self.supply.take_lease(most);
        let taken = lease.as_ref().map_or(0, |lease| lease.nonces.end.saturating_sub(lease.nonces.start));
        self.left.fetch_add(most.saturating_sub(taken), Ordering::Relaxed);
        lease
    }

    fn report_hit(&self, lease: &Lease, hit: Hit) {
        self.supply.report_hit(lease, hit);
    }

    fn end_lease(&self, lease: Lease, progress: SearchProgress) {
        self.hashes.fetch_add(progress.hashes, Ordering::Relaxed);
        self.supply.end_lease(lease, progress);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Order, Pow, Recipe};
    use super::*;
    use crate::argon2::{PagePolicy, Params, Plan};
    use crate::engine::{NonceJob, RangeSearch, SearchMonitor};
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    fn rates(rates: &[(usize, f64)]) -> Vec<InFlightRate> {
        rates.iter().map(|&(in_flight, rate)| InFlightRate { in_flight, rate }).collect()
    }

    #[test]
    fn more_hashes_in_flight_are_chosen_only_if_they_are_clearly_faster() {
        let chosen = |list: &[(usize, f64)]| choose_in_flight(&rates(list));
        assert_eq!(chosen(&[]), None);
        assert_eq!(chosen(&[(3, 1.0)]), Some(3));
        // Memory is saturated by one on each thread.
        assert_eq!(chosen(&[(1, 10.0), (2, 9.1), (3, 8.0)]), Some(1));
        assert_eq!(chosen(&[(1, 10.0), (2, 10.1)]), Some(1), "within the noise");
        assert_eq!(chosen(&[(1, 10.0), (2, 14.0), (3, 14.1)]), Some(2));
        assert_eq!(chosen(&[(1, 10.0), (2, 14.0), (3, 16.0)]), Some(3));
        // Steps that are small each, but not together.
        assert_eq!(chosen(&[(1, 10.0), (2, 10.15), (3, 10.3)]), Some(3));
        // One disturbed measurement, in any order.
        let list = [(2, 14.0), (1, 10.0), (2, 3.0), (1, 30.0), (1, 10.0), (2, 14.2)];
        for turn in 0..list.len() {
            let mut list = list;
            list.rotate_left(turn);
            assert_eq!(chosen(&list), Some(2));
        }
    }

    fn pool(threads: usize, in_flight: usize) -> ThreadPool {
        let recipe = Recipe::NonceIsPassword { header_len: None };
        let pow = Pow::new(Params::new(64, 1, 1).unwrap(), recipe, Order::BigEndian);
        ThreadPool::new(pow, Plan::host(), PagePolicy::Plain, threads, in_flight, |_| {}).unwrap()
    }

    #[test]
    fn nonces_are_searched_while_rates_are_measured() {
        let mut pool = pool(2, 3);
        let (monitor, hits) = (SearchMonitor::new(), Mutex::new(BTreeSet::new()));
        let note = |hit: Hit| assert!(hits.lock().unwrap().insert(hit.nonce), "once");
        let job = NonceJob::new(b"a header", [0xff; 32]);
        let range = RangeSearch::new(&job, Order::BigEndian, 0..1000, &monitor, &note);
        let rates = pool.measure_in_flight(&range, monitor.stop()).unwrap();
        let numbers = rates.iter().map(|rate| rate.in_flight);
        assert!(numbers.eq([1, 2, 3, 1, 2, 3, 1, 2, 3]) && rates.iter().all(|rate| rate.rate > 0.0));
        let chosen = choose_in_flight(&rates).unwrap();
        assert_eq!(pool.limits().in_flight, 2 * chosen);
        // 2 threads, 2 hashes on each of 6 places, three times.
        let progress = range.progress();
        assert!((72..100).contains(&progress.next) && progress.hashes == progress.next, "{progress:?}");
        assert!(hits.into_inner().unwrap().into_iter().eq(0..progress.next));
    }

    #[test]
    fn a_measurement_that_is_not_finished_changes_nothing() {
        let mut pool = pool(2, 2);
        pool.limit(1, 2).unwrap();
        let (monitor, job) = (SearchMonitor::new(), NonceJob::new(b"a header", [0; 32]));
        let range = RangeSearch::new(&job, Order::BigEndian, 0..7, &monitor, &|_| {});
        assert_eq!(pool.measure_in_flight(&range, monitor.stop()), Ok(Vec::new()), "too few nonces");
        assert_eq!((pool.limits().in_flight, range.progress().next), (2, 7));
        monitor.stop().set();
        let range = RangeSearch::new(&job, Order::BigEndian, 0..1000, &monitor, &|_| {});
        assert_eq!(pool.measure_in_flight(&range, monitor.stop()), Ok(Vec::new()));
        assert_eq!((pool.limits().in_flight, range.progress().next), (2, 0));
    }
}
