//! How names in a manifest belong to files below a directory.

use super::Manifest;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// A name without what says nothing: `.` between slashes, a slash after a slash or at the end.
pub fn tidy(name: &[u8]) -> Cow<'_, [u8]> {
    let is_tidy = |part: &[u8]| !part.is_empty() && part != b".";
    let absolute = name.first() == Some(&b'/');
    let rest = if absolute { &name[1..] } else { name };
    if rest.split(|&byte| byte == b'/').all(is_tidy) {
        return Cow::Borrowed(name);
    }
    let parts: Vec<&[u8]> = rest.split(|&byte| byte == b'/').filter(|part| is_tidy(part)).collect();
    let mut tidied = if absolute { vec![b'/'] } else { Vec::new() };
    tidied.extend(parts.join(&b'/'));
    Cow::Owned(tidied)
}

/// The files that a manifest is compared with: those below some directories.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Names are paths as they are, and those below these count.
    Below(Vec<Vec<u8>>),
    /// Names are paths within this directory, as other programs write them, and all count.
    Within(PathBuf),
}

impl Scope {
    /// Finds out how the names of a manifest are meant: as paths, if one of them is below one of `roots`; else as paths
    /// within the only root. Nothing if no name has to do with the roots.
    pub fn of(manifest: &Manifest, roots: &[PathBuf]) -> Option<Scope> {
        let below = Scope::Below(
            roots.iter().map(|root| tidy(root.as_os_str().as_encoded_bytes()).into_owned()).collect(),
        );
        match roots {
            _ if manifest.files().any(|file| below.counts(file.name)) => Some(below),
            [root] if manifest.files().any(|file| file.name.first() != Some(&b'/')) => {
                Some(Scope::Within(root.clone()))
            }
            // Nothing was there, so everything is new.
            _ if manifest.is_empty() => Some(below),
            _ => None,
        }
    }

    /// Whether a file of the manifest is one of these.
    pub fn counts(&self, name: &[u8]) -> bool {
        match self {
            Scope::Within(_) => true,
            Scope::Below(roots) => roots.iter().any(|root| is_below(name, root)),
        }
    }

    /// The name that the file at `path` has in the manifest.
    pub fn name<'a>(&self, path: &'a Path) -> Cow<'a, [u8]> {
        let path = match self {
            Scope::Within(root) => path.strip_prefix(root).unwrap_or(path),
            Scope::Below(_) => path,
        };
        tidy(path.as_os_str().as_encoded_bytes())
    }

    /// The first directory below which the manifest has files, all of them among `gone`, which is in order; and how many.
    pub(super) fn emptied(&self, manifest: &Manifest, gone: &[u32]) -> Option<(PathBuf, usize)> {
        let emptied = |counts: &dyn Fn(&[u8]) -> bool| {
            let counted = gone.iter().filter(|&&number| counts(manifest.file(number).name)).count();
            let is_there = |(number, file): (u32, super::File<'_>)| {
                counts(file.name) && gone.binary_search(&number).is_err()
            };
            // Most roots are ruled out by what is gone, without a look at all rows.
            (counted > 0 && !(0..).zip(manifest.files()).any(is_there)).then_some(counted)
        };
        match self {
            Scope::Within(root) => emptied(&|_| true).map(|count| (root.clone(), count)),
            Scope::Below(roots) => roots
                .iter()
                .find_map(|root| Some((super::path(root), emptied(&|name| is_below(name, root))?))),
        }
    }

    /// Where the file with this name is.
    pub fn path(&self, name: &[u8]) -> PathBuf {
        match self {
            Scope::Within(root) => root.join(super::path(name)),
            Scope::Below(_) => super::path(name),
        }
    }
}

fn is_below(name: &[u8], root: &[u8]) -> bool {
    match name.strip_prefix(root) {
        // The current directory: whatever does not begin elsewhere.
        _ if root.is_empty() => name.first() != Some(&b'/') && !name.starts_with(b"../"),
        Some(rest) => rest.is_empty() || rest[0] == b'/' || root == b"/",
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::File;
    use super::*;
    use crate::checkfile::Algorithm;

    fn manifest(names: &[&str]) -> Manifest {
        let mut manifest = Manifest::new(Algorithm::Blake3);
        for name in names {
            let file = File { name: name.as_bytes(), digest: &[0; 32], size: None, modified: None };
            manifest.insert(file).expect("few");
        }
        manifest
    }

    #[test]
    fn names_lose_what_says_nothing() {
        for (name, tidied) in [
            ("a/b", "a/b"),
            ("./a//b/./c/", "a/b/c"),
            ("/a", "/a"),
            ("//", "/"),
            (".", ""),
            ("../x", "../x"),
            ("a/..", "a/.."),
        ] {
            assert_eq!(tidy(name.as_bytes()), tidied.as_bytes(), "{name}");
        }
    }

    #[test]
    fn names_are_paths_or_within_the_only_root() {
        let scope = |names: &[&str], roots: &[&str]| {
            let roots: Vec<PathBuf> = roots.iter().map(PathBuf::from).collect();
            Scope::of(&manifest(names), &roots)
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
        let rows = manifest(&["d/a", "d/b", "e/c"]);
        let below =
            |roots: &[&str]| Scope::Below(roots.iter().map(|root| root.as_bytes().to_vec()).collect());
        assert_eq!(below(&["d", "e"]).emptied(&rows, &[0, 1]), Some(("d".into(), 2)));
        assert_eq!(below(&["d", "e"]).emptied(&rows, &[2]), Some(("e".into(), 1)));
        assert_eq!(below(&["d", "x"]).emptied(&rows, &[0]), None);
        assert_eq!(below(&[""]).emptied(&rows, &[0, 1]), None);
        assert_eq!(below(&[""]).emptied(&rows, &[0, 1, 2]), Some(("".into(), 3)));
        assert_eq!(Scope::Within("d".into()).emptied(&rows, &[0, 1, 2]), Some(("d".into(), 3)));
        let scope = Scope::of(&manifest(&["d/a"]), &["d".into()]).expect("below");
        assert!(scope.counts(b"d/a") && scope.counts(b"d") && !scope.counts(b"da") && !scope.counts(b"e"));
        let within = Scope::Within("d".into());
        assert_eq!(&*within.name(Path::new("d/x/y")), b"x/y");
        assert_eq!(within.path(b"x/y"), Path::new("d/x/y"));
    }
}
