//! The `hashmill` binary: reads the command line, wires engines to commands, ends with an exit code.

mod busy;
mod compare;
#[cfg(feature = "doc")]
mod doc;
mod engine;
mod findings;
mod flags;
#[cfg(feature = "generate")]
mod generate;
mod info;
mod kept;
#[cfg(feature = "lab")]
mod lab;
mod memory;
mod os;
mod out;
mod password;
mod program;
mod quote;
mod replace;
mod sum;
mod tune;

use flags::Command;
use std::process::ExitCode;

/// Everything went well.
const OK: u8 = 0;
/// Some file or check failed; everything else was done.
const FAILED: u8 = 1;
/// The command line, or the key, cannot be used; nothing was done.
const USAGE: u8 = 2;
/// Something could not be read, so a comparison has no answer about it.
const TROUBLE: u8 = 2;

fn main() -> ExitCode {
    let args = program::Program::called(wild::args_os());
    let flags::Line { command, screen } = match flags::parse(args) {
        Ok(line) => line,
        Err(early) => return early.show(),
    };
    out::colour::choose(screen.color);
    out::progress::choose(screen.progress);
    let outcome = match command {
        Command::Sum(low) => sum::run(*low),
        Command::Compare(low) => findings::or_trouble(compare::run(low)),
        Command::Password(low) => Ok(password::run(low.command)),
        #[cfg(feature = "doc")]
        Command::Doc(low) => doc::run(low.command),
        #[cfg(not(feature = "doc"))]
        Command::Doc(_) => Err(flags::absent("doc")),
        Command::Info(low) => info::run(&low).map(|()| OK),
        Command::Tune(low) => tune::run(&low),
        #[cfg(feature = "lab")]
        Command::Lab(low) => lab::run(low),
        #[cfg(not(feature = "lab"))]
        Command::Lab(_) => Err(flags::absent("lab")),
        #[cfg(feature = "generate")]
        Command::Generate(low) => generate::run(&low).map(|()| OK),
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(error) if error.is::<out::Unread>() => ExitCode::from(os::end_unread(FAILED)),
        Err(error) if error.is::<out::Said>() => ExitCode::from(FAILED),
        Err(error) => {
            // Other programs have no code of their own for what ends them before they have begun.
            let (say, misuse): (fn(&str), u8) = match program::Program::this() {
                program::Program::Hashmill => (out::complain, USAGE),
                program::Program::B3sum => (out::give_up, FAILED),
                program::Program::Gnu(_) => (out::complain, FAILED),
            };
            say(&out::told(&error));
            ExitCode::from(if error.is::<flags::Misuse>() { misuse } else { FAILED })
        }
    }
}
