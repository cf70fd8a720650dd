//! `hashmill tune --engine cuda|wgpu`: the fastest Argon2 layout and file tiles of a device, compared with the CPU.

mod argon2;
mod sampling;
mod tiles;

use super::decide::{self, TOO_NOISY};
use super::text;
use crate::engines;
use crate::exit_code::{FAILED, OK};
use crate::flags::{TuneArgs, UsageError};
use crate::output::progress::Bar;
use crate::output::{self, display_path, print};
use crate::resources::load;
use crate::tune_file::TuneFileTarget;
use anyhow::{Context as _, Result, bail};
use argon2::MeasuredLayouts;
use hashmill_engines::TunedChoices;
use hashmill_machine::clock::{Clock, Monotonic};
use hashmill_machine::{self as machine, Load};
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tiles::MeasuredTiles;

/// The result. The field names are those of the JSON.
#[derive(Serialize)]
struct Report<'a> {
    engine: &'static str,
    device: &'a str,
    date: &'a str,
    /// Median uncertainty of the comparisons of hashes, as a fraction.
    #[serde(skip_serializing_if = "Option::is_none")]
    noise: Option<f64>,
    busy: Option<&'a str>,
    measured: &'a [MeasuredLayouts],
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<&'a MeasuredTiles>,
    /// The tune file, if the choice was saved.
    kept: Option<String>,
}

/// Measures, prints and saves.
pub(super) fn run(flags: &TuneArgs) -> Result<u8> {
    if flags.source {
        bail!(UsageError("--source is for the CPU".to_owned()));
    }
    // With explicit costs only those are measured, without --files.
    let (all, files) =
        if flags.files { (Vec::new(), true) } else { (argon2::costs(flags)?, flags.memory.is_none()) };
    let device = engines::open_device(&flags.engine)?;
    let target = if flags.dry_run { None } else { Some(TuneFileTarget::prepare()?) };
    let done = Arc::new(AtomicU64::new(0));
    let bar = Bar::counting("measuring", &done, None, "batches");
    let (clock, before) = (Monotonic::new(), Load::read());
    let budget = flags.time / (all.len() + usize::from(files)) as u32;
    let tick = || {
        done.fetch_add(1, Ordering::Relaxed);
    };
    let max_hashes = flags.hashes.unwrap_or(argon2::DEFAULT_MAX_HASHES) as usize;
    let measured: Result<Vec<MeasuredLayouts>> = all
        .into_iter()
        .map(|params| {
            argon2::measure(&device, (params, max_hashes.min(device.max_hashes(params))), budget, &tick)
        })
        .collect();
    let files = files.then(|| tiles::measure(&device, budget, &tick));
    let (after, elapsed_ms) = (Load::read(), clock.now_ns() / 1_000_000);
    if let Some(bar) = bar {
        bar.finish();
    }
    let measured = measured.with_context(|| flags.engine.to_string())?;
    let (files, failure) =
        split_failure(files, !measured.is_empty()).with_context(|| flags.engine.to_string())?;
    let timings = measured.iter().map(|measured| &measured.timing);
    let noise = (!measured.is_empty()).then(|| decide::noise(timings));
    let noises = [("Argon2", noise), ("files", files.as_ref().map(|files| files.noise))];
    let [saves_hashes, saves_files] = noises.map(|(_, noise)| noise.is_some_and(is_conclusive));
    let busy = load::busy_message(&before, &after, elapsed_ms, machine::threads(), 0.0);
    let (date, model, kind) = (machine::date::now_utc(), device.info().model(), device.info().kind.name());
    let change = |choices: &mut TunedChoices| {
        for measured in measured.iter().filter(|_| saves_hashes) {
            choices.insert_argon2(measured.tuned(&date, device.engine(), (&model, kind)));
        }
        if let Some(files) = files.as_ref().filter(|_| saves_files) {
            choices.insert_tiles(files.tuned(&date, device.engine(), &model));
        }
    };
    let saved = target.filter(|_| saves_hashes || saves_files).map(|target| target.save(change)).transpose();
    let path = saved.as_ref().ok().and_then(|path| path.as_ref()).map(|path| display_path(path).into_owned());
    if flags.json {
        let (engine, busy, measured) = (device.engine(), busy.as_deref(), &measured[..]);
        let (device, date, files) = (&*model, &*date, files.as_ref());
        let report = Report { engine, device, date, noise, busy, measured, files, kept: path };
        print(&(serde_json::to_string(&report)? + "\n"))?;
    } else {
        let tables =
            measured.iter().map(MeasuredLayouts::table).chain(files.iter().map(MeasuredTiles::table));
        let tables: String = tables.collect();
        let saved = path.map(|path| format!("Saved, used from now on: {path}\n")).unwrap_or_default();
        print(&format!("{model}\n{tables}{saved}"))?;
    }
    if let Some(busy) = busy {
        output::print_note(&format!("WARNING: {busy}"));
    }
    saved?;
    let noisy = noise_messages(noises);
    noisy.iter().for_each(|line| output::print_error(line));
    match failure {
        Some(error) => Err(error.context(flags.engine.to_string())),
        None if noisy.is_empty() => Ok(OK),
        None => Ok(FAILED),
    }
}

/// Separates the failure of the file measurement: if Argon2 was measured (`has_more`), it is reported after those results.
fn split_failure<T>(files: Option<Result<T>>, has_more: bool) -> Result<(Option<T>, Option<anyhow::Error>)> {
    match files.transpose() {
        Ok(files) => Ok((files, None)),
        Err(error) if has_more => Ok((None, Some(error))),
        Err(error) => Err(error),
    }
}

/// Whether the comparisons are precise enough.
fn is_conclusive(noise: f64) -> bool {
    noise <= TOO_NOISY
}

/// A message for each kind of measurement that is too noisy to be saved. The kinds are independent.
fn noise_messages(noises: [(&str, Option<f64>); 2]) -> Vec<String> {
    let noises = noises.into_iter().filter_map(|(what, noise)| Some((what, noise?)));
    let noisy = noises.filter(|(_, noise)| !is_conclusive(*noise));
    noisy.map(|(what, noise)| format!("{what}: {}", text::too_noisy(noise))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_gpu::Error;

    #[test]
    fn failed_file_measurement_keeps_argon2_results() {
        let fails = || Some(Err::<(), _>(anyhow::Error::new(Error::Lost)));
        let (files, failure) = split_failure(fails(), true).expect("hashes were measured");
        assert!(files.is_none() && failure.is_some());
        assert!(split_failure(fails(), false).is_err(), "nothing was measured");
        let (files, failure) = split_failure(Some(Ok(())), true).expect("measured");
        assert!(files.is_some() && failure.is_none());
    }

    #[test]
    fn judges_noise_by_kind() {
        let lines = |hashes, files| noise_messages([("Argon2", hashes), ("files", files)]);
        let [sure, unsure] = [Some(TOO_NOISY), Some(2.0 * TOO_NOISY)];
        assert!(lines(sure, None).is_empty() && lines(None, sure).is_empty());
        assert!(lines(sure, unsure).iter().map(|line| line.starts_with("files: comparisons")).eq([true]));
        assert!(lines(unsure, sure).iter().map(|line| line.starts_with("Argon2: comparisons")).eq([true]));
        assert_eq!(lines(unsure, Some(f64::NAN)).len(), 2);
    }
}
