//! `hashmill generate`: manual pages and completions, from the same definition that the parser follows.

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
    clap_mangen::generate_to(definition(), &man).with_context(|| man.display().to_string())?;
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
