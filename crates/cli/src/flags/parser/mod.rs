//! The command-line parser: clap, with shortcuts around it and better messages behind it.

mod error_message;
mod fast_path;
mod foreign_flags;
mod gnu_errors;
mod help;
mod operands;
mod suggest;

#[cfg(feature = "serve")]
pub(crate) use suggest::nearest;

use super::commands::{Command, SumArgs};
use super::output_flags::{self, OutputFlags};
use crate::exit_code::FAILED;
use crate::os::{self, Output};
use crate::output::{self, colour};
use crate::personality::Personality;
use clap::error::{ContextKind, ErrorKind};
use clap::{Args as _, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};
use error_message::one_line;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// Checksums, password hashes, shared documents and benchmarks
#[derive(Parser, Debug)]
#[command(
    name = "hashmill",
    version,
    propagate_version = true,
    max_term_width(100),
    arg_required_else_help(true),
    after_help = EXAMPLES
)]
pub(crate) struct CommandLine<C: Subcommand> {
    #[command(subcommand)]
    pub(crate) command: C,

    #[command(flatten)]
    pub(crate) output_flags: OutputFlags,
}

const EXAMPLES: &str = "\
Examples:
  hashmill sum *.iso > SUMS && hashmill sum --check SUMS
  hashmill compare photos /backup/photos
  hashmill password hash";

/// Only `sum`, whose start-up time matters most: defining the other commands takes longer than hashing a small file.
#[derive(Subcommand, Debug)]
enum FastSum {
    Sum(Box<SumArgs>),
}

impl From<FastSum> for Command {
    fn from(FastSum::Sum(flags): FastSum) -> Command {
        Command::Sum(flags)
    }
}

/// Parses a command line.
pub(crate) fn parse(args: Vec<OsString>) -> Result<CommandLine<Command>, EarlyExit> {
    let personality = Personality::current();
    if let Some(flags) = fast_path::words_of_sum(&args, personality).and_then(fast_path::read) {
        return Ok(CommandLine {
            command: Command::Sum(Box::new(flags)),
            output_flags: OutputFlags::default(),
        });
    }
    if personality != Personality::Hashmill {
        return parse_link(args, personality);
    }
    let args = output_flags::move_behind_command(args);
    let choice = output_flags::parser_colour(&args);
    if args.get(1).is_some_and(|word| word == "sum") {
        let mut parser = help::short(CommandLine::<FastSum>::command()).color(choice);
        let sum = parser.find_subcommand("sum").unwrap_or(&parser);
        let (args, operands) = operands::take_out(&parser, sum, 2, args.into_iter());
        let CommandLine { mut command, output_flags } = parse_as::<FastSum>(&mut parser, args, false)?;
        let FastSum::Sum(flags) = &mut command;
        flags.files.extend(operands.into_iter().map(PathBuf::from));
        return Ok(CommandLine { command: command.into(), output_flags });
    }
    let near_passwords = args.get(1).is_some_and(|word| word == "password");
    parse_as(&mut definition().color(choice), with_long_id(args), near_passwords)
}

/// The command line of a personality that others know: that of `hashmill sum` without the word.
fn parse_link(args: Vec<OsString>, personality: Personality) -> Result<CommandLine<Command>, EarlyExit> {
    let name = personality.name();
    let parser = OutputFlags::augment_args(clap::Command::new(name)).next_help_heading(None::<&str>);
    let parser = SumArgs::augment_args(parser);
    let gnu = matches!(personality, Personality::Gnu(_));
    let args = if gnu {
        gnu_errors::expand_prefixes(args).map_err(|words| EarlyExit::gnu(&parser, &words, name))?
    } else {
        args
    };
    let parser = if gnu { gnu_errors::as_gnu(parser) } else { parser };
    let mut parser = parser
        .version(env!("CARGO_PKG_VERSION"))
        .max_term_width(100)
        .after_help(format!("This is hashmill under the name {name}; 'hashmill sum -h' shows examples."))
        .color(output_flags::parser_colour(&args));
    let colour = parser.get_color();
    let (args, operands) = operands::take_out(&parser, &parser, 1, args.into_iter());
    let early = |error: clap::Error| {
        let hint = gnu.then(|| gnu_errors::gnu_message(&error, &args, name));
        let is_wrong = error.use_stderr() && personality == Personality::B3sum;
        let error = if is_wrong { gnu_errors::b3sum(error, &args) } else { error };
        EarlyExit { error, near_passwords: false, colour, hint }
    };
    let mut matches = parser.try_get_matches_from_mut(&args).map_err(early)?;
    if let Some(words) = gnu_errors::conflict(&matches, &args).filter(|_| gnu) {
        return Err(EarlyExit::gnu(&parser, &words, name));
    }
    let mut flags = SumArgs::from_arg_matches_mut(&mut matches).map_err(early)?;
    let output_flags = OutputFlags::from_arg_matches_mut(&mut matches).map_err(early)?;
    flags.files.extend(operands.into_iter().map(PathBuf::from));
    Ok(CommandLine { command: Command::Sum(Box::new(flags)), output_flags })
}

/// The complete definition.
pub(crate) fn definition() -> clap::Command {
    help::short(CommandLine::<Command>::command())
}

fn parse_as<C: Subcommand>(
    parser: &mut clap::Command,
    args: Vec<OsString>,
    near_passwords: bool,
) -> Result<CommandLine<C>, EarlyExit> {
    let (colour, words) = (parser.get_color(), args.clone());
    match parser.try_get_matches_from_mut(args) {
        Ok(mut matches) => CommandLine::<C>::from_arg_matches_mut(&mut matches).map_err(|error| EarlyExit {
            error,
            near_passwords,
            colour,
            hint: None,
        }),
        Err(error) => {
            // The suggestion needs the complete definition, also of commands left out for speed.
            let hint = suggest::suggest(&error, &definition(), &words);
            let hint = operands::dashed_file_hint(parser, &error, &words).or(hint);
            Err(EarlyExit { error, near_passwords, colour, hint })
        }
    }
}

/// `-id` of the personality `argon2` is one flag, where the parser sees two.
fn with_long_id(mut args: Vec<OsString>) -> Vec<OsString> {
    if args.get(1).is_some_and(|word| word == "password") && args.get(2).is_some_and(|word| word == "kdf") {
        args.iter_mut().filter(|word| *word == "-id").for_each(|word| *word = "--id".into());
    }
    args
}

/// Help, a version or a usage error: the program ends before it does anything.
#[derive(Debug)]
pub(crate) struct EarlyExit {
    error: clap::Error,
    /// An argument may be a password, so it is not repeated.
    near_passwords: bool,
    /// The colour mode.
    colour: ColorChoice,
    /// A suggestion, if there is one.
    hint: Option<String>,
}

impl EarlyExit {
    /// A usage error as GNU's programs report it.
    fn gnu(parser: &clap::Command, words: &str, name: &str) -> EarlyExit {
        let error = parser.clone().error(ErrorKind::UnknownArgument, words);
        let hint = Some(gnu_errors::with_help(words, name));
        EarlyExit { error, near_passwords: false, colour: ColorChoice::Auto, hint }
    }

    /// The message on one line, or as the personality reports it.
    fn message(&self) -> String {
        if let (Personality::Gnu(_), Some(words)) = (Personality::current(), &self.hint) {
            return words.clone();
        }
        let word = self.error.get(ContextKind::InvalidArg).map(ToString::to_string);
        let unexpected = self.error.kind() == ErrorKind::UnknownArgument;
        if self.near_passwords && unexpected && word.as_ref().is_some_and(|word| word.starts_with('$')) {
            return "a stored hash is given with '--hash', or on standard input with '--hash -' (see --help)"
                .to_owned();
        }
        if self.near_passwords && unexpected && word.is_none_or(|word| !word.starts_with('-')) {
            return "unexpected argument; passwords are never arguments, as other users could see them (see --help)"
                .to_owned();
        }
        one_line(&self.error, self.hint.as_deref())
    }

    /// Prints it and returns the exit code.
    pub(crate) fn show(&self) -> ExitCode {
        let code = self.error.exit_code().clamp(0, 255) as u8;
        let is_help = self.error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
        colour::choose(match self.colour {
            ColorChoice::Auto => colour::ColourMode::Auto,
            ColorChoice::Always => colour::ColourMode::Always,
            ColorChoice::Never => colour::ColourMode::Never,
        });
        if self.error.use_stderr() && !is_help && Personality::current() == Personality::B3sum {
            // b3sum uses clap, too. A write failure cannot be reported.
            let _ = self.error.print();
            return ExitCode::from(code);
        }
        if self.error.use_stderr() && !is_help {
            output::print_error(&self.message());
            // The exit code of GNU's programs.
            return ExitCode::from(if matches!(Personality::current(), Personality::Gnu(_)) {
                FAILED
            } else {
                code
            });
        }
        if self.error.kind() == ErrorKind::DisplayVersion && Personality::current() != Personality::Hashmill {
            let text =
                format!("{} (hashmill {})\n", Personality::current().name(), env!("CARGO_PKG_VERSION"));
            return ExitCode::from(if output::print(&text).is_ok() { code } else { FAILED });
        }
        let stdout = if self.error.use_stderr() { Ok(()) } else { Output::new().check() };
        ExitCode::from(match stdout.and_then(|()| self.error.print()) {
            Ok(()) => code,
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => os::exit_by_sigpipe(FAILED),
            Err(error) => {
                output::print_error(&format!("standard output: {error}"));
                FAILED
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_error(line: &str) -> String {
        let args = line.split(' ').map(OsString::from).collect();
        let early = parse(args).expect_err("a usage error");
        assert_eq!(early.error.exit_code(), 2);
        early.message()
    }

    #[test]
    fn the_definition_is_consistent() {
        definition().debug_assert();
        help::short(CommandLine::<FastSum>::command()).debug_assert();
    }

    #[test]
    fn messages_do_not_repeat_passwords() {
        for line in ["hashmill password hash sesame", "hashmill password verify --hash x sesame"] {
            let message = parse_error(line);
            assert!(
                !message.contains("sesame") && message.contains("passwords are never arguments"),
                "{message}"
            );
        }
        assert!(parse_error("hashmill password hash --sesame").contains("'--sesame'"), "a flag is named");
        for verb in ["verify", "needs-rehash", "upgrade"] {
            let message =
                parse_error(&format!("hashmill password {verb} $argon2id$v=19$m=64,t=1,p=1$c2FsdA$dGFn"));
            assert!(message.contains("'--hash -'") && !message.contains("argon2id"), "{message}");
        }
    }

    /// Checks flags with a closed set of values.
    #[cfg(all(feature = "doc", feature = "generate", feature = "lab"))]
    #[test]
    fn closed_sets_have_completions() {
        const CLOSED: [&str; 8] =
            ["algorithm", "color", "engine", "kernel", "preset", "progress", "strategy", "variant"];
        fn check(command: &clap::Command, found: &mut Vec<String>) {
            for arg in command.get_arguments() {
                let name = arg.get_long().unwrap_or_default();
                if CLOSED.contains(&name) {
                    assert!(!arg.get_possible_values().is_empty(), "{} --{name}", command.get_name());
                    found.push(name.to_owned());
                }
                // A help text that lists names says that the set is closed.
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                let lists_names = arg.get_action().takes_values()
                    && help.split(": ").nth(1).is_some_and(|names| names.starts_with("auto, "));
                assert!(
                    !lists_names || !arg.get_possible_values().is_empty(),
                    "{} --{name}",
                    command.get_name()
                );
            }
            command
                .get_subcommands()
                .filter(|inner| inner.get_name() != "lab")
                .for_each(|inner| check(inner, found));
        }
        let mut found = Vec::new();
        let mut command = definition();
        command.build();
        check(&command, &mut found);
        assert!(CLOSED.iter().all(|name| found.iter().any(|other| other == name)), "{found:?}");
    }

    #[test]
    fn usage_errors_are_one_line() {
        for (line, message) in [
            (
                "hashmill sum --recursiv",
                "unexpected argument '--recursiv' found; a similar argument exists: '--recursive' (see --help)",
            ),
            (
                "hashmill sum --seek 18446744073709551616",
                "invalid value '18446744073709551616' for '--seek <SEEK>': number too large to fit in target type (see --help)",
            ),
            (
                "hashmill sum --keyed",
                "the following required arguments were not provided: <FILE>... (see --help)",
            ),
            (
                "hashmill sum --quiet f",
                "the following required arguments were not provided: <--check|--expect <HEX>|--audit <LIST>|--update <LIST>|--duplicates|--xattr> (see --help)",
            ),
            (
                "hashmill sum --keyed --derive-key c f",
                "the argument '--keyed' cannot be used with '--derive-key <CONTEXT>' (see --help)",
            ),
            (
                "hashmill sun",
                "unrecognized subcommand 'sun'; a similar subcommand exists: 'sum' (see --help)",
            ),
        ] {
            assert_eq!(parse_error(line), message);
        }
    }
}
