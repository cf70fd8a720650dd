//! Usage errors of b3sum and of GNU's programs, with their messages.

use clap::builder::Resettable;
use clap::error::{ContextKind, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use std::ffi::OsString;
use std::path::PathBuf;

/// The usage error of b3sum. It uses clap, so the message comes from a definition of its flags. For flags that only we have,
/// our message is used.
pub(super) fn b3sum(own: clap::Error, args: &[OsString]) -> clap::Error {
    match b3sum_flags().try_get_matches_from(args) {
        Err(error) if error.kind() != ErrorKind::UnknownArgument || error.kind() == own.kind() => error,
        _ => own,
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

/// Flags that need `--check`, in the order in which GNU's programs report them.
const CHECK_FLAGS: [&str; 5] = ["ignore-missing", "status", "warn", "quiet", "strict"];

/// Long flags of GNU's programs, which accept unambiguous prefixes.
const LONG_FLAGS: [&str; 12] = [
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

/// Expands prefixes of flags, or reports an ambiguous one.
pub(super) fn expand_prefixes(mut args: Vec<OsString>) -> Result<Vec<OsString>, String> {
    for arg in args.iter_mut().skip(1) {
        let Some(typed) = arg.to_str().and_then(|arg| arg.strip_prefix("--")) else { continue };
        if typed.is_empty() {
            break;
        }
        let matching: Vec<&str> = LONG_FLAGS.into_iter().filter(|name| name.starts_with(typed)).collect();
        match matching[..] {
            [] => {}
            [one] => *arg = format!("--{one}").into(),
            _ if matching.contains(&typed) => {}
            _ => {
                let all: Vec<String> = matching.iter().map(|name| format!(" '--{name}'")).collect();
                return Err(format!("option '--{typed}' is ambiguous; possibilities:{}", all.concat()));
            }
        }
    }
    Ok(args)
}

/// Makes flags combine as in GNU's programs: repetition is allowed, of some flags the last one counts, and [`conflict`] reports
/// those that exclude each other.
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
    // Conflicts with flags that only we have.
    command.mut_arg("check", |check| check.conflicts_with_all(["raw", "no_names"]))
}

/// The message for flags that exclude each other or need `--check`.
pub(super) fn conflict(matches: &ArgMatches, args: &[OsString]) -> Option<String> {
    let at = |id: &str| {
        let given = matches.value_source(id) == Some(ValueSource::CommandLine);
        given.then(|| matches.index_of(id)).flatten()
    };
    let is = |id: &str| at(id).is_some();
    if at("tag").zip(at("text")).is_some_and(|(tag, text)| tag < text) {
        return Some("--tag does not support --text mode".to_owned());
    }
    if is("check") {
        let message = match () {
            () if is("zero") => "the --zero option is not supported",
            () if is("tag") => "the --tag option is meaningless",
            () if is("binary") || is("text") => "the --binary and --text options are meaningless",
            () => return None,
        };
        return Some(format!("{message} when verifying checksums"));
    }
    let name = CHECK_FLAGS.into_iter().find(|name| is(&name.replace('-', "_")))?;
    // Our other jobs accept it.
    if name == "quiet" && ["expect", "audit", "update", "duplicates", "xattr"].into_iter().any(is) {
        return None;
    }
    // GNU's programs have no short flag for it.
    if name == "quiet" && !is_given(args, name) {
        return Some("invalid option -- 'q'".to_owned());
    }
    Some(format!("the --{name} option is meaningful only when verifying checksums"))
}

/// A message with a pointer to the help.
pub(super) fn with_help(message: &str, name: &str) -> String {
    format!("{message}\nTry '{name} --help' for more information.")
}

/// The message of GNU's programs for a usage error.
pub(super) fn gnu_message(error: &clap::Error, args: &[OsString], name: &str) -> String {
    let message = gnu_text(error, args).unwrap_or_else(|| super::error_message::one_line(error, None));
    with_help(&message, name)
}

fn gnu_text(error: &clap::Error, args: &[OsString]) -> Option<String> {
    let word = |kind| error.get(kind).map(ToString::to_string);
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let typed = word(ContextKind::InvalidArg)?;
            Some(match typed.strip_prefix("--") {
                Some(_) => {
                    let mut long_args = args.iter().filter_map(|arg| arg.to_str());
                    let is = |arg: &&str| *arg == typed || arg.starts_with(&format!("{typed}="));
                    format!("unrecognized option '{}'", long_args.find(is).unwrap_or(&typed))
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

/// Whether a flag was given by its long name.
fn is_given(args: &[OsString], name: &str) -> bool {
    let mut words = args.iter().skip(1).filter_map(|arg| arg.to_str()).take_while(|arg| *arg != "--");
    words.any(|word| word.strip_prefix("--") == Some(name))
}
