//! Packages and features of the dependency graphs that several steps share.

use std::path::Path;

use crate::command::Cmd;
use crate::repository::metadata;
use crate::repository::metadata::Package;
use crate::steps::kind::CORE;

/// Needs a compiler for C++.
pub(super) const LIBFUZZER: &str = "hashmill-fuzz/libfuzzer";

/// Features of core that belong to other kinds: graphics devices, documents without their shortcuts (`i686`), and the sync server's
/// sockets and storage.
const NOT_CORE: [&str; 9] = [
    "hashmill-cli/cluster",
    "hashmill-cli/gpu",
    "hashmill-cli/serve",
    "hashmill-engines/gpu",
    "hashmill-workloads/gpu",
    "hashmill-doc/general",
    "hashmill-server/cluster",
    "hashmill-server/shell",
    LIBFUZZER,
];

/// Features that no test of the whole workspace needs: engines that documents are measured beside take longer to build than
/// everything else; the others have steps of their own.
const NOT_WHOLE: [&str; 6] = [
    "hashmill-c/installed",
    "hashmill-doc/general",
    "hashmill-rivals/counting",
    "hashmill-rivals/doc-engines",
    "hashmill-rivals/javascript",
    LIBFUZZER,
];

/// A command of cargo in the graph `core`, with arguments before and after the options that select the graph.
pub(super) fn in_core(root: &Path, before: &[&str], after: &[&str]) -> anyhow::Result<Cmd> {
    Ok(cargo(before, &core(root)?, after))
}

/// As [`in_core`] for the graph `whole`, with additional features.
pub(super) fn in_whole(root: &Path, before: &[&str], extra: &[&str], after: &[&str]) -> anyhow::Result<Cmd> {
    Ok(cargo(before, &whole(root, extra)?, after))
}

fn cargo(before: &[&str], options: &[String], after: &[&str]) -> Cmd {
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    Cmd::cargo(&[before, &options, after].concat())
}

/// Options of cargo for the graph `core`.
fn core(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut packages = metadata::packages(root)?;
    packages.retain(|package| CORE.contains(&package.name.as_str()));
    let mut options = vec!["--locked".to_owned()];
    CORE.iter().for_each(|package| options.extend(["-p", package].map(str::to_owned)));
    options.extend(["--features".to_owned(), features(&packages, &NOT_CORE)]);
    Ok(options)
}

/// Options of cargo for the graph `whole`, with additional features.
fn whole(root: &Path, extra: &[&str]) -> anyhow::Result<Vec<String>> {
    let mut features = vec![features(&metadata::packages(root)?, &NOT_WHOLE)];
    features.extend(extra.iter().map(|&feature| feature.to_owned()));
    Ok(["--locked", "--workspace", "--features", &features.join(",")].map(str::to_owned).to_vec())
}

/// A value for cargo's `--features`: every feature of every package, except some.
pub(super) fn features(packages: &[Package], excluded: &[&str]) -> String {
    let all = packages
        .iter()
        .flat_map(|package| package.features.iter().map(|feature| format!("{}/{feature}", package.name)));
    all.filter(|feature| !excluded.contains(&feature.as_str())).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn features_that_are_left_out_exist() {
        let packages = metadata::packages(&crate::root()).expect("the workspace");
        let all = features(&packages, &[]);
        for feature in NOT_CORE.iter().chain(&NOT_WHOLE) {
            assert!(all.split(',').any(|known| known == *feature), "{feature}");
        }
        let whole = whole(&crate::root(), &["hashmill-c/installed"]).expect("options");
        assert!(whole[3].contains("hashmill-cli/gpu") && whole[3].ends_with(",hashmill-c/installed"));
        assert!(!whole[3].contains("doc-engines"));
    }

    /// The crates of a graph, each with its version and features.
    fn crates(options: &[String]) -> BTreeSet<String> {
        let mut tree = vec!["tree", "--prefix=none", "--edges=normal,build,dev", "--format={p} {f}"];
        // `metadata` adds `--locked` itself.
        tree.extend(options.iter().map(String::as_str).filter(|option| *option != "--locked"));
        let lines = metadata::tree(&crate::root(), &tree).expect("cargo tree");
        lines.into_iter().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
    }

    #[test]
    fn core_builds_no_graphics_stack_object_store_or_rival_engine() {
        let core = crates(&core(&crate::root()).expect("options"));
        let has = |name: &str| core.iter().any(|line| line.split(' ').next() == Some(name));
        assert!(has("hashmill-doc") && has("serde"));
        for heavy in [
            "wgpu",
            "naga",
            "object_store",
            "parquet",
            "tokio",
            "automerge",
            "blake3",
            "loro",
            "pyo3",
            "napi",
        ] {
            assert!(!has(heavy), "{heavy}");
        }
    }

    /// An additional feature in one graph would compile a crate twice, and all of its dependents.
    #[test]
    fn the_whole_workspace_reuses_what_core_compiles() {
        let root = crate::root();
        let whole = crates(&whole(&root, &[]).expect("options"));
        let core = crates(&core(&root).expect("options"));
        let name = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
        let twice: BTreeSet<String> = core.difference(&whole).map(|line| name(line)).collect();
        // `whole` adds features of graphics devices, and the cryptography of object stores to TLS.
        let expected = [
            "hashmill-cli",
            "hashmill-engines",
            "hashmill-gpu",
            "hashmill-server",
            "hashmill-workloads",
            "rustls",
            "rustls-webpki",
        ];
        assert_eq!(twice, expected.map(str::to_owned).into(), "see the dependencies of crates/testkit");
    }
}
