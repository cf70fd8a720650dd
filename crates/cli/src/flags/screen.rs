//! Flags of every command: what is shown on a terminal beside the answers.

use crate::out::colour::When;
use crate::out::progress;
use clap::{Args, ColorChoice};
use std::ffi::OsString;

/// What is shown on a terminal.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Terminal")]
pub(crate) struct ScreenFlags {
    /// Colours: on a terminal (auto), always or never
    #[arg(
        long,
        alias = "colour",
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        global = true,
        hide_short_help = true
    )]
    pub(crate) color: When,

    /// How far the work is: on a terminal (auto), always, never, or as JSON on standard error
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        global = true,
        hide_short_help = true
    )]
    pub(crate) progress: progress::When,
}

/// The flags that may stand in front of the command as well as behind it.
const FLAGS: [&str; 3] = ["--color", "--colour", "--progress"];

/// The same command line with those flags behind the command, where they stand in front of it. The lab has a parser of its own.
pub(super) fn behind_the_command(mut args: Vec<OsString>) -> Vec<OsString> {
    let word = |at: usize| args.get(at).and_then(|word| word.to_str()).unwrap_or_default();
    let mut at = 1;
    loop {
        at += match word(at).split_once('=') {
            Some((flag, _)) if FLAGS.contains(&flag) => 1,
            None if FLAGS.contains(&word(at)) => 2,
            _ => break,
        };
    }
    let is_command = word(at).starts_with(|c: char| c.is_ascii_lowercase()) && word(at) != "lab";
    if at > 1 && is_command {
        args[1..=at].rotate_right(1);
    }
    args
}

/// In which colours the parser itself speaks, which it does before anything is parsed.
pub(super) fn of_the_parser(args: &[OsString]) -> ColorChoice {
    let mut words = args.iter().map_while(|word| word.to_str()).take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        let when = match word.split_once('=') {
            Some(("--color" | "--colour", when)) => when,
            None if ["--color", "--colour"].contains(&word) => words.next().unwrap_or_default(),
            _ => continue,
        };
        return match when {
            "always" => ColorChoice::Always,
            "never" => ColorChoice::Never,
            _ => ColorChoice::Auto,
        };
    }
    ColorChoice::Auto
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_in_front_of_the_command_go_behind_it() {
        for (line, meant) in [
            ("hashmill --color never sum a", "hashmill sum --color never a"),
            (
                "hashmill --color=never --colour auto doc log x",
                "hashmill doc --color=never --colour auto log x",
            ),
            ("hashmill --color never lab list", "hashmill --color never lab list"),
            ("hashmill --color never --help", "hashmill --color never --help"),
            ("hashmill --color", "hashmill --color"),
            ("hashmill sum --color never", "hashmill sum --color never"),
            ("hashmill --progress json sum a", "hashmill sum --progress json a"),
        ] {
            let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
            assert_eq!(behind_the_command(words(line)), words(meant));
        }
    }
}
