//! What the package for Python is tested with: an environment below `target/`, with exactly what `requirements.txt` names.

use std::env::consts;
use std::error::Error;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::steps::Cmd;

/// Where everything lies that this step makes, in the repository.
const FOLDER: &str = "target/python";

/// The package, in the repository.
const PACKAGE: &str = "bindings/python";

/// Ends well where a version runs it that the package is for.
const NEW_ENOUGH: &str = "import sys, venv; sys.exit(sys.version_info < (3, 11))";

/// Pip could not download what it was asked for: the last of its words.
#[derive(Debug)]
struct NoNetwork(String);

impl fmt::Display for NoNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for NoNetwork {}

/// Makes the environment. Says so where there is no Python, or no registry of packages where one is needed, and nothing of what
/// else goes wrong: that is an error of [`run`].
pub(crate) fn missing(root: &Path) -> Option<String> {
    if !Command::new("python3").args(["-c", NEW_ENOUGH]).output().is_ok_and(|output| output.status.success())
    {
        return Some(
            "needs `python3` from version 3.11 on, with venv (Debian package python3-venv)".to_owned(),
        );
    }
    let error = environment(root).err()?;
    let NoNetwork(words) = error.downcast_ref()?;
    Some(format!("needs a registry of Python's packages: {words}"))
}

/// What builds the wheel and tests it. The profile is the one that everything else is tested with.
pub(crate) fn run(root: &Path, filter: &[String]) -> anyhow::Result<Vec<Cmd>> {
    let python = environment(root)?;
    let wheels = root.join(FOLDER).join("wheels");
    if wheels.exists() {
        fs::remove_dir_all(&wheels).with_context(|| wheels.display().to_string())?;
    }
    let (python, wheels) = (python.to_string_lossy(), wheels.to_string_lossy());
    let manifest = format!("{PACKAGE}/Cargo.toml");
    let build = ["build", "--profile", "dev", "--locked", "--manifest-path", &manifest, "--out", &wheels];
    let install = ["install", "--quiet", "--no-index", "--no-deps", "--force-reinstall", "--find-links"];
    let mut test = vec!["-m", "pytest", PACKAGE];
    let filter = filter.join(" or ");
    if !filter.is_empty() {
        test.extend(["-k", &filter]);
    }
    Ok(vec![
        Cmd::new(&python, &[&["-m", "maturin"], &build[..]].concat()),
        Cmd::new(&python, &[&["-m", "pip"], &install[..], &[&wheels, "hashmill"]].concat()),
        Cmd::new(&python, &test),
    ])
}

/// The interpreter of the environment, which is made if it is not there, and brought to what the list says.
fn environment(root: &Path) -> anyhow::Result<PathBuf> {
    let folder = root.join(FOLDER).join("venv");
    let python = folder.join(if consts::OS == "windows" { "Scripts/python.exe" } else { "bin/python" });
    if !python.exists() {
        let output = Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder).output()?;
        ensure!(output.status.success(), "python3 -m venv: {}", String::from_utf8_lossy(&output.stderr));
    }
    let install =
        ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r"];
    let list = root.join(PACKAGE).join("requirements.txt");
    let output = Command::new(&python).args(install).arg(list).output()?;
    if output.status.success() {
        return Ok(python);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    match no_network(&said) {
        Some(words) => Err(NoNetwork(words.to_owned()).into()),
        None => anyhow::bail!("pip install: {}", said.trim()),
    }
}

/// Why there was no download, if that is what pip complains of. A version that does not exist, or has another digest, is another
/// matter.
fn no_network(said: &str) -> Option<&str> {
    said.lines().map(str::trim).find(|line| line.contains("after connection broken by"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_connection_that_fails_is_a_reason_to_skip() {
        let nobody = "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError()': /simple/x/\n\
                      ERROR: Could not find a version that satisfies the requirement x==1 (from versions: none)\n";
        assert!(no_network(nobody).is_some_and(|words| words.contains("NewConnectionError")));
        for said in [
            "ERROR: No matching distribution found for x==99\n",
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n",
            "",
        ] {
            assert_eq!(no_network(said), None, "{said}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_no_reason_to_skip() {
        let file = std::env::current_exe().expect("a program");
        assert_eq!(missing(&file).filter(|words| words.contains("registry")), None);
        assert!(run(&file, &[]).is_err());
    }
}
