//! Operating-system interfaces except mapping (`read/source/mmap`): positioned reads, read-ahead, names, file
//! identity, attributes.

use std::fs::{DirEntry, File, Metadata};
use std::io::{self, Read};
use std::path::Path;

#[cfg(unix)]
mod system {
    use super::*;
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::fs::FileExt;

    pub(crate) const POSITIONED: bool = true;

    pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        file.read_at(buffer, offset)
    }

    pub(crate) fn name(bytes: Vec<u8>) -> Option<OsString> {
        Some(OsString::from_vec(bytes))
    }
}

#[cfg(windows)]
mod system {
    use super::*;
    use std::ffi::OsString;
    use std::os::windows::fs::FileExt;

    pub(crate) const POSITIONED: bool = true;

    pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        file.seek_read(buffer, offset)
    }

    pub(crate) fn name(bytes: Vec<u8>) -> Option<OsString> {
        String::from_utf8(bytes).ok().map(OsString::from)
    }
}

#[cfg(not(any(unix, windows)))]
mod system {
    use super::*;
    use std::ffi::OsString;

    pub(crate) const POSITIONED: bool = false;

    pub(crate) fn read_at(_: &File, _: &mut [u8], _: u64) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn name(bytes: Vec<u8>) -> Option<OsString> {
        String::from_utf8(bytes).ok().map(OsString::from)
    }
}

/// Does `\` separate directories, so that no name contains it? In lists the separator is `/` everywhere.
pub(crate) const BACKSLASH_SEPARATES: bool = cfg!(windows);

/// Are names arbitrary bytes, UTF-8 or not?
pub(crate) const NAMES_ARE_BYTES: bool = cfg!(unix);

/// Does [`read_at`] work on this system?
pub(crate) use system::POSITIONED;

/// A file name from bytes that may not be UTF-8; `None` where the system has no such names.
pub(crate) use system::name;

/// Reads until `buffer` is full or the input ends.
pub(crate) fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    fill_by(buffer, |rest, _| reader.read(rest))
}

/// Fills `buffer` from `offset` on, up to the end of the file.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    fill_by(buffer, |rest, len| system::read_at(file, rest, offset + len as u64))
}

/// Reads once from `offset` on.
pub(crate) fn read_once_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    system::read_at(file, buffer, offset)
}

/// Fills `buffer` with repeated reads; each gets the number of bytes read so far.
pub(crate) fn fill_by(
    buffer: &mut [u8],
    mut read: impl FnMut(&mut [u8], usize) -> io::Result<usize>,
) -> io::Result<usize> {
    let mut len = 0;
    while len < buffer.len() {
        match read(&mut buffer[len..], len) {
            Ok(0) => break,
            Ok(more) => len += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
    }
    Ok(len)
}

/// Is this an error of direct access, so that the same bytes may be readable through the cache? Some systems
/// refuse the offset, some the file (a compressed one), some the memory, where a device's cannot be pinned.
pub(crate) fn is_direct_access_error(error: &io::Error) -> bool {
    #[cfg(unix)]
    let memory = error.raw_os_error() == Some(libc::EFAULT);
    #[cfg(not(unix))]
    let memory = false;
    memory || matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

/// Is this an error of the range that was read, so that other ranges may be readable: a sector, a block with
/// a wrong checksum, a disk or a server that does not answer?
pub(crate) fn is_media_error(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let system = [libc::ENODATA, libc::EUCLEAN, libc::EREMOTEIO];
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let system = [];
        let known = [libc::EIO, libc::EBADMSG, libc::EILSEQ, libc::ETIMEDOUT];
        error.raw_os_error().is_some_and(|code| known.contains(&code) || system.contains(&code))
    }
    #[cfg(windows)]
    {
        // ERROR_CRC, ERROR_SECTOR_NOT_FOUND, ERROR_READ_FAULT, ERROR_DEVICE_HARDWARE_ERROR, ERROR_IO_DEVICE,
        // ERROR_FILE_CORRUPT.
        matches!(error.raw_os_error(), Some(23 | 27 | 30 | 483 | 1117 | 1392))
    }
    #[cfg(not(any(unix, windows)))]
    {
        let _ = error;
        false
    }
}

/// The error of a bad sector.
#[cfg(all(test, any(unix, windows)))]
pub(crate) fn bad_sector_error() -> io::Error {
    #[cfg(unix)]
    let code = libc::EIO;
    #[cfg(windows)]
    let code = 23;
    io::Error::from_raw_os_error(code)
}

/// Hints to the system that the file will be read sequentially. Errors are ignored.
pub(crate) fn advise_sequential(file: &File) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::Sequential);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let _ = file;
}

/// A file opened past the system's cache, and the required alignments.
pub(crate) struct DirectFile {
    pub(crate) file: File,
    /// The alignment of the memory's address.
    pub(crate) memory: usize,
    /// The alignment of the offset in the file and of the length of a read.
    pub(crate) offset: usize,
}

/// Opens an open file again, past the system's cache; an error if the system or the file system does not
/// support it.
pub(crate) fn open_direct(file: &File) -> io::Result<DirectFile> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use rustix::fs::{AtFlags, StatxFlags, statx};
        use std::os::unix::fs::OpenOptionsExt;
        // For kernels before 6.1, and file systems that do not report alignments. Correct for all common
        // disks; a read shows if it is wrong.
        const GUESS: u32 = 4096;
        let (memory, offset) = match statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN) {
            Ok(facts) if StatxFlags::from_bits_retain(facts.stx_mask).contains(StatxFlags::DIOALIGN) => {
                (facts.stx_dio_mem_align, facts.stx_dio_offset_align)
            }
            _ => (GUESS, GUESS),
        };
        if memory == 0 || offset == 0 {
            let reason = "the file system reads this file through the cache only";
            return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
        }
        let file = File::options().read(true).custom_flags(libc::O_DIRECT).open(fd_path(file))?;
        Ok(DirectFile { file, memory: memory as usize, offset: offset as usize })
    }
    #[cfg(target_vendor = "apple")]
    {
        let file = file.try_clone()?;
        rustix::fs::fcntl_nocache(&file, true)?;
        Ok(DirectFile { file, memory: 1, offset: 1 })
    }
    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    {
        let _ = file;
        Err(io::Error::new(io::ErrorKind::Unsupported, "no way past this system's cache is known"))
    }
}

/// Standard input as a separate file, for queries. `None` where that is impossible.
pub(crate) fn stdin_file() -> Option<File> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        io::stdin().as_fd().try_clone_to_owned().ok().map(File::from)
    }
    #[cfg(windows)]
    {
        use std::os::windows::io::AsHandle;
        io::stdin().as_handle().try_clone_to_owned().ok().map(File::from)
    }
    #[cfg(not(any(unix, windows)))]
    None
}

/// Requests a larger pipe, for fewer, larger reads. Errors are ignored, also for other files.
pub(crate) fn widen_pipe(file: &File) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let _ = rustix::pipe::fcntl_setpipe_size(file, 1 << 20);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let _ = file;
}

/// Identity of a file, independent of its name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(not(unix), allow(dead_code, reason = "nothing tells which file is which there"))]
pub struct FileId {
    device: u64,
    number: u64,
}

impl FileId {
    /// The identity of a file, if the system reports it.
    pub fn from_metadata(metadata: &Metadata) -> Option<FileId> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            Some(FileId { device: metadata.dev(), number: metadata.ino() })
        }
        #[cfg(not(unix))]
        {
            let _ = metadata;
            None
        }
    }

    /// The identity of a file with several names, if the system reports it.
    pub fn from_linked(metadata: &Metadata) -> Option<FileId> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            FileId::from_metadata(metadata).filter(|_| metadata.nlink() > 1)
        }
        #[cfg(not(unix))]
        FileId::from_metadata(metadata)
    }
}

impl FileId {
    /// The device of the file.
    pub(crate) fn device(self) -> u64 {
        self.device
    }
}

/// Opens the entry at `path` for reading. A symbolic link is an error, and a pipe does not block.
pub(crate) fn open_itself(path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        File::options().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A path to an open file.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn fd_path(file: &File) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Did [`open_itself`] fail because of a link?
pub(crate) fn is_link(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        // FreeBSD returns the latter.
        [Some(libc::ELOOP), Some(libc::EMLINK)].contains(&error.raw_os_error())
    }
    #[cfg(not(unix))]
    {
        let _ = error;
        false
    }
}

/// The ctime: seconds and nanoseconds.
pub(crate) fn changed(metadata: &Metadata) -> (i64, i64) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        (metadata.ctime(), metadata.ctime_nsec())
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        (0, 0)
    }
}

/// The value of an extended attribute, if the file has it; empty if it is longer than any digest of this
/// program.
pub(crate) fn attribute(file: &File, name: &str) -> io::Result<Option<Vec<u8>>> {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    {
        use rustix::io::Errno;
        #[cfg(target_vendor = "apple")]
        const ABSENT: Errno = Errno::NOATTR;
        #[cfg(not(target_vendor = "apple"))]
        const ABSENT: Errno = Errno::NODATA;
        let mut value = [0; 512];
        match rustix::fs::fgetxattr(file, name, &mut value[..]) {
            Ok(len) => Ok(Some(value[..len].to_vec())),
            Err(ABSENT) => Ok(None),
            Err(Errno::RANGE) => Ok(Some(Vec::new())),
            Err(error) if has_none(error) => Err(io::ErrorKind::Unsupported.into()),
            Err(error) => Err(error.into()),
        }
    }
    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    {
        let _ = (file, name);
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Does this error mean that the file system has no attributes? The first two are one number on some systems.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn has_none(error: rustix::io::Errno) -> bool {
    use rustix::io::Errno;
    [Errno::OPNOTSUPP, Errno::NOTSUP, Errno::NOSYS].contains(&error)
}

/// Sets an extended attribute.
pub(crate) fn set_attribute(file: &File, name: &str, value: &[u8]) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    {
        match rustix::fs::fsetxattr(file, name, value, rustix::fs::XattrFlags::empty()) {
            Err(error) if has_none(error) => Err(io::ErrorKind::Unsupported.into()),
            done => Ok(done?),
        }
    }
    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    {
        let _ = (file, name, value);
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// May this entry be this file? Uses only the entry itself, without a system call.
pub(crate) fn may_be(entry: &DirEntry, id: &FileId) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirEntryExt;
        entry.ino() == id.number
    }
    #[cfg(not(unix))]
    {
        let _ = (entry, id);
        true
    }
}

/// The device of a file, if the system reports it.
pub(crate) fn device(metadata: &Metadata) -> Option<u64> {
    FileId::from_metadata(metadata).map(|id| id.device)
}

/// The kind of the file system at `path`, if it holds no stored files: their contents are generated on
/// reading.
pub(crate) fn pseudo_file_system(path: &Path) -> Option<&'static str> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        // The numbers are the kernel's, `include/uapi/linux/magic.h`.
        const KINDS: [(u32, &str); 16] = [
            (0x9fa0, "proc"),
            (0x6265_6572, "sysfs"),
            (0x1cd1, "devpts"),
            (0x0027_e0eb, "cgroup"),
            (0x6367_7270, "cgroup2"),
            (0x6462_6720, "debugfs"),
            (0x7472_6163, "tracefs"),
            (0x7363_6673, "securityfs"),
            (0xf97c_ff8c, "selinuxfs"),
            (0xcafe_4a11, "bpf"),
            (0x6265_6570, "configfs"),
            (0x4249_4e4d, "binfmt_misc"),
            (0x1980_0202, "mqueue"),
            (0x6165_676c, "pstore"),
            (0xde5e_81e4, "efivarfs"),
            (0x6e73_6673, "nsfs"),
        ];
        let kind = rustix::fs::statfs(path).ok()?.f_type as u32;
        KINDS.into_iter().find(|(number, _)| *number == kind).map(|(_, name)| name)
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        let _ = path;
        None
    }
}
