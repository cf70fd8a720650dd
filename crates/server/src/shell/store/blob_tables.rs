//! Tables of blobs in a transaction that writes: which there are, and which references and claims need them.

use std::collections::BTreeMap;

use redb::{ReadTransaction, ReadableTable, Table, TableDefinition, WriteTransaction};

use super::byte_counts::ByteChanges;
use crate::access::Access;
use crate::identity::Identity;

pub(super) type Digest = &'static [u8; 32];
/// Lengths of the blobs.
pub(super) const BLOBS: TableDefinition<'_, &[u8; 32], u64> = TableDefinition::new("blobs");
/// Starts of claims, in seconds since 1970, by blob and name of the identity.
pub(super) const CLAIMS: TableDefinition<'_, (&[u8; 32], &str), u64> = TableDefinition::new("blob-claims");
/// Names of the identities for which references count, by document and blob.
pub(super) const REFERENCES: TableDefinition<'_, (&str, &[u8; 32]), &str> =
    TableDefinition::new("blob-references");
/// The references by blob and document.
pub(super) const REFERRERS: TableDefinition<'_, (&[u8; 32], &str), ()> =
    TableDefinition::new("blob-referrers");
/// Blobs that lost a reference or a claim. Those without any are to be removed.
pub(super) const RELEASED: TableDefinition<'_, &[u8; 32], ()> = TableDefinition::new("blobs-released");
/// Unfinished uploads, by name of the identity and blob: durable bytes, and the time of the latest ones.
pub(super) const UPLOADS: TableDefinition<'_, (&str, &[u8; 32]), (u64, u64)> =
    TableDefinition::new("blob-uploads");

/// The tables. Changes of references and claims are counted.
pub(super) struct BlobTables<'t> {
    pub(super) blobs: Table<'t, Digest, u64>,
    pub(super) claims: Table<'t, (Digest, &'static str), u64>,
    pub(super) references: Table<'t, (&'static str, Digest), &'static str>,
    pub(super) referrers: Table<'t, (Digest, &'static str), ()>,
    released: Table<'t, Digest, ()>,
}

impl<'t> BlobTables<'t> {
    pub(super) fn open(transaction: &'t WriteTransaction) -> Result<BlobTables<'t>, redb::Error> {
        Ok(BlobTables {
            blobs: transaction.open_table(BLOBS)?,
            claims: transaction.open_table(CLAIMS)?,
            references: transaction.open_table(REFERENCES)?,
            referrers: transaction.open_table(REFERRERS)?,
            released: transaction.open_table(RELEASED)?,
        })
    }

    /// Creates all tables of blobs that do not exist.
    pub(super) fn create(transaction: &WriteTransaction) -> Result<(), redb::Error> {
        BlobTables::open(transaction)?;
        transaction.open_table(UPLOADS)?;
        Ok(())
    }

    pub(super) fn len_of(&self, blob: &[u8; 32]) -> Result<Option<u64>, redb::Error> {
        Ok(self.blobs.get(blob)?.map(|len| len.value()))
    }

    /// Length of a blob for counts of bytes. One without a record counts as 0.
    fn counted_len(&self, blob: &[u8; 32]) -> Result<i64, redb::Error> {
        Ok(self.len_of(blob)?.unwrap_or(0).cast_signed())
    }

    /// Adds or renews a claim.
    pub(super) fn claim(
        &mut self,
        blob: &[u8; 32],
        name: &str,
        at: u64,
        changed: &mut ByteChanges,
    ) -> Result<(), redb::Error> {
        let is_new = self.claims.insert((blob, name), at)?.is_none();
        if is_new {
            changed.add(name, self.counted_len(blob)?);
        }
        Ok(())
    }

    /// Ends a claim, if there is one.
    pub(super) fn end_claim(
        &mut self,
        blob: &[u8; 32],
        name: &str,
        changed: &mut ByteChanges,
    ) -> Result<(), redb::Error> {
        let was_there = self.claims.remove((blob, name))?.is_some();
        if was_there {
            changed.add(name, -self.counted_len(blob)?);
            self.released.insert(blob, ())?;
        }
        Ok(())
    }

    /// Adds a reference, in place of a claim of the same identity. One that is there stays as it is.
    pub(super) fn refer(
        &mut self,
        document: &str,
        blob: &[u8; 32],
        name: &str,
        changed: &mut ByteChanges,
    ) -> Result<(), redb::Error> {
        if self.references.get((document, blob))?.is_none() {
            self.references.insert((document, blob), name)?;
            self.referrers.insert((blob, document), ())?;
            changed.add(name, self.counted_len(blob)?);
        }
        self.end_claim(blob, name, changed)
    }

    /// Removes a reference. Was there one?
    pub(super) fn remove_reference(
        &mut self,
        document: &str,
        blob: &[u8; 32],
        changed: &mut ByteChanges,
    ) -> Result<bool, redb::Error> {
        let name = self.references.remove((document, blob))?.map(|name| name.value().to_owned());
        let Some(name) = name else { return Ok(false) };
        self.referrers.remove((blob, document))?;
        changed.add(&name, -self.counted_len(blob)?);
        self.released.insert(blob, ())?;
        Ok(true)
    }

    /// Removes all references of a document.
    pub(super) fn remove_references(
        &mut self,
        document: &str,
        changed: &mut ByteChanges,
    ) -> Result<(), redb::Error> {
        while let Some(blob) = self.first_reference(document)? {
            self.remove_reference(document, &blob, changed)?;
        }
        Ok(())
    }

    fn first_reference(&self, document: &str) -> Result<Option<[u8; 32]>, redb::Error> {
        let first = self.references.range((document, &[0; 32])..)?.next().transpose()?;
        Ok(first.and_then(|(key, _)| (key.value().0 == document).then(|| *key.value().1)))
    }

    /// Is there a claim or a reference?
    fn is_needed(&self, blob: &[u8; 32]) -> Result<bool, redb::Error> {
        let is_claimed = first_with(&self.claims, blob)?;
        Ok(is_claimed || first_with(&self.referrers, blob)?)
    }

    /// Marks a blob that may have neither claims nor references.
    pub(super) fn release(&mut self, blob: &[u8; 32]) -> Result<(), redb::Error> {
        self.released.insert(blob, ())?;
        Ok(())
    }

    /// Removes up to `max` blobs that nothing needs. Returns them, and whether there may be more.
    pub(super) fn remove_unneeded(&mut self, max: usize) -> Result<(Vec<[u8; 32]>, bool), redb::Error> {
        let mut all = Vec::new();
        for entry in self.released.iter()?.take(max) {
            all.push(*entry?.0.value());
        }
        let has_more = all.len() == max;
        let mut removed = Vec::new();
        for blob in all {
            self.released.remove(&blob)?;
            if !self.is_needed(&blob)? {
                self.blobs.remove(&blob)?;
                removed.push(blob);
            }
        }
        Ok((removed, has_more))
    }
}

/// Bytes of the claims and references of each identity, as they are counted.
pub(super) fn sums(transaction: &ReadTransaction) -> Result<BTreeMap<String, i64>, redb::Error> {
    let (blobs, claims) = (transaction.open_table(BLOBS)?, transaction.open_table(CLAIMS)?);
    let references = transaction.open_table(REFERENCES)?;
    let len_of =
        |blob: &[u8; 32]| Ok::<_, redb::Error>(blobs.get(blob)?.map_or(0, |len| len.value().cast_signed()));
    let mut sums: BTreeMap<String, i64> = BTreeMap::new();
    for claim in claims.iter()? {
        let (key, _) = claim?;
        let (blob, name) = key.value();
        *sums.entry(name.to_owned()).or_default() += len_of(blob)?;
    }
    for reference in references.iter()? {
        let (key, name) = reference?;
        *sums.entry(name.value().to_owned()).or_default() += len_of(key.value().1)?;
    }
    Ok(sums)
}

/// Number and bytes of all blobs.
pub(super) fn count_blobs(transaction: &ReadTransaction) -> Result<(u64, u64), redb::Error> {
    let (mut count, mut bytes) = (0, 0);
    let blobs = transaction.open_table(BLOBS)?;
    for blob in blobs.iter()? {
        count += 1;
        bytes += blob?.1.value();
    }
    Ok((count, bytes))
}

/// The first entry of a blob in a table by blob and text.
fn first_text<V: redb::Value + 'static>(
    table: &impl ReadableTable<(Digest, &'static str), V>,
    blob: &[u8; 32],
) -> Result<Option<String>, redb::Error> {
    let first = table.range((blob, "")..)?.next().transpose()?;
    Ok(first.and_then(|(key, _)| (key.value().0 == blob).then(|| key.value().1.to_owned())))
}

fn first_with<V: redb::Value + 'static>(
    table: &impl ReadableTable<(Digest, &'static str), V>,
    blob: &[u8; 32],
) -> Result<bool, redb::Error> {
    Ok(first_text(table, blob)?.is_some())
}

/// May an identity read a blob? It has a claim, or may read a document that refers to the blob and is not deleted.
///
/// Looks at the documents of its rules if it may read no others, else at documents that refer to the blob until it may read one.
pub(super) fn is_readable(
    claims: &impl ReadableTable<(Digest, &'static str), u64>,
    references: &impl ReadableTable<(&'static str, Digest), &'static str>,
    referrers: &impl ReadableTable<(Digest, &'static str), ()>,
    tombstones: &impl ReadableTable<&'static str, (u64, bool)>,
    identity: &Identity,
    blob: &[u8; 32],
) -> Result<bool, redb::Error> {
    if claims.get((blob, identity.name.as_str()))?.is_some() {
        return Ok(true);
    }
    if identity.access == Access::Denied {
        for (document, rule) in &identity.rules {
            let document = document.to_string();
            let may_read = rule.access > Access::Denied
                && references.get((document.as_str(), blob))?.is_some()
                && tombstones.get(document.as_str())?.is_none();
            if may_read {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    for entry in referrers.range((blob, "")..)? {
        let (key, _) = entry?;
        let (there, document) = key.value();
        if there != blob {
            break;
        }
        // A text that is no id is from another program.
        let access = document.parse().map_or(Access::Denied, |document| identity.access_to(&document));
        if access > Access::Denied && tombstones.get(document)?.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}
