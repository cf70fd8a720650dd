//! `cargo rivals …`: competitors beside Hashmill.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use clap::{Args, Parser, Subcommand};
use hashmill_rivals::doc::differential::Total;
use hashmill_rivals::front::{self, Wish};
use hashmill_rivals::{doc, lab};

/// Competitors beside Hashmill, measured in pairs.
#[derive(Parser)]
#[command(name = "cargo rivals", bin_name = "cargo rivals")]
struct Cli {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// The official `blake3` crate: every gate of bench/gates.toml about it.
    Blake3(Gates),
    /// Argon2: the crates `argon2-rust` and `argon2`, and the reference in C.
    Argon2(Gates),
    /// The `b3sum` program, process against process.
    B3sum(Gates),
    /// Other engines for documents: the official `automerge` crate, loro, yrs and diamond-types.
    Doc(Gates),
    /// The lab with rivals in it: comparisons, gates and claims that name them.
    #[command(disable_help_flag = true)]
    Lab(LabArgs),
    /// Measure nothing: compare documents with the official crate, answer by answer, in random scripts.
    Differ(Differ),
}

#[derive(Args)]
struct Differ {
    /// How many calls to compare.
    #[arg(default_value_t = 1_000_000)]
    calls: usize,
    /// Steps of each script.
    #[arg(long, default_value_t = 80)]
    steps: usize,
    /// Seed of all randomness.
    #[arg(long, default_value_t = 1)]
    seed: u64,
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

/// Flags of before, and what does their work.
const MOVED: [(&str, &str); 3] = [
    ("--differential", "cargo rivals differ CALLS"),
    ("--pairs", "cargo rivals lab compare --engines hashmill,RIVAL CASE --rounds N"),
    ("--budget-ms", "cargo rivals lab compare --engines hashmill,RIVAL CASE --rounds N"),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    let moved = |(flag, _): &&(&str, &str)| words.iter().any(|word| word == flag);
    if let Some((flag, now)) = MOVED.iter().find(moved) {
        say(&format!("cargo rivals: {flag} is gone; `{now}` does its work"));
        return ExitCode::from(2);
    }
    let result = match Cli::parse().what {
        What::Blake3(gates) => by_the_lab("blake3", gates),
        What::Argon2(gates) => by_the_lab("argon2", gates),
        What::B3sum(gates) => by_the_lab("b3sum", gates),
        What::Doc(gates) => by_the_lab("doc", gates),
        What::Differ(Differ { calls, steps, seed }) => differ(calls, steps, seed),
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
        return front::build(topic).map(|()| ExitCode::SUCCESS);
    }
    let Gates { filter, json, record, enforce, rounds, seed, .. } = gates;
    front::measure(topic, &Wish { filter, rounds, seed, json, record, enforce }).map(ExitCode::from)
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

/// Says what goes on. A closed terminal is no reason to lose a measurement.
fn say(words: &str) {
    let _ = writeln!(std::io::stderr(), "{words}");
}
