//! The rules of the tree that neither the compiler nor clippy knows, as an ordinary test.
//!
//! The rules are ARCHITECTURE.md's invariants; what lints hold stands in Cargo.toml and clippy.toml.

mod bench;
mod docs;
mod edges;
mod source;
mod text;

use std::fmt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Context;

/// Something that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Relative to the repository, with `/`; a package's name for an arrow.
    place: String,
    /// Counted from 1; 0 where no line is to blame.
    line: usize,
    what: String,
}

impl Fault {
    fn new(place: &str, line: usize, what: impl Into<String>) -> Self {
        Self { place: place.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.place, self.what),
            line => write!(f, "{}:{line}: {}", self.place, self.what),
        }
    }
}

/// A text file of the tree.
struct TextFile {
    /// Relative to the repository, with `/`.
    path: String,
    text: String,
}

/// Checks the whole tree.
pub(crate) fn check(root: &Path) -> anyhow::Result<Vec<Fault>> {
    let files = read(root)?;
    let mut faults = Vec::new();
    for file in &files {
        faults.extend(text::check(file));
        if file.path.ends_with(".rs") {
            faults.extend(source::check(file));
        }
        // Elsewhere, paths may be those of other projects.
        if file.path.ends_with(".md") && (!file.path.contains('/') || file.path.starts_with("docs/")) {
            faults.extend(docs::check(file, |path| root.join(path).exists()));
        }
    }
    faults.extend(source::unused_places(&files));
    faults.extend(bench::check(root)?);
    let packages = crate::metadata::packages(root)?;
    faults.extend(edges::check(&packages));
    faults.extend(edges::unused(&packages));
    faults.extend(edges::check_toolchain(root)?);
    faults.extend(edges::check_c(root)?);
    Ok(faults)
}

/// Folders that hold what tools made or what is not text.
const NOT_OURS: [&str; 6] = [".git", "target", "artifacts", "corpus", "shared", "node_modules"];

/// The endings of the files that the rules are about.
const ENDINGS: [&str; 7] = ["rs", "md", "toml", "yml", "sh", "py", "s"];

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
        if kind.is_dir() && !NOT_OURS.iter().any(|other| name == *other) {
            walk(&path, paths)?;
        }
        let known = |ending: &std::ffi::OsStr| ENDINGS.iter().any(|known| ending == *known);
        let script = path.ends_with(".ci/run");
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
    fn the_walk_sees_this_file_and_the_script_but_no_build_output() {
        let files = read(&crate::root()).expect("the tree can be read");
        let has = |path: &str| files.iter().any(|file| file.path == path);
        assert!(has("xtask/src/tidy/mod.rs") && has(".ci/run"));
        assert!(!files.iter().any(|file| file.path.contains("target/")));
    }
}
