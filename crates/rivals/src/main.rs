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
use hashmill_rivals::serve::{self, ServeRequest};
use hashmill_rivals::{doc, lab};

/// Competitors beside Hashmill, measured in pairs.
#[derive(Parser)]
#[command(name = "cargo rivals", bin_name = "cargo rivals")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The official `blake3` crate: every gate of bench/gates.toml about it.
    Blake3(RivalRequest),
    /// Argon2: the crates `argon2-rust` and `argon2`, and the reference in C.
    Argon2(RivalRequest),
    /// The `b3sum` program, process against process.
    B3sum(RivalRequest),
    /// Other engines for documents: the official `automerge` crate, loro, yrs and diamond-types.
    Doc(RivalRequest),
    /// Automerge's sync server, and any other of the protocol, under the load of the same bots.
    Serve(ServeRequest),
    /// The lab with rivals in it: comparisons, gates and claims that name them.
    #[command(disable_help_flag = true)]
    Lab(LabArgs),
    /// Measure nothing: compare documents with the official crate, call by call, in random scripts.
    Differ(DifferArgs),
}

#[derive(Args)]
struct DifferArgs {
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

/// All arguments after `lab`, for the lab's own parser.
#[derive(Args)]
struct LabArgs {
    /// A command of the lab and its flags; `cargo rivals lab --help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Blake3(request) => run_gates("blake3", &request),
        Command::Argon2(request) => run_gates("argon2", &request),
        Command::B3sum(request) => run_gates("b3sum", &request),
        Command::Doc(request) => run_gates("doc", &request),
        Command::Differ(DifferArgs { calls, steps, seed }) => differ(calls, steps, seed),
        Command::Serve(request) => load_servers(&request),
        Command::Lab(lab_args) => Ok(ExitCode::from(lab::run(lab_args.args))),
    };
    result.unwrap_or_else(|error| {
        // In one line, as the lab prints its errors.
        print_progress(&format!("cargo rivals: {error:#}"));
        ExitCode::from(2)
    })
}

fn run_gates(topic: &str, request: &RivalRequest) -> anyhow::Result<ExitCode> {
    match request.build_only {
        true => cli::build(topic).map(|()| ExitCode::SUCCESS),
        false => cli::measure(topic, request).map(ExitCode::from),
    }
}

/// Runs scripts on the official crate and on Hashmill until `calls` calls were compared.
fn differ(calls: usize, steps: usize, seed: u64) -> anyhow::Result<ExitCode> {
    let start = Instant::now();
    let progress =
        |total: &Total| print_progress(&format!("{:5.1} s  {total}", start.elapsed().as_secs_f64()));
    let (text, code) = match doc::differential::official_and_hashmill(seed, steps, calls, progress) {
        Ok(total) => (format!("no difference in {total}\n"), ExitCode::SUCCESS),
        Err(finding) => (format!("{finding}\n"), ExitCode::FAILURE),
    };
    std::io::stdout().write_all(text.as_bytes()).context("printing the result")?;
    Ok(code)
}

/// Measures sync servers. A round that did not reach its state makes the run a failure.
fn load_servers(request: &ServeRequest) -> anyhow::Result<ExitCode> {
    let start = Instant::now();
    let progress = |text: &str| print_progress(&format!("{:6.1} s  {text}", start.elapsed().as_secs_f64()));
    let (text, is_complete) = serve::run(request, progress)?;
    std::io::stdout().write_all(text.as_bytes()).context("printing the result")?;
    Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints a line to standard error. A closed terminal must not end a measurement.
fn print_progress(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
