//! Operands go around the parser.
//!
//! The parser keeps several allocations and a clone for every argument: half a µs each, which is a fifth of the time
//! that a small file takes altogether. So all operands but the first are taken out before it runs and put back behind
//! the first afterwards. The parser still sees every flag, and that there are operands.

use clap::error::{ContextKind, ErrorKind};
use clap::{Arg, Command};
use std::collections::HashSet;
use std::ffi::OsString;

/// Takes the operands but the first out of a command line of `command`, whose name, and that of the program it is one of, are the
/// first words.
pub(super) fn take_out(
    program: &Command,
    command: &Command,
    words: usize,
    args: impl Iterator<Item = OsString>,
) -> (Vec<OsString>, Vec<OsString>) {
    let mut args = args.peekable();
    let mut kept: Vec<OsString> = args.by_ref().take(words).collect();
    let valued = Valued::of(program, command);
    let mut operands = Vec::new();
    let mut seen_operand = false;
    let mut flags_ended = false;
    while let Some(arg) = args.next() {
        let bytes = arg.as_encoded_bytes();
        if !flags_ended && bytes == b"--" {
            flags_ended = true;
            kept.push(arg);
        } else if flags_ended || bytes == b"-" || !bytes.starts_with(b"-") {
            // An empty operand is a mistake, and mistakes are the parser's to report.
            if seen_operand && !bytes.is_empty() {
                operands.push(arg);
            } else {
                kept.push(arg);
            }
            seen_operand = true;
        } else {
            let takes_next = valued.takes_next(bytes);
            kept.push(arg);
            kept.extend(if takes_next { args.next() } else { None });
        }
    }
    (kept, operands)
}

/// A hint for a word that may be the name of a file: a dash and more than one letter, as `*` gives where such a file is. A single
/// letter, or a word that is known from other programs, is more likely a flag.
pub(super) fn dashed(program: &Command, error: &clap::Error, args: &[OsString]) -> Option<String> {
    let command = args.get(1).and_then(|word| program.find_subcommand(word))?;
    // Commands with operands of any number: only there does a shell put names.
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
    let is_flag = word.chars().count() == 2 || super::habits::of_flag(command.get_name(), word).is_some();
    (!is_flag).then(|| format!("a file of that name is './{word}', or stands behind '--'"))
}

/// The flags that take a value.
struct Valued {
    long: HashSet<String>,
    short: HashSet<u8>,
}

impl Valued {
    fn of(program: &Command, command: &Command) -> Valued {
        // The parser itself hands flags of every command down only when it runs.
        let global = || program.get_opts().filter(|option| option.is_global_set());
        let valued =
            || command.get_opts().chain(global()).filter(|option| option.get_action().takes_values());
        Valued {
            long: valued().flat_map(names).collect(),
            short: valued().filter_map(|option| u8::try_from(option.get_short()?).ok()).collect(),
        }
    }

    /// Whether the value of the flag in `arg` is the argument after it.
    fn takes_next(&self, arg: &[u8]) -> bool {
        match arg.strip_prefix(b"--") {
            Some(long) => std::str::from_utf8(long).is_ok_and(|long| self.long.contains(long)),
            // Of several short flags together, the first that takes a value takes the rest; only if there is no
            // rest, the next argument.
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
    use super::super::{Command as Parsed, Line, parse};
    use clap::{CommandFactory, FromArgMatches};
    use std::ffi::OsString;

    /// What the parser alone makes of a command line.
    fn directly(args: &[OsString]) -> Result<String, String> {
        let matches =
            Line::<Parsed>::command().try_get_matches_from(args).map_err(|error| error.to_string())?;
        Line::<Parsed>::from_arg_matches(&matches).map(|line| shown(&line)).map_err(|error| error.to_string())
    }

    fn shown(line: &Line<Parsed>) -> String {
        format!("{line:?}")
    }

    /// Every line of up to four words out of a list that has each kind of them.
    #[test]
    fn every_command_line_means_what_it_means_to_the_parser() {
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
                let around = parse(args.clone()).map(|line| shown(&line));
                match (around, directly(&args)) {
                    (Ok(around), Ok(directly)) => assert_eq!(around, directly, "{line:?}"),
                    (Err(_), Err(_)) => {}
                    (around, directly) => panic!("{line:?}: {around:?}, but the parser says {directly:?}"),
                }
            }
            // Lines that go on after a mistake teach nothing new about the words after it; sampling keeps this short.
            lines = longer.into_iter().step_by(3).collect();
        }
    }
}
