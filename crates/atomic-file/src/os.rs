//! Calls that differ by operating system: opening, owners, identities, files without names, folders.

use crate::facts::{Facts, Kind, LinkFacts};
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// Facts for the opener.
pub(crate) fn facts(metadata: &Metadata) -> Facts {
    let kind = match metadata.file_type() {
        kind if kind.is_file() => Kind::File,
        kind if kind.is_symlink() => Kind::Link,
        _ => Kind::Other,
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Facts { kind, links: metadata.nlink(), owner: Some(metadata.uid()) }
    }
    #[cfg(not(unix))]
    Facts { kind, links: 1, owner: None }
}

/// Facts about a symbolic link in its folder; `None` where the system has no owners.
pub(crate) fn link_facts(link: &Metadata, folder: &Metadata) -> Option<LinkFacts> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some(LinkFacts {
            link_owner: link.uid(),
            folder_owner: folder.uid(),
            folder_is_shared: folder.mode() & 0o022 != 0,
            user: effective_user()?,
        })
    }
    #[cfg(not(unix))]
    {
        let _ = (link, folder);
        None
    }
}

/// The effective user, where the system has numbered users.
pub(crate) fn effective_user() -> Option<u32> {
    #[cfg(unix)]
    {
        Some(rustix::process::geteuid().as_raw())
    }
    #[cfg(not(unix))]
    None
}

/// Device and number of a file, which are the same under all its names.
pub(crate) fn identity(metadata: &Metadata) -> Option<(u64, u64)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some((metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        None
    }
}

/// Opens an entry without following a symbolic link and without waiting for a pipe.
pub(crate) fn open_itself(path: &Path, write: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(write);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
    }
    options.open(path)
}

/// Did [`open_itself`] fail because of a symbolic link?
pub(crate) fn is_link(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        // FreeBSD reports the latter.
        [Errno::LOOP, Errno::MLINK].iter().any(|code| error.raw_os_error() == Some(code.raw_os_error()))
    }
    #[cfg(not(unix))]
    {
        let _ = error;
        false
    }
}

/// Creates a file that does not exist yet, to be read and written; a private one is for its owner alone.
pub(crate) fn create_new(path: &Path, private: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    set_private(&mut options, private);
    options.open(path)
}

fn set_private(options: &mut OpenOptions, private: bool) {
    #[cfg(unix)]
    if private {
        std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    }
    let _ = (options, private);
}

/// Creates a file without a name in a folder. An error where there are none, or where it could not be given a name later.
pub(crate) fn create_nameless(folder: &Path, private: bool) -> io::Result<File> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        set_private(&mut options, private);
        let flags = rustix::fs::OFlags::TMPFILE.bits().cast_signed();
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags);
        let file = options.open(folder)?;
        std::fs::metadata(fd_path(&file))?;
        Ok(file)
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        let _ = (folder, private);
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Gives a file without a name one that does not exist yet.
pub(crate) fn name_nameless(file: &File, path: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use rustix::fs::{AtFlags, CWD};
        // By number alone it would take the rights of an administrator.
        Ok(rustix::fs::linkat(CWD, fd_path(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        let _ = (file, path);
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The path that leads to an open file.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn fd_path(file: &File) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Renames a file to a name that does not exist yet. Where the system has no such call, there is a moment between the
/// check and the renaming.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            done => return Ok(done?),
        }
    }
    match std::fs::symlink_metadata(to) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => std::fs::rename(from, to),
    }
}

/// Writes the names in a folder to the medium. Not every system lets folders be opened, and not every file system can wait
/// for them: no error then.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder).map(|folder| folder.sync_all()) {
        Ok(Err(error))
            if ![io::ErrorKind::InvalidInput, io::ErrorKind::Unsupported].contains(&error.kind()) =>
        {
            Err(error)
        }
        _ => Ok(()),
    }
}

/// Gives a file the owner, group, permissions and access control list of another one at `path`, as far as this user may.
/// Whether owner and group are the same now.
pub(crate) fn make_like(file: &File, there: &Metadata, path: &Path) -> io::Result<bool> {
    #[cfg(unix)]
    {
        use rustix::fs::{Gid, Uid, fchown};
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let (owner, group) = (there.uid(), there.gid());
        let mut current = file.metadata()?;
        if current.gid() != group {
            let _ = fchown(file, None, Some(Gid::from_raw(group)));
        }
        if current.uid() != owner {
            // Only the administrator gives files away.
            let _ = fchown(file, Some(Uid::from_raw(owner)), None);
        }
        current = file.metadata()?;
        let same = Same { owner: current.uid() == owner, group: current.gid() == group };
        file.set_permissions(std::fs::Permissions::from_mode(mode_for(there.mode() & 0o7777, same)))?;
        if same.group {
            copy_access_list(file, path)?;
        }
        Ok(same.owner && same.group)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        file.set_permissions(there.permissions())?;
        Ok(true)
    }
}

/// Do two files share their owner, and their group?
#[cfg(unix)]
#[derive(Clone, Copy)]
struct Same {
    owner: bool,
    group: bool,
}

/// Permissions of a new file: those of the old one, less what would be given to another user or group than before.
#[cfg(unix)]
fn mode_for(mode: u32, same: Same) -> u32 {
    let mut mode = mode;
    if !same.owner || !same.group {
        mode &= 0o1777;
    }
    if !same.group {
        mode &= !0o070 | (mode & 0o007) << 3;
    }
    mode
}

/// Copies a POSIX access control list, without which the group's permission bits would mean something else.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn copy_access_list(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{XattrFlags, fsetxattr, getxattr};
    use rustix::io::Errno;
    const NAME: &str = "system.posix_acl_access";
    // The longest value of an extended attribute.
    let mut list = vec![0; 64 * 1024];
    match getxattr(path, NAME, &mut list[..]) {
        Ok(len) => Ok(fsetxattr(file, NAME, &list[..len], XattrFlags::empty())?),
        // No list, no lists on this file system, or the old file is gone.
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS | Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
fn copy_access_list(_: &File, _: &Path) -> io::Result<()> {
    Ok(())
}

/// Permissions for all users to read and run a file, where the system has such.
pub(crate) fn set_executable(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(std::fs::Permissions::from_mode(0o755))
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn no_permission_goes_to_another_user_or_group() {
        let all = [false, true];
        for mode in 0..=0o7777 {
            for (owner, group) in all.into_iter().flat_map(|owner| all.map(|group| (owner, group))) {
                let new = mode_for(mode, Same { owner, group });
                assert_eq!(new & !mode, 0, "{mode:o}: nothing is added");
                if owner && group {
                    assert_eq!(new, mode);
                } else {
                    assert_eq!(new & 0o6000, 0, "{mode:o}");
                }
                if !group {
                    assert_eq!((new >> 3 & 7) & !(mode & 7), 0, "{mode:o}: no more than everybody");
                }
                assert_eq!(new & 0o1707, mode & 0o1707);
            }
        }
    }
}
