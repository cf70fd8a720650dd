//! What differs by operating system: file descriptors, and in files of their own the terminal, signals and the standard
//! streams.

mod leftover;
mod prompt;
mod signals;
mod streams;

pub(crate) use leftover::Leftover;
pub(crate) use prompt::read_hidden;
pub(crate) use signals::{Hold, end_unread, give_in};
pub(crate) use streams::{Output, duplicate, output_descriptor, stdin};

use std::fs::{File, Metadata, OpenOptions};
use std::io;
#[cfg(not(unix))]
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What is known of standard output, if it is there.
pub(crate) fn output_metadata() -> Option<Metadata> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        Output::new().check().ok()?;
        File::from(io::stdout().as_fd().try_clone_to_owned().ok()?).metadata().ok()
    }
    #[cfg(not(unix))]
    None
}

/// Opens a file descriptor that the program was started with.
#[cfg(unix)]
pub(crate) fn open_fd(number: u32) -> io::Result<File> {
    File::open(format!("/dev/fd/{number}"))
}

/// Opens a file descriptor that the program was started with.
#[cfg(not(unix))]
pub(crate) fn open_fd(_: u32) -> io::Result<File> {
    Err(io::Error::new(ErrorKind::Unsupported, "file descriptors have no names on this system"))
}

/// Opens a file for reading that may be anything. Whatever it is, nobody waits for the other end of a pipe.
pub(crate) fn open_at_once(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY);
    options.open(path)
}

/// The folder of what programs found out for a user on this machine, which is no setting and is not to be lost.
pub(crate) fn state_folder() -> Option<PathBuf> {
    // A path that is relative would be another one in each directory.
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let usual = || match () {
        () if cfg!(windows) => set("LOCALAPPDATA"),
        () if cfg!(target_os = "macos") => Some(set("HOME")?.join("Library/Application Support")),
        () => Some(set("HOME")?.join(".local/state")),
    };
    set("XDG_STATE_HOME").or_else(usual)
}
