//! `lab run --explain`: shows where the time of a case goes: instructions, events, functions, and their meaning.

use crate::cmd::context::error::Error;
use crate::cmd::context::exit::{Console, Exit};
use crate::cmd::context::files;
use crate::cmd::context::options::Measuring;
use crate::cmd::context::setup::LabSetup;
use crate::cmd::github::{Annotation, StepSummary};
use crate::cmd::measuring::programs::own_program;
use crate::cmd::measuring::run_id;
use crate::counters::callgrind::{Callgrind, Refusal, count};
use crate::counters::perf;
use crate::counters::profile::{Profile, SessionProfile, per_call, plain, watch, work};
use crate::counters::readings::readings;
use crate::measure::session::process::{Processes, Program};
use crate::model::key::Key;
use crate::model::units::duration;
use crate::report::documents::instruction_counts::{Change, CountRecord, CountRow, SCHEMA};
use crate::report::store::pretty;
use hashmill_machine::Machine;
use hashmill_machine::date::now_utc;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Total time of the profiled calls.
const LOOKED_AT_NS: u64 = 300_000_000;

/// Slowdown of a program under Valgrind, at least.
const UNDER_VALGRIND: u64 = 10;

/// File of the counts.
const COUNTS: &str = "counts.json";

/// `baseline` has a file of counts, and by how many percent they may grow.
pub(crate) fn main(
    lab: &LabSetup<'_>,
    patterns: &[String],
    baseline: Option<(&Path, f64)>,
    options: &Measuring,
    console: &mut Console<'_>,
) -> Result<Exit, Error> {
    let step_summary = StepSummary::open(options.github)?;
    let keys = lab.registry.select(patterns)?;
    let limit_pct = baseline.map_or(0.0, |(_, limit_pct)| limit_pct);
    let baseline: Option<CountRecord> = baseline.map(|(path, _)| files::document(path)).transpose()?;
    let counter = Callgrind::version();
    if counter.is_none() && baseline.is_some() {
        return Err(Error::Refused(
            "counting needs Valgrind, which is not installed; Debian: apt-get install valgrind".to_owned(),
        ));
    }
    let (build, program) = own_program(lab)?;
    let created = now_utc();
    let folder = options.out.clone().unwrap_or_else(|| Path::new("lab-results").join(run_id(&created)));
    let scratch = ScratchDir::new()?;
    let look = Inspection { lab, program, timeout_s: options.timeout_secs, scratch: &scratch.0 };
    let mut exit = Exit::Ok;
    let mut rows = Vec::new();
    for key in &keys {
        let row = look.count(key, counter.is_some());
        let explained = look.profile(key);
        if explained.is_err() {
            exit = Exit::Invalid;
        }
        if !options.json {
            show(key, &row, &explained, console)?;
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
            Some(Change { ratios, limit_pct })
        }
        None => None,
    };
    if options.json {
        console.out.write_all(pretty(&record).as_bytes())?;
    } else {
        if change.is_some() {
            let table = record.table(change.as_ref());
            console.out.write_all(crate::report::render::text::lay_out(&table, console.colour).as_bytes())?;
        }
        writeln!(console.out, "counts {}", folder.join(COUNTS).display())?;
    }
    step_summary.show(&record.view(change.as_ref()), grown(&record, change.as_ref()))?;
    let grown = change.is_some_and(|change| change.any_growth());
    let uncounted = baseline.is_some() && record.rows.iter().all(|row| row.refused.is_some());
    Ok(match exit {
        Exit::Ok if uncounted => Exit::Invalid,
        Exit::Ok if grown => Exit::Failed,
        exit => exit,
    })
}

/// Counts that grew by more than allowed.
fn grown(record: &CountRecord, change: Option<&Change>) -> Vec<Annotation> {
    let Some(change) = change else { return Vec::new() };
    let grown = record.rows.iter().filter_map(|row| change.ratio(&row.case).zip(Some(row)));
    let grown = grown.filter(|(ratio, _)| change.is_growth(*ratio));
    grown
        .map(|(ratio, row)| Annotation {
            is_error: true,
            message: format!("{}: {:+.3} % instructions", row.case, (ratio - 1.0) * 100.0),
        })
        .collect()
}

/// Folder for the tools' output, removed at the end.
struct ScratchDir(PathBuf);

impl ScratchDir {
    fn new() -> Result<Self, Error> {
        let folder = std::env::temp_dir().join(format!("lab-explain-{}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(Error::write(&folder))?;
        Ok(ScratchDir(folder))
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// A profile, and the share of time of each function in percent or the reason why there are none.
struct Explanation {
    profile: Profile,
    functions: Result<Vec<(f64, String)>, String>,
}

/// Message of a tool on one line.
fn one_line(words: &str) -> String {
    words.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// Tools for the inspection of cases.
struct Inspection<'a> {
    lab: &'a LabSetup<'a>,
    program: Program,
    timeout_s: u64,
    scratch: &'a Path,
}

impl Inspection<'_> {
    /// Instructions per call, or the reason why they are not counted.
    fn count(&self, key: &Key, can_count: bool) -> CountRow {
        let case = key.to_string();
        let refused = |reason: String| CountRow {
            case: case.clone(),
            kernel: String::new(),
            instructions: None,
            resolution: None,
            refused: Some(reason),
        };
        if !can_count {
            return refused("Valgrind is not installed; Debian: apt-get install valgrind".to_owned());
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
                let hint = match self.lab.registry.select(&[&forced]) {
                    Ok(_) => format!(": explain {forced}"),
                    Err(_) => String::new(),
                };
                refused(Refusal::Isa { timed, counted }.to_string() + &hint)
            }
            Err(refusal) => refused(refusal.to_string()),
        }
    }

    fn profile(&self, key: &Key) -> Result<Explanation, String> {
        let timeout = Duration::from_secs(self.timeout_s);
        let launcher = |program: Program| Processes { programs: vec![program], timeout };
        let SessionProfile { mut profile, calls, watched_calls } =
            plain(key, &launcher(self.program.clone()), LOOKED_AT_NS)?;
        if !perf::answers() {
            let reason = "perf is not installed; Debian: apt-get install linux-perf".to_owned();
            return Ok(Explanation { profile, functions: Err(reason) });
        }
        let count = |calls: u64| {
            let file = self.scratch.join("counts");
            work(key, &launcher(perf::counting(&self.program, &file)), calls)?;
            let text =
                std::fs::read_to_string(&file).map_err(|error| format!("perf left no counts: {error}"))?;
            Ok::<_, String>(perf::parse_counts(&text))
        };
        // A refusal of perf does not prevent the other results.
        if profile.is_interrupted {
            profile.source =
                "the system's own counts; perf would also count the work between the calls".to_owned();
        } else {
            let counted = count(calls).and_then(|once| Ok(per_call(&once, &count(2 * calls)?, calls)));
            profile.source = match &counted {
                Ok(counted) if counted.contains_key("cycles") => {
                    "perf stat, and the system's own counts".to_owned()
                }
                Ok(_) => format!(
                    "the system's own counts; perf has no hardware counters ({})",
                    Machine::read().counters
                ),
                Err(reason) => format!("the system's own counts; perf stat failed: {}", one_line(reason)),
            };
            profile.events.extend(counted.into_iter().flatten());
        }
        let samples = self.scratch.join("samples");
        let watched = watch(key, &launcher(perf::sampling(&self.program, &samples)), watched_calls);
        let functions = watched
            .map_err(|reason| format!("perf record failed: {reason}"))
            .and_then(|watched| perf::functions(&samples, &watched));
        Ok(Explanation { profile, functions })
    }
}

fn show(
    key: &Key,
    row: &CountRow,
    explained: &Result<Explanation, String>,
    console: &mut Console<'_>,
) -> Result<(), Error> {
    let out = &mut console.out;
    writeln!(out, "{key}")?;
    let Explanation { profile, functions } = match explained {
        Ok(explained) => explained,
        Err(reason) => return Ok(writeln!(out, "  {reason}")?),
    };
    writeln!(out, "  kernel {}, {} per call", profile.kernel, duration(profile.ns_per_call))?;
    match (row.instructions, &row.refused) {
        (Some(count), _) => {
            let with = match profile.is_interrupted {
                true => ", including the untimed work between the calls",
                false => "",
            };
            writeln!(
                out,
                "  {count:.1} instructions per call, ± {:.1}{with}",
                row.resolution.unwrap_or(0.0)
            )?;
        }
        (None, Some(reason)) => writeln!(out, "  instructions are not counted: {reason}")?,
        (None, None) => {}
    }
    writeln!(out, "  events per call ({})", profile.source)?;
    for (name, count) in &profile.events {
        writeln!(out, "    {name:<24}{count:>16.3}")?;
    }
    if let Some(bytes) = profile.huge_bytes {
        writeln!(out, "    {:<24}{:>12} MiB", "in huge pages", bytes >> 20)?;
    }
    match functions {
        Ok(functions) => {
            writeln!(out, "  share of the time, by function")?;
            for (share, name) in functions {
                writeln!(out, "    {share:>6.2} %  {name}")?;
            }
        }
        Err(reason) => writeln!(out, "  no shares of functions: {}", one_line(reason))?,
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
