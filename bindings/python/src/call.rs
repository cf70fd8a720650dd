//! Long calls, during which other threads of Python run and Ctrl-C works, and errors of the operating system.

use std::io;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;

/// From so many bytes on, letting other threads of Python run costs less than it gives them.
pub(crate) const DETACH_FROM: usize = 2048;

/// Work on more bytes than this looks for signals in between: some ten milliseconds.
pub(crate) const PIECE: usize = 64 << 20;

/// How long a signal waits at most.
const LOOK: Duration = Duration::from_millis(50);

/// The result of `work`, which another thread does: this one waits, and looks for signals. One that raises ends the wait and
/// calls `stop`; nobody hears of the result then.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    stop: impl FnOnce(),
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    watched(py, stop, |_| Ok(()), work)
}

/// The same; `look` looks as often as signals are looked for, and what it raises ends the wait like a signal.
pub(crate) fn watched<T: Send + 'static>(
    py: Python<'_>,
    stop: impl FnOnce(),
    mut look: impl FnMut(Python<'_>) -> PyResult<()>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = mpsc::channel();
    thread::Builder::new().spawn(move || sender.send(work()))?;
    loop {
        // A receiver belongs to one thread at a time, so it goes there and comes back.
        let (heard, back) = py.detach(move || (receiver.recv_timeout(LOOK), receiver));
        receiver = back;
        match heard {
            Ok(value) => return Ok(value),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(raised) = py.check_signals().and_then(|()| look(py)) {
                    stop();
                    return Err(raised);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err(
                    "a thread panicked: an error of hashmill, please report it",
                ));
            }
        }
    }
}

/// An error of the operating system about a file, as `open` raises it: with `errno`, `strerror` and `filename`.
pub(crate) fn os_error(path: &Path, error: &io::Error) -> PyErr {
    let words = error.to_string();
    match error.raw_os_error() {
        // The number chooses the class, such as FileNotFoundError; Rust's words have the number, too.
        Some(number) => {
            let words = words.trim_end_matches(&format!(" (os error {number})")).to_owned();
            PyOSError::new_err((number, words, path.as_os_str().to_owned()))
        }
        None => PyOSError::new_err(format!("{}: {words}", path.display())),
    }
}
