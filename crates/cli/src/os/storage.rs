//! Facts of the system about a directory of a storage and the process that uses it.

use std::fs::Metadata;
use std::io;
use std::path::Path;

/// Kind and options of the file system that a directory is on. `None`: the system does not say.
pub(crate) fn mount_of(folder: &Path) -> io::Result<Option<(String, Vec<String>)>> {
    #[cfg(target_os = "linux")]
    {
        let table = std::fs::read_to_string("/proc/self/mountinfo")?;
        Ok(find_mount(&table, &folder.canonicalize()?))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = folder;
        Ok(None)
    }
}

/// The mount of a path in a table of Linux: the last of the longest ones.
#[cfg(target_os = "linux")]
fn find_mount(table: &str, path: &Path) -> Option<(String, Vec<String>)> {
    let mounts = table.lines().filter_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(4);
        let (point, options) = (unescape(fields.next()?), fields.next()?);
        let mut fields = file_system.split(' ');
        let (kind, super_options) = (fields.next()?, fields.nth(1).unwrap_or_default());
        let options = options.split(',').chain(super_options.split(',')).map(str::to_owned).collect();
        path.starts_with(&point).then(|| (Path::new(&point).components().count(), kind.to_owned(), options))
    });
    let (_, kind, options) = mounts.max_by_key(|(depth, ..)| *depth)?;
    Some((kind, options))
}

/// A name in which some characters are octal numbers.
#[cfg(target_os = "linux")]
fn unescape(name: &str) -> String {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    escapes.into_iter().fold(name.to_owned(), |name, (escape, character)| name.replace(escape, character))
}

/// Bytes that a user may still write to the file system of a directory. `None`: the system does not say.
pub(crate) fn free_bytes(folder: &Path) -> io::Result<Option<u64>> {
    #[cfg(unix)]
    {
        let about = rustix::fs::statvfs(folder)?;
        Ok(Some(about.f_bavail.saturating_mul(about.f_frsize)))
    }
    #[cfg(not(unix))]
    {
        let _ = folder;
        Ok(None)
    }
}

/// Maximum number of files that this process may have open. `None`: no limit, or none that the system tells.
pub(crate) fn max_open_files() -> Option<u64> {
    #[cfg(unix)]
    {
        rustix::process::getrlimit(rustix::process::Resource::Nofile).current
    }
    #[cfg(not(unix))]
    None
}

/// The bits that say which users may read and change a file. `None`: the system has others.
pub(crate) fn mode_of(metadata: &Metadata) -> Option<u32> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        Some(metadata.permissions().mode() & 0o777)
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_longest_mount_is_that_of_a_path() {
        let table = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,barrier=0
30 22 0:25 / /var/lib rw - tmpfs tmpfs rw,size=1024k
31 22 0:26 / /var/lib/a\\040b ro,noexec master:3 shared:4 - nfs4 server:/x rw,vers=4.2
32 22 0:27 / /var/lib rw - xfs /dev/sdb rw
damaged line
";
        let kind = |path: &str| find_mount(table, Path::new(path)).map(|(kind, _)| kind);
        assert_eq!(kind("/var/lib/hashmill").as_deref(), Some("xfs"), "the later one covers the other");
        assert_eq!(kind("/var/library").as_deref(), Some("ext4"));
        assert_eq!(kind("/var/lib/a b/c").as_deref(), Some("nfs4"));
        let (_, options) = find_mount(table, Path::new("/")).expect("the root");
        assert_eq!(options, ["rw", "relatime", "rw", "barrier=0"]);
        assert_eq!(find_mount("", Path::new("/")), None);
    }

    #[test]
    fn facts_of_this_system_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(mount_of(folder.path()).expect("a table").is_some());
        assert!(free_bytes(folder.path()).expect("a file system").is_some());
        assert!(mount_of(&folder.path().join("none")).is_err());
        assert_eq!(mode_of(&folder.path().metadata().expect("a folder")), Some(0o700));
    }
}
