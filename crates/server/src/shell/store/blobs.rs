//! Operations on the records of blobs. Each is one transaction, durable when it returns.

use hashmill_repo::DocumentId;
use redb::{ReadableDatabase as _, ReadableTable, ReadableTableMetadata as _, WriteTransaction};

use super::blob_tables::{BLOBS, BlobTables, CLAIMS, Digest, REFERENCES, REFERRERS, UPLOADS, is_readable};
use super::byte_counts::{ByteChanges, OWNED_BYTES, counted_bytes};
use super::chunk_tables::CHUNKS;
use super::{Store, TOMBSTONES};
use crate::event::IoFailure;
use crate::identity::Identity;
use crate::storage::{
    AddOutcome, BlobHash, BlobReference, Owner, ReferenceChange, ReferenceOutcome, ReferenceState,
    UploadRecord, is_over,
};

impl Store {
    /// Records a blob whose file is durable, with a claim of an identity, and forgets its upload.
    pub(in crate::shell) fn add_blob(
        &self,
        blob: BlobHash,
        len: u64,
        name: &str,
        at: u64,
        max_bytes: Option<u64>,
    ) -> Result<AddOutcome, IoFailure> {
        self.with_database(|database| {
            let transaction = database.begin_write()?;
            let counts = {
                let mut tables = BlobTables::open(&transaction)?;
                let mut owned_bytes = transaction.open_table(OWNED_BYTES)?;
                let mut changed = ByteChanges::default();
                let is_paid = is_paid_by(&tables.claims, &tables.references, &tables.referrers, blob, name)?;
                let stored = counted_bytes(&owned_bytes, name)?;
                let is_over = !is_paid && max_bytes.is_some_and(|max| stored.saturating_add(len) > max);
                if is_over {
                    None
                } else {
                    tables.blobs.insert(&blob.0, len)?;
                    tables.claim(&blob.0, name, at, &mut changed)?;
                    transaction.open_table(UPLOADS)?.remove((name, &blob.0))?;
                    Some(changed.write(&mut owned_bytes)?.changed)
                }
            };
            match counts {
                Some(counts) => {
                    transaction.commit()?;
                    Ok(AddOutcome::Added(counts))
                }
                None => {
                    transaction.abort()?;
                    Ok(AddOutcome::OverQuota)
                }
            }
        })
    }

    /// Length of a blob that an identity may read.
    pub(in crate::shell) fn readable_blob(
        &self,
        blob: BlobHash,
        identity: &Identity,
    ) -> Result<Option<u64>, IoFailure> {
        self.with_database(|database| {
            let transaction = database.begin_read()?;
            let len = transaction.open_table(BLOBS)?.get(&blob.0)?.map(|len| len.value());
            let is_readable = is_readable(
                &transaction.open_table(CLAIMS)?,
                &transaction.open_table(REFERENCES)?,
                &transaction.open_table(REFERRERS)?,
                &transaction.open_table(TOMBSTONES)?,
                identity,
                &blob.0,
            )?;
            Ok(len.filter(|_| is_readable))
        })
    }

    /// Bytes that an identity may store, of a blob or of any: what its quota leaves, and the blob again that counts for it already.
    pub(in crate::shell) fn left_blob_bytes(
        &self,
        blob: Option<BlobHash>,
        name: &str,
        max_bytes: u64,
    ) -> Result<u64, IoFailure> {
        self.with_database(|database| {
            let transaction = database.begin_read()?;
            let stored = counted_bytes(&transaction.open_table(OWNED_BYTES)?, name)?;
            let left = max_bytes.saturating_sub(stored);
            let Some(blob) = blob else { return Ok(left) };
            let is_paid = is_paid_by(
                &transaction.open_table(CLAIMS)?,
                &transaction.open_table(REFERENCES)?,
                &transaction.open_table(REFERRERS)?,
                blob,
                name,
            )?;
            let len = transaction.open_table(BLOBS)?.get(&blob.0)?.map_or(0, |len| len.value());
            Ok(if is_paid { left.max(len) } else { left })
        })
    }

    /// Length of a blob.
    pub(in crate::shell) fn blob_len(&self, blob: BlobHash) -> Result<Option<u64>, IoFailure> {
        self.with_database(|database| {
            Ok(database.begin_read()?.open_table(BLOBS)?.get(&blob.0)?.map(|len| len.value()))
        })
    }

    /// Adds or removes a reference of a document, with the rights of an identity. One that is removed becomes a claim, so that the blob
    /// can be given to another document. Returns the outcome and changed counts of identities.
    pub(in crate::shell) fn change_reference(
        &self,
        change: ReferenceChange,
        document: &DocumentId,
        blob: BlobHash,
        identity: &Identity,
        at: u64,
        max_bytes: Option<u64>,
    ) -> Result<(ReferenceOutcome, Vec<Owner>), IoFailure> {
        let (text, name) = (document.to_string(), identity.name.as_str());
        self.with_database(|database| {
            let transaction = database.begin_write()?;
            let done = {
                let mut tables = BlobTables::open(&transaction)?;
                let mut owned_bytes = transaction.open_table(OWNED_BYTES)?;
                let state = reference_state(&transaction, &tables, &text, blob, identity)?;
                let stored = counted_bytes(&owned_bytes, name)?;
                let left_bytes = max_bytes.map(|max| max.saturating_sub(stored));
                let state = ReferenceState { access: identity.access_to(document), left_bytes, ..state };
                let mut changed = ByteChanges::default();
                let outcome = match change {
                    ReferenceChange::Add => {
                        let outcome = state.decide();
                        if outcome == ReferenceOutcome::Done {
                            tables.refer(&text, &blob.0, name, &mut changed)?;
                        }
                        outcome
                    }
                    ReferenceChange::Remove => {
                        // Nothing is added: there is always room.
                        let outcome = ReferenceState { left_bytes: None, ..state }.decide();
                        match outcome {
                            ReferenceOutcome::Done if !state.is_referenced => ReferenceOutcome::NoBlob,
                            ReferenceOutcome::Done => {
                                tables.remove_reference(&text, &blob.0, &mut changed)?;
                                tables.claim(&blob.0, name, at, &mut changed)?;
                                ReferenceOutcome::Done
                            }
                            outcome => outcome,
                        }
                    }
                };
                (outcome, changed.write(&mut owned_bytes)?.changed)
            };
            if done.0 == ReferenceOutcome::Done {
                transaction.commit()?;
            } else {
                transaction.abort()?;
            }
            Ok(done)
        })
    }

    /// The blobs of a document with their lengths, unless it is deleted or absent.
    pub(in crate::shell) fn blobs_of(
        &self,
        document: &DocumentId,
    ) -> Result<Option<Vec<(BlobHash, u64)>>, IoFailure> {
        let document = document.to_string();
        let document = document.as_str();
        self.with_database(|database| {
            let transaction = database.begin_read()?;
            let chunks = transaction.open_table(CHUNKS)?;
            let first = chunks.range((document, "", "")..)?.next().transpose()?;
            let exists = first.is_some_and(|(key, _)| key.value().0 == document);
            if !exists || transaction.open_table(TOMBSTONES)?.get(document)?.is_some() {
                return Ok(None);
            }
            let (references, blobs) = (transaction.open_table(REFERENCES)?, transaction.open_table(BLOBS)?);
            let mut all = Vec::new();
            for entry in references.range((document, &[0; 32])..)? {
                let (key, _) = entry?;
                let (there, blob) = key.value();
                if there != document {
                    break;
                }
                all.push((BlobHash(*blob), blobs.get(blob)?.map_or(0, |len| len.value())));
            }
            Ok(Some(all))
        })
    }

    /// Ends up to `max` claims whose period is over. Returns changed counts of identities, and whether there may be more.
    pub(in crate::shell) fn end_claims(
        &self,
        period: u64,
        now: u64,
        max: usize,
    ) -> Result<(Vec<Owner>, bool), IoFailure> {
        self.with_database(|database| {
            let mut over = Vec::new();
            for entry in database.begin_read()?.open_table(CLAIMS)?.iter()? {
                let (key, at) = entry?;
                if is_over(at.value(), period, now) {
                    let (blob, name) = key.value();
                    over.push((*blob, name.to_owned()));
                }
                if over.len() == max {
                    break;
                }
            }
            if over.is_empty() {
                return Ok((Vec::new(), false));
            }
            let transaction = database.begin_write()?;
            let counts = {
                let mut tables = BlobTables::open(&transaction)?;
                let mut changed = ByteChanges::default();
                for (blob, name) in &over {
                    // It may have been renewed since.
                    let at = tables.claims.get((blob, name.as_str()))?.map(|at| at.value());
                    if at.is_some_and(|at| is_over(at, period, now)) {
                        tables.end_claim(blob, name, &mut changed)?;
                    }
                }
                changed.write(&mut transaction.open_table(OWNED_BYTES)?)?.changed
            };
            transaction.commit()?;
            Ok((counts, over.len() == max))
        })
    }

    /// Removes the records of up to `max` blobs that nothing needs. Returns these, and whether there may be more.
    pub(in crate::shell) fn remove_unneeded_blobs(
        &self,
        max: usize,
    ) -> Result<(Vec<BlobHash>, bool), IoFailure> {
        self.with_database(|database| {
            let transaction = database.begin_write()?;
            let (removed, has_more) = BlobTables::open(&transaction)?.remove_unneeded(max)?;
            transaction.commit()?;
            Ok((removed.into_iter().map(BlobHash).collect(), has_more))
        })
    }

    /// Are there blobs that nothing may need?
    pub(in crate::shell) fn has_released_blobs(&self) -> Result<bool, IoFailure> {
        self.with_database(|database| {
            let table = database.begin_read()?.open_table(super::blob_tables::RELEASED)?;
            Ok(!table.is_empty()?)
        })
    }

    /// Records the bytes of an upload that are durable.
    pub(in crate::shell) fn record_upload(&self, record: &UploadRecord) -> Result<(), IoFailure> {
        let UploadRecord { name, blob, durable_bytes, at } = record;
        self.with_database(|database| {
            let transaction = database.begin_write()?;
            transaction.open_table(UPLOADS)?.insert((name.as_str(), &blob.0), (*durable_bytes, *at))?;
            transaction.commit()?;
            Ok(())
        })
    }

    /// Forgets an upload, if it is recorded.
    pub(in crate::shell) fn forget_upload(&self, name: &str, blob: BlobHash) -> Result<(), IoFailure> {
        self.with_database(|database| {
            let uploads = database.begin_read()?.open_table(UPLOADS)?;
            if uploads.get((name, &blob.0))?.is_none() {
                // No commit, which waits for the disk.
                return Ok(());
            }
            let transaction = database.begin_write()?;
            transaction.open_table(UPLOADS)?.remove((name, &blob.0))?;
            transaction.commit()?;
            Ok(())
        })
    }

    /// All unfinished uploads.
    pub(in crate::shell) fn uploads(&self) -> Result<Vec<UploadRecord>, IoFailure> {
        self.with_database(|database| {
            let mut all = Vec::new();
            for entry in database.begin_read()?.open_table(UPLOADS)?.iter()? {
                let (key, value) = entry?;
                let ((name, blob), (durable_bytes, at)) = (key.value(), value.value());
                all.push(UploadRecord { name: name.to_owned(), blob: BlobHash(*blob), durable_bytes, at });
            }
            Ok(all)
        })
    }

    /// Up to `max` blobs with their lengths, after another one in the order of their names.
    pub(in crate::shell) fn blobs_after(
        &self,
        after: Option<BlobHash>,
        max: usize,
    ) -> Result<Vec<(BlobHash, u64)>, IoFailure> {
        self.with_database(|database| {
            let table = database.begin_read()?.open_table(BLOBS)?;
            let start = after.map_or([0; 32], |blob| blob.0);
            let mut all = Vec::new();
            for entry in table.range::<&[u8; 32]>(&start..)? {
                let (blob, len) = entry?;
                let blob = BlobHash(*blob.value());
                if Some(blob) != after {
                    all.push((blob, len.value()));
                }
                if all.len() == max {
                    break;
                }
            }
            Ok(all)
        })
    }

    /// All references of documents that are not deleted.
    pub(in crate::shell) fn references(&self) -> Result<Vec<BlobReference>, IoFailure> {
        self.with_database(|database| {
            let transaction = database.begin_read()?;
            let tombstones = transaction.open_table(TOMBSTONES)?;
            let mut all = Vec::new();
            for entry in transaction.open_table(REFERENCES)?.iter()? {
                let (key, name) = entry?;
                let (document, blob) = key.value();
                if let Ok(id) = document.parse()
                    && tombstones.get(document)?.is_none()
                {
                    let (blob, identity) = (BlobHash(*blob), name.value().to_owned());
                    all.push(BlobReference { document: id, blob, identity });
                }
            }
            Ok(all)
        })
    }

    /// Records imported blobs, and those references whose blobs there are.
    pub(in crate::shell) fn import_blobs(
        &self,
        blobs: &[(BlobHash, u64)],
        references: &[BlobReference],
    ) -> Result<(), IoFailure> {
        self.with_database(|database| {
            let transaction = database.begin_write()?;
            {
                let mut tables = BlobTables::open(&transaction)?;
                let mut changed = ByteChanges::default();
                for (blob, len) in blobs {
                    tables.blobs.insert(&blob.0, *len)?;
                    tables.release(&blob.0)?;
                }
                for BlobReference { document, blob, identity } in references {
                    if tables.len_of(&blob.0)?.is_some() {
                        tables.refer(&document.to_string(), &blob.0, identity, &mut changed)?;
                    }
                }
                changed.write(&mut transaction.open_table(OWNED_BYTES)?)?;
            }
            transaction.commit()?;
            Ok(())
        })
    }
}

/// Maximum number of references of a blob that are looked at for the identity for which they count.
const MAX_REFERRERS: usize = 1000;

/// Does a blob count for an identity, by a claim or a reference? Such a blob may always be put again, to repair it.
fn is_paid_by(
    claims: &impl ReadableTable<(Digest, &'static str), u64>,
    references: &impl ReadableTable<(&'static str, Digest), &'static str>,
    referrers: &impl ReadableTable<(Digest, &'static str), ()>,
    blob: BlobHash,
    name: &str,
) -> Result<bool, redb::Error> {
    if claims.get((&blob.0, name))?.is_some() {
        return Ok(true);
    }
    for entry in referrers.range((&blob.0, "")..)?.take(MAX_REFERRERS) {
        let (key, _) = entry?;
        let (there, document) = key.value();
        if *there != blob.0 {
            break;
        }
        if references.get((document, &blob.0))?.is_some_and(|payer| payer.value() == name) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// State on which a change of a reference depends, without rights and quota.
fn reference_state(
    transaction: &WriteTransaction,
    tables: &BlobTables<'_>,
    document: &str,
    blob: BlobHash,
    identity: &Identity,
) -> Result<ReferenceState, redb::Error> {
    let tombstones = transaction.open_table(TOMBSTONES)?;
    let chunks = transaction.open_table(CHUNKS)?;
    let first = chunks.range((document, "", "")..)?.next().transpose()?;
    let has_chunks = first.is_some_and(|(key, _)| key.value().0 == document);
    let len = tables.len_of(&blob.0)?;
    let is_readable = len.is_some()
        && is_readable(
            &tables.claims,
            &tables.references,
            &tables.referrers,
            &tombstones,
            identity,
            &blob.0,
        )?;
    Ok(ReferenceState {
        access: crate::access::Access::Denied,
        has_document: has_chunks && tombstones.get(document)?.is_none(),
        is_readable,
        is_referenced: tables.references.get((document, &blob.0))?.is_some(),
        is_claimed: tables.claims.get((&blob.0, identity.name.as_str()))?.is_some(),
        len: len.unwrap_or(0),
        left_bytes: None,
    })
}
