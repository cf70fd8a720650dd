//! b3sum's published command-line tests: fetched by cargo, built unchanged, and run against Hashmill under the name `b3sum`.

use std::env;
use std::error::Error;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::command::Cmd;

/// The version of b3sum that Hashmill replaces.
const VERSION: &str = "1.8.7";

/// Build folder of this step.
const FOLDER: &str = "target/b3sum-tests";

/// A failed download of cargo, with the last line of its output.
#[derive(Debug)]
struct DownloadFailed(String);

impl fmt::Display for DownloadFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for DownloadFailed {}

/// Fetches the tests and their dependencies. Returns a reason only if the network is missing; [`run`] reports any other error.
pub(crate) fn missing(root: &Path) -> Option<String> {
    missing_in(&root.join(FOLDER))
}

fn missing_in(folder: &Path) -> Option<String> {
    let error = fetch(folder).err()?;
    let DownloadFailed(reason) = error.downcast_ref()?;
    Some(format!("needs the package b3sum {VERSION} of crates.io: {reason}"))
}

/// Commands that run the fetched tests against the program at `program`.
pub(crate) fn run(root: &Path, program: &Path) -> anyhow::Result<[Cmd; 2]> {
    fetch(&root.join(FOLDER))?;
    let link = root.join(FOLDER).join("b3sum").to_string_lossy().into_owned();
    let test = ["test", "--manifest-path", &format!("{FOLDER}/Cargo.toml"), "--test", "cli_tests"];
    Ok([
        Cmd::new("ln", &["-sfn", &program.to_string_lossy(), &link]),
        // Cargo sets this variable to the program of a package, if it has one.
        Cmd::cargo(&test).with("CARGO_BIN_EXE_b3sum", &link),
    ])
}

fn fetch(folder: &Path) -> anyhow::Result<()> {
    let source = source(&folder.join("fetch"))?;
    let tests = source.join("tests/cli_tests.rs");
    ensure!(tests.is_file(), "{} is missing in the package", tests.display());
    let manifest = format!(
        "[package]\nname = \"b3sum\"\nversion = \"{VERSION}\"\nedition = \"2024\"\n[workspace]\n\
         [dev-dependencies]\nblake3 = \"*\"\nduct = \"*\"\nhex = \"*\"\ntempfile = \"*\"\n\
         [lib]\npath = \"lib.rs\"\n[[test]]\nname = \"cli_tests\"\npath = {:?}\n",
        tests.display().to_string()
    );
    package(folder, &manifest)?;
    // The versions of dependencies that b3sum pins.
    fs::copy(source.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    fetch_dependencies(folder)
}

/// Source folder of the package, after cargo has fetched it as a dependency of an empty package. It has no library, so cargo fetches
/// it without a message.
fn source(folder: &Path) -> anyhow::Result<PathBuf> {
    let manifest = format!(
        "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n\
         [dependencies]\nb3sum = \"={VERSION}\"\n[lib]\npath = \"lib.rs\"\n"
    );
    package(folder, &manifest)?;
    fetch_dependencies(folder)?;
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")));
    let sources = home.context("cargo has no home")?.join("registry/src");
    let registries = sources.read_dir().with_context(|| format!("{}", sources.display()))?;
    let mut folders = registries.flatten().map(|registry| registry.path().join(format!("b3sum-{VERSION}")));
    folders.find(|folder| folder.is_dir()).with_context(|| format!("it is not in {}", sources.display()))
}

fn package(folder: &Path, manifest: &str) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
    fs::write(folder.join("lib.rs"), "")?;
    Ok(fs::write(folder.join("Cargo.toml"), manifest)?)
}

/// Fetches the dependencies of a package. Cached ones need no network.
fn fetch_dependencies(folder: &Path) -> anyhow::Result<()> {
    let mut stderr = String::new();
    for offline in [&["--offline"][..], &[]] {
        let output = Command::new("cargo").arg("fetch").args(offline).current_dir(folder).output()?;
        if output.status.success() {
            return Ok(());
        }
        stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    }
    match download_error(&stderr) {
        Some(reason) => Err(DownloadFailed(reason.to_owned()).into()),
        None => anyhow::bail!("cargo fetch: {}", stderr.trim()),
    }
}

/// The error of a failed download, if cargo reports one. A missing version or package is another error.
fn download_error(stderr: &str) -> Option<&str> {
    let download = stderr.lines().map(str::trim).any(|line| {
        line.starts_with("failed to download")
            || (line.starts_with("download of ") && line.ends_with(" failed"))
    });
    // Cargo prints the cause after the effect, so the last line has the first cause.
    stderr.lines().map(str::trim).rfind(|line| !line.is_empty()).filter(|_| download)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_failed_download_is_a_reason_to_skip() {
        let unreachable = "error: failed to get `b3sum` as a dependency of package `fetch`\n\nCaused by:\n  \
                      download of config.json failed\n\nCaused by:\n  [7] Could not connect to server\n";
        assert_eq!(download_error(unreachable), Some("[7] Could not connect to server"));
        let file =
            "error: failed to download `duct v1.0.0`\n\nCaused by:\n  failed to download from `https://x`\n";
        assert_eq!(download_error(file), Some("failed to download from `https://x`"));
        for stderr in [
            "error: failed to select a version for the requirement `b3sum = \"=99.8.7\"`\n",
            "error: no matching package named `b3sum` found\n",
            "error: failed to parse manifest at `/x/Cargo.toml`\n",
            "",
        ] {
            assert_eq!(download_error(stderr), None, "{stderr}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_created_is_no_reason_to_skip() {
        let file = env::current_exe().expect("a program");
        assert_eq!(missing_in(&file.join("folder")), None);
        assert!(run(&file, Path::new("program")).is_err());
    }
}
