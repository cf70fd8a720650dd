//! Choice of costs for `calibrate`, from measurements that the caller takes.
//!
//! Two runs should choose equal costs. So costs come in steps of 14 to 25 percent, more than measurements on an idle machine
//! vary; times are those of undisturbed hashes; and the result says if the next step is as near to the limit as the
//! measurement error.

use crate::flags::UsageError;
use anyhow::{Result, bail};
use hashmill_hash::argon2::{HashError, Params};
use hashmill_hash::password::Limits;

/// The time of one hash.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct HashTime {
    pub(super) ns: u64,
    /// Spread of equal measurements, as a fraction of `ns`.
    pub(super) spread: f64,
    /// Number of hashes measured.
    pub(super) samples: usize,
}

impl HashTime {
    /// From the times of several hashes. A disturbance only makes a hash slower, so the faster half counts: its median and its
    /// range.
    pub(super) fn from_samples(mut samples: Vec<u64>) -> HashTime {
        samples.sort_unstable();
        let at = |share: usize| samples.get(samples.len() * share / 4).copied().unwrap_or(0);
        let (min, ns, median) = (at(0), at(1), at(2));
        let range = (median - ns).max(ns - min);
        HashTime { ns, spread: range as f64 / ns.max(1) as f64, samples: samples.len() }
    }

    fn fits(&self, budget_ns: u64) -> bool {
        self.ns <= budget_ns
    }
}

/// The chosen costs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Choice {
    pub(super) params: Params,
    pub(super) time: HashTime,
    /// The next larger step that was measured not to fit.
    pub(super) next: Option<(Params, HashTime)>,
}

impl Choice {
    /// The next step, if another run may choose it: it is over the limit by no more than the measurement error.
    pub(super) fn near(&self, budget_ns: u64) -> Option<(Params, HashTime)> {
        let next = self.next?;
        let over = next.1.ns as f64 / budget_ns as f64 - 1.0;
        (over <= next.1.spread.max(0.01)).then_some(next)
    }

    /// Whether another run may choose less: this choice is within the measurement error of the limit.
    pub(super) fn is_tight(&self, budget_ns: u64) -> bool {
        let margin = 1.0 - self.time.ns as f64 / budget_ns as f64;
        margin < self.time.spread.max(0.01)
    }
}

/// Chooses the most memory, then the most passes, that stay within the time, as RFC 9106, section 4 recommends.
pub(super) fn choose(
    max_params: Params,
    budget_ns: u64,
    measure: &mut dyn FnMut(Params) -> Result<HashTime, HashError>,
) -> Result<Choice> {
    let with = |memory: u32, passes: u32| {
        let params =
            Params::new(memory, passes, max_params.lanes()).expect("within the limits of `max_params`");
        params.with_variant(max_params.variant())
    };
    let min_kib = Params::MIN_KIB_PER_LANE * max_params.lanes();
    let mut sizes: Vec<u32> = steps(max_params.memory_kib()).filter(|size| *size > min_kib).collect();
    sizes.insert(0, min_kib);
    sizes.push(max_params.memory_kib());
    sizes.dedup();
    let last = sizes.len() - 1;
    let found = largest(&sizes, last, budget_ns, &mut |memory| measure(with(memory, 1)))?;
    let (memory, time) = match found.fits {
        Some(fits) => fits,
        None => {
            let time = found.over.map_or(0, |(_, time)| time.ns);
            let (lanes, ms) = (max_params.lanes(), time as f64 / 1e6);
            bail!(UsageError(format!("--time: the cheapest hash of {lanes} lanes takes {ms:.3} ms here")));
        }
    };
    if memory < max_params.memory_kib() {
        let next = found.over.map(|(memory, time)| (with(memory, 1), time));
        return Ok(Choice { params: with(memory, 1), time, next });
    }
    // `verify` must accept the chosen costs.
    let by_work = Limits::RECOMMENDED.work_kib / u64::from(memory);
    let max_passes = Limits::RECOMMENDED.passes.min(u32::try_from(by_work).unwrap_or(u32::MAX)).max(1);
    let passes: Vec<u32> = steps(max_passes).collect();
    // One pass was measured above.
    let mut one_pass = Some(time);
    let found = largest(&passes, 0, budget_ns, &mut |passes| match one_pass.take() {
        Some(time) => Ok(time),
        None => measure(with(memory, passes)),
    })?;
    let (passes, time) = found.fits.unwrap_or((1, time));
    let next = found.over.map(|(passes, time)| (with(memory, passes), time));
    Ok(Choice { params: with(memory, passes), time, next })
}

/// 1 to 8, then four steps per doubling, up to `max`.
fn steps(max: u32) -> impl Iterator<Item = u32> {
    let small = 1..4u64;
    let large = (0..30).flat_map(|shift| (4..8u64).map(move |step| step << shift));
    small.chain(large).map_while(move |step| u32::try_from(step).ok().filter(|step| *step <= max))
}

/// Result of [`largest`].
struct SearchResult {
    /// The largest value that fits.
    fits: Option<(u32, HashTime)>,
    /// The smallest value that was measured not to fit.
    over: Option<(u32, HashTime)>,
}

/// Searches ascending values for the largest that fits, starting at index `start`. Interpolates, as the time is roughly
/// proportional to the value, so few values are measured.
fn largest(
    values: &[u32],
    start: usize,
    budget_ns: u64,
    measure: &mut dyn FnMut(u32) -> Result<HashTime, HashError>,
) -> Result<SearchResult, HashError> {
    let (mut fits, mut over) = (None::<(usize, HashTime)>, None::<(usize, HashTime)>);
    let mut at = start;
    loop {
        let time = measure(values[at])?;
        if time.fits(budget_ns) {
            fits = Some((at, time));
        } else {
            over = Some((at, time));
        }
        let (low, high) = (fits.map_or(0, |(at, _)| at + 1), over.map_or(values.len(), |(at, _)| at));
        if low >= high {
            let value = |found: Option<(usize, HashTime)>| found.map(|(at, time)| (values[at], time));
            return Ok(SearchResult { fits: value(fits), over: value(over) });
        }
        // Interpolate within the unmeasured values. A value that interpolation puts far over the limit is not measured.
        let share = budget_ns as f64 / time.ns.max(1) as f64 * f64::from(values[at]);
        let guess = values.partition_point(|value| f64::from(*value) <= share).saturating_sub(1);
        let next = guess.clamp(low, high - 1);
        let expected_ns = f64::from(values[next]) / f64::from(values[at]) * time.ns as f64;
        if fits.is_some() && guess < low && expected_ns > budget_ns as f64 * FAR_OVER {
            let value = |found: Option<(usize, HashTime)>| found.map(|(at, time)| (values[at], time));
            return Ok(SearchResult { fits: value(fits), over: value(over) });
        }
        at = next;
    }
}

/// Factor over the limit from which an interpolated time is trusted without a measurement.
const FAR_OVER: f64 = 1.1;

#[cfg(test)]
mod tests {
    use super::*;

    /// Chooses on a simulated machine: a hash takes `fixed` ns plus `per_kib` ns for each KiB and pass, times `noise` of the
    /// measurement's number.
    fn on_a_noisy_machine(
        max_params: (u32, u32),
        budget_ns: u64,
        (fixed, per_kib): (u64, u64),
        noise: impl Fn(u32) -> f64,
    ) -> Result<Choice> {
        let max_params = Params::new(max_params.0, 1, max_params.1).expect("good costs");
        let mut measured = 0;
        let choice = choose(max_params, budget_ns, &mut |params| {
            measured += 1;
            let exact = fixed + per_kib * u64::from(params.memory_kib()) * u64::from(params.passes());
            Ok(HashTime { ns: (exact as f64 * noise(measured)) as u64, spread: 0.01, samples: 5 })
        });
        assert!(measured <= 12, "{measured} measurements");
        choice
    }

    fn on_a_machine(
        max_params: (u32, u32),
        budget_ns: u64,
        fixed: u64,
        per_kib: u64,
    ) -> Result<(u32, u32, u64)> {
        on_a_noisy_machine(max_params, budget_ns, (fixed, per_kib), |_| 1.0)
            .map(|choice| (choice.params.memory_kib(), choice.params.passes(), choice.time.ns))
    }

    #[test]
    fn maximizes_memory_then_passes() {
        // 65536 KiB take 6.5536 ms a pass.
        assert_eq!(on_a_machine((65536, 1), 20_000_000, 0, 100).expect("a choice"), (65536, 3, 19_660_800));
        assert_eq!(on_a_machine((65536, 1), 5_000_000, 0, 100).expect("a choice"), (49152, 1, 4_915_200));
        // The fixed time makes the first estimate per pass too high.
        assert_eq!(
            on_a_machine((1024, 1), 10_000_000, 500_000, 100).expect("a choice"),
            (1024, 80, 8_692_000)
        );
        // The requested maximum is a candidate even if it is not a step.
        assert_eq!(on_a_machine((50_000, 1), 11_000_000, 0, 100).expect("a choice"), (50_000, 2, 10_000_000));
    }

    /// Noise changes the choice only for the few budgets near the border of a step.
    #[test]
    fn runs_agree_or_warn() {
        let (mut same, mut warned, mut other) = (0, 0, 0);
        for budget in (20..2000).map(|tenth| tenth * 1_000_000) {
            let runs = [-0.004, 0.003, 0.0].map(|noise| {
                let noise =
                    move |measured: u32| 1.0 + noise * if measured.is_multiple_of(2) { -1.0 } else { 1.0 };
                on_a_noisy_machine((65536, 1), budget, (100_000, 100), noise).expect("a choice")
            });
            if runs.iter().all(|run| run.params == runs[0].params) {
                same += 1;
            } else {
                other += 1;
                let warns = |run: &Choice| run.near(budget).is_some() || run.is_tight(budget);
                warned += u32::from(runs.iter().all(warns));
            }
        }
        assert!(same > 20 * other, "{same} {other}");
        assert_eq!(warned, other, "each run that differs warns");
    }

    /// The second and third measurements take four times as long.
    #[test]
    fn disturbed_measurements_leave_passes() {
        let slow = |measured| if measured == 2 || measured == 3 { 4.0 } else { 1.0 };
        let choice = on_a_noisy_machine((4096, 1), 50_000_000, (0, 122), slow).expect("a choice");
        assert!(choice.params.passes() >= 5 && choice.time.ns <= 50_000_000, "{choice:?}");
    }

    #[test]
    fn respects_both_limits() {
        let (_, passes, _) = on_a_machine((8, 1), u64::MAX / 2, 0, 1).expect("a choice");
        assert_eq!(passes, Limits::RECOMMENDED.passes, "verify refuses more");
        let (memory, passes, _) = on_a_machine((1 << 20, 1), u64::MAX / 2, 0, 1).expect("a choice");
        assert_eq!((memory, passes), (1 << 20, 8), "verify refuses more work");
        let error = on_a_machine((65536, 4), 1000, 0, 100).expect_err("too little time");
        assert_eq!(error.to_string(), "--time: the cheapest hash of 4 lanes takes 0.003 ms here");
    }

    #[test]
    fn slow_samples_are_ignored() {
        let time = HashTime::from_samples(vec![100, 101, 102, 103, 900, 5000, 104, 800]);
        assert_eq!((time.ns, time.samples), (102, 8));
        assert!((time.spread - 2.0 / 102.0).abs() < 1e-9, "{time:?}");
        let one = HashTime::from_samples(vec![7]);
        assert_eq!((one.ns, one.spread), (7, 0.0));
    }
}
