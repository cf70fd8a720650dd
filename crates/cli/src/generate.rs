//! `hashmill generate`: manual pages and completions, from the same definition that the parser follows.

mod manual;

use crate::flags::{self, GenerateArgs};
use anyhow::{Context, Result};
use clap::Command;
use clap_complete::Shell;
use std::fs;

/// Elvish is left out because nobody has tried it.
const SHELLS: [Shell; 4] = [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::PowerShell];

/// Writes all files.
pub(crate) fn run(low: &GenerateArgs) -> Result<()> {
    let (man, completions) = (low.folder.join("man"), low.folder.join("completions"));
    for folder in [&man, &completions] {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    manual::write(with_words(definition()), &man).with_context(|| man.display().to_string())?;
    for shell in SHELLS {
        let written = clap_complete::generate_to(shell, &mut definition(), "hashmill", &completions);
        written.with_context(|| completions.display().to_string())?;
    }
    Ok(())
}

/// Everything that can be typed. What stands behind `lab` is the lab's own, which the parser of the other commands hands on.
fn definition() -> Command {
    let command = flags::definition();
    #[cfg(feature = "lab")]
    let command = command.mut_subcommand("lab", |lab| {
        crate::lab::definition().name("lab").about(lab.get_about().cloned().unwrap_or_default())
    });
    command
}

/// The same definition with a text for every flag in the pages: clap_mangen leaves out the help of a flag that `-h` does not
/// show, unless it has a long one.
fn with_words(command: Command) -> Command {
    let command = command.mut_args(|arg| match arg.get_help() {
        Some(help) if arg.get_long_help().is_none() => {
            let help = help.clone();
            arg.long_help(help)
        }
        _ => arg,
    });
    command.mut_subcommands(with_words)
}
