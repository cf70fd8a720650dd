//! The class `blake3`: a hasher with the interface of `hashlib`.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use hashmill_hash::blake3::{self, OutputReader};
use pyo3::exceptions::{PyMemoryError, PyOverflowError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::mode::Function;
use super::threads::{AUTO, MaxThreads};
use crate::boundary::Bytes;
use crate::long_call::{DETACH_FROM, PIECE, os_error};

/// Size of the buffer for files.
const BUFFER: usize = 1 << 20;

/// A BLAKE3 hasher: takes input in pieces, returns any number of bytes of output.
#[pyclass(frozen, name = "blake3", module = "hashmill.blake3")]
pub(crate) struct Hasher {
    state: Mutex<blake3::Hasher>,
    /// The threads that hold the state, or wait for it, while other Python threads run. A child that is forked then may find it
    /// locked forever.
    users: Users,
    threads: MaxThreads,
}

/// The state, locked by a thread that has released the interpreter.
struct DetachedState<'a> {
    // Dropped first: a child that is forked in between must find the thread counted.
    state: MutexGuard<'a, blake3::Hasher>,
    _user: User<'a>,
}

/// Number of threads that use a state while the interpreter is released, and their process: the number in the lower half.
#[derive(Default)]
struct Users(AtomicU64);

/// One of the threads.
struct User<'a>(&'a Users);

impl Users {
    /// Were some of them in the process of which this one was forked? They do not run here.
    fn are_of_parent(&self) -> bool {
        let users = self.0.load(Ordering::Relaxed);
        users as u32 > 0 && users >> 32 != u64::from(process::id())
    }

    fn enter(&self) -> User<'_> {
        let process = u64::from(process::id()) << 32;
        let add = |users: u64| Some(if users >> 32 == process >> 32 { users + 1 } else { process + 1 });
        // The lock orders what matters: a child sees the memory of its parent.
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).expect("it always adds");
        User(self)
    }
}

impl Drop for User<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Hasher {
    fn with(state: blake3::Hasher, threads: MaxThreads) -> Hasher {
        Hasher { state: Mutex::new(state), users: Users::default(), threads }
    }

    /// The state, if no other thread holds it.
    fn try_lock(&self) -> Option<MutexGuard<'_, blake3::Hasher>> {
        match self.state.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(state)) => Some(state.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The state, as soon as no other thread holds it. The caller must have released the interpreter, because otherwise the
    /// threads wait for each other.
    fn lock(&self) -> PyResult<DetachedState<'_>> {
        // Before this thread is counted: a thread of the parent would then look like one of this process.
        if self.try_lock().is_none() && self.users.are_of_parent() {
            return Err(PyRuntimeError::new_err(
                "forked while another thread updated this hasher: it has no state",
            ));
        }
        let user = self.users.enter();
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(DetachedState { state, _user: user })
    }

    /// Runs short `work` on the state.
    fn briefly<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut blake3::Hasher) -> T + Send,
    ) -> PyResult<T> {
        match self.try_lock() {
            Some(mut state) => Ok(work(&mut state)),
            None => py.detach(|| Ok(work(&mut self.lock()?.state))),
        }
    }

    /// Adds `input`. A signal handler that raises ends it between two pieces.
    fn update_from(&self, py: Python<'_>, input: &[u8]) -> PyResult<()> {
        if input.len() < DETACH_FROM {
            return self.briefly(py, |state| {
                state.update(input);
            });
        }
        for (index, piece) in input.chunks(PIECE).enumerate() {
            if index > 0 {
                py.check_signals()?;
            }
            py.detach(|| self.update_piece(piece))?;
        }
        Ok(())
    }

    fn update_piece(&self, piece: &[u8]) -> PyResult<()> {
        let done = self.threads.update(&mut self.lock()?.state, piece);
        done.map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// The start of the output, after a check that all of it exists.
    fn output(&self, py: Python<'_>, length: usize, seek: u64) -> PyResult<OutputReader> {
        if length > isize::MAX as usize || seek.checked_add(length as u64).is_none() {
            return Err(PyOverflowError::new_err(format!("no {length} bytes of output from {seek} on")));
        }
        let mut output = self.briefly(py, |state| state.finalize_xof())?;
        output.set_position(seek);
        Ok(output)
    }
}

/// Fills `bytes`. A signal handler that raises ends it between two pieces.
fn fill(py: Python<'_>, output: &mut OutputReader, bytes: &mut [u8]) -> PyResult<()> {
    if bytes.len() < DETACH_FROM {
        output.fill(bytes);
        return Ok(());
    }
    for piece in bytes.chunks_mut(PIECE) {
        py.check_signals()?;
        py.detach(|| output.fill(piece));
    }
    Ok(())
}

#[pymethods]
impl Hasher {
    #[classattr]
    #[pyo3(name = "name")]
    const NAME: &'static str = "blake3";
    #[classattr]
    #[pyo3(name = "digest_size")]
    const DIGEST_SIZE: usize = blake3::OUT_LEN;
    #[classattr]
    #[pyo3(name = "block_size")]
    const BLOCK_SIZE: usize = blake3::BLOCK_LEN;
    #[classattr]
    #[pyo3(name = "key_size")]
    const KEY_SIZE: usize = blake3::KEY_LEN;
    #[classattr]
    const AUTO: isize = AUTO;

    #[new]
    #[pyo3(signature = (data = None, /, *, key = None, derive_key_context = None, max_threads = 1, usedforsecurity = true))]
    fn new(
        data: Option<&Bound<'_, PyAny>>,
        key: Option<&Bound<'_, PyAny>>,
        derive_key_context: Option<&str>,
        max_threads: isize,
        usedforsecurity: bool,
        py: Python<'_>,
    ) -> PyResult<Hasher> {
        // For systems with a policy on MD5: this is always for security.
        let _ = usedforsecurity;
        let threads = MaxThreads::from_arg(max_threads)?;
        let hasher = Hasher::with(Function::from_args(key, derive_key_context)?.hasher(), threads);
        if let Some(data) = data {
            hasher.update_from(py, Bytes::borrow(data)?.as_slice())?;
        }
        Ok(hasher)
    }

    /// Adds bytes, and returns the hasher itself. Other Python threads run meanwhile.
    #[pyo3(signature = (data, /))]
    fn update<'py>(slf: Bound<'py, Self>, data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        slf.get().update_from(slf.py(), Bytes::borrow(data)?.as_slice())?;
        Ok(slf)
    }

    /// Adds the bytes of a file. They are read: a mapped file that becomes shorter would end the process.
    fn update_mmap<'py>(slf: Bound<'py, Self>, path: PathBuf) -> PyResult<Bound<'py, Self>> {
        let py = slf.py();
        let opened = py.detach(|| File::open(&path));
        let failed = move |error: io::Error| os_error(&path, &error);
        let mut file = opened.map_err(&failed)?;
        let mut buffer = vec![0; BUFFER];
        loop {
            let read = py.detach(|| file.read(&mut buffer));
            match read {
                Ok(0) => return Ok(slf),
                Ok(len) => slf.get().update_from(py, &buffer[..len])?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
            py.check_signals()?;
        }
    }

    /// A copy of the hasher in the same state.
    fn copy(&self, py: Python<'_>) -> PyResult<Hasher> {
        Ok(Hasher::with(self.briefly(py, |state| state.clone())?, self.threads))
    }

    /// Resets the hasher, with the same key or context.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        self.briefly(py, |state| {
            state.reset();
        })
    }

    /// `length` bytes of output from `seek` on, by default the first 32. More can be read afterwards.
    #[pyo3(signature = (length = blake3::OUT_LEN, *, seek = 0))]
    fn digest<'py>(&self, py: Python<'py>, length: usize, seek: u64) -> PyResult<Bound<'py, PyBytes>> {
        if (length, seek) == (blake3::OUT_LEN, 0) {
            let digest = self.briefly(py, |state| state.finalize())?;
            return Ok(PyBytes::new(py, digest.as_bytes()));
        }
        let mut output = self.output(py, length, seek)?;
        PyBytes::new_with(py, length, |bytes| fill(py, &mut output, bytes))
    }

    /// The same as hexadecimal digits.
    #[pyo3(signature = (length = blake3::OUT_LEN, *, seek = 0))]
    fn hexdigest<'py>(&self, py: Python<'py>, length: usize, seek: u64) -> PyResult<Bound<'py, PyString>> {
        if (length, seek) == (blake3::OUT_LEN, 0) {
            let digest = self.briefly(py, |state| state.finalize())?;
            return Ok(PyString::new(py, &digest.to_hex()));
        }
        let mut output = self.output(py, length, seek)?;
        let mut bytes = Vec::new();
        let room = bytes.try_reserve_exact(length);
        room.map_err(|_| PyMemoryError::new_err(format!("no memory for {length} bytes of output")))?;
        bytes.resize(length, 0);
        fill(py, &mut output, &mut bytes)?;
        // Python's allocation of the result raises `MemoryError` if there is not enough memory.
        PyBytes::new(py, &bytes).call_method0("hex")?.cast_into::<PyString>().map_err(PyErr::from)
    }
}
