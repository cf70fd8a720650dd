//! The workspace as cargo sees it: packages, their features, and what they depend on.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

/// A package of the workspace.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// Without `default`.
    pub(crate) features: Vec<String>,
    pub(crate) dependencies: Vec<Dependency>,
}

/// An arrow to another package, ours or not.
#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Used by tests, examples and benches only.
    pub(crate) dev: bool,
}

/// A package of somebody else.
#[derive(Clone, Debug)]
pub(crate) struct Foreign {
    pub(crate) name: String,
    pub(crate) version: String,
    /// As SPDX says it.
    pub(crate) license: String,
    /// Where it comes from.
    pub(crate) place: String,
    /// Where its files lie on this machine.
    pub(crate) folder: PathBuf,
}

/// What of others is linked into `package` on any system, in the order of names.
pub(crate) fn foreign(root: &Path, package: &str) -> anyhow::Result<Vec<Foreign>> {
    let tree = ["tree", "--edges=normal", "--target=all", "--prefix=none", "--format={p}", "-p", package];
    let linked = String::from_utf8(cargo(root, &tree)?)?;
    let answer: Value = serde_json::from_slice(&cargo(root, &["metadata", "--format-version=1"])?)?;
    let mut found = Vec::new();
    for value in list(&answer["packages"])? {
        let (name, version) = (text(&value["name"])?, text(&value["version"])?);
        // A package of the workspace comes from nowhere.
        let line = format!("{name} v{version}");
        let is_linked = linked
            .lines()
            .any(|other| other.trim_end_matches(" (*)").trim_end_matches(" (proc-macro)") == line);
        if value["source"].is_null() || !is_linked {
            continue;
        }
        let manifest = PathBuf::from(text(&value["manifest_path"])?);
        found.push(Foreign {
            license: text(&value["license"]).unwrap_or_else(|_| "a licence of its own".to_owned()),
            place: text(&value["repository"]).unwrap_or_else(|_| format!("https://crates.io/crates/{name}")),
            folder: manifest.parent().context("the folder of a package")?.to_path_buf(),
            name,
            version,
        });
    }
    Ok(found)
}

/// Asks cargo for the packages of the workspace at `root`. Works without a network.
pub(crate) fn packages(root: &Path) -> anyhow::Result<Vec<Package>> {
    parse(&cargo(root, &["metadata", "--format-version=1", "--no-deps"])?)
        .context("the answer of cargo metadata")
}

/// Where cargo puts what it builds.
pub(crate) fn target(root: &Path) -> anyhow::Result<PathBuf> {
    let answer: Value =
        serde_json::from_slice(&cargo(root, &["metadata", "--format-version=1", "--no-deps"])?)?;
    Ok(PathBuf::from(text(&answer["target_directory"])?))
}

/// The names of what building `package` with all of its features takes: its dependencies, and theirs.
pub(crate) fn used(root: &Path, package: &str) -> anyhow::Result<Vec<String>> {
    let answer =
        cargo(root, &["tree", "--all-features", "--edges=normal,build", "--prefix=none", "-p", package])?;
    let names = str::from_utf8(&answer)?.lines().filter_map(|line| line.split(' ').next());
    let names: Vec<_> = names.map(str::to_owned).collect();
    ensure!(names.len() > 1, "{package} depends on nothing");
    Ok(names)
}

fn cargo(root: &Path, args: &[&str]) -> anyhow::Result<Vec<u8>> {
    let output = Command::new("cargo").args(args).arg("--locked").current_dir(root).output();
    let output = output.with_context(|| format!("cargo {}", args[0]))?;
    ensure!(output.status.success(), "cargo {}: {}", args[0], String::from_utf8_lossy(&output.stderr));
    Ok(output.stdout)
}

fn parse(json: &[u8]) -> anyhow::Result<Vec<Package>> {
    let answer: Value = serde_json::from_slice(json)?;
    list(&answer["packages"])?.iter().map(package).collect()
}

fn package(value: &Value) -> anyhow::Result<Package> {
    let features = value["features"].as_object().context("features")?;
    let dependency = |value: &Value| {
        Ok(Dependency { name: text(&value["name"])?, dev: value["kind"].as_str() == Some("dev") })
    };
    Ok(Package {
        name: text(&value["name"])?,
        features: features.keys().filter(|name| *name != "default").cloned().collect(),
        dependencies: list(&value["dependencies"])?.iter().map(dependency).collect::<anyhow::Result<_>>()?,
    })
}

fn text(value: &Value) -> anyhow::Result<String> {
    Ok(value.as_str().context("a string")?.to_owned())
}

fn list(value: &Value) -> anyhow::Result<&Vec<Value>> {
    value.as_array().context("a list")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_features_and_arrows_are_read() {
        let json = br#"{"packages": [{
            "name": "a", "features": {"default": ["x"], "x": []},
            "dependencies": [{"name": "b", "kind": null}, {"name": "c", "kind": "dev"}]
        }]}"#;
        let packages = parse(json).expect("this is what cargo says");
        let [a] = packages.as_slice() else { panic!("one package") };
        assert_eq!((a.name.as_str(), a.features.as_slice()), ("a", ["x".to_owned()].as_slice()));
        let arrows: Vec<_> = a.dependencies.iter().map(|arrow| (arrow.name.as_str(), arrow.dev)).collect();
        assert_eq!(arrows, [("b", false), ("c", true)]);
    }

    #[test]
    fn another_answer_is_an_error_not_an_empty_workspace() {
        assert!(parse(b"{}").is_err() && parse(br#"{"packages": [{}]}"#).is_err());
    }
}
