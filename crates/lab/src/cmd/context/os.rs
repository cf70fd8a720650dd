//! Signals that ask the program to end, which differ by operating system.

use std::io;

/// Calls `count` on a separate thread for each Ctrl-C, SIGTERM and SIGHUP, which no longer end the program. A handler that the
/// program has installed runs as well.
#[cfg(unix)]
pub(crate) fn on_termination(count: impl Fn() + Send + 'static) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::low_level::pipe;
    use std::io::Read;
    use std::os::unix::net::UnixStream;
    use std::thread;

    let (mut received, sender) = UnixStream::pair()?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        // One byte for each signal, so that a second one is never taken for the first.
        let mut byte = [0];
        while received.read_exact(&mut byte).is_ok() {
            count();
        }
    })?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        pipe::register(signal, sender.try_clone()?)?;
    }
    Ok(())
}

/// Calls `count` on a separate thread for each Ctrl-C and each request to end the program, which no longer end it.
#[cfg(not(unix))]
pub(crate) fn on_termination(count: impl Fn() + Send + 'static) -> io::Result<()> {
    ctrlc::set_handler(count).map_err(io::Error::other)
}
