//! Developer commands: `cargo xtask help` lists them.
//!
//! Facts come from `host`, `steps` and `platforms` are the tables of what can be run, `suite` decides and drives, `run` is the only
//! place that starts a step, `report` has the words.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a developer tool speaks on the terminal")]

mod advisories;
mod args;
mod b3sum;
mod checkout;
mod codegen;
mod curves;
mod fatbin;
mod fuzz;
mod host;
mod javascript;
mod layouts;
mod metadata;
mod mutate;
mod node;
mod notices;
mod platforms;
mod python;
mod report;
mod run;
mod steps;
mod suite;
mod tally;
mod tidy;
mod tune;
mod web;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use args::Command;

fn main() -> ExitCode {
    let outcome = Command::parse(lexopt::Parser::from_env()).and_then(execute);
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Runs one command; `Ok(false)` means that it ran and found something wrong.
fn execute(command: Command) -> anyhow::Result<bool> {
    let root = root();
    match command {
        Command::Help => {
            print!("{}", args::help());
            Ok(true)
        }
        Command::Suite(request) => suite::run(&root, &request),
        Command::Tidy => {
            let faults = tidy::check(&root)?;
            faults.iter().for_each(|fault| println!("{fault}"));
            println!("{} faults", faults.len());
            Ok(faults.is_empty())
        }
        Command::Fuzz(request) => fuzz::run(&root, &request),
        Command::Mutate(arguments) => mutate::run(&root, &arguments),
        Command::Tune => tune::run(&root),
        Command::Layouts(request) => layouts::run(&root, &request),
        Command::Codegen => codegen::write(&root).map(|()| true),
        Command::Fatbin => fatbin::write(&root).map(|()| true),
        Command::FatbinCheck => fatbin::check(&root),
        Command::Notices => {
            print!("{}", notices::text(&root)?);
            Ok(true)
        }
        Command::Advisories(database) => advisories::write(&root, Path::new(&database)).map(|()| true),
        Command::Javascript => javascript::package(&root),
        Command::NodePackage => node::package(&root).map(|()| true),
        Command::Numbers => curves::write(&root).map(|()| true),
    }
}

/// The repository: the parent of this package's folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask sits in the repository").to_path_buf()
}
