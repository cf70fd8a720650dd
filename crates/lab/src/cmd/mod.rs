//! Command line of `hashmill lab`, for any program that supplies a registry.
//!
//! A program needs a few lines:
//!
//! ```no_run
//! use hashmill_lab::cmd::{self, LabSetup};
//! use hashmill_lab::model::registry::Registry;
//!
//! let registry = Registry::new(); // … and its workloads
//! let lab = LabSetup { name: "hashmill lab", arguments: &["lab"], registry: &registry, package: None, builder: None };
//! // The arguments after `hashmill lab`:
//! let exit = cmd::main(&lab, std::env::args_os().skip(2));
//! std::process::exit(exit.code());
//! ```
#![expect(clippy::disallowed_methods, reason = "commands: arguments, the terminal, the program to run again")]

mod bench;
#[cfg(feature = "gates")]
mod claim;
mod compare;
mod context;
mod doctor;
#[cfg(feature = "gates")]
mod gate;
mod github;
mod list;
mod measuring;
mod reports;
mod run;

pub use crate::report::schema::Build;
pub use bench::benches;
pub use context::exit::Exit;
pub use context::setup::{LabSetup, ProgramBuilder};

use crate::measure::session::worker::Worker;
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use context::error::Error;
use context::exit::Console;
use context::usage_error::{one_line, renamed};
use hashmill_machine::clock::Monotonic;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};

/// Measure performance so that others can check the result.
#[derive(Debug, Parser)]
#[command(disable_version_flag = true, after_help = AFTER_HELP)]
struct Lab {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Start with `run headline`; then `list` shows what can be measured. Every measuring command writes
report.json, report.html and report.md, and keeps the measured data if it is interrupted.

Exit codes:
  0  success
  1  a gate failed, a check found an error, a claim does not hold, a verdict is a failure by --fail-on
  2  invalid command line: unknown case, number out of range, unreadable or unwritable file
  3  nothing was proven: interrupted, or inconclusive with --strict
  4  the result must not be used: wrong digest, failed control, damaged or foreign report";

#[derive(Debug, Subcommand)]
enum Command {
    /// List the cases that can be measured, or explain the timing classes.
    List(list::List),
    /// Measure single cases: time, interval, rate; for minutes with --for, and in detail with --explain.
    Run(run::Run),
    /// Compare side by side, baseline first: engines, cases, builds, or any commands after `--`.
    Compare(Box<compare::Compare>),
    #[cfg(feature = "gates")]
    /// Check comparisons against a file of gates: pass, fail or unproven.
    Gate(gate::GateArgs),
    #[cfg(feature = "gates")]
    /// Numbers in documents that come from reports: check, render, create, or measure them again.
    Claim(claim::ClaimArgs),
    /// Check reports: shape, rules, and every conclusion, computed again from the sessions.
    Check(reports::Check),
    /// Show a report in another form; sign it; import results of other tools; print schemas.
    Report(reports::ReportArgs),
    /// Show what this machine can measure, and what disturbs it.
    Doctor(doctor::Doctor),
    /// Take samples for a parent process.
    #[command(hide = true)]
    Session,
}

impl Command {
    /// Whether the exit code is a verdict, so that a reader who stops early has no verdict.
    fn is_verdict(&self) -> bool {
        !matches!(self, Command::List(_) | Command::Report(_) | Command::Session)
    }
}

/// Runs one command with the arguments after the program's name, and prints its output.
pub fn main(lab: &LabSetup<'_>, arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let stdout = std::io::stdout();
    let colour = stdout.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let mut out = stdout.lock();
    let arguments = std::iter::once(OsString::from(lab.name)).chain(arguments);
    let command = match parse(definition(lab), arguments) {
        Ok(command) => command,
        Err(error) => return early(lab, &error),
    };
    let is_verdict = command.command.is_verdict();
    let result = dispatch(lab, command.command, &mut Console { out: &mut out, colour });
    let result = result.and_then(|exit| out.flush().map(|()| exit).map_err(Error::Output));
    result.unwrap_or_else(|error| {
        let exit = error.exit(is_verdict);
        if exit != Exit::Ok {
            writeln!(std::io::stderr(), "{}: {error}", lab.name).ok();
        }
        exit
    })
}

/// Definition of the commands and flags, for manual pages or completions.
#[must_use]
pub fn definition(lab: &LabSetup<'_>) -> clap::Command {
    // A negative number is out of range, and not an unknown option.
    fn with_numbers(command: clap::Command) -> clap::Command {
        let values = |arg: clap::Arg| {
            let takes = arg.get_action().takes_values();
            if takes { arg.allow_negative_numbers(true) } else { arg }
        };
        command.mut_args(values).mut_subcommands(with_numbers)
    }
    let showing = |command: clap::Command, lines: Vec<&str>| {
        let more = command.get_after_help().map(|text| format!("\n\n{text}")).unwrap_or_default();
        let shown: Vec<String> = lines.iter().map(|line| format!("  {} {line}", lab.name)).collect();
        let text = format!("Examples:\n{}{more}", shown.join("\n"));
        if lines.is_empty() { command } else { command.after_help(text) }
    };
    let of = |command: &str| -> Vec<&str> {
        let known = lab.registry.examples().iter().filter(|(name, _)| name == command);
        known.map(|(_, line)| line.as_str()).collect()
    };
    let examples = |command: clap::Command| {
        let name = command.get_name().to_owned();
        let inner = |inner: clap::Command| {
            let lines = of(&format!("{name} {}", inner.get_name()));
            showing(inner, lines)
        };
        showing(command.mut_subcommands(inner), of(&name))
    };
    let definition = with_numbers(Lab::command()).mut_subcommands(examples);
    let first = of("run").into_iter().take(1).chain([compare::EXAMPLE]).collect();
    let definition = showing(definition, first);
    let about_commands = |arg: &clap::Arg| arg.get_help_heading() == Some(compare::COMMANDS);
    definition.mut_subcommand("compare", |command| {
        let command = command.override_usage(compare::usage(lab.name));
        command.mut_args(|arg| if about_commands(&arg) { arg.hide_short_help(true) } else { arg })
    })
}

fn parse(definition: clap::Command, arguments: impl Iterator<Item = OsString>) -> Result<Lab, clap::Error> {
    let matches = definition.try_get_matches_from(arguments)?;
    Lab::from_arg_matches(&matches)
}

/// Handles help and usage errors: the command ends here.
fn early(lab: &LabSetup<'_>, error: &clap::Error) -> Exit {
    if error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let message = renamed(error, lab.registry.suites()).unwrap_or_else(|| one_line(error));
        writeln!(std::io::stderr(), "{}: {message} (see --help)", lab.name).ok();
    } else {
        error.print().ok();
    }
    if error.use_stderr() { Exit::Usage } else { Exit::Ok }
}

fn dispatch(lab: &LabSetup<'_>, command: Command, console: &mut Console<'_>) -> Result<Exit, Error> {
    match command {
        Command::List(args) => list::main(lab, &args, console),
        Command::Run(args) => run::main(lab, &args, console),
        Command::Compare(args) => compare::main(lab, &args, console),
        #[cfg(feature = "gates")]
        Command::Gate(args) => gate::main(lab, &args, console),
        #[cfg(feature = "gates")]
        Command::Claim(args) => claim::main(lab, &args, console),
        Command::Check(args) => reports::check(&args, console),
        Command::Report(args) => reports::main(&args, console),
        Command::Doctor(args) => doctor::main(lab, &args, console),
        Command::Session => {
            let clock = Monotonic::new();
            let input = std::io::stdin().lock();
            Worker::new(lab.registry, &clock).serve(input, &mut *console.out).map_err(Error::Output)?;
            Ok(Exit::Ok)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::registry::Registry;

    #[test]
    fn measures_nothing_after_a_wrong_known_answer() {
        let mut registry = Registry::new();
        registry.known_answers("good", || Ok(3));
        registry.known_answers("bad", || Err("2 + 2 gives 5".to_owned()));
        let lab = LabSetup { name: "lab", arguments: &[], registry: &registry, package: None, builder: None };
        let folder = std::env::temp_dir().join(format!("lab-answers-{}", std::process::id()));
        let arguments = ["run", "lab.cpu", "--out"].map(OsString::from).into_iter();
        assert_eq!(main(&lab, arguments.chain([folder.clone().into()])), Exit::Invalid);
        assert!(!folder.exists(), "no report was begun");
    }
}
