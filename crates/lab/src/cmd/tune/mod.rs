//! `lab tune`: settings race each other; the choice is kept where the program finds it.

use super::args::positive;
use super::error::Error;
use super::measure::own_program;
use super::{Console, Exit, Mount, interrupt, paths};
use crate::campaign::{self, Contest, Measured, Observer, Outcome, Role, Side};
use crate::host::Machine;
use crate::model::class::Sampling;
use crate::model::key::Key;
use crate::model::reach::Reach;
use crate::plan::Plan;
use crate::report::assemble::wire_plan;
use crate::report::store::{pretty, write_atomically};
use crate::report::text::lay_out;
use crate::session::peer::{Launcher, PeerError};
use crate::session::process::{Processes, Program};
use crate::session::protocol::{Reply, Request};
use crate::stats::verdict::{Look, Rule};
use crate::time::{now_utc, utc};
use crate::tune::standing::settle;
use crate::tune::{Candidate, Profile, SCHEMA, TuneRecord, place, recall};
use clap::Args;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub(super) struct Tune {
    /// Candidates: cases that differ in threads, kernel or knobs alone, such as `work/engine/oneshot/1MiB/t*`.
    #[arg(required = true)]
    patterns: Vec<String>,
    /// How much speed may be given up for fewer threads.
    #[arg(long, value_enum, default_value = "throughput")]
    profile: Profile,
    /// Show the choice that is kept, and race nothing.
    #[arg(long)]
    show: bool,
    /// Folder of kept choices [default: lab in the user's cache].
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Most rounds per session.
    #[arg(long, value_name = "N", default_value_t = 20)]
    rounds: usize,
    /// Length of a sample in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 0.5, value_parser = positive)]
    sample_ms: f64,
    /// Seed of the inputs and of the random orders.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print the record as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn main(mount: &Mount<'_>, args: &Tune, console: &mut Console<'_>) -> Result<Exit, Error> {
    let keys = mount.registry.select(&args.patterns)?;
    let subject = subject(&keys)?;
    let cache = args.cache.clone().map_or_else(paths::cache, Ok)?;
    let machine = Machine::read();
    let path = place(&cache, &machine, &subject, args.profile);
    let record = if args.show {
        let kept = recall(&cache, &machine, &subject, args.profile);
        let kept = kept.map_err(|source| Error::Read { path: path.clone(), source })?;
        kept.ok_or_else(|| {
            let profile = args.profile.name();
            Error::Usage(format!(
                "no choice is kept for {subject} ({profile}) on this machine, or it is older than 14 days"
            ))
        })?
    } else {
        let Some(record) = race(mount, args, &keys, subject, machine)? else {
            return Ok(Exit::Inconclusive);
        };
        write_atomically(&path, &pretty(&record))
            .map_err(|source| Error::Write { path: path.clone(), source })?;
        record
    };
    let text = if args.json { pretty(&record) } else { lay_out(&record.table(), console.colour) };
    console.out.write_all(text.as_bytes())?;
    if !args.json {
        writeln!(console.out, "kept in {} until {}", path.display(), utc(record.expires()))?;
    }
    Ok(Exit::Ok)
}

/// What all candidates share; an error when they do different work.
fn subject(keys: &[Key]) -> Result<String, Error> {
    let of = |key: &Key| format!("{}/{}/{}/{}", key.workload, key.engine, key.class, key.size);
    let subject = of(&keys[0]);
    if let Some(other) = keys.iter().find(|key| of(key) != subject) {
        return Err(Error::Usage(format!(
            "{} and {other} differ in more than threads, kernel and knobs; they have no choice in common",
            keys[0]
        )));
    }
    if keys[0].class.sampling() != Sampling::Batched {
        return Err(Error::Usage(format!(
            "{} cannot be raced: its class is not sampled in batches",
            keys[0]
        )));
    }
    if keys.len() < 2 {
        return Err(Error::Usage(format!("{} is alone; a race needs two candidates", keys[0])));
    }
    Ok(subject)
}

/// Runs the race; none when it was interrupted.
fn race(
    mount: &Mount<'_>,
    args: &Tune,
    keys: &[Key],
    subject: String,
    machine: Machine,
) -> Result<Option<TuneRecord>, Error> {
    let sample_ns = (args.sample_ms * 1e6) as u64;
    let plan = Plan { rounds: args.rounds, sample_ns, seed: args.seed, ..Plan::default() };
    plan.validate()?;
    let (build, program) = own_program(mount)?;
    interrupt::watch();
    let keys = &fit(keys, &plan, &program)?[..];
    let mut field: Vec<Candidate> = keys
        .iter()
        .map(|key| Candidate {
            case: key.to_string(),
            threads: key.threads,
            kernel: String::new(),
            relative: Vec::new(),
        })
        .collect();
    // Known after the first heat; before it there is nothing to judge.
    let mut reach = Reach::Near;
    loop {
        let relative: Vec<&[f64]> = field.iter().map(|c| c.relative.as_slice()).collect();
        let standing = settle(&plan.rule, reach, &relative);
        let Some(wanted) = standing.wanted else { break };
        let mut heat = standing.survivors();
        // The best so far is what the others are measured against.
        heat.retain(|index| *index != standing.best);
        heat.insert(0, standing.best);
        let done = field[standing.best].relative.len();
        let Some(measured) = stage(keys, &heat, &plan, wanted - done, done as u64, &program)? else {
            return Ok(None);
        };
        reach = measured.reach();
        for (side, index) in heat.into_iter().enumerate() {
            field[index].relative.extend(measured.deltas(side));
            field[index].kernel.clone_from(&measured.seen[side].kernel);
        }
    }
    let record = TuneRecord {
        schema: SCHEMA.to_owned(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        created: now_utc(),
        machine,
        program_sha256: build.program_sha256,
        subject,
        reach,
        profile: args.profile,
        plan: wire_plan(&plan, keys.len() - 1, false),
        candidates: field,
        best: 0,
        tied: Vec::new(),
        chosen: 0,
        seal: String::new(),
    };
    Ok(Some(record.conclude()))
}

/// Those that can run here at all: the others are named and left out, as fewer threads or less memory may do.
fn fit(keys: &[Key], plan: &Plan, program: &Program) -> Result<Vec<Key>, Error> {
    let processes =
        Processes { programs: vec![program.clone()], patience: Duration::from_secs(plan.patience_s) };
    let mut fit = Vec::new();
    for key in keys {
        match lacks(key, plan.seed, &processes).map_err(|error| Error::Refused(format!("{key}: {error}")))? {
            None => fit.push(key.clone()),
            Some(reason) => writeln!(std::io::stderr(), "{key} is left out: {reason}")?,
        }
    }
    match fit.len() {
        0 | 1 => Err(Error::Refused("fewer than two candidates can run here".to_owned())),
        _ => Ok(fit),
    }
}

/// What this machine lacks for a case, by trying it once in a process of its own.
fn lacks(key: &Key, seed: u64, launcher: &dyn Launcher) -> Result<Option<String>, PeerError> {
    let mut peer = launcher.launch(0, 0)?;
    let open = Request::Open { slot: 0, case: key.to_string(), seed, share: false };
    for request in [open, Request::Check { slot: 0 }] {
        // Whatever else is wrong shows in the race, with its own words.
        if let Reply::Unavailable { reason } = peer.ask(&request)? {
            return Ok(Some(reason));
        }
    }
    Ok(None)
}

struct Silent;

impl Observer for Silent {
    fn progress(&mut self, _: usize, _: usize, _: &[Measured]) {}
    fn stop(&self) -> bool {
        interrupt::came()
    }
}

/// `sessions` sessions of those who are still in the race.
fn stage(
    keys: &[Key],
    heat: &[usize],
    plan: &Plan,
    sessions: usize,
    done: u64,
    program: &Program,
) -> Result<Option<Measured>, Error> {
    let side = |(place, index): (usize, &usize)| Side {
        label: keys[*index].to_string(),
        role: if place == 0 { Role::Baseline } else { Role::Candidate },
        build: 0,
        key: keys[*index].clone(),
    };
    let sides = heat.iter().enumerate().map(side).collect();
    let contest = Contest { title: "race".to_owned(), sides, together: true };
    // Who leaves is decided by the race; the campaign only counts sessions.
    let count = Rule { looks: vec![Look { sessions, alpha: 0.01 }], ..Rule::standard() };
    let plan = Plan { rule: count, seed: plan.seed.wrapping_add(done), ..plan.clone() };
    let processes =
        Processes { programs: vec![program.clone()], patience: Duration::from_secs(plan.patience_s) };
    let measured = campaign::run(vec![contest], &plan, &processes, &mut Silent).remove(0);
    match &measured.outcome {
        Outcome::Complete => Ok(Some(measured)),
        Outcome::Interrupted | Outcome::Running => Ok(None),
        Outcome::Skipped(why) | Outcome::Incorrect(why) | Outcome::Failed(why) => {
            Err(Error::Refused(format!("a candidate cannot race: {why}")))
        }
    }
}
