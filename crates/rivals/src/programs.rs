//! Builds of both programs: `b3sum` from the registry, `hashmill` from this workspace.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::builds;

/// The version that `hashmill sum` replaces.
pub const VERSION: &str = "1.8.7";

/// Folder of everything that comparisons build.
pub fn folder() -> PathBuf {
    builds::target().join("rivals")
}

/// Path of the real b3sum after its installation.
pub fn b3sum() -> PathBuf {
    folder().join("b3sum/bin/b3sum").with_extension(std::env::consts::EXE_EXTENSION)
}

/// Path of Hashmill's program after its build.
pub fn hashmill() -> PathBuf {
    builds::target().join("release/hashmill").with_extension(std::env::consts::EXE_EXTENSION)
}

/// Builds both programs as a user gets them.
pub fn build() -> anyhow::Result<()> {
    install()?;
    builds::product("hashmill", &["--release"]).map(drop)
}

/// Installs the real b3sum from the registry, unless it is there.
pub fn install() -> anyhow::Result<PathBuf> {
    let path = b3sum();
    if !is_b3sum(&path) {
        fetch()?;
        ensure!(is_b3sum(&path), "{} does not report the version b3sum {VERSION}", path.display());
    }
    Ok(path)
}

fn is_b3sum(path: &Path) -> bool {
    let version = Command::new(path).arg("--version").output();
    version.is_ok_and(|output| output.stdout == format!("b3sum {VERSION}\n").as_bytes())
}

fn fetch() -> anyhow::Result<()> {
    let output = Command::new(builds::cargo())
        .args(["install", "b3sum", "--locked", "--version", &format!("={VERSION}"), "--root"])
        .arg(folder().join("b3sum"))
        // Its own folder, so that the installation does not disturb builds of this workspace.
        .env("CARGO_TARGET_DIR", folder().join("b3sum-build"))
        .output()
        .context("starting cargo")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let last_line = stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    ensure!(output.status.success(), "cargo could not install b3sum {VERSION}: {last_line}");
    Ok(())
}
