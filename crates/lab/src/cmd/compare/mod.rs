//! `lab compare`: compares a candidate with a baseline in interleaved sessions. The baseline always comes first.
//!
//! The arguments decide what is compared: engines of this program, two of its cases, two builds, or commands after
//! `--`. Each kind has its own file, which creates the groups; measurement and output are shared.

mod builds;
mod cases;
mod command_flags;
mod commands;
mod reports;

use super::context::interrupt;
use super::github::{StepSummary, of_banner, of_verdicts};
use super::measuring::{Extras, Job, measure_with};
use crate::builds::RelinkInputs;
use crate::cmd::context::error::Error;
use crate::cmd::context::exit::{Console, Exit};
use crate::cmd::context::options::{FailOn, Measuring};
use crate::cmd::context::setup::LabSetup;
use crate::cmd::measuring::instruction_counts::count_rows;
use crate::cmd::measuring::outcome::conclude;
use crate::command_bench::build_runner::{BuildRunner, NamedCommand};
use crate::command_bench::process::RunLimits;
use crate::model::key::Key;
use crate::report::render::text;
use crate::report::schema::Report;
use crate::report::store;
use crate::report::view::View;
use builds::Building;
use clap::Args;
use command_flags::Commands;
pub(crate) use command_flags::HEADING as COMMANDS;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maximum time of a counted process: Valgrind is fifty times slower, and runs four of them.
const LONGEST_PROCESS_NS: f64 = 200e6;

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// Two sides, baseline first: two cases, or two builds, each a revision, a folder (`.` is the work tree) or a
    /// program. With --engines any number of cases. Or two saved reports of one machine, in any order.
    #[arg(required_unless_present = "commands", value_name = "WHAT")]
    what: Vec<String>,
    /// Two engines of this program, baseline first, in one process per session.
    #[arg(long, value_name = "BASELINE,CANDIDATE", value_delimiter = ',', conflicts_with = "cases")]
    engines: Vec<String>,
    /// Another build of this program, as named in gates, that runs the sessions of the engines.
    #[arg(long, hide_short_help = true, value_name = "NAME", requires = "engines", conflicts_with = "from")]
    build: Option<String>,
    /// Cases of two builds, as in `list`; the candidate's list applies [default: all, if they are few].
    #[arg(long, value_name = "CASE", num_args = 1..)]
    cases: Vec<String>,
    #[command(flatten)]
    building: Building,
    /// Exit with 1 if a candidate is proven to be slower than the baseline, or to have changed at all [default: exit
    /// with 0].
    #[arg(long, value_name = "VERDICT", value_enum)]
    fail_on: Option<FailOn>,
    /// Do not count instructions. By default they are counted with Valgrind, if installed, in rows that are not
    /// equal.
    #[arg(long, hide_short_help = true)]
    no_count: bool,
    #[command(flatten)]
    measuring: Measuring,
    #[command(flatten)]
    commands: Commands,
}

/// Example without cases.
pub(crate) const EXAMPLE: &str = "compare -- 'gzip -k -f -1 a.iso' 'gzip -k -f -9 a.iso'";

/// Usage of the command; `name` is what is typed before it.
pub(crate) fn usage(name: &str) -> String {
    format!(
        "{name} compare --engines BASELINE,CANDIDATE CASE...\n       {name} compare BASELINE CANDIDATE [--cases CASE...]\n       {name} compare BASELINE-CASE CANDIDATE-CASE\n       {name} compare REPORT REPORT\n       {name} compare -- BASELINE-COMMAND COMMAND..."
    )
}

/// What is compared.
enum Meeting {
    /// Cases of this program: baseline and candidate.
    Cases(Vec<(Key, Key)>),
    /// Cases of two builds: baseline and candidate.
    Builds([String; 2]),
}

pub(crate) fn main(lab: &LabSetup<'_>, args: &Compare, console: &mut Console<'_>) -> Result<Exit, Error> {
    if args.commands.is_requested() {
        return by_commands(lab, args, console);
    }
    if let [one, other] = &args.what[..]
        && reports::is_report(one)
        && reports::is_report(other)
    {
        return reports(args, one, other, console);
    }
    let step_summary = StepSummary::open(args.measuring.github)?;
    let plan = args.measuring.plan();
    plan.validate()?;
    let (job, bench, lines) = match meeting(lab, args)? {
        Meeting::Cases(pairs) => {
            let (build, program, bench) = match &args.building.from {
                Some(source) => builds::own(lab, source, &args.building)?,
                None => {
                    let (build, program) = cases::existing_program(lab, args.build.as_deref())?;
                    (build, program, None)
                }
            };
            (cases::job(&pairs, (build, program), bench.is_some(), plan)?, bench, None)
        }
        Meeting::Builds(sides) => {
            let builds::Meeting { job, bench, lines } =
                builds::job(lab, &sides, &args.cases, &args.building, plan)?;
            (job, bench, lines)
        }
    };
    let (out, count) = (args.measuring.out.as_deref(), !args.no_count);
    let (report, folder) = match lines {
        Some(lines) => by_lines(lab, job, out, bench, lines, count)?,
        None => measure_with(lab, job, out, Extras { bench, count, ..Extras::default() })?,
    };
    let exit = conclude(&report, &folder, args.measuring.output(), console)?;
    finish(&report, step_summary, args.fail_on, args.measuring.strict, exit)
}

/// Output for GitHub workflows, and the requested exit code.
fn finish(
    report: &Report,
    step_summary: StepSummary,
    fail_on: Option<FailOn>,
    strict: bool,
    exit: Exit,
) -> Result<Exit, Error> {
    let view = View::from_report(report);
    step_summary.show(&view, [of_banner(&view), of_verdicts(report, fail_on, strict)].concat())?;
    let fails = fail_on.is_some_and(|requested| requested.is_met(report));
    Ok(if exit == Exit::Ok && fails { Exit::Failed } else { exit })
}

/// Builds of programs that do not contain the lab: complete processes, and counts of them.
fn by_lines(
    lab: &LabSetup<'_>,
    job: Job,
    out: Option<&Path>,
    bench: Option<RelinkInputs>,
    (lines, folder): (Vec<NamedCommand>, PathBuf),
    count: bool,
) -> Result<(Report, PathBuf), Error> {
    let limit = Duration::from_secs(job.plan.timeout_s);
    let linked = bench.map(|b| b.launcher(job.programs.clone(), job.plan.seed, job.same_code, limit));
    let programs = job.programs.iter().map(|program| program.path.clone()).collect();
    let limits = RunLimits { limit, flag: "--timeout-secs", stop: &interrupt::came };
    let here = std::env::current_dir().map_err(Error::Program)?;
    let sides = BuildRunner { programs, linked, lines, folder, places: commands::search_path(&here), limits };
    let add_counts = |report: &mut Report| {
        if count {
            count_rows(report, LONGEST_PROCESS_NS, &|key, build, scratch| sides.count(key, build, scratch));
        }
    };
    let extras = Extras { commands: Some((&sides, Box::new(add_counts))), ..Extras::default() };
    measure_with(lab, job, out, extras)
}

fn by_commands(lab: &LabSetup<'_>, args: &Compare, console: &mut Console<'_>) -> Result<Exit, Error> {
    let Compare { what, engines, cases, .. } = args;
    if !(what.is_empty() && engines.is_empty() && cases.is_empty()) {
        return Err(Error::Usage("commands after `--` can only be compared with each other".to_owned()));
    }
    let step_summary = StepSummary::open(args.measuring.github)?;
    let options = &args.measuring;
    let comparison = args.commands.comparison(options.plan(), options.json)?;
    let (report, exit) = comparison.measure(lab, options.out.as_deref(), options.output(), console)?;
    finish(&report, step_summary, args.fail_on, options.strict, exit)
}

fn reports(args: &Compare, one: &str, other: &str, console: &mut Console<'_>) -> Result<Exit, Error> {
    let step_summary = StepSummary::open(args.measuring.github)?;
    let diff = reports::diff(one, other)?;
    let view = diff.view();
    let text = match args.measuring.json {
        true => store::pretty(&diff),
        false => text::lay_out_view(&view, console.colour),
    };
    console.out.write_all(text.as_bytes())?;
    step_summary.show(&view, reports::annotations(&diff, args.fail_on))?;
    let fails = args.fail_on.is_some_and(|requested| requested.is_met_between(&diff));
    Ok(match () {
        // As for a measurement: a wrong result has no speed, and the requested case may be the wrong one.
        () if diff.is_fatal() => Exit::Invalid,
        () if fails => Exit::Failed,
        () if args.measuring.strict && diff.is_inconclusive() => Exit::Inconclusive,
        () => Exit::Ok,
    })
}

/// Interprets the arguments. The name of a case is a case, unless a file or folder has the same name.
fn meeting(lab: &LabSetup<'_>, args: &Compare) -> Result<Meeting, Error> {
    if !args.engines.is_empty() {
        return Ok(Meeting::Cases(cases::pairs(lab.registry, &args.what, &args.engines)?));
    }
    let [baseline, candidate] = &args.what[..] else {
        return Err(Error::Usage(
            "a comparison has two sides, baseline first: two cases, or two builds; with --engines BASELINE,CANDIDATE any \
             number of cases"
                .to_owned(),
        ));
    };
    // A line with blanks that is not a path: the user probably knows hyperfine.
    if let Some(line) =
        [baseline, candidate].into_iter().find(|word| word.trim().contains(' ') && !Path::new(word).exists())
    {
        return Err(Error::Usage(format!(
            "`{line}` looks like a command; commands come after `--`: compare -- 'A' 'B'"
        )));
    }
    let is_case = |word: &String| {
        let workload = word.split('/').next().unwrap_or_default();
        !Path::new(word).exists() && lab.registry.select(&[workload]).is_ok()
    };
    if args.cases.is_empty() && (is_case(baseline) || is_case(candidate)) {
        return Ok(Meeting::Cases(vec![cases::two(lab.registry, baseline, candidate)?]));
    }
    Ok(Meeting::Builds([baseline.clone(), candidate.clone()]))
}
