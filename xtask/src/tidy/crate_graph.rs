//! Allowed dependencies between crates, and the toolchain that builds them.

use std::fs;
use std::path::Path;

use anyhow::Context;

use crate::repository::metadata;
use crate::repository::metadata::Package;
use crate::tidy::Fault;

/// Crates of the workspace and their dependencies on each other. Tests may also use `testkit`. Dependencies point down only, and
/// an unused entry is a fault.
const ARROWS: &[(&str, &[&str])] = &[
    ("hashmill-atomic-file", &[]),
    ("hashmill-hash", &[]),
    ("hashmill-machine", &[]),
    ("hashmill-doc", &[]),
    ("hashmill-repo", &["hashmill-doc"]),
    ("hashmill-server", &["hashmill-atomic-file", "hashmill-doc", "hashmill-hash", "hashmill-repo"]),
    ("hashmill-lab", &["hashmill-atomic-file", "hashmill-machine"]),
    ("hashmill-files", &["hashmill-atomic-file", "hashmill-hash", "hashmill-machine"]),
    ("hashmill-gpu", &["hashmill-hash"]),
    ("hashmill-engines", &["hashmill-atomic-file", "hashmill-gpu", "hashmill-hash", "hashmill-machine"]),
    ("hashmill-inventory", &["hashmill-atomic-file", "hashmill-files", "hashmill-hash"]),
    (
        "hashmill-workloads",
        &[
            "hashmill-doc",
            "hashmill-files",
            "hashmill-gpu",
            "hashmill-hash",
            "hashmill-lab",
            "hashmill-machine",
        ],
    ),
    (
        "hashmill-cli",
        &[
            "hashmill-atomic-file",
            "hashmill-doc",
            "hashmill-engines",
            "hashmill-files",
            "hashmill-gpu",
            "hashmill-hash",
            "hashmill-lab",
            "hashmill-machine",
            "hashmill-repo",
            "hashmill-server",
            "hashmill-workloads",
        ],
    ),
    ("hashmill-c", &["hashmill-doc", "hashmill-files", "hashmill-hash"]),
    ("hashmill-node", &["hashmill-engines", "hashmill-files", "hashmill-hash", "hashmill-machine"]),
    (
        "hashmill-python",
        &[
            "hashmill-doc",
            "hashmill-engines",
            "hashmill-files",
            "hashmill-hash",
            "hashmill-inventory",
            "hashmill-machine",
            "hashmill-repo",
        ],
    ),
    ("hashmill-javascript-documents", &["hashmill-doc", "hashmill-repo"]),
    ("hashmill-web", &["hashmill-hash"]),
    // An oracle must share no code with the tested code, or it would share its mistakes.
    ("hashmill-testkit", &[]),
    (
        "hashmill-rivals",
        &[
            "hashmill-atomic-file",
            "hashmill-doc",
            "hashmill-hash",
            "hashmill-lab",
            "hashmill-machine",
            "hashmill-repo",
            "hashmill-testkit",
            "hashmill-workloads",
        ],
    ),
    (
        "hashmill-fuzz",
        &["hashmill-doc", "hashmill-files", "hashmill-hash", "hashmill-repo", "hashmill-testkit"],
    ),
    // These tools must run while the crates do not build.
    ("hashmill-codegen", &[]),
    ("xtask", &[]),
];

/// Competing crates: only `rivals` links them.
const COMPETITORS: [&str; 9] =
    ["blake3", "argon2", "argon2-rust", "argon2-sys", "automerge", "diamond-types", "loro", "samod", "yrs"];

/// Programs may use `anyhow`; libraries have error enums.
const PROGRAMS: [&str; 4] = ["hashmill-cli", "hashmill-codegen", "hashmill-rivals", "xtask"];

/// Build dependencies that compile C or look for C libraries.
const C_BUILDERS: [&str; 6] = ["autotools", "bindgen", "cc", "cmake", "pkg-config", "vcpkg"];

/// The program and every shipped library must build with Rust alone.
pub(super) fn check_no_c(root: &Path) -> anyhow::Result<Vec<Fault>> {
    let names = metadata::dependency_names(root, "hashmill-cli")?;
    let c_builders = names.iter().filter(|name| C_BUILDERS.contains(&name.as_str()));
    Ok(c_builders.map(|name| Fault::new("hashmill-cli", 0, format!("needs {name} to be built"))).collect())
}

pub(super) fn check(packages: &[Package]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for package in packages {
        let mut fault = |message: String| faults.push(Fault::new(&package.name, 0, message));
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == package.name) else {
            fault("a crate without an entry in `tidy/crate_graph.rs`".to_owned());
            continue;
        };
        for to in &package.dependencies {
            let is_in_workspace = ARROWS.iter().any(|(name, _)| *name == to.name);
            let for_tests = to.dev && to.name == "hashmill-testkit" && package.name != "hashmill-testkit";
            if is_in_workspace && !allowed.contains(&to.name.as_str()) && !for_tests {
                fault(format!("must not use {}", to.name));
            }
            if COMPETITORS.contains(&to.name.as_str()) && package.name != "hashmill-rivals" {
                fault(format!("links the competitor {}: only `rivals` does", to.name));
            }
            if to.name == "anyhow" && !PROGRAMS.contains(&package.name.as_str()) {
                fault("uses anyhow: a library has error enums".to_owned());
            }
        }
    }
    faults
}

/// Listed dependencies that no crate uses.
pub(super) fn unused(packages: &[Package]) -> Vec<Fault> {
    let uses = |from: &str, to: &str| {
        let mut sources = packages.iter().filter(|package| package.name == from);
        sources.any(|package| {
            package.dependencies.iter().any(|dependency| !dependency.dev && dependency.name == to)
        })
    };
    let all = ARROWS.iter().flat_map(|&(from, to)| to.iter().map(move |&to| (from, to)));
    let unused = all.filter(|(from, to)| !uses(from, to));
    unused
        .map(|(from, to)| {
            Fault::new(from, 0, format!("no longer uses {to}: remove it from `tidy/crate_graph.rs`"))
        })
        .collect()
}

/// The stated minimum version must be the version that builds everything.
pub(super) fn check_toolchain(root: &Path) -> anyhow::Result<Vec<Fault>> {
    let read = |name: &str| fs::read_to_string(root.join(name)).context(name.to_owned());
    let built =
        value(&read("rust-toolchain.toml")?, "channel").context("a channel in rust-toolchain.toml")?;
    let stated = value(&read("Cargo.toml")?, "rust-version").context("a rust-version in Cargo.toml")?;
    let is_same = built == stated || built.strip_prefix(&stated).is_some_and(|patch| patch.starts_with('.'));
    let message = format!("builds with {built}, but Cargo.toml states {stated}");
    Ok(if is_same { Vec::new() } else { vec![Fault::new("rust-toolchain.toml", 0, message)] })
}

/// The string after `key =`, on its own line.
fn value(toml: &str, key: &str) -> Option<String> {
    let (_, value) =
        toml.lines().filter_map(|line| line.split_once('=')).find(|(name, _)| name.trim() == key)?;
    Some(value.trim().trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::metadata::Dependency;

    fn package(name: &str, dependencies: &[(&str, bool)]) -> Package {
        let dependency = |&(name, dev): &(&str, bool)| Dependency { name: name.to_owned(), dev };
        Package {
            name: name.to_owned(),
            folder: String::new(),
            features: Vec::new(),
            dependencies: dependencies.iter().map(dependency).collect(),
        }
    }

    fn messages(name: &str, dependencies: &[(&str, bool)]) -> Vec<String> {
        check(&[package(name, dependencies)]).into_iter().map(|fault| fault.message).collect()
    }

    #[test]
    fn dependencies_point_down() {
        assert!(messages("hashmill-cli", &[("hashmill-files", false), ("serde", false)]).is_empty());
        assert_eq!(messages("hashmill-hash", &[("hashmill-files", false)]), ["must not use hashmill-files"]);
        assert_eq!(messages("hashmill-files", &[("hashmill-cli", true)]), ["must not use hashmill-cli"]);
    }

    #[test]
    fn testkit_is_for_tests() {
        assert!(messages("hashmill-hash", &[("hashmill-testkit", true)]).is_empty());
        assert_eq!(
            messages("hashmill-hash", &[("hashmill-testkit", false)]),
            ["must not use hashmill-testkit"]
        );
    }

    #[test]
    fn unused_entry_is_a_fault() {
        let faults = |uses: &[(&str, bool)]| {
            let faults = unused(&[package("hashmill-gpu", uses)]);
            faults.iter().filter(|fault| fault.location == "hashmill-gpu").count()
        };
        assert_eq!(faults(&[("hashmill-hash", false)]), 0);
        assert_eq!(faults(&[("hashmill-hash", true)]), 1, "only tests use it");
        assert_eq!(faults(&[]), 1);
    }

    #[test]
    fn only_rivals_links_competitors() {
        assert!(messages("hashmill-rivals", &[("blake3", false)]).is_empty());
        assert_eq!(messages("hashmill-hash", &[("blake3", true)]).len(), 1);
    }

    #[test]
    fn libraries_have_error_enums() {
        assert!(messages("hashmill-cli", &[("anyhow", false)]).is_empty());
        assert_eq!(messages("hashmill-files", &[("anyhow", false)]).len(), 1);
    }

    #[test]
    fn new_crate_needs_an_entry() {
        assert_eq!(messages("hashmill-extras", &[]).len(), 1);
    }

    #[test]
    fn values_are_read_from_toml() {
        assert_eq!(value("[toolchain]\nchannel = \"1.95.0\"\n", "channel").as_deref(), Some("1.95.0"));
        assert_eq!(value("[toolchain]\n", "channel"), None);
    }
}
