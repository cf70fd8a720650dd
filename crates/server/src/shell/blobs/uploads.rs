//! Uploads of all identities: one request at a time for each, and the newest one wins.
//!
//! A client that lost its connection continues while the server still waits for the old one. So a new request ends an older one for the
//! same upload, whose bytes so far are kept.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard, watch};

use super::blob_store::{Target, Unfinished, UnfinishedUpload, UploadKey};
use crate::storage::{BlobHash, is_over};

/// Uploads that are received or unfinished.
pub(super) struct Uploads {
    max_per_identity: usize,
    slots: Mutex<BTreeMap<UploadKey, Arc<Slot>>>,
    last_number: AtomicU64,
}

struct Slot {
    /// Number of the newest request. Larger numbers end requests.
    newest: watch::Sender<u64>,
    /// Bytes so far, also while a request adds some.
    len: AtomicU64,
    /// Time of the latest bytes, in seconds since 1970.
    at: AtomicU64,
    unfinished: Arc<AsyncMutex<Option<Unfinished>>>,
}

/// The only request of an upload.
pub(super) struct Lease {
    uploads: Arc<Uploads>,
    key: UploadKey,
    slot: Arc<Slot>,
    number: u64,
    newest: watch::Receiver<u64>,
    unfinished: OwnedMutexGuard<Option<Unfinished>>,
}

/// The identity has the maximum of uploads.
#[derive(Debug)]
pub(super) struct TooManyUploads;

impl Uploads {
    /// The unfinished uploads with their times, and limits.
    pub(super) fn new(unfinished: Vec<UnfinishedUpload>, max_per_identity: usize) -> Uploads {
        let slots = unfinished.into_iter().map(|(key, unfinished, at)| {
            let slot = Slot::new();
            slot.len.store(unfinished.len(), Ordering::Relaxed);
            slot.at.store(at, Ordering::Relaxed);
            (key, Arc::new(Slot { unfinished: Arc::new(AsyncMutex::new(Some(unfinished))), ..slot }))
        });
        let slots = Mutex::new(slots.collect());
        Uploads { max_per_identity, slots, last_number: AtomicU64::new(0) }
    }

    /// A target that no other upload has.
    pub(super) fn new_target(&self) -> Target {
        Target::Any(self.last_number.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Ends an older request of this upload, and waits for its end.
    pub(super) async fn acquire(self: &Arc<Self>, key: UploadKey) -> Result<Lease, TooManyUploads> {
        let (slot, number, newest) = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            let count = slots_of(&slots, &key.name).count();
            if !slots.contains_key(&key) && count >= self.max_per_identity {
                return Err(TooManyUploads);
            }
            let slot = Arc::clone(slots.entry(key.clone()).or_insert_with(|| Arc::new(Slot::new())));
            let newest = slot.newest.subscribe();
            let mut number = 0;
            slot.newest.send_modify(|newest| {
                *newest += 1;
                number = *newest;
            });
            (slot, number, newest)
        };
        let unfinished = Arc::clone(&slot.unfinished).lock_owned().await;
        Ok(Lease { uploads: Arc::clone(self), key, slot, number, newest, unfinished })
    }

    /// Bytes of an upload so far.
    pub(super) fn len_of(&self, name: &str, blob: BlobHash) -> u64 {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let key = UploadKey { name: name.to_owned(), target: Target::Blob(blob) };
        slots.get(&key).map_or(0, |slot| slot.len.load(Ordering::Relaxed))
    }

    /// Bytes of all uploads of an identity.
    pub(super) fn bytes_of(&self, name: &str) -> u64 {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots_of(&slots, name).map(|slot| slot.len.load(Ordering::Relaxed)).sum()
    }

    /// Number of uploads, and their bytes.
    pub(super) fn totals(&self) -> (u64, u64) {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = slots.values().map(|slot| slot.len.load(Ordering::Relaxed)).sum();
        (slots.len() as u64, bytes)
    }

    /// Unfinished uploads without new bytes for a period.
    pub(super) fn expired(&self, period: u64, now: u64) -> Vec<UploadKey> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let expired = slots.iter().filter(|(_, slot)| {
            // One that is received now has its own limits.
            slot.unfinished.try_lock().is_ok() && is_over(slot.at.load(Ordering::Relaxed), period, now)
        });
        expired.map(|(key, _)| key.clone()).collect()
    }

    /// Ends all requests: their bytes are kept.
    pub(super) fn end_all(&self) {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.values().for_each(|slot| slot.newest.send_modify(|newest| *newest += 1));
    }
}

fn slots_of<'s>(
    slots: &'s BTreeMap<UploadKey, Arc<Slot>>,
    name: &str,
) -> impl Iterator<Item = &'s Arc<Slot>> + use<'s> {
    let first = UploadKey { name: name.to_owned(), target: Target::Blob(BlobHash([0; 32])) };
    let name = name.to_owned();
    slots.range(first..).take_while(move |(key, _)| key.name == name).map(|(_, slot)| slot)
}

impl Slot {
    fn new() -> Slot {
        let (newest, _) = watch::channel(0);
        let (len, at) = (AtomicU64::new(0), AtomicU64::new(0));
        Slot { newest, len, at, unfinished: Arc::default() }
    }
}

impl Lease {
    pub(super) fn key(&self) -> &UploadKey {
        &self.key
    }

    /// Has the upload had no new bytes for a period?
    pub(super) fn is_expired(&self, period: u64, now: u64) -> bool {
        is_over(self.slot.at.load(Ordering::Relaxed), period, now)
    }

    /// The state that an earlier request left.
    pub(super) fn take(&mut self) -> Option<Unfinished> {
        self.unfinished.take()
    }

    /// The state that the next request finds.
    pub(super) fn put(&mut self, unfinished: Option<Unfinished>) {
        *self.unfinished = unfinished;
    }

    pub(super) fn note_len(&self, len: u64, now: u64) {
        self.slot.len.store(len, Ordering::Relaxed);
        self.slot.at.store(now, Ordering::Relaxed);
    }

    /// Returns when a newer request takes over.
    pub(super) async fn superseded(&mut self) {
        let number = self.number;
        // The sender is in the slot: there is no error.
        let _ = self.newest.wait_for(|newest| *newest > number).await;
    }
}

impl Drop for Lease {
    /// Removes the slot of an upload that has ended, unless a newer request waits for it.
    fn drop(&mut self) {
        let mut slots = self.uploads.slots.lock().unwrap_or_else(PoisonError::into_inner);
        match &*self.unfinished {
            Some(unfinished) => self.slot.len.store(unfinished.len(), Ordering::Relaxed),
            None => {
                self.slot.len.store(0, Ordering::Relaxed);
                if *self.slot.newest.borrow() == self.number {
                    slots.remove(&self.key);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str, number: u8) -> UploadKey {
        UploadKey { name: name.to_owned(), target: Target::Blob(BlobHash([number; 32])) }
    }

    #[tokio::test]
    async fn the_newest_request_wins() {
        let uploads = Arc::new(Uploads::new(Vec::new(), 2));
        let mut first = uploads.acquire(key("ann", 1)).await.expect("room");
        first.note_len(7, 100);
        assert_eq!((uploads.len_of("ann", BlobHash([1; 32])), uploads.bytes_of("ann")), (7, 7));
        let second = uploads.acquire(key("ann", 1));
        let end_first = async {
            first.superseded().await;
            drop(first);
        };
        let (second, ()) = tokio::join!(second, end_first);
        let second = second.expect("room");
        assert_eq!(uploads.totals().0, 1);
        let _other = uploads.acquire(key("ann", 2)).await.expect("room");
        assert!(uploads.acquire(key("ann", 3)).await.is_err(), "the maximum");
        let _ben = uploads.acquire(key("ben", 3)).await.expect("a maximum of his own");
        drop(second);
        assert!(uploads.acquire(key("ann", 3)).await.is_ok());
        assert_eq!(uploads.totals().0, 2);
    }

    #[tokio::test]
    async fn uploads_without_new_bytes_expire() {
        let uploads = Arc::new(Uploads::new(Vec::new(), 2));
        let lease = uploads.acquire(key("ann", 1)).await.expect("room");
        lease.note_len(7, 100);
        assert_eq!(uploads.expired(10, 200), [], "it is received now");
        drop(lease);
        assert_eq!(uploads.totals().0, 0, "nothing was kept");
    }
}
