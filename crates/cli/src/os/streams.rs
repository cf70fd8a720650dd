//! The standard streams as they were when the program began.
//!
//! Before `main`, Rust's runtime opens `/dev/null` in the place of a standard stream that is closed. What is written then
//! vanishes and counts as written; what is read is empty and counts as read. So a look is taken before the runtime.

use std::fs::File;
use std::io::{self, IsTerminal, Stdin, Stdout, Write};
use std::path::Path;

/// Bit `n` is set if file descriptor `n` was closed.
#[cfg(unix)]
static CLOSED: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(0);

// SAFETY: runs before the runtime is there, and needs nothing of it: system calls and an atomic.
#[cfg(unix)]
mod before_main {
    ctor::declarative::ctor! {
        #[ctor(unsafe)]
        fn look() {
            use rustix::io::{Errno, fcntl_getfd};
            let streams = [rustix::stdio::stdin(), rustix::stdio::stdout()];
            let closed = streams.map(|stream| u8::from(fcntl_getfd(stream) == Err(Errno::BADF)));
            super::CLOSED.store(closed[0] | closed[1] << 1, std::sync::atomic::Ordering::Relaxed);
        }
    }
}

#[cfg(unix)]
fn check(descriptor: u8) -> io::Result<()> {
    let closed = CLOSED.load(std::sync::atomic::Ordering::Relaxed) >> descriptor & 1 == 1;
    if closed { Err(rustix::io::Errno::BADF.into()) } else { Ok(()) }
}

#[cfg(not(unix))]
fn check(_: u8) -> io::Result<()> {
    Ok(())
}

/// Standard input, if the program was started with one.
pub(crate) fn stdin() -> io::Result<Stdin> {
    check(0).map(|()| io::stdin())
}

/// The descriptor that a path names instead of a file: `-` and `/dev/stdout` are 1. Opened by such a path, a file would be
/// written from its beginning, over what other programs have written to the same descriptor.
pub(crate) fn output_descriptor(path: &Path) -> Option<u32> {
    if path.as_os_str() == "-" {
        return Some(1);
    }
    if !cfg!(unix) {
        return None;
    }
    match path.to_str()? {
        "/dev/stdin" => Some(0),
        "/dev/stdout" => Some(1),
        "/dev/stderr" => Some(2),
        text => {
            let number = text.strip_prefix("/dev/fd/").or_else(|| text.strip_prefix("/proc/self/fd/"))?;
            // `+1` is a number for Rust, but no name there.
            number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok())?
        }
    }
}

/// A second handle for a descriptor that the program was started with: both write at the same place of a file.
#[cfg(unix)]
#[expect(unsafe_code, reason = "a descriptor that has only a number can be duplicated by its number alone")]
pub(crate) fn duplicate(descriptor: u32) -> io::Result<File> {
    use std::os::fd::FromRawFd;
    // No descriptor has a number beyond those of `i32`.
    let number = i32::try_from(descriptor).map_err(|_| rustix::io::Errno::BADF)?;
    // SAFETY: takes and returns numbers; one that is not open is an error.
    let new = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    if new < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has succeeded, so this descriptor is open and nothing else owns it.
    Ok(unsafe { File::from_raw_fd(new) })
}

/// A second handle for a descriptor that the program was started with.
#[cfg(not(unix))]
pub(crate) fn duplicate(_: u32) -> io::Result<File> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "file descriptors have no names on this system"))
}

/// Standard output. If the program was started without one, every write fails.
pub(crate) struct Output(Stdout);

impl Output {
    pub(crate) fn new() -> Output {
        Output(io::stdout())
    }

    /// Whether there is one.
    pub(crate) fn check(&self) -> io::Result<()> {
        check(1)
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.0.is_terminal()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        check(1)?;
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_told_from_files() {
        let of = |path: &str| output_descriptor(Path::new(path));
        assert_eq!(of("-"), Some(1));
        for path in
            ["", "./-", "x", "/dev/null", "/dev/fd", "/dev/fd/", "/dev/fd/x", "/dev/fd/+1", "/dev/fd/-1"]
        {
            assert_eq!(of(path), None, "{path}");
        }
        assert_eq!(of("/dev/fd/99999999999999999999"), None);
        if cfg!(unix) {
            let paths = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/stderr", "/dev/fd/07"];
            assert_eq!(paths.map(of), [1, 1, 1, 2, 7].map(Some));
            assert!(duplicate(u32::MAX).is_err() && duplicate(1_000_000).is_err());
        }
    }
}
