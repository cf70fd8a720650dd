//! Numbers, prefixed strings, chunks and their hashes (reference 2.1 and 2.2).

use std::io::Read as _;

use flate2::read::DeflateDecoder;

use super::{Hash, Refused, refuse};
pub use crate::format::chunk::chunk;
use crate::format::chunk::{MAGIC, hash};
use crate::format::numbers::first_number;

/// Maximum inflated bytes that the oracle accepts.
const INFLATED: u64 = 1 << 27;

/// Unread input, read by the rules of the format.
pub(super) struct Input<'a>(pub(super) &'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn take(&mut self, len: u64) -> Result<&'a [u8], Refused> {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let (taken, rest) =
            self.0.split_at_checked(len).ok_or_else(|| refuse("truncated", format!("{len} bytes")))?;
        self.0 = rest;
        Ok(taken)
    }

    /// The bytes of a LEB128 number. Only the shortest form of a number is one: the last group of seven bits is not one that
    /// the groups before it imply.
    fn number(&mut self, signed: bool) -> Result<&'a [u8], Refused> {
        let number = first_number(self.0).ok_or_else(|| refuse("truncated", "inside a number"))?;
        self.0 = &self.0[number.len()..];
        let is_overlong = match *number {
            [.., before, 0x7f] => signed && before & 0x40 != 0,
            [.., before, 0] => !signed || before & 0x40 == 0,
            _ => false,
        };
        if is_overlong { Err(refuse("leb128", "a number is longer than it needs to be")) } else { Ok(number) }
    }

    pub(super) fn unsigned(&mut self) -> Result<u64, Refused> {
        let value =
            self.number(false)?.iter().rev().try_fold(0u64, |value, byte| {
                (value >> 57 == 0).then_some(value << 7 | u64::from(byte & 0x7f))
            });
        value.ok_or_else(|| refuse("leb128", "a number does not fit 64 bits"))
    }

    pub(super) fn signed(&mut self) -> Result<i64, Refused> {
        let number = self.number(true)?;
        let sign = if number[number.len() - 1] & 0x40 == 0 { 0 } else { -1i128 };
        // Ten groups have 70 bits: enough to see that 64 are not.
        let groups = number.iter().take(11).rev();
        let value = groups.fold(sign, |value, byte| value << 7 | i128::from(byte & 0x7f));
        i64::try_from(value)
            .ok()
            .filter(|_| number.len() <= 10)
            .ok_or_else(|| refuse("leb128", "a number does not fit 64 bits"))
    }

    pub(super) fn prefixed(&mut self) -> Result<&'a [u8], Refused> {
        let len = self.unsigned()?;
        self.take(len)
    }

    pub(super) fn text(&mut self) -> Result<String, Refused> {
        let bytes = self.prefixed()?;
        String::from_utf8(bytes.to_vec()).map_err(|error| refuse("utf8", error))
    }

    /// A list: a count and that number of elements.
    pub(super) fn list<T>(
        &mut self,
        mut each: impl FnMut(&mut Self) -> Result<T, Refused>,
    ) -> Result<Vec<T>, Refused> {
        // The input ends before the count does when it is too high: each takes a byte at least.
        (0..self.unsigned()?).map(|_| each(self)).collect()
    }

    pub(super) fn hash(&mut self) -> Result<Hash, Refused> {
        Ok(self.take(32)?.try_into().expect("32 bytes were taken"))
    }
}

/// Inflates `bytes`, which must be exactly one stream.
pub(super) fn inflate(bytes: &[u8]) -> Result<Vec<u8>, Refused> {
    let mut plain = vec![];
    let mut decoder = DeflateDecoder::new(bytes).take(INFLATED + 1);
    decoder.read_to_end(&mut plain).map_err(|error| refuse("deflate", error))?;
    if plain.len() as u64 > INFLATED {
        return Err(Refused::too_large("inflated bytes"));
    }
    match bytes.len() as u64 - decoder.into_inner().total_in() {
        0 => Ok(plain),
        left => Err(refuse("deflate", format!("{left} bytes after the stream"))),
    }
}

pub(super) fn hash_of(kind: u8, body: &[u8]) -> Hash {
    hash(&chunk(kind, body))
}

/// A part of a file: 0 is a document, 1 a change, 3 a bundle. A compressed change, 2, is read as a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Chunk type.
    pub kind: u8,
    /// Content without header.
    pub body: Vec<u8>,
}

/// The chunks of a file.
pub fn chunks(file: &[u8]) -> Result<Vec<Chunk>, Refused> {
    let mut input = Input(file);
    let mut chunks = vec![];
    while !input.0.is_empty() {
        if input.take(4)? != MAGIC {
            return Err(refuse("magic", "a chunk begins otherwise"));
        }
        let checksum = input.take(4)?;
        let (mut kind, mut body) = (input.take(1)?[0], input.prefixed()?.to_vec());
        if kind == 2 {
            (kind, body) = (1, inflate(&body)?);
        }
        if hash_of(kind, &body)[..4] != *checksum {
            return Err(refuse("checksum", format!("of a chunk of type {kind}")));
        }
        if !matches!(kind, 0 | 1 | 3) {
            return Err(refuse("chunk type", kind));
        }
        chunks.push(Chunk { kind, body });
    }
    Ok(chunks)
}
