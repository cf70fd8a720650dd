//! Regular removal of documents whose time is over: unused ones are deleted, deleted ones are purged.

use std::sync::Arc;
use std::time::Duration;

use hashmill_repo::DocumentId;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};

use crate::event::IoFailure;
use crate::fact::Fact;
use crate::shell::Settings;
use crate::shell::driver::Handle;
use crate::shell::store::{RunningClock, Store};
use crate::storage::{Command, CommandOutcome};

/// Pause between two looks at all documents.
const INTERVAL: Duration = Duration::from_secs(3600);
/// Pause between two records of the clock. After a kill, deleted documents can be brought back for up to this time longer.
const CLOCK_INTERVAL: Duration = Duration::from_secs(600);
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
    clock: RunningClock,
    unix_time: fn() -> u64,
    wake: Arc<Notify>,
}

impl Sweeper {
    pub(in crate::shell) fn new(
        core: Handle,
        store: Option<Arc<Store>>,
        settings: &Settings,
        clock: RunningClock,
    ) -> Sweeper {
        let undelete_seconds = settings.undelete_time.as_secs();
        let idle_seconds = settings.idle_time.map(|time| time.as_secs());
        let unix_time = settings.unix_time;
        Sweeper { core, store, undelete_seconds, idle_seconds, clock, unix_time, wake: Arc::default() }
    }

    /// Ends the pause after a deletion, whose period may be over at once.
    pub(super) fn waker(&self) -> Arc<Notify> {
        Arc::clone(&self.wake)
    }

    pub(super) fn clock(&self) -> RunningClock {
        self.clock
    }

    /// Works without end. Failures are reported, and the next round tries again.
    pub(in crate::shell) async fn run(self) {
        if self.store.is_none() {
            return;
        }
        loop {
            // Clients that come back after the server stood still for long have some time to open their documents.
            if self.clock.running_time() >= INTERVAL {
                self.report(self.delete_unused().await);
            }
            self.report(self.purge_all().await);
            self.pause().await;
        }
    }

    /// Waits for the next round, or for a deletion. Records the clock meanwhile.
    async fn pause(&self) {
        let next_round = Instant::now() + INTERVAL;
        loop {
            let (now, unix_time) = (self.clock.now(), (self.unix_time)());
            self.report(self.with_store(move |store| store.record_clock(now, unix_time)).await);
            let next = next_round.min(Instant::now() + CLOCK_INTERVAL);
            if timeout_at(next, self.wake.notified()).await.is_ok() || Instant::now() >= next_round {
                return;
            }
        }
    }

    fn report(&self, result: Result<(), IoFailure>) {
        if let Err(failure) = result {
            self.core.report(Fact::CleanupFailed { reason: failure.reason().to_owned() });
        }
    }

    /// Deletes documents that were not used for long. One without a record counts as used now: its time starts.
    async fn delete_unused(&self) -> Result<(), IoFailure> {
        let Some(idle_seconds) = self.idle_seconds else { return Ok(()) };
        let now = self.clock.now();
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
        // A clock that stood before 1970 when the storage was created purges nothing.
        let Some(deleted_until) = self.clock.now().checked_sub(self.undelete_seconds) else {
            return Ok(());
        };
        loop {
            let documents = self.with_store(move |store| store.purgeable(deleted_until, BATCH)).await?;
            let is_last = documents.len() < BATCH;
            let mut purged = 0;
            for document in documents {
                // A command that the storage does not carry out is reported by the core, and tried again.
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use tempfile::TempDir;

    use super::*;
    use crate::config::Config;
    use crate::shell::driver::{Driver, Storage};
    use crate::storage::StorageClock;

    #[test]
    fn a_round_that_fails_is_reported() {
        let folder = TempDir::new().expect("a folder");
        let store = Arc::new(Store::open(folder.path(), "storage").expect("a new storage"));
        let (facts, received) = channel();
        let config = Config::new("srv", store.storage_id());
        let storage = Storage::Local(Arc::clone(&store));
        let driver = Driver::start(config, storage, move |fact: &Fact| drop(facts.send(fact.clone())));
        let core = driver.expect("threads").handle();
        store.lose_file();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads");
        let sweeper = Sweeper {
            core,
            store: Some(store),
            undelete_seconds: 0,
            idle_seconds: None,
            clock: RunningClock::start(StorageClock::resume(Some(5), None, 0)),
            unix_time: || 5,
            wake: Arc::default(),
        };
        runtime.spawn(sweeper.run());
        let fact = received.recv().expect("the core runs");
        assert!(matches!(fact, Fact::CleanupFailed { .. }), "{fact:?}");
        runtime.shutdown_background();
    }
}
