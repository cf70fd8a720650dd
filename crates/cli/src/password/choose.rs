//! Which costs `calibrate` chooses, from measurements that are handed in. Decisions only: nothing here measures.
//!
//! Two runs shall find the same. So costs come in steps of 14 to 25 percent, which is more than an idle machine differs
//! from itself; times are those of hashes that nothing disturbed; and where the next step is as near to the limit as
//! measurements tell, that is said.

use anyhow::{Result, bail};
use hashmill_hash::argon2::{HashError, Params};
use hashmill_hash::password::Limits;

use crate::flags::Misuse;

/// How long a hash takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Time {
    pub(super) ns: u64,
    /// How far other measurements of the same are from that, as a share of it.
    pub(super) spread: f64,
    /// How many hashes were measured.
    pub(super) samples: usize,
}

impl Time {
    /// Of several hashes. What disturbs a hash makes it slower and never faster, so the faster half counts: its middle, and how
    /// far it reaches to both sides.
    pub(super) fn of(mut samples: Vec<u64>) -> Time {
        samples.sort_unstable();
        let at = |share: usize| samples.get(samples.len() * share / 4).copied().unwrap_or(0);
        let (least, ns, median) = (at(0), at(1), at(2));
        let reach = (median - ns).max(ns - least);
        Time { ns, spread: reach as f64 / ns.max(1) as f64, samples: samples.len() }
    }

    fn fits(&self, budget_ns: u64) -> bool {
        self.ns <= budget_ns
    }
}

/// What was chosen.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Choice {
    pub(super) params: Params,
    pub(super) time: Time,
    /// The next step, which did not fit, or did so by less than measurements differ.
    pub(super) next: Option<(Params, Time)>,
}

impl Choice {
    /// The next step, if another run may well choose it, or may choose less than this: it is nearer to the limit than
    /// measurements are to one another.
    pub(super) fn near(&self, budget_ns: u64) -> Option<(Params, Time)> {
        let next = self.next?;
        let over = next.1.ns as f64 / budget_ns as f64 - 1.0;
        (over <= next.1.spread.max(0.01)).then_some(next)
    }

    /// Whether another run may well choose less.
    pub(super) fn is_tight(&self, budget_ns: u64) -> bool {
        let room = 1.0 - self.time.ns as f64 / budget_ns as f64;
        room < self.time.spread.max(0.01)
    }
}

/// The most memory, then the most passes, that stay within the time. RFC 9106, section 4, in the order that it gives.
pub(super) fn choose(
    most: Params,
    budget_ns: u64,
    measure: &mut dyn FnMut(Params) -> Result<Time, HashError>,
) -> Result<Choice> {
    let with = |memory: u32, passes: u32| {
        let params = Params::new(memory, passes, most.lanes()).expect("within the limits of `most`");
        params.with_variant(most.variant())
    };
    let least = Params::MIN_KIB_PER_LANE * most.lanes();
    let mut sizes: Vec<u32> = steps(most.memory_kib()).filter(|size| *size > least).collect();
    sizes.insert(0, least);
    sizes.push(most.memory_kib());
    sizes.dedup();
    let last = sizes.len() - 1;
    let found = largest(&sizes, last, budget_ns, &mut |memory| measure(with(memory, 1)))?;
    let (memory, time) = match found.fits {
        Some(fits) => fits,
        None => {
            let time = found.over.map_or(0, |(_, time)| time.ns);
            let (lanes, ms) = (most.lanes(), time as f64 / 1e6);
            bail!(Misuse(format!("--time: the cheapest hash of {lanes} lanes takes {ms:.3} ms here")));
        }
    };
    if memory < most.memory_kib() {
        let next = found.over.map(|(memory, time)| (with(memory, 1), time));
        return Ok(Choice { params: with(memory, 1), time, next });
    }
    // What is chosen must be what verify takes.
    let by_work = Limits::RECOMMENDED.work_kib / u64::from(memory);
    let most_passes = Limits::RECOMMENDED.passes.min(u32::try_from(by_work).unwrap_or(u32::MAX)).max(1);
    let passes: Vec<u32> = steps(most_passes).collect();
    // The first was measured above.
    let mut once = Some(time);
    let found = largest(&passes, 0, budget_ns, &mut |passes| match once.take() {
        Some(time) => Ok(time),
        None => measure(with(memory, passes)),
    })?;
    let (passes, time) = found.fits.unwrap_or((1, time));
    let next = found.over.map(|(passes, time)| (with(memory, passes), time));
    Ok(Choice { params: with(memory, passes), time, next })
}

/// 1 to 8, and from there on four steps until twice as much, up to `most`.
fn steps(most: u32) -> impl Iterator<Item = u32> {
    let small = 1..4u64;
    let large = (0..30).flat_map(|shift| (4..8u64).map(move |step| step << shift));
    small.chain(large).map_while(move |step| u32::try_from(step).ok().filter(|step| *step <= most))
}

/// What a search found.
struct Found {
    /// The largest that fits.
    fits: Option<(u32, Time)>,
    /// The smallest that was seen not to.
    over: Option<(u32, Time)>,
}

/// Searches values in their order for the largest that fits, from one of them on. Time is about in proportion to the value,
/// so few are measured.
fn largest(
    values: &[u32],
    start: usize,
    budget_ns: u64,
    measure: &mut dyn FnMut(u32) -> Result<Time, HashError>,
) -> Result<Found, HashError> {
    let (mut fits, mut over) = (None::<(usize, Time)>, None::<(usize, Time)>);
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
            let value = |found: Option<(usize, Time)>| found.map(|(at, time)| (values[at], time));
            return Ok(Found { fits: value(fits), over: value(over) });
        }
        // As far as proportion says, but nowhere that was seen. What it says to be far over the limit is not measured.
        let share = budget_ns as f64 / time.ns.max(1) as f64 * f64::from(values[at]);
        let guess = values.partition_point(|value| f64::from(*value) <= share).saturating_sub(1);
        let next = guess.clamp(low, high - 1);
        let would_take = f64::from(values[next]) / f64::from(values[at]) * time.ns as f64;
        if fits.is_some() && guess < low && would_take > budget_ns as f64 * FAR {
            let value = |found: Option<(usize, Time)>| found.map(|(at, time)| (values[at], time));
            return Ok(Found { fits: value(fits), over: value(over) });
        }
        at = next;
    }
}

/// How far over the limit a guess must be to be believed unmeasured.
const FAR: f64 = 1.1;

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine where a hash takes `fixed` ns and `per_kib` ns for each KiB and pass, give or take what `noise` says of the
    /// number of the measurement.
    fn on_a_noisy_machine(
        most: (u32, u32),
        budget_ns: u64,
        (fixed, per_kib): (u64, u64),
        noise: impl Fn(u32) -> f64,
    ) -> Result<Choice> {
        let most = Params::new(most.0, 1, most.1).expect("good costs");
        let mut measured = 0;
        let choice = choose(most, budget_ns, &mut |params| {
            measured += 1;
            let exact = fixed + per_kib * u64::from(params.memory_kib()) * u64::from(params.passes());
            Ok(Time { ns: (exact as f64 * noise(measured)) as u64, spread: 0.01, samples: 5 })
        });
        assert!(measured <= 12, "{measured} measurements");
        choice
    }

    fn on_a_machine(most: (u32, u32), budget_ns: u64, fixed: u64, per_kib: u64) -> Result<(u32, u32, u64)> {
        on_a_noisy_machine(most, budget_ns, (fixed, per_kib), |_| 1.0)
            .map(|choice| (choice.params.memory_kib(), choice.params.passes(), choice.time.ns))
    }

    #[test]
    fn memory_first_then_passes() {
        // 65536 KiB take 6.5536 ms a pass.
        assert_eq!(on_a_machine((65536, 1), 20_000_000, 0, 100).expect("a choice"), (65536, 3, 19_660_800));
        assert_eq!(on_a_machine((65536, 1), 5_000_000, 0, 100).expect("a choice"), (49152, 1, 4_915_200));
        // What every hash costs once makes passes look dearer at first than they are.
        assert_eq!(
            on_a_machine((1024, 1), 10_000_000, 500_000, 100).expect("a choice"),
            (1024, 80, 8_692_000)
        );
        // A size that is no step is one if it is asked for.
        assert_eq!(on_a_machine((50_000, 1), 11_000_000, 0, 100).expect("a choice"), (50_000, 2, 10_000_000));
    }

    /// For all budgets but the few that are near the border of a step, noise changes nothing.
    #[test]
    fn two_runs_find_the_same() {
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
                let said = |run: &Choice| run.near(budget).is_some() || run.is_tight(budget);
                warned += u32::from(runs.iter().all(said));
            }
        }
        assert!(same > 20 * other, "{same} {other}");
        assert_eq!(warned, other, "whoever could differ says so");
    }

    /// The second and the third measurement took four times as long as they should.
    #[test]
    fn a_disturbed_measurement_does_not_throw_all_passes_away() {
        let slow = |measured| if measured == 2 || measured == 3 { 4.0 } else { 1.0 };
        let choice = on_a_noisy_machine((4096, 1), 50_000_000, (0, 122), slow).expect("a choice");
        assert!(choice.params.passes() >= 5 && choice.time.ns <= 50_000_000, "{choice:?}");
    }

    #[test]
    fn limits_hold_at_both_ends() {
        let (_, passes, _) = on_a_machine((8, 1), u64::MAX / 2, 0, 1).expect("a choice");
        assert_eq!(passes, Limits::RECOMMENDED.passes, "verify would refuse more");
        let (memory, passes, _) = on_a_machine((1 << 20, 1), u64::MAX / 2, 0, 1).expect("a choice");
        assert_eq!((memory, passes), (1 << 20, 8), "verify would refuse more work");
        let error = on_a_machine((65536, 4), 1000, 0, 100).expect_err("too little time");
        assert_eq!(error.to_string(), "--time: the cheapest hash of 4 lanes takes 0.003 ms here");
    }

    #[test]
    fn slow_samples_do_not_count() {
        let time = Time::of(vec![100, 101, 102, 103, 900, 5000, 104, 800]);
        assert_eq!((time.ns, time.samples), (102, 8));
        assert!((time.spread - 2.0 / 102.0).abs() < 1e-9, "{time:?}");
        let one = Time::of(vec![7]);
        assert_eq!((one.ns, one.spread), (7, 0.0));
    }
}
