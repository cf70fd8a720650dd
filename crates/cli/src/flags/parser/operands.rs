//! Operands that bypass clap.
//!
//! Clap makes several allocations and a clone per argument: half a µs each, a fifth of the total time for a small file. So all
//! operands but the first are taken out before it runs and appended afterwards. Clap still sees every flag, and that there are
//! operands.

use clap::error::{ContextKind, ErrorKind};
use clap::{Arg, Command};
use std::collections::HashSet;
use std::ffi::OsString;

/// Takes all operands but the first out of a command line of `command`. The first `words` words are the names of the program and
/// the command.
pub(super) fn take_out(
    program: &Command,
    command: &Command,
    words: usize,
    args: impl Iterator<Item = OsString>,
) -> (Vec<OsString>, Vec<OsString>) {
    let mut args = args.peekable();
    let mut remaining: Vec<OsString> = args.by_ref().take(words).collect();
    let valued = ValuedFlags::from_definition(program, command);
    let mut operands = Vec::new();
    let mut has_operand = false;
    let mut flags_ended = false;
    while let Some(arg) = args.next() {
        let bytes = arg.as_encoded_bytes();
        if !flags_ended && bytes == b"--" {
            flags_ended = true;
            remaining.push(arg);
        } else if flags_ended || bytes == b"-" || !bytes.starts_with(b"-") {
            // An empty operand is a usage error, which clap reports.
            if has_operand && !bytes.is_empty() {
                operands.push(arg);
            } else {
                remaining.push(arg);
            }
            has_operand = true;
        } else {
            let takes_next = valued.takes_next(bytes);
            remaining.push(arg);
            remaining.extend(if takes_next { args.next() } else { None });
        }
    }
    (remaining, operands)
}

/// A hint for a word that may be a file name: a dash and several letters, as a shell expands `*`. A single letter, or a flag of
/// another program, is more likely a flag.
pub(super) fn dashed_file_hint(program: &Command, error: &clap::Error, args: &[OsString]) -> Option<String> {
    let command = args.get(1).and_then(|word| program.find_subcommand(word))?;
    // Only commands with any number of operands get names from a shell pattern.
    let takes_files =
        command.get_positionals().any(|arg| arg.get_num_args().is_none_or(|n| n.max_values() > 1));
    if error.kind() != ErrorKind::UnknownArgument || !takes_files {
        return None;
    }
    let typed = error.get(ContextKind::InvalidArg)?.to_string();
    let letter =
        typed.strip_prefix('-').filter(|rest| !rest.starts_with('-') && rest.chars().count() == 1)?;
    let is_it = |word: &&str| {
        let rest = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        rest.is_some_and(|rest| rest.contains(letter))
    };
    let flags_end = args.iter().position(|word| word == "--").unwrap_or(args.len());
    let word = args[..flags_end].iter().skip(2).filter_map(|word| word.to_str()).find(is_it)?;
    let is_flag =
        word.chars().count() == 2 || super::foreign_flags::hint_for_flag(command.get_name(), word).is_some();
    (!is_flag).then(|| format!("write a file of that name as './{word}', or after '--'"))
}

/// The flags that take a value.
struct ValuedFlags {
    long: HashSet<String>,
    short: HashSet<u8>,
}

impl ValuedFlags {
    fn from_definition(program: &Command, command: &Command) -> ValuedFlags {
        // Clap propagates global flags only when it runs.
        let global = || program.get_opts().filter(|option| option.is_global_set());
        let valued =
            || command.get_opts().chain(global()).filter(|option| option.get_action().takes_values());
        ValuedFlags {
            long: valued().flat_map(names).collect(),
            short: valued().filter_map(|option| u8::try_from(option.get_short()?).ok()).collect(),
        }
    }

    /// Whether the value of the flag in `arg` is the argument after it.
    fn takes_next(&self, arg: &[u8]) -> bool {
        match arg.strip_prefix(b"--") {
            Some(long) => std::str::from_utf8(long).is_ok_and(|long| self.long.contains(long)),
            // In a group of short flags, the first that takes a value takes the rest of the group; the next argument only if
            // the rest is empty.
            None => arg[1..].iter().position(|flag| self.short.contains(flag)) == Some(arg.len() - 2),
        }
    }
}

/// The long names of a flag.
fn names(option: &Arg) -> Vec<String> {
    let aliases = option.get_all_aliases().unwrap_or_default();
    option.get_long().into_iter().chain(aliases).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use crate::flags::{Command as Parsed, CommandLine, parse};
    use clap::{CommandFactory, FromArgMatches};
    use hashmill_testkit::size;
    use std::ffi::OsString;

    /// The result of clap alone.
    fn directly(args: &[OsString]) -> Result<String, String> {
        let matches =
            CommandLine::<Parsed>::command().try_get_matches_from(args).map_err(|error| error.to_string())?;
        CommandLine::<Parsed>::from_arg_matches(&matches)
            .map(|line| display_path(&line))
            .map_err(|error| error.to_string())
    }

    fn display_path(line: &CommandLine<Parsed>) -> String {
        format!("{line:?}")
    }

    /// Tries lines of up to four words of every kind.
    #[test]
    fn parses_as_clap_alone() {
        let words = [
            "a",
            "-",
            "",
            "--",
            "--length",
            "3",
            "--length=3",
            "-l",
            "-l3",
            "-rl",
            "-rl3",
            "--tag",
            "-z",
            "--unknown",
            "-q",
            "-r",
            "--recursive",
            "--seek",
            "--tree=1",
            "--color",
            "--threads",
        ];
        let mut lines = vec![vec![]];
        for _ in 0..4 {
            let longer: Vec<Vec<&str>> =
                lines.iter().flat_map(|line| words.map(|word| [line.clone(), vec![word]].concat())).collect();
            for line in &longer {
                let args: Vec<OsString> =
                    ["hashmill", "sum"].iter().chain(line).map(OsString::from).collect();
                let around = parse(args.clone()).map(|line| display_path(&line));
                match (around, directly(&args)) {
                    (Ok(around), Ok(directly)) => assert_eq!(around, directly, "{line:?}"),
                    (Err(_), Err(_)) => {}
                    (around, directly) => panic!("{line:?}: {around:?}, but clap gives {directly:?}"),
                }
            }
            // Sampling keeps the test short. The step is coprime to the number of words, so that every word starts a line.
            lines = longer.into_iter().step_by(size::of(5, 2)).collect();
        }
    }
}
