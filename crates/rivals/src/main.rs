//! `cargo rivals …`: competitors beside Hashmill, as a table, as JSON, and as a committed record.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::{Args, Parser, Subcommand};
use hashmill_rivals::doc::differential::Total;
use hashmill_rivals::gates::{Gates, Verdict};
use hashmill_rivals::report::Report;
use hashmill_rivals::{argon2, b3sum, blake3, doc, fleet, gates, lab, table};

/// Competitors beside Hashmill, measured in pairs.
#[derive(Parser)]
#[command(name = "cargo rivals", bin_name = "cargo rivals")]
struct Cli {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    #[command(flatten)]
    Rival(Rival),
    /// The lab with rivals in it: duels, gates and claims that name them.
    #[command(disable_help_flag = true)]
    Lab(LabArgs),
}

#[derive(Subcommand)]
enum Rival {
    /// The official `blake3` crate, both libraries in one process.
    Blake3 {
        #[command(flatten)]
        common: Common,
        /// Fresh processes per link layout.
        #[arg(long, default_value_t = 7)]
        sessions: usize,
        /// Pairs of samples per workload and process.
        #[arg(long, default_value_t = 5)]
        pairs: usize,
        /// Shortest sample in microseconds.
        #[arg(long, default_value_t = 250)]
        sample_us: u64,
        /// Time in milliseconds after which a workload of a process takes no more than five pairs.
        #[arg(long, default_value_t = 400)]
        budget_ms: u64,
    },
    /// The `b3sum` program, process against process.
    B3sum {
        #[command(flatten)]
        common: Common,
        /// Pairs of processes per job.
        #[arg(long, default_value_t = 21)]
        pairs: usize,
        /// Time in milliseconds after which a job takes no more than five pairs.
        #[arg(long, default_value_t = 5000)]
        budget_ms: u64,
    },
    /// Argon2: the crates `argon2-rust` and `argon2`, and the reference in C.
    Argon2 {
        #[command(flatten)]
        common: Common,
        /// How often all rows are measured.
        #[arg(long, default_value_t = 3)]
        rounds: usize,
        /// Pairs of samples per row and round.
        #[arg(long, default_value_t = 15)]
        pairs: usize,
        /// Shortest sample in milliseconds.
        #[arg(long, default_value_t = 4)]
        sample_ms: u64,
        /// Time in milliseconds after which a row takes no more than five pairs.
        #[arg(long, default_value_t = 1500)]
        budget_ms: u64,
    },
    /// Other engines for documents: the official `automerge` crate, loro, yrs and diamond-types.
    Doc(Doc),
}

#[derive(Args)]
struct Doc {
    #[command(flatten)]
    common: Common,
    /// Fresh processes.
    #[arg(long, default_value_t = 3)]
    sessions: usize,
    /// Pairs of samples per workload and process; one for those that take long.
    #[arg(long, default_value_t = 5)]
    pairs: usize,
    /// Shortest sample in microseconds.
    #[arg(long, default_value_t = 2000)]
    sample_us: u64,
    /// Time in milliseconds after which a workload of a process takes no more than five pairs.
    #[arg(long, default_value_t = 400)]
    budget_ms: u64,
    /// Measure nothing: compare this many calls with the official crate, answer by answer, in random stories.
    #[arg(long, value_name = "CALLS")]
    differential: Option<usize>,
    /// Scenes of each such story.
    #[arg(long, default_value_t = 80)]
    scenes: usize,
}

/// Everything after the word is for the lab's own parser.
#[derive(Args)]
struct LabArgs {
    /// A command of the lab and its flags; `cargo rivals lab --help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
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

fn main() -> anyhow::Result<ExitCode> {
    let rival = match Cli::parse().what {
        What::Rival(rival) => rival,
        What::Lab(low) => return Ok(ExitCode::from(lab::run(low.args))),
    };
    let gates = read_gates()?;
    let (topic, common) = match &rival {
        Rival::Blake3 { common, .. } => ("blake3", common),
        Rival::B3sum { common, .. } => ("b3sum", common),
        Rival::Argon2 { common, .. } => ("argon2", common),
        Rival::Doc(Doc { differential: Some(calls), scenes, common, .. }) => {
            return differ(*calls, *scenes, common.seed);
        }
        Rival::Doc(Doc { common, .. }) => ("doc", common),
    };
    if common.build_only {
        match rival {
            Rival::Blake3 { .. } => blake3::build(&gates.blake3, &common.filter)?,
            Rival::B3sum { .. } => drop(b3sum::programs::Programs::build()?),
            // This program is the one that measures.
            Rival::Argon2 { .. } => {}
            Rival::Doc(_) => drop(doc::compare::build()?),
        }
        return Ok(ExitCode::SUCCESS);
    }
    let report = compare(&rival, &gates)?;
    show(&report, topic, common)
}

fn read_gates() -> anyhow::Result<Gates> {
    let path = fleet::workspace().join("bench/gates.toml");
    let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    gates::parse(&text).with_context(|| format!("reading {}", path.display()))
}

fn compare(rival: &Rival, gates: &Gates) -> anyhow::Result<Report> {
    let start = Instant::now();
    let progress = |words: &str| say(&format!("{:5.1} s  {words}", start.elapsed().as_secs_f64()));
    match rival {
        Rival::Blake3 { common, sessions, pairs, sample_us, budget_ms } => {
            let effort = blake3::Effort {
                sessions: (*sessions).max(1),
                pairs: (*pairs).max(1),
                sample: Duration::from_micros(*sample_us),
                budget: Duration::from_millis(*budget_ms),
                seed: common.seed,
            };
            blake3::compare(&gates.blake3, &common.filter, &effort, progress)
        }
        Rival::B3sum { common, pairs, budget_ms } => {
            let budget = Duration::from_millis(*budget_ms);
            b3sum::compare(&gates.b3sum, &common.filter, (*pairs).max(1), budget, common.seed, progress)
        }
        Rival::Argon2 { common, rounds, pairs, sample_ms, budget_ms } => {
            let effort = argon2::Effort {
                rounds: (*rounds).max(1),
                pairs: (*pairs).max(1),
                sample: Duration::from_millis(*sample_ms),
                budget: Duration::from_millis(*budget_ms),
                seed: common.seed,
            };
            argon2::compare(&gates.argon2, &common.filter, effort, progress)
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

/// Tells stories to the official crate and to ours until `calls` calls were compared.
fn differ(calls: usize, scenes: usize, seed: u64) -> anyhow::Result<ExitCode> {
    let start = Instant::now();
    let progress = |total: &Total| say(&format!("{:5.1} s  {total}", start.elapsed().as_secs_f64()));
    let (words, code) = match doc::differential::official_and_ours(seed, scenes, calls, progress) {
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
        let path = report.record(&fleet::workspace().join("bench/records"), topic)?;
        say(&format!("recorded in {}", path.display()));
    }
    let missed = report.gates.iter().any(|gate| gate.verdict == Verdict::Missed);
    Ok(if common.enforce && missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Says what goes on. A closed terminal is no reason to lose a measurement.
fn say(words: &str) {
    let _ = writeln!(std::io::stderr(), "{words}");
}
