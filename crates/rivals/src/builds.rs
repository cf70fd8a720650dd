//! Builds of the command-line program, and of this crate with other features. Builds of one source differ only in features, so
//! cargo keeps them apart and up to date.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde::Deserialize;

/// The root of the workspace that this tool was built from.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("this crate is crates/rivals")
}

/// The cargo that started this, or the one on the path.
pub fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Cargo's target folder: this program is in a profile's folder below it, a test one folder deeper.
pub fn target() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let profile = program.ancestors().find(|path| path.ends_with("release") || path.ends_with("debug"));
    profile.and_then(Path::parent).map_or_else(|| workspace().join("target"), Path::to_owned)
}

/// Builds binary `name` of the command-line crate with `flags`, and returns its path.
pub fn product(name: &str, flags: &[&str]) -> anyhow::Result<PathBuf> {
    compile(&[&["--package", "hashmill-cli", "--bin", name], flags].concat(), name)
}

/// Builds binary `bin` of this crate with `features`, and copies it beside the other builds as `name`.
pub fn build(bin: &str, name: &str, features: &[&str]) -> anyhow::Result<PathBuf> {
    let features = features.join(",");
    let built = compile(
        &["--release", "--package", env!("CARGO_PKG_NAME"), "--bin", bin, "--features", &features],
        bin,
    )?;
    let folder = target().join("rivals");
    let path = folder.join(name).with_extension(std::env::consts::EXE_EXTENSION);
    std::fs::create_dir_all(&folder)
        // The old program may be running, so it is replaced by a rename and never written.
        .and_then(|()| Ok(hashmill_atomic_file::copy(&built, &path)?))
        .with_context(|| format!("keeping {}", path.display()))?;
    Ok(path)
}

fn compile(args: &[&str], bin: &str) -> anyhow::Result<PathBuf> {
    let output = Command::new(cargo())
        .current_dir(workspace())
        .args(["build", "--quiet", "--message-format", "json-render-diagnostics"])
        .args(args)
        .stderr(Stdio::inherit())
        .output()
        .context("starting cargo")?;
    ensure!(output.status.success(), "cargo could not build {bin}: {}", output.status);
    executable(&output.stdout, bin).with_context(|| format!("cargo named no binary for {bin}"))
}

/// The path of the binary in cargo's messages.
fn executable(messages: &[u8], bin: &str) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Message {
        executable: Option<PathBuf>,
        target: Option<Target>,
    }
    #[derive(Deserialize)]
    struct Target {
        name: String,
    }
    let lines = messages.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.filter_map(|line| serde_json::from_slice::<Message>(line).ok()).find_map(|message| {
        message.target.is_some_and(|target| target.name == bin).then_some(message.executable).flatten()
    })
}

/// The output of a program in a folder.
fn read_output(program: &str, args: &[&str], folder: &Path) -> anyhow::Result<String> {
    let command_line = || format!("{program} {}", args.join(" "));
    let output = Command::new(program).args(args).current_dir(folder).output().with_context(command_line)?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {}: {}", command_line(), output.status, error.trim());
    Ok(String::from_utf8(output.stdout).with_context(command_line)?.trim().to_owned())
}

/// The compiler's complete version.
pub(crate) fn rustc() -> anyhow::Result<String> {
    read_output("rustc", &["--version"], workspace())
}

/// The commit of this workspace, and whether files differ from it; `None` if it is no checkout, such as a source archive.
pub(crate) fn commit() -> anyhow::Result<Option<(String, bool)>> {
    commit_in(workspace())
}

fn commit_in(folder: &Path) -> anyhow::Result<Option<(String, bool)>> {
    // A folder, or a file in a worktree.
    if !folder.join(".git").try_exists()? {
        return Ok(None);
    }
    let commit = read_output("git", &["rev-parse", "--short=12", "HEAD"], folder)?;
    let changed = read_output("git", &["status", "--porcelain", "--untracked-files=no"], folder)?;
    Ok(Some((commit, !changed.is_empty())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_is_found_among_cargo_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","target":{"name":"other"},"executable":"/t/other"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"name":"worker"},"executable":"/t/worker"}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
            "\n",
        );
        assert_eq!(executable(messages.as_bytes(), "worker"), Some(PathBuf::from("/t/worker")));
        assert_eq!(executable(messages.as_bytes(), "none"), None);
    }

    #[test]
    fn a_broken_checkout_is_an_error_and_an_archive_has_no_commit() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(matches!(commit_in(folder.path()), Ok(None)));
        std::fs::write(folder.path().join(".git"), "gitdir: /nowhere").expect("a file");
        let error = format!("{:#}", commit_in(folder.path()).expect_err("git fails there"));
        assert!(error.starts_with("git rev-parse --short=12 HEAD"), "{error}");
        assert!(read_output("no-such-program-anywhere", &[], folder.path()).is_err());
    }
}
