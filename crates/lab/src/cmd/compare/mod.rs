//! `lab compare`: a candidate beside a baseline, in sessions side by side. The baseline comes first, whatever is compared.
//!
//! What is set against what follows from the words: engines of this program, two of its cases, two builds, or commands
//! after `--`. Each kind has a file of its own, which makes its contests; measuring and ending are the same for all.

mod builds;
mod commands;
mod engines;
mod instructions;
mod saved;

use super::args::Measuring;
use super::error::Error;
use super::github::{Page, of_banner, of_verdicts};
use super::measure::{Beside, Job, conclude, measure_with};
use super::{Console, Exit, Mount, interrupt};
use crate::build::Bench;
use crate::commands::process::Guard;
use crate::commands::sides::{Line, Sides};
use crate::model::key::Key;
use crate::report::schema::{Report, Verdict};
use crate::report::view::View;
use crate::report::{store, text};
use builds::Building;
use clap::{Args, ValueEnum};
use commands::Commands;
pub(super) use commands::HEADING as COMMANDS;
pub(super) use instructions::count_beside;
use instructions::count_rows;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest process that is counted: Valgrind takes fifty times as long, and four of them.
const LONGEST_PROCESS_NS: f64 = 200e6;

#[derive(Debug, Args)]
pub(super) struct Compare {
    /// Two sides, baseline first and candidate after it: two cases, or two builds, each a revision, a folder (`.` is the work tree) or a program. With
    /// --engines any number of cases. Or two saved reports of one machine, in any order.
    #[arg(required_unless_present = "commands", value_name = "WHAT")]
    what: Vec<String>,
    /// Two engines of this program, baseline first, which meet in one process per session.
    #[arg(long, value_name = "BASELINE,CANDIDATE", value_delimiter = ',', conflicts_with = "cases")]
    engines: Vec<String>,
    /// Another build of this program, as gates name them, in whose sessions the engines meet.
    #[arg(long, hide_short_help = true, value_name = "NAME", requires = "engines", conflicts_with = "from")]
    build: Option<String>,
    /// Cases of two builds, as in `list`; the candidate is asked which there are [default: all, if they are few].
    #[arg(long, value_name = "CASE", num_args = 1..)]
    cases: Vec<String>,
    #[command(flatten)]
    building: Building,
    /// Exit with 1 when a candidate is proven to be slower than the baseline, or to have changed at all [default: exit with 0].
    #[arg(long, value_name = "VERDICT", value_enum)]
    fail_on: Option<FailOn>,
    /// Count no instructions. Without it they are counted under Valgrind, where it is there, in rows that are not the same.
    #[arg(long, hide_short_help = true)]
    no_count: bool,
    #[command(flatten)]
    measuring: Measuring,
    #[command(flatten)]
    commands: Commands,
}

/// What needs no case at all.
pub(super) const EXAMPLE: &str = "compare -- 'gzip -k -f -1 a.iso' 'gzip -k -f -9 a.iso'";

/// The forms of the command, where `name` is what is typed before it.
pub(super) fn usage(name: &str) -> String {
    format!(
        "{name} compare --engines BASELINE,CANDIDATE CASE...\n       {name} compare BASELINE CANDIDATE [--cases CASE...]\n       {name} compare BASELINE-CASE CANDIDATE-CASE\n       {name} compare REPORT REPORT\n       {name} compare -- BASELINE-COMMAND COMMAND..."
    )
}

/// What of a verdict is a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOn {
    Slower,
    Changed,
}

/// What is set against what.
enum Meeting {
    /// Cases of this program: baseline and candidate.
    Cases(Vec<(Key, Key)>),
    /// Cases of two builds: baseline and candidate.
    Builds([String; 2]),
}

pub(super) fn main(mount: &Mount<'_>, args: &Compare, console: &mut Console<'_>) -> Result<Exit, Error> {
    if args.commands.is_asked() {
        return by_commands(mount, args, console);
    }
    if let [one, other] = &args.what[..]
        && saved::is_report(one)
        && saved::is_report(other)
    {
        return reports(args, one, other, console);
    }
    let page = Page::open(args.measuring.github)?;
    let plan = args.measuring.plan();
    plan.validate()?;
    let (job, bench, lines) = match meeting(mount, args)? {
        Meeting::Cases(pairs) => {
            let (job, bench) = engines::job(mount, &pairs, args.build.as_deref(), &args.building, plan)?;
            (job, bench, None)
        }
        Meeting::Builds(sides) => {
            let builds::Meeting { job, bench, lines } =
                builds::job(mount, &sides, &args.cases, &args.building, plan)?;
            (job, bench, lines)
        }
    };
    let (report, folder) = match lines {
        Some(lines) => by_lines(mount, args, job, bench, lines)?,
        None => {
            let beside = Beside { bench, count: !args.no_count, ..Beside::default() };
            measure_with(mount, &args.measuring, job, beside)?
        }
    };
    let exit = conclude(&report, &folder, &args.measuring, console)?;
    finish(args, &report, page, exit)
}

/// What a workflow is shown, and the exit code that was asked for.
fn finish(args: &Compare, report: &Report, page: Page, exit: Exit) -> Result<Exit, Error> {
    let view = View::of(report);
    page.show(&view, [of_banner(&view), of_verdicts(report, args.fail_on, args.measuring.strict)].concat())?;
    let fails = args.fail_on.is_some_and(|wish| wish.is_met(report));
    Ok(if exit == Exit::Ok && fails { Exit::Failed } else { exit })
}

/// Builds that know nothing of the lab: whole processes, and counts of them.
fn by_lines(
    mount: &Mount<'_>,
    args: &Compare,
    job: Job,
    bench: Option<Bench>,
    (lines, folder): (Vec<Line>, PathBuf),
) -> Result<(Report, PathBuf), Error> {
    let limit = Duration::from_secs(job.plan.timeout_s);
    let linked = bench.map(|b| b.launcher(job.programs.clone(), job.plan.seed, job.same_code, limit));
    let programs = job.programs.iter().map(|program| program.path.clone()).collect();
    let guard = Guard { limit, flag: "--timeout-secs", stop: &interrupt::came };
    let here = std::env::current_dir().map_err(Error::Program)?;
    let sides = Sides { programs, linked, lines, folder, places: commands::places(&here), guard };
    let count = |report: &mut Report| {
        if !args.no_count {
            count_rows(report, LONGEST_PROCESS_NS, &|key, build, scratch| sides.count(key, build, scratch));
        }
    };
    let beside = Beside { commands: Some((&sides, Box::new(count))), ..Beside::default() };
    measure_with(mount, &args.measuring, job, beside)
}

fn by_commands(mount: &Mount<'_>, args: &Compare, console: &mut Console<'_>) -> Result<Exit, Error> {
    let Compare { what, engines, cases, .. } = args;
    if !(what.is_empty() && engines.is_empty() && cases.is_empty()) {
        return Err(Error::Usage(
            "commands after `--` are compared with each other, and with nothing else".to_owned(),
        ));
    }
    let page = Page::open(args.measuring.github)?;
    let (report, exit) = args.commands.main(mount, &args.measuring, console)?;
    finish(args, &report, page, exit)
}

fn reports(args: &Compare, one: &str, other: &str, console: &mut Console<'_>) -> Result<Exit, Error> {
    let page = Page::open(args.measuring.github)?;
    let between = saved::between(one, other)?;
    let view = between.view();
    let text = match args.measuring.json {
        true => store::pretty(&between),
        false => text::lay_out_view(&view, console.colour),
    };
    console.out.write_all(text.as_bytes())?;
    page.show(&view, saved::annotations(&between, args.fail_on))?;
    let fails = args.fail_on.is_some_and(|wish| wish.is_met_between(&between));
    Ok(match () {
        // As for a measurement: a wrong result has no speed, and its case may be the one that was asked about.
        () if between.is_fatal() => Exit::Invalid,
        () if fails => Exit::Failed,
        () if args.measuring.strict && between.is_inconclusive() => Exit::Inconclusive,
        () => Exit::Ok,
    })
}

impl FailOn {
    pub(super) fn is_met(self, report: &Report) -> bool {
        report.candidates().any(|(_, comparison)| self.names(comparison.verdict))
    }

    pub(super) fn names(self, verdict: Verdict) -> bool {
        match self {
            FailOn::Slower => verdict == Verdict::Slower,
            FailOn::Changed => verdict.is_claim(),
        }
    }
}

/// What the words mean. A word that names a case is one, unless a file or a folder is called so.
fn meeting(mount: &Mount<'_>, args: &Compare) -> Result<Meeting, Error> {
    if !args.engines.is_empty() {
        return Ok(Meeting::Cases(engines::pairs(mount.registry, &args.what, &args.engines)?));
    }
    let [baseline, candidate] = &args.what[..] else {
        return Err(Error::Usage(
            "a comparison has two sides, baseline first: two cases, or two builds; with --engines BASELINE,CANDIDATE any \
             number of cases"
                .to_owned(),
        ));
    };
    // A line with blanks that is no path: somebody who knows hyperfine.
    if let Some(line) =
        [baseline, candidate].into_iter().find(|word| word.trim().contains(' ') && !Path::new(word).exists())
    {
        return Err(Error::Usage(format!(
            "`{line}` looks like a command; commands come after `--`: compare -- 'A' 'B'"
        )));
    }
    let is_case = |word: &String| {
        let workload = word.split('/').next().unwrap_or_default();
        !Path::new(word).exists() && mount.registry.select(&[workload]).is_ok()
    };
    if args.cases.is_empty() && (is_case(baseline) || is_case(candidate)) {
        return Ok(Meeting::Cases(vec![engines::two(mount.registry, baseline, candidate)?]));
    }
    Ok(Meeting::Builds([baseline.clone(), candidate.clone()]))
}
