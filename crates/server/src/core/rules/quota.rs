//! Quota of stored bytes of an identity. The bytes of a document count for its owner, the identity that made its first change.
//!
//! The storage counts them. The core reads the count of an identity when it connects, and learns it again after each write. So an identity
//! may exceed its quota by the changes that arrive together. A count that could not be read is asked for with each message that needs it.

use hashmill_repo::DocumentId;

use crate::core::Core;
use crate::core::entry::Ownership;
use crate::document::{Input, QuotaState};
use crate::event::Action;
use crate::storage::{Owner, StoredDocument};

impl Core {
    /// Takes over who owns a document that is being opened.
    pub(in crate::core) fn note_owner(&mut self, document: &DocumentId, stored: &StoredDocument) {
        let Some(entry) = self.documents.get_mut(document) else { return };
        entry.ownership = match &stored.owner {
            Some(owner) => Ownership::Owned(owner.name.clone()),
            None if stored.chunks.is_empty() => Ownership::New,
            None => Ownership::Unowned,
        };
        stored.owner.iter().for_each(|owner| self.note_loaded_owner(owner.clone()));
    }

    /// Asks for the count of an identity, unless it is known.
    pub(in crate::core) fn load_owner(&mut self, name: &str) {
        let has_quota = self.config.max_stored_bytes_per_identity.is_some();
        if has_quota && !self.counted_bytes.contains_key(name) {
            self.actions.push(Action::LoadOwner(name.to_owned()));
        }
    }

    /// Takes over a count that was read. One after a write is never older.
    pub(in crate::core) fn note_loaded_owner(&mut self, owner: Owner) {
        if self.config.max_stored_bytes_per_identity.is_some() {
            self.counted_bytes.entry(owner.name).or_insert(owner.stored_bytes);
        }
    }

    /// Takes over counts of the storage after a write.
    pub(in crate::core) fn note_counts(&mut self, counts: Vec<Owner>) {
        if self.config.max_stored_bytes_per_identity.is_some() {
            self.counted_bytes
                .extend(counts.into_iter().map(|Owner { name, stored_bytes }| (name, stored_bytes)));
        }
    }

    /// Makes the client that created a document its owner, if it has none. Returns the name that is to be stored.
    pub(in crate::core) fn own(&mut self, document: &DocumentId, creator: Option<String>) -> Option<String> {
        let entry = self.documents.get_mut(document)?;
        let creator = creator.filter(|_| entry.ownership == Ownership::New)?;
        entry.ownership = Ownership::Owned(creator.clone());
        Some(creator)
    }

    /// Adds to the messages of clients the quotas that their changes count for.
    pub(in crate::core) fn set_quotas(&mut self, document: &DocumentId, inputs: &mut [Input]) {
        let Some(entry) = self.documents.get(document) else { return };
        let ownership = entry.ownership.clone();
        for input in inputs {
            if let Input::Sync { identity, quota, .. } = input {
                *quota = self.quota_for(&ownership, &identity.name);
                if let Some(quota) = quota {
                    self.load_owner(&quota.name);
                }
            }
        }
    }

    fn quota_for(&self, ownership: &Ownership, sender: &str) -> Option<QuotaState> {
        let max_bytes = self.config.max_stored_bytes_per_identity?;
        let name = match ownership {
            Ownership::New => sender,
            Ownership::Unowned => return None,
            Ownership::Owned(name) => name,
        };
        let counted = self.counted_bytes.get(name).copied().unwrap_or(0);
        Some(QuotaState { name: name.to_owned(), max_bytes, left_bytes: max_bytes.saturating_sub(counted) })
    }
}
