//! Mistakes on the command line of b3sum and of GNU's programs, in their words: scripts and people know them.

use clap::builder::Resettable;
use clap::error::{ContextKind, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use std::ffi::OsString;
use std::path::PathBuf;

/// What b3sum says of a command line that we do not understand. Its parser is ours, so its words come from its flags. Where it
/// knows less than we do, ours are better.
pub(super) fn b3sum(ours: clap::Error, args: &[OsString]) -> clap::Error {
    match b3sum_flags().try_get_matches_from(args) {
        Err(theirs) if theirs.kind() != ErrorKind::UnknownArgument || theirs.kind() == ours.kind() => theirs,
        _ => ours,
    }
}

/// The command line of `b3sum` 1.8.7.
fn b3sum_flags() -> Command {
    let switch = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    let valued = |name: &'static str, value: &'static str| Arg::new(name).long(name).value_name(value);
    let not_checked = ["derive-key", "keyed", "length", "raw", "tag", "no-names"];
    Command::new("b3sum").max_term_width(100).args([
        Arg::new("file").value_name("FILE").action(ArgAction::Append).value_parser(value_parser!(PathBuf)),
        switch("keyed").requires("file"),
        valued("derive-key", "CONTEXT").conflicts_with("keyed"),
        valued("length", "LEN").short('l').default_value("32").value_parser(value_parser!(u64)),
        valued("seek", "SEEK").default_value("0").value_parser(value_parser!(u64)),
        valued("num-threads", "NUM").value_parser(|text: &str| text.parse::<usize>()),
        switch("no-mmap"),
        switch("no-names"),
        switch("raw"),
        switch("tag"),
        switch("check").short('c').conflicts_with_all(not_checked),
        switch("quiet").requires("check"),
    ])
}

/// Flags that mean nothing but in a check, in the order in which they are complained about.
const CHECKING: [&str; 5] = ["ignore-missing", "status", "warn", "quiet", "strict"];

/// Flags that GNU's programs have. What begins like one of them is that one.
const LONG: [&str; 12] = [
    "binary",
    "check",
    "help",
    "ignore-missing",
    "quiet",
    "status",
    "strict",
    "tag",
    "text",
    "version",
    "warn",
    "zero",
];

/// The same command line with the beginnings of flags made whole, or what is wrong with one.
pub(super) fn whole_flags(mut args: Vec<OsString>) -> Result<Vec<OsString>, String> {
    for arg in args.iter_mut().skip(1) {
        let Some(typed) = arg.to_str().and_then(|arg| arg.strip_prefix("--")) else { continue };
        if typed.is_empty() {
            break;
        }
        let meant: Vec<&str> = LONG.into_iter().filter(|name| name.starts_with(typed)).collect();
        match meant[..] {
            [] => {}
            [one] => *arg = format!("--{one}").into(),
            _ if meant.contains(&typed) => {}
            _ => {
                let all: Vec<String> = meant.iter().map(|name| format!(" '--{name}'")).collect();
                return Err(format!("option '--{typed}' is ambiguous; possibilities:{}", all.concat()));
            }
        }
    }
    Ok(args)
}

/// Flags get on with each other as those of GNU's programs do: nothing is said twice, of some the last one counts, and what
/// does not go together is told by [`misuse`].
pub(super) fn as_gnu(mut command: Command) -> Command {
    let (louder, modes) = (["quiet", "status", "warn"], ["binary", "text"]);
    let others = ["check", "ignore_missing", "strict", "tag", "zero"];
    let alone = others.iter().map(std::slice::from_ref);
    for alternatives in [&louder[..], &modes].into_iter().chain(alone) {
        for id in alternatives {
            command = command.mut_arg(id, |arg| {
                let free = arg.conflicts_with(Resettable::Reset).requires(Resettable::Reset);
                free.overrides_with_all(alternatives)
            });
        }
    }
    // Of those that only ours has.
    command.mut_arg("check", |check| check.conflicts_with_all(["raw", "no_names"]))
}

/// What they say of flags that do not go together, or not without `--check`.
pub(super) fn misuse(matches: &ArgMatches, args: &[OsString]) -> Option<String> {
    let at = |id: &str| {
        let given = matches.value_source(id) == Some(ValueSource::CommandLine);
        given.then(|| matches.index_of(id)).flatten()
    };
    let is = |id: &str| at(id).is_some();
    if at("tag").zip(at("text")).is_some_and(|(tag, text)| tag < text) {
        return Some("--tag does not support --text mode".to_owned());
    }
    if is("check") {
        let words = match () {
            () if is("zero") => "the --zero option is not supported",
            () if is("tag") => "the --tag option is meaningless",
            () if is("binary") || is("text") => "the --binary and --text options are meaningless",
            () => return None,
        };
        return Some(format!("{words} when verifying checksums"));
    }
    let name = CHECKING.into_iter().find(|name| is(&name.replace('-', "_")))?;
    // It goes with other jobs of ours.
    if name == "quiet" && ["expect", "audit", "update", "duplicates", "xattr"].into_iter().any(is) {
        return None;
    }
    // A letter that they do not have.
    if name == "quiet" && !is_given(args, name) {
        return Some("invalid option -- 'q'".to_owned());
    }
    Some(format!("the --{name} option is meaningful only when verifying checksums"))
}

/// A complaint, and where to read on.
pub(super) fn with_help(words: &str, name: &str) -> String {
    format!("{words}\nTry '{name} --help' for more information.")
}

/// What is wrong, in their words.
pub(super) fn gnu(error: &clap::Error, args: &[OsString], name: &str) -> String {
    let what = words(error, args).unwrap_or_else(|| super::mistake::one_line(error, None));
    with_help(&what, name)
}

fn words(error: &clap::Error, args: &[OsString]) -> Option<String> {
    let word = |kind| error.get(kind).map(ToString::to_string);
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let typed = word(ContextKind::InvalidArg)?;
            Some(match typed.strip_prefix("--") {
                Some(_) => {
                    let mut whole = args.iter().filter_map(|arg| arg.to_str());
                    let is = |arg: &&str| *arg == typed || arg.starts_with(&format!("{typed}="));
                    format!("unrecognized option '{}'", whole.find(is).unwrap_or(&typed))
                }
                None => format!("invalid option -- '{}'", typed.trim_start_matches('-')),
            })
        }
        ErrorKind::TooManyValues => {
            let flag = word(ContextKind::InvalidArg)?;
            Some(format!("option '{flag}' doesn't allow an argument"))
        }
        _ => None,
    }
}

/// Whether a flag was typed under its whole name.
fn is_given(args: &[OsString], name: &str) -> bool {
    let mut words = args.iter().skip(1).filter_map(|arg| arg.to_str()).take_while(|arg| *arg != "--");
    words.any(|word| word.strip_prefix("--") == Some(name))
}
