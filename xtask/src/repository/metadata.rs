//! Cargo metadata of the workspace: packages, features and dependencies.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

/// A package of the workspace.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// Relative to the workspace, with `/`.
    pub(crate) folder: String,
    /// Without `default`.
    pub(crate) features: Vec<String>,
    pub(crate) dependencies: Vec<Dependency>,
}

/// A dependency.
#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Used by tests, examples and benches only.
    pub(crate) dev: bool,
}

/// A third-party package.
#[derive(Clone, Debug)]
pub(crate) struct ThirdParty {
    pub(crate) name: String,
    pub(crate) version: String,
    /// SPDX expression.
    pub(crate) license: String,
    /// Address of its source.
    pub(crate) source: String,
    /// Folder of its files on this machine.
    pub(crate) folder: PathBuf,
}

/// Third-party packages that are linked into `package` on any system, sorted by name.
pub(crate) fn third_party_packages(root: &Path, package: &str) -> anyhow::Result<Vec<ThirdParty>> {
    let tree = ["tree", "--edges=normal", "--target=all", "--prefix=none", "--format={p}", "-p", package];
    let linked = String::from_utf8(cargo(root, &tree)?)?;
    let metadata: Value = serde_json::from_slice(&cargo(root, &["metadata", "--format-version=1"])?)?;
    let mut packages = Vec::new();
    for value in list(&metadata["packages"])? {
        let (name, version) = (text(&value["name"])?, text(&value["version"])?);
        // A package of the workspace has no source.
        let line = format!("{name} v{version}");
        let is_linked = linked
            .lines()
            .any(|other| other.trim_end_matches(" (*)").trim_end_matches(" (proc-macro)") == line);
        if value["source"].is_null() || !is_linked {
            continue;
        }
        let manifest = PathBuf::from(text(&value["manifest_path"])?);
        packages.push(ThirdParty {
            license: text(&value["license"]).unwrap_or_else(|_| "a licence of its own".to_owned()),
            source: text(&value["repository"]).unwrap_or_else(|_| format!("https://crates.io/crates/{name}")),
            folder: manifest.parent().context("the folder of a package")?.to_path_buf(),
            name,
            version,
        });
    }
    Ok(packages)
}

/// Asks cargo for the packages of the workspace at `root`. Works without a network.
pub(crate) fn packages(root: &Path) -> anyhow::Result<Vec<Package>> {
    parse(&cargo(root, &["metadata", "--format-version=1", "--no-deps"])?)
        .context("the output of cargo metadata")
}

/// Cargo's target folder.
pub(crate) fn target(root: &Path) -> anyhow::Result<PathBuf> {
    let metadata: Value =
        serde_json::from_slice(&cargo(root, &["metadata", "--format-version=1", "--no-deps"])?)?;
    Ok(PathBuf::from(text(&metadata["target_directory"])?))
}

/// Names of all direct and indirect dependencies of `package` with all of its features.
pub(crate) fn dependency_names(root: &Path, package: &str) -> anyhow::Result<Vec<String>> {
    let names =
        tree(root, &["tree", "--all-features", "--edges=normal,build", "--prefix=none", "-p", package])?;
    let names: Vec<_> = names.iter().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect();
    ensure!(names.len() > 1, "{package} depends on nothing");
    Ok(names)
}

/// The lines that a `cargo tree` prints.
pub(crate) fn tree(root: &Path, args: &[&str]) -> anyhow::Result<Vec<String>> {
    Ok(str::from_utf8(&cargo(root, args)?)?.lines().map(str::to_owned).collect())
}

fn cargo(root: &Path, args: &[&str]) -> anyhow::Result<Vec<u8>> {
    let output = Command::new("cargo").args(args).arg("--locked").current_dir(root).output();
    let output = output.with_context(|| format!("cargo {}", args[0]))?;
    ensure!(output.status.success(), "cargo {}: {}", args[0], String::from_utf8_lossy(&output.stderr));
    Ok(output.stdout)
}

fn parse(json: &[u8]) -> anyhow::Result<Vec<Package>> {
    let metadata: Value = serde_json::from_slice(json)?;
    let root = text(&metadata["workspace_root"])?;
    list(&metadata["packages"])?.iter().map(|value| package(Path::new(&root), value)).collect()
}

fn package(root: &Path, value: &Value) -> anyhow::Result<Package> {
    let manifest = PathBuf::from(text(&value["manifest_path"])?);
    let folder = manifest.parent().and_then(|folder| folder.strip_prefix(root).ok());
    let features = value["features"].as_object().context("features")?;
    let dependency = |value: &Value| {
        Ok(Dependency { name: text(&value["name"])?, dev: value["kind"].as_str() == Some("dev") })
    };
    Ok(Package {
        name: text(&value["name"])?,
        folder: folder.context("the folder of a package")?.to_string_lossy().replace('\\', "/"),
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
    fn packages_features_and_dependencies_are_read() {
        let json = br#"{"workspace_root": "/r", "packages": [{
            "name": "a", "manifest_path": "/r/crates/a/Cargo.toml", "features": {"default": ["x"], "x": []},
            "dependencies": [{"name": "b", "kind": null}, {"name": "c", "kind": "dev"}]
        }]}"#;
        let packages = parse(json).expect("this is what cargo prints");
        let [a] = packages.as_slice() else { panic!("one package") };
        assert_eq!((a.name.as_str(), a.folder.as_str()), ("a", "crates/a"));
        assert_eq!(a.features, ["x"]);
        let dependencies: Vec<_> =
            a.dependencies.iter().map(|dependency| (dependency.name.as_str(), dependency.dev)).collect();
        assert_eq!(dependencies, [("b", false), ("c", true)]);
    }

    #[test]
    fn unknown_metadata_is_an_error_not_an_empty_workspace() {
        assert!(parse(b"{}").is_err() && parse(br#"{"packages": [{}]}"#).is_err());
    }
}
