//! Kinds of tests: the words of `cargo xtask test KIND`, and the files that each depends on.

use std::collections::BTreeSet;

use crate::repository::metadata::Package;

/// A kind of tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// The default.
    Core,
    Release,
    Gpu,
    Inventory,
    Rivals,
    Bindings,
    Platforms,
    Sanitizers,
    Slow,
}

/// The packages of the default: they need no graphics stack, object store, rival engine or other language.
pub(crate) const CORE: [&str; 15] = [
    "hashmill-atomic-file",
    "hashmill-cli",
    "hashmill-codegen",
    "hashmill-doc",
    "hashmill-engines",
    "hashmill-files",
    "hashmill-fuzz",
    "hashmill-hash",
    "hashmill-lab",
    "hashmill-machine",
    "hashmill-repo",
    "hashmill-server",
    "hashmill-testkit",
    "hashmill-workloads",
    "xtask",
];

impl Kind {
    /// In the order in which they run: those that fail early first.
    pub(crate) const ALL: [Self; 9] = [
        Self::Core,
        Self::Release,
        Self::Gpu,
        Self::Inventory,
        Self::Rivals,
        Self::Bindings,
        Self::Platforms,
        Self::Sanitizers,
        Self::Slow,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Release => "release",
            Self::Gpu => "gpu",
            Self::Inventory => "inventory",
            Self::Rivals => "rivals",
            Self::Bindings => "bindings",
            Self::Platforms => "platforms",
            Self::Sanitizers => "sanitizers",
            Self::Slow => "slow",
        }
    }

    /// Description in one line.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Core => "format, lints and tests of the crates that need Rust alone; the default",
            Self::Release => "licences, packages, archives, rustdoc, workflows and all lints",
            Self::Gpu => "graphics devices: drivers without a card, software Vulkan, CUDA kernels",
            Self::Inventory => "inventories in object stores",
            Self::Rivals => "comparisons with other engines, and b3sum's own tests",
            Self::Bindings => "C, Python, Node, browsers and Automerge for JavaScript",
            Self::Platforms => "other processors and systems, and no system at all",
            Self::Sanitizers => "address and thread sanitizers (nightly Rust)",
            Self::Slow => "the tests of core at their full size",
        }
    }

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The packages that it builds and tests.
    fn packages(self) -> &'static [&'static str] {
        match self {
            Self::Core | Self::Slow => &CORE,
            Self::Release => &["hashmill-cli", "hashmill-gpu", "hashmill-inventory", "hashmill-rivals"],
            Self::Gpu => &["hashmill-cli", "hashmill-engines", "hashmill-gpu"],
            Self::Inventory => &["hashmill-inventory"],
            Self::Rivals => &["hashmill-cli", "hashmill-rivals"],
            Self::Bindings => &[
                "hashmill-c",
                "hashmill-cli",
                "hashmill-javascript-documents",
                "hashmill-node",
                "hashmill-python",
                "hashmill-rivals",
                "hashmill-web",
            ],
            Self::Platforms | Self::Sanitizers => &["hashmill-doc", "hashmill-files", "hashmill-hash"],
        }
    }

    /// Paths outside of packages that it depends on.
    fn paths(self) -> &'static [&'static str] {
        match self {
            Self::Release => &[".ci/", ".github/", "deny.toml", "docs/", "LICENSE", "README.md"],
            Self::Bindings => &[".ci/wheel", "bindings/", "README.md"],
            _ => &[],
        }
    }
}

/// Paths that every kind depends on.
const EVERYWHERE: [&str; 6] =
    ["Cargo.lock", "Cargo.toml", "rust-toolchain", ".cargo/", "clippy.toml", "xtask/"];

/// The kinds that changed files can affect. The default is always one of them.
pub(crate) fn affected(files: &[String], packages: &[Package]) -> Vec<Kind> {
    let is_below = |file: &str, paths: &[&str]| paths.iter().any(|path| file.starts_with(path));
    if files.iter().any(|file| is_below(file, &EVERYWHERE)) {
        return Kind::ALL.to_vec();
    }
    let in_package = |package: &Package| {
        files.iter().any(|file| file.strip_prefix(&package.folder).is_some_and(|rest| rest.starts_with('/')))
    };
    let changed: BTreeSet<&str> =
        packages.iter().filter(|package| in_package(package)).map(|package| package.name.as_str()).collect();
    let is_affected = |kind: Kind| {
        let mut built = needed(kind.packages(), packages);
        kind == Kind::Core
            || built.any(|package| changed.contains(package))
            || files.iter().any(|file| is_below(file, kind.paths()))
    };
    Kind::ALL.into_iter().filter(|kind| is_affected(*kind)).collect()
}

/// Packages of the workspace and everything of the workspace that they and their tests use.
fn needed<'a>(roots: &[&'a str], packages: &'a [Package]) -> impl Iterator<Item = &'a str> + use<'a> {
    let mut found: BTreeSet<&str> = BTreeSet::new();
    let mut waiting = roots.to_vec();
    while let Some(name) = waiting.pop() {
        let Some(package) = packages.iter().find(|package| package.name == name) else { continue };
        if found.insert(&package.name) {
            waiting.extend(package.dependencies.iter().map(|dependency| dependency.name.as_str()));
        }
    }
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::metadata;

    fn of(files: &[&str]) -> Vec<Kind> {
        let packages = metadata::packages(&crate::root()).expect("the workspace");
        affected(&files.iter().map(|&file| file.to_owned()).collect::<Vec<_>>(), &packages)
    }

    #[test]
    fn packages_of_kinds_are_those_of_the_workspace() {
        let packages = metadata::packages(&crate::root()).expect("the workspace");
        let exists = |name: &str| packages.iter().any(|package| package.name == name);
        for kind in Kind::ALL {
            assert!(kind.packages().iter().all(|name| exists(name)), "{kind:?}");
            assert_eq!(Kind::of_name(kind.name()), Some(kind));
        }
        let tested: BTreeSet<&str> =
            Kind::ALL.into_iter().flat_map(|kind| needed(kind.packages(), &packages)).collect();
        let left: Vec<&str> = packages
            .iter()
            .map(|package| package.name.as_str())
            .filter(|name| !tested.contains(name))
            .collect();
        assert!(left.is_empty(), "no kind tests {left:?}");
    }

    #[test]
    fn a_changed_file_affects_what_is_built_of_it() {
        assert_eq!(of(&["docs/files.md"]), [Kind::Core, Kind::Release]);
        assert_eq!(of(&["bench/README.md"]), [Kind::Core]);
        assert_eq!(of(&[".github/workflows/ci.yml"]), [Kind::Core, Kind::Release]);
        assert_eq!(
            of(&["crates/inventory/src/lib.rs"]),
            [Kind::Core, Kind::Release, Kind::Inventory, Kind::Bindings]
        );
        assert_eq!(of(&["bindings/node/src/lib.rs"]), [Kind::Core, Kind::Bindings]);
        assert_eq!(of(&["crates/hash/src/lib.rs"]), Kind::ALL);
        assert_eq!(of(&["xtask/src/main.rs"]), Kind::ALL);
        let documents = of(&["crates/doc/src/lib.rs"]);
        assert!(!documents.contains(&Kind::Inventory) && documents.contains(&Kind::Slow));
        assert_eq!(of(&["crates/gpu-tools/src/lib.rs"]), [Kind::Core], "a folder's name is compared whole");
    }
}
