//! Partial checkouts of other repositories at fixed commits, for tests that are not published elsewhere.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

/// The folder `tests` of a repository at a commit, cached in `folder`, or the error.
pub(crate) fn tests(folder: &Path, repository: &str, commit: &str, tests: &str) -> Result<String, String> {
    ensure_fetched(folder, repository, commit, &[tests])?;
    Ok(folder.join(tests).to_string_lossy().into_owned())
}

/// Fetches these paths of a repository at a commit into `folder`, unless they are there.
pub(crate) fn ensure_fetched(
    folder: &Path,
    repository: &str,
    commit: &str,
    paths: &[&str],
) -> Result<(), String> {
    if paths.iter().all(|path| folder.join(path).exists()) {
        return Ok(());
    }
    create_folder(folder, |folder| fetch(folder, repository, commit, paths))
        .map_err(|error| format!("needs commit {commit} of {repository}: {error}"))
}

/// The files of the repository at `root` that differ from a revision: committed, changed and new ones.
pub(crate) fn changed(root: &Path, revision: &str) -> anyhow::Result<Vec<String>> {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).current_dir(root).output()?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "git {}: {}", args.join(" "), stderr.trim());
        Ok(String::from_utf8(output.stdout)?)
    };
    let tracked = git(&["diff", "--name-only", "--no-renames", "-z", revision, "--"])?;
    let new = git(&["ls-files", "--others", "--exclude-standard", "-z"])?;
    Ok([tracked, new].iter().flat_map(|files| files.split_terminator('\0')).map(str::to_owned).collect())
}

fn fetch(folder: &Path, repository: &str, commit: &str, paths: &[&str]) -> Result<(), String> {
    let git = |args: &[&str]| {
        let output = Command::new("git").arg("-C").arg(folder).args(args).output();
        let output = output.map_err(|error| error.to_string())?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            Ok(())
        } else {
            Err(stderr.lines().last().unwrap_or_default().to_owned())
        }
    };
    git(&["init", "--quiet"])?;
    // Without blobs: the checkout fetches only the files that it writes.
    git(&["fetch", "--quiet", "--depth=1", "--filter=blob:none", repository, commit])?;
    git(&[&["checkout", "--quiet", commit, "--"], paths].concat())
}

/// Creates a folder atomically with the content that `fill` writes.
fn create_folder(folder: &Path, fill: impl FnOnce(&Path) -> Result<(), String>) -> Result<(), String> {
    let to_text = |error: io::Error| error.to_string();
    let clear = |folder: &Path| if folder.exists() { fs::remove_dir_all(folder) } else { Ok(()) };
    let part = folder.with_extension("part");
    clear(&part).and_then(|()| fs::create_dir_all(&part)).map_err(to_text)?;
    fill(&part)?;
    clear(folder).and_then(|()| fs::rename(&part, folder)).map_err(to_text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::env;

    #[test]
    fn an_interrupted_fetch_is_repeated() {
        let folder = env::current_exe().expect("a program").with_extension("fetched");
        let write = |folder: &Path, name| fs::write(folder.join(name), "").map_err(|error| error.to_string());
        let stopped = create_folder(&folder, |folder| write(folder, "one").and(Err("stopped".to_owned())));
        assert_eq!((stopped, folder.exists()), (Err("stopped".to_owned()), false));
        assert_eq!(create_folder(&folder, |folder| write(folder, "two")), Ok(()));
        assert!(folder.join("two").exists() && !folder.join("one").exists());
        fs::remove_dir_all(folder).expect("a folder");
    }
}
