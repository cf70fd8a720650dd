//! `hashmill lab`: runs the lab's commands with Hashmill's benchmark registry.

use crate::flags::LabArgs;
use crate::os::Output;
use anyhow::{Context, Result};
use hashmill_lab::cmd::{self, LabSetup};
use hashmill_lab::model::registry::Registry;

/// Runs one command of the lab and returns its exit code.
pub(crate) fn run(flags: LabArgs) -> Result<u8> {
    // The lab writes to standard output itself and cannot detect that it was closed.
    Output::new().check().context("standard output")?;
    let is_session = flags.args.first().is_some_and(|word| word == "session");
    let new_registry =
        if is_session { hashmill_workloads::registry_of_session } else { hashmill_workloads::registry };
    let registry = new_registry();
    // The lab's exit codes are 0 to 4.
    Ok(cmd::main(&lab_setup(&registry), flags.args).code() as u8)
}

/// The definition of its commands and flags.
#[cfg(feature = "generate")]
pub(crate) fn definition() -> clap::Command {
    cmd::definition(&lab_setup(&hashmill_workloads::registry()))
}

fn lab_setup(registry: &Registry) -> LabSetup<'_> {
    LabSetup { name: "hashmill lab", arguments: &["lab"], registry, package: None, builder: None }
}
