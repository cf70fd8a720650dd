//! `lab doctor --noise`: what this machine can prove. Identical sides, and sides with a slowdown of known size, compared
//! again and again by the same rule as everything else.

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
use crate::stats::order::median;
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
    /// 300 A/A comparisons of each probe, and 100 with each known slowdown.
    #[arg(long)]
    full: bool,
    /// Both sides in one process per session, as engines are compared, instead of one process each, as builds are.
    #[arg(long)]
    together: bool,
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

/// What to try, and how often for a full record: case, extra work in thousandths, trials.
const FULL: [(&str, u64, usize); 6] = [
    ("lab.cpu", 0, 300),
    ("lab.memory", 0, 300),
    ("lab.cpu", 10, 100),
    ("lab.memory", 20, 100),
    ("lab.memory", 30, 100),
    (MICROSECOND, 0, 100),
];

/// A workload of about a microsecond, on which a bias of the harness itself would show.
const MICROSECOND: &str = "lab.cpu/probe/kernel/300";

/// A workload without work: what it costs is the harness.
const NOTHING: &str = "lab.nothing";

/// Trials of each A/A series when only a first impression is wanted.
const QUICK: usize = 10;

pub(super) fn main(mount: &Mount<'_>, args: &Trials, console: &mut Console<'_>) -> Result<Exit, Error> {
    let sample_ns = (args.sample_ms * 1e6) as u64;
    let plan = Plan { rounds: args.rounds, sample_ns, pin: !args.no_pin, ..Plan::default() };
    plan.validate()?;
    let (build, program) = own_program(mount)?;
    let mut record = open(args, &plan, &build.program_sha256)?;
    let wanted = wanted(mount, args)?;
    for (case, extra_permille, _) in &wanted {
        let known = |series: &Series| same_series(series, case, *extra_permille, args.together);
        if !record.series.iter().any(known) {
            let (case, extra_permille, together) = (case.clone(), *extra_permille, args.together);
            let reach = Reach::Near; // until a trial says so
            record.series.push(Series { case, extra_permille, reach, together, trials: Vec::new() });
        }
    }
    interrupt::watch();
    let clock = Monotonic::new();
    let total: usize = wanted.iter().map(|(_, _, trials)| trials).sum();
    let display = Display::counting(total, "comparisons");
    if args.full && args.cases.is_empty() && record.empty_call_ns.is_empty() {
        record.empty_call_ns = empty_calls(mount, &plan, &program)?;
        save(args, &mut record)?;
    }
    let limit = args.seconds.map_or(u64::MAX, |seconds| seconds.saturating_mul(1_000_000_000));
    while !interrupt::came() && clock.now_ns() < limit {
        let Some((index, done)) = next(&record, &wanted, args.together) else { break };
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
    if next(&record, &wanted, args.together).is_some() {
        return Ok(Exit::Inconclusive);
    }
    if !args.full {
        return Ok(Exit::Ok);
    }
    let kept = promises(mount, &record, console)?;
    Ok(if kept { Exit::Ok } else { Exit::Failed })
}

/// Keeps the record as this machine's card, for `doctor`.
fn keep_card(record: &NoiseRecord) -> Result<(), Error> {
    let path = doctor::card(&record.machine)?;
    write_atomically(&path, &pretty(record)).map_err(Error::write(&path))
}

/// Says what a full record promises, and whether all of it holds.
fn promises(mount: &Mount<'_>, record: &NoiseRecord, console: &mut Console<'_>) -> Result<bool, Error> {
    let short = mount.registry.select(&[MICROSECOND])?.remove(0).to_string();
    let tried = record.series.iter().filter(|series| !series.trials.is_empty());
    let mut kept = true;
    for promise in tried.map(Series::promise).chain(record.harness(&short)) {
        let word = if promise.holds { "holds" } else { "DOES NOT HOLD" };
        writeln!(console.out, "{word:<14}{}", promise.says)?;
        kept &= promise.holds;
    }
    Ok(kept)
}

/// The time of a call without work, in each of a few sessions.
fn empty_calls(mount: &Mount<'_>, plan: &Plan, program: &Program) -> Result<Vec<f64>, Error> {
    let key = mount.registry.select(&[NOTHING])?.remove(0);
    let Some(measured) = finish(contests::alone(&key), plan, program)? else { return Ok(Vec::new()) };
    let iterations = measured.seen[0].iterations as f64;
    let in_session = |session: usize| {
        let samples = measured.samples.iter().filter(|sample| sample.session == session);
        median(&samples.map(|sample| sample.ns as f64 / iterations).collect::<Vec<_>>())
    };
    Ok((0..measured.sessions.len()).map(in_session).collect())
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

fn wanted(mount: &Mount<'_>, args: &Trials) -> Result<Vec<(String, u64, usize)>, Error> {
    let key = |pattern: &str| -> Result<String, Error> {
        Ok(mount.registry.select(&[pattern])?.remove(0).to_string())
    };
    if args.cases.is_empty() {
        let list = FULL.into_iter().filter(|(_, extra, _)| args.full || *extra == 0);
        return list
            .map(|(case, extra, n)| Ok((key(case)?, extra, if args.full { n } else { QUICK })))
            .collect();
    }
    let keys = mount.registry.select(&args.cases)?;
    let trials = if args.full { 300 } else { QUICK };
    Ok(keys.into_iter().map(|key| (key.to_string(), 0, trials)).collect())
}

fn same_series(series: &Series, case: &str, extra_permille: u64, together: bool) -> bool {
    series.case == case && series.extra_permille == extra_permille && series.together == together
}

/// The series that lags most behind what is wanted of it, so that all of them see the same hours; and how many
/// comparisons are done.
fn next(record: &NoiseRecord, wanted: &[(String, u64, usize)], together: bool) -> Option<(usize, usize)> {
    let places = wanted.iter().filter_map(|(case, extra, trials)| {
        let index = record.series.iter().position(|series| same_series(series, case, *extra, together))?;
        Some((index, record.series[index].trials.len(), *trials))
    });
    let places: Vec<(usize, usize, usize)> = places.collect();
    let done = places.iter().map(|(_, done, wanted)| done.min(wanted)).sum();
    let open = places.into_iter().filter(|(_, done, wanted)| done < wanted);
    let laggard = open.min_by(|a, b| (a.1 * b.2).cmp(&(b.1 * a.2)))?;
    Some((laggard.0, done))
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
        empty_call_ns: Vec::new(),
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
    let mut slower = key.clone();
    if series.extra_permille > 0 {
        slower.knobs.insert("extra".to_owned(), series.extra_permille.to_string());
    }
    let (created, load) = (now_utc(), Load::read().average);
    let contest = contests::trial(&series.name(), &key, &slower, series.together);
    let Some(measured) = finish(contest, plan, program)? else { return Ok(None) };
    let evidence = measured.evidence(1);
    let verdict = plan.rule.judge(std::slice::from_ref(&evidence))[0].verdict;
    Ok(Some((Trial { created, seed: plan.seed, load, deltas: evidence.deltas, verdict }, evidence.reach)))
}
