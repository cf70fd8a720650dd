//! Tests of replacements on a real disk, with and without names for unfinished files.

use super::*;

type Begin = fn(&Path) -> Result<Replacement, Error>;

/// As on a system without nameless files.
fn begin_named(target: &Path) -> Result<Replacement, Error> {
    let new = Replacement::begin(target)?;
    let (target, before) = (new.target.clone(), new.before.clone());
    let (name, file) = temporary::create(&target, before.is_some())?;
    Ok(Replacement::new(target, State::Named(name), file, before))
}

const BOTH: [Begin; 2] = [Replacement::begin, begin_named];

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).expect("a directory").count()
}

fn written(begin: Begin, path: &Path, text: &str) -> Replacement {
    let mut file = begin(path).expect("a directory to write to");
    file.write_all(text.as_bytes()).expect("space");
    file
}

#[test]
fn the_old_file_stays_until_the_new_one_is_whole() {
    for begin in BOTH {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("list");
        written(begin, &path, "old").finish(Expected::Anything).expect("a new file");
        let new = written(begin, &path, "new");
        assert!(new.replaces());
        assert_eq!(fs::read(&path).expect("a file"), b"old");
        drop(new);
        assert_eq!(fs::read(&path).expect("a file"), b"old");
        written(begin, &path, "new").finish(Expected::Anything).expect("the same place");
        assert_eq!(fs::read(&path).expect("a file"), b"new");
        assert_eq!(entries(dir.path()), 1);
        assert!(begin(dir.path()).is_err());
        assert!(begin(&dir.path().join("none/list")).is_err());
    }
}

#[test]
fn a_name_as_long_as_names_can_be_is_no_obstacle() {
    let dir = tempfile::tempdir().expect("a directory");
    // Where paths as a whole are short, a name leaves room for its directory.
    let path = dir.path().join("n".repeat(if cfg!(windows) { 200 } else { 255 }));
    for begin in BOTH {
        written(begin, &path, "x").finish(Expected::Anything).expect("a new file");
    }
}

/// All expectations against all changes that another program makes meanwhile.
#[test]
fn a_target_that_is_not_as_expected_stays() {
    type Change = fn(&Path);
    let same: Change = |path| fs::write(path, "old").expect("a file");
    let changes: [(Change, Option<&str>); 4] = [
        (|_| {}, Some("old")),
        (|path| fs::write(path, "other text").expect("a file"), Some("other text")),
        (|path| fs::remove_file(path).expect("a file"), None),
        // The same bytes in another file: no change for who compares bytes.
        (
            |path| {
                fs::rename(path, path.with_extension("away")).expect("a file");
                fs::write(path, "old").expect("a file");
                fs::remove_file(path.with_extension("away")).expect("a file");
            },
            Some("old"),
        ),
    ];
    for begin in BOTH {
        for (number, (change, found)) in changes.into_iter().enumerate() {
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("list");
            let attempt = |expected: fn(Stamp) -> Expected<'static>| {
                same(&path);
                let stamp = Stamp::from_metadata(&fs::metadata(&path).expect("a file"));
                let new = written(begin, &path, "new");
                change(&path);
                let done = new.finish(expected(stamp));
                let now = fs::read_to_string(&path).ok();
                assert_eq!(entries(dir.path()), usize::from(now.is_some()), "nothing is left behind");
                if done.is_ok() {
                    assert_eq!(now.as_deref(), Some("new"));
                } else {
                    assert_eq!(now.as_deref(), found, "it stays as it is");
                }
                done.map(drop)
            };
            assert!(attempt(|_| Expected::Anything).is_ok(), "{number}");
            let absent = attempt(|_| Expected::Absent);
            assert_eq!(matches!(absent, Err(Error::Exists)), found.is_some(), "{number}");
            let bytes = attempt(|_| Expected::Bytes(b"old"));
            assert_eq!(bytes.is_ok(), found == Some("old"), "{number}: {bytes:?}");
            // Without identities, a file that looks the same is the same.
            if cfg!(unix) {
                let stamp = attempt(Expected::Stamp);
                assert_eq!(stamp.is_ok(), number == 0, "{number}: {stamp:?}");
            }
        }
    }
}

/// As when something is created between the check and the last call.
#[test]
fn nothing_is_overwritten_where_nothing_was_expected() {
    for begin in BOTH {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("list");
        let mut new = written(begin, &path, "new");
        fs::write(&path, "other").expect("a file");
        let placed = Disk { new: &mut new, expected: Expected::Absent }.install();
        assert!(matches!(placed, Err(Error::Exists)), "{placed:?}");
        drop(new);
        assert_eq!((fs::read(&path).expect("a file"), entries(dir.path())), (b"other".to_vec(), 1));
        fs::write(dir.path().join("new"), "").expect("a file");
        assert!(os::rename_new(&dir.path().join("new"), &path).is_err());
    }
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    #[test]
    fn permissions_are_preserved_and_other_names_are_counted() {
        for begin in BOTH {
            let dir = tempfile::tempdir().expect("a directory");
            let [path, other] = ["list", "other"].map(|name| dir.path().join(name));
            fs::write(&path, "old").expect("a file");
            for mode in [0o600, 0o640, 0o444, 0o755] {
                fs::set_permissions(&path, Permissions::from_mode(mode)).expect("our file");
                let new = written(begin, &path, "new");
                let meanwhile = new.metadata().expect("a file").mode() & 0o077;
                assert_eq!(meanwhile, 0, "no other user can read it before it is complete");
                let finished = new.finish(Expected::Anything).expect("space");
                assert_eq!(finished.other_names, 0);
                assert_eq!(fs::metadata(&path).expect("a file").mode() & 0o7777, mode);
            }
            fs::hard_link(&path, &other).expect("a link");
            let finished = written(begin, &path, "newer").finish(Expected::Anything).expect("space");
            assert_eq!(finished.other_names, 1);
            assert_eq!(fs::read(&other).expect("a file"), b"new", "the other name keeps the old file");
            let mut program = written(begin, &path, "#!");
            program.set_executable();
            program.finish(Expected::Anything).expect("space");
            assert_eq!(fs::metadata(&path).expect("a file").mode() & 0o777, 0o755);
            copy(&path, &other).expect("space");
            assert_eq!(fs::metadata(&other).expect("a file").mode() & 0o777, 0o755);
        }
    }

    #[test]
    fn links_stay_links_and_their_target_is_replaced() {
        for begin in BOTH {
            let dir = tempfile::tempdir().expect("a directory");
            let [path, link] = ["list", "link"].map(|name| dir.path().join(name));
            symlink("list", &link).expect("a link");
            for text in ["created", "replaced"] {
                written(begin, &link, text).finish(Expected::Anything).expect("space");
                assert_eq!(fs::read_to_string(&path).expect("a file"), text);
                assert!(fs::symlink_metadata(&link).expect("a link").is_symlink());
            }
            assert_eq!(entries(dir.path()), 2);
        }
    }

    /// A pipe stands for every device: a file in the place of `/dev/null` would break the system.
    #[test]
    fn pipes_and_devices_are_written_to_and_stay() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let dir = tempfile::tempdir().expect("a directory");
        let pipe = dir.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
        assert!(matches!(Replacement::begin(&pipe), Err(Error::Refused(Refusal::NotAFile))));
        let mut reader = os::open_itself(&pipe, false).expect("our own pipe");
        let file = written(Replacement::begin_or_stream, &pipe, "text");
        file.finish(Expected::Anything).expect("nothing to do");
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("what was written");
        assert_eq!((&*text, entries(dir.path())), ("text", 1));
        assert!(is_stream(&pipe));
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use hashmill_testkit::skip;

    /// As when the system gives no name at the last moment: here because that would be on another file system.
    #[test]
    fn a_file_that_gets_no_name_is_copied() {
        const WHAT: &str = "copies of files that get no name";
        let (here, there) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir_in("/dev/shm"));
        let (Ok(there), Ok(file)) = (there, os::create_nameless(here.path(), true)) else {
            return skip(WHAT, "no /dev/shm, or no files without names");
        };
        let target = there.path().join("list");
        if os::name_nameless(&file, &there.path().join("t")).is_ok() {
            return skip(WHAT, "/dev/shm is no file system of its own");
        }
        let mut new = Replacement::new(target.clone(), State::Nameless, file, None);
        new.write_all(b"text").expect("space");
        new.finish(Expected::Anything).expect("a new file");
        assert_eq!((fs::read(&target).expect("a file"), entries(there.path())), (b"text".to_vec(), 1));
    }

    #[test]
    fn access_control_lists_are_preserved() {
        use rustix::fs::{XattrFlags, getxattr, setxattr};
        const NAME: &str = "system.posix_acl_access";
        // Version 2; then tag, permissions and number of: owner, a user, group, mask, others.
        let entries: [(u16, u16, u32); 5] =
            [(1, 6, !0), (2, 4, 12345), (4, 0, !0), (0x10, 4, !0), (0x20, 0, !0)];
        let mut list = 2_u32.to_le_bytes().to_vec();
        for (tag, permissions, number) in entries {
            list.extend(tag.to_le_bytes());
            list.extend(permissions.to_le_bytes());
            list.extend(number.to_le_bytes());
        }
        for begin in BOTH {
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("list");
            fs::write(&path, "old").expect("a file");
            if setxattr(&path, NAME, &list, XattrFlags::empty()).is_err() {
                return skip("access control lists", "the file system of temporary files has none");
            }
            written(begin, &path, "new").finish(Expected::Anything).expect("space");
            let mut found = vec![0; 1000];
            let len = getxattr(&path, NAME, &mut found[..]).expect("a list");
            assert_eq!((&found[..len], &*fs::read(&path).expect("a file")), (&list[..], &b"new"[..]));
        }
    }
}

/// An old file that cannot be examined is an error, not an absent one: the new file could get other permissions.
#[cfg(unix)]
#[test]
fn a_target_that_cannot_be_examined_is_an_error() {
    for begin in BOTH {
        let dir = tempfile::tempdir().expect("a directory");
        let (folder, moved) = (dir.path().join("folder"), dir.path().join("moved"));
        fs::create_dir(&folder).expect("a new directory");
        let mut new = written(begin, &folder.join("list"), "new");
        let mut take_over = || Disk { new: &mut new, expected: Expected::Anything }.take_over();
        assert!(take_over().is_ok());
        fs::rename(&folder, &moved).expect("a free name");
        assert!(take_over().is_ok(), "an absent target is no error");
        fs::write(&folder, "a file in the place of the directory").expect("a free name");
        assert!(matches!(take_over(), Err(Error::Io(error)) if error.kind() == ErrorKind::NotADirectory));
    }
}
