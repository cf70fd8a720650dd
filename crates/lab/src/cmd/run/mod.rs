//! `lab run`: measures single cases; `--for` and `--explain` have their own files.

mod explain;
mod headline;
mod job;
mod sustained;

use super::github::{StepSummary, of_banner};
use super::measuring::{latest_run, measure};
use crate::cmd::context::error::Error;
use crate::cmd::context::exit::{Console, Exit};
use crate::cmd::context::options::{Measuring, length, positive};
use crate::cmd::context::setup::LabSetup;
use crate::cmd::measuring::outcome::{PAGE, conclude};
use crate::report::view::View;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Cases, as in `list`.
    #[arg(required = true)]
    pub(crate) patterns: Vec<String>,
    /// Also measure the limits of the machine, and show how close each row comes to them.
    #[arg(long, conflicts_with_all = ["length", "explain"])]
    pub(crate) floor: bool,
    /// For a suite with a summary, such as `headline`: measure all its cases with the usual number of sessions.
    #[arg(long, conflicts_with_all = ["length", "explain"])]
    pub(crate) full: bool,
    /// Open the page in the browser.
    #[arg(long, conflicts_with_all = ["length", "explain"])]
    pub(crate) open: bool,
    /// Run each case for this time, such as 90s or 10m, and compare its first with its last quarter. With --strict,
    /// exit with 1 if the last is slower.
    #[arg(long = "for", value_name = "LENGTH", value_parser = length, conflicts_with_all = SESSIONS)]
    pub(crate) length: Option<Duration>,
    /// Length of the windows of the run, each of which is one sample.
    #[arg(long, hide_short_help = true, value_name = "LENGTH", value_parser = length, default_value = "1s", requires = "length")]
    pub(crate) window: Duration,
    /// Show where the time goes instead of how long it is: instructions, events, functions, and their meaning.
    #[arg(long, conflicts_with = "length", conflicts_with_all = SESSIONS)]
    pub(crate) explain: bool,
    /// With --explain: compare the instructions with those in an earlier counts.json.
    #[arg(long, value_name = "FILE", requires = "explain")]
    pub(crate) against: Option<PathBuf>,
    /// Exit with 1 if instructions grew by more than this.
    #[arg(long, hide_short_help = true, value_name = "PERCENT", default_value_t = 0.2, requires = "against", value_parser = positive)]
    pub(crate) limit_pct: f64,
    #[command(flatten)]
    pub(crate) measuring: Measuring,
}

/// Session options that do not apply to a single session.
const SESSIONS: [&str; 8] =
    ["sessions", "looks", "rounds", "warm_ups", "sample_ms", "cool_down_secs", "control", "no_pin"];

pub(crate) fn main(lab: &LabSetup<'_>, args: &Run, console: &mut Console<'_>) -> Result<Exit, Error> {
    if args.explain {
        let Run { patterns, against, limit_pct, measuring, .. } = args;
        let baseline = against.as_deref().map(|path| (path, *limit_pct));
        return explain::main(lab, patterns, baseline, measuring, console);
    }
    if let Some(length) = args.length {
        return sustained::main(lab, &args.patterns, [length, args.window], &args.measuring, console);
    }
    if args.floor && !cfg!(feature = "limits") {
        return Err(Error::Usage(
            "--floor needs probes: this program was built without the feature `limits` of hashmill-lab"
                .to_owned(),
        ));
    }
    if let [pattern] = &args.patterns[..]
        && let Some(suite) = lab.registry.suites().iter().find(|suite| suite.name == *pattern)
        && let Some(summary) = &suite.summary
    {
        let show = headline::Show { full: args.full, floor: args.floor, open: args.open };
        return headline::main(lab, summary, show, &args.measuring, console);
    }
    if args.full {
        return Err(Error::Usage(
            "--full is for a single suite with a summary: `run headline --full`".to_owned(),
        ));
    }
    let step_summary = StepSummary::open(args.measuring.github)?;
    let keys = lab.registry.select(&args.patterns)?;
    let job = job::job(lab, keys, args.floor, args.measuring.plan())?;
    let (report, folder) = measure(lab, job, args.measuring.out.as_deref())?;
    let exit = conclude(&report, &folder, args.measuring.output(), console)?;
    let view = View::from_report(&report);
    step_summary.show(&view, of_banner(&view))?;
    if args.open {
        latest_run::open(&latest_run::address(&folder.join(PAGE))?);
    }
    Ok(exit)
}
