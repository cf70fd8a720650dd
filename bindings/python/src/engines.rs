//! Engines by name: devices are opened once, and share one account of memory.

use std::sync::{Arc, Mutex, PoisonError};

use hashmill_engines::{EngineCache, EngineEvent, EngineSet, EventSink, OpenError};
use hashmill_files::{Files, Function, OnEngineFailure, Options};
use pyo3::exceptions::{PyRuntimeWarning, PyValueError};
use pyo3::prelude::*;

mod exceptions {
    pyo3::import_exception!(hashmill._engine_error, EngineError);
}

pub(crate) use exceptions::EngineError;

static ENGINES: EngineCache = EngineCache::new();

/// The engines of this list.
pub(crate) fn open(py: Python<'_>, list: &str) -> PyResult<Arc<EngineSet>> {
    py.detach(|| ENGINES.open(list)).map_err(|error| open_error(&error))
}

/// Closes the engines of this list after a failure; the next call opens them again.
pub(crate) fn close(list: &str) {
    ENGINES.remove(list);
}

/// A hasher of files on the engine of this list.
pub(crate) fn files(py: Python<'_>, list: &str, function: Function, options: Options) -> PyResult<Files> {
    let engines = open(py, list)?;
    py.detach(|| {
        let mode = function.mode();
        match engines.subtrees(mode.as_ref(), options.threads).map_err(|error| open_error(&error))? {
            None => Ok(Files::new(function, options)),
            Some(engine) => Files::with_engine(function, options, engine, OnEngineFailure::Error)
                .map_err(|error| EngineError::new_err(format!("{list}: {error}"))),
        }
    })
}

fn open_error(error: &OpenError) -> PyErr {
    match error {
        OpenError::List(_)
        | OpenError::SameDevice { .. }
        | OpenError::SeveralForFiles { .. }
        | OpenError::SerialFunction { .. } => PyValueError::new_err(error.to_string()),
        _ => EngineError::new_err(error.to_string()),
    }
}

/// Events of engines that the thread of a call has not reported yet.
#[derive(Clone, Default)]
pub(crate) struct EventQueue(Arc<Mutex<Vec<String>>>);

impl EventQueue {
    /// A receiver that adds messages to the queue.
    pub(crate) fn sink(&self) -> EventSink {
        let queue = self.clone();
        Arc::new(move |event: &EngineEvent| queue.push(event))
    }

    fn push(&self, event: &EngineEvent) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event.to_string());
    }

    /// Reports the events as warnings.
    pub(crate) fn warn(&self, py: Python<'_>) -> PyResult<()> {
        let messages = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for message in messages {
            let message = std::ffi::CString::new(message.replace('\0', " "))?;
            PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &message, 1)?;
        }
        Ok(())
    }
}
