//! Regular removal of documents whose time is over.

use std::sync::Arc;
use std::time::Duration;

use hashmill_repo::DocumentId;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::event::IoFailure;
use crate::shell::Settings;
use crate::shell::driver::Handle;
use crate::shell::store::Store;
use crate::storage::{Command, CommandOutcome};

/// Pause between two looks at all tombstones.
const INTERVAL: Duration = Duration::from_secs(3600);
/// Number of documents that are looked up at once.
const BATCH: usize = 100;
/// Maximum time for a command. It is carried out later if its document is busy.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);

/// Purges deleted documents.
pub(in crate::shell) struct Sweeper {
    core: Handle,
    store: Arc<Store>,
    undelete_seconds: u64,
    unix_time: fn() -> u64,
    wake: Arc<Notify>,
}

impl Sweeper {
    pub(in crate::shell) fn new(core: Handle, store: Arc<Store>, settings: &Settings) -> Sweeper {
        let undelete_seconds = settings.undelete_time.as_secs();
        Sweeper { core, store, undelete_seconds, unix_time: settings.unix_time, wake: Arc::default() }
    }

    /// Ends the pause after a deletion, whose period may be over at once.
    pub(super) fn waker(&self) -> Arc<Notify> {
        Arc::clone(&self.wake)
    }

    /// Works without end.
    pub(in crate::shell) async fn run(self) {
        loop {
            // A storage that fails is reported where changes are stored. The next round tries again.
            let _ = self.purge_all().await;
            let _ = timeout(INTERVAL, self.wake.notified()).await;
        }
    }

    async fn purge_all(&self) -> Result<(), IoFailure> {
        // A clock that stood before 1970 purges nothing.
        let Some(deleted_until) = (self.unix_time)().checked_sub(self.undelete_seconds) else {
            return Ok(());
        };
        loop {
            let documents = self.purgeable(deleted_until).await?;
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

    async fn purgeable(&self, deleted_until: u64) -> Result<Vec<DocumentId>, IoFailure> {
        let store = Arc::clone(&self.store);
        let found = tokio::task::spawn_blocking(move || store.purgeable(deleted_until, BATCH)).await;
        found.unwrap_or_else(|error| Err(IoFailure::NotDone(error.to_string())))
    }
}
