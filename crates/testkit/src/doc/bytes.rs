//! Numbers, prefixed strings, chunks and their hashes (reference 2.1 and 2.2).

use std::io::Read as _;

use flate2::read::DeflateDecoder;
use sha2::{Digest, Sha256};

use super::{Hash, Refused, refuse};

const MAGIC: [u8; 4] = [0x85, 0x6f, 0x4a, 0x83];

/// Inflated bytes that the oracle goes through.
const INFLATED: u64 = 1 << 27;

/// What was not read yet.
pub(super) struct Input<'a>(pub(super) &'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn take(&mut self, len: u64) -> Result<&'a [u8], Refused> {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let (taken, rest) =
            self.0.split_at_checked(len).ok_or_else(|| refuse("truncated", format!("{len} bytes")))?;
        self.0 = rest;
        Ok(taken)
    }

    /// The groups of seven bits of a LEB128 number, lowest first. Only the shortest form of a number is one, so the last
    /// group is not one that the groups before it say already.
    fn groups(&mut self, signed: bool) -> Result<Vec<u8>, Refused> {
        let mut groups = vec![];
        loop {
            let byte = self.take(1)?[0];
            groups.push(byte & 0x7f);
            if byte < 0x80 {
                break;
            }
        }
        let idle = match groups[..] {
            [.., before, 0x7f] => signed && before & 0x40 != 0,
            [.., before, 0] => !signed || before & 0x40 == 0,
            _ => false,
        };
        if idle { Err(refuse("leb128", "a number is longer than it needs to be")) } else { Ok(groups) }
    }

    pub(super) fn unsigned(&mut self) -> Result<u64, Refused> {
        let value = self
            .groups(false)?
            .iter()
            .rev()
            .try_fold(0u64, |value, group| (value >> 57 == 0).then_some(value << 7 | u64::from(*group)));
        value.ok_or_else(|| refuse("leb128", "a number does not fit 64 bits"))
    }

    pub(super) fn signed(&mut self) -> Result<i64, Refused> {
        let groups = self.groups(true)?;
        let sign = if groups[groups.len() - 1] & 0x40 == 0 { 0 } else { -1i128 };
        // Ten groups have 70 bits: enough to see that 64 are not.
        let value = groups.iter().take(11).rev().fold(sign, |value, group| value << 7 | i128::from(*group));
        i64::try_from(value)
            .ok()
            .filter(|_| groups.len() <= 10)
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

    /// So many times the same thing.
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

pub(super) fn put_unsigned(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(super) fn put_signed(out: &mut Vec<u8>, mut value: i64) {
    while !(-0x40..0x40).contains(&value) {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8 & 0x7f);
}

pub(super) fn put_prefixed(out: &mut Vec<u8>, bytes: &[u8]) {
    put_unsigned(out, bytes.len() as u64);
    out.extend(bytes);
}

/// Everything that `bytes` inflate to. All of them are one stream.
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

/// What is hashed: a chunk without magic and checksum.
fn framed(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![kind];
    put_prefixed(&mut out, body);
    out
}

pub(super) fn hash_of(kind: u8, body: &[u8]) -> Hash {
    Sha256::digest(framed(kind, body)).into()
}

/// The chunk around a body.
pub fn chunk(kind: u8, body: &[u8]) -> Vec<u8> {
    [&MAGIC[..], &hash_of(kind, body)[..4], &framed(kind, body)].concat()
}

/// A part of a file: 0 is a document, 1 a change, 3 a bundle. What was a compressed change, 2, is a change here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// What it is.
    pub kind: u8,
    /// What it says.
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
