//! Move of a complete file of one's own to its final name, durably.

use crate::error::{Error, Refusal};
use crate::os;
use crate::resolve::folder_of;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;

/// Gives the file that is open as `file`, and has the name `from`, the name `to` in its place. A file with that name is replaced; a
/// link is not followed. The bytes reach the medium before the name does, and both have when this returns. For files that grow over
/// several runs of a program; [`Replacement`](crate::Replacement) is for those that are written at once.
///
/// # Errors
/// [`Error::Refused`] if the target is a link or no regular file; errors of the system. After every error but [`Error::Unsynced`]
/// both names are as they were.
pub fn place(file: &File, from: &Path, to: &Path) -> Result<(), Error> {
    match fs::symlink_metadata(to) {
        Ok(there) if there.is_symlink() => return Err(Refusal::Link.into()),
        Ok(there) if !there.is_file() => return Err(Refusal::NotAFile.into()),
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    file.sync_all()?;
    fs::rename(from, to)?;
    os::sync_folder(folder_of(to)).map_err(Error::Unsynced)
}

/// Creates a folder durably, if there is none.
///
/// # Errors
/// [`Error::Refused`] if the entry is a link or no folder; errors of the system.
pub fn create_folder(path: &Path) -> Result<(), Error> {
    match fs::create_dir(path) {
        Ok(()) => os::sync_folder(folder_of(path)).map_err(Error::Unsynced),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => match fs::symlink_metadata(path)? {
            there if there.is_symlink() => Err(Refusal::Link.into()),
            there if !there.is_dir() => Err(io::Error::from(ErrorKind::NotADirectory).into()),
            _ => Ok(()),
        },
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open_own;
    use std::io::Write as _;

    #[test]
    fn a_file_moves_whole_and_replaces_files_alone() {
        let dir = tempfile::tempdir().expect("a directory");
        let [from, to, folder] = ["from", "to", "folder"].map(|name| dir.path().join(name));
        for text in ["one", "two"] {
            let mut file = open_own(&from).expect("a new file");
            file.write_all(text.as_bytes()).expect("a file");
            place(&file, &from, &to).expect("a place");
            assert_eq!(fs::read_to_string(&to).expect("a file"), text);
            assert!(!from.exists());
        }
        let file = open_own(&from).expect("a new file");
        create_folder(&folder).expect("a folder");
        create_folder(&folder).expect("it exists");
        assert!(create_folder(&to).is_err(), "a file is no folder");
        assert!(matches!(place(&file, &from, &folder), Err(Error::Refused(Refusal::NotAFile))));
        #[cfg(unix)]
        {
            let link = dir.path().join("link");
            std::os::unix::fs::symlink("to", &link).expect("a link");
            assert!(matches!(place(&file, &from, &link), Err(Error::Refused(Refusal::Link))));
            fs::remove_file(&link).expect("a link");
            std::os::unix::fs::symlink("folder", &link).expect("a link");
            assert!(matches!(create_folder(&link), Err(Error::Refused(Refusal::Link))));
        }
        assert_eq!(fs::read_to_string(&to).expect("a file"), "two");
        assert!(from.exists());
    }
}
