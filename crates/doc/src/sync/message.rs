//! Sync messages and their encoding.

use crate::codec::bloom::{self, BloomFilter};
use crate::codec::bytes::leb::put_u64;
use crate::codec::bytes::reader::Reader;
use crate::types::ChangeHash;
use crate::types::error::{LimitError, Rule};
use crate::types::small_list::SmallList;

/// Maximum number of summaries in one message. All implementations send one; each change is looked up in all of them.
const MOST_HAVES: usize = 16;
/// Length of the shortest chunk: magic bytes, checksum, type, length.
const SHORTEST_CHUNK: usize = 10;

/// Encoding version of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MessageVersion {
    /// Each change in an entry of its own. Sent to peers of unknown capabilities.
    #[default]
    V1,
    /// At most one entry: a whole document, or concatenated changes.
    V2,
}

impl MessageVersion {
    fn byte(self) -> u8 {
        match self {
            Self::V1 => 0x42,
            Self::V2 => 0x43,
        }
    }
}

/// Summary of the changes that a sender has made or received since it was last in step with the receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Have {
    /// The heads that both had at that time.
    pub last_sync: SmallList<ChangeHash>,
    /// The changes after them.
    pub bloom: BloomFilter,
}

/// Flags of a message. A peer that sends flags can read messages of both versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MessageFlags(u8);

impl MessageFlags {
    /// The receiver must forget what it has sent, because it was ignored.
    pub const SYNC_RESET: Self = Self(1);
    /// The sender accepts no changes.
    pub const READ_ONLY: Self = Self(2);
    /// The sender understands [`Self::SYNC_RESET`].
    pub const SUPPORTS_SYNC_RESET: Self = Self(4);

    /// Marks a byte of flags; other bytes name one capability each.
    const MARK: u8 = 0x80;
    /// Older form of the capability to read messages of version 2.
    const V2: u8 = 2;

    /// No flags.
    pub fn new() -> Self {
        Self::default()
    }

    /// Are all of `flags` set?
    pub fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Sets flags.
    pub fn set(&mut self, flags: Self) {
        self.0 |= flags.0;
    }

    fn read(bytes: &[u8]) -> Self {
        let marked = bytes.iter().filter(|byte| **byte & Self::MARK > 0);
        Self(marked.fold(0, |flags, byte| flags | byte & !Self::MARK))
    }
}

/// A message from one peer to another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// Heads of the sender.
    pub heads: SmallList<ChangeHash>,
    /// Changes that the sender requests by hash.
    pub need: SmallList<ChangeHash>,
    /// Summaries of what the sender has; it lacks everything else.
    pub have: SmallList<Have>,
    /// Chunks for the receiver. The chunks of one entry are concatenated.
    pub changes: Vec<Vec<u8>>,
    /// Flags; absent in messages of the oldest implementations.
    pub flags: Option<MessageFlags>,
    /// Encoding version.
    pub version: MessageVersion,
}

impl Message {
    /// Encodes the message.
    pub fn encode(&self) -> Vec<u8> {
        let hashes = 32 * (self.heads.len() + self.need.len());
        let changes: usize = self.changes.iter().map(|entry| entry.len() + 5).sum();
        let mut out = Vec::with_capacity(hashes + changes + 64);
        out.push(self.version.byte());
        put_hashes(&mut out, &self.heads);
        put_hashes(&mut out, &self.need);
        put_u64(&mut out, self.have.len() as u64);
        for have in &self.have {
            put_hashes(&mut out, &have.last_sync);
            have.bloom.write(&mut out);
        }
        put_u64(&mut out, self.changes.len() as u64);
        self.changes.iter().for_each(|entry| put_bytes(&mut out, entry));
        if let Some(flags) = self.flags {
            put_bytes(&mut out, &[MessageFlags::V2, MessageFlags::MARK | flags.0]);
        }
        out
    }

    /// Decodes a message. The memory used is at most a small multiple of the input. Bytes after the flags are from
    /// later versions and are ignored.
    pub fn decode(bytes: &[u8]) -> Result<Self, ReadMessageError> {
        let mut reader = Reader::new(bytes);
        let result = Self::read(&mut reader);
        result.map_err(|fault| match fault {
            MessageFault::Type(found) => ReadMessageError::Type(found),
            MessageFault::Rule(rule) => ReadMessageError::Format { offset: reader.offset(), rule },
            MessageFault::Limit(error) => ReadMessageError::Limit(error),
        })
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, MessageFault> {
        let [kind] = reader.array()?;
        let version =
            [MessageVersion::V1, MessageVersion::V2].into_iter().find(|version| version.byte() == kind);
        let version = version.ok_or(MessageFault::Type(kind))?;
        let (heads, need) = (hashes(reader)?, hashes(reader)?);
        let count = reader.len()?;
        if count > MOST_HAVES {
            return Err(MessageFault::limit("summaries in a message", MOST_HAVES));
        }
        let mut have = SmallList::new();
        let mut summed = 0;
        for _ in 0..count {
            let last_sync = hashes(reader)?;
            let filter = reader.prefixed()?;
            summed += filter.len();
            if summed > bloom::MOST_BYTES + 32 {
                return Err(MessageFault::limit("bytes of summaries in a message", bloom::MOST_BYTES));
            }
            have.push(Have { last_sync, bloom: BloomFilter::read(filter)? });
        }
        let count = reader.len()?;
        if count > reader.rest().len() {
            return Err(Rule::Truncated.into());
        }
        let mut changes = vec![];
        for _ in 0..count {
            let entry = reader.prefixed()?;
            // A shorter entry would take more memory than it has bytes.
            if entry.len() < SHORTEST_CHUNK {
                return Err(Rule::Truncated.into());
            }
            changes.push(entry.to_vec());
        }
        let flags = if reader.is_empty() { None } else { Some(MessageFlags::read(reader.prefixed()?)) };
        Ok(Self { heads, need, have, changes, flags, version })
    }
}

impl TryFrom<&[u8]> for Message {
    type Error = ReadMessageError;

    fn try_from(bytes: &[u8]) -> Result<Self, Self::Error> {
        Self::decode(bytes)
    }
}

/// Bytes that are not a sync message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadMessageError {
    /// The first byte is not that of a message.
    #[error("not a sync message: it starts with {0:#04x}, not with 0x42 or 0x43")]
    Type(u8),
    /// The bytes break the format.
    #[error("sync message, byte {offset}: {rule}")]
    Format {
        /// Byte offset.
        offset: usize,
        /// The broken rule.
        rule: Rule,
    },
    /// The message exceeds a limit.
    #[error(transparent)]
    Limit(#[from] LimitError),
}

enum MessageFault {
    Type(u8),
    Rule(Rule),
    Limit(LimitError),
}

impl MessageFault {
    fn limit(what: &'static str, limit: usize) -> Self {
        Self::Limit(LimitError { what, limit: limit as u64 })
    }
}

impl From<Rule> for MessageFault {
    fn from(rule: Rule) -> Self {
        Self::Rule(rule)
    }
}

/// Reads hashes with a count prefix, which is compared with the remaining bytes before anything is allocated.
pub(super) fn hashes(reader: &mut Reader<'_>) -> Result<SmallList<ChangeHash>, Rule> {
    match reader.rest() {
        // The most frequent lengths.
        [0, ..] => reader.len().map(|_| SmallList::new()),
        [1, ..] => reader.len().and_then(|_| reader.hash()).map(SmallList::one),
        _ => reader.hashes().map(SmallList::from),
    }
}

/// Appends hashes with a count prefix.
pub(super) fn put_hashes(out: &mut Vec<u8>, hashes: &[ChangeHash]) {
    put_u64(out, hashes.len() as u64);
    hashes.iter().for_each(|hash| out.extend(hash.0));
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_u64(out, bytes.len() as u64);
    out.extend(bytes);
}
