//! Walk of a directory tree, in an order that depends on the names only.
//!
//! The order is that of the paths' bytes, as in `find … | LC_ALL=C sort`: within a directory, the name of a
//! subdirectory is compared as if it ended with `/`. No directory stays open while its children are visited,
//! so depth costs no file descriptors, and the stack is on the heap.

pub(crate) mod filter;
pub(crate) mod name_list;
mod pattern;

use crate::error::Error;
use crate::os::{self, FileId};
use filter::Filter;
use pattern::{Decision, PatternList};
use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::vec;

/// Event of a [`Walk`].
#[derive(Debug)]
#[non_exhaustive]
pub enum Visit {
    /// A directory; its entries follow.
    Enter(PathBuf),
    /// The end of the directory entered last.
    Leave,
    /// A regular file, or a root that is not a directory.
    File(PathBuf),
    /// A symbolic link that is not followed.
    Link(PathBuf),
    /// A FIFO, a socket or a device. Opening one may block or have side effects, so it is only reported.
    Special(PathBuf),
    /// A mount point that is not entered: a file system of this kind, which holds no stored files.
    Pseudo(PathBuf, &'static str),
    /// An entry or a directory that could not be examined.
    Failed(PathBuf, Error),
}

/// Rules of a walk: links to follow, and entries to skip silently. By default it follows no links and skips
/// nothing.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Rules {
    /// Follow symbolic links.
    pub follow: bool,
    /// Skip directories on other file systems than that of the root.
    pub one_file_system: bool,
    /// Do not enter file systems without stored files, such as `/proc`, unless the root is in one: see
    /// [`Visit::Pseudo`].
    pub skip_pseudo: bool,
    /// Skip names that begin with a dot.
    pub skip_hidden: bool,
    /// Apply the files `.gitignore` and `.ignore` of the visited directories.
    pub ignore_files: bool,
    /// Patterns of entries to skip or keep.
    pub filter: Filter,
    /// Skip these files, under any name.
    pub except: Vec<FileId>,
}

/// An iterator over a directory and everything below it.
#[derive(Debug)]
pub struct Walk {
    root: Option<PathBuf>,
    rules: Arc<Rules>,
    levels: Vec<OpenDir>,
}

/// A directory whose entries are being visited.
#[derive(Debug)]
struct OpenDir {
    path: PathBuf,
    /// The path relative to the root, kept only if there are patterns.
    below: PathBuf,
    /// The path without links, kept only if links are followed: it reveals loops.
    real: Option<PathBuf>,
    /// The device, kept only if the rules need it.
    device: Option<u64>,
    /// The rules of the ignore files in this directory.
    ignored: Option<PatternList>,
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
    /// A walk over `root`. If `root` is a link it is followed; links below it only with `follow`.
    pub fn new(root: PathBuf, follow: bool) -> Walk {
        Walk::by(root, Arc::new(Rules { follow, ..Rules::default() }))
    }

    /// A walk over `root` with these rules, which apply to the entries below it.
    pub fn by(root: PathBuf, rules: Arc<Rules>) -> Walk {
        Walk { root: Some(root), rules, levels: Vec::new() }
    }

    fn begin(&mut self, root: PathBuf) -> Visit {
        match fs::metadata(&root) {
            Ok(metadata) if metadata.is_dir() => {
                let real = if self.rules.follow { fs::canonicalize(&root).ok() } else { None };
                let device = os::device(&metadata).filter(|_| self.devices_matter());
                self.enter(root, PathBuf::new(), real, device)
            }
            Ok(_) => Visit::File(root),
            Err(error) => Visit::Failed(root, error.into()),
        }
    }

    fn devices_matter(&self) -> bool {
        self.rules.one_file_system || self.rules.skip_pseudo
    }

    fn enter(&mut self, path: PathBuf, below: PathBuf, real: Option<PathBuf>, device: Option<u64>) -> Visit {
        let read = if self.rules.ignore_files { filter::ignore_files(&path) } else { Ok(None) };
        let (ignored, failed) = match read {
            Ok(ignored) => (ignored, None),
            Err(failed) => (None, Some(failed)),
        };
        match self.list(&path, &below, ignored.as_ref()) {
            Ok(mut entries) => {
                if let Some((name, error)) = failed {
                    entries.retain(|entry| entry.name != name);
                    entries.push(Entry { name: name.into(), kind: Kind::Failed(error) });
                    entries.sort_unstable_by(|a, b| a.order().cmp(b.order()));
                }
                let entries = entries.into_iter();
                self.levels.push(OpenDir { path: path.clone(), below, real, device, ignored, entries });
                Visit::Enter(path)
            }
            Err(error) => Visit::Failed(path, error.into()),
        }
    }

    fn list(&self, path: &Path, below: &Path, ignored: Option<&PatternList>) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let kind = self.kind(&entry);
            let name = entry.file_name();
            let is_dir = matches!(kind, Kind::Directory { .. });
            if self.skips(&entry, path, below, Path::new(&name), is_dir, ignored) {
                continue;
            }
            entries.push(Entry { name, kind });
        }
        entries.sort_unstable_by(|a, b| a.order().cmp(b.order()));
        Ok(entries)
    }

    /// Do the rules skip an entry?
    fn skips(
        &self,
        entry: &fs::DirEntry,
        path: &Path,
        below: &Path,
        name: &Path,
        is_dir: bool,
        ignored: Option<&PatternList>,
    ) -> bool {
        let rules = &self.rules;
        if rules.skip_hidden && name.as_os_str().as_encoded_bytes().starts_with(b".") {
            return true;
        }
        if !rules.filter.is_empty() && rules.filter.skips(&below.join(name), is_dir) {
            return true;
        }
        if rules.ignore_files && self.is_ignored(&path.join(name), is_dir, ignored) {
            return true;
        }
        // Directory entries contain the inode number; the system is queried only if it matches.
        !is_dir
            && rules.except.iter().any(|file| os::may_be(entry, file))
            && fs::metadata(entry.path()).is_ok_and(|metadata| {
                FileId::from_metadata(&metadata).is_some_and(|id| rules.except.contains(&id))
            })
    }

    /// The nearest ignore file with a matching pattern decides.
    fn is_ignored(&self, path: &Path, is_dir: bool, here: Option<&PatternList>) -> bool {
        let above = self.levels.iter().rev().filter_map(|level| level.ignored.as_ref());
        for file in here.into_iter().chain(above) {
            if let Some(decision) = file.decide(path, is_dir) {
                return decision == Decision::Skip;
            }
        }
        false
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
            Ok(_) if !self.rules.follow => Kind::Link,
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
        level: &OpenDir,
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

    /// Enters a directory, unless its file system is skipped. Then there is no event, or one that reports it.
    fn descend(&mut self, path: PathBuf, name: &Path, through_link: bool) -> Option<Visit> {
        let level = &self.levels[self.levels.len() - 1];
        let real = match self.real(level, &path, name, through_link) {
            Ok(real) => real,
            Err(error) => return Some(Visit::Failed(path, error)),
        };
        let below = if self.rules.filter.is_empty() { PathBuf::new() } else { level.below.join(name) };
        let mut device = None;
        if self.devices_matter() {
            device = match fs::metadata(&path) {
                Ok(metadata) => os::device(&metadata),
                Err(error) => return Some(Visit::Failed(path, error.into())),
            };
            if device != level.device {
                if self.rules.one_file_system {
                    return None;
                }
                if let Some(kind) = os::pseudo_file_system(&path) {
                    return Some(Visit::Pseudo(path, kind));
                }
            }
        }
        Some(self.enter(path, below, real, device))
    }
}

impl Entry {
    /// The sort key.
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
        loop {
            let level = self.levels.last_mut()?;
            let Some(entry) = level.entries.next() else {
                self.levels.pop();
                return Some(Visit::Leave);
            };
            let path = level.path.join(&entry.name);
            return Some(match entry.kind {
                Kind::File => Visit::File(path),
                Kind::Link => Visit::Link(path),
                Kind::Special => Visit::Special(path),
                Kind::Failed(error) => Visit::Failed(path, error),
                Kind::Directory { through_link } => {
                    match self.descend(path, Path::new(&entry.name), through_link) {
                        Some(visit) => visit,
                        None => continue,
                    }
                }
            });
        }
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

    #[test]
    fn an_ignore_file_that_cannot_be_used_is_an_error() {
        let dir = tree(&["a", "text/b", "most/c"]);
        fs::write(dir.path().join(".gitignore"), vec![b'#'; (1 << 20) + 1]).expect("a file");
        fs::write(dir.path().join("most/.ignore"), vec![b'#'; 1 << 20]).expect("a file");
        fs::write(dir.path().join("text/.ignore"), b"b\n\xff\n").expect("a file");
        let rules = Rules { ignore_files: true, skip_hidden: true, ..Rules::default() };
        let visits: Vec<String> = Walk::by(dir.path().to_owned(), Arc::new(rules))
            .filter_map(|visit| match visit {
                Visit::Failed(path, error) => Some(format!("{}: {error}", path.display())),
                Visit::File(path) => Some(path.display().to_string()),
                _ => None,
            })
            .map(|line| line.replace(&*dir.path().to_string_lossy(), ""))
            .collect();
        let refused = [
            "/.gitignore: an ignore file of more than 1 MiB",
            "/text/.ignore: an ignore file that is not UTF-8",
        ];
        assert_eq!(visits, [refused[0], "/a", "/most/c", refused[1], "/text/b"]);
    }

    /// One line per visit, relative to the root.
    fn visits(dir: &tempfile::TempDir, follow: bool) -> Vec<String> {
        visits_by(dir, Rules { follow, ..Rules::default() })
    }

    fn visits_by(dir: &tempfile::TempDir, rules: Rules) -> Vec<String> {
        let name =
            |path: PathBuf| path.strip_prefix(dir.path()).expect("below the root").display().to_string();
        let line = |visit| match visit {
            Visit::Enter(path) => format!("enter {}", name(path)),
            Visit::Leave => "leave".to_owned(),
            Visit::File(path) => name(path),
            Visit::Link(path) => format!("link {}", name(path)),
            Visit::Special(path) => format!("special {}", name(path)),
            Visit::Pseudo(path, kind) => format!("{kind} {}", name(path)),
            Visit::Failed(path, error) => format!("failed {}: {error}", name(path)),
        };
        // An undetected loop must fail the test, not exhaust the machine.
        Walk::by(dir.path().to_owned(), Arc::new(rules)).take(1000).map(line).collect()
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
    fn rules_skip_entries() {
        let dir = tree(&[
            ".git/x",
            ".gitignore",
            "a.o",
            "b.c",
            "d/.ignore",
            "d/a.o",
            "d/b.c",
            "d/e/f.c",
            "d/e/g.c",
        ]);
        let files = |rules: Rules| -> Vec<String> {
            let visits = visits_by(&dir, rules).into_iter();
            visits.filter(|visit| !visit.starts_with("enter") && visit != "leave").collect()
        };
        assert_eq!(files(Rules::default()).len(), 9);
        let rules = Rules { skip_hidden: true, ..Rules::default() };
        assert_eq!(files(rules), ["a.o", "b.c", "d/a.o", "d/b.c", "d/e/f.c", "d/e/g.c"]);
        let filter = Filter::new(&["e/"], &["*.c"]).expect("patterns");
        assert_eq!(files(Rules { filter, ..Rules::default() }), ["b.c", "d/b.c"]);
        let filter = Filter::new(&["/d"], &[]).expect("patterns");
        assert_eq!(files(Rules { filter, skip_hidden: true, ..Rules::default() }), ["a.o", "b.c"]);
        fs::write(dir.path().join(".gitignore"), "*.o\n.git\ne/f.c\n").expect("our own file");
        fs::write(dir.path().join("d/.ignore"), "!a.o\n").expect("our own file");
        let rules = Rules { ignore_files: true, ..Rules::default() };
        // A pattern with a slash in the middle is relative to its file.
        assert_eq!(files(rules), [".gitignore", "b.c", "d/.ignore", "d/a.o", "d/b.c", "d/e/f.c", "d/e/g.c"]);
        fs::hard_link(dir.path().join("b.c"), dir.path().join("z")).expect("a second name");
        let id = FileId::from_metadata(&fs::metadata(dir.path().join("z")).expect("our own file"))
            .expect("a number");
        let rules = Rules { except: vec![id], skip_hidden: true, ..Rules::default() };
        assert_eq!(files(rules), ["a.o", "d/a.o", "d/b.c", "d/e/f.c", "d/e/g.c"]);
    }

    /// `/proc` exists on every Linux, with or without a mount of another kind within it.
    #[cfg(target_os = "linux")]
    #[test]
    fn pseudo_file_systems_are_entered_where_they_are_named() {
        let first = |path: &str| {
            let rules = Rules { skip_pseudo: true, ..Rules::default() };
            Walk::by(path.into(), Arc::new(rules)).next()
        };
        assert!(matches!(first("/proc/self"), Some(Visit::Enter(_))));
        assert_eq!(os::pseudo_file_system(Path::new("/proc")), Some("proc"));
        assert_eq!(os::pseudo_file_system(Path::new(env!("CARGO_MANIFEST_DIR"))), None);
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
