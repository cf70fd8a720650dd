//! Test data that is not committed: real documents and recordings of real typing.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of such files: the one that `HASHMILL_DATA` names, or `shared/data` beside the repository.
pub fn folder() -> PathBuf {
    std::env::var_os("HASHMILL_DATA").map_or_else(|| repository().join("../shared/data"), PathBuf::from)
}

/// The bytes of `name` in [`folder`], or why they cannot be had and what would help.
pub fn read(name: &str) -> Result<Vec<u8>, String> {
    let path = folder().join(name);
    fs::read(&path)
        .map_err(|error| format!("{}: {error}; HASHMILL_DATA names another folder", path.display()))
}

/// The committed files of the Automerge project under `crates/doc/tests/data/automerge`, by their names.
///
/// # Panics
/// When the folder is missing or holds what is no file: it is part of the repository.
pub fn automerge_samples() -> Vec<(String, Vec<u8>)> {
    let folder = repository().join("crates/doc/tests/data/automerge");
    let fixtures = fs::read_dir(folder.join("fixtures")).expect("the folder is committed");
    let mut paths: Vec<PathBuf> = fixtures.map(|entry| entry.expect("an entry").path()).collect();
    paths.push(folder.join("exemplar"));
    paths.sort();
    let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), fs::read(path).expect("a committed file"))).collect()
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("this crate is crates/testkit")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_names_the_missing_file_and_the_remedy() {
        let error = read("no/such/file").expect_err("there is none");
        assert!(error.contains("no/such/file") && error.contains("HASHMILL_DATA"), "{error}");
    }

    #[test]
    fn the_samples_are_there() {
        let samples = automerge_samples();
        assert!(samples.iter().any(|(name, bytes)| name == "exemplar" && bytes.len() == 406));
        assert_eq!(samples.len(), 10);
    }
}
