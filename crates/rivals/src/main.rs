//! `cargo rivals …`: competitors beside Hashmill, as a table, as JSON, and as a committed record.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::{Args, Parser, Subcommand};
use hashmill_rivals::doc::differential::Total;
use hashmill_rivals::front::{self, Wish};
use hashmill_rivals::gates::Verdict;
use hashmill_rivals::report::Report;
use hashmill_rivals::{b3sum, builds, doc, gates, lab, table};

/// Competitors beside Hashmill, measured in pairs.
#[derive(Parser)]
#[command(name = "cargo rivals", bin_name = "cargo rivals")]
struct Cli {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// The official `blake3` crate, in the lab: every gate of bench/gates.toml about it.
    Blake3(Gates),
    /// Argon2 in the lab: the crates `argon2-rust` and `argon2`, and the reference in C.
    Argon2(Gates),
    #[command(flatten)]
    Rival(Rival),
    /// The lab with rivals in it: comparisons, gates and claims that name them.
    #[command(disable_help_flag = true)]
    Lab(LabArgs),
}

#[derive(Subcommand)]
enum Rival {
    /// The `b3sum` program, process against process.
    B3sum {
        #[command(flatten)]
        common: Common,
        /// Pairs of processes per job.
        #[arg(long, default_value_t = 21)]
        pairs: usize,
        /// Time in milliseconds after which a job takes no more than eight pairs.
        #[arg(long, default_value_t = 5000)]
        budget_ms: u64,
    },
    /// Other engines for documents: the official `automerge` crate, loro, yrs and diamond-types.
    Doc(Doc),
}

#[derive(Args)]
struct Doc {
    #[command(flatten)]
    common: Common,
    /// Fresh processes; fewer than eight prove nothing.
    #[arg(long, default_value_t = 8)]
    sessions: usize,
    /// Pairs of samples per workload and process; one for those that take long.
    #[arg(long, default_value_t = 5)]
    pairs: usize,
    /// Shortest sample in microseconds.
    #[arg(long, default_value_t = 2000)]
    sample_us: u64,
    /// Time in milliseconds after which a workload of a process takes no more than eight pairs.
    #[arg(long, default_value_t = 400)]
    budget_ms: u64,
    /// Measure nothing: compare this many calls with the official crate, answer by answer, in random scripts.
    #[arg(long, value_name = "CALLS")]
    differential: Option<usize>,
    /// Steps of each such script.
    #[arg(long, default_value_t = 80)]
    steps: usize,
}

/// Everything after the word is for the lab's own parser.
#[derive(Args)]
struct LabArgs {
    /// A command of the lab and its flags; `cargo rivals lab --help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

#[derive(Args)]
struct Gates {
    /// Only gates whose name, or cases that contain this; of several, all must be contained.
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,
    /// Build the programs and stop, so that a later run only measures.
    #[arg(long)]
    build_only: bool,
    /// Print the verdicts as JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Keep the report under bench/reports.
    #[arg(long)]
    record: bool,
    /// Fail when a gate is missed.
    #[arg(long)]
    enforce: bool,
    /// Most rounds per session.
    #[arg(long, value_name = "N", default_value_t = 10)]
    rounds: usize,
    /// Seed of all randomness.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

#[derive(Args)]
struct Common {
    /// Measure only gates and rows whose name contains this.
    #[arg(long, default_value = "", hide_default_value = true)]
    filter: String,
    /// Build the programs and stop, so that a later run only measures.
    #[arg(long)]
    build_only: bool,
    /// Print the report as JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Keep the report under bench/records.
    #[arg(long)]
    record: bool,
    /// Fail when a gate is missed.
    #[arg(long)]
    enforce: bool,
    /// Seed of all randomness.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> ExitCode {
    let result = match Cli::parse().what {
        What::Blake3(gates) => by_the_lab("blake3", gates),
        What::Argon2(gates) => by_the_lab("argon2", gates),
        What::Rival(rival) => by_ourselves(&rival),
        What::Lab(low) => Ok(ExitCode::from(lab::run(low.args))),
    };
    result.unwrap_or_else(|error| {
        // In one line, as the lab's own errors are.
        say(&format!("cargo rivals: {error:#}"));
        ExitCode::from(2)
    })
}

fn by_the_lab(topic: &str, gates: Gates) -> anyhow::Result<ExitCode> {
    if gates.build_only {
        return front::build().map(|()| ExitCode::SUCCESS);
    }
    let Gates { filter, json, record, enforce, rounds, seed, .. } = gates;
    front::measure(topic, &Wish { filter, rounds, seed, json, record, enforce }).map(ExitCode::from)
}

fn by_ourselves(rival: &Rival) -> anyhow::Result<ExitCode> {
    let gates = read_gates()?;
    let (topic, common) = match rival {
        Rival::B3sum { common, .. } => ("b3sum", common),
        Rival::Doc(Doc { differential: Some(calls), steps, common, .. }) => {
            return differ(*calls, *steps, common.seed);
        }
        Rival::Doc(Doc { common, .. }) => ("doc", common),
    };
    if common.build_only {
        match rival {
            Rival::B3sum { .. } => drop(b3sum::programs::Programs::build()?),
            Rival::Doc(_) => drop(doc::compare::build()?),
        }
        return Ok(ExitCode::SUCCESS);
    }
    let report = compare(rival, &gates)?;
    show(&report, topic, common)
}

fn read_gates() -> anyhow::Result<gates::Gates> {
    let path = builds::workspace().join("bench/gates.toml");
    let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    gates::parse(&text).with_context(|| format!("reading {}", path.display()))
}

fn compare(rival: &Rival, gates: &gates::Gates) -> anyhow::Result<Report> {
    let start = Instant::now();
    let progress = |words: &str| say(&format!("{:5.1} s  {words}", start.elapsed().as_secs_f64()));
    match rival {
        Rival::B3sum { common, pairs, budget_ms } => {
            let budget = Duration::from_millis(*budget_ms);
            b3sum::compare(&gates.b3sum, &common.filter, (*pairs).max(1), budget, common.seed, progress)
        }
        Rival::Doc(doc) => {
            let effort = doc::compare::Effort {
                sessions: doc.sessions.max(1),
                pairs: doc.pairs.max(1),
                sample: Duration::from_micros(doc.sample_us),
                budget: Duration::from_millis(doc.budget_ms),
                seed: doc.common.seed,
            };
            doc::compare::compare(&gates.doc, &doc.common.filter, &effort, progress)
        }
    }
}

/// Tells scripts to the official crate and to ours until `calls` calls were compared.
fn differ(calls: usize, steps: usize, seed: u64) -> anyhow::Result<ExitCode> {
    let start = Instant::now();
    let progress = |total: &Total| say(&format!("{:5.1} s  {total}", start.elapsed().as_secs_f64()));
    let (words, code) = match doc::differential::official_and_ours(seed, steps, calls, progress) {
        Ok(total) => (format!("no difference in {total}\n"), ExitCode::SUCCESS),
        Err(finding) => (format!("{finding}\n"), ExitCode::FAILURE),
    };
    std::io::stdout().write_all(words.as_bytes()).context("printing what was found")?;
    Ok(code)
}

fn show(report: &Report, topic: &str, common: &Common) -> anyhow::Result<ExitCode> {
    let words = if common.json { report.to_json() + "\n" } else { table::render(report) };
    std::io::stdout().write_all(words.as_bytes()).context("printing the report")?;
    if common.record {
        let path = report.record(&builds::workspace().join("bench/records"), topic)?;
        say(&format!("recorded in {}", path.display()));
    }
    let missed = report.gates.iter().any(|gate| gate.verdict == Verdict::Missed);
    Ok(if common.enforce && missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Says what goes on. A closed terminal is no reason to lose a measurement.
fn say(words: &str) {
    let _ = writeln!(std::io::stderr(), "{words}");
}
