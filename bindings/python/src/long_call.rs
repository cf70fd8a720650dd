//! Long calls, during which other Python threads run and Ctrl-C works, and errors of the operating system.

use std::io;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;

/// Minimum number of bytes for which releasing the interpreter pays.
pub(crate) const DETACH_FROM: usize = 2048;

/// Work on more bytes than this checks for signals in between: some ten milliseconds.
pub(crate) const PIECE: usize = 64 << 20;

/// Polling interval for signals.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The result of `work` on another thread, while this one polls for signals. A handler that raises ends the wait and calls
/// `stop`; the result is dropped then.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    stop: impl FnOnce(),
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    watched(py, stop, |_| Ok(()), work)
}

/// The same; `on_poll` is called at each poll, and an exception from it ends the wait like a signal.
pub(crate) fn watched<T: Send + 'static>(
    py: Python<'_>,
    stop: impl FnOnce(),
    mut on_poll: impl FnMut(Python<'_>) -> PyResult<()>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = mpsc::channel();
    thread::Builder::new().spawn(move || sender.send(work()))?;
    loop {
        // A receiver cannot be shared, so it is moved there and back.
        let (received, back) = py.detach(move || (receiver.recv_timeout(POLL_INTERVAL), receiver));
        receiver = back;
        match received {
            Ok(value) => return Ok(value),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(raised) = py.check_signals().and_then(|()| on_poll(py)) {
                    stop();
                    return Err(raised);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err(
                    "a thread panicked: this is a bug in hashmill, please report it",
                ));
            }
        }
    }
}

/// An error of the operating system about a file, as `open` raises it: with `errno`, `strerror` and `filename`.
pub(crate) fn os_error(path: &Path, error: &io::Error) -> PyErr {
    let words = error.to_string();
    match error.raw_os_error() {
        // The number selects the class, such as FileNotFoundError; Rust's message repeats the number.
        Some(number) => {
            let words = words.trim_end_matches(&format!(" (os error {number})")).to_owned();
            PyOSError::new_err((number, words, path.as_os_str().to_owned()))
        }
        None => PyOSError::new_err(format!("{}: {words}", path.display())),
    }
}
