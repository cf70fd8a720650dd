//! Reader of a backup, which goes on behind damage.

use std::io::{self, ErrorKind, Read};

use super::format::{
    DIGEST_BYTES, Fields, HEAD_BYTES, HEADER_BYTES, Head, Key, Kind, MAGIC, MARK, VERSION, chunk_of,
    contents_digest, decode, decode_head, decode_header, document_of, head_len,
};
use crate::shell::store::StorageRecord;

/// Bytes that are read at once.
const READ_BYTES: usize = 256 << 10;

/// Reason why a backup cannot be read at all.
#[derive(Debug)]
pub(super) enum BackupError {
    /// It is no backup.
    Foreign,
    /// Both headers are damaged.
    Header,
    /// A later version of this program wrote it.
    Version,
    /// The server could not finish it.
    Failed(String),
    Io(io::Error),
}

impl From<io::Error> for BackupError {
    fn from(error: io::Error) -> BackupError {
        BackupError::Io(error)
    }
}

/// A part of a backup.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Item {
    Record(StorageRecord),
    /// Records cannot be read.
    Damage(Damage),
}

/// Damage, by what is around it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Damage {
    /// Where: a chunk or a document if they are known, else the number of the first record.
    pub(super) place: String,
    pub(super) reason: String,
}

/// Reads records, and searches for the next sound one after damage.
pub(super) struct BackupReader<R> {
    from: R,
    key: Key,
    created_at: u64,
    /// Bytes that were read and not processed: those from `start` on.
    buffer: Vec<u8>,
    start: usize,
    is_at_end: bool,
    /// Number of the next record.
    number: u64,
    /// The last sound record.
    last: Option<LastRecord>,
    /// Damage before the record that was read last.
    damage: Option<Damage>,
    waiting: Option<StorageRecord>,
    has_ended: bool,
}

#[derive(Clone, Debug)]
struct LastRecord {
    kind: Option<Kind>,
    document: Option<String>,
}

impl<R: Read> BackupReader<R> {
    /// Reads the header.
    pub(super) fn start(from: R) -> Result<BackupReader<R>, BackupError> {
        let mut reader = BackupReader {
            from,
            key: [0; 16],
            created_at: 0,
            buffer: Vec::new(),
            start: 0,
            is_at_end: false,
            number: 0,
            last: None,
            damage: None,
            waiting: None,
            has_ended: false,
        };
        reader.fill(2 * HEADER_BYTES)?;
        let bytes = reader.buffer.clone();
        let header = |range: std::ops::Range<usize>| bytes.get(range).and_then(decode_header);
        let headers = [header(0..HEADER_BYTES), header(HEADER_BYTES..2 * HEADER_BYTES)];
        let is_damaged = headers[0].is_none() || headers[0] != headers[1];
        let Some((version, created_at, key)) = headers.into_iter().flatten().next() else {
            let is_backup =
                [0, HEADER_BYTES].iter().any(|at| bytes[(*at).min(bytes.len())..].starts_with(MAGIC));
            return Err(if is_backup { BackupError::Header } else { BackupError::Foreign });
        };
        if version != VERSION {
            return Err(BackupError::Version);
        }
        if is_damaged {
            let reason = "it is damaged; its copy is sound".to_owned();
            reader.damage = Some(Damage { place: "the header".to_owned(), reason });
        }
        (reader.key, reader.created_at, reader.start) =
            (key, created_at, (2 * HEADER_BYTES).min(bytes.len()));
        Ok(reader)
    }

    /// When the backup was started, in seconds since 1970.
    pub(super) fn created_at(&self) -> u64 {
        self.created_at
    }

    /// The next part. `None` after the end.
    pub(super) fn next(&mut self) -> Result<Option<Item>, BackupError> {
        if let Some(damage) = self.damage.take() {
            return Ok(Some(Item::Damage(damage)));
        }
        if let Some(record) = self.waiting.take() {
            return Ok(Some(Item::Record(record)));
        }
        if self.has_ended {
            return Ok(None);
        }
        let mut reason = "it is damaged";
        // The chunk or document whose contents are damaged, and whose head is sound.
        let mut place = None;
        let mut has_skipped = false;
        let (head, contents) = loop {
            match self.read_head()? {
                Some((head, len)) => match self.read_contents(&head, len)? {
                    Some(contents) => break (head, contents),
                    None => {
                        place = place.or_else(|| place_of(&head));
                        has_skipped = true;
                        self.skip_to_mark()?;
                    }
                },
                None if self.fill(1)? == 0 => {
                    self.has_ended = true;
                    let reason = "the backup is cut off".to_owned();
                    let place = place.unwrap_or_else(|| self.place_after_last());
                    return Ok(Some(Item::Damage(Damage { place, reason })));
                }
                None => {
                    has_skipped = true;
                    self.skip_to_mark()?;
                }
            }
        };
        let document = document_of(head.kind, &head.name);
        if head.number != self.number {
            let place = place.unwrap_or_else(|| self.place_between(&head, document.as_deref()));
            if head.number < self.number {
                reason = "its records are in another order";
            }
            self.damage = Some(Damage { place, reason: reason.to_owned() });
        } else if has_skipped {
            // No record is missing.
            let place = format!("what comes before record {}", head.number);
            self.damage = Some(Damage { place, reason: "these bytes are no part of the backup".to_owned() });
        }
        self.number = head.number + 1;
        self.last = Some(LastRecord { kind: head.kind, document });
        let record = match head.kind {
            Some(Kind::End) => {
                self.has_ended = true;
                let is_whole = Fields(&contents).u64() == Some(head.number) && self.fill(1)? == 0;
                if !is_whole && self.damage.is_none() {
                    let reason = "other bytes follow the end".to_owned();
                    self.damage = Some(Damage { place: "the end".to_owned(), reason });
                }
                return Ok(self.damage.take().map(Item::Damage));
            }
            Some(Kind::Failed) => {
                return Err(BackupError::Failed(String::from_utf8_lossy(&contents).into_owned()));
            }
            Some(kind) => decode(kind, &head.name, contents),
            None => None,
        };
        let Some(record) = record else {
            let reason = "it is not well-formed".to_owned();
            let place = place_of(&head).unwrap_or_else(|| format!("record {}", head.number));
            let damage = Damage { place, reason };
            return Ok(Some(Item::Damage(self.damage.take().unwrap_or(damage))));
        };
        match self.damage.take() {
            Some(damage) => {
                self.waiting = Some(record);
                Ok(Some(Item::Damage(damage)))
            }
            None => Ok(Some(Item::Record(record))),
        }
    }

    /// The head at the start of the buffer, with its length. `None`: there is none, or it is damaged.
    fn read_head(&mut self) -> Result<Option<(Head, usize)>, BackupError> {
        self.fill(HEAD_BYTES)?;
        let Some(len) = head_len(&self.buffer[self.start..]) else { return Ok(None) };
        self.fill(len)?;
        let bytes = self.buffer.get(self.start..self.start + len);
        Ok(bytes.and_then(|bytes| decode_head(&self.key, bytes)).map(|head| (head, len)))
    }

    /// The contents after a head of this length. The record is then processed. `None`: they are damaged.
    fn read_contents(&mut self, head: &Head, head_len: usize) -> Result<Option<Vec<u8>>, BackupError> {
        let Ok(contents_len) = usize::try_from(head.contents_len) else { return Ok(None) };
        let len = head_len + contents_len + DIGEST_BYTES;
        if self.fill(len)? < len {
            return Ok(None);
        }
        let record = &self.buffer[self.start..self.start + len];
        let (contents, found) = record[head_len..].split_at(contents_len);
        if found != contents_digest(&self.key, head.number, contents) {
            return Ok(None);
        }
        let contents = contents.to_vec();
        self.start += len;
        Ok(Some(contents))
    }

    /// Goes on to the next mark, from the second byte on.
    fn skip_to_mark(&mut self) -> Result<(), BackupError> {
        self.start = (self.start + 1).min(self.buffer.len());
        loop {
            let bytes = &self.buffer[self.start..];
            if let Some(at) = bytes.windows(MARK.len()).position(|bytes| bytes == MARK) {
                self.start += at;
                return Ok(());
            }
            // The end may be the start of a mark.
            self.start += bytes.len().saturating_sub(MARK.len() - 1);
            let left = self.buffer.len() - self.start;
            if self.fill(left + 1)? == left {
                self.start = self.buffer.len();
                return Ok(());
            }
        }
    }

    /// Reads until this number of bytes waits to be processed, or to the end. Returns their number.
    fn fill(&mut self, len: usize) -> Result<usize, BackupError> {
        if self.buffer.len() - self.start >= len || self.is_at_end {
            return Ok(self.buffer.len() - self.start);
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        if self.buffer.capacity() > 16 * READ_BYTES && self.buffer.len() < READ_BYTES {
            // After a large chunk.
            self.buffer.shrink_to(READ_BYTES);
        }
        while self.buffer.len() < len && !self.is_at_end {
            let before = self.buffer.len();
            // A damaged length must not reserve memory that the file cannot fill.
            self.buffer.resize(before + READ_BYTES.max((len - before).min(before)), 0);
            match self.from.read(&mut self.buffer[before..]) {
                Ok(count) => {
                    self.buffer.truncate(before + count);
                    self.is_at_end = count == 0;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => self.buffer.truncate(before),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(self.buffer.len())
    }

    fn place_after_last(&self) -> String {
        match self.last.as_ref().and_then(|last| last.document.as_ref()) {
            Some(document) => format!("what follows in or after document {document}"),
            None => format!("record {}", self.number),
        }
    }

    /// What is missing before a record. The first and the last record of a document have different kinds, so that a single missing
    /// record names its document.
    fn place_between(&self, next: &Head, document: Option<&str>) -> String {
        let last = self.last.clone().unwrap_or(LastRecord { kind: None, document: None });
        let is_one = next.number == self.number + 1;
        let is_after_end = !matches!(last.kind, Some(Kind::Document | Kind::Chunk));
        match (last.document, document) {
            (Some(last), Some(next)) if last == next => format!("a part of document {last}"),
            (Some(last), _) if is_one && !is_after_end => format!("a part of document {last}"),
            (_, Some(document)) if is_one && next.kind != Some(Kind::Document) => {
                format!("a part of document {document}")
            }
            (Some(last), Some(next)) => format!("documents from {last} to {next}"),
            (Some(last), None) => format!("what follows in or after document {last}"),
            (None, Some(next)) => format!("what comes before document {next}"),
            (None, None) => format!("record {}", self.number),
        }
    }
}

fn place_of(head: &Head) -> Option<String> {
    match head.kind {
        Some(Kind::Chunk) => chunk_of(&head.name),
        kind => document_of(kind, &head.name).map(|document| format!("the record of document {document}")),
    }
}
