//! Opener of files that programs put beside a user's file.
//!
//! In a folder that other users may write to, any entry may have such a name: a link to a file of the user, a
//! pipe that blocks, a file with forged content. So the entry is checked before it is opened, because opening
//! a device can have effects, and the open file is checked again, because the entry may have been exchanged
//! in between.

use crate::error::{Error, Refusal};
use crate::facts::{Facts, Kind};
use crate::os;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;

/// Purpose of opening, which decides what is demanded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Purpose {
    /// Content is read, trusted and overwritten.
    Content,
    /// The file is only locked.
    Lock,
    /// Content is read; the user named the file.
    Read,
}

/// Decides from facts whether an entry is opened.
fn judge(facts: Facts, user: Option<u32>, purpose: Purpose) -> Result<(), Refusal> {
    match facts.kind {
        Kind::Link => return Err(Refusal::Link),
        Kind::Other => return Err(Refusal::NotAFile),
        Kind::File => {}
    }
    if purpose != Purpose::Content {
        return Ok(());
    }
    if let (Some(owner), Some(user)) = (facts.owner, user)
        && owner != user
    {
        return Err(Refusal::Owner(owner));
    }
    if facts.links > 1 { Err(Refusal::HardLinks(facts.links)) } else { Ok(()) }
}

/// Opens a file of this program's own for reading and writing, and creates it if there is none, readable by its owner alone.
///
/// # Errors
/// [`Error::Refused`] if the entry is a symbolic link, no regular file, has further names, or belongs to another user than the
/// effective one; it is not touched then. Nothing here waits for a pipe.
pub fn open_own(path: &Path) -> Result<File, Error> {
    open_or_create(path, Purpose::Content)
}

/// Opens a lock file, and creates it if there is none. Its content is never to be used, so its owner does not matter.
///
/// # Errors
/// [`Error::Refused`] if the entry is a symbolic link or no regular file.
pub fn open_lock(path: &Path) -> Result<File, Error> {
    open_or_create(path, Purpose::Lock)
}

/// Opens a regular file for reading; symbolic links are followed by the rule of [`resolve`](fn@crate::resolve).
///
/// # Errors
/// [`Error::Refused`] for directories, pipes, sockets and devices, without waiting for any of them.
pub fn open_regular(path: &Path) -> Result<File, Error> {
    open_judged(&crate::resolve(path)?, Purpose::Read)
}

/// Opens a regular file for reading. Its content is to be verified by other means: neither its owner nor further names matter.
///
/// # Errors
/// [`Error::Refused`] for symbolic links, directories, pipes, sockets and devices, without waiting for any of them.
pub fn open_unlinked(path: &Path) -> Result<File, Error> {
    open_judged(path, Purpose::Read)
}

fn open_judged(path: &Path, purpose: Purpose) -> Result<File, Error> {
    let user = os::effective_user();
    judge(os::facts(&fs::symlink_metadata(path)?), user, purpose)?;
    let file = os::open_itself(path, purpose != Purpose::Read)
        .map_err(|error| if os::is_link(&error) { Refusal::Link.into() } else { Error::Io(error) })?;
    judge(os::facts(&file.metadata()?), user, purpose)?;
    Ok(file)
}

/// Attempts before an entry that appears and disappears again is given up.
const ATTEMPTS: usize = 100;

fn open_or_create(path: &Path, purpose: Purpose) -> Result<File, Error> {
    for _ in 0..ATTEMPTS {
        match open_judged(path, purpose) {
            Err(Error::Io(error)) if error.kind() == ErrorKind::NotFound => {}
            done => return done,
        }
        match os::create_new(path, true) {
            // `create_new` follows no link, either.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            done => return Ok(done?),
        }
    }
    Err(io::Error::new(ErrorKind::WouldBlock, "another program keeps creating and removing it").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Facts = Facts { kind: Kind::File, links: 1, owner: Some(1000) };

    #[test]
    fn only_a_file_of_ones_own_with_one_name_is_believed() {
        let judged = |facts, purpose| judge(facts, Some(1000), purpose);
        let purposes = [Purpose::Content, Purpose::Lock, Purpose::Read];
        for purpose in purposes {
            assert_eq!(judged(OWN, purpose), Ok(()));
            assert_eq!(judged(Facts { kind: Kind::Link, ..OWN }, purpose), Err(Refusal::Link));
            assert_eq!(judged(Facts { kind: Kind::Other, ..OWN }, purpose), Err(Refusal::NotAFile));
        }
        let content = |facts| judged(facts, Purpose::Content);
        assert_eq!(content(Facts { links: 2, ..OWN }), Err(Refusal::HardLinks(2)));
        assert_eq!(content(Facts { owner: Some(0), ..OWN }), Err(Refusal::Owner(0)));
        // Nor does the administrator trust a user's file.
        assert_eq!(judge(OWN, Some(0), Purpose::Content), Err(Refusal::Owner(1000)));
        // Without owners, the kind and the names decide.
        assert_eq!(judge(Facts { owner: None, ..OWN }, None, Purpose::Content), Ok(()));
        assert_eq!(judged(Facts { owner: Some(7), links: 2, ..OWN }, Purpose::Lock), Ok(()));
    }

    #[test]
    fn foreign_files_are_refused_and_stay() {
        let dir = tempfile::tempdir().expect("a directory");
        let [own, other, folder] = ["own", "other", "folder"].map(|name| dir.path().join(name));
        drop(open_own(&own).expect("a new file"));
        drop(open_own(&own).expect("our file"));
        fs::create_dir(&folder).expect("a directory");
        for open in [open_own, open_lock, open_regular, open_unlinked] {
            assert!(matches!(open(&folder), Err(Error::Refused(Refusal::NotAFile))));
        }
        fs::write(&other, "text").expect("a file");
        if cfg!(unix) {
            let link = dir.path().join("hard");
            fs::hard_link(&other, &link).expect("a link");
            assert!(matches!(open_own(&link), Err(Error::Refused(Refusal::HardLinks(2)))));
            drop(open_lock(&link).expect("a lock may have names"));
        }
        assert_eq!(fs::read(&other).expect("a file"), b"text");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed_and_pipes_do_not_block() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let dir = tempfile::tempdir().expect("a directory");
        let [target, link, pipe] = ["target", "link", "pipe"].map(|name| dir.path().join(name));
        std::os::unix::fs::symlink("target", &link).expect("a link");
        for open in [open_own, open_lock] {
            assert!(matches!(open(&link), Err(Error::Refused(Refusal::Link))));
            assert!(!target.exists(), "a link that leads nowhere is not followed");
        }
        fs::write(&target, "text").expect("a file");
        for open in [open_own, open_lock, open_unlinked] {
            assert!(matches!(open(&link), Err(Error::Refused(Refusal::Link))));
        }
        // Even if the entry is exchanged after it was judged.
        assert!(os::is_link(&os::open_itself(&link, true).expect_err("a link")));
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
        for open in [open_own, open_lock, open_regular, open_unlinked] {
            assert!(matches!(open(&pipe), Err(Error::Refused(Refusal::NotAFile))));
        }
        drop(os::open_itself(&pipe, false).expect("without waiting for a writer"));
        assert_eq!(fs::read(&target).expect("a file"), b"text");
    }
}
