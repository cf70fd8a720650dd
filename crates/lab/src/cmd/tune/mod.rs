//! `lab tune`: settings race each other; the choice is kept where the program finds it.

mod race;

use super::args::positive;
use super::error::Error;
use super::measure::{default_folder, own_program};
use super::{Console, Exit, Mount, interrupt, paths};
use crate::model::class::Sampling;
use crate::model::key::Key;
use crate::plan::Plan;
use crate::report::store::{pretty, write_atomically};
use crate::report::text::lay_out_view;
use crate::report::{html, markdown};
use crate::tune::view::view;
use crate::tune::{Profile, TuneRecord, place, recall};
use clap::Args;
use hashmill_machine::Machine;
use hashmill_machine::date::{now_utc, utc};
use race::Course;
use std::io::Write as _;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(after_help = GPU)]
pub(super) struct Tune {
    /// Candidates: cases that differ in threads, kernel or knobs, such as `work/engine/oneshot/1MiB/t*`, or a suite's
    /// name. Those of several sizes make a race for each, and show from which size on the choice changes.
    #[arg(required = true)]
    patterns: Vec<String>,
    /// How much speed may be given up for fewer threads.
    #[arg(long, value_enum, default_value = "throughput")]
    profile: Profile,
    /// Show the choices that are kept, and race nothing.
    #[arg(long)]
    show: bool,
    /// Folder of kept choices [default: lab in the user's cache].
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Folder for report.html, report.md and a record of each race [default: lab-results/<id>].
    #[arg(long, value_name = "DIR", conflicts_with = "show")]
    out: Option<PathBuf>,
    /// Most rounds per session.
    #[arg(long, value_name = "N", default_value_t = 20)]
    rounds: usize,
    /// Length of a sample in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 0.5, value_parser = positive)]
    sample_ms: f64,
    /// Seed of the inputs and of the random orders.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print the records as JSON, one after the other.
    #[arg(long)]
    json: bool,
}

const GPU: &str = "No GPU backend exists here yet, so there is no gate between it and the processor to tune.";

pub(super) fn main(mount: &Mount<'_>, args: &Tune, console: &mut Console<'_>) -> Result<Exit, Error> {
    let keys = mount.registry.select(&args.patterns)?;
    let fields = fields(keys)?;
    let cache = args.cache.clone().map_or_else(paths::cache, Ok)?;
    let machine = Machine::read();
    if args.show {
        let kept = |field: &Field| kept(&cache, &machine, &field.subject, args.profile);
        let records = fields.iter().map(kept).collect::<Result<Vec<_>, _>>()?;
        show(args, &records, &cache, console)?;
        return Ok(Exit::Ok);
    }
    let folder = args.out.clone().unwrap_or_else(|| default_folder(&now_utc()));
    let sample_ns = (args.sample_ms * 1e6) as u64;
    let plan = Plan { rounds: args.rounds, sample_ns, seed: args.seed, ..Plan::default() };
    plan.validate()?;
    let (build, program) = own_program(mount)?;
    // Unwritable folders must show before the first minute is spent, not after the last.
    ready(&folder, "--out")?;
    ready(&cache, "--cache")?;
    interrupt::watch();
    let mut course = Course::new(plan, program, build.program_sha256, machine, args.profile);
    let mut records: Vec<TuneRecord> = Vec::new();
    let several = fields.len() > 1;
    for Field { subject, keys } in fields {
        let record = match course.run(subject, &keys) {
            Ok(Some(record)) => record,
            Ok(None) => break,
            // What one size cannot do here is no reason to lose the others.
            Err(Error::Refused(why)) if several => {
                writeln!(std::io::stderr(), "left out: {why}")?;
                continue;
            }
            Err(error) => return Err(error),
        };
        records.push(record);
        write_pages(&folder, &records)?;
        let last = records.last().expect("just pushed");
        if !last.is_finished() {
            break;
        }
        write(&place(&cache, &last.machine, &last.subject, args.profile), &pretty(last))?;
    }
    show(args, &records, &cache, console)?;
    if !args.json && !records.is_empty() {
        writeln!(console.out, "report {}", folder.join("report.html").display())?;
    }
    let whole = !interrupt::came() && !records.is_empty() && records.iter().all(TuneRecord::is_finished);
    Ok(if whole { Exit::Ok } else { Exit::Inconclusive })
}

fn ready(folder: &Path, option: &str) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(|error| {
        Error::Usage(format!(
            "cannot write {}: {error}; choose another folder with {option}",
            folder.display()
        ))
    })
}

/// Candidates of one race.
struct Field {
    subject: String,
    keys: Vec<Key>,
}

/// The races, in the order of their first candidates; an error where there is none to run.
fn fields(keys: Vec<Key>) -> Result<Vec<Field>, Error> {
    if let Some(key) = keys.iter().find(|key| key.class.sampling() != Sampling::Batched) {
        return Err(Error::Usage(format!("{key} cannot be raced: its class is not sampled in batches")));
    }
    let mut fields: Vec<Field> = Vec::new();
    for key in keys {
        let subject = format!("{}/{}/{}/{}", key.workload, key.engine, key.class, key.size);
        match fields.iter_mut().find(|field| field.subject == subject) {
            Some(field) => field.keys.push(key),
            None => fields.push(Field { subject, keys: vec![key] }),
        }
    }
    let (races, alone): (Vec<Field>, Vec<Field>) = fields.into_iter().partition(|field| field.keys.len() > 1);
    match alone.first() {
        Some(field) if races.is_empty() => Err(Error::Usage(format!(
            "{} is alone: a race needs two candidates that differ in threads, kernel or knobs, and in nothing else",
            field.keys[0]
        ))),
        _ => {
            for Field { keys, .. } in alone {
                writeln!(std::io::stderr(), "{} is left out: it is alone", keys[0])?;
            }
            Ok(races)
        }
    }
}

fn kept(cache: &Path, machine: &Machine, subject: &str, profile: Profile) -> Result<TuneRecord, Error> {
    let path = place(cache, machine, subject, profile);
    let kept = recall(cache, machine, subject, profile);
    kept.map_err(|source| Error::Read { path, source })?.ok_or_else(|| {
        let profile = profile.name();
        Error::Usage(format!(
            "no choice is kept for {subject} ({profile}) on this machine, or it is older than 14 days"
        ))
    })
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    write_atomically(path, text).map_err(|source| Error::Write { path: path.to_owned(), source })
}

/// The pages of all races so far, and the record of the last.
fn write_pages(folder: &Path, records: &[TuneRecord]) -> Result<(), Error> {
    let view = view(records);
    write(&folder.join("report.html"), &html::page(&view, "", ""))?;
    write(&folder.join("report.md"), &markdown::lay_out_view(&view))?;
    let last = records.last().expect("a race was run");
    write(&folder.join(format!("race-{}.json", records.len())), &pretty(last))
}

fn show(args: &Tune, records: &[TuneRecord], cache: &Path, console: &mut Console<'_>) -> Result<(), Error> {
    if args.json {
        let text: String = records.iter().map(pretty).collect();
        console.out.write_all(text.as_bytes())?;
        return Ok(());
    }
    if records.is_empty() {
        return Ok(());
    }
    console.out.write_all(lay_out_view(&view(records), console.colour).as_bytes())?;
    for record in records.iter().filter(|record| record.is_finished()) {
        let path = place(cache, &record.machine, &record.subject, args.profile);
        writeln!(console.out, "kept in {} until {}", path.display(), utc(record.expires()))?;
    }
    Ok(())
}
