//! Measurement of Argon2 layouts on a device.

use super::super::decide::{self, Timing};
use super::super::text;
use super::sampling::{CPU_TIME, sample_in_turns, working_options};
use crate::flags::{TuneArgs, UsageError};
use crate::resources::memory;
use crate::tune_file;
use anyhow::{Context as _, Result, ensure};
use hashmill_engines::{OpenDevice, TunedArgon2};
use hashmill_gpu::{Error, Tuning};
use hashmill_hash::argon2::{Hasher, Input, Job, Params};
use hashmill_hash::password::{NewPassword, Passwords, Policy};
use hashmill_machine as machine;
use serde::Serialize;
use std::time::{Duration, Instant};

/// Default costs, as KiB and passes: those of `password hash`, and the second recommendation of RFC 9106 with one lane.
const DEFAULT_COSTS: [(u32, u32); 2] = [(19 << 10, 2), (64 << 10, 3)];

/// Default limit of hashes side by side: the batch length of `password` on an engine.
pub(super) const DEFAULT_MAX_HASHES: u32 = 4096;

/// Minimum time of a sample.
const MIN_SAMPLE_TIME: Duration = Duration::from_millis(20);

const PASSWORD: &[u8] = b"correct horse battery staple";
const SALT: &[u8] = b"sixteen bytes ok";

/// The measured layouts for the same costs. The field names are those of the JSON.
#[derive(Serialize)]
pub(super) struct MeasuredLayouts {
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    options: Vec<LayoutTiming>,
    /// Index of the chosen layout.
    chosen: usize,
    why: String,
    /// Hashes per second on all threads of the CPU.
    of_processor: f64,
    #[serde(skip)]
    pub(super) timing: Timing,
}

#[derive(Serialize)]
struct LayoutTiming {
    tuning: String,
    hashes_per_second: f64,
    /// Speed relative to the first layout: the median and its interval.
    faster: [f64; 3],
}

/// The costs to measure.
pub(super) fn costs(flags: &TuneArgs) -> Result<Vec<Params>> {
    let requested = match (flags.memory, flags.passes) {
        (Some(memory), Some(passes)) => {
            vec![(u32::try_from(memory.0).unwrap_or(u32::MAX), passes, flags.lanes.unwrap_or(1))]
        }
        _ => DEFAULT_COSTS.map(|(memory, passes)| (memory, passes, 1)).into(),
    };
    let params = requested.into_iter().map(|(memory, passes, lanes)| Params::new(memory, passes, lanes));
    let params: Result<Vec<Params>, _> = params.collect();
    let params = params.map_err(|error| UsageError(error.to_string()))?;
    params.iter().try_for_each(|params| memory::check(params.blocks()))?;
    Ok(params)
}

/// Measures all layouts in turns, then the CPU.
pub(super) fn measure(
    device: &OpenDevice,
    (params, max_hashes): (Params, usize),
    budget: Duration,
    tick: &dyn Fn(),
) -> Result<MeasuredLayouts> {
    let right = Hasher::with_plan(params, tune_file::argon2()).hash::<32>(&input())?;
    let sample = |tuning: Tuning| {
        tick();
        measure_layout(device, params, tuning, &right)
    };
    let all = device.tunings(params)?.into_iter().map(|tuning| tuning.at_most(max_hashes));
    let options = working_options(all, sample)?;
    let samples = sample_in_turns(&options, budget, sample)?;
    let timing = Timing::new(params.blocks() << 10, 0, samples);
    let lines: Vec<String> = options.iter().map(Tuning::to_string).collect();
    let choice = decide::choose(std::slice::from_ref(&timing)).context("nothing was measured")?;
    let why = text::reason_text(&choice, &lines, "the first guess");
    let layouts = lines.into_iter().enumerate().map(|(at, tuning)| {
        let ratio = timing.ratios[at];
        let hashes_per_second = 1e9 / timing.times[at];
        LayoutTiming { tuning, hashes_per_second, faster: [ratio.middle, ratio.low, ratio.high] }
    });
    Ok(MeasuredLayouts {
        memory_kib: params.memory_kib(),
        passes: params.passes(),
        lanes: params.lanes(),
        options: layouts.collect(),
        chosen: choice.option,
        why,
        of_processor: measure_cpu(params)?,
        timing,
    })
}

fn input() -> Input<'static> {
    Input::new(PASSWORD, SALT)
}

/// Nanoseconds per hash, computed side by side. Checks all tags.
fn measure_layout(device: &OpenDevice, params: Params, tuning: Tuning, right: &[u8; 32]) -> Result<f64> {
    let mut argon2 = device.argon2_with(params, tuning)?;
    let mut tags = vec![[0; 32]; argon2.width()];
    let mut compute_batch = |tags: &mut [[u8; 32]]| -> Result<()> {
        let mut jobs: Vec<_> = tags.iter_mut().map(|tag| Job { input: input(), tag }).collect();
        argon2.hash(&mut jobs)?;
        ensure!(tags.iter().all(|tag| tag == right), Error::SelfTest { device: device.info().name.clone() });
        Ok(())
    };
    // The first batch touches the memory and lets the device adapt the size of its submissions.
    compute_batch(&mut tags[..1])?;
    let (start, mut count) = (Instant::now(), 0);
    while count == 0 || start.elapsed() < MIN_SAMPLE_TIME {
        compute_batch(&mut tags)?;
        count += tags.len();
    }
    Ok(start.elapsed().as_nanos() as f64 / count as f64)
}

/// Hashes per second on all threads of the CPU.
fn measure_cpu(params: Params) -> Result<f64> {
    let budget = machine::free_kib().map_or(u64::MAX, |free| free / 2);
    let passwords = Passwords::new(Policy::new(params)).plan(tune_file::argon2()).memory_budget(budget);
    let new = vec![NewPassword { password: PASSWORD, salt: SALT }; 2 * machine::threads()];
    let batch = || passwords.hash_many(&new).into_iter().try_for_each(|hash| hash.map(drop));
    batch()?;
    let (start, mut count) = (Instant::now(), 0);
    while count == 0 || start.elapsed() < CPU_TIME {
        batch()?;
        count += new.len();
    }
    Ok(count as f64 / start.elapsed().as_secs_f64())
}

impl MeasuredLayouts {
    /// The entry for the tune file.
    pub(super) fn tuned(&self, date: &str, engine: &str, (model, kind): (&str, &str)) -> TunedArgon2 {
        let layout = &self.options[self.chosen];
        TunedArgon2 {
            measured: date.to_owned(),
            engine: engine.to_owned(),
            device: model.to_owned(),
            kind: kind.to_owned(),
            memory_kib: self.memory_kib,
            passes: self.passes,
            lanes: self.lanes,
            tuning: layout.tuning.clone(),
            hashes_per_second: layout.hashes_per_second,
            of_processor: self.of_processor,
        }
    }

    pub(super) fn table(&self) -> String {
        let MeasuredLayouts { memory_kib, passes, lanes, options, chosen, why, of_processor, .. } = self;
        let mut text = format!("\nArgon2id, {memory_kib} KiB, t {passes}, p {lanes}: hashes per second\n");
        for (at, LayoutTiming { tuning, hashes_per_second, .. }) in options.iter().enumerate() {
            let cell = match at {
                0 => "first guess".to_owned(),
                _ => self.timing.ratios[at].to_string(),
            };
            text += &format!("  {hashes_per_second:>12.1}  {cell:<14}  {tuning}\n");
        }
        text += &format!("  {of_processor:>12.1}  {:<14}  all threads of the CPU\n", "");
        text += &format!("  chosen: {}: {why}\n", options[*chosen].tuning);
        text
    }
}
