//! `hashmill tune`: measures the kernels on this CPU, or the options of a device, and saves the fastest.
//!
//! `measurements` lists what is measured, `measure` has the clock, `decide` the rules, `kernel_choices` the result, `tables` the
//! output; [`tune_file`] is the file.

mod decide;
#[cfg(feature = "gpu")]
mod device;
mod kernel_choices;
mod measure;
mod measurements;
mod tables;
mod text;

use crate::exit_code::{FAILED, OK};
use crate::flags::{TuneArgs, UsageError};
use crate::output::progress::Bar;
use crate::output::{self, display_path, print};
use crate::resources::load;
use crate::tune_file::{self, TuneFileTarget};
use anyhow::{Result, bail};
use decide::{TOO_NOISY, Timing};
use hashmill_hash::isa::Cpu;
use hashmill_machine as machine;
use hashmill_machine::Load;
use hashmill_machine::clock::{Clock, Monotonic};
use kernel_choices::{ChoiceLine, KernelChoices};
use measurements::Group;
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The result. The field names are those of the JSON.
#[derive(Serialize)]
struct Report<'a> {
    processor: &'a str,
    date: &'a str,
    /// Median uncertainty of the comparisons, as a fraction.
    noise: f64,
    /// Why the machine was not idle.
    busy: Option<&'a str>,
    measured: Vec<Measured<'a>>,
    choices: &'a [ChoiceLine],
    /// The tune file, if the choice was saved.
    kept: Option<String>,
}

#[derive(Serialize)]
struct Measured<'a> {
    what: &'static str,
    options: &'a [String],
    sizes: Vec<Size<'a>>,
}

#[derive(Serialize)]
struct Size<'a> {
    bytes: u64,
    built_in: &'a str,
    nanoseconds: &'a [f64],
    /// Speed relative to the built-in option: the median and its interval.
    faster: Vec<[f64; 3]>,
}

/// Measures, prints and saves; or removes the tune file.
pub(crate) fn run(flags: &TuneArgs) -> Result<u8> {
    if flags.forget {
        return remove_tune_file();
    }
    flags.engine.check()?;
    if flags.engine.is_device() {
        #[cfg(feature = "gpu")]
        return device::run(flags);
        #[cfg(not(feature = "gpu"))]
        return Err(crate::flags::missing_feature("gpu"));
    }
    if flags.memory.is_some() || flags.hashes.is_some() || flags.files {
        bail!(UsageError("costs, --hashes and --files need --engine cuda or --engine wgpu".to_owned()));
    }
    let target = if flags.dry_run { None } else { Some(TuneFileTarget::prepare()?) };
    let done = Arc::new(AtomicU64::new(0));
    let bar = Bar::counting("measuring", &done, Some(measurements::SIZE_COUNT as u64), "sizes");
    let (clock, before) = (Monotonic::new(), Load::read());
    let measurements = measurements::measure_all(flags.time, machine::free_kib(), &|| {
        done.fetch_add(1, Ordering::Relaxed);
    });
    let (after, elapsed_ms) = (Load::read(), clock.now_ns() / 1_000_000);
    if let Some(bar) = bar {
        bar.finish();
    }
    let measurements = measurements?;
    let choices = KernelChoices::from_measurements(&measurements);
    let busy = load::busy_message(&before, &after, elapsed_ms, machine::threads(), 0.0);
    let date = machine::date::now_utc();

    let cpu = Cpu::detect();
    let (is_conclusive, choice) = (choices.noise <= TOO_NOISY, choices.choice(&date));
    // The measurements are printed even if they cannot be saved.
    let saved = target
        .filter(|_| is_conclusive)
        .map(|target| target.save(|choices| choices.choice = Some(choice.clone())))
        .transpose();
    let path = saved.as_ref().ok().and_then(|path| path.as_ref()).map(|path| display_path(path).into_owned());
    if flags.json {
        let report = Report {
            processor: cpu.brand(),
            date: &date,
            noise: choices.noise,
            busy: busy.as_deref(),
            measured: measurements.groups().map(Measured::from_group).collect(),
            choices: &choices.lines,
            kept: path,
        };
        print(&(serde_json::to_string(&report)? + "\n"))?;
    } else {
        let source = match flags.source {
            true => {
                let inversions: String = measurements.blake3.iter().map(tables::inversions).collect();
                inversions + &tables::source_rows(&choices, &cpu, choice.date())
            }
            false => String::new(),
        };
        let saved = path.map(|path| format!("Saved, used from now on: {path}\n")).unwrap_or_default();
        print(&format!(
            "{}{}{source}{saved}",
            tables::tables(&measurements),
            tables::choices(&choices.lines)
        ))?;
    }
    if let Some(busy) = busy {
        output::print_note(&format!("WARNING: {busy}"));
    }
    saved?;
    if !is_conclusive {
        output::print_error(&text::too_noisy(choices.noise));
        return Ok(FAILED);
    }
    Ok(OK)
}

fn remove_tune_file() -> Result<u8> {
    print(&match tune_file::remove()? {
        Some(path) => {
            format!("The built-in choices are used from now on: {} was removed\n", display_path(&path))
        }
        None => "Nothing was saved: the built-in choices are used\n".to_owned(),
    })?;
    Ok(OK)
}

impl Measured<'_> {
    fn from_group(group: &Group) -> Measured<'_> {
        let size = |row| Size::from_row(row, &group.options);
        Measured { what: group.what, options: &group.options, sizes: group.rows.iter().map(size).collect() }
    }
}

impl<'a> Size<'a> {
    fn from_row(row: &'a Timing, options: &'a [String]) -> Size<'a> {
        let faster = row.ratios.iter().map(|ratio| [ratio.middle, ratio.low, ratio.high]).collect();
        Size { bytes: row.size, built_in: &options[row.in_use], nanoseconds: &row.times, faster }
    }
}
