//! The container: a file is any concatenation of chunks, each with its checksum.

use std::borrow::Cow;

use sha2::block_api::compress256;
use sha2::{Digest, Sha256};

use super::column::{ChunkError, Fault};
use super::deflate::{Inflate, inflate, inflate_each};
use super::leb::{len_u64, put_u64};
use super::limits::Limits;
use super::reader::Reader;
use crate::error::Rule;
use crate::types::ChangeHash;

/// The bytes every chunk starts with.
pub(crate) const MAGIC: [u8; 4] = [0x85, 0x6f, 0x4a, 0x83];

/// What a chunk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChunkType {
    Document = 0,
    Change = 1,
    Deflated = 2,
    Bundle = 3,
}

/// A chunk whose checksum was right. A deflated change has become a plain one.
#[derive(Debug)]
pub(crate) struct Chunk<'a> {
    pub(crate) kind: ChunkType,
    pub(crate) hash: ChangeHash,
    /// Without the header.
    pub(crate) body: Cow<'a, [u8]>,
    /// Length of the header in the input, for offsets in errors.
    pub(crate) header: usize,
}

/// A chunk whose checksum was right and whose contents cannot be had.
#[derive(Debug)]
pub(crate) struct UnreadableChunk {
    /// Whether it is one change, whose hash is that of the chunk.
    pub(crate) is_change: bool,
    pub(crate) hash: ChangeHash,
    pub(crate) why: ChunkError,
}

/// Where a chunk of a file lies, whatever is in it.
pub(crate) struct Frame<'a> {
    pub(crate) kind: u8,
    /// As it stands in the file: deflated, if it is.
    pub(crate) body: &'a [u8],
    header: usize,
    checksum: [u8; 4],
    /// The chunk from its type on.
    from_type: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Passes over one chunk.
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self, Rule> {
        let start = reader.offset();
        let begin = &reader.rest()[..reader.rest().len().min(MAGIC.len())];
        if !MAGIC.starts_with(begin) {
            return Err(Rule::Magic);
        }
        reader.take(MAGIC.len())?;
        let checksum: [u8; 4] = reader.array()?;
        let from_type = reader.rest();
        let [kind] = reader.array()?;
        let len = reader.len()?;
        let header = reader.offset() - start;
        let body = reader.take(len)?;
        Ok(Self { kind, body, header, checksum, from_type: &from_type[..header - 8 + len] })
    }

    /// Whether it says what it is.
    pub(crate) fn is_known(&self) -> bool {
        self.kind <= ChunkType::Bundle as u8
    }
}

/// A chunk whose checksum nobody has looked at yet.
#[derive(Debug)]
pub(crate) struct Sealed<'a> {
    pub(crate) kind: ChunkType,
    pub(crate) body: Cow<'a, [u8]>,
    pub(crate) header: usize,
    checksum: [u8; 4],
    /// The chunk from its type on, when that is what is hashed.
    plain: Option<&'a [u8]>,
}

impl<'a> Sealed<'a> {
    /// Reads one chunk. Offsets in errors count from its beginning.
    pub(crate) fn read(reader: &mut Reader<'a>, limits: &Limits) -> Result<Self, ChunkError> {
        Self::unpack(&Frame::read(reader).map_err(|rule| Fault::at(0, rule))?, limits)
    }

    fn unpack(frame: &Frame<'a>, limits: &Limits) -> Result<Self, ChunkError> {
        let fault = |rule| Fault::at(0, rule);
        let Frame { kind, body, header, checksum, from_type } = *frame;
        // Lengths are minimal, so these are the bytes that a chunk has wherever it is written.
        let plain = (kind != ChunkType::Deflated as u8).then_some(from_type);
        let (kind, body) = match kind {
            0 => (ChunkType::Document, Cow::Borrowed(body)),
            1 => (ChunkType::Change, Cow::Borrowed(body)),
            2 => match inflate(body, limits.inflated_bytes) {
                Ok(body) => (ChunkType::Change, Cow::Owned(body)),
                Err(Inflate::Corrupt) => return Err(fault(Rule::Deflate).into()),
                Err(Inflate::TooLong) => {
                    return Err(ChunkError::limit(super::limits::INFLATED, limits.inflated_bytes));
                }
            },
            3 => (ChunkType::Bundle, Cow::Borrowed(body)),
            other => return Err(fault(Rule::ChunkType(other)).into()),
        };
        Ok(Self { kind, body, header, checksum, plain })
    }

    /// Whether the checksum is right.
    pub(crate) fn is_sound(&self) -> bool {
        self.hash().0[..4] == self.checksum
    }

    fn hash(&self) -> ChangeHash {
        self.plain.map_or_else(|| hash_chunk(self.kind, &self.body), hash_of)
    }

    /// The chunk, whatever the checksum says, and whether it is right.
    pub(crate) fn open_any(self) -> (Chunk<'a>, bool) {
        let hash = self.hash();
        let Self { kind, body, header, checksum, .. } = self;
        (Chunk { kind, hash, body, header }, hash.0[..4] == checksum)
    }

    /// The chunk, if its checksum is right.
    pub(crate) fn open(self) -> Result<Chunk<'a>, ChunkError> {
        let (chunk, sound) = self.open_any();
        if sound { Ok(chunk) } else { Err(Self::broken()) }
    }

    /// What a wrong checksum is answered with.
    pub(crate) fn broken() -> ChunkError {
        Fault::at(0, Rule::Checksum).into()
    }
}

impl<'a> Chunk<'a> {
    /// Reads one chunk. Offsets in errors count from its beginning.
    pub(crate) fn read(reader: &mut Reader<'a>, limits: &Limits) -> Result<Self, ChunkError> {
        Sealed::read(reader, limits)?.open()
    }

    /// As [`Self::read`], but a sound chunk whose contents are of an unknown kind or beyond the limits gives its name.
    /// An error means that the bytes are not sound.
    pub(crate) fn read_or_name(
        reader: &mut Reader<'a>,
        limits: &Limits,
        hashable: &mut u64,
    ) -> Result<Result<Self, UnreadableChunk>, ChunkError> {
        let frame = Frame::read(reader).map_err(|rule| Fault::at(0, rule))?;
        let known = frame.is_known();
        let why = match Sealed::unpack(&frame, limits) {
            Ok(sealed) => return Ok(Ok(sealed.open()?)),
            Err(why @ ChunkError::Limit(_)) => why,
            Err(why) if !known => why,
            Err(why) => return Err(why),
        };
        let hash = match known {
            true => hash_deflated(frame.body, hashable).ok_or_else(|| why.clone())?,
            false => hash_of(frame.from_type),
        };
        if hash.0[..4] != frame.checksum {
            return Err(Sealed::broken());
        }
        Ok(Err(UnreadableChunk { is_change: frame.kind == ChunkType::Deflated as u8, hash, why }))
    }

    /// As [`Self::read`], whatever the checksum says; gives whether it is right.
    pub(crate) fn read_any(reader: &mut Reader<'a>, limits: &Limits) -> Result<(Self, bool), ChunkError> {
        Ok(Sealed::read(reader, limits)?.open_any())
    }
}

/// The hash that names a chunk: over its type, length and body.
pub(crate) fn hash_chunk(kind: ChunkType, body: &[u8]) -> ChangeHash {
    let mut hasher = hasher(kind, body.len() as u64);
    hasher.update(body);
    ChangeHash(hasher.finalize().into())
}

/// What hashes a chunk, once it has seen type and length.
fn hasher(kind: ChunkType, mut len: u64) -> Sha256 {
    let mut head: smallvec::SmallVec<[u8; 16]> = smallvec::smallvec![kind as u8];
    while len > 0x7f {
        head.push(len as u8 | 0x80);
        len >>= 7;
    }
    head.push(len as u8);
    let mut hasher = Sha256::new();
    hasher.update(&head);
    hasher
}

/// The hash of a deflated change, without keeping what it inflates to. Nothing where that is corrupt or more than
/// `hashable` bytes, which shrink by it.
fn hash_deflated(deflated: &[u8], hashable: &mut u64) -> Option<ChangeHash> {
    // The length is hashed first, so the bytes are inflated twice.
    let mut len = 0;
    inflate_each(deflated, *hashable, |piece| len += piece.len() as u64).ok()?;
    let mut hasher = hasher(ChunkType::Change, len);
    inflate_each(deflated, *hashable, |piece| hasher.update(piece)).ok()?;
    *hashable -= len;
    Some(ChangeHash(hasher.finalize().into()))
}

/// What SHA-256 starts from.
pub(super) const START: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// The hash of a chunk that lies somewhere from its type on: only what its last block lacks is written anew.
pub(super) fn hash_of(chunk: &[u8]) -> ChangeHash {
    let (blocks, rest) = chunk.as_chunks::<64>();
    let mut state = START;
    compress256(&mut state, blocks);
    let mut end = [0; 128];
    end[..rest.len()].copy_from_slice(rest);
    end[rest.len()] = 0x80;
    let len = (rest.len() + 9).next_multiple_of(64);
    end[len - 8..len].copy_from_slice(&(8 * chunk.len() as u64).to_be_bytes());
    compress256(&mut state, end[..len].as_chunks().0);
    digest(state)
}

pub(super) fn digest(state: [u32; 8]) -> ChangeHash {
    let mut hash = [0; 32];
    for (out, word) in hash.as_chunks_mut().0.iter_mut().zip(state) {
        *out = word.to_be_bytes();
    }
    ChangeHash(hash)
}

/// Puts the header before a body in pieces. They are copied only once: what is hashed lies together in the chunk.
pub(crate) fn frame(kind: ChunkType, body: &[&[u8]]) -> Vec<u8> {
    let len: usize = body.iter().map(|piece| piece.len()).sum();
    let mut out = Vec::with_capacity(9 + len_u64(len as u64) + len);
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&[0; 4]);
    out.push(kind as u8);
    put_u64(&mut out, len as u64);
    body.iter().for_each(|piece| out.extend_from_slice(piece));
    let hash = hash_of(&out[8..]);
    out[4..8].copy_from_slice(&hash.0[..4]);
    out
}

/// Puts the header before a body whose checksum is known. A deflated change carries that of the plain one.
pub(crate) fn frame_with(kind: ChunkType, body: &[u8], hash: &ChangeHash) -> Vec<u8> {
    let mut out = Vec::with_capacity(9 + len_u64(body.len() as u64) + body.len());
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&hash.0[..4]);
    out.push(kind as u8);
    put_u64(&mut out, body.len() as u64);
    out.extend_from_slice(body);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<ChunkType, Rule> {
        match Chunk::read(&mut Reader::new(bytes), &Limits::default()) {
            Ok(chunk) => Ok(chunk.kind),
            Err(ChunkError::Fault(fault)) => Err(fault.rule),
            Err(ChunkError::Limit(limit)) => panic!("{limit}"),
        }
    }

    #[test]
    fn frames_are_checked() {
        let good = frame(ChunkType::Change, &[b"body"]);
        assert_eq!(read(&good), Ok(ChunkType::Change));
        for (at, rule) in [(0, Rule::Magic), (4, Rule::Checksum), (good.len() - 1, Rule::Checksum)] {
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert_eq!(read(&bad), Err(rule));
        }
        assert_eq!(frame(ChunkType::Change, &[b"bo", b"", b"dy"]), good);
        assert_eq!(frame_with(ChunkType::Change, b"body", &hash_chunk(ChunkType::Change, b"body")), good);
        let mut unknown = good.clone();
        unknown[8] = 9;
        assert_eq!(read(&unknown), Err(Rule::ChunkType(9)));
        for len in 0..good.len() {
            assert_eq!(read(&good[..len]), Err(Rule::Truncated));
        }
    }

    #[test]
    fn a_chunk_beyond_the_limits_has_its_name() {
        let body = b"a body that repeats ".repeat(10_000);
        let hash = hash_chunk(ChunkType::Change, &body);
        let deflated = crate::codec::deflate::deflate(&body, crate::codec::deflate::Effort::Texts);
        let packed = frame_with(ChunkType::Deflated, &deflated, &hash);
        let limits = Limits { inflated_bytes: 1000, ..Limits::default() };
        let name = |bytes: &[u8], mut hashable: u64| {
            let read = Chunk::read_or_name(&mut Reader::new(bytes), &limits, &mut hashable);
            read.map(|read| read.map(|chunk| chunk.hash).map_err(|chunk| (chunk.is_change, chunk.hash)))
        };
        let len = body.len() as u64;
        assert_eq!(name(&packed, len), Ok(Err((true, hash))));
        assert_eq!(name(&packed, len - 1), Err(ChunkError::limit("inflated bytes", 1000)));
        let mut wrong = packed;
        wrong[4] ^= 1;
        assert_eq!(name(&wrong, len), Err(Sealed::broken()));
        // A kind of a later version.
        let mut later = frame(ChunkType::Change, &[b"body"]);
        later[8] = 9;
        assert_eq!(name(&later, 0), Err(Sealed::broken()));
        let hash = hash_of(&later[8..]);
        later[4..8].copy_from_slice(&hash.0[..4]);
        assert_eq!(name(&later, 0), Ok(Err((false, hash))));
    }
}
