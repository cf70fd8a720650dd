//! The standard streams as they were when the program began.
//!
//! Before `main`, Rust's runtime opens `/dev/null` in the place of a standard stream that is closed. What is written then
//! vanishes and counts as written; what is read is empty and counts as read. So a look is taken before the runtime.

use std::io::{self, IsTerminal, Stdin, Stdout, Write};

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
