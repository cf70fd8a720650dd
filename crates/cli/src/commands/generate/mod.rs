//! `hashmill generate`: manual pages and completions, from the definition that the parser uses.

mod manual_pages;

use crate::flags::{self, GenerateArgs};
use anyhow::{Context, Result};
use clap::Command;
use clap_complete::Shell;
use std::fs;

/// Elvish is left out because it is untested.
const SHELLS: [Shell; 4] = [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::PowerShell];

/// Writes all files.
pub(crate) fn run(flags: &GenerateArgs) -> Result<()> {
    let (man, completions) = (flags.folder.join("man"), flags.folder.join("completions"));
    for folder in [&man, &completions] {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    manual_pages::write(with_long_help(definition()), &man).with_context(|| man.display().to_string())?;
    for shell in SHELLS {
        let written = clap_complete::generate_to(shell, &mut definition(), "hashmill", &completions);
        written.with_context(|| completions.display().to_string())?;
    }
    Ok(())
}

/// The complete definition, with the commands of the lab, which its own parser handles.
fn definition() -> Command {
    let command = flags::definition();
    #[cfg(feature = "lab")]
    let command = command.mut_subcommand("lab", |lab| {
        crate::commands::lab::definition().name("lab").about(lab.get_about().cloned().unwrap_or_default())
    });
    command
}

/// Gives every flag a long help: clap_mangen leaves out the short help of a flag that `-h` hides.
fn with_long_help(command: Command) -> Command {
    let command = command.mut_args(|arg| match arg.get_help() {
        Some(help) if arg.get_long_help().is_none() => {
            let help = help.clone();
            arg.long_help(help)
        }
        _ => arg,
    });
    command.mut_subcommands(with_long_help)
}
