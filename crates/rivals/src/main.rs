//! `cargo rivals …`: competitors beside Hashmill, as a table, as JSON, and as a committed record.
#![forbid(unsafe_code)]

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, Parser, Subcommand};
use hashmill_rivals::gates::Verdict;
use hashmill_rivals::{blake3, fleet, gates, table};

/// Competitors beside Hashmill, measured in pairs in one process.
#[derive(Parser)]
#[command(name = "cargo rivals", bin_name = "cargo rivals")]
struct Cli {
    #[command(subcommand)]
    rival: Rival,
}

#[derive(Subcommand)]
enum Rival {
    /// The official `blake3` crate.
    Blake3(Options),
}

#[derive(Args)]
struct Options {
    /// Measure only gates and rows whose name contains this.
    #[arg(long, default_value = "", hide_default_value = true)]
    filter: String,
    /// Build the measuring programs and stop, so that a later run only measures.
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
    /// Seed of all randomness.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> anyhow::Result<ExitCode> {
    let Rival::Blake3(options) = Cli::parse().rival;
    let path = fleet::workspace().join("bench/gates.toml");
    let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let gates = gates::parse(&text).with_context(|| format!("reading {}", path.display()))?.blake3;
    if options.build_only {
        blake3::build(&gates, &options.filter)?;
        return Ok(ExitCode::SUCCESS);
    }
    let effort = blake3::Effort {
        sessions: options.sessions.max(1),
        pairs: options.pairs.max(1),
        sample: Duration::from_micros(options.sample_us),
        budget: Duration::from_millis(options.budget_ms),
        seed: options.seed,
    };
    let start = std::time::Instant::now();
    let say = |words: &str| {
        // A closed terminal is no reason to lose a measurement.
        let _ = writeln!(std::io::stderr(), "{:5.1} s  {words}", start.elapsed().as_secs_f64());
    };
    let report = blake3::compare(&gates, &options.filter, &effort, say)?;
    let words = if options.json { report.to_json() + "\n" } else { table::render(&report) };
    std::io::stdout().write_all(words.as_bytes()).context("printing the report")?;
    if options.record {
        let records: PathBuf = fleet::workspace().join("bench/records");
        say(&format!("recorded in {}", report.record(&records, "blake3")?.display()));
    }
    let missed = report.gates.iter().any(|gate| gate.verdict == Verdict::Missed);
    Ok(if options.enforce && missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
