//! `cargo xtask mutate`: builds and runs the mutation fuzzer. It needs only the stable toolchain.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::repository::metadata;

const BUILD: [&str; 8] =
    ["build", "--locked", "--profile", "mutate", "-p", "hashmill-fuzz", "--bin", "mutate"];

/// Searches; true if nothing was found. Findings are in the folder of `--out`.
pub(crate) fn run(root: &Path, arguments: &[OsString]) -> anyhow::Result<bool> {
    let built = Command::new("cargo").current_dir(root).args(BUILD).status().context("cargo")?;
    ensure!(built.success(), "`cargo {}` failed", BUILD.join(" "));
    let program = metadata::target(root)?.join("mutate/mutate");
    let status = Command::new(&program).args(arguments).status();
    let status = status.with_context(|| format!("{}", program.display()))?;
    ensure!(matches!(status.code(), Some(0 | 1)), "the search did not finish: {status}");
    Ok(status.success())
}
