//! `password calibrate`: costs for a time and a memory on this machine, and what an attacker pays.

use super::attack::{Bill, CARDS, Card, Prices};
use super::{YES, costs, print, print_json};
use crate::flags::{CalibrateArgs, Misuse};
use crate::memory;
use crate::out::progress::Bar;
use anyhow::{Result, bail};
use hashmill_hash::argon2::{HashError, Hasher, Input, Params};
use hashmill_hash::password::{Limits, Policy};
use hashmill_machine::clock::{Clock, Monotonic};
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How often each candidate is computed; the median counts.
const SAMPLES: usize = 3;
/// Where OWASP's list ends: less memory than this times passes is no recommendation of anybody.
const LEAST_WORK_KIB: u64 = 7168 * 5;

/// What came out. The names of the fields are those of the JSON.
#[derive(Serialize)]
struct Report {
    variant: &'static str,
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    milliseconds: f64,
    gpu: &'static str,
    gpu_bandwidth_gb_per_s: f64,
    gpu_guesses_per_second: f64,
    guesses: f64,
    gpu_days: f64,
    gpu_kwh: f64,
    energy_price: f64,
    gpu_energy_cost: f64,
    gpu_price: f64,
    gpu_years: f64,
    gpu_wear_cost: f64,
    gpu_rent: f64,
    gpu_rent_cost: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

pub(super) fn run(low: &CalibrateArgs) -> Result<u8> {
    let Some(card) = Card::by_name(&low.gpu) else {
        let names = CARDS.map(|card| card.name).join(" ");
        bail!(Misuse(format!("--gpu {}: known are {names}", low.gpu)));
    };
    let prices = prices(low, &card)?;
    let most = Params::new(costs::kib("--memory", low.memory)?, 1, low.lanes).map_err(costs::impossible)?;
    memory::check(most.blocks())?;
    let most = most.with_variant(low.variant);
    let budget_ns = u64::try_from(low.time.as_nanos()).unwrap_or(u64::MAX);

    let done = Arc::new(AtomicU64::new(0));
    let bar = Bar::counting(&done, None, "hashes measured");
    let mut hasher = Hasher::new(most);
    let clock = Monotonic::new();
    let chosen = choose(most, budget_ns, &mut |params| {
        let time = measure(&mut hasher, params, &clock)?;
        done.fetch_add(SAMPLES as u64, Ordering::Relaxed);
        Ok(time)
    });
    if let Some(bar) = bar {
        bar.finish();
    }
    let (params, time_ns) = chosen?;
    let report = report(params, time_ns, low, &card, prices);
    if low.json {
        print_json(&report)?;
    } else {
        print(&words(&report, &card, low.time))?;
    }
    Ok(YES)
}

/// What was said about prices, or what the card usually costs.
fn prices(low: &CalibrateArgs, card: &Card) -> Result<Prices> {
    let prices = Prices {
        kwh: low.energy_price,
        card: low.gpu_price.unwrap_or(card.price),
        years: low.gpu_years,
        rent: low.gpu_rent.unwrap_or(card.rent),
    };
    let amounts = [
        ("--energy-price", prices.kwh),
        ("--gpu-price", prices.card),
        ("--gpu-rent", prices.rent),
        ("--guesses", low.guesses),
    ];
    for (flag, value) in amounts {
        if !(value.is_finite() && value >= 0.0) {
            bail!(Misuse(format!("{flag}: choose a number from 0 up")));
        }
    }
    if !(0.01..=100.0).contains(&prices.years) {
        bail!(Misuse("--gpu-years: choose 0.01 to 100".to_owned()));
    }
    Ok(prices)
}

/// The most memory, then the most passes, that stay within the time. RFC 9106, section 4, in the order that it gives.
fn choose(
    most: Params,
    budget_ns: u64,
    measure: &mut dyn FnMut(Params) -> Result<u64, HashError>,
) -> Result<(Params, u64)> {
    let with = |memory: u32, passes: u32| {
        let params = Params::new(memory, passes, most.lanes()).expect("within the limits of `most`");
        params.with_variant(most.variant())
    };
    let least = Params::MIN_KIB_PER_LANE * most.lanes();
    // What is chosen must be what verify takes.
    let most_passes = |memory: u32| {
        let by_work = Limits::RECOMMENDED.work_kib / u64::from(memory);
        Limits::RECOMMENDED.passes.min(u32::try_from(by_work).unwrap_or(u32::MAX)).max(1)
    };
    let (mut memory, mut passes) = (most.memory_kib(), 1);
    let mut time = measure(with(memory, passes))?;
    while time > budget_ns {
        if memory == least {
            bail!(Misuse(format!(
                "--time: the cheapest hash of {} lanes takes {:.3} ms here",
                most.lanes(),
                time as f64 / 1e6
            )));
        }
        // A little less than in proportion, so that this ends.
        let share = f64::from(memory) * budget_ns as f64 / time as f64 * 0.97;
        memory = (share as u32).clamp(least, memory - 1);
        time = measure(with(memory, passes))?;
    }
    // With less memory than allowed there is no time for a second pass. Otherwise a pass takes as long as any other.
    loop {
        let per_pass = (time / u64::from(passes)).max(1);
        let next = u32::try_from(budget_ns / per_pass).unwrap_or(u32::MAX).min(most_passes(memory));
        if next <= passes {
            return Ok((with(memory, passes), time));
        }
        let next_time = measure(with(memory, next))?;
        if next_time <= budget_ns {
            (passes, time) = (next, next_time);
            continue;
        }
        // Passes were slower together than one alone, or something disturbed them: a little less than in proportion.
        let (mut tried, mut tried_time) = (next, next_time);
        while tried_time > budget_ns {
            let share = f64::from(tried) * budget_ns as f64 / tried_time as f64 * 0.97;
            tried = (share as u32).clamp(passes, tried - 1);
            if tried == passes {
                return Ok((with(memory, passes), time));
            }
            tried_time = measure(with(memory, tried))?;
        }
        return Ok((with(memory, tried), tried_time));
    }
}

/// The median of a few hashes, in memory that is there already, as in a service.
fn measure(hasher: &mut Hasher, params: Params, clock: &dyn Clock) -> Result<u64, HashError> {
    hasher.set_params(params);
    let input = Input::new(b"correct horse battery staple", b"sixteen bytes ok");
    let mut tag = [0; Policy::TAG_LEN];
    let mut times = [0; SAMPLES];
    hasher.hash_into(&input, &mut tag)?;
    for time in &mut times {
        let start = clock.now_ns();
        hasher.hash_into(&input, &mut tag)?;
        *time = clock.now_ns() - start;
    }
    times.sort_unstable();
    Ok(times[SAMPLES / 2])
}

fn report(params: Params, time_ns: u64, low: &CalibrateArgs, card: &Card, prices: Prices) -> Report {
    let Bill { rate, seconds, kwh, energy, wear, rent } = card.bill(params, low.guesses, prices);
    let work = u64::from(params.memory_kib()) * u64::from(params.passes());
    let weak = work < LEAST_WORK_KIB;
    Report {
        variant: params.variant().name(),
        memory_kib: params.memory_kib(),
        passes: params.passes(),
        lanes: params.lanes(),
        milliseconds: time_ns as f64 / 1e6,
        gpu: card.name,
        gpu_bandwidth_gb_per_s: card.gb_per_s(),
        gpu_guesses_per_second: rate,
        guesses: low.guesses,
        gpu_days: seconds / 86_400.0,
        gpu_kwh: kwh,
        energy_price: prices.kwh,
        gpu_energy_cost: energy,
        gpu_price: prices.card,
        gpu_years: prices.years,
        gpu_wear_cost: wear,
        gpu_rent: prices.rent,
        gpu_rent_cost: rent,
        warning: weak
            .then(|| "weaker than anything that OWASP recommends: give more --time or --memory".to_owned()),
    }
}

fn words(report: &Report, card: &Card, allowed: Duration) -> String {
    let Report { memory_kib, passes, lanes, variant, .. } = report;
    let mut text = format!(
        "-m {memory_kib} -t {passes} -p {lanes} --variant {variant}\n\
         {variant}, {:.1} MiB, {passes} passes, {lanes} lanes: {:.1} ms here, of {:.1} allowed\n",
        f64::from(*memory_kib) / 1024.0,
        report.milliseconds,
        allowed.as_secs_f64() * 1e3,
    );
    if report.gpu_guesses_per_second > 0.0 {
        text += &format!(
            "An attacker with one {} ({:.0} GB/s) tries at most {:.0} passwords a second:\n\
             {:.0} of them take at least {:.1} days.\n\
             Rented at {} an hour: at least {:.2}.\n\
             Owned: at least {:.2} for {:.1} kWh at {}, and {:.2} of the card, which costs {} and lasts {} years.\n",
            card.label,
            card.gb_per_s(),
            report.gpu_guesses_per_second,
            report.guesses,
            report.gpu_days,
            report.gpu_rent,
            report.gpu_rent_cost,
            report.gpu_energy_cost,
            report.gpu_kwh,
            report.energy_price,
            report.gpu_wear_cost,
            report.gpu_price,
            report.gpu_years,
        );
    } else {
        text += &format!("One {} has not the memory for a single hash.\n", card.label);
    }
    if let Some(warning) = &report.warning {
        text += &format!("WARNING: {warning}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_machine::clock::Scripted;

    /// A machine where a hash takes `fixed` ns and `per_kib` ns for each KiB and pass.
    fn on_a_machine(most: (u32, u32), budget_ns: u64, fixed: u64, per_kib: u64) -> Result<(u32, u32, u64)> {
        let clock = Scripted::default();
        let most = Params::new(most.0, 1, most.1).expect("good costs");
        let mut measured = 0;
        let chosen = choose(most, budget_ns, &mut |params| {
            measured += 1;
            let start = clock.now_ns();
            clock.advance(fixed + per_kib * u64::from(params.memory_kib()) * u64::from(params.passes()));
            Ok(clock.now_ns() - start)
        });
        assert!(measured <= 20, "{measured} measurements");
        chosen.map(|(params, time)| (params.memory_kib(), params.passes(), time))
    }

    #[test]
    fn memory_first_then_passes() {
        // 65536 KiB take 6.5536 ms a pass.
        assert_eq!(on_a_machine((65536, 1), 20_000_000, 0, 100).expect("a choice"), (65536, 3, 19_660_800));
        let (memory, passes, time) = on_a_machine((65536, 1), 5_000_000, 0, 100).expect("a choice");
        assert!((45_000..=50_000).contains(&memory) && passes == 1 && time <= 5_000_000, "{memory} {time}");
        // What every hash costs once makes passes look dearer at first than they are.
        let (memory, passes, time) = on_a_machine((1024, 1), 10_000_000, 500_000, 100).expect("a choice");
        assert!(memory == 1024 && passes > 85 && time <= 10_000_000, "{passes} {time}");
    }

    /// The second and the third measurement took four times as long as they should.
    #[test]
    fn a_disturbed_measurement_does_not_throw_all_passes_away() {
        let mut measured = 0;
        let most = Params::new(4096, 1, 1).expect("good costs");
        let chosen = choose(most, 50_000_000, &mut |params| {
            measured += 1;
            let slowness = if measured == 2 || measured == 3 { 4 } else { 1 };
            Ok(slowness * 500_000 * u64::from(params.passes()))
        });
        let (params, time) = chosen.expect("a choice");
        assert!(params.passes() >= 5 && time <= 50_000_000 && measured <= 10, "{params:?} {time} {measured}");
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
}
