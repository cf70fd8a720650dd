//! Flags of every command for colours and progress.

use crate::output::colour::ColourMode;
use crate::output::progress;
use clap::{Args, ColorChoice};
use std::ffi::OsString;

/// Flags for colours and progress.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Terminal")]
pub(crate) struct OutputFlags {
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
    pub(crate) color: ColourMode,

    /// Progress display: on a terminal (auto), always, never, or as JSON on standard error
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        global = true,
        hide_short_help = true
    )]
    pub(crate) progress: progress::ProgressMode,
}

/// The flags that are accepted before the command, too.
const FLAGS: [&str; 3] = ["--color", "--colour", "--progress"];

/// Moves those flags from before the command to after it. Not for the lab, which has its own parser.
pub(super) fn move_behind_command(mut args: Vec<OsString>) -> Vec<OsString> {
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

/// The colour mode of the parser's own messages, found before parsing.
pub(super) fn parser_colour(args: &[OsString]) -> ColorChoice {
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
    fn moves_flags_after_the_command() {
        for (line, expected) in [
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
            assert_eq!(move_behind_command(words(line)), words(expected));
        }
    }
}
