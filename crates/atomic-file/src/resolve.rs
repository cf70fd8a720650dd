//! Path of the file that a replacement replaces, and names beside it.

use crate::error::{Error, Refusal};
use crate::facts::LinkFacts;
use crate::os;
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Most symbolic links from a name to its file, as in the Linux kernel.
const MOST_LINKS: usize = 40;

/// The rule of Linux's `fs.protected_symlinks`, for every folder that others may write to and not only for sticky ones: a
/// link is followed if it is the user's own, the administrator's, or that of the folder's owner.
fn may_follow(facts: LinkFacts) -> bool {
    let LinkFacts { link_owner, folder_owner, folder_is_shared, user } = facts;
    !folder_is_shared || [user, 0, folder_owner].contains(&link_owner)
}

/// The file that a path leads to, through symbolic links at its end; that file need not exist.
///
/// # Errors
/// [`Refusal::PlantedLink`], a loop of links, and errors of the system.
pub fn resolve(path: &Path) -> Result<PathBuf, Error> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::symlink_metadata(&path) {
            Ok(there) if there.is_symlink() => {
                let folder = folder_of(&path).to_owned();
                let facts = os::link_facts(&there, &fs::metadata(&folder)?);
                if facts.is_some_and(|facts| !may_follow(facts)) {
                    return Err(Refusal::PlantedLink.into());
                }
                path = folder.join(fs::read_link(&path)?);
            }
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            Ok(_) | Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many levels of symbolic links").into())
}

/// The folder that holds an entry.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A name in the same folder: that of `target` with a dot in front and `suffix` behind.
///
/// # Errors
/// If the path ends in no name, as `..` does.
pub fn beside(target: &Path, suffix: &str) -> io::Result<PathBuf> {
    let name = target.file_name().ok_or(ErrorKind::InvalidInput)?;
    let mut beside = OsString::from(".");
    beside.push(name);
    beside.push(suffix);
    Ok(target.with_file_name(beside))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_others_in_shared_folders_are_not_followed() {
        let facts = LinkFacts { link_owner: 7, folder_owner: 0, folder_is_shared: true, user: 1000 };
        assert!(!may_follow(facts));
        assert!(!may_follow(LinkFacts { user: 0, ..facts }), "the administrator is the one to protect");
        assert!(may_follow(LinkFacts { folder_is_shared: false, ..facts }));
        for link_owner in [1000, 0] {
            assert!(may_follow(LinkFacts { link_owner, ..facts }));
        }
        assert!(may_follow(LinkFacts { folder_owner: 7, ..facts }), "who owns the folder owns its names");
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_to_their_file_whether_it_exists_or_not() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().expect("a directory");
        let [a, b, c] = ["a", "b", "sub/c"].map(|name| dir.path().join(name));
        symlink("b", &a).expect("a link");
        symlink("sub/c", &b).expect("a link");
        fs::create_dir(dir.path().join("sub")).expect("a directory");
        for _ in 0..2 {
            assert_eq!([&a, &b, &c].map(|path| resolve(path).expect("no circle")), [&c; 3].map(Clone::clone));
            fs::write(&c, "").expect("a file");
        }
        symlink("loop", dir.path().join("loop")).expect("a link");
        assert!(matches!(resolve(&dir.path().join("loop")), Err(Error::Io(_))));
    }

    #[test]
    fn names_beside_are_in_the_same_folder() {
        assert_eq!(beside(Path::new("d/M"), ".journal").expect("a name"), Path::new("d/.M.journal"));
        assert_eq!(beside(Path::new("M"), ".journal").expect("a name"), Path::new(".M.journal"));
        assert!(beside(Path::new(".."), ".journal").is_err());
        assert_eq!([folder_of(Path::new("M")), folder_of(Path::new("/M"))], [Path::new("."), Path::new("/")]);
    }
}
