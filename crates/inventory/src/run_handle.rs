//! Handle of a run: progress and cancellation from another thread.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hashmill_files::Files;
use tokio_util::sync::CancellationToken;

use crate::row_result::Summary;

/// Handle of a run or a batch. Each clone can read the progress and stop the run.
#[derive(Clone, Debug, Default)]
pub struct RunHandle(Arc<State>);

#[derive(Debug, Default)]
struct State {
    end: CancellationToken,
    rows: AtomicU64,
    done: AtomicU64,
    failed: AtomicU64,
    bytes: AtomicU64,
    /// Files that are being read; their bytes are not in `bytes` yet.
    files: Mutex<Option<Arc<Files>>>,
}

/// Progress of a run. The counters are not read at one moment: each may be newer than the ones before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Rows of the shard; zero until it is known, and for a batch.
    pub rows: u64,
    /// Rows with a result, of this run or of an earlier one.
    pub done: u64,
    /// Rows of `done` without a digest, or with a digest other than the listed one.
    pub failed: u64,
    /// Bytes that this run has read.
    pub bytes: u64,
}

impl RunHandle {
    /// A handle for a run that has not started.
    pub fn new() -> RunHandle {
        RunHandle::default()
    }

    /// Stops the run soon: requests at once, local files after a few MiB.
    pub fn stop(&self) {
        self.0.end.cancel();
    }

    /// Whether [`RunHandle::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.0.end.is_cancelled()
    }

    /// Current progress.
    pub fn progress(&self) -> Progress {
        let State { rows, done, failed, bytes, .. } = &*self.0;
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let files = self.0.files.lock().unwrap_or_else(PoisonError::into_inner);
        let reading = files.as_ref().map_or(0, |files| files.progress().bytes());
        Progress { rows: of(rows), done: of(done), failed: of(failed), bytes: of(bytes) + reading }
    }

    pub(crate) async fn stopped(&self) {
        self.0.end.cancelled().await;
    }

    pub(crate) fn set_row_count(&self, rows: u64) {
        self.0.rows.store(rows, Ordering::Relaxed);
    }

    pub(crate) fn add_finished(&self, summary: &Summary) {
        self.0.done.fetch_add(summary.rows, Ordering::Relaxed);
        let failed = summary.rows - summary.hashed + summary.mismatched;
        self.0.failed.fetch_add(failed, Ordering::Relaxed);
    }

    pub(crate) fn add_bytes(&self, bytes: u64) {
        self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts the bytes of `files` in the progress while `read` runs.
    pub(crate) fn with_files(&self, files: &Arc<Files>, read: impl FnOnce()) {
        *self.0.files.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(files));
        read();
        let mut reading = self.0.files.lock().unwrap_or_else(PoisonError::into_inner);
        *reading = None;
        // Under the lock, so that no reader counts these bytes twice.
        self.add_bytes(files.progress().bytes());
    }
}
