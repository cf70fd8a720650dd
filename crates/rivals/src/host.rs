//! The machine and the tools of one measurement. What cannot be read is `None`.

use std::process::Command;

use hashmill_machine::{Load, Machine};
use serde::Serialize;

use crate::builds;

/// The machine and the tools of one measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Host {
    /// The machine.
    pub machine: Machine,
    /// How busy it was before the measurement.
    pub load: Load,
    /// The compiler, in full.
    pub rustc: Option<String>,
    /// The commit of this workspace, with `+` where files differ from it.
    pub commit: Option<String>,
}

impl Host {
    /// Asks the system.
    pub fn read() -> Self {
        Self {
            machine: Machine::read(),
            load: Load::read(),
            rustc: rustc(),
            commit: commit().map(|(commit, dirty)| if dirty { commit + "+" } else { commit }),
        }
    }
}

fn line_of(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).current_dir(builds::workspace()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// The compiler, in full.
pub(crate) fn rustc() -> Option<String> {
    line_of("rustc", &["--version"])
}

/// The commit of this workspace, and whether files differ from it.
pub(crate) fn commit() -> Option<(String, bool)> {
    let commit = line_of("git", &["rev-parse", "--short=12", "HEAD"])?;
    let changed = line_of("git", &["status", "--porcelain", "--untracked-files=no"])?;
    Some((commit, !changed.is_empty()))
}
