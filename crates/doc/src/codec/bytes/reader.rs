//! Sequential reader of bytes.

use super::leb;
use crate::types::error::Rule;
use crate::types::{ActorId, ChangeHash};

/// Sequential reader of bytes. Every read checks the bounds; on failure the position stays at the fault.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// All bytes, including those already read.
    pub(crate) fn all(&self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Result<u64, Rule> {
        let (value, len) = leb::get_u64(&self.bytes[self.at..])?;
        self.at += len;
        Ok(value)
    }

    #[inline]
    pub(crate) fn i64(&mut self) -> Result<i64, Rule> {
        let (value, len) = leb::get_i64(&self.bytes[self.at..])?;
        self.at += len;
        Ok(value)
    }

    /// Reads a count of bytes that must follow, or of items of at least one byte each. A count beyond `usize` is
    /// clamped, so that it is refused at the same position by the same rule on all machines.
    #[inline]
    pub(crate) fn len(&mut self) -> Result<usize, Rule> {
        Ok(usize::try_from(self.u64()?).unwrap_or(usize::MAX))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Rule> {
        u32::try_from(self.u64()?).map_err(|_| Rule::CounterRange)
    }

    #[inline]
    pub(crate) fn read_bytes(&mut self, len: usize) -> Result<&'a [u8], Rule> {
        let taken = self.bytes[self.at..].get(..len).ok_or(Rule::Truncated)?;
        self.at += len;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Rule> {
        let taken = self.read_bytes(N)?;
        Ok(taken.try_into().expect("take returns the requested length"))
    }

    /// Reads bytes with a length prefix.
    #[inline]
    pub(crate) fn prefixed(&mut self) -> Result<&'a [u8], Rule> {
        let len = self.len()?;
        self.read_bytes(len)
    }

    /// Reads text with a length prefix.
    pub(crate) fn text(&mut self) -> Result<&'a str, Rule> {
        std::str::from_utf8(self.prefixed()?).map_err(|_| Rule::Utf8)
    }

    pub(crate) fn hash(&mut self) -> Result<ChangeHash, Rule> {
        self.array().map(ChangeHash)
    }

    /// Reads hashes with a count prefix. The count is compared with the remaining bytes before anything is allocated.
    pub(crate) fn hashes(&mut self) -> Result<Vec<ChangeHash>, Rule> {
        let count = self.len()?;
        if count > self.rest().len() / 32 {
            return Err(Rule::Truncated);
        }
        (0..count).map(|_| self.hash()).collect()
    }

    /// Reads actors with a count prefix.
    pub(crate) fn actors(&mut self) -> Result<Vec<ActorId>, Rule> {
        let count = self.len()?;
        // Each actor takes at least one byte.
        if count > self.rest().len() {
            return Err(Rule::Truncated);
        }
        (0..count).map(|_| self.prefixed().map(ActorId::from)).collect()
    }

    pub(crate) fn finish(&self) -> Result<(), Rule> {
        if self.is_empty() { Ok(()) } else { Err(Rule::Leftover(self.bytes.len() - self.at)) }
    }
}
