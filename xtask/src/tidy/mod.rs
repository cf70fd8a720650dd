//! Repository rules that neither the compiler nor clippy checks, as a test.
//!
//! They enforce invariants of ARCHITECTURE.md; Cargo.toml and clippy.toml have the lints.

mod bench;
mod ceilings;
mod circles;
mod crate_graph;
mod folders;
mod imports;
mod names;
mod pages;
mod source;
mod text;
mod words;

use std::fmt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Context;

pub(crate) use pages::joined;

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Path from the repository, with `/`; the name of a package for a dependency.
    location: String,
    /// Counted from 1; 0 without a line.
    line: usize,
    message: String,
}

impl Fault {
    fn new(location: &str, line: usize, message: impl Into<String>) -> Self {
        Self { location: location.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.location, self.message),
            line => write!(f, "{}:{line}: {}", self.location, self.message),
        }
    }
}

/// A text file of the tree.
struct TextFile {
    /// Relative to the repository, with `/`.
    path: String,
    text: String,
}

impl TextFile {
    fn is_one_of(&self, endings: &[&str]) -> bool {
        let ending = Path::new(&self.path).extension().and_then(|ending| ending.to_str());
        ending.is_some_and(|ending| endings.contains(&ending)) || self.path == SCRIPT
    }
}

/// Checks the whole tree.
pub(crate) fn check(root: &Path) -> anyhow::Result<Vec<Fault>> {
    let files = read(root)?;
    let mut faults = Vec::new();
    for file in files.iter().filter(|file| file.is_one_of(&ENDINGS)) {
        faults.extend(text::check(file));
        if file.path.ends_with(".rs") {
            faults.extend(source::check(file));
            faults.extend(names::check(file));
        }
        // Paths in other pages may be those of other projects.
        if file.path.ends_with(".md") && (!file.path.contains('/') || file.path.starts_with("docs/")) {
            faults.extend(pages::check_page(file, |path| root.join(path).exists()));
        }
    }
    faults.extend(pages::check_all(&files, |path| root.join(path).exists()));
    faults.extend(source::unused_entries(&files));
    let list = |path: &str| fs::read_to_string(root.join(path)).with_context(|| path.to_owned());
    faults.extend(circles::check(&files, &list(circles::LIST)?));
    faults.extend(folders::check(files.iter().map(|file| file.path.as_str()), &list(folders::LIST)?));
    faults.extend(words::check(&files, &list(words::LIST)?));
    faults.extend(bench::check(root)?);
    let packages = crate::repository::metadata::packages(root)?;
    faults.extend(crate_graph::check(&packages));
    faults.extend(crate_graph::unused(&packages));
    faults.extend(crate_graph::check_toolchain(root)?);
    faults.extend(crate_graph::check_no_c(root)?);
    Ok(faults)
}

/// A script whose name has no ending.
const SCRIPT: &str = ".ci/run";

/// Folders of generated files and data.
const EXCLUDED_FOLDERS: [&str; 6] = [".git", "target", "artifacts", "corpus", "shared", "node_modules"];

/// Endings of the files that the rules for text apply to.
const ENDINGS: [&str; 7] = ["rs", "md", "toml", "yml", "sh", "py", "s"];

/// Endings of further files with comments.
const SOURCES: [&str; 13] =
    ["c", "cjs", "cpp", "cts", "cu", "h", "hpp", "js", "mjs", "mts", "pyi", "ts", "wgsl"];

/// Rows of a list, with their lines from 1. Empty lines and those that begin with `#` are none.
fn entries(list: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = list.lines().enumerate().map(|(index, line)| (index + 1, line));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn read(root: &Path) -> anyhow::Result<Vec<TextFile>> {
    let mut paths = Vec::new();
    walk(root, &mut paths).context("walking the tree")?;
    paths.sort_unstable();
    let read = |path: PathBuf| {
        let relative = path.strip_prefix(root).expect("the walk stays inside").to_string_lossy();
        let text = fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?;
        Ok(TextFile { path: relative.replace('\\', "/"), text })
    };
    paths.into_iter().map(read).collect()
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in folder.read_dir()? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let name = entry.file_name();
        if kind.is_dir() && !EXCLUDED_FOLDERS.iter().any(|excluded| name == *excluded) {
            walk(&path, paths)?;
        }
        let known = |ending: &std::ffi::OsStr| ENDINGS.iter().chain(&SOURCES).any(|known| ending == *known);
        let script = path.ends_with(SCRIPT);
        if kind.is_file() && (script || path.extension().is_some_and(known)) {
            paths.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        let faults = check(&crate::root()).expect("the tree can be read");
        let lines: Vec<_> = faults.iter().map(Fault::to_string).collect();
        assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
    }

    #[test]
    fn the_walk_reads_this_file_and_the_script_but_no_build_output() {
        let files = read(&crate::root()).expect("the tree can be read");
        let has = |path: &str| files.iter().any(|file| file.path == path);
        assert!(has("xtask/src/tidy/mod.rs") && has("bindings/web/js/argon2.js") && has(".ci/run"));
        assert!(!files.iter().any(|file| file.path.contains("target/")));
    }
}
