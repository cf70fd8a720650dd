//! Modules whose tests have two sizes, found by their calls of `hashmill_testkit::size`.

use std::fs;
use std::path::Path;

use anyhow::Context;

use super::metadata;
use crate::command::TestModule;

/// Calls by which the work of a test depends on the size of the run.
const SIZE_CALLS: [&str; 3] = ["size::of(", "size::is_full(", "size::skip("];

/// The modules of these packages whose tests have two sizes. Other tests do the same work at both, so the default has run them.
pub(crate) fn modules(root: &Path, packages: &[&str]) -> anyhow::Result<Vec<TestModule>> {
    let mut modules = Vec::new();
    for package in metadata::packages(root)? {
        if !packages.contains(&package.name.as_str()) {
            continue;
        }
        for folder in ["src", "tests"] {
            let folder = format!("{}/{folder}", package.folder);
            for path in rust_files(root, &folder)? {
                let text = fs::read_to_string(root.join(&path)).with_context(|| path.clone())?;
                if SIZE_CALLS.iter().any(|call| text.contains(call)) {
                    modules.extend(test_module(&package.folder, &path));
                }
            }
        }
    }
    Ok(modules)
}

/// The Rust files below a folder, relative to the repository.
fn rust_files(root: &Path, folder: &str) -> anyhow::Result<Vec<String>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        if !root.join(&folder).exists() {
            continue;
        }
        for entry in root.join(&folder).read_dir().with_context(|| folder.clone())? {
            let entry = entry?;
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if path.ends_with(".rs") {
                files.push(path);
            }
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// The module of a file, as its tests are named. The file that defines the sizes has none.
fn test_module(package: &str, path: &str) -> Option<TestModule> {
    let inside = path.strip_prefix(package)?.strip_prefix('/')?.strip_suffix(".rs")?;
    let module = |path: &str| {
        let path = path.strip_suffix("/mod").unwrap_or(path);
        if path == "main" || path == "lib" { String::new() } else { path.replace('/', "::") + "::" }
    };
    let (target, module) = match inside.split_once('/')? {
        ("src", "size") => return None,
        ("src", path) => (None, module(path)),
        (_, path) => match path.split_once('/') {
            Some((target, path)) => (Some(target.to_owned()), module(path)),
            None => (Some(path.to_owned()), String::new()),
        },
    };
    Some(TestModule { package: package.to_owned(), target, module })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_module_of_its_tests() {
        let target_and_module = |path: &str| {
            let test_module = test_module("crates/a", path).expect("a module");
            (test_module.target, test_module.module)
        };
        let it = || Some("it".to_owned());
        assert_eq!(target_and_module("crates/a/src/b/c.rs"), (None, "b::c::".to_owned()));
        assert_eq!(target_and_module("crates/a/src/lib.rs"), (None, String::new()));
        assert_eq!(target_and_module("crates/a/tests/it/b/mod.rs"), (it(), "b::".to_owned()));
        assert_eq!(target_and_module("crates/a/tests/it/main.rs"), (it(), String::new()));
        assert_eq!(target_and_module("crates/a/tests/fork.rs"), (Some("fork".to_owned()), String::new()));
        assert_eq!(test_module("crates/testkit", "crates/testkit/src/size.rs"), None);
    }

    #[test]
    fn modules_of_every_kind_are_found() {
        let all = modules(&crate::root(), &["hashmill-cli", "hashmill-doc", "hashmill-lab"])
            .expect("the workspace");
        for (package, target, module) in [
            ("crates/cli", Some("it"), "sum::limits::"),
            ("crates/doc", Some("fork"), ""),
            ("crates/lab", None, "stats::verdict::"),
        ] {
            let is_expected = |actual: &&TestModule| {
                (actual.package.as_str(), actual.target.as_deref(), actual.module.as_str())
                    == (package, target, module)
            };
            assert!(all.iter().any(|module| is_expected(&module)), "{package} {module}");
        }
    }
}
