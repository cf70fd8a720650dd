//! Bytes that are stored for each identity: chunks of its documents, and blobs.

use std::collections::BTreeMap;

use redb::{ReadableTable as _, Table, TableDefinition};

use crate::storage::Owner;

/// Bytes by the name of the identity.
pub(super) const OWNED_BYTES: TableDefinition<'_, &str, u64> = TableDefinition::new("owned-bytes");

/// Changes of these counts in a transaction.
#[derive(Default)]
pub(super) struct ByteChanges(BTreeMap<String, i128>);

impl ByteChanges {
    pub(super) fn add(&mut self, name: &str, difference: i128) {
        *self.0.entry(name.to_owned()).or_default() += difference;
    }

    /// Writes the changed counts, and returns them.
    pub(super) fn write(
        self,
        owned_bytes: &mut Table<'_, &'static str, u64>,
    ) -> Result<Vec<Owner>, redb::Error> {
        let mut counts = Vec::new();
        for (name, difference) in self.0 {
            let before = owned_bytes.get(name.as_str())?.map_or(0, |before| before.value());
            let stored_bytes = u64::try_from(i128::from(before) + difference).unwrap_or(0);
            if stored_bytes == 0 {
                owned_bytes.remove(name.as_str())?;
            } else {
                owned_bytes.insert(name.as_str(), stored_bytes)?;
            }
            counts.push(Owner { name, stored_bytes });
        }
        Ok(counts)
    }
}
