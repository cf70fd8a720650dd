//! What differs by operating system, apart from mapping (`source/mmap`): positioned reads, read-ahead, names.

use std::fs::File;
use std::io::{self, Read};

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

/// Whether `\` separates directories, so that no name contains it. In lists it is `/` everywhere.
pub(crate) const BACKSLASH_SEPARATES: bool = cfg!(windows);

/// Whether names are bytes that the system passes on as they are, UTF-8 or not.
pub(crate) const NAMES_ARE_BYTES: bool = cfg!(unix);

/// Whether [`read_at`] works here.
pub(crate) use system::POSITIONED;

/// A file name from bytes that may be no UTF-8; `None` where the system has no such names.
pub(crate) use system::name;

/// Reads until `buffer` is full or the input ends.
pub(crate) fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    fill_by(buffer, |rest, _| reader.read(rest))
}

/// Fills `buffer` from `offset` on, as far as the file goes.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    fill_by(buffer, |rest, len| system::read_at(file, rest, offset + len as u64))
}

fn fill_by(
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

/// Tells the system that the file will be read from front to back. Only a hint: errors mean nothing.
pub(crate) fn advise_sequential(file: &File) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::Sequential);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let _ = file;
}

/// Standard input as a file of its own, so that it can be asked what it is. `None` where that is not possible.
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

/// Asks for a larger pipe: fewer, larger reads. Only a hint, and none to what is no pipe.
pub(crate) fn widen_pipe(file: &File) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let _ = rustix::pipe::fcntl_setpipe_size(file, 1 << 20);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let _ = file;
}
