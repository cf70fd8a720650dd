//! Requirements of steps: tools and data that must be on this machine.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::codegen;
use crate::packages::b3sum_tests;
use crate::packages::python;
use crate::release::book;

/// A requirement of a step.
pub(crate) enum Need {
    /// A program on the search path, and the Debian package that brings it.
    Program { name: &'static str, package: &'static str },
    /// A cargo subcommand, and how to install it.
    Cargo { name: &'static str, install: &'static str },
    /// A program on the search path without a Debian package, and how to install it.
    Tool { name: &'static str, install: &'static str },
    /// A tag of an earlier release.
    Tag,
    /// Node in a version that the tested packages support.
    Node,
    /// A registry for `npm`.
    NpmRegistry,
    /// b3sum's published tests and their dependencies.
    B3sumTests,
    /// mdBook.
    Mdbook,
    /// Python, and the packages for the tests.
    Python,
    /// NVIDIA's compiler, from a registry of Python's packages.
    Nvcc,
    /// A nightly toolchain under rustup.
    Nightly,
    /// The source of the nightly toolchain's standard library, to build it anew.
    NightlySource,
    /// The libraries of the toolchain for a target.
    Std(&'static str),
}

impl Need {
    /// The missing part and how to install it, or `None` if it is present.
    pub(crate) fn missing(&self) -> Option<String> {
        match *self {
            Self::Program { name, package } => {
                find_program(name).is_none().then(|| format!("needs `{name}` (Debian package {package})"))
            }
            Self::Cargo { name, install } => (!succeeds("cargo", &[name, "--version"]))
                .then(|| format!("needs `cargo {name}` ({install})")),
            Self::Tool { name, install } => {
                find_program(name).is_none().then(|| format!("needs `{name}` ({install})"))
            }
            Self::Tag => (!succeeds("git", &["describe", "--tags", "--abbrev=0", "--match=v*"]))
                .then(|| "needs a tag of a release before (git fetch --tags); there is none yet".to_owned()),
            Self::Node => (!has_node()).then(|| {
                "needs `node` from version 20.11 on (Debian package nodejs, or a newer one)".to_owned()
            }),
            Self::NpmRegistry => (!succeeds("npm", &["view", "ws", "version", "--cache", "target/npm"]))
                .then(|| "needs `npm` (Debian package npm) and a registry that it can reach".to_owned()),
            Self::B3sumTests => b3sum_tests::missing(&crate::root()),
            Self::Mdbook => book::missing(&crate::root()),
            Self::Python => python::missing(&crate::root()),
            Self::Nvcc => codegen::missing_compiler(&crate::root()),
            Self::Nightly => (!succeeds("rustup", &["run", "nightly", "rustc", "--version"]))
                .then(|| "needs a nightly toolchain (rustup toolchain install nightly)".to_owned()),
            Self::NightlySource => (!has_source()).then(|| {
                "needs the source of nightly's std (rustup component add rust-src --toolchain nightly)"
                    .to_owned()
            }),
            Self::Std(target) => (!has_std(target))
                .then(|| format!("needs a standard library for {target} (rustup target add {target})")),
        }
    }
}

/// Whether `rustc` can find_program compiled libraries for `target`. rustc names the folder even if it is missing.
fn has_std(target: &str) -> bool {
    let output = Command::new("rustc").args(["--print", "target-libdir", "--target", target]).output();
    let Ok(output) = output else { return false };
    let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let Ok(entries) = folder.read_dir() else { return false };
    entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("libcore-"))
}

/// Whether Node is installed and new enough.
fn has_node() -> bool {
    let output = Command::new("node").arg("--version").stderr(Stdio::null()).output();
    output.is_ok_and(|output| has_import_dirname(&String::from_utf8_lossy(&output.stdout)))
}

/// Whether a version of Node has `import.meta.dirname`, which the scripts use.
fn has_import_dirname(version: &str) -> bool {
    let mut numbers = version.trim().trim_start_matches('v').split('.').map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else { return false };
    (major, minor) >= (20, 11)
}

/// Whether the nightly toolchain has the source of its `std`.
fn has_source() -> bool {
    let output = Command::new("rustup").args(["run", "nightly", "rustc", "--print", "sysroot"]).output();
    let Ok(output) = output else { return false };
    let sysroot = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    output.status.success() && sysroot.join("lib/rustlib/src/rust/library/std/Cargo.toml").exists()
}

/// Whether a command succeeds.
fn succeeds(program: &str, args: &[&str]) -> bool {
    let status = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// The path of a program, looked up as a shell would.
fn find_program(name: &str) -> Option<PathBuf> {
    let file = format!("{name}{}", env::consts::EXE_SUFFIX);
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(&file)).find(|path| Path::is_file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_need_is_named_with_its_remedy() {
        assert!(find_program("cargo").is_some(), "cargo runs this test");
        let need = Need::Program { name: "no-such-program-anywhere", package: "nowhere" };
        assert_eq!(
            need.missing().as_deref(),
            Some("needs `no-such-program-anywhere` (Debian package nowhere)")
        );
        assert!(Need::Cargo { name: "no-such-subcommand", install: "nowhere" }.missing().is_some());
    }

    #[test]
    fn node_needs_the_version_that_the_scripts_use() {
        for (version, expected) in [
            ("v20.11.0\n", true),
            ("v22.0.1\n", true),
            ("v20.10.9\n", false),
            ("v18.20.4\n", false),
            ("", false),
        ] {
            assert_eq!(has_import_dirname(version), expected, "{version}");
        }
    }

    #[test]
    fn a_target_without_a_library_is_not_installed() {
        assert!(!has_std("no-such-target-anywhere"));
        assert!(has_std(&format!("{}-unknown-linux-gnu", env::consts::ARCH)) || env::consts::OS != "linux");
        assert!(!has_std("powerpc64-unknown-linux-musl"), "this target is rarely installed");
    }
}
