//! Visits a directory and everything below it, in an order that depends on the names only.
//!
//! The order is that of the paths' bytes, the same as `find … | LC_ALL=C sort`: within a directory, a name that
//! belongs to a directory is compared as if it ended with `/`. No directory stays open while its children are
//! visited, so depth costs no file descriptors, and the stack is on the heap.

use crate::error::Error;
use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};
use std::vec;

/// What a [`Walk`] comes across.
#[derive(Debug)]
#[non_exhaustive]
pub enum Visit {
    /// A directory; what is in it follows.
    Enter(PathBuf),
    /// The end of the directory entered last.
    Leave,
    /// A regular file, or whatever else the walk began with that is no directory.
    File(PathBuf),
    /// A symbolic link that is not followed.
    Link(PathBuf),
    /// A FIFO, a socket or a device. Opening one may block or have effects, so it is only reported.
    Special(PathBuf),
    /// An entry or a directory that could not be examined.
    Failed(PathBuf, Error),
}

/// An iterator over a directory and everything below it.
#[derive(Debug)]
pub struct Walk {
    root: Option<PathBuf>,
    follow: bool,
    levels: Vec<Level>,
}

/// A directory whose entries are being visited.
#[derive(Debug)]
struct Level {
    path: PathBuf,
    /// The path without links, kept only where links are followed: there it shows loops.
    real: Option<PathBuf>,
    entries: vec::IntoIter<Entry>,
}

#[derive(Debug)]
struct Entry {
    name: std::ffi::OsString,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Directory { through_link: bool },
    File,
    Link,
    Special,
    Failed(Error),
}

impl Walk {
    /// A walk over `root`. A link given as `root` is followed; those below it only if `follow` says so.
    pub fn new(root: PathBuf, follow: bool) -> Walk {
        Walk { root: Some(root), follow, levels: Vec::new() }
    }

    fn begin(&mut self, root: PathBuf) -> Visit {
        match fs::metadata(&root) {
            Ok(metadata) if metadata.is_dir() => {
                let real = if self.follow { fs::canonicalize(&root).ok() } else { None };
                self.enter(root, real)
            }
            Ok(_) => Visit::File(root),
            Err(error) => Visit::Failed(root, error.into()),
        }
    }

    fn enter(&mut self, path: PathBuf, real: Option<PathBuf>) -> Visit {
        match self.list(&path) {
            Ok(entries) => {
                self.levels.push(Level { path: path.clone(), real, entries: entries.into_iter() });
                Visit::Enter(path)
            }
            Err(error) => Visit::Failed(path, error.into()),
        }
    }

    fn list(&self, path: &Path) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let kind = self.kind(&entry);
            entries.push(Entry { name: entry.file_name(), kind });
        }
        entries.sort_unstable_by(|a, b| a.order().cmp(b.order()));
        Ok(entries)
    }

    fn kind(&self, entry: &fs::DirEntry) -> Kind {
        let of = |kind: FileType, through_link| {
            if kind.is_dir() {
                Kind::Directory { through_link }
            } else if kind.is_file() {
                Kind::File
            } else {
                Kind::Special
            }
        };
        match entry.file_type() {
            Ok(kind) if !kind.is_symlink() => of(kind, false),
            Ok(_) if !self.follow => Kind::Link,
            Ok(_) => match fs::metadata(entry.path()) {
                Ok(metadata) => of(metadata.file_type(), true),
                Err(error) => Kind::Failed(error.into()),
            },
            Err(error) => Kind::Failed(error.into()),
        }
    }

    /// The path of a child directory without links; an error if that directory is being visited already.
    fn real(
        &self,
        level: &Level,
        path: &Path,
        name: &Path,
        through_link: bool,
    ) -> Result<Option<PathBuf>, Error> {
        let Some(parent) = &level.real else { return Ok(None) };
        let real = if through_link { fs::canonicalize(path)? } else { parent.join(name) };
        if self.levels.iter().any(|level| level.real.as_ref() == Some(&real)) {
            return Err(Error::LinkLoop);
        }
        Ok(Some(real))
    }
}

impl Entry {
    /// What entries are compared by.
    fn order(&self) -> impl Iterator<Item = u8> {
        let end = matches!(self.kind, Kind::Directory { .. }).then_some(b'/');
        self.name.as_encoded_bytes().iter().copied().chain(end)
    }
}

impl Iterator for Walk {
    type Item = Visit;

    fn next(&mut self) -> Option<Visit> {
        if let Some(root) = self.root.take() {
            return Some(self.begin(root));
        }
        let level = self.levels.last_mut()?;
        let Some(entry) = level.entries.next() else {
            self.levels.pop();
            return Some(Visit::Leave);
        };
        let path = level.path.join(&entry.name);
        Some(match entry.kind {
            Kind::File => Visit::File(path),
            Kind::Link => Visit::Link(path),
            Kind::Special => Visit::Special(path),
            Kind::Failed(error) => Visit::Failed(path, error),
            Kind::Directory { through_link } => {
                let level = &self.levels[self.levels.len() - 1];
                match self.real(level, &path, Path::new(&entry.name), through_link) {
                    Ok(real) => self.enter(path, real),
                    Err(error) => Visit::Failed(path, error),
                }
            }
        })
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for file in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
            fs::write(path, file).expect("a file");
        }
        dir
    }

    /// One line per visit, relative to the root.
    fn visits(dir: &tempfile::TempDir, follow: bool) -> Vec<String> {
        let name =
            |path: PathBuf| path.strip_prefix(dir.path()).expect("below the root").display().to_string();
        let line = |visit| match visit {
            Visit::Enter(path) => format!("enter {}", name(path)),
            Visit::Leave => "leave".to_owned(),
            Visit::File(path) => name(path),
            Visit::Link(path) => format!("link {}", name(path)),
            Visit::Special(path) => format!("special {}", name(path)),
            Visit::Failed(path, error) => format!("failed {}: {error}", name(path)),
        };
        // A loop that is not seen must fail the test, not the machine.
        Walk::new(dir.path().to_owned(), follow).take(1000).map(line).collect()
    }

    #[test]
    fn files_come_in_the_byte_order_of_their_paths() {
        let dir = tree(&["b/z", "a/x", "a.txt", "a-b", "a/sub/y", "B", "é", "b.d/q", "a/x.y"]);
        let files: Vec<_> =
            visits(&dir, false).into_iter().filter(|v| !v.starts_with("enter") && v != "leave").collect();
        let mut sorted = files.clone();
        sorted.sort();
        assert_eq!(files, sorted);
        assert_eq!(files, ["B", "a-b", "a.txt", "a/sub/y", "a/x", "a/x.y", "b.d/q", "b/z", "é"]);
    }

    #[test]
    fn links_are_reported_or_followed() {
        let dir = tree(&["d/f"]);
        symlink("d", dir.path().join("to-dir")).expect("a link");
        symlink("d/f", dir.path().join("to-file")).expect("a link");
        symlink("nowhere", dir.path().join("to-nothing")).expect("a link");
        assert_eq!(
            visits(&dir, false),
            ["enter ", "enter d", "d/f", "leave", "link to-dir", "link to-file", "link to-nothing", "leave"]
        );
        assert_eq!(
            visits(&dir, true),
            [
                "enter ",
                "enter d",
                "d/f",
                "leave",
                "enter to-dir",
                "to-dir/f",
                "leave",
                "to-file",
                "failed to-nothing: No such file or directory (os error 2)",
                "leave"
            ]
        );
    }

    #[test]
    fn loops_end_where_they_close() {
        let dir = tree(&["a/f", "b/f"]);
        symlink("../b", dir.path().join("a/x")).expect("a link");
        symlink("../a", dir.path().join("b/y")).expect("a link");
        symlink(".", dir.path().join("self")).expect("a link");
        let loops: Vec<_> = visits(&dir, true).into_iter().filter(|v| v.starts_with("failed")).collect();
        let reason = "symbolic link to a directory that contains it";
        assert_eq!(loops, ["a/x/y", "b/y/x", "self"].map(|path| format!("failed {path}: {reason}")));
    }

    #[test]
    fn a_missing_root_and_a_plain_root() {
        let dir = tree(&["f"]);
        let missing: Vec<_> = Walk::new(dir.path().join("none"), false).collect();
        assert!(matches!(&missing[..], [Visit::Failed(_, Error::Io(_))]), "{missing:?}");
        let plain: Vec<_> = Walk::new(dir.path().join("f"), false).collect();
        assert!(matches!(&plain[..], [Visit::File(_)]), "{plain:?}");
    }

    #[test]
    fn depth_costs_no_descriptors_and_no_stack() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let depth = 400;
        let mut path = dir.path().to_owned();
        for _ in 0..depth {
            path.push("d");
        }
        fs::create_dir_all(&path).expect("a deep directory");
        assert_eq!(visits(&dir, false).len(), 2 * (depth + 1));
    }
}
