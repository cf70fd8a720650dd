//! `lab doctor --noise`: repeats comparisons of identical sides with the same decision rule as all others, to find
//! out what this machine can prove.

use crate::cmd::context::error::Error;
use crate::cmd::context::exit::{Console, Exit};
use crate::cmd::context::options::positive;
use crate::cmd::context::setup::LabSetup;
use crate::cmd::context::{files, interrupt};
use crate::cmd::measuring::noise_card;
use crate::cmd::measuring::pairings;
use crate::cmd::measuring::programs::own_program;
use crate::cmd::measuring::progress::ProgressLine;
use crate::measure::campaign::{self, CaseGroup, GroupResult, Observer, Outcome};
use crate::measure::plan::Plan;
use crate::measure::session::process::{Processes, Program};
use crate::model::key::Key;
use crate::report::assemble;
use crate::report::documents::noise::{NoiseRecord, SCHEMA, Series, Trial};
use crate::report::render::text::lay_out_view;
use crate::report::store::{pretty, write_atomically};
use crate::stats::cache_level::CacheLevel;
use clap::Args;
use hashmill_machine::clock::{Clock, Monotonic};
use hashmill_machine::date::now_utc;
use hashmill_machine::{Load, Machine};
use std::path::PathBuf;
use std::time::Duration;

/// Trials and their options.
#[derive(Debug, Args)]
#[group(requires = "noise")]
pub(crate) struct Trials {
    /// Cases to compare with themselves [default: the lab's own probes of CPU and memory].
    cases: Vec<String>,
    /// Stop after this many seconds; the same command with the same --record continues.
    #[arg(long, value_name = "S")]
    seconds: Option<u64>,
    /// File that collects the comparisons.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Let the scheduler move the sides between processors.
    #[arg(long)]
    no_pin: bool,
    /// Most rounds per session.
    #[arg(long, value_name = "N", default_value_t = 50)]
    rounds: usize,
    /// Length of a sample in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 0.5, value_parser = positive)]
    sample_ms: f64,
}

/// Default probes: work in registers, work in memory, and a microsecond of work, which would show a bias of the
/// measurement itself.
const PROBES: [&str; 3] = ["lab.cpu", "lab.memory", "lab.cpu/probe/kernel/300"];

/// Comparisons of each case.
const TRIALS: usize = 10;

pub(crate) fn main(lab: &LabSetup<'_>, args: &Trials, console: &mut Console<'_>) -> Result<Exit, Error> {
    let sample_ns = (args.sample_ms * 1e6) as u64;
    let plan = Plan { rounds: args.rounds, sample_ns, pin: !args.no_pin, ..Plan::default() };
    plan.validate()?;
    let (build, program) = own_program(lab)?;
    let mut record = open(args, &plan, &build.program_sha256)?;
    let wanted = wanted(lab, args)?;
    for case in &wanted {
        if !record.series.iter().any(|series| series.case == *case) {
            let reach = CacheLevel::Near; // until a trial says so
            record.series.push(Series { case: case.clone(), reach, trials: Vec::new() });
        }
    }
    interrupt::watch();
    let clock = Monotonic::new();
    let total = wanted.len() * TRIALS;
    let display = ProgressLine::counting(total, "comparisons");
    let limit = args.seconds.map_or(u64::MAX, |seconds| seconds.saturating_mul(1_000_000_000));
    while !interrupt::came() && clock.now_ns() < limit {
        let Some((index, done)) = next(&record, &wanted) else { break };
        display.set(done, total, &record.series[index].name());
        let seed = record.series[index].trials.len() as u64 + 1;
        let Some((trial, reach)) = trial(&record.series[index], &Plan { seed, ..plan.clone() }, &program)?
        else {
            break;
        };
        record.series[index].trials.push(trial);
        record.series[index].reach = reach;
        save(args, &mut record)?;
    }
    drop(display);
    console.out.write_all(lay_out_view(&record.view(), console.colour).as_bytes())?;
    match &args.record {
        Some(path) => writeln!(console.out, "record {}", path.display())?,
        None => keep_card(&record)?,
    }
    Ok(if next(&record, &wanted).is_some() { Exit::Inconclusive } else { Exit::Ok })
}

/// Saves the record as this machine's card, for `doctor`.
fn keep_card(record: &NoiseRecord) -> Result<(), Error> {
    let path = noise_card::card(&record.machine)?;
    write_atomically(&path, &pretty(record)).map_err(Error::write(&path))
}

/// Measures one group completely; none if interrupted.
fn finish(group: CaseGroup, plan: &Plan, program: &Program) -> Result<Option<GroupResult>, Error> {
    let title = group.title.clone();
    let processes = Processes {
        programs: vec![program.clone(), program.clone()],
        timeout: Duration::from_secs(plan.timeout_s),
    };
    let measured = campaign::run(vec![group], plan, &processes, &mut Quiet).remove(0);
    match &measured.outcome {
        Outcome::Complete => Ok(Some(measured)),
        Outcome::Interrupted | Outcome::Running => Ok(None),
        Outcome::Skipped(reason) | Outcome::Incorrect(reason) | Outcome::Failed(reason) => {
            Err(Error::Refused(format!("{title}: {reason}")))
        }
    }
}

fn wanted(lab: &LabSetup<'_>, args: &Trials) -> Result<Vec<String>, Error> {
    if !args.cases.is_empty() {
        return Ok(lab.registry.select(&args.cases)?.iter().map(Key::to_string).collect());
    }
    PROBES.iter().map(|probe| Ok(lab.registry.select(&[probe])?.remove(0).to_string())).collect()
}

/// The series with the fewest trials, so that all see the same hours; and the number of finished comparisons.
fn next(record: &NoiseRecord, wanted: &[String]) -> Option<(usize, usize)> {
    let index_of = |case: &String| record.series.iter().position(|series| series.case == *case);
    let places: Vec<(usize, usize)> =
        wanted.iter().filter_map(index_of).map(|index| (index, record.series[index].trials.len())).collect();
    let done = places.iter().map(|(_, trials)| (*trials).min(TRIALS)).sum();
    let open = places.into_iter().filter(|(_, trials)| *trials < TRIALS);
    open.min_by_key(|(_, trials)| *trials).map(|(index, _)| (index, done))
}

/// The existing record, if machine, program and plan are the same; a new one otherwise.
fn open(args: &Trials, plan: &Plan, program_sha256: &str) -> Result<NoiseRecord, Error> {
    let fresh = NoiseRecord {
        schema: SCHEMA.to_owned(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        program_sha256: program_sha256.to_owned(),
        machine: Machine::read(),
        plan: assemble::wire_plan(plan, 1, true),
        series: Vec::new(),
        seal: String::new(),
    };
    let Some(path) = args.record.as_ref().filter(|path| path.exists()) else { return Ok(fresh) };
    let old: NoiseRecord = files::document(path)?;
    if let Some(problem) = old.problems().into_iter().next() {
        return Err(Error::Refused(format!("{}: {problem}", path.display())));
    }
    let same =
        old.machine.id == fresh.machine.id && old.plan == fresh.plan && old.program_sha256 == program_sha256;
    if !same {
        return Err(Error::Usage(format!(
            "{} is from another machine, program or plan; choose a new --record",
            path.display()
        )));
    }
    Ok(old)
}

fn save(args: &Trials, record: &mut NoiseRecord) -> Result<(), Error> {
    record.seal = record.compute_seal();
    let Some(path) = &args.record else { return Ok(()) };
    write_atomically(path, &pretty(record)).map_err(Error::write(path))
}

struct Quiet;

impl Observer for Quiet {
    fn progress(&mut self, _: usize, _: usize, _: &[GroupResult]) {}
    fn stop(&self) -> bool {
        interrupt::came()
    }
}

/// Runs one complete comparison; none if interrupted.
fn trial(series: &Series, plan: &Plan, program: &Program) -> Result<Option<(Trial, CacheLevel)>, Error> {
    let key: Key = series.case.parse()?;
    let (created, load) = (now_utc(), Load::read().average);
    let group = pairings::trial(&series.name(), &key);
    let Some(measured) = finish(group, plan, program)? else { return Ok(None) };
    let evidence = measured.evidence(1);
    let verdict = plan.rule.judge(std::slice::from_ref(&evidence))[0].verdict;
    Ok(Some((Trial { created, seed: plan.seed, load, deltas: evidence.deltas, verdict }, evidence.reach)))
}
