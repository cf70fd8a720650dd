//! Verification of the entries of a password file, batch by batch.

use super::super::costs::StoredLimits;
use super::super::input::entry::Field;
use super::super::input::stored_hash;
use super::PasswordService;
use super::refusal::Refusal;
use crate::resources::memory;
use hashmill_hash::password::foreign::StoredHash;

/// A password service, with what entries may cost.
pub(in super::super) struct BatchVerifier {
    pub(in super::super) service: PasswordService,
    pub(in super::super) limits: StoredLimits,
    /// KiB that were free at the start, if the system reports it.
    pub(in super::super) free_kib: Option<u64>,
}

/// What is known of an entry before its password is looked at.
pub(in super::super) enum EntryState {
    Hash(StoredHash),
    Locked,
    /// The entry cannot be verified, and why.
    Unusable(String),
}

impl BatchVerifier {
    /// Decodes a field. A hash within the limits that needs more memory than is free is unusable: the system would end this
    /// program.
    pub(in super::super) fn decode(&self, field: &Field) -> EntryState {
        let text = match field {
            Field::Hash(text) => text,
            Field::Locked => return EntryState::Locked,
            Field::Missing(reason) => return EntryState::Unusable((*reason).to_owned()),
        };
        match stored_hash::decode(text, &self.limits) {
            Err(message) => EntryState::Unusable(message),
            Ok(hash) => match memory::refusal(hash.memory_kib(), self.free_kib) {
                Some(message) => EntryState::Unusable(message),
                None => EntryState::Hash(hash),
            },
        }
    }

    /// Verifies the logins that are there. Returns one result per entry, in order.
    pub(in super::super) fn verify(
        &self,
        logins: &[Option<(&[u8], &StoredHash)>],
    ) -> Vec<Option<Result<(), Refusal>>> {
        let present: Vec<_> = logins.iter().flatten().copied().collect();
        let mut results = self.service.verify_many(&present).into_iter();
        logins.iter().map(|login| login.as_ref().and_then(|_| results.next())).collect()
    }
}
