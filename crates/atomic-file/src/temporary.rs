//! Names of files that are being written, and removal of those that a killed process left.

use crate::facts::{Facts, Kind};
use crate::os;
use crate::resolve::folder_of;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

const PREFIX: &str = ".hashmill-";
const SUFFIX: &str = ".tmp";
/// Digits of the random part.
const DIGITS: usize = 16;

/// A random name in the folder of `target`: short, as the target's own name may be as long as names can be.
pub(crate) fn name_beside(target: &Path) -> PathBuf {
    // The standard library's own randomness. A name that is guessed costs another attempt: it is created with `O_EXCL`.
    let random = RandomState::new().hash_one(std::process::id());
    target.with_file_name(format!("{PREFIX}{random:0DIGITS$x}{SUFFIX}"))
}

/// Is this file name a temporary name of a replacement?
pub fn is_temporary(name: &str) -> bool {
    let digits = name.strip_prefix(PREFIX).and_then(|name| name.strip_suffix(SUFFIX));
    digits.is_some_and(|digits| {
        digits.len() == DIGITS && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Creates a file with a temporary name beside `target`, locked as long as it is open.
pub(crate) fn create(target: &Path, private: bool) -> io::Result<(PathBuf, File)> {
    remove_leftovers(folder_of(target));
    loop {
        let path = name_beside(target);
        let file = match os::create_new(&path, private) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            done => done?,
        };
        // Another process that removes leftovers may have come between the two calls. On file systems without locks
        // nothing is removed.
        let _ = file.try_lock();
        let own = os::identity(&file.metadata()?);
        if fs::symlink_metadata(&path).is_ok_and(|there| os::identity(&there) == own) {
            return Ok((path, file));
        }
    }
}

/// Removes temporary files of this user that no process holds locked. Those that cannot be opened or locked stay.
pub(crate) fn remove_leftovers(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let user = os::effective_user();
    for entry in entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_temporary)) {
        let path = entry.path();
        let Ok(there) = fs::symlink_metadata(&path) else { continue };
        let Facts { kind, owner, .. } = os::facts(&there);
        let is_own = kind == Kind::File && owner == user;
        if is_own && os::open_itself(&path, false).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_are_removed_and_files_being_written_stay() {
        let dir = tempfile::tempdir().expect("a directory");
        let target = dir.path().join("list");
        let (live, _file) = create(&target, false).expect("a file");
        let others =
            [".hashmill-.tmp", ".hashmill-0123456789abcdeg.tmp", ".hashmill-0123456789abcde.tmp", "tmp"];
        for name in [".hashmill-0123456789abcdef.tmp"].iter().chain(&others) {
            fs::write(dir.path().join(name), "").expect("a file");
        }
        remove_leftovers(dir.path());
        let count = fs::read_dir(dir.path()).expect("a directory").count();
        assert_eq!(count, others.len() + 1);
        assert!(live.exists());
        let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        assert!(is_temporary(&name(&live).expect("text")));
        assert_ne!(name_beside(&target), name_beside(&target));
    }
}
