//! Regular removal of documents whose time is over: unused ones are deleted, deleted ones are purged.

use std::sync::Arc;
use std::time::Duration;

use hashmill_repo::DocumentId;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use crate::event::IoFailure;
use crate::shell::Settings;
use crate::shell::driver::Handle;
use crate::shell::store::Store;
use crate::storage::{Command, CommandOutcome};

/// Pause between two looks at all documents.
const INTERVAL: Duration = Duration::from_secs(3600);
/// Number of documents that are looked up at once.
const BATCH: usize = 100;
/// Maximum time for a command. It is carried out later if its document is busy.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);

/// Deletes and purges documents.
pub(in crate::shell) struct Sweeper {
    core: Handle,
    /// `None`: deleted documents of a shared storage are kept.
    store: Option<Arc<Store>>,
    undelete_seconds: u64,
    idle_seconds: Option<u64>,
    unix_time: fn() -> u64,
    wake: Arc<Notify>,
}

impl Sweeper {
    pub(in crate::shell) fn new(core: Handle, store: Option<Arc<Store>>, settings: &Settings) -> Sweeper {
        let undelete_seconds = settings.undelete_time.as_secs();
        let idle_seconds = settings.idle_time.map(|time| time.as_secs());
        Sweeper {
            core,
            store,
            undelete_seconds,
            idle_seconds,
            unix_time: settings.unix_time,
            wake: Arc::default(),
        }
    }

    /// Ends the pause after a deletion, whose period may be over at once.
    pub(super) fn waker(&self) -> Arc<Notify> {
        Arc::clone(&self.wake)
    }

    /// Works without end.
    pub(in crate::shell) async fn run(self) {
        if self.store.is_none() {
            return;
        }
        let start = Instant::now();
        loop {
            // A storage that fails is reported where changes are stored. The next round tries again.
            // Clients that come back after the server stood still for long have some time to open their documents.
            if start.elapsed() >= INTERVAL {
                let _ = self.delete_unused().await;
            }
            let _ = self.purge_all().await;
            let _ = timeout(INTERVAL, self.wake.notified()).await;
        }
    }

    /// Deletes documents that were not used for long. One without a record counts as used now: its time starts.
    async fn delete_unused(&self) -> Result<(), IoFailure> {
        let Some(idle_seconds) = self.idle_seconds else { return Ok(()) };
        let now = (self.unix_time)();
        let Some(used_until) = now.checked_sub(idle_seconds) else { return Ok(()) };
        self.with_store(move |store| store.record_uses(now)).await?;
        let mut last: Option<String> = None;
        loop {
            let after = last.clone();
            let documents = self.with_store(move |store| store.uses_after(after.as_deref(), BATCH)).await?;
            let Some((document, _)) = documents.last() else { break };
            last = Some(document.clone());
            for (text, used_at) in documents {
                let is_due = used_at.is_some_and(|used_at| used_at <= used_until);
                let document = text.parse::<DocumentId>().ok().filter(|_| is_due);
                let is_used = match document {
                    Some(document) => {
                        let command = Command::DeleteUnused { at: now, used_until };
                        let outcome = timeout(COMMAND_TIMEOUT, self.core.execute(document, command)).await;
                        matches!(outcome, Ok(Some(CommandOutcome::NotDue)))
                    }
                    None => used_at.is_none(),
                };
                if is_used && let Some(store) = &self.store {
                    store.note_use(&text);
                }
            }
        }
        self.with_store(move |store| store.record_uses(now)).await
    }

    async fn purge_all(&self) -> Result<(), IoFailure> {
        // A clock that stood before 1970 purges nothing.
        let Some(deleted_until) = (self.unix_time)().checked_sub(self.undelete_seconds) else {
            return Ok(());
        };
        loop {
            let documents = self.with_store(move |store| store.purgeable(deleted_until, BATCH)).await?;
            let is_last = documents.len() < BATCH;
            let mut purged = 0;
            for document in documents {
                let command = self.core.execute(document, Command::Purge { deleted_until });
                let outcome = timeout(COMMAND_TIMEOUT, command).await;
                purged += usize::from(matches!(outcome, Ok(Some(CommandOutcome::Done))));
            }
            if is_last || purged == 0 {
                return Ok(());
            }
        }
    }

    /// Runs an operation of the storage on a thread that may wait.
    async fn with_store<R: Send + 'static>(
        &self,
        operation: impl FnOnce(&Store) -> Result<R, IoFailure> + Send + 'static,
    ) -> Result<R, IoFailure> {
        match self.store.clone() {
            Some(store) => store.run_blocking(operation).await,
            None => Err(IoFailure::NotDone("the storage is shared".to_owned())),
        }
    }
}
