//! Engines by name: devices are opened once, and share one account of memory.

use std::sync::{Arc, Mutex, PoisonError};

use hashmill_engines::{EngineCache, EngineEvent, EngineSet, EventSink, OpenError};
use hashmill_files::{Files, Function, OnEngineFailure, Options};

use crate::error::Failure;

static ENGINES: EngineCache = EngineCache::new();

/// The engines of this list.
pub(crate) fn open(list: &str) -> Result<Arc<EngineSet>, Failure> {
    ENGINES.open(list).map_err(|error| open_failure(&error))
}

/// Closes the engines of this list after a failure; the next call opens them again.
pub(crate) fn close(list: &str) {
    ENGINES.remove(list);
}

/// A hasher of files on the engine of this list.
pub(crate) fn files(list: &str, function: Function, options: Options) -> Result<Files, Failure> {
    let engines = open(list)?;
    let mode = function.mode();
    match engines.subtrees(mode.as_ref(), options.threads).map_err(|error| open_failure(&error))? {
        None => Ok(Files::new(function, options)),
        Some(engine) => Files::with_engine(function, options, engine, OnEngineFailure::Error)
            .map_err(|error| Failure::engine(&format!("{list}: {error}"))),
    }
}

fn open_failure(error: &OpenError) -> Failure {
    match error {
        OpenError::List(_)
        | OpenError::SameDevice { .. }
        | OpenError::SeveralForFiles { .. }
        | OpenError::SerialFunction { .. } => Failure::range(error),
        _ => Failure::engine(error),
    }
}

/// Events of engines that no call has reported yet.
#[derive(Clone, Default)]
pub(crate) struct EventQueue(Arc<Mutex<Vec<String>>>);

impl EventQueue {
    /// A receiver that adds messages to the queue.
    pub(crate) fn sink(&self) -> EventSink {
        let queue = self.clone();
        Arc::new(move |event: &EngineEvent| {
            queue.0.lock().unwrap_or_else(PoisonError::into_inner).push(event.to_string());
        })
    }

    /// Empties the queue.
    pub(crate) fn take_messages(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
