//! `hashmill lab`: hands the lab what Hashmill can be measured on. The commands are the lab's own.

use crate::flags::LabArgs;
use crate::os::Output;
use anyhow::{Context, Result};
use hashmill_lab::cmd::{self, Mount};
use hashmill_lab::model::registry::Registry;

/// Runs one command of the lab and gives its exit code.
pub(crate) fn run(low: LabArgs) -> Result<u8> {
    // The lab writes to standard output itself, and cannot know that there is none.
    Output::new().check().context("standard output")?;
    let is_session = low.args.first().is_some_and(|word| word == "session");
    let make =
        if is_session { hashmill_workloads::registry_of_session } else { hashmill_workloads::registry };
    let registry = make();
    // The codes of the lab go from 0 to 4.
    Ok(cmd::main(&mount(&registry), low.args).code() as u8)
}

/// Its commands and flags.
#[cfg(feature = "generate")]
pub(crate) fn definition() -> clap::Command {
    cmd::definition(&mount(&hashmill_workloads::registry()))
}

fn mount(registry: &Registry) -> Mount<'_> {
    Mount { name: "hashmill lab", arguments: &["lab"], registry, maker: None }
}
