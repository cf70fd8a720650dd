//! Replacement of whole folders.

use crate::error::Error;
use crate::os;
use crate::resolve::folder_of;
use crate::temporary::name_beside;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Folder that is removed unless it was renamed.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Replaces the folder at `target`, or creates it, with one that `fill` has filled under a temporary name.
///
/// No system replaces a non-empty folder, so there is a moment without one, and the files are not synced one
/// by one: for folders that can be created again, such as builds.
///
/// # Errors
/// Those of `fill` and of the system. The target is as it was then, unless even moving it back failed.
pub fn replace_folder(target: &Path, fill: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), Error> {
    let new = Temporary(name_beside(target));
    fs::create_dir(&new.0)?;
    fill(&new.0)?;
    let old = Temporary(name_beside(target));
    let moved = match fs::rename(target, &old.0) {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(error.into()),
    };
    if let Err(error) = fs::rename(&new.0, target) {
        if moved {
            fs::rename(&old.0, target)?;
        }
        return Err(error.into());
    }
    os::sync_folder(folder_of(target)).map_err(Error::Unsynced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_replaced_whole_or_not_at_all() {
        let dir = tempfile::tempdir().expect("a directory");
        let target = dir.path().join("build");
        let put = |name: &'static str| {
            move |folder: &Path| {
                fs::write(folder.join(name), name)?;
                if name == "bad" { Err(io::Error::other("it fails on purpose")) } else { Ok(()) }
            }
        };
        let names = |folder: &Path| {
            let names = fs::read_dir(folder).expect("a directory").flatten().map(|entry| entry.file_name());
            names.collect::<Vec<_>>()
        };
        assert!(replace_folder(&target, put("bad")).is_err());
        assert!(names(dir.path()).is_empty());
        for name in ["one", "two"] {
            replace_folder(&target, put(name)).expect("a folder");
            assert_eq!(names(&target), [name]);
            assert!(replace_folder(&target, put("bad")).is_err());
            assert_eq!((names(&target), names(dir.path())), (vec![name.into()], vec!["build".into()]));
        }
    }
}
