//! Records of the journal: what one node stores together in one shard.

use hashmill_repo::DocumentId;
use sha2::{Digest as _, Sha256};

use crate::storage::{ChunkKey, ChunkKind, Command};

/// The first bytes of a record: its format, and the version of that.
const MAGIC: &[u8; 8] = b"hashmil\x01";
/// Bytes of the checksum at the end.
const CHECKSUM_LEN: usize = 32;

/// One start of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct NodeId(pub(crate) [u8; 16]);

/// A record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Record {
    /// The node that wrote it, and the node's number for it.
    pub(crate) node: NodeId,
    pub(crate) number: u64,
    pub(crate) chunks: Vec<RecordChunk>,
    /// Owners of new documents. The first one in the journal counts.
    pub(crate) owners: Vec<(DocumentId, String)>,
    pub(crate) command: Option<RecordCommand>,
}

/// A chunk of a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RecordChunk {
    pub(crate) key: ChunkKey,
    /// `None`: it is too large for a record, and was stored as an object before.
    pub(crate) bytes: Option<Vec<u8>>,
}

/// A command about a document. The order of the journal decides what it does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RecordCommand {
    pub(crate) document: DocumentId,
    pub(crate) command: Command,
    /// Did the document have chunks?
    pub(crate) has_chunks: bool,
}

/// The shard of a document.
pub(crate) fn shard_of(document: &DocumentId, shards: u16) -> u16 {
    let digest = Sha256::digest(document.as_bytes());
    let number = u64::from_le_bytes(digest[..8].try_into().expect("eight bytes"));
    (number % u64::from(shards.max(1))) as u16
}

impl Record {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.node.0);
        bytes.extend(self.number.to_le_bytes());
        put_len(&mut bytes, self.chunks.len());
        for RecordChunk { key, bytes: content } in &self.chunks {
            put_bytes(&mut bytes, key.document.as_bytes());
            bytes.push(match key.kind {
                ChunkKind::Snapshot => 0,
                ChunkKind::Incremental => 1,
            });
            put_bytes(&mut bytes, key.name.as_bytes());
            bytes.push(u8::from(content.is_some()));
            put_bytes(&mut bytes, content.as_deref().unwrap_or_default());
        }
        put_len(&mut bytes, self.owners.len());
        for (document, name) in &self.owners {
            put_bytes(&mut bytes, document.as_bytes());
            put_bytes(&mut bytes, name.as_bytes());
        }
        bytes.push(u8::from(self.command.is_some()));
        if let Some(RecordCommand { document, command, has_chunks }) = &self.command {
            put_bytes(&mut bytes, document.as_bytes());
            bytes.push(u8::from(*has_chunks));
            let (kind, first, second) = match *command {
                Command::Delete { at } => (0, at, 0),
                Command::DeleteUnused { at, used_until } => (1, at, used_until),
                Command::Undelete => (2, 0, 0),
                Command::Purge { deleted_until } => (3, deleted_until, 0),
            };
            bytes.push(kind);
            bytes.extend(first.to_le_bytes());
            bytes.extend(second.to_le_bytes());
        }
        let checksum = Sha256::digest(&bytes);
        bytes.extend(checksum);
        bytes
    }

    /// Reads a record, or says why it cannot be read.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Record, String> {
        let Some((content, checksum)) = bytes.split_last_chunk::<CHECKSUM_LEN>() else {
            return Err("it is too short".to_owned());
        };
        if Sha256::digest(content)[..] != checksum[..] {
            return Err("its checksum is wrong".to_owned());
        }
        let mut reader = Reader(content);
        if reader.take(MAGIC.len())? != MAGIC {
            return Err("it has another format".to_owned());
        }
        let node = NodeId(reader.array()?);
        let number = reader.number()?;
        let chunks = reader.list(Reader::chunk)?;
        let owners = reader.list(|reader| Ok((reader.document()?, reader.text()?)))?;
        let command = if reader.byte()? == 0 { None } else { Some(reader.command()?) };
        if !reader.0.is_empty() {
            return Err("bytes follow its end".to_owned());
        }
        Ok(Record { node, number, chunks, owners, command })
    }
}

fn put_len(bytes: &mut Vec<u8>, len: usize) {
    bytes.extend((len as u64).to_le_bytes());
}

fn put_bytes(bytes: &mut Vec<u8>, content: &[u8]) {
    put_len(bytes, content.len());
    bytes.extend(content);
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or("it is truncated")?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const LEN: usize>(&mut self) -> Result<[u8; LEN], String> {
        Ok(self.take(LEN)?.try_into().expect("the length that was asked for"))
    }

    fn number(&mut self) -> Result<u64, String> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn byte(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?[0])
    }

    fn bytes(&mut self) -> Result<&'a [u8], String> {
        let len = usize::try_from(self.number()?).map_err(|_| "it is truncated")?;
        self.take(len)
    }

    fn text(&mut self) -> Result<String, String> {
        let text = std::str::from_utf8(self.bytes()?).map_err(|error| error.to_string())?;
        Ok(text.to_owned())
    }

    fn document(&mut self) -> Result<DocumentId, String> {
        DocumentId::from_bytes(self.bytes()?).ok_or_else(|| "it names no document".to_owned())
    }

    fn list<T>(&mut self, read: impl Fn(&mut Self) -> Result<T, String>) -> Result<Vec<T>, String> {
        let len = self.number()?;
        // Not reserved: the length is not checked, and each item has at least one byte.
        (0..len).map(|_| read(self)).collect()
    }

    fn chunk(&mut self) -> Result<RecordChunk, String> {
        let document = self.document()?;
        let kind = match self.byte()? {
            0 => ChunkKind::Snapshot,
            1 => ChunkKind::Incremental,
            kind => return Err(format!("it has a chunk of kind {kind}")),
        };
        let name = self.text()?;
        let is_inline = self.byte()? != 0;
        let bytes = self.bytes()?.to_vec();
        Ok(RecordChunk { key: ChunkKey { document, kind, name }, bytes: is_inline.then_some(bytes) })
    }

    fn command(&mut self) -> Result<RecordCommand, String> {
        let document = self.document()?;
        let has_chunks = self.byte()? != 0;
        let (kind, first, second) = (self.byte()?, self.number()?, self.number()?);
        let command = match kind {
            0 => Command::Delete { at: first },
            1 => Command::DeleteUnused { at: first, used_until: second },
            2 => Command::Undelete,
            3 => Command::Purge { deleted_until: first },
            kind => return Err(format!("it has a command of kind {kind}")),
        };
        Ok(RecordCommand { document, command, has_chunks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(command: Option<Command>) -> Record {
        let document = DocumentId::from_random_bytes([7; 16]);
        let key = |kind, name: &str| ChunkKey { document: document.clone(), kind, name: name.to_owned() };
        Record {
            node: NodeId([3; 16]),
            number: 9,
            chunks: vec![
                RecordChunk { key: key(ChunkKind::Snapshot, "a"), bytes: Some(vec![1, 2]) },
                RecordChunk { key: key(ChunkKind::Incremental, ""), bytes: None },
            ],
            owners: vec![(document.clone(), "ann".to_owned())],
            command: command.map(|command| RecordCommand { document, command, has_chunks: true }),
        }
    }

    #[test]
    fn records_are_read_as_they_were_written() {
        let unused = Command::DeleteUnused { at: 5, used_until: 4 };
        let purge = Command::Purge { deleted_until: u64::MAX };
        let commands = [Command::Delete { at: 5 }, unused, Command::Undelete, purge].map(Some);
        for command in commands.into_iter().chain([None]) {
            let record = sample(command);
            assert_eq!(Record::decode(&record.encode()), Ok(record));
        }
    }

    #[test]
    fn damaged_records_are_refused() {
        let bytes = sample(Some(Command::Undelete)).encode();
        for len in 0..bytes.len() {
            assert!(Record::decode(&bytes[..len]).is_err(), "{len}");
        }
        for position in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[position] ^= 1;
            assert!(Record::decode(&damaged).is_err(), "{position}");
        }
    }

    /// A checksum protects from accidents alone.
    #[test]
    fn records_with_a_right_checksum_and_wrong_contents_are_refused() {
        let bytes = sample(Some(Command::Undelete)).encode();
        let content = &bytes[..bytes.len() - CHECKSUM_LEN];
        for position in 0..content.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = content.to_vec();
                changed[position] = value;
                let checksum = Sha256::digest(&changed);
                changed.extend(checksum);
                // It may be another sound record; it must not panic or take memory for a length that it names.
                drop(Record::decode(&changed));
            }
        }
    }

    #[test]
    fn documents_are_spread_over_shards() {
        let mut counts = [0; 4];
        for number in 0..=255 {
            counts[usize::from(shard_of(&DocumentId::from_random_bytes([number; 16]), 4))] += 1;
        }
        assert!(counts.iter().all(|count| *count > 40), "{counts:?}");
    }
}
