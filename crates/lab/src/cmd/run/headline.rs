//! `lab run SUITE` of a suite with a summary, such as `headline`.

use super::job;
use crate::cmd::context::error::Error;
use crate::cmd::context::exit::{Console, Exit};
use crate::cmd::context::options::Measuring;
use crate::cmd::context::setup::LabSetup;
use crate::cmd::github::{StepSummary, of_banner};
use crate::cmd::measuring::outcome::{PAGE, conclude_as};
use crate::cmd::measuring::{Extras, latest_run, measure_with};
use crate::measure::plan::Plan;
use crate::model::key::Key;
use crate::model::summary::Summary;
use crate::report::headline::{Headline, html, named, text};
use crate::report::schema::Report;
use crate::report::view::View;

/// Sessions of a row in a summary, and maximum rounds per session: there is no decision, and the table should be
/// ready within half a minute.
const SESSIONS: usize = 4;
const ROUNDS: usize = 3;

/// Width of a terminal that does not report it.
const WIDTH: usize = 80;

/// What to show besides the products.
#[derive(Clone, Copy)]
pub(crate) struct Show {
    /// All cases, with the usual number of sessions.
    pub(crate) full: bool,
    /// Distances to lower bounds.
    pub(crate) floor: bool,
    /// The page, in a browser.
    pub(crate) open: bool,
}

pub(crate) fn main(
    lab: &LabSetup<'_>,
    summary: &Summary,
    show: Show,
    options: &Measuring,
    console: &mut Console<'_>,
) -> Result<Exit, Error> {
    let step_summary = StepSummary::open(options.github)?;
    let cases = if show.full { summary.cases() } else { summary.product_cases() };
    let keys: Vec<Key> = cases.into_iter().map(|named| named.key).collect();
    let patterns: Vec<String> = keys.iter().map(ToString::to_string).collect();
    lab.registry.select(&patterns)?;
    let mut plan = options.plan();
    if options.sessions.is_none() && !show.full {
        plan = Plan { solo_sessions: SESSIONS, rounds: plan.rounds.min(ROUNDS), ..plan };
    }
    let render = |report: &Report| html::render(report, summary, &Headline::from_report(report, summary));
    let extras = Extras { page: Some(&render), ..Extras::default() };
    let job = job::job(lab, keys, show.floor, plan)?;
    let (report, folder) = measure_with(lab, job, options.out.as_deref(), extras)?;
    let headline = Headline::from_report(&report, summary);
    let file = match &options.out {
        Some(_) => folder.join(PAGE),
        None => latest_run::find(&folder).unwrap_or(folder).join(PAGE),
    };
    let address = latest_run::address(&file)?;
    let mut text = text::render(&headline, width(), console.colour);
    text += &format!("page: {address}\n");
    text += more(show);
    let exit = conclude_as(&text, &report, options.output(), console)?;
    let view = View::from_report(&named(&report, summary));
    step_summary.show(&view, of_banner(&view))?;
    if show.open {
        latest_run::open(&address);
    }
    Ok(exit)
}

/// Hint at further options.
fn more(show: Show) -> &'static str {
    match (show.full, show.floor) {
        (false, false) => "more: --full (all cases, 99 % intervals), --floor (the hardware's limit)\n",
        (false, true) => "more: --full (all cases, 99 % intervals)\n",
        (true, false) => "more: --floor (the hardware's limit)\n",
        (true, true) => "",
    }
}

/// Width of the terminal, or that of the environment.
fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|width| *width > 0);
    of_terminal().or(columns).unwrap_or(WIDTH)
}

#[cfg(feature = "terminal")]
fn of_terminal() -> Option<usize> {
    terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0))
}

#[cfg(not(feature = "terminal"))]
fn of_terminal() -> Option<usize> {
    None
}
