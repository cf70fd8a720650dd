//! Bytes that are stored for each identity: chunks of its documents, and blobs.

use std::collections::BTreeMap;

use redb::{ReadableTable, Table, TableDefinition};

use crate::storage::Owner;

/// Bytes by the name of the identity, as a signed number in two's complement. A negative one is wrong, and keeps its difference from the
/// right one until `hashmill serve check` corrects it.
pub(super) const OWNED_BYTES: TableDefinition<'_, &str, u64> = TableDefinition::new("owned-bytes");

/// Changed counts of owners.
#[derive(Default, Debug)]
pub(in crate::shell) struct OwnerCounts {
    pub(in crate::shell) changed: Vec<Owner>,
    /// Names of owners whose counts are wrong: they are below zero.
    pub(in crate::shell) negative: Vec<String>,
}

/// Changes of these counts in a transaction.
#[derive(Default)]
pub(super) struct ByteChanges(BTreeMap<String, i64>);

impl ByteChanges {
    pub(super) fn add(&mut self, name: &str, difference: i64) {
        *self.0.entry(name.to_owned()).or_default() += difference;
    }

    /// Writes the changed counts, and returns them.
    pub(super) fn write(
        self,
        owned_bytes: &mut Table<'_, &'static str, u64>,
    ) -> Result<OwnerCounts, redb::Error> {
        let mut counts = OwnerCounts::default();
        for (name, difference) in self.0 {
            let before = owned_bytes.get(name.as_str())?.map_or(0, |before| before.value().cast_signed());
            let stored_bytes = before.saturating_add(difference);
            if stored_bytes == 0 {
                owned_bytes.remove(name.as_str())?;
            } else {
                owned_bytes.insert(name.as_str(), stored_bytes.cast_unsigned())?;
            }
            match u64::try_from(stored_bytes) {
                Ok(stored_bytes) => counts.changed.push(Owner { name, stored_bytes }),
                Err(_) => counts.negative.push(name),
            }
        }
        Ok(counts)
    }
}

/// The count of an identity, for its quota of blobs. A negative one counts as 0: it is wrong, which costs its identity nothing.
pub(super) fn counted_bytes(
    owned_bytes: &impl ReadableTable<&'static str, u64>,
    name: &str,
) -> Result<u64, redb::Error> {
    let counted = owned_bytes.get(name)?.map_or(0, |bytes| bytes.value().cast_signed());
    Ok(u64::try_from(counted).unwrap_or(0))
}
