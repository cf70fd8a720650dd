//! `lab profile`: events per call, functions, and a reading of them.

use super::args::positive;
use super::error::Error;
use super::measure::own_program;
use super::{Console, Exit, Mount};
use crate::model::key::Key;
use crate::model::units::duration;
use crate::profile::reading::readings;
use crate::profile::{Profile, per_call, perf, plain, work};
use crate::session::process::{Processes, Program};
use clap::Args;
use hashmill_machine::Machine;
use std::path::Path;
use std::time::Duration;

#[derive(Debug, Args)]
pub(super) struct ProfileArgs {
    /// Cases, as in `list`.
    #[arg(required = true)]
    patterns: Vec<String>,
    /// Time of the calls that are looked at, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 300.0, value_parser = positive)]
    sample_ms: f64,
    /// Longest wait for one answer in seconds.
    #[arg(long, value_name = "S", default_value_t = 120)]
    timeout_secs: u64,
}

pub(super) fn main(mount: &Mount<'_>, args: &ProfileArgs, console: &mut Console<'_>) -> Result<Exit, Error> {
    if !(1e-3..=6e5).contains(&args.sample_ms) {
        return Err(Error::Usage(format!(
            "--sample-ms is {}, but must lie between 0.001 and 600000",
            args.sample_ms
        )));
    }
    let keys = mount.registry.select(&args.patterns)?;
    let (_, program) = own_program(mount)?;
    let folder = std::env::temp_dir().join(format!("lab-profile-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|source| Error::Write { path: folder.clone(), source })?;
    let mut exit = Exit::Ok;
    for key in &keys {
        writeln!(console.out, "{key}")?;
        match look(key, &program, args, &folder) {
            Ok(profile) => show(&profile, console)?,
            Err(reason) => {
                writeln!(console.out, "  {reason}")?;
                exit = Exit::Invalid;
            }
        }
    }
    std::fs::remove_dir_all(&folder).ok();
    Ok(exit)
}

fn look(key: &Key, program: &Program, args: &ProfileArgs, folder: &Path) -> Result<Profile, String> {
    let timeout = Duration::from_secs(args.timeout_secs);
    let launcher = |program: Program| Processes { programs: vec![program], timeout };
    let (mut profile, calls) = plain(key, &launcher(program.clone()), (args.sample_ms * 1e6) as u64)?;
    if !perf::answers() {
        return Ok(profile);
    }
    let count = |calls: u64| {
        let file = folder.join("counts");
        work(key, &launcher(perf::counting(program, &file)), calls)?;
        let text = std::fs::read_to_string(&file).map_err(|error| format!("perf left no counts: {error}"))?;
        Ok::<_, String>(perf::parse_counts(&text))
    };
    // What perf may not do here is no reason to keep the rest to ourselves.
    if let Ok(counted) = count(calls).and_then(|once| Ok(per_call(&once, &count(2 * calls)?, calls))) {
        let hardware = counted.contains_key("cycles");
        profile.events.extend(counted);
        profile.source = if hardware {
            "perf stat".to_owned()
        } else {
            format!("perf stat, without hardware counters ({})", Machine::read().counters)
        };
    }
    let samples = folder.join("samples");
    if work(key, &launcher(perf::sampling(program, &samples)), calls).is_ok() {
        profile.functions = perf::functions(&samples).unwrap_or_default();
    }
    Ok(profile)
}

fn show(profile: &Profile, console: &mut Console<'_>) -> Result<(), Error> {
    let out = &mut console.out;
    writeln!(out, "  kernel {}, {} per call", profile.kernel, duration(profile.ns_per_call))?;
    writeln!(out, "  events per call ({})", profile.source)?;
    for (name, count) in &profile.events {
        writeln!(out, "    {name:<24}{count:>16.3}")?;
    }
    if let Some(bytes) = profile.huge_bytes {
        writeln!(out, "    {:<24}{:>12} MiB", "in huge pages", bytes >> 20)?;
    }
    if !profile.functions.is_empty() {
        writeln!(out, "  share of the time, by function")?;
    }
    for (share, name) in &profile.functions {
        writeln!(out, "    {share:>6.2} %  {name}")?;
    }
    let readings = readings(profile);
    if !readings.is_empty() {
        writeln!(out, "  reading")?;
    }
    for reading in readings {
        writeln!(out, "    {reading}")?;
    }
    Ok(())
}
