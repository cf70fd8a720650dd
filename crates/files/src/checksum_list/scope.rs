//! Mapping of names in a list to files below directories.

use super::table::{self, ChecksumTable, normalize_name};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Files that a list is compared with: those below some directories.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Names are paths; those below these directories count.
    Below(Vec<Vec<u8>>),
    /// Names are relative to this directory, as other programs write them, and all count.
    Within(PathBuf),
}

impl Scope {
    /// Detects the meaning of a list's names: paths, if one of them is below one of `roots`; otherwise
    /// relative to the only root. `None` if no name is related to the roots.
    pub fn detect(table: &ChecksumTable, roots: &[PathBuf]) -> Option<Scope> {
        let below = Scope::Below(
            roots
                .iter()
                .map(|root| normalize_name(root.as_os_str().as_encoded_bytes()).into_owned())
                .collect(),
        );
        match roots {
            _ if table.files().any(|file| below.counts(file.name)) => Some(below),
            [root] if table.files().any(|file| file.name.first() != Some(&b'/')) => {
                Some(Scope::Within(root.clone()))
            }
            // An empty list: every file is new.
            _ if table.is_empty() => Some(below),
            _ => None,
        }
    }

    /// Is a file of the list in this scope?
    pub fn counts(&self, name: &[u8]) -> bool {
        match self {
            Scope::Within(_) => true,
            Scope::Below(roots) => roots.iter().any(|root| is_below(name, root)),
        }
    }

    /// The name of the file at `path` in the list.
    pub fn name<'a>(&self, path: &'a Path) -> Cow<'a, [u8]> {
        let path = match self {
            Scope::Within(root) => path.strip_prefix(root).unwrap_or(path),
            Scope::Below(_) => path,
        };
        normalize_name(path.as_os_str().as_encoded_bytes())
    }

    /// The first directory below which all files of the list are among `gone`, which is sorted; and their
    /// number.
    pub(super) fn emptied(&self, table: &ChecksumTable, gone: &[u32]) -> Option<(PathBuf, usize)> {
        let emptied = |counts: &dyn Fn(&[u8]) -> bool| {
            let counted = gone.iter().filter(|&&number| counts(table.file(number).name)).count();
            let is_there = |(number, file): (u32, table::TableEntry<'_>)| {
                counts(file.name) && gone.binary_search(&number).is_err()
            };
            // Most roots are excluded by the missing files alone, without a scan of all rows.
            (counted > 0 && !(0..).zip(table.files()).any(is_there)).then_some(counted)
        };
        match self {
            Scope::Within(root) => emptied(&|_| true).map(|count| (root.clone(), count)),
            Scope::Below(roots) => roots
                .iter()
                .find_map(|root| Some((table::name_to_path(root), emptied(&|name| is_below(name, root))?))),
        }
    }

    /// The path of the file with this name.
    pub fn path(&self, name: &[u8]) -> PathBuf {
        match self {
            Scope::Within(root) => root.join(table::name_to_path(name)),
            Scope::Below(_) => table::name_to_path(name),
        }
    }
}

fn is_below(name: &[u8], root: &[u8]) -> bool {
    match name.strip_prefix(root) {
        // The current directory: every relative name that does not leave it.
        _ if root.is_empty() => name.first() != Some(&b'/') && !name.starts_with(b"../"),
        Some(rest) => rest.is_empty() || rest[0] == b'/' || root == b"/",
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum_list::Algorithm;
    use crate::checksum_list::TableEntry;

    fn table(names: &[&str]) -> ChecksumTable {
        let mut table = ChecksumTable::new(Algorithm::Blake3);
        for name in names {
            let file = TableEntry { name: name.as_bytes(), digest: &[0; 32], size: None, modified: None };
            table.insert(file).expect("few");
        }
        table
    }

    #[test]
    fn redundant_parts_of_names_are_dropped() {
        for (name, tidied) in [
            ("a/b", "a/b"),
            ("./a//b/./c/", "a/b/c"),
            ("/a", "/a"),
            ("//", "/"),
            (".", ""),
            ("../x", "../x"),
            ("a/..", "a/.."),
        ] {
            assert_eq!(normalize_name(name.as_bytes()), tidied.as_bytes(), "{name}");
        }
    }

    #[test]
    fn names_are_paths_or_within_the_only_root() {
        let scope = |names: &[&str], roots: &[&str]| {
            let roots: Vec<PathBuf> = roots.iter().map(PathBuf::from).collect();
            Scope::detect(&table(names), &roots)
        };
        let below =
            |roots: &[&str]| Some(Scope::Below(roots.iter().map(|root| root.as_bytes().to_vec()).collect()));
        assert_eq!(scope(&["d/a", "e/b"], &["./d/"]), below(&["d"]));
        assert_eq!(scope(&["a", "b/c"], &["d"]), Some(Scope::Within("d".into())));
        assert_eq!(scope(&["a", "b"], &["."]), below(&[""]));
        assert_eq!(scope(&["/x/a"], &["/x"]), below(&["/x"]));
        assert_eq!(scope(&["/x/a"], &["/"]), below(&["/"]));
        assert_eq!(scope(&["/x/a"], &["/y"]), None);
        assert_eq!(scope(&["a"], &["d", "e"]), None);
        assert_eq!(scope(&[], &["d"]), below(&["d"]));
        let rows = table(&["d/a", "d/b", "e/c"]);
        let below =
            |roots: &[&str]| Scope::Below(roots.iter().map(|root| root.as_bytes().to_vec()).collect());
        assert_eq!(below(&["d", "e"]).emptied(&rows, &[0, 1]), Some(("d".into(), 2)));
        assert_eq!(below(&["d", "e"]).emptied(&rows, &[2]), Some(("e".into(), 1)));
        assert_eq!(below(&["d", "x"]).emptied(&rows, &[0]), None);
        assert_eq!(below(&[""]).emptied(&rows, &[0, 1]), None);
        assert_eq!(below(&[""]).emptied(&rows, &[0, 1, 2]), Some(("".into(), 3)));
        assert_eq!(Scope::Within("d".into()).emptied(&rows, &[0, 1, 2]), Some(("d".into(), 3)));
        let scope = Scope::detect(&table(&["d/a"]), &["d".into()]).expect("below");
        assert!(scope.counts(b"d/a") && scope.counts(b"d") && !scope.counts(b"da") && !scope.counts(b"e"));
        let within = Scope::Within("d".into());
        assert_eq!(&*within.name(Path::new("d/x/y")), b"x/y");
        assert_eq!(within.path(b"x/y"), Path::new("d/x/y"));
    }
}
