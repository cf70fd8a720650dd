//! Format of a backup: a header, twice, and numbered records, each with digests of its head and its contents.
//!
//! ```text
//! header  magic 16 | version u32 | time u64 | key 16 | digest 16
//! record  mark 8 | kind u8 | number u64 | name length u32 | contents length u64 | name | digest 16 | contents | digest 16
//! ```
//!
//! Numbers are little-endian. Digests are SHA-256 with the key of the backup, cut to 16 bytes. The key is random, so that a document
//! cannot contain bytes that a reader takes for a record of the backup around it. A reader that meets damage searches for the next
//! mark whose record has the right digest. A document has a record before and after its chunks, so that one damaged record
//! loses a chunk at most, and names its document.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use crate::shell::store::{DocumentRecord, Entry, StorageRecord};
use crate::storage::Tombstone;

pub(super) const MAGIC: &[u8; 16] = b"hashmill backup\n";
pub(super) const VERSION: u32 = 1;
pub(super) const MARK: &[u8; 8] = b"\xd7record\n";
pub(super) const DIGEST_BYTES: usize = 16;
pub(super) const HEADER_BYTES: usize = 16 + 4 + 8 + 16 + DIGEST_BYTES;
/// Bytes of a record's head before its name.
pub(super) const HEAD_BYTES: usize = 8 + 1 + 8 + 4 + 8;
/// Maximum length of a name. Keys of redb are shorter.
pub(super) const MAX_NAME_BYTES: usize = 1 << 20;
/// Maximum length of contents. Chunks are at most as long as those that an import takes.
pub(super) const MAX_CONTENTS_BYTES: u64 = 3 << 30;

/// A random key of a backup.
pub(in crate::shell) type Key = [u8; 16];

/// Kind of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Kind {
    Facts = 1,
    Document = 2,
    Chunk = 3,
    DocumentEnd = 4,
    OwnedBytes = 5,
    /// The last record, with the number of all others.
    End = 6,
    /// The writer could not go on, for the reason in the contents.
    Failed = 7,
    /// Number and bytes of the blobs, which are not in the backup.
    LeftOutBlobs = 8,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Kind> {
        let all = [
            Kind::Facts,
            Kind::Document,
            Kind::Chunk,
            Kind::DocumentEnd,
            Kind::OwnedBytes,
            Kind::End,
            Kind::Failed,
            Kind::LeftOutBlobs,
        ];
        all.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// The head of a record whose digest is right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Head {
    /// `None`: written by a later version of this program.
    pub(super) kind: Option<Kind>,
    pub(super) number: u64,
    pub(super) name: Vec<u8>,
    pub(super) contents_len: u64,
}

/// The first 16 bytes of the digest of `parts`. `domain` keeps heads, contents and headers apart.
pub(super) fn digest(key: &Key, domain: u8, parts: &[&[u8]]) -> [u8; DIGEST_BYTES] {
    let mut hash = Sha256::new_with_prefix(key);
    hash.update([domain]);
    parts.iter().for_each(|part| hash.update(part));
    let whole = hash.finalize();
    std::array::from_fn(|index| whole[index])
}

pub(super) const HEADER_DOMAIN: u8 = 0;
pub(super) const HEAD_DOMAIN: u8 = 1;
pub(super) const CONTENTS_DOMAIN: u8 = 2;

pub(super) fn encode_header(key: &Key, created_at: u64) -> Vec<u8> {
    let mut header = MAGIC.to_vec();
    header.extend(VERSION.to_le_bytes());
    header.extend(created_at.to_le_bytes());
    header.extend(key);
    header.extend(digest(key, HEADER_DOMAIN, &[&header]));
    header
}

/// Version, time and key of a header. `None`: it is none, or is damaged.
pub(super) fn decode_header(header: &[u8]) -> Option<(u32, u64, Key)> {
    let (body, found) = header.split_at_checked(HEADER_BYTES - DIGEST_BYTES)?;
    let mut fields = Fields(body);
    let is_backup = fields.bytes(16)? == MAGIC;
    let (version, created_at, key) = (fields.u32()?, fields.u64()?, fields.array()?);
    (is_backup && found == digest(&key, HEADER_DOMAIN, &[body])).then_some((version, created_at, key))
}

/// The head of a record, with its digest.
pub(super) fn encode_head(key: &Key, kind: Kind, number: u64, name: &[u8], contents_len: u64) -> Vec<u8> {
    let mut head = MARK.to_vec();
    head.push(kind as u8);
    head.extend(number.to_le_bytes());
    head.extend((name.len() as u32).to_le_bytes());
    head.extend(contents_len.to_le_bytes());
    head.extend(name);
    head.extend(digest(key, HEAD_DOMAIN, &[&head]));
    head
}

/// The length of a head with its digest, from its first [`HEAD_BYTES`] bytes. `None`: it is no head.
pub(super) fn head_len(start: &[u8]) -> Option<usize> {
    let mut fields = Fields(start);
    if fields.bytes(8)? != MARK {
        return None;
    }
    fields.bytes(1 + 8)?;
    let name_len = usize::try_from(fields.u32()?).ok()?;
    (name_len <= MAX_NAME_BYTES).then_some(HEAD_BYTES + name_len + DIGEST_BYTES)
}

/// A head of this length. `None`: it is damaged.
pub(super) fn decode_head(key: &Key, head: &[u8]) -> Option<Head> {
    let (body, found) = head.split_at_checked(head.len().checked_sub(DIGEST_BYTES)?)?;
    if found != digest(key, HEAD_DOMAIN, &[body]) {
        return None;
    }
    let mut fields = Fields(body.get(MARK.len()..)?);
    let kind = Kind::from_byte(fields.bytes(1)?[0]);
    let number = fields.u64()?;
    fields.u32()?;
    let contents_len = fields.u64()?;
    let is_sound = contents_len <= MAX_CONTENTS_BYTES;
    is_sound.then(|| Head { kind, number, name: fields.0.to_vec(), contents_len })
}

/// Digest of the contents of a record.
pub(super) fn contents_digest(key: &Key, number: u64, contents: &[u8]) -> [u8; DIGEST_BYTES] {
    digest(key, CONTENTS_DOMAIN, &[&number.to_le_bytes(), contents])
}

/// Kind, name and contents of the record of a part of a storage.
pub(super) fn encode(record: &StorageRecord) -> (Kind, Vec<u8>, Vec<u8>) {
    match record {
        StorageRecord::Facts(facts) => {
            let mut contents = Vec::new();
            for (name, value) in facts {
                push_text(&mut contents, name.as_bytes());
                push_text(&mut contents, value);
            }
            (Kind::Facts, Vec::new(), contents)
        }
        StorageRecord::Document(record) => {
            (Kind::Document, text_bytes(&record.document), encode_document(record))
        }
        StorageRecord::DocumentEnd(record) => {
            (Kind::DocumentEnd, text_bytes(&record.document), encode_document(record))
        }
        StorageRecord::Chunk(entry) => {
            let Entry { document, kind, name, bytes } = entry;
            let mut key = text_bytes(document);
            push_text(&mut key, kind.as_bytes());
            push_text(&mut key, name.as_bytes());
            (Kind::Chunk, key, bytes.clone())
        }
        StorageRecord::OwnedBytes(name, bytes) => {
            (Kind::OwnedBytes, text_bytes(name), bytes.to_le_bytes().to_vec())
        }
        StorageRecord::LeftOutBlobs(blobs, bytes) => {
            let contents = [blobs.to_le_bytes(), bytes.to_le_bytes()].concat();
            (Kind::LeftOutBlobs, Vec::new(), contents)
        }
    }
}

/// The part of a storage in a record. `None`: it is not well-formed, or no part of a storage.
pub(super) fn decode(kind: Kind, name: &[u8], contents: Vec<u8>) -> Option<StorageRecord> {
    let mut name = Fields(name);
    let record = match kind {
        Kind::Facts => {
            let (mut facts, mut fields) = (BTreeMap::new(), Fields(&contents));
            while !fields.0.is_empty() {
                facts.insert(fields.text()?, fields.long_bytes()?.to_vec());
            }
            StorageRecord::Facts(facts)
        }
        Kind::Document => StorageRecord::Document(decode_document(name.text()?, &contents)?),
        Kind::DocumentEnd => StorageRecord::DocumentEnd(decode_document(name.text()?, &contents)?),
        Kind::Chunk => {
            let (document, kind, name) = (name.text()?, name.text()?, name.text()?);
            StorageRecord::Chunk(Entry { document, kind, name, bytes: contents })
        }
        Kind::OwnedBytes => {
            let count = i64::from_le_bytes(Fields(&contents).array()?);
            StorageRecord::OwnedBytes(name.text()?, count)
        }
        Kind::LeftOutBlobs => {
            let mut fields = Fields(&contents);
            StorageRecord::LeftOutBlobs(fields.u64()?, fields.u64()?)
        }
        Kind::End | Kind::Failed => return None,
    };
    Some(record)
}

/// The document that a record is part of, by its kind and name.
pub(super) fn document_of(kind: Option<Kind>, name: &[u8]) -> Option<String> {
    match kind? {
        Kind::Document | Kind::Chunk | Kind::DocumentEnd => Fields(name).text(),
        Kind::Facts | Kind::OwnedBytes | Kind::End | Kind::Failed | Kind::LeftOutBlobs => None,
    }
}

/// What follows the document in the name of a chunk: its kind and name.
pub(super) fn chunk_of(name: &[u8]) -> Option<String> {
    let mut fields = Fields(name);
    let (document, kind, name) = (fields.text()?, fields.text()?, fields.text()?);
    Some(format!("{document}/{kind}/{name}"))
}

const HAS_OWNER: u8 = 1;
const IS_DELETED: u8 = 2;
const IS_PURGED: u8 = 4;
const HAS_USE: u8 = 8;

fn encode_document(record: &DocumentRecord) -> Vec<u8> {
    let DocumentRecord { document: _, owner, tombstone, used_at } = record;
    let is_purged = tombstone.is_some_and(|tombstone| tombstone.is_purged);
    let flags = [
        (owner.is_some(), HAS_OWNER),
        (tombstone.is_some(), IS_DELETED),
        (is_purged, IS_PURGED),
        (used_at.is_some(), HAS_USE),
    ];
    let flags = flags.into_iter().filter(|(is_set, _)| *is_set).fold(0, |all, (_, flag)| all | flag);
    let mut contents = vec![flags];
    contents.extend(tombstone.map_or(0, |tombstone| tombstone.deleted_at).to_le_bytes());
    contents.extend(used_at.unwrap_or(0).to_le_bytes());
    contents.extend(owner.as_deref().unwrap_or_default().as_bytes());
    contents
}

fn decode_document(document: String, contents: &[u8]) -> Option<DocumentRecord> {
    let mut fields = Fields(contents);
    let flags = fields.bytes(1)?[0];
    let has = |flag| flags & flag != 0;
    let (deleted_at, used_at) = (fields.u64()?, fields.u64()?);
    let owner = String::from_utf8(fields.0.to_vec()).ok()?;
    Some(DocumentRecord {
        document,
        owner: has(HAS_OWNER).then_some(owner),
        tombstone: has(IS_DELETED).then(|| Tombstone { deleted_at, is_purged: has(IS_PURGED) }),
        used_at: has(HAS_USE).then_some(used_at),
    })
}

fn text_bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    push_text(&mut bytes, text.as_bytes());
    bytes
}

fn push_text(bytes: &mut Vec<u8>, text: &[u8]) {
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.extend(text);
}

/// Fields that are not read yet.
pub(super) struct Fields<'b>(pub(super) &'b [u8]);

impl<'b> Fields<'b> {
    fn bytes(&mut self, len: usize) -> Option<&'b [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn long_bytes(&mut self) -> Option<&'b [u8]> {
        let len = usize::try_from(self.u32()?).ok()?;
        self.bytes(len)
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.long_bytes()?.to_vec()).ok()
    }
}
