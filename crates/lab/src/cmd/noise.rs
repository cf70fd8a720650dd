//! `lab doctor --noise`: what this machine can prove. Identical sides, compared again and again by the same rule as
//! everything else.

use super::args::positive;
use super::error::Error;
use super::measure::own_program;
use super::progress::Display;
use super::{Console, Exit, Mount, contests, doctor, files, interrupt};
use crate::campaign::{self, Contest, Measured, Observer, Outcome};
use crate::model::key::Key;
use crate::model::reach::Reach;
use crate::plan::Plan;
use crate::report::assemble;
use crate::report::noise::{NoiseRecord, SCHEMA, Series, Trial};
use crate::report::store::{pretty, write_atomically};
use crate::report::text::lay_out_view;
use crate::session::process::{Processes, Program};
use clap::Args;
use hashmill_machine::clock::{Clock, Monotonic};
use hashmill_machine::date::now_utc;
use hashmill_machine::{Load, Machine};
use std::path::PathBuf;
use std::time::Duration;

/// What is tried, and how.
#[derive(Debug, Args)]
#[group(requires = "noise")]
pub(super) struct Trials {
    /// Cases to set against themselves [default: the lab's own probes of CPU and memory].
    cases: Vec<String>,
    /// Stop after this many seconds; the same command with the same --record goes on.
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

/// What is tried where nobody says what: work in registers and in memory, and a microsecond of it, on which a bias of the harness
/// itself would show.
const PROBES: [&str; 3] = ["lab.cpu", "lab.memory", "lab.cpu/probe/kernel/300"];

/// Comparisons of each case.
const TRIALS: usize = 10;

pub(super) fn main(mount: &Mount<'_>, args: &Trials, console: &mut Console<'_>) -> Result<Exit, Error> {
    let sample_ns = (args.sample_ms * 1e6) as u64;
    let plan = Plan { rounds: args.rounds, sample_ns, pin: !args.no_pin, ..Plan::default() };
    plan.validate()?;
    let (build, program) = own_program(mount)?;
    let mut record = open(args, &plan, &build.program_sha256)?;
    let wanted = wanted(mount, args)?;
    for case in &wanted {
        if !record.series.iter().any(|series| series.case == *case) {
            let reach = Reach::Near; // until a trial says so
            record.series.push(Series { case: case.clone(), reach, trials: Vec::new() });
        }
    }
    interrupt::watch();
    let clock = Monotonic::new();
    let total = wanted.len() * TRIALS;
    let display = Display::counting(total, "comparisons");
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

/// Keeps the record as this machine's card, for `doctor`.
fn keep_card(record: &NoiseRecord) -> Result<(), Error> {
    let path = doctor::card(&record.machine)?;
    write_atomically(&path, &pretty(record)).map_err(Error::write(&path))
}

/// Measures one contest to its end; none when it was interrupted.
fn finish(contest: Contest, plan: &Plan, program: &Program) -> Result<Option<Measured>, Error> {
    let title = contest.title.clone();
    let processes = Processes {
        programs: vec![program.clone(), program.clone()],
        timeout: Duration::from_secs(plan.timeout_s),
    };
    let measured = campaign::run(vec![contest], plan, &processes, &mut Quiet).remove(0);
    match &measured.outcome {
        Outcome::Complete => Ok(Some(measured)),
        Outcome::Interrupted | Outcome::Running => Ok(None),
        Outcome::Skipped(why) | Outcome::Incorrect(why) | Outcome::Failed(why) => {
            Err(Error::Refused(format!("{title}: {why}")))
        }
    }
}

fn wanted(mount: &Mount<'_>, args: &Trials) -> Result<Vec<String>, Error> {
    if !args.cases.is_empty() {
        return Ok(mount.registry.select(&args.cases)?.iter().map(Key::to_string).collect());
    }
    PROBES.iter().map(|probe| Ok(mount.registry.select(&[probe])?.remove(0).to_string())).collect()
}

/// The series that lags most behind, so that all of them see the same hours; and how many comparisons are done.
fn next(record: &NoiseRecord, wanted: &[String]) -> Option<(usize, usize)> {
    let place = |case: &String| record.series.iter().position(|series| series.case == *case);
    let places: Vec<(usize, usize)> =
        wanted.iter().filter_map(place).map(|index| (index, record.series[index].trials.len())).collect();
    let done = places.iter().map(|(_, trials)| (*trials).min(TRIALS)).sum();
    let open = places.into_iter().filter(|(_, trials)| *trials < TRIALS);
    open.min_by_key(|(_, trials)| *trials).map(|(index, _)| (index, done))
}

/// The record so far, if it is of this machine, program and plan; a new one otherwise.
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
            "{} was made on another machine, by another program or with another plan; choose a new --record",
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
    fn progress(&mut self, _: usize, _: usize, _: &[Measured]) {}
    fn stop(&self) -> bool {
        interrupt::came()
    }
}

/// One complete comparison; none when it was interrupted.
fn trial(series: &Series, plan: &Plan, program: &Program) -> Result<Option<(Trial, Reach)>, Error> {
    let key: Key = series.case.parse()?;
    let (created, load) = (now_utc(), Load::read().average);
    let contest = contests::trial(&series.name(), &key);
    let Some(measured) = finish(contest, plan, program)? else { return Ok(None) };
    let evidence = measured.evidence(1);
    let verdict = plan.rule.judge(std::slice::from_ref(&evidence))[0].verdict;
    Ok(Some((Trial { created, seed: plan.seed, load, deltas: evidence.deltas, verdict }, evidence.reach)))
}
