//! What was typed. Meaning is given to it by each command; here it is only parsed.

#[cfg(any(not(feature = "doc"), not(feature = "lab")))]
mod absent;
mod compare;
#[cfg(feature = "doc")]
mod doc;
mod engine;
#[cfg(feature = "generate")]
mod generate;
mod habits;
mod help;
mod hint;
mod info;
mod known;
#[cfg(feature = "lab")]
mod lab;
mod mistake;
mod operands;
mod password;
mod plain;
mod screen;
mod sum;
mod theirs;
mod tune;

#[cfg(not(feature = "doc"))]
use absent::AbsentArgs as DocArgs;
#[cfg(not(feature = "lab"))]
use absent::AbsentArgs as LabArgs;
pub(crate) use compare::CompareArgs;
#[cfg(feature = "doc")]
pub(crate) use doc::{
    AnonymiseArgs, AtArgs, BlameArgs, ChangeFlags, CheckArgs, DeleteArgs, DiffArgs, DocArgs, DocCommand,
    ExamineArgs, ExamineSyncArgs, Expand, ExportArgs, ForkArgs, GetArgs, ImportArgs, JsonFlag, LogArgs,
    MarkArgs, MergeArgs, NewArgs, PatchArgs, PutArgs, RescueArgs, ShowArgs, SpliceArgs, SquashArgs, SyncArgs,
    UndoArgs, ViewArgs,
};
#[cfg(feature = "gpu")]
pub(crate) use engine::EngineName;
pub(crate) use engine::{EngineFlags, EnginesFlags};
#[cfg(feature = "generate")]
pub(crate) use generate::GenerateArgs;
pub(crate) use info::InfoArgs;
#[cfg(feature = "lab")]
pub(crate) use lab::LabArgs;
pub(crate) use password::{
    BenchArgs, CalibrateArgs, CsvColumn, FileFlags, HashArgs, InputFlags, KdfArgs, Kib, LimitFlags,
    NeedsRehashArgs, PasswordArgs, PasswordCommand, PolicyFlags, StoredFlags, UpgradeArgs, VerifyArgs,
};
pub(crate) use sum::SumArgs;
pub(crate) use tune::TuneArgs;

use crate::os::{self, Output};
use crate::out::colour;
use crate::program::Program;
use crate::{FAILED, out};
use clap::error::{ContextKind, ErrorKind};
use clap::{Args as _, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};
use mistake::one_line;
use screen::ScreenFlags;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// Check files, hash passwords, merge documents that several people edit, and measure programs
#[derive(Parser, Debug)]
#[command(
    name = "hashmill",
    version,
    propagate_version = true,
    max_term_width(100),
    arg_required_else_help(true),
    after_help = EXAMPLES
)]
pub(crate) struct Line<C: Subcommand> {
    #[command(subcommand)]
    pub(crate) command: C,

    #[command(flatten)]
    pub(crate) screen: ScreenFlags,
}

const EXAMPLES: &str = "\
Examples:
  hashmill sum *.iso > SUMS && hashmill sum --check SUMS
  hashmill compare photos /backup/photos
  hashmill password hash
  hashmill sum --help          # for every command";

/// What to do.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Sum(Box<SumArgs>),
    Compare(CompareArgs),
    Password(Box<PasswordArgs>),
    Doc(Box<DocArgs>),
    Info(InfoArgs),
    Tune(TuneArgs),
    Lab(LabArgs),
    #[cfg(feature = "generate")]
    Generate(GenerateArgs),
}

/// The one command whose start is waited for, thousands of times in a row. Defining the others, with all that they have below
/// them, takes longer than hashing a small file.
#[derive(Subcommand, Debug)]
enum Quick {
    Sum(Box<SumArgs>),
}

impl From<Quick> for Command {
    fn from(Quick::Sum(low): Quick) -> Command {
        Command::Sum(low)
    }
}

/// A command line that parses but makes no sense.
#[derive(Debug)]
pub(crate) struct Misuse(pub(crate) String);

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Misuse {}

/// What to say of a command or an engine that this build leaves out.
#[cfg(any(not(feature = "doc"), not(feature = "gpu"), not(feature = "lab")))]
pub(crate) fn absent(feature: &str) -> anyhow::Error {
    Misuse(format!("this program was built without `{feature}` (a feature of the package hashmill-cli)"))
        .into()
}

/// Parses a command line.
pub(crate) fn parse(args: Vec<OsString>) -> Result<Line<Command>, Early> {
    let program = Program::this();
    if let Some(low) = plain::words_of_sum(&args, program).and_then(plain::read) {
        return Ok(Line { command: Command::Sum(Box::new(low)), screen: ScreenFlags::default() });
    }
    if program != Program::Hashmill {
        return parse_link(args, program);
    }
    let args = screen::behind_the_command(args);
    let choice = screen::of_the_parser(&args);
    if args.get(1).is_some_and(|word| word == "sum") {
        let mut parser = help::short(Line::<Quick>::command()).color(choice);
        let sum = parser.find_subcommand("sum").unwrap_or(&parser);
        let (args, operands) = operands::take_out(&parser, sum, 2, args.into_iter());
        let Line { mut command, screen } = parse_as::<Quick>(&mut parser, args, false)?;
        let Quick::Sum(low) = &mut command;
        low.files.extend(operands.into_iter().map(PathBuf::from));
        return Ok(Line { command: command.into(), screen });
    }
    let near_passwords = args.get(1).is_some_and(|word| word == "password");
    parse_as(&mut definition().color(choice), with_long_id(args), near_passwords)
}

/// The command line of a program that others know: that of `hashmill sum` without the word.
fn parse_link(args: Vec<OsString>, program: Program) -> Result<Line<Command>, Early> {
    let name = program.name();
    let parser = ScreenFlags::augment_args(clap::Command::new(name)).next_help_heading(None::<&str>);
    let parser = SumArgs::augment_args(parser);
    let gnu = matches!(program, Program::Gnu(_));
    let args = if gnu {
        theirs::whole_flags(args).map_err(|words| Early::gnu(&parser, &words, name))?
    } else {
        args
    };
    let parser = if gnu { theirs::as_gnu(parser) } else { parser };
    let mut parser = parser
        .version(env!("CARGO_PKG_VERSION"))
        .max_term_width(100)
        .after_help(format!("This is hashmill under the name {name}; 'hashmill sum -h' shows examples."))
        .color(screen::of_the_parser(&args));
    let colour = parser.get_color();
    let (args, operands) = operands::take_out(&parser, &parser, 1, args.into_iter());
    let early = |error: clap::Error| {
        let hint = gnu.then(|| theirs::gnu(&error, &args, name));
        let is_wrong = error.use_stderr() && program == Program::B3sum;
        let error = if is_wrong { theirs::b3sum(error, &args) } else { error };
        Early { error, near_passwords: false, colour, hint }
    };
    let mut matches = parser.try_get_matches_from_mut(&args).map_err(early)?;
    if let Some(words) = theirs::misuse(&matches, &args).filter(|_| gnu) {
        return Err(Early::gnu(&parser, &words, name));
    }
    let mut low = SumArgs::from_arg_matches_mut(&mut matches).map_err(early)?;
    let screen = ScreenFlags::from_arg_matches_mut(&mut matches).map_err(early)?;
    low.files.extend(operands.into_iter().map(PathBuf::from));
    Ok(Line { command: Command::Sum(Box::new(low)), screen })
}

/// All of it.
pub(crate) fn definition() -> clap::Command {
    help::short(Line::<Command>::command())
}

fn parse_as<C: Subcommand>(
    parser: &mut clap::Command,
    args: Vec<OsString>,
    near_passwords: bool,
) -> Result<Line<C>, Early> {
    let (colour, words) = (parser.get_color(), args.clone());
    match parser.try_get_matches_from_mut(args) {
        Ok(mut matches) => Line::<C>::from_arg_matches_mut(&mut matches).map_err(|error| Early {
            error,
            near_passwords,
            colour,
            hint: None,
        }),
        Err(error) => {
            // A command that is not known may be one of those that were not defined for speed.
            let hint = hint::hint(&error, &definition(), &words);
            let hint = operands::dashed(parser, &error, &words).or(hint);
            Err(Early { error, near_passwords, colour, hint })
        }
    }
}

/// `-id` of the program `argon2` is one flag, where the parser sees two.
fn with_long_id(mut args: Vec<OsString>) -> Vec<OsString> {
    if args.get(1).is_some_and(|word| word == "password") && args.get(2).is_some_and(|word| word == "kdf") {
        args.iter_mut().filter(|word| *word == "-id").for_each(|word| *word = "--id".into());
    }
    args
}

/// Help, a version or a mistake: in each case the program ends before it does anything.
#[derive(Debug)]
pub(crate) struct Early {
    error: clap::Error,
    /// What was typed may be a password.
    near_passwords: bool,
    /// What the command line says about colours.
    colour: ColorChoice,
    /// What was meant, if that is known.
    hint: Option<String>,
}

impl Early {
    /// A mistake in the words of GNU's programs.
    fn gnu(parser: &clap::Command, words: &str, name: &str) -> Early {
        let error = parser.clone().error(ErrorKind::UnknownArgument, words);
        let hint = Some(theirs::with_help(words, name));
        Early { error, near_passwords: false, colour: ColorChoice::Auto, hint }
    }

    /// What is wrong, on one line, or as another program says it.
    fn message(&self) -> String {
        if let (Program::Gnu(_), Some(words)) = (Program::this(), &self.hint) {
            return words.clone();
        }
        let word = self.error.get(ContextKind::InvalidArg).map(ToString::to_string);
        let unexpected = self.error.kind() == ErrorKind::UnknownArgument;
        if self.near_passwords && unexpected && word.as_ref().is_some_and(|word| word.starts_with('$')) {
            return "a stored hash stands behind '--hash', or on standard input with '--hash -' (see --help)"
                .to_owned();
        }
        if self.near_passwords && unexpected && word.is_none_or(|word| !word.starts_with('-')) {
            return "a word that is not expected here; passwords are no arguments, as others could see them (see --help)"
                .to_owned();
        }
        one_line(&self.error, self.hint.as_deref())
    }

    /// Prints it and tells the exit code.
    pub(crate) fn show(&self) -> ExitCode {
        let code = self.error.exit_code().clamp(0, 255) as u8;
        let is_help = self.error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
        colour::choose(match self.colour {
            ColorChoice::Auto => colour::When::Auto,
            ColorChoice::Always => colour::When::Always,
            ColorChoice::Never => colour::When::Never,
        });
        if self.error.use_stderr() && !is_help && Program::this() == Program::B3sum {
            // Whose parser is this one. If nobody reads it, nobody can be told.
            let _ = self.error.print();
            return ExitCode::from(code);
        }
        if self.error.use_stderr() && !is_help {
            out::complain(&self.message());
            // What scripts know of GNU's programs.
            return ExitCode::from(if matches!(Program::this(), Program::Gnu(_)) { FAILED } else { code });
        }
        if self.error.kind() == ErrorKind::DisplayVersion && Program::this() != Program::Hashmill {
            let text = format!("{} (hashmill {})\n", Program::this().name(), env!("CARGO_PKG_VERSION"));
            return ExitCode::from(if out::print(&text).is_ok() { code } else { FAILED });
        }
        let there = if self.error.use_stderr() { Ok(()) } else { Output::new().check() };
        ExitCode::from(match there.and_then(|()| self.error.print()) {
            Ok(()) => code,
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => os::end_unread(FAILED),
            Err(error) => {
                out::complain(&format!("standard output: {error}"));
                FAILED
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistake(line: &str) -> String {
        let args = line.split(' ').map(OsString::from).collect();
        let early = parse(args).expect_err("a mistake");
        assert_eq!(early.error.exit_code(), 2);
        early.message()
    }

    #[test]
    fn the_definition_is_consistent() {
        definition().debug_assert();
        help::short(Line::<Quick>::command()).debug_assert();
    }

    #[test]
    fn a_password_among_the_arguments_is_not_repeated() {
        for line in ["hashmill password hash sesame", "hashmill password verify --hash x sesame"] {
            let message = mistake(line);
            assert!(
                !message.contains("sesame") && message.contains("passwords are no arguments"),
                "{message}"
            );
        }
        assert!(mistake("hashmill password hash --sesame").contains("'--sesame'"), "a flag is named");
        for verb in ["verify", "needs-rehash", "upgrade"] {
            let message =
                mistake(&format!("hashmill password {verb} $argon2id$v=19$m=64,t=1,p=1$c2FsdA$dGFn"));
            assert!(message.contains("'--hash -'") && !message.contains("argon2id"), "{message}");
        }
    }

    /// Flags with a closed set of values, wherever they are.
    #[cfg(all(feature = "doc", feature = "generate", feature = "lab"))]
    #[test]
    fn completions_know_the_values_of_closed_sets() {
        const CLOSED: [&str; 8] =
            ["algorithm", "color", "engine", "kernel", "preset", "progress", "strategy", "variant"];
        fn check(command: &clap::Command, seen: &mut Vec<String>) {
            for arg in command.get_arguments() {
                let name = arg.get_long().unwrap_or_default();
                if CLOSED.contains(&name) {
                    assert!(!arg.get_possible_values().is_empty(), "{} --{name}", command.get_name());
                    seen.push(name.to_owned());
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
                .for_each(|inner| check(inner, seen));
        }
        let mut seen = Vec::new();
        let mut command = definition();
        command.build();
        check(&command, &mut seen);
        assert!(CLOSED.iter().all(|name| seen.iter().any(|other| other == name)), "{seen:?}");
    }

    #[test]
    fn mistakes_take_one_line() {
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
                "the following required arguments were not provided: <--check|--expect <HEX>|--audit <MANIFEST>|--update <MANIFEST>|--duplicates|--xattr> (see --help)",
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
            assert_eq!(mistake(line), message);
        }
    }
}
