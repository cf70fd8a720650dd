//! `lab run --for`: one case for minutes, in windows of a second.

use super::args::Run;
use super::contests::alone;
use super::error::Error;
use super::github::{Page, of_banner};
use super::measure::{Job, conclude, measure, own_program};
use super::{Console, Exit, Mount};
use crate::model::class::Sampling;
use crate::plan::{Control, Plan};
use crate::report::schema::Kind;
use crate::report::soak::{Course, Soak};
use crate::report::view::View;
use std::time::Duration;

pub(super) fn main(
    mount: &Mount<'_>,
    args: &Run,
    length: Duration,
    console: &mut Console<'_>,
) -> Result<Exit, Error> {
    let page = Page::open(args.measuring.github)?;
    let keys = mount.registry.select(&args.patterns)?;
    if let Some(key) = keys.iter().find(|key| key.class.sampling() == Sampling::Cold) {
        return Err(Error::Usage(format!("{key} is cold: its second call is another case")));
    }
    let plan = Plan {
        solo_sessions: 1,
        // The plan refuses more windows than a report is meant to hold.
        rounds: (length.as_secs_f64() / args.window.as_secs_f64()).ceil() as usize,
        warm_ups: 0,
        sample_ns: u64::try_from(args.window.as_nanos()).unwrap_or(u64::MAX),
        pin: false,
        control: Control::Off,
        ..args.measuring.plan()
    };
    let contests = keys.iter().map(alone).collect();
    let job = Job::of(Kind::Soak, own_program(mount)?, contests, plan);
    let (report, folder) = measure(mount, &args.measuring, job)?;
    let exit = conclude(&report, &folder, &args.measuring, console)?;
    let view = View::of(&report);
    page.show(&view, of_banner(&view))?;
    let throttled = report.rows.iter().filter_map(Soak::of).any(|soak| soak.course == Course::Throttled);
    Ok(if exit == Exit::Ok && args.measuring.strict && throttled { Exit::Failed } else { exit })
}
