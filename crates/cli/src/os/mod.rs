//! Operating system interface: file descriptors, terminal prompts, signals and standard streams.

mod prompt;
mod signals;
#[cfg(feature = "serve")]
mod storage;
mod streams;
mod temp_cleanup;

pub(crate) use prompt::read_hidden;
pub(crate) use signals::{SignalBlock, deliver_signal, exit_by_sigpipe};
#[cfg(feature = "serve")]
pub(crate) use storage::{free_bytes, max_open_files, mode_of, mount_of};
pub(crate) use streams::{Output, duplicate, output_descriptor, stdin};
pub(crate) use temp_cleanup::TempFileGuard;

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io;
#[cfg(not(unix))]
use std::io::ErrorKind;
use std::path::PathBuf;

/// The arguments of the program. On Windows, where shells do not, this expands patterns of file names.
pub(crate) fn arguments() -> impl Iterator<Item = OsString> {
    #[cfg(windows)]
    {
        wild::args_os()
    }
    #[cfg(not(windows))]
    std::env::args_os()
}

/// The metadata of standard output, if it is open.
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

/// May users of this machine use a file who are neither its owner nor of its group?
#[cfg(all(feature = "serve", unix))]
pub(crate) fn is_open_to_others(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o007 != 0
}

/// Rights of files are kept elsewhere, and a user's files are private by default.
#[cfg(all(feature = "serve", not(unix)))]
pub(crate) fn is_open_to_others(_: &Metadata) -> bool {
    false
}

/// The folder for persistent program state of the user: neither settings nor cache.
pub(crate) fn state_folder() -> Option<PathBuf> {
    // A relative path would depend on the current directory.
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let default = || match () {
        () if cfg!(windows) => set("LOCALAPPDATA"),
        () if cfg!(target_os = "macos") => Some(set("HOME")?.join("Library/Application Support")),
        () => Some(set("HOME")?.join(".local/state")),
    };
    set("XDG_STATE_HOME").or_else(default)
}
