//! The few things that are asked of git.

use super::error::BuildError;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where a repository is, seen from a folder in it.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The uppermost folder of the work tree.
    pub(super) top: PathBuf,
    /// The way from there to the folder that was asked about.
    pub(super) prefix: PathBuf,
}

/// A command without what a surrounding hook may have set.
fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY"] {
        command.env_remove(name);
    }
    command.arg("-C").arg(folder);
    command
}

fn output(mut command: Command, what: &str) -> Result<String, BuildError> {
    let failed = |reason: String| BuildError::Git { what: what.to_owned(), reason };
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end_matches(['\r', '\n']).to_owned())
}

fn ask<S: AsRef<OsStr>>(folder: &Path, what: &str, arguments: &[S]) -> Result<String, BuildError> {
    let mut command = git(folder);
    command.args(arguments);
    output(command, what)
}

/// The repository around `folder`; none where there is none.
pub(super) fn place(folder: &Path) -> Option<Place> {
    let top = ask(folder, "rev-parse", &["rev-parse", "--show-toplevel"]).ok()?;
    let prefix = ask(folder, "rev-parse", &["rev-parse", "--show-prefix"]).ok()?;
    Some(Place { top: top.into(), prefix: prefix.into() })
}

/// The commit that a name stands for.
pub(super) fn commit(folder: &Path, name: &str) -> Result<String, BuildError> {
    ask(folder, "rev-parse", &["rev-parse", "--verify", "--end-of-options", &format!("{name}^{{commit}}")])
}

/// The tree of a commit.
pub(super) fn tree_of(folder: &Path, commit: &str) -> Result<String, BuildError> {
    ask(folder, "rev-parse", &["rev-parse", "--verify", &format!("{commit}^{{tree}}")])
}

/// Makes `clone` a repository that reads the objects of `top` and has its own for everything new.
pub(super) fn clone(top: &Path, clone: &Path) -> Result<(), BuildError> {
    if clone.join(".git").is_dir() {
        return Ok(());
    }
    let parent = clone.parent().unwrap_or(clone);
    let arguments = ["clone", "--quiet", "--shared", "--no-checkout", "--no-tags", "--"].map(OsStr::new);
    let mut command = git(parent);
    command.args(arguments).arg(top).arg(clone);
    output(command, "clone").map(drop)
}

/// The state of a work tree as a tree of `clone`: all files that are not ignored, committed or not.
pub(super) fn freeze(clone: &Path, top: &Path) -> Result<String, BuildError> {
    let exclude = ask(top, "rev-parse", &["rev-parse", "--git-path", "info/exclude"])?;
    // Not having such a file is usual.
    std::fs::copy(top.join(exclude), clone.join(".git/info/exclude")).ok();
    let index = |what: &[&str]| {
        let mut command = git(top);
        command
            .env("GIT_DIR", clone.join(".git"))
            .env("GIT_WORK_TREE", top)
            .env("GIT_INDEX_FILE", clone.join(".git/frozen"));
        command.args(what);
        output(command, what[0])
    };
    // The lab's own results are not what is measured.
    index(&["add", "--all", "--", ".", ":(exclude,glob)**/lab-results/**"])?;
    index(&["write-tree"])
}

/// Makes the work tree of `clone` equal to `tree`, and nothing else in it.
pub(super) fn check_out(clone: &Path, tree: &str) -> Result<(), BuildError> {
    ask(clone, "read-tree", &["read-tree", "--reset", "-u", tree])?;
    ask(clone, "clean", &["clean", "-ffdxq"]).map(drop)
}
