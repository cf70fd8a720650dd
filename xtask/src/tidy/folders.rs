//! Folders of source with too many children.

use std::collections::{BTreeMap, BTreeSet};

use super::{Fault, ceilings};

/// List of folders that have more, each with its count.
pub(super) const LIST: &str = "xtask/tidy/folders.txt";

/// Maximum number of files and folders in one folder of source.
const MAX_CHILDREN: usize = 12;

/// Endings of source files.
const ENDINGS: [&str; 16] =
    ["rs", "py", "pyi", "js", "mjs", "cjs", "ts", "mts", "cts", "h", "hpp", "c", "cpp", "cu", "wgsl", "s"];

/// Folders without a limit: a workspace has one folder of crates, and cargo-fuzz expects all targets in one folder.
const UNLIMITED: [&str; 2] = ["crates", "fuzz/fuzz_targets"];

/// Compares the children of folders with `list`. Paths are those of all files.
pub(super) fn check<'a>(paths: impl IntoIterator<Item = &'a str>, list: &str) -> Vec<Fault> {
    ceilings::check(LIST, list, &count(paths))
}

/// Folders above the limit, with the number of their children that are source or have some.
fn count<'a>(paths: impl IntoIterator<Item = &'a str>) -> BTreeMap<String, usize> {
    let is_source = |path: &&str| path.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending));
    let mut folders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for path in paths.into_iter().filter(is_source) {
        let mut rest = path;
        while let Some((folder, name)) = rest.rsplit_once('/') {
            folders.entry(folder).or_default().insert(name);
            rest = folder;
        }
    }
    let counts = folders.into_iter().map(|(folder, children)| (folder, children.len()));
    let above = counts.filter(|&(folder, count)| count > MAX_CHILDREN && !UNLIMITED.contains(&folder));
    above.map(|(folder, count)| (folder.to_owned(), count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(folder: &str, files: usize) -> Vec<String> {
        let files = (0..files).map(|number| format!("{folder}/{number}.rs"));
        files.chain([format!("{folder}/part/a.js"), format!("{folder}/data/b.json")]).collect()
    }

    fn faults(folder: &str, files: usize, list: &str) -> Vec<String> {
        let tree = tree(folder, files);
        check(tree.iter().map(String::as_str), list).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn twelve_children_are_fine_and_thirteen_are_a_fault() {
        assert!(faults("crates/x/src", MAX_CHILDREN - 1, "").is_empty());
        let faults = faults("crates/x/src", MAX_CHILDREN, "");
        assert_eq!(faults[0], format!("crates/x/src: 13, where {LIST} allows 0"));
        assert_eq!(faults[1], format!("{LIST}: the rows of this tree are:\ncrates/x/src 13"));
    }

    #[test]
    fn a_listed_folder_may_not_grow_and_its_row_must_shrink_with_it() {
        assert!(faults("crates/x/src", 19, "crates/x/src 20\n").is_empty());
        assert_eq!(faults("crates/x/src", 20, "crates/x/src 20\n").len(), 2);
        assert_eq!(faults("crates/x/src", 18, "crates/x/src 20\n").len(), 2);
        assert_eq!(faults("crates/x/src", 5, "crates/x/src 20\n").len(), 2);
    }

    #[test]
    fn packages_and_fuzz_targets_have_no_limit() {
        assert!(faults("crates", 40, "").is_empty());
        assert!(faults("fuzz/fuzz_targets", 40, "").is_empty());
        assert!(!faults("crates/x/tests/it", 40, "").is_empty());
    }
}
