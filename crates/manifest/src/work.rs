//! Work under way, for whoever did not start it: how far it is, and its end.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hashmill_files::Files;
use tokio_util::sync::CancellationToken;

use crate::answer::Summary;

/// Work that whoever holds a clone of it can end, and ask how far it is.
#[derive(Clone, Debug, Default)]
pub struct Work(Arc<State>);

#[derive(Debug, Default)]
struct State {
    end: CancellationToken,
    rows: AtomicU64,
    done: AtomicU64,
    failed: AtomicU64,
    bytes: AtomicU64,
    /// Whose bytes are not among these yet.
    files: Mutex<Option<Arc<Files>>>,
}

/// How far it is. The numbers are read one after the other while they grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The rows of the shard; zero until that is known, and of a batch.
    pub rows: u64,
    /// Those that are answered, by this run or one before it.
    pub done: u64,
    /// Those of them without a digest, or with another one than the listed.
    pub failed: u64,
    /// The bytes that this run has read.
    pub bytes: u64,
}

impl Work {
    /// It has not begun.
    pub fn new() -> Work {
        Work::default()
    }

    /// Ends the work soon: requests at once, files of a disk after a few MiB.
    pub fn stop(&self) {
        self.0.end.cancel();
    }

    /// Whether somebody has.
    pub fn is_stopped(&self) -> bool {
        self.0.end.is_cancelled()
    }

    /// How far it is.
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

    pub(crate) fn expect(&self, rows: u64) {
        self.0.rows.store(rows, Ordering::Relaxed);
    }

    pub(crate) fn answered(&self, summary: &Summary) {
        self.0.done.fetch_add(summary.rows, Ordering::Relaxed);
        let failed = summary.rows - summary.hashed + summary.mismatched;
        self.0.failed.fetch_add(failed, Ordering::Relaxed);
    }

    pub(crate) fn read(&self, bytes: u64) {
        self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Reads `files` as long as `read` does.
    pub(crate) fn reading(&self, files: &Arc<Files>, read: impl FnOnce()) {
        *self.0.files.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(files));
        read();
        let mut reading = self.0.files.lock().unwrap_or_else(PoisonError::into_inner);
        *reading = None;
        // While nobody can look.
        self.read(files.progress().bytes());
    }
}
