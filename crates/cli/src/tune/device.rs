//! `hashmill tune --engine cuda|wgpu`: how Argon2 is best laid out on a device and files are cut for it, and how fast it is beside the processor.

use super::decide::{self, TOO_NOISY, Timing};
use super::{tiles, words};
use crate::busy::busy;
use crate::engine::device::Device;
use crate::flags::{Misuse, TuneArgs};
use crate::kept::{self, Target, Tuned};
use crate::out::progress::Bar;
use crate::out::{self, print, shown};
use crate::{FAILED, OK, memory};
use anyhow::{Context as _, Result, bail, ensure};
use hashmill_gpu::{Error, Tuning};
use hashmill_hash::argon2::{Hasher, Input, Job, Params};
use hashmill_hash::engine::EngineError;
use hashmill_hash::password::{NewPassword, Passwords, Policy};
use hashmill_machine::clock::{Clock, Monotonic};
use hashmill_machine::{self as machine, Load};
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What is measured if nobody says: what `password` makes, and the second choice of RFC 9106 on one lane.
const COSTS: [(u32, u32); 2] = [(19 << 10, 2), (64 << 10, 3)];

/// Hashes side by side, if nobody says: as many as files of passwords hand over together.
const MOST: u32 = 4096;

/// Each round gives two samples, and of fewer than six a ratio has no interval.
const LEAST_ROUNDS: usize = 3;

/// A sample takes at least this long.
const SAMPLE: Duration = Duration::from_millis(20);

/// How long the processor hashes.
pub(super) const OF_PROCESSOR: Duration = Duration::from_millis(500);

const PASSWORD: &[u8] = b"correct horse battery staple";
const SALT: &[u8] = b"sixteen bytes ok";

/// What came out. The names of the fields are those of the JSON.
#[derive(Serialize)]
struct Report<'a> {
    engine: &'static str,
    device: &'a str,
    date: &'a str,
    /// The median of what comparisons of hashes may be off by chance, as a part of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    noise: Option<f64>,
    busy: Option<&'a str>,
    measured: &'a [Measured],
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<&'a tiles::Measured>,
    /// Where it was kept, if it was.
    kept: Option<String>,
}

/// All ways for the same costs.
#[derive(Serialize)]
struct Measured {
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    options: Vec<Way>,
    /// Which of them.
    chosen: usize,
    why: String,
    /// Hashes in a second on all threads of the processor.
    of_processor: f64,
    #[serde(skip)]
    timing: Timing,
}

#[derive(Serialize)]
struct Way {
    tuning: String,
    hashes_per_second: f64,
    /// How many times faster than the first: the median, and between what it may be by chance.
    faster: [f64; 3],
}

/// Measures, tells, and keeps.
pub(super) fn run(low: &TuneArgs) -> Result<u8> {
    if low.source {
        bail!(Misuse("--source is for the processor".to_owned()));
    }
    // Whoever names costs asks for these alone.
    let (all, files) = if low.files { (Vec::new(), true) } else { (costs(low)?, low.memory.is_none()) };
    let device = Device::open(&low.engine)?;
    let target = if low.dry_run { None } else { Some(Target::prepare()?) };
    let done = Arc::new(AtomicU64::new(0));
    let bar = Bar::counting("measuring", &done, None, "batches");
    let (clock, before) = (Monotonic::new(), Load::read());
    let budget = low.time / (all.len() + usize::from(files)) as u32;
    let tick = || {
        done.fetch_add(1, Ordering::Relaxed);
    };
    let most = low.hashes.unwrap_or(MOST) as usize;
    let measured: Result<Vec<Measured>> = all
        .into_iter()
        .map(|params| measure(&device, (params, most.min(device.room(params))), budget, &tick))
        .collect();
    let files = files.then(|| tiles::measure(&device, budget, &tick));
    let (after, elapsed_ms) = (Load::read(), clock.now_ns() / 1_000_000);
    if let Some(bar) = bar {
        bar.finish();
    }
    let measured = measured.with_context(|| low.engine.to_string())?;
    let (files, failure) = apart(files, !measured.is_empty()).with_context(|| low.engine.to_string())?;
    let timings = measured.iter().map(|measured| &measured.timing);
    let noise = (!measured.is_empty()).then(|| decide::noise(timings));
    let noises = [("Argon2", noise), ("files", files.as_ref().map(|files| files.noise))];
    let [keeps_hashes, keeps_files] = noises.map(|(_, noise)| noise.is_some_and(is_sure));
    let busy = busy(&before, &after, elapsed_ms, machine::threads(), 0.0);
    let (date, model, kind) = (machine::date::now_utc(), device.info().model(), device.info().kind.name());
    let keep = |kept: &mut kept::Kept| {
        for measured in measured.iter().filter(|_| keeps_hashes) {
            kept.take(measured.tuned(&date, device.engine(), (&model, kind)));
        }
        if let Some(files) = files.as_ref().filter(|_| keeps_files) {
            kept.take_tiles(files.tuned(&date, device.engine(), &model));
        }
    };
    let kept = target.filter(|_| keeps_hashes || keeps_files).map(|target| target.keep(keep)).transpose();
    let path = kept.as_ref().ok().and_then(|path| path.as_ref()).map(|path| shown(path).into_owned());
    if low.json {
        let (engine, busy, measured) = (device.engine(), busy.as_deref(), &measured[..]);
        let (device, date, files) = (&*model, &*date, files.as_ref());
        let report = Report { engine, device, date, noise, busy, measured, files, kept: path };
        print(&(serde_json::to_string(&report)? + "\n"))?;
    } else {
        let tables = measured.iter().map(Measured::table).chain(files.iter().map(tiles::Measured::table));
        let tables: String = tables.collect();
        let kept = path.map(|path| format!("Used from now on: {path}\n")).unwrap_or_default();
        print(&format!("{model}\n{tables}{kept}"))?;
    }
    if let Some(busy) = busy {
        out::remark(&format!("WARNING: {busy}"));
    }
    kept?;
    let noisy = too_noisy(noises);
    noisy.iter().for_each(|line| out::complain(line));
    match failure {
        Some(error) => Err(error.context(low.engine.to_string())),
        None if noisy.is_empty() => Ok(OK),
        None => Ok(FAILED),
    }
}

/// What was measured of files, or why nothing was. That is for the end if something else was measured, which it takes nothing from.
fn apart<T>(files: Option<Result<T>>, has_more: bool) -> Result<(Option<T>, Option<anyhow::Error>)> {
    match files.transpose() {
        Ok(files) => Ok((files, None)),
        Err(error) if has_more => Ok((None, Some(error))),
        Err(error) => Err(error),
    }
}

/// Whether comparisons can tell something.
fn is_sure(noise: f64) -> bool {
    noise <= TOO_NOISY
}

/// A line for each kind of which nothing was kept. Each is judged for itself: the noise of one is no other's.
fn too_noisy(noises: [(&str, Option<f64>); 2]) -> Vec<String> {
    let noises = noises.into_iter().filter_map(|(what, noise)| Some((what, noise?)));
    let noisy = noises.filter(|(_, noise)| !is_sure(*noise));
    noisy.map(|(what, noise)| format!("{what}: {}", super::too_noisy(noise))).collect()
}

/// What to measure.
fn costs(low: &TuneArgs) -> Result<Vec<Params>> {
    let asked = match (low.memory, low.passes) {
        (Some(memory), Some(passes)) => {
            vec![(u32::try_from(memory.0).unwrap_or(u32::MAX), passes, low.lanes.unwrap_or(1))]
        }
        _ => COSTS.map(|(memory, passes)| (memory, passes, 1)).into(),
    };
    let params = asked.into_iter().map(|(memory, passes, lanes)| Params::new(memory, passes, lanes));
    let params: Result<Vec<Params>, _> = params.collect();
    let params = params.map_err(|error| Misuse(error.to_string()))?;
    params.iter().try_for_each(|params| memory::check(params.blocks()))?;
    Ok(params)
}

/// All ways in turns, forth and back; then the processor.
fn measure(
    device: &Device,
    (params, most): (Params, usize),
    budget: Duration,
    tick: &dyn Fn(),
) -> Result<Measured> {
    let right = Hasher::with_plan(params, kept::argon2()).hash::<32>(&input())?;
    let sample = |tuning: Tuning| {
        tick();
        batch(device, params, tuning, &right)
    };
    let all = device.tunings(params)?.into_iter().map(|tuning| tuning.at_most(most));
    let options = possible(all, sample)?;
    let samples = turns(&options, budget, sample)?;
    let timing = Timing::new(params.blocks() << 10, 0, samples);
    let lines: Vec<String> = options.iter().map(Tuning::to_string).collect();
    let choice = decide::choose(std::slice::from_ref(&timing)).context("nothing was measured")?;
    let why = words::why(&choice, &lines, "what is guessed first");
    let ways = lines.into_iter().enumerate().map(|(at, tuning)| {
        let ratio = timing.ratios[at];
        let hashes_per_second = 1e9 / timing.times[at];
        Way { tuning, hashes_per_second, faster: [ratio.middle, ratio.low, ratio.high] }
    });
    Ok(Measured {
        memory_kib: params.memory_kib(),
        passes: params.passes(),
        lanes: params.lanes(),
        options: ways.collect(),
        chosen: choice.option,
        why,
        of_processor: by_processor(params)?,
        timing,
    })
}

/// Those ways that the device can, each once, in their order: all are tried. The first must work; another may be too much.
pub(super) fn possible<T: Copy + PartialEq>(
    all: impl IntoIterator<Item = T>,
    sample: impl Fn(T) -> Result<f64>,
) -> Result<Vec<T>> {
    let mut options = Vec::new();
    for option in all {
        if options.contains(&option) {
            continue;
        }
        match sample(option) {
            Err(error) if !options.is_empty() && is_too_much(&error) => {}
            sampled => {
                sampled?;
                options.push(option);
            }
        }
    }
    Ok(options)
}

/// Samples of each way, taken in turns, forth and back, as long as the budget lasts.
pub(super) fn turns<T: Copy>(
    options: &[T],
    budget: Duration,
    sample: impl Fn(T) -> Result<f64>,
) -> Result<Vec<Vec<f64>>> {
    let mut samples = vec![Vec::new(); options.len()];
    let (began, mut rounds) = (Instant::now(), 0);
    while rounds < LEAST_ROUNDS || began.elapsed() < budget {
        let forth = 0..options.len();
        for index in forth.clone().chain(forth.rev()) {
            samples[index].push(sample(options[index])?);
        }
        rounds += 1;
    }
    Ok(samples)
}

/// Whether a way failed because it is more than the device can.
fn is_too_much(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Error::OutOfMemory { .. } | Error::Unfit { .. }))
        || matches!(error.downcast_ref(), Some(EngineError::OutOfMemory { .. }))
}

fn input() -> Input<'static> {
    Input::new(PASSWORD, SALT)
}

/// Nanoseconds of a hash, of as many as go side by side. All tags are looked at.
fn batch(device: &Device, params: Params, tuning: Tuning, right: &[u8; 32]) -> Result<f64> {
    let mut argon2 = device.tuned(params, tuning)?;
    let mut tags = vec![[0; 32]; argon2.width()];
    let mut once = |tags: &mut [[u8; 32]]| -> Result<()> {
        let mut jobs: Vec<_> = tags.iter_mut().map(|tag| Job { input: input(), tag }).collect();
        argon2.hash(&mut jobs)?;
        ensure!(tags.iter().all(|tag| tag == right), Error::SelfTest { device: device.info().name.clone() });
        Ok(())
    };
    // Memory is touched, and the pace of strips is learnt.
    once(&mut tags[..1])?;
    let (began, mut count) = (Instant::now(), 0);
    while count == 0 || began.elapsed() < SAMPLE {
        once(&mut tags)?;
        count += tags.len();
    }
    Ok(began.elapsed().as_nanos() as f64 / count as f64)
}

/// Hashes in a second on all threads.
fn by_processor(params: Params) -> Result<f64> {
    let budget = machine::free_kib().map_or(u64::MAX, |free| free / 2);
    let passwords = Passwords::new(Policy::new(params)).plan(kept::argon2()).memory_budget(budget);
    let new = vec![NewPassword { password: PASSWORD, salt: SALT }; 2 * machine::threads()];
    let batch = || passwords.hash_many(&new).into_iter().try_for_each(|made| made.map(drop));
    batch()?;
    let (began, mut count) = (Instant::now(), 0);
    while count == 0 || began.elapsed() < OF_PROCESSOR {
        batch()?;
        count += new.len();
    }
    Ok(count as f64 / began.elapsed().as_secs_f64())
}

impl Measured {
    fn tuned(&self, date: &str, engine: &str, (model, kind): (&str, &str)) -> Tuned {
        let way = &self.options[self.chosen];
        Tuned {
            measured: date.to_owned(),
            engine: engine.to_owned(),
            device: model.to_owned(),
            kind: kind.to_owned(),
            memory_kib: self.memory_kib,
            passes: self.passes,
            lanes: self.lanes,
            tuning: way.tuning.clone(),
            hashes_per_second: way.hashes_per_second,
            of_processor: self.of_processor,
        }
    }

    fn table(&self) -> String {
        let Measured { memory_kib, passes, lanes, options, chosen, why, of_processor, .. } = self;
        let mut text = format!("\nArgon2id, {memory_kib} KiB, t {passes}, p {lanes}: hashes a second\n");
        for (at, Way { tuning, hashes_per_second, .. }) in options.iter().enumerate() {
            let cell = match at {
                0 => "first guess".to_owned(),
                _ => {
                    let ratio = self.timing.ratios[at];
                    format!("{:.3} ±{:.1}%", ratio.middle, 100.0 * ratio.spread())
                }
            };
            text += &format!("  {hashes_per_second:>12.1}  {cell:<14}  {tuning}\n");
        }
        text += &format!("  {of_processor:>12.1}  {:<14}  all threads of the processor\n", "");
        text += &format!("  chosen: {}: {why}\n", options[*chosen].tuning);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_for_a_device_is_left_out_but_for_the_first() {
        let sample = |option: u32| match option {
            0 => bail!(Error::OutOfMemory { bytes: 1 }),
            1 => bail!(EngineError::OutOfMemory { bytes: 1 }),
            2 => bail!(Error::Unfit { device: "a card".to_owned(), lacks: "it".to_owned() }),
            3 => bail!(Error::Lost),
            _ => Ok(1.0),
        };
        assert_eq!(possible([4, 0, 5, 1, 2, 4, 6], sample).expect("the first works"), [4, 5, 6]);
        for all in [&[0, 4][..], &[4, 3]] {
            assert!(possible(all.iter().copied(), sample).is_err(), "{all:?}");
        }
    }

    #[test]
    fn a_failure_of_files_takes_nothing_from_hashes() {
        let fails = || Some(Err::<(), _>(anyhow::Error::new(Error::Lost)));
        let (files, failure) = apart(fails(), true).expect("hashes were measured");
        assert!(files.is_none() && failure.is_some());
        assert!(apart(fails(), false).is_err(), "there is nothing to tell");
        let (files, failure) = apart(Some(Ok(())), true).expect("measured");
        assert!(files.is_some() && failure.is_none());
    }

    #[test]
    fn noise_is_judged_by_kind() {
        let lines = |hashes, files| too_noisy([("Argon2", hashes), ("files", files)]);
        let [sure, unsure] = [Some(TOO_NOISY), Some(2.0 * TOO_NOISY)];
        assert!(lines(sure, None).is_empty() && lines(None, sure).is_empty());
        assert!(lines(sure, unsure).iter().map(|line| line.starts_with("files: comparisons")).eq([true]));
        assert!(lines(unsure, sure).iter().map(|line| line.starts_with("Argon2: comparisons")).eq([true]));
        assert_eq!(lines(unsure, Some(f64::NAN)).len(), 2);
    }
}
