//! `lab soak`: one case for minutes, in windows of a second.

use super::args::{Measuring, positive};
use super::contests::alone;
use super::error::Error;
use super::measure::{Job, conclude, measure, own_program};
use super::{Console, Exit, Mount};
use crate::model::class::Sampling;
use crate::plan::{Control, Plan};
use crate::report::schema::Kind;
use crate::report::soak::{Course, Soak};
use clap::{Args, Parser};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct SoakArgs {
    /// Cases, as in `list`; one after the other.
    #[arg(required = true)]
    patterns: Vec<String>,
    /// Length of each case in seconds.
    #[arg(long, value_name = "S", default_value_t = 120.0, value_parser = positive)]
    seconds: f64,
    /// Length of a window in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 1000.0, value_parser = positive)]
    window_ms: f64,
    /// Folder for report.json, report.html and report.md [default: lab-results/<id>].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the report as JSON instead of tables.
    #[arg(long)]
    json: bool,
    /// Exit with 1 when a case was throttled.
    #[arg(long)]
    strict: bool,
    /// Seed of the inputs.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// The common options at their defaults.
#[derive(Parser)]
struct Defaults {
    #[command(flatten)]
    measuring: Measuring,
}

pub(super) fn main(mount: &Mount<'_>, args: &SoakArgs, console: &mut Console<'_>) -> Result<Exit, Error> {
    let keys = mount.registry.select(&args.patterns)?;
    if let Some(key) = keys.iter().find(|key| key.class.sampling() == Sampling::Cold) {
        return Err(Error::Usage(format!("{key} is cold: its second call is another case")));
    }
    let plan = Plan {
        solo_sessions: 1,
        // The plan refuses more windows than a report is meant to hold.
        rounds: (args.seconds * 1e3 / args.window_ms).ceil() as usize,
        warm_ups: 0,
        sample_ns: (args.window_ms * 1e6) as u64,
        seed: args.seed,
        pin: false,
        control: Control::Off,
        ..Plan::default()
    };
    let (build, program) = own_program(mount)?;
    let contests = keys.iter().map(alone).collect();
    let (builds, programs) = (vec![build], vec![program]);
    let job = Job { kind: Kind::Soak, contests, builds, programs, plan, same_code: false };
    let defaults = Defaults::parse_from([""]).measuring;
    let options = Measuring { out: args.out.clone(), json: args.json, ..defaults };
    let (report, folder) = measure(mount, &options, job)?;
    let exit = conclude(&report, &folder, &options, console)?;
    let throttled = report.rows.iter().filter_map(Soak::of).any(|soak| soak.course == Course::Throttled);
    Ok(if exit == Exit::Ok && args.strict && throttled { Exit::Failed } else { exit })
}
