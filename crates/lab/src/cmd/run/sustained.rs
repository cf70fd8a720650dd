//! `lab run --for`: one case for minutes, in windows of a second.

use crate::cmd::context::error::Error;
use crate::cmd::context::exit::{Console, Exit};
use crate::cmd::context::options::Measuring;
use crate::cmd::context::setup::LabSetup;
use crate::cmd::github::{StepSummary, of_banner};
use crate::cmd::measuring::outcome::conclude;
use crate::cmd::measuring::pairings::alone;
use crate::cmd::measuring::programs::own_program;
use crate::cmd::measuring::{Job, measure};
use crate::measure::plan::{Control, Plan};
use crate::model::class::Sampling;
use crate::report::analysis::sustained::{Steadiness, SustainedRun};
use crate::report::schema::Kind;
use crate::report::view::View;
use std::time::Duration;

pub(crate) fn main(
    lab: &LabSetup<'_>,
    patterns: &[String],
    [length, window]: [Duration; 2],
    options: &Measuring,
    console: &mut Console<'_>,
) -> Result<Exit, Error> {
    let step_summary = StepSummary::open(options.github)?;
    let keys = lab.registry.select(patterns)?;
    if let Some(key) = keys.iter().find(|key| key.class.sampling() == Sampling::Cold) {
        return Err(Error::Usage(format!("{key} is cold: only its first call counts")));
    }
    let plan = Plan {
        solo_sessions: 1,
        // The plan refuses more windows than a report can hold.
        rounds: (length.as_secs_f64() / window.as_secs_f64()).ceil() as usize,
        warm_ups: 0,
        sample_ns: u64::try_from(window.as_nanos()).unwrap_or(u64::MAX),
        pin: false,
        control: Control::Off,
        ..options.plan()
    };
    let groups = keys.iter().map(alone).collect();
    let job = Job::new(Kind::Sustained, own_program(lab)?, groups, plan);
    let (report, folder) = measure(lab, job, options.out.as_deref())?;
    let exit = conclude(&report, &folder, options.output(), console)?;
    let view = View::from_report(&report);
    step_summary.show(&view, of_banner(&view))?;
    let throttled = report
        .rows
        .iter()
        .filter_map(SustainedRun::from_row)
        .any(|sustained_run| sustained_run.steadiness == Steadiness::Throttled);
    Ok(if exit == Exit::Ok && options.strict && throttled { Exit::Failed } else { exit })
}
