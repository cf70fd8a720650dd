//! The program `hashmill`: parses the command line, runs the command, and returns its exit code.

mod atomic_replace;
mod commands;
mod engines;
mod exit_code;
mod flags;
mod os;
mod output;
mod personality;
mod resources;
mod tune_file;

use commands::{compare, info, password, sum, tune};
use exit_code::{FAILED, OK, USAGE};
use flags::{Command, CommandLine, UsageError};
use output::{ReaderGone, ReportedError, audit_output};
use personality::Personality;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = Personality::detect(os::arguments());
    let CommandLine { command, output_flags } = match flags::parse(args) {
        Ok(line) => line,
        Err(early) => return early.show(),
    };
    output::colour::choose(output_flags.color);
    output::progress::choose(output_flags.progress);
    let outcome = match command {
        Command::Sum(flags) => sum::run(*flags),
        Command::Compare(flags) => audit_output::or_incomplete(compare::run(flags)),
        Command::Password(flags) => Ok(password::run(flags.command)),
        #[cfg(feature = "doc")]
        Command::Doc(flags) => commands::doc::run(flags.command),
        #[cfg(not(feature = "doc"))]
        Command::Doc(_) => Err(flags::missing_feature("doc")),
        #[cfg(feature = "serve")]
        Command::Serve(flags) => commands::serve::run(&flags).map(|()| OK),
        #[cfg(not(feature = "serve"))]
        Command::Serve(_) => Err(flags::missing_feature("serve")),
        Command::Info(flags) => info::run(&flags).map(|()| OK),
        Command::Tune(flags) => tune::run(&flags),
        #[cfg(feature = "lab")]
        Command::Lab(flags) => commands::lab::run(flags),
        #[cfg(not(feature = "lab"))]
        Command::Lab(_) => Err(flags::missing_feature("lab")),
        #[cfg(feature = "generate")]
        Command::Generate(flags) => commands::generate::run(&flags).map(|()| OK),
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(error) if error.is::<ReaderGone>() => ExitCode::from(os::exit_by_sigpipe(FAILED)),
        Err(error) if error.is::<ReportedError>() => ExitCode::from(FAILED),
        Err(error) => {
            // b3sum and GNU's programs have no separate exit code for usage errors.
            let (print, usage_code): (fn(&str), u8) = match Personality::current() {
                Personality::Hashmill => (output::print_error, USAGE),
                Personality::B3sum => (output::print_b3sum_error, FAILED),
                Personality::Gnu(_) => (output::print_error, FAILED),
            };
            print(&output::error_chain(&error));
            ExitCode::from(if error.is::<UsageError>() { usage_code } else { FAILED })
        }
    }
}
