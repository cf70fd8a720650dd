//! Standard streams as they were when the program started.
//!
//! Before `main`, Rust's runtime opens `/dev/null` in place of a closed standard stream. Writes then seem to succeed, and reads
//! seem to be empty. So the state of the streams is recorded before the runtime starts.

use std::fs::File;
use std::io::{self, IsTerminal, Stdin, Stdout, Write};
use std::path::Path;

/// Bit `n` is set if file descriptor `n` was closed.
#[cfg(unix)]
static CLOSED: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(0);

// SAFETY: runs before Rust's runtime and uses only system calls and an atomic, which need no runtime.
#[cfg(unix)]
mod before_main {
    ctor::declarative::ctor! {
        #[ctor(unsafe)]
        fn record_closed_streams() {
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

/// The descriptor that a path names instead of a file: `-` and `/dev/stdout` are 1. Opening such a path would write the file
/// from its start, over the output of other programs to the same descriptor.
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
            // Rust parses `+1`, but no such path exists.
            number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok())?
        }
    }
}

/// A second handle for an inherited descriptor. Both share the file position.
#[cfg(unix)]
#[expect(unsafe_code, reason = "an inherited descriptor is known only by its number")]
pub(crate) fn duplicate(descriptor: u32) -> io::Result<File> {
    use std::os::fd::FromRawFd;
    // Descriptors are `i32`.
    let number = i32::try_from(descriptor).map_err(|_| rustix::io::Errno::BADF)?;
    // SAFETY: takes and returns numbers; a descriptor that is not open gives an error.
    let new = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    if new < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has succeeded, so this descriptor is open and nothing else owns it.
    Ok(unsafe { File::from_raw_fd(new) })
}

/// A second handle for an inherited descriptor.
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

    /// Fails if the program was started without standard output.
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
    fn tells_descriptors_from_files() {
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
