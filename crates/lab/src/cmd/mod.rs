//! `lab …`: the commands, for any program that hands in its registry.
//!
//! A program mounts them in a few lines:
//!
//! ```no_run
//! use hashmill_lab::cmd::{self, Mount};
//! use hashmill_lab::model::registry::Registry;
//!
//! let registry = Registry::new(); // … and its workloads
//! let mount = Mount { name: "hashmill lab", arguments: &["lab"], registry: &registry, maker: None };
//! // After `hashmill lab`: what is left of the command line.
//! let exit = cmd::main(&mount, std::env::args_os().skip(2));
//! std::process::exit(exit.code());
//! ```
#![expect(clippy::disallowed_methods, reason = "commands: arguments, the terminal, the program to run again")]

mod args;
mod bench;
#[cfg(feature = "gates")]
mod claim;
mod compare;
mod contests;
mod doctor;
mod endurance;
mod error;
mod explain;
mod files;
#[cfg(feature = "gates")]
mod gate;
mod github;
mod import;
mod interrupt;
mod layouts;
mod list;
mod measure;
mod mistake;
mod noise;
mod paths;
mod progress;
mod reports;
mod run;
mod signature;

use crate::model::registry::Registry;
use crate::session::worker::Worker;
use args::{Command, Lab};
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};
use error::Error;
use hashmill_machine::clock::Monotonic;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use mistake::{one_line, renamed};

pub use crate::report::schema::Build;
pub(crate) use bench::main as bench;

/// How a program carries the lab.
pub struct Mount<'a> {
    /// What the user types before the lab's commands.
    pub name: &'a str,
    /// The arguments with which this program, started again, reaches the lab.
    pub arguments: &'a [&'a str],
    /// What can be measured.
    pub registry: &'a Registry,
    /// Who built this program, where that is known and can be done again.
    pub maker: Option<&'a dyn Maker>,
}

/// Who built a program: says from what, and builds it in other ways for gates that ask for them.
pub trait Maker {
    /// What is known of this very program, but for its label and its bytes.
    fn about(&self) -> Build;

    /// Builds the program as `name` says, and gives its path. It answers like this one when it is started with the
    /// mount's arguments and `session`.
    ///
    /// # Errors
    /// When there is no such build, or it failed.
    fn make(&self, name: &str) -> Result<PathBuf, String>;
}

/// How a command ended; the codes are part of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: done, and nothing speaks against the result.
    Ok = 0,
    /// 1: a gate failed, or a check found a report wrong.
    Failed = 1,
    /// 2: the command itself makes no sense.
    Usage = 2,
    /// 3: nothing was proven: interrupted, or inconclusive under `--strict`.
    Inconclusive = 3,
    /// 4: the result must not be used: wrong digest, failed session, failed control.
    Invalid = 4,
}

impl Exit {
    /// The process's exit code.
    #[must_use]
    pub fn code(self) -> i32 {
        self as i32
    }
}

/// Where a command writes.
struct Console<'a> {
    out: &'a mut dyn Write,
    colour: bool,
}

/// Runs one command with the arguments that follow the mount's name, and prints what it has to say.
pub fn main(mount: &Mount<'_>, arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let stdout = std::io::stdout();
    let colour = stdout.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let mut out = stdout.lock();
    let arguments = std::iter::once(OsString::from(mount.name)).chain(arguments);
    let lab = match parse(definition(mount), arguments) {
        Ok(lab) => lab,
        Err(error) => return early(mount, &error),
    };
    let is_verdict = lab.command.is_verdict();
    let result = dispatch(mount, lab.command, &mut Console { out: &mut out, colour });
    let result = result.and_then(|exit| out.flush().map(|()| exit).map_err(Error::Output));
    result.unwrap_or_else(|error| {
        let exit = error.exit(is_verdict);
        if exit != Exit::Ok {
            writeln!(std::io::stderr(), "{}: {error}", mount.name).ok();
        }
        exit
    })
}

/// The commands and their flags under the mount's name, for whoever writes manual pages or completions.
#[must_use]
pub fn definition(mount: &Mount<'_>) -> clap::Command {
    // A negative number is a number out of range, not an unknown option.
    fn with_numbers(command: clap::Command) -> clap::Command {
        let values = |arg: clap::Arg| {
            let takes = arg.get_action().takes_values();
            if takes { arg.allow_negative_numbers(true) } else { arg }
        };
        command.mut_args(values).mut_subcommands(with_numbers)
    }
    let showing = |command: clap::Command, lines: Vec<&str>| {
        let more = command.get_after_help().map(|text| format!("\n\n{text}")).unwrap_or_default();
        let shown: Vec<String> = lines.iter().map(|line| format!("  {} {line}", mount.name)).collect();
        let text = format!("Examples:\n{}{more}", shown.join("\n"));
        if lines.is_empty() { command } else { command.after_help(text) }
    };
    let of = |command: &str| -> Vec<&str> {
        let known = mount.registry.examples().iter().filter(|(name, _)| name == command);
        known.map(|(_, line)| line.as_str()).collect()
    };
    let examples = |command: clap::Command| {
        let lines = of(command.get_name());
        showing(command, lines)
    };
    let definition = with_numbers(Lab::command()).mut_subcommands(examples);
    let first = of("run").into_iter().take(1).chain([compare::EXAMPLE]).collect();
    let definition = showing(definition, first);
    let about_commands = |arg: &clap::Arg| arg.get_help_heading() == Some(compare::COMMANDS);
    definition.mut_subcommand("compare", |command| {
        let command = command.override_usage(compare::usage(mount.name));
        command.mut_args(|arg| if about_commands(&arg) { arg.hide_short_help(true) } else { arg })
    })
}

fn parse(definition: clap::Command, arguments: impl Iterator<Item = OsString>) -> Result<Lab, clap::Error> {
    let matches = definition.try_get_matches_from(arguments)?;
    Lab::from_arg_matches(&matches)
}

/// Help, or a mistake: the command ends before it does anything.
fn early(mount: &Mount<'_>, error: &clap::Error) -> Exit {
    if error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let message = renamed(error, mount.registry.suites()).unwrap_or_else(|| one_line(error));
        writeln!(std::io::stderr(), "{}: {message} (see --help)", mount.name).ok();
    } else {
        error.print().ok();
    }
    if error.use_stderr() { Exit::Usage } else { Exit::Ok }
}

fn dispatch(mount: &Mount<'_>, command: Command, console: &mut Console<'_>) -> Result<Exit, Error> {
    match command {
        Command::List(args) => list::main(mount, &args, console),
        Command::Run(args) => run::main(mount, &args, console),
        Command::Compare(args) => compare::main(mount, &args, console),
        #[cfg(feature = "gates")]
        Command::Gate(args) => gate::main(mount, &args, console),
        #[cfg(feature = "gates")]
        Command::Claim(args) => claim::main(mount, &args, console),
        Command::Check(args) => reports::check(&args, console),
        Command::Report(args) => reports::main(&args, console),
        Command::Doctor(args) => doctor::main(mount, &args, console),
        Command::Session => {
            let clock = Monotonic::new();
            let input = std::io::stdin().lock();
            Worker::new(mount.registry, &clock).serve(input, &mut *console.out).map_err(Error::Output)?;
            Ok(Exit::Ok)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_timed_after_a_wrong_answer() {
        let mut registry = Registry::new();
        registry.known_answers("good", || Ok(3));
        registry.known_answers("bad", || Err("2 + 2 gives 5".to_owned()));
        let mount = Mount { name: "lab", arguments: &[], registry: &registry, maker: None };
        let folder = std::env::temp_dir().join(format!("lab-answers-{}", std::process::id()));
        let arguments = ["run", "lab.cpu", "--out"].map(OsString::from).into_iter();
        assert_eq!(main(&mount, arguments.chain([folder.clone().into()])), Exit::Invalid);
        assert!(!folder.exists(), "no report was begun");
    }
}
