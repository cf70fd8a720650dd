//! Git commands.

use super::error::BuildError;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Location of a repository relative to a folder in it.
#[derive(Clone, Debug)]
pub(super) struct RepoLocation {
    /// Top folder of the work tree.
    pub(super) top: PathBuf,
    /// Path from there to the given folder.
    pub(super) prefix: PathBuf,
}

/// A git command without the variables that a hook may have set.
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

/// Finds the repository of `folder`; `None` if there is none. A repository that git refuses to read is an error: if
/// it were built in place, its files could change during the build.
pub(super) fn locate(folder: &Path) -> Result<Option<RepoLocation>, BuildError> {
    let mut top = git(folder);
    // The message distinguishes "there is none" from other errors.
    top.env("LC_ALL", "C").args(["rev-parse", "--show-toplevel"]);
    let top = match output(top, "rev-parse") {
        Ok(top) => top,
        Err(BuildError::Git { reason, .. }) if reason.contains("not a git repository (or any") => {
            return Ok(None);
        }
        Err(error) => {
            // Without git, most folders do not need it.
            let folder = folder.canonicalize().map_err(BuildError::io(folder))?;
            let is_inside = folder.ancestors().any(|above| above.join(".git").exists());
            return if is_inside { Err(error) } else { Ok(None) };
        }
    };
    let prefix = ask(folder, "rev-parse", &["rev-parse", "--show-prefix"])?;
    Ok(Some(RepoLocation { top: top.into(), prefix: prefix.into() }))
}

/// Resolves a name to a commit.
pub(super) fn commit(folder: &Path, name: &str) -> Result<String, BuildError> {
    ask(folder, "rev-parse", &["rev-parse", "--verify", "--end-of-options", &format!("{name}^{{commit}}")])
}

/// Tree of a commit.
pub(super) fn tree_of(folder: &Path, commit: &str) -> Result<String, BuildError> {
    ask(folder, "rev-parse", &["rev-parse", "--verify", &format!("{commit}^{{tree}}")])
}

/// Creates `clone`, a repository that shares the objects of `top` and stores new ones itself.
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

/// Writes the state of a work tree as a tree object of `clone`: all files that are not ignored, committed or not.
pub(super) fn freeze(clone: &Path, top: &Path) -> Result<String, BuildError> {
    let exclude = ask(top, "rev-parse", &["rev-parse", "--git-path", "info/exclude"])?;
    let exclude = top.join(exclude);
    match std::fs::copy(&exclude, clone.join(".git/info/exclude")) {
        // Most repositories have no such file.
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        copied => drop(copied.map_err(BuildError::io(&exclude))?),
    }
    let index = |what: &[&str]| {
        let mut command = git(top);
        command
            .env("GIT_DIR", clone.join(".git"))
            .env("GIT_WORK_TREE", top)
            .env("GIT_INDEX_FILE", clone.join(".git/frozen"));
        command.args(what);
        output(command, what[0])
    };
    // The lab's own results are not part of the source.
    index(&["add", "--all", "--", ".", ":(exclude,glob)**/lab-results/**"])?;
    index(&["write-tree"])
}

/// Makes the work tree of `clone` equal to `tree`.
pub(super) fn check_out(clone: &Path, tree: &str) -> Result<(), BuildError> {
    ask(clone, "read-tree", &["read-tree", "--reset", "-u", tree])?;
    ask(clone, "clean", &["clean", "-ffdxq"]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_repository_that_git_refuses_is_an_error_in_every_folder_of_it() {
        let folder = tempfile::tempdir().expect("a folder");
        // Git returns the path without symbolic links.
        let top = folder.path().canonicalize().expect("a path");
        let deep = top.join("a/b");
        fs::create_dir_all(&deep).expect("folders");
        let all = [("", &top), ("a/", &top.join("a")), ("a/b/", &deep)];
        for (_, folder) in all {
            assert!(locate(folder).expect("an answer").is_none(), "{}", folder.display());
        }
        ask(&top, "init", &["init", "--quiet"]).expect("git");
        for (prefix, folder) in all {
            let location = locate(folder).expect("an answer").expect("a repository");
            assert_eq!(
                (location.top.as_path(), location.prefix.as_path()),
                (top.as_path(), Path::new(prefix))
            );
        }
        fs::remove_dir_all(top.join(".git")).expect("a folder");
        fs::write(top.join(".git"), "gitdir: nowhere").expect("a file");
        for (_, folder) in all {
            let error = locate(folder).expect_err("a broken repository").to_string();
            assert!(error.contains("nowhere"), "{error}");
        }
    }
}
