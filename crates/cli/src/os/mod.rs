//! What differs by operating system: file descriptors, and in files of their own the terminal, signals and the standard
//! streams.

mod prompt;
mod signals;
mod streams;

pub(crate) use prompt::read_hidden;
pub(crate) use signals::{Hold, end_unread, give_in};
pub(crate) use streams::{Output, stdin};

use std::fs::File;
use std::io;
#[cfg(not(unix))]
use std::io::ErrorKind;

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
