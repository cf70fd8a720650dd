//! Subscriptions to the heads of other storages.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::{DocumentId, StorageId};
use crate::message::{Message, RemoteHeads};

/// Subscriptions, and the times of the newest known heads.
#[derive(Clone, Debug, Default)]
pub(super) struct RemoteHeadsSubscriptions {
    storages: BTreeSet<StorageId>,
    newest: BTreeMap<(DocumentId, StorageId), u64>,
    add: BTreeSet<StorageId>,
    remove: BTreeSet<StorageId>,
}

impl RemoteHeadsSubscriptions {
    pub(super) fn subscribe(&mut self, storage: StorageId) {
        if self.storages.insert(storage.clone()) && !self.remove.remove(&storage) {
            self.add.insert(storage);
        }
    }

    pub(super) fn unsubscribe(&mut self, storage: &StorageId) {
        if self.storages.remove(storage) && !self.add.remove(storage) {
            self.remove.insert(storage.clone());
        }
        self.newest.retain(|(_, known), _| known != storage);
    }

    /// Prepares for a new connection: the server has forgotten all subscriptions.
    pub(super) fn reconnect(&mut self) {
        self.add.clone_from(&self.storages);
        self.remove.clear();
    }

    /// Forgets a document.
    pub(super) fn forget(&mut self, document: &DocumentId) {
        self.newest.retain(|(known, _), _| known != document);
    }

    /// The message about changed subscriptions, if any changed.
    pub(super) fn next_message(&mut self, sender: &str, target: &str) -> Option<Vec<u8>> {
        if self.add.is_empty() && self.remove.is_empty() {
            return None;
        }
        let (add, remove) = (std::mem::take(&mut self.add), std::mem::take(&mut self.remove));
        let texts = |ids: &BTreeSet<StorageId>| ids.iter().map(|id| id.to_string().into()).collect();
        let (add, remove) = (texts(&add), texts(&remove));
        let message =
            Message::RemoteSubscriptionChange { sender: sender.into(), target: target.into(), add, remove };
        Some(message.encode())
    }

    /// The storage of received heads, if they were subscribed to and are newer than the known ones.
    pub(super) fn accept(&mut self, document: &DocumentId, heads: &RemoteHeads<'_>) -> Option<StorageId> {
        let storage = self.storages.get(&*heads.storage)?.clone();
        let key = (document.clone(), storage.clone());
        if self.newest.get(&key).is_some_and(|newest| *newest >= heads.timestamp_ms) {
            return None;
        }
        self.newest.insert(key, heads.timestamp_ms);
        Some(storage)
    }
}
