//! Both programs, built: `b3sum` from the registry, `hashmill` from this workspace.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

use crate::fleet;

/// The version that `hashmill sum` replaces.
pub const VERSION: &str = "1.8.7";

/// Where the two programs are.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The real b3sum.
    pub b3sum: PathBuf,
    /// Ours.
    pub hashmill: PathBuf,
}

/// Where everything lies that is made for comparisons.
pub fn folder() -> PathBuf {
    fleet::target().join("rivals")
}

/// The real b3sum, if it has been built.
pub fn b3sum() -> Option<PathBuf> {
    let path = folder().join("b3sum/bin/b3sum").with_extension(std::env::consts::EXE_EXTENSION);
    let output = Command::new(&path).arg("--version").output().ok()?;
    (output.stdout == format!("b3sum {VERSION}\n").as_bytes()).then_some(path)
}

impl Programs {
    /// Builds both as a user would get them.
    pub fn build() -> anyhow::Result<Self> {
        let b3sum = match b3sum() {
            Some(path) => path,
            None => install()?,
        };
        Ok(Self { b3sum, hashmill: fleet::product("hashmill", &["--release"])? })
    }
}

fn install() -> anyhow::Result<PathBuf> {
    let status = Command::new(fleet::cargo())
        .args(["install", "b3sum", "--locked", "--version", &format!("={VERSION}"), "--root"])
        .arg(folder().join("b3sum"))
        // Its own folder: an install must not disturb the builds of this workspace.
        .env("CARGO_TARGET_DIR", folder().join("b3sum-build"))
        .stdout(Stdio::null())
        .status()
        .context("starting cargo")?;
    ensure!(status.success(), "cargo could not install b3sum {VERSION}: {status}");
    b3sum().context("the installed b3sum does not say that it is the one asked for")
}
