//! The tests of its command line that b3sum publishes: fetched as cargo fetches any package, built where they lie, and run
//! against our program, which is called `b3sum` there. Nothing of them is kept here, and nothing of them is changed.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::steps::Cmd;

/// Whose words a link named `b3sum` speaks.
const VERSION: &str = "1.8.7";

/// Where everything lies that this step makes, in the repository.
const FOLDER: &str = "target/b3sum-tests";

/// Fetches the tests and what they are built with. Says what is missing, or nothing when all of it is here.
pub(crate) fn missing(root: &Path) -> Option<String> {
    let error = fetch(&root.join(FOLDER)).err()?;
    let text = format!("{error:#}");
    Some(format!(
        "needs the package b3sum {VERSION} of crates.io: {}",
        text.lines().next().unwrap_or_default()
    ))
}

/// What runs the tests that were fetched against the program at `program`.
pub(crate) fn run(root: &Path, program: &Path) -> [Cmd; 2] {
    let link = root.join(FOLDER).join("b3sum").to_string_lossy().into_owned();
    let test = ["test", "--manifest-path", &format!("{FOLDER}/Cargo.toml"), "--test", "cli_tests"];
    [
        Cmd::new("ln", &["-sfn", &program.to_string_lossy(), &link]),
        // Which cargo would set to the program of that package, if the package had one.
        Cmd::cargo(&test).with("CARGO_BIN_EXE_b3sum", &link),
    ]
}

fn fetch(folder: &Path) -> anyhow::Result<()> {
    let source = source(&folder.join("fetch"))?;
    let tests = source.join("tests/cli_tests.rs");
    ensure!(tests.is_file(), "{} is not in it", tests.display());
    let manifest = format!(
        "[package]\nname = \"b3sum\"\nversion = \"{VERSION}\"\nedition = \"2024\"\n[workspace]\n\
         [dev-dependencies]\nblake3 = \"*\"\nduct = \"*\"\nhex = \"*\"\ntempfile = \"*\"\n\
         [lib]\npath = \"lib.rs\"\n[[test]]\nname = \"cli_tests\"\npath = {:?}\n",
        tests.display().to_string()
    );
    package(folder, &manifest)?;
    // Their versions of these.
    fs::copy(source.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    fetched(folder)
}

/// Where the files of the package lie, after cargo has fetched it as a dependency of a package without contents. As it is no
/// library, cargo fetches it and says nothing of it.
fn source(folder: &Path) -> anyhow::Result<PathBuf> {
    let manifest = format!(
        "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n\
         [dependencies]\nb3sum = \"={VERSION}\"\n[lib]\npath = \"lib.rs\"\n"
    );
    package(folder, &manifest)?;
    fetched(folder)?;
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")));
    let sources = home.context("cargo has no home")?.join("registry/src");
    let registries = sources.read_dir().with_context(|| format!("{}", sources.display()))?;
    let mut found = registries.flatten().map(|registry| registry.path().join(format!("b3sum-{VERSION}")));
    found.find(|folder| folder.is_dir()).with_context(|| format!("it is not in {}", sources.display()))
}

fn package(folder: &Path, manifest: &str) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
    fs::write(folder.join("lib.rs"), "")?;
    Ok(fs::write(folder.join("Cargo.toml"), manifest)?)
}

/// Fetches what a package depends on. What is here already needs no network.
fn fetched(folder: &Path) -> anyhow::Result<()> {
    let mut said = String::new();
    for offline in [&["--offline"][..], &[]] {
        let output = Command::new("cargo").arg("fetch").args(offline).current_dir(folder).output()?;
        if output.status.success() {
            return Ok(());
        }
        said = String::from_utf8_lossy(&output.stderr).into_owned();
    }
    let error = said.lines().find(|line| line.starts_with("error")).unwrap_or("it said nothing");
    anyhow::bail!("cargo fetch: {error}")
}
