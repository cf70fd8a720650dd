//! What peers send each other.

use super::bloom::{self, BloomFilter};
use super::few::Few;
use crate::codec::leb::put_u64;
use crate::codec::reader::Reader;
use crate::error::{LimitError, Rule};
use crate::types::ChangeHash;

/// Summaries in one message. Everybody sends one; each change is looked up in all of them.
const MOST_HAVES: usize = 16;
/// The shortest chunk there is: magic bytes, checksum, type, length.
const SHORTEST_CHUNK: usize = 10;

/// Which form a message has on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MessageVersion {
    /// Each change in an entry of its own. What is sent to peers of whom nothing is known yet.
    #[default]
    V1,
    /// One entry at most: a whole document, or changes one behind the other.
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

/// What a sender has since it was last in step with the receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Have {
    /// The heads that both had then.
    pub last_sync: Few<ChangeHash>,
    /// The changes after them.
    pub bloom: BloomFilter,
}

/// What a message says besides. Who sends any at all reads messages of both versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MessageFlags(u8);

impl MessageFlags {
    /// The receiver is to forget what it has sent: it was ignored.
    pub const SYNC_RESET: Self = Self(1);
    /// The sender takes no changes.
    pub const READ_ONLY: Self = Self(2);
    /// The sender understands [`Self::SYNC_RESET`].
    pub const SUPPORTS_SYNC_RESET: Self = Self(4);

    /// Says that a byte has flags; others name one ability each.
    const MARK: u8 = 0x80;
    /// The ability to read messages of version 2, as it was once said.
    const V2: u8 = 2;

    /// None of them.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether all of `flags` are among these.
    pub fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Adds flags.
    pub fn set(&mut self, flags: Self) {
        self.0 |= flags.0;
    }

    fn read(bytes: &[u8]) -> Self {
        let marked = bytes.iter().filter(|byte| **byte & Self::MARK > 0);
        Self(marked.fold(0, |flags, byte| flags | byte & !Self::MARK))
    }
}

/// A message of one peer to another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// The heads of the sender.
    pub heads: Few<ChangeHash>,
    /// Changes that the sender asks for by name.
    pub need: Few<ChangeHash>,
    /// What the sender has; what it does not have is asked for, too.
    pub have: Few<Have>,
    /// Chunks for the receiver: those of one entry follow each other.
    pub changes: Vec<Vec<u8>>,
    /// Flags, from all but the oldest peers.
    pub flags: Option<MessageFlags>,
    /// The form.
    pub version: MessageVersion,
}

impl Message {
    /// The message as bytes.
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

    /// Reads a message. It takes some times as much memory as it has bytes at most. What follows the flags is from later
    /// versions and is ignored.
    pub fn decode(bytes: &[u8]) -> Result<Self, ReadMessageError> {
        let mut reader = Reader::new(bytes);
        let result = Self::read(&mut reader);
        result.map_err(|fault| match fault {
            Wrong::Type(found) => ReadMessageError::Type(found),
            Wrong::Rule(rule) => ReadMessageError::Format { offset: reader.offset(), rule },
            Wrong::Limit(error) => ReadMessageError::Limit(error),
        })
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Wrong> {
        let [kind] = reader.array()?;
        let version =
            [MessageVersion::V1, MessageVersion::V2].into_iter().find(|version| version.byte() == kind);
        let version = version.ok_or(Wrong::Type(kind))?;
        let (heads, need) = (hashes(reader)?, hashes(reader)?);
        let count = reader.len()?;
        if count > MOST_HAVES {
            return Err(Wrong::limit("summaries in a message", MOST_HAVES));
        }
        let mut have = Few::new();
        let mut summed = 0;
        for _ in 0..count {
            let last_sync = hashes(reader)?;
            let filter = reader.prefixed()?;
            summed += filter.len();
            if summed > bloom::MOST_BYTES + 32 {
                return Err(Wrong::limit("bytes of summaries in a message", bloom::MOST_BYTES));
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
            // What is shorter would take more memory than it has bytes.
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

/// Bytes that are no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadMessageError {
    /// They begin with something else.
    #[error("this is no sync message: it begins with {0:#04x}, not with 0x42 or 0x43")]
    Type(u8),
    /// They break the format.
    #[error("sync message, byte {offset}: {rule}")]
    Format {
        /// Where.
        offset: usize,
        /// What is wrong.
        rule: Rule,
    },
    /// They ask for more than they may.
    #[error(transparent)]
    Limit(#[from] LimitError),
}

enum Wrong {
    Type(u8),
    Rule(Rule),
    Limit(LimitError),
}

impl Wrong {
    fn limit(what: &'static str, limit: usize) -> Self {
        Self::Limit(LimitError { what, limit: limit as u64 })
    }
}

impl From<Rule> for Wrong {
    fn from(rule: Rule) -> Self {
        Self::Rule(rule)
    }
}

/// Hashes behind their count, which is compared with what is left before anything is allocated.
pub(super) fn hashes(reader: &mut Reader<'_>) -> Result<Few<ChangeHash>, Rule> {
    match reader.rest() {
        // As most lists are.
        [0, ..] => reader.len().map(|_| Few::new()),
        [1, ..] => reader.len().and_then(|_| reader.hash()).map(Few::one),
        _ => reader.hashes().map(Few::from),
    }
}

/// Appends hashes behind their count.
pub(super) fn put_hashes(out: &mut Vec<u8>, hashes: &[ChangeHash]) {
    put_u64(out, hashes.len() as u64);
    hashes.iter().for_each(|hash| out.extend(hash.0));
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_u64(out, bytes.len() as u64);
    out.extend(bytes);
}
