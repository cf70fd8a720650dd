//! Developer commands: `cargo xtask help` lists them.
//!
//! `steps` is the table of tests, `steps::kind` groups it, `steps::needs` looks for the tools of this machine, and `suite` runs steps.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a developer tool speaks on the terminal")]

mod args;
mod codegen;
mod command;
mod fuzz;
mod measure;
mod packages;
mod release;
mod repository;
mod steps;
mod suite;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use args::Command;
use fuzz::mutate;
use measure::{curves, layouts, tune};
use packages::{javascript, node};
use release::{advisories, notices};
use repository::{checkout, metadata};
use steps::kind;
use suite::Request;

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
        Command::Changed { revision, verbose, overlap } => {
            let kinds = kind::affected(&checkout::changed(&root, &revision)?, &metadata::packages(&root)?);
            suite::run(&root, &Request { overlap, ..args::request(&kinds, verbose) })
        }
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
        Command::Codegen => codegen::call(&["assembly"]).run(&root).map(|()| true),
        Command::Fatbin => codegen::call(&["fatbin"]).run(&root).map(|()| true),
        Command::FatbinCheck => codegen::call(&["fatbin", "check"]).succeeds(&root),
        Command::Notices => {
            print!("{}", notices::text(&root)?);
            Ok(true)
        }
        Command::Advisories(database) => advisories::write(&root, Path::new(&database)).map(|()| true),
        Command::Javascript => javascript::package(&root),
        Command::NodePackage => node::package(&root).map(|()| true),
        Command::Numbers => curves::write(&root).map(|()| true),
        Command::BookLinks => release::book::preprocess(&root).map(|()| true),
        Command::BookSupports => Ok(true),
        Command::BookCheck => release::book::check(&root),
    }
}

/// The repository: the parent of this package's folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask sits in the repository").to_path_buf()
}
