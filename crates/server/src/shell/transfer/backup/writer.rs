//! Writer of a backup.

use std::io::{self, Write};

use super::format::{Key, Kind, contents_digest, encode, encode_head, encode_header};
use crate::shell::store::StorageRecord;

/// Writes the records of a storage.
pub(super) struct BackupWriter<W> {
    to: W,
    key: Key,
    /// Number of records that were written.
    number: u64,
    /// Written again at the end.
    facts: Option<StorageRecord>,
}

impl<W: Write> BackupWriter<W> {
    /// Starts a backup at this time, with random bytes as its key.
    pub(super) fn start(mut to: W, key: Key, created_at: u64) -> io::Result<BackupWriter<W>> {
        let header = encode_header(&key, created_at);
        to.write_all(&header)?;
        to.write_all(&header)?;
        Ok(BackupWriter { to, key, number: 0, facts: None })
    }

    pub(super) fn add(&mut self, record: &StorageRecord) -> io::Result<()> {
        if matches!(record, StorageRecord::Facts(_)) {
            self.facts = Some(record.clone());
        }
        let (kind, name, contents) = encode(record);
        self.write(kind, &name, &contents)
    }

    /// Writes the end of a complete backup.
    pub(super) fn finish(mut self) -> io::Result<()> {
        if let Some(facts) = self.facts.take() {
            self.add(&facts)?;
        }
        self.write(Kind::End, &[], &self.number.to_le_bytes())?;
        self.to.flush()
    }

    /// Writes the reason why the backup is not complete.
    pub(super) fn fail(mut self, reason: &str) -> io::Result<()> {
        self.write(Kind::Failed, &[], reason.as_bytes())?;
        self.to.flush()
    }

    fn write(&mut self, kind: Kind, name: &[u8], contents: &[u8]) -> io::Result<()> {
        self.to.write_all(&encode_head(&self.key, kind, self.number, name, contents.len() as u64))?;
        self.to.write_all(contents)?;
        self.to.write_all(&contents_digest(&self.key, self.number, contents))?;
        self.number += 1;
        Ok(())
    }
}
