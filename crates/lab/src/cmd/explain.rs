//! `lab run --explain`: where the time of a case goes, in instructions, events and functions, and what they mean.

use super::args::Run;
use super::error::Error;
use super::github::{Annotation, Page};
use super::measure::{own_program, run_id};
use super::{Console, Exit, Mount, files};
use crate::count::{Callgrind, Refusal, count};
use crate::model::key::Key;
use crate::model::units::duration;
use crate::profile::reading::readings;
use crate::profile::{Plain, Profile, per_call, perf, plain, watch, work};
use crate::report::count::{Change, CountRecord, CountRow, SCHEMA};
use crate::report::store::pretty;
use crate::session::process::{Processes, Program};
use hashmill_machine::Machine;
use hashmill_machine::date::now_utc;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time of the calls that are looked at.
const LOOKED_AT_NS: u64 = 300_000_000;

/// Valgrind slows a program down so much, and more.
const UNDER_VALGRIND: u64 = 10;

/// Where the counts go.
const COUNTS: &str = "counts.json";

pub(super) fn main(mount: &Mount<'_>, args: &Run, console: &mut Console<'_>) -> Result<Exit, Error> {
    let page = Page::open(args.measuring.github)?;
    let keys = mount.registry.select(&args.patterns)?;
    let baseline: Option<CountRecord> = args.against.as_deref().map(files::document).transpose()?;
    let counter = Callgrind::version();
    if counter.is_none() && baseline.is_some() {
        return Err(Error::Refused(
            "counting needs Valgrind, which is not here; Debian: apt-get install valgrind".to_owned(),
        ));
    }
    let (build, program) = own_program(mount)?;
    let created = now_utc();
    let folder =
        args.measuring.out.clone().unwrap_or_else(|| Path::new("lab-results").join(run_id(&created)));
    let scratch = Scratch::new()?;
    let look = Look { mount, program, timeout_s: args.measuring.timeout_secs, scratch: &scratch.0 };
    let mut exit = Exit::Ok;
    let mut rows = Vec::new();
    for key in &keys {
        let row = look.count(key, counter.is_some());
        let profile = look.profile(key);
        if profile.is_err() {
            exit = Exit::Invalid;
        }
        if !args.measuring.json {
            show(key, &row, &profile, console)?;
        }
        rows.push(row);
    }
    let counter = counter.unwrap_or_else(|| "nothing".to_owned());
    let record = CountRecord {
        schema: SCHEMA.to_owned(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        created,
        counter,
        machine: Machine::read(),
        program_sha256: build.program_sha256,
        rows,
    };
    files::write(&folder, [(COUNTS, pretty(&record))])?;
    let change = match &baseline {
        Some(baseline) => {
            let ratios = record.against(baseline).map_err(|error| Error::Usage(error.to_string()))?;
            Some(Change { ratios, limit_pct: args.limit_pct })
        }
        None => None,
    };
    if args.measuring.json {
        console.out.write_all(pretty(&record).as_bytes())?;
    } else {
        if change.is_some() {
            let table = record.table(change.as_ref());
            console.out.write_all(crate::report::text::lay_out(&table, console.colour).as_bytes())?;
        }
        writeln!(console.out, "counts {}", folder.join(COUNTS).display())?;
    }
    page.show(&record.view(change.as_ref()), grown(&record, change.as_ref()))?;
    let grown = change.is_some_and(|change| change.any_growth());
    let uncounted = baseline.is_some() && record.rows.iter().all(|row| row.refused.is_some());
    Ok(match exit {
        Exit::Ok if uncounted => Exit::Invalid,
        Exit::Ok if grown => Exit::Failed,
        exit => exit,
    })
}

/// Counts that grew by more than they may.
fn grown(record: &CountRecord, change: Option<&Change>) -> Vec<Annotation> {
    let Some(change) = change else { return Vec::new() };
    let grown = record.rows.iter().filter_map(|row| change.of(&row.case).zip(Some(row)));
    let grown = grown.filter(|(ratio, _)| change.is_growth(*ratio));
    grown
        .map(|(ratio, row)| Annotation {
            is_error: true,
            says: format!("{}: {:+.3} % instructions", row.case, (ratio - 1.0) * 100.0),
        })
        .collect()
}

/// A folder for what the tools leave, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, Error> {
        let folder = std::env::temp_dir().join(format!("lab-explain-{}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(Error::write(&folder))?;
        Ok(Scratch(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// What every case is looked at with.
struct Look<'a> {
    mount: &'a Mount<'a>,
    program: Program,
    timeout_s: u64,
    scratch: &'a Path,
}

impl Look<'_> {
    /// The instructions of one call, or why they are not counted.
    fn count(&self, key: &Key, can_count: bool) -> CountRow {
        let case = key.to_string();
        let refused = |why: String| CountRow {
            case: case.clone(),
            kernel: String::new(),
            instructions: None,
            resolution: None,
            refused: Some(why),
        };
        if !can_count {
            return refused("there is no Valgrind here; Debian: apt-get install valgrind".to_owned());
        }
        let timeout = Duration::from_secs(self.timeout_s.saturating_mul(UNDER_VALGRIND));
        let callgrind = Callgrind::new(&self.program, self.scratch, timeout);
        let native = Processes { programs: vec![self.program.clone()], timeout };
        match count(key, &native, &callgrind) {
            Ok(count) => CountRow {
                case: case.clone(),
                kernel: count.kernel,
                instructions: Some(count.instructions),
                resolution: Some(count.resolution),
                refused: None,
            },
            Err(Refusal::Isa { timed, counted }) => {
                let forced = Key { kernel: Some(counted.clone()), ..key.clone() }.to_string();
                let hint = match self.mount.registry.select(&[&forced]) {
                    Ok(_) => format!(": explain {forced}"),
                    Err(_) => String::new(),
                };
                refused(Refusal::Isa { timed, counted }.to_string() + &hint)
            }
            Err(refusal) => refused(refusal.to_string()),
        }
    }

    fn profile(&self, key: &Key) -> Result<Profile, String> {
        let timeout = Duration::from_secs(self.timeout_s);
        let launcher = |program: Program| Processes { programs: vec![program], timeout };
        let Plain { mut profile, calls, watched_calls } =
            plain(key, &launcher(self.program.clone()), LOOKED_AT_NS)?;
        if !perf::answers() {
            return Ok(profile);
        }
        let count = |calls: u64| {
            let file = self.scratch.join("counts");
            work(key, &launcher(perf::counting(&self.program, &file)), calls)?;
            let text =
                std::fs::read_to_string(&file).map_err(|error| format!("perf left no counts: {error}"))?;
            Ok::<_, String>(perf::parse_counts(&text))
        };
        // What perf may not do here is no reason to keep the rest to ourselves.
        if profile.is_interrupted {
            profile.source =
                "the system's own counts; perf would count what is done between the calls, too".to_owned();
        } else if let Ok(counted) =
            count(calls).and_then(|once| Ok(per_call(&once, &count(2 * calls)?, calls)))
        {
            let hardware = counted.contains_key("cycles");
            profile.events.extend(counted);
            profile.source = if hardware {
                "perf stat, and the system's own counts".to_owned()
            } else {
                format!(
                    "the system's own counts; perf has no hardware counters ({})",
                    Machine::read().counters
                )
            };
        }
        let samples = self.scratch.join("samples");
        if let Ok(watched) = watch(key, &launcher(perf::sampling(&self.program, &samples)), watched_calls) {
            profile.functions = perf::functions(&samples, &watched).unwrap_or_default();
        }
        Ok(profile)
    }
}

fn show(
    key: &Key,
    row: &CountRow,
    profile: &Result<Profile, String>,
    console: &mut Console<'_>,
) -> Result<(), Error> {
    let out = &mut console.out;
    writeln!(out, "{key}")?;
    let profile = match profile {
        Ok(profile) => profile,
        Err(reason) => return Ok(writeln!(out, "  {reason}")?),
    };
    writeln!(out, "  kernel {}, {} per call", profile.kernel, duration(profile.ns_per_call))?;
    match (row.instructions, &row.refused) {
        (Some(count), _) => {
            let with = match profile.is_interrupted {
                true => ", with what is done between the calls, which is not timed",
                false => "",
            };
            writeln!(
                out,
                "  {count:.1} instructions per call, ± {:.1}{with}",
                row.resolution.unwrap_or(0.0)
            )?;
        }
        (None, Some(why)) => writeln!(out, "  instructions are not counted: {why}")?,
        (None, None) => {}
    }
    writeln!(out, "  events per call ({})", profile.source)?;
    for (name, count) in &profile.events {
        writeln!(out, "    {name:<24}{count:>16.3}")?;
    }
    if let Some(bytes) = profile.huge_bytes {
        writeln!(out, "    {:<24}{:>12} MiB", "in huge pages", bytes >> 20)?;
    }
    if !profile.functions.is_empty() {
        writeln!(out, "  share of the time, by function")?;
    }
    for (share, name) in &profile.functions {
        writeln!(out, "    {share:>6.2} %  {name}")?;
    }
    let readings = readings(profile);
    if !readings.is_empty() {
        writeln!(out, "  reading")?;
    }
    for reading in readings {
        writeln!(out, "    {reading}")?;
    }
    Ok(())
}
