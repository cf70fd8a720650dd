//! `cargo rivals …`: competitors beside Hashmill.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use clap::{Args, Parser, Subcommand};
use hashmill_rivals::cli::{self, RivalRequest};
use hashmill_rivals::doc::differential::Total;
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
    Blake3(RivalRequest),
    /// Argon2: the crates `argon2-rust` and `argon2`, and the reference in C.
    Argon2(RivalRequest),
    /// The `b3sum` program, process against process.
    B3sum(RivalRequest),
    /// Other engines for documents: the official `automerge` crate, loro, yrs and diamond-types.
    Doc(RivalRequest),
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

fn main() -> ExitCode {
    let result = match Cli::parse().what {
        What::Blake3(wish) => by_the_lab("blake3", &wish),
        What::Argon2(wish) => by_the_lab("argon2", &wish),
        What::B3sum(wish) => by_the_lab("b3sum", &wish),
        What::Doc(wish) => by_the_lab("doc", &wish),
        What::Differ(Differ { calls, steps, seed }) => differ(calls, steps, seed),
        What::Lab(low) => Ok(ExitCode::from(lab::run(low.args))),
    };
    result.unwrap_or_else(|error| {
        // In one line, as the lab's own errors are.
        say(&format!("cargo rivals: {error:#}"));
        ExitCode::from(2)
    })
}

fn by_the_lab(topic: &str, wish: &RivalRequest) -> anyhow::Result<ExitCode> {
    match wish.build_only {
        true => cli::build(topic).map(|()| ExitCode::SUCCESS),
        false => cli::measure(topic, wish).map(ExitCode::from),
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

/// Says what goes on. A closed terminal is no reason to lose a measurement.
fn say(words: &str) {
    let _ = writeln!(std::io::stderr(), "{words}");
}
