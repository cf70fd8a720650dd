//! `password calibrate`: costs for a time and a memory limit on this machine, and the price of an attack.

mod attack_cost;
mod choose;

use super::costs;
use super::report::{YES, print_json};
use crate::flags::{CalibrateArgs, UsageError};
use crate::output::print;
use crate::output::progress::Bar;
use crate::resources::{load, memory};
use crate::tune_file;
use anyhow::{Result, bail};
use attack_cost::{AttackCost, CARDS, Card, Prices};
use choose::{Choice, HashTime, choose};
use hashmill_engines::TunedArgon2;
use hashmill_hash::argon2::{HashError, Hasher, Input, Params};
use hashmill_hash::password::Policy;
use hashmill_machine::Load;
use hashmill_machine::clock::{Clock, Monotonic};
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Samples of each candidate: at least `MIN_SAMPLES`, then more until `MAX_SAMPLES` or `SAMPLING_TIME_NS`.
const MIN_SAMPLES: usize = 7;
const MAX_SAMPLES: usize = 40;
const SAMPLING_TIME_NS: u64 = 300_000_000;
/// The smallest memory times passes that OWASP recommends.
const MIN_WORK_KIB: u64 = 7168 * 5;

/// The result. The field names are those of the JSON.
#[derive(Serialize)]
struct Report {
    variant: &'static str,
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    milliseconds: f64,
    /// Spread of equal measurements.
    spread_percent: f64,
    samples: usize,
    /// A note that another run may choose other costs, and which.
    #[serde(skip_serializing_if = "Option::is_none")]
    near: Option<String>,
    /// Why the machine was not idle.
    #[serde(skip_serializing_if = "Option::is_none")]
    busy: Option<String>,
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
    /// The measurement by `hashmill tune` on a device of this machine whose costs are nearest.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<TunedArgon2>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

pub(super) fn run(flags: &CalibrateArgs) -> Result<u8> {
    let Some(card) = Card::by_name(&flags.gpu) else {
        let names = CARDS.map(|card| card.name).join(" ");
        bail!(UsageError(format!("--gpu {}: choose one of {names}", flags.gpu)));
    };
    let prices = prices(flags, &card)?;
    let max_params =
        Params::new(costs::kib("--memory", flags.memory)?, 1, flags.lanes).map_err(costs::invalid_params)?;
    memory::check(max_params.blocks())?;
    let max_params = max_params.with_variant(flags.variant);
    let budget_ns = u64::try_from(flags.time.as_nanos()).unwrap_or(u64::MAX);

    let done = Arc::new(AtomicU64::new(0));
    let bar = Bar::counting("calibrating", &done, None, "hashes");
    let mut hasher = Hasher::with_plan(max_params, tune_file::argon2());
    let clock = Monotonic::new();
    let before = Load::read();
    let choice = choose(max_params, budget_ns, &mut |params| {
        let time = measure(&mut hasher, params, &clock)?;
        done.fetch_add(time.samples as u64, Ordering::Relaxed);
        Ok(time)
    });
    let (after, elapsed_ms) = (Load::read(), clock.now_ns() / 1_000_000);
    if let Some(bar) = bar {
        bar.finish();
    }
    let choice = choice?;
    let busy =
        load::busy_message(&before, &after, elapsed_ms, hashmill_machine::threads(), choice.time.spread);
    let measured = nearest(tune_file::find().choices().devices, choice.params);
    let report = Report {
        busy,
        near: near_message(&choice, budget_ns),
        measured,
        ..report(&choice, flags, &card, prices)
    };
    if flags.json {
        print_json(&report)?;
    } else {
        print(&text(&report, &card, flags.time))?;
    }
    Ok(YES)
}

/// The prices from flags, or the usual ones of the card.
fn prices(flags: &CalibrateArgs, card: &Card) -> Result<Prices> {
    let prices = Prices {
        kwh: flags.energy_price,
        card: flags.gpu_price.unwrap_or(card.price),
        years: flags.gpu_years,
        rent: flags.gpu_rent.unwrap_or(card.rent),
    };
    let amounts = [
        ("--energy-price", prices.kwh),
        ("--gpu-price", prices.card),
        ("--gpu-rent", prices.rent),
        ("--guesses", flags.guesses),
    ];
    for (flag, value) in amounts {
        if !(value.is_finite() && value >= 0.0) {
            bail!(UsageError(format!("{flag}: choose a number of at least 0")));
        }
    }
    if !(0.01..=100.0).contains(&prices.years) {
        bail!(UsageError("--gpu-years: choose 0.01 to 100".to_owned()));
    }
    Ok(prices)
}

/// Measures several hashes in memory that is already allocated, as in a service.
fn measure(hasher: &mut Hasher, params: Params, clock: &dyn Clock) -> Result<HashTime, HashError> {
    hasher.set_params(params);
    let input = Input::new(b"correct horse battery staple", b"sixteen bytes ok");
    let mut tag = [0; Policy::TAG_LEN];
    hasher.hash_into(&input, &mut tag)?;
    let begin = clock.now_ns();
    let mut times = Vec::new();
    while times.len() < MIN_SAMPLES
        || (times.len() < MAX_SAMPLES && clock.now_ns() - begin < SAMPLING_TIME_NS)
    {
        let start = clock.now_ns();
        hasher.hash_into(&input, &mut tag)?;
        times.push(clock.now_ns() - start);
    }
    Ok(HashTime::from_samples(times))
}

/// The kind of device that [`nearest`] leaves out: it runs on the CPU.
const SOFTWARE: &str = "software";

/// The measurement whose costs are nearest to `params`; of equally near ones the fastest.
fn nearest(devices: Vec<TunedArgon2>, params: Params) -> Option<TunedArgon2> {
    let work = |memory: u32, passes: u32| f64::from(memory) * f64::from(passes);
    let requested = work(params.memory_kib(), params.passes());
    let distance = |tuned: &TunedArgon2| (work(tuned.memory_kib, tuned.passes) / requested).ln().abs();
    let cards = devices.into_iter().filter(|tuned| tuned.kind != SOFTWARE);
    cards.min_by(|one, other| {
        let nearer = distance(one).total_cmp(&distance(other));
        nearer.then(other.hashes_per_second.total_cmp(&one.hashes_per_second))
    })
}

/// A note that another run may choose other costs.
fn near_message(choice: &Choice, budget_ns: u64) -> Option<String> {
    let costs = |params: Params| format!("{} KiB and {} passes", params.memory_kib(), params.passes());
    let next = choice.near(budget_ns).map(|(params, time)| {
        format!("{} take {:.1} ms, so another run may choose them", costs(params), time.ns as f64 / 1e6)
    });
    let tight = || "this takes nearly the allowed time, so another run may choose a step less".to_owned();
    next.or_else(|| choice.is_tight(budget_ns).then(tight))
}

fn report(choice: &Choice, flags: &CalibrateArgs, card: &Card, prices: Prices) -> Report {
    let Choice { params, time, .. } = *choice;
    let AttackCost { rate, seconds, kwh, energy, wear, rent } =
        card.attack_cost(params, flags.guesses, prices);
    let work = u64::from(params.memory_kib()) * u64::from(params.passes());
    let weak = work < MIN_WORK_KIB;
    Report {
        variant: params.variant().name(),
        memory_kib: params.memory_kib(),
        passes: params.passes(),
        lanes: params.lanes(),
        milliseconds: time.ns as f64 / 1e6,
        spread_percent: 100.0 * time.spread,
        samples: time.samples,
        near: None,
        busy: None,
        measured: None,
        gpu: card.name,
        gpu_bandwidth_gb_per_s: card.gb_per_s(),
        gpu_guesses_per_second: rate,
        guesses: flags.guesses,
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
            .then(|| "weaker than every recommendation of OWASP: give more --time or --memory".to_owned()),
    }
}

fn text(report: &Report, card: &Card, allowed: Duration) -> String {
    let Report { memory_kib, passes, lanes, variant, .. } = report;
    let mut text = format!(
        "-m {memory_kib} -t {passes} -p {lanes} --variant {variant}\n\
         {variant}, {:.1} MiB, {passes} passes, {lanes} lanes: {:.1} ms ± {:.1} % here, of {:.1} allowed\n",
        f64::from(*memory_kib) / 1024.0,
        report.milliseconds,
        report.spread_percent,
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
        text += &format!("One {} has too little memory for a single hash.\n", card.label);
    }
    if let Some(tuned) = &report.measured {
        let TunedArgon2 { device, memory_kib, passes, lanes, hashes_per_second, of_processor, .. } = tuned;
        text += &format!(
            "Measured here on {}: {hashes_per_second:.0} a second of {memory_kib} KiB, {passes} passes and {lanes} lanes \
             on {device}; {of_processor:.0} on all threads of the CPU.\n",
            tuned.date(),
        );
    }
    if let Some(near) = &report.near {
        text += &format!("Close call: {near}.\n");
    }
    for warning in [&report.busy, &report.warning].into_iter().flatten() {
        text += &format!("WARNING: {warning}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_the_measurement_with_the_nearest_costs() {
        let tuned = |memory_kib, passes, rate| TunedArgon2 {
            measured: "2026-11-26T12:00:00Z".to_owned(),
            engine: "cuda".to_owned(),
            device: "a card".to_owned(),
            kind: "discrete".to_owned(),
            memory_kib,
            passes,
            lanes: 1,
            tuning: String::new(),
            hashes_per_second: rate,
            of_processor: 1.0,
        };
        let devices = || vec![tuned(19_456, 2, 1.0), tuned(65_536, 3, 2.0), tuned(2 << 20, 1, 3.0)];
        for (memory, passes, rate) in [(65_536, 4, 2.0), (16_384, 3, 1.0), (1 << 20, 3, 3.0)] {
            let params = Params::new(memory, passes, 4).expect("good costs");
            let nearest = nearest(devices(), params).expect("one of three");
            assert_eq!(nearest.hashes_per_second, rate, "{memory} {passes}");
        }
        let params = Params::new(64, 1, 1).expect("good costs");
        let equal = vec![tuned(64, 1, 2.0), tuned(64, 1, 3.0), tuned(64, 1, 1.0)];
        let software = TunedArgon2 { kind: SOFTWARE.to_owned(), ..tuned(64, 1, 4.0) };
        let fastest = nearest([vec![software.clone()], equal].concat(), params).expect("one of three");
        assert_eq!(fastest.hashes_per_second, 3.0);
        assert_eq!(nearest(vec![software], params), None);
        assert_eq!(nearest(Vec::new(), params), None);
    }
}
