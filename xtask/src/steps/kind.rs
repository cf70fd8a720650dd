//! Kinds of tests: the names for `cargo xtask test KIND`, and the files that each depends on.

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
    Server,
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
    pub(crate) const ALL: [Self; 10] = [
        Self::Core,
        Self::Release,
        Self::Gpu,
        Self::Inventory,
        Self::Server,
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
            Self::Server => "server",
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
            Self::Server => "the sync server on a machine: sockets, storage, ends of the process",
            Self::Rivals => "comparisons with other engines, and b3sum's own tests",
            Self::Bindings => "C, Python, Node, browsers and Automerge for JavaScript",
            Self::Platforms => "other processors and systems, and no system at all",
            Self::Sanitizers => "address and thread sanitizers (nightly Rust)",
            Self::Slow => "the tests of core at their full size",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The packages that it builds and tests.
    fn packages(self) -> &'static [&'static str] {
        match self {
            Self::Core | Self::Slow => &CORE,
            Self::Release => &["hashmill-cli", "hashmill-gpu", "hashmill-inventory", "hashmill-rivals"],
            Self::Gpu => &["hashmill-cli", "hashmill-engines", "hashmill-gpu"],
            Self::Inventory => &["hashmill-inventory"],
            Self::Server => &["hashmill-cli", "hashmill-server"],
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
        let mut tested = with_dependencies(kind.packages(), packages);
        kind == Kind::Core
            || tested.any(|package| changed.contains(package))
            || files.iter().any(|file| is_below(file, kind.paths()))
    };
    Kind::ALL.into_iter().filter(|kind| is_affected(*kind)).collect()
}

/// Packages of the workspace, with all packages of the workspace that they and their tests depend on.
fn with_dependencies<'a>(
    roots: &[&'a str],
    packages: &'a [Package],
) -> impl Iterator<Item = &'a str> + use<'a> {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let mut queue = roots.to_vec();
    while let Some(name) = queue.pop() {
        let Some(package) = packages.iter().find(|package| package.name == name) else { continue };
        if names.insert(&package.name) {
            queue.extend(package.dependencies.iter().map(|dependency| dependency.name.as_str()));
        }
    }
    names.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::metadata;

    fn kinds_for(files: &[&str]) -> Vec<Kind> {
        let packages = metadata::packages(&crate::root()).expect("the workspace");
        affected(&files.iter().map(|&file| file.to_owned()).collect::<Vec<_>>(), &packages)
    }

    #[test]
    fn packages_of_kinds_are_those_of_the_workspace() {
        let packages = metadata::packages(&crate::root()).expect("the workspace");
        let exists = |name: &str| packages.iter().any(|package| package.name == name);
        for kind in Kind::ALL {
            assert!(kind.packages().iter().all(|name| exists(name)), "{kind:?}");
            assert_eq!(Kind::from_name(kind.name()), Some(kind));
        }
        let tested: BTreeSet<&str> =
            Kind::ALL.into_iter().flat_map(|kind| with_dependencies(kind.packages(), &packages)).collect();
        let untested: Vec<&str> = packages
            .iter()
            .map(|package| package.name.as_str())
            .filter(|name| !tested.contains(name))
            .collect();
        assert!(untested.is_empty(), "no kind tests {untested:?}");
    }

    #[test]
    fn a_changed_file_affects_the_kinds_that_build_it() {
        assert_eq!(kinds_for(&["docs/files.md"]), [Kind::Core, Kind::Release]);
        assert_eq!(kinds_for(&["bench/README.md"]), [Kind::Core]);
        assert_eq!(kinds_for(&[".github/workflows/ci.yml"]), [Kind::Core, Kind::Release]);
        assert_eq!(
            kinds_for(&["crates/inventory/src/lib.rs"]),
            [Kind::Core, Kind::Release, Kind::Inventory, Kind::Bindings]
        );
        assert_eq!(kinds_for(&["bindings/node/src/lib.rs"]), [Kind::Core, Kind::Bindings]);
        assert_eq!(kinds_for(&["crates/hash/src/lib.rs"]), Kind::ALL);
        assert_eq!(kinds_for(&["xtask/src/main.rs"]), Kind::ALL);
        let documents = kinds_for(&["crates/doc/src/lib.rs"]);
        assert!(!documents.contains(&Kind::Inventory) && documents.contains(&Kind::Slow));
        assert_eq!(
            kinds_for(&["crates/gpu-tools/src/lib.rs"]),
            [Kind::Core],
            "names of folders are compared completely"
        );
    }
}
