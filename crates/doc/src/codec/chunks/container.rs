//! Container format: a file is a concatenation of chunks, each with a checksum.

use std::borrow::Cow;

use sha2::block_api::compress256;
use sha2::{Digest, Sha256};

use crate::codec::bytes::leb::{len_u64, put_u64};
use crate::codec::bytes::reader::Reader;
use crate::codec::columns::deflate::{Inflate, inflate, inflate_each};
use crate::codec::columns::section::{ChunkError, FormatFault};
use crate::codec::limits::Limits;
use crate::types::ChangeHash;
use crate::types::error::Rule;

/// The bytes every chunk starts with.
pub(crate) const MAGIC: [u8; 4] = [0x85, 0x6f, 0x4a, 0x83];

/// Type of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChunkType {
    Document = 0,
    Change = 1,
    Deflated = 2,
    Bundle = 3,
}

/// A chunk with a valid checksum. A deflated change is already inflated.
#[derive(Debug)]
pub(crate) struct Chunk<'a> {
    pub(crate) kind: ChunkType,
    pub(crate) hash: ChangeHash,
    /// Without the header.
    pub(crate) body: Cow<'a, [u8]>,
    /// Length of the header in the input, for offsets in errors.
    pub(crate) header: usize,
}

/// A chunk with a valid checksum and unreadable contents.
#[derive(Debug)]
pub(crate) struct UnreadableChunk {
    /// Is it a change chunk, whose hash is that of the chunk?
    pub(crate) is_change: bool,
    pub(crate) hash: ChangeHash,
    /// First bytes of its body, with the dependencies of a change.
    pub(crate) start: Vec<u8>,
    pub(crate) reason: ChunkError,
}

/// Position of a chunk in a file, independent of its contents.
pub(crate) struct ChunkSpan<'a> {
    pub(crate) kind: u8,
    /// As stored in the file, deflated or not.
    pub(crate) body: &'a [u8],
    header: usize,
    checksum: [u8; 4],
    /// The chunk from its type on.
    from_type: &'a [u8],
}

impl<'a> ChunkSpan<'a> {
    /// Reads the header of one chunk and skips its body.
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self, Rule> {
        let start = reader.offset();
        let begin = &reader.rest()[..reader.rest().len().min(MAGIC.len())];
        if !MAGIC.starts_with(begin) {
            return Err(Rule::Magic);
        }
        reader.read_bytes(MAGIC.len())?;
        let checksum: [u8; 4] = reader.array()?;
        let from_type = reader.rest();
        let [kind] = reader.array()?;
        let len = reader.len()?;
        let header = reader.offset() - start;
        let body = reader.read_bytes(len)?;
        Ok(Self { kind, body, header, checksum, from_type: &from_type[..header - 8 + len] })
    }

    /// Is the chunk type known?
    pub(crate) fn is_known(&self) -> bool {
        self.kind <= ChunkType::Bundle as u8
    }
}

/// A chunk whose checksum is not verified yet.
#[derive(Debug)]
pub(crate) struct UncheckedChunk<'a> {
    pub(crate) kind: ChunkType,
    pub(crate) body: Cow<'a, [u8]>,
    pub(crate) header: usize,
    checksum: [u8; 4],
    /// The chunk from its type on, if that is what the hash covers.
    plain: Option<&'a [u8]>,
}

impl<'a> UncheckedChunk<'a> {
    /// Reads one chunk. Offsets in errors are relative to its start.
    pub(crate) fn read(reader: &mut Reader<'a>, limits: &Limits) -> Result<Self, ChunkError> {
        Self::unpack(&ChunkSpan::read(reader).map_err(|rule| FormatFault::at(0, rule))?, limits)
    }

    fn unpack(frame: &ChunkSpan<'a>, limits: &Limits) -> Result<Self, ChunkError> {
        let fault = |rule| FormatFault::at(0, rule);
        let ChunkSpan { kind, body, header, checksum, from_type } = *frame;
        // Lengths have minimal encoding, so these bytes are the same wherever the chunk is written.
        let plain = (kind != ChunkType::Deflated as u8).then_some(from_type);
        let (kind, body) = match kind {
            0 => (ChunkType::Document, Cow::Borrowed(body)),
            1 => (ChunkType::Change, Cow::Borrowed(body)),
            2 => match inflate(body, limits.inflated_bytes) {
                Ok(body) => (ChunkType::Change, Cow::Owned(body)),
                Err(Inflate::Corrupt) => return Err(fault(Rule::Deflate).into()),
                Err(Inflate::TooLong) => {
                    return Err(ChunkError::limit(crate::codec::limits::INFLATED, limits.inflated_bytes));
                }
            },
            3 => (ChunkType::Bundle, Cow::Borrowed(body)),
            other => return Err(fault(Rule::ChunkType(other)).into()),
        };
        Ok(Self { kind, body, header, checksum, plain })
    }

    /// Is the checksum valid?
    pub(crate) fn is_sound(&self) -> bool {
        self.hash().0[..4] == self.checksum
    }

    fn hash(&self) -> ChangeHash {
        self.plain.map_or_else(|| hash_chunk(self.kind, &self.body), hash_of)
    }

    /// The chunk even with a wrong checksum, and whether the checksum is valid.
    pub(crate) fn open_any(self) -> (Chunk<'a>, bool) {
        let hash = self.hash();
        let Self { kind, body, header, checksum, .. } = self;
        (Chunk { kind, hash, body, header }, hash.0[..4] == checksum)
    }

    /// The chunk, if its checksum is valid.
    pub(crate) fn open(self) -> Result<Chunk<'a>, ChunkError> {
        let (chunk, sound) = self.open_any();
        if sound { Ok(chunk) } else { Err(Self::broken()) }
    }

    /// Error for a wrong checksum.
    pub(crate) fn broken() -> ChunkError {
        FormatFault::at(0, Rule::Checksum).into()
    }
}

impl<'a> Chunk<'a> {
    /// Reads one chunk. Offsets in errors are relative to its start.
    pub(crate) fn read(reader: &mut Reader<'a>, limits: &Limits) -> Result<Self, ChunkError> {
        UncheckedChunk::read(reader, limits)?.open()
    }

    /// As [`Self::read`], but returns the hash of a chunk with a valid checksum whose type is unknown or whose contents
    /// exceed the limits. An error means that the bytes are damaged.
    pub(crate) fn read_or_name(
        reader: &mut Reader<'a>,
        limits: &Limits,
        hashable: &mut u64,
    ) -> Result<Result<Self, UnreadableChunk>, ChunkError> {
        let frame = ChunkSpan::read(reader).map_err(|rule| FormatFault::at(0, rule))?;
        let known = frame.is_known();
        let reason = match UncheckedChunk::unpack(&frame, limits) {
            Ok(sealed) => return Ok(Ok(sealed.open()?)),
            Err(reason @ ChunkError::Limit(_)) => reason,
            Err(reason) if !known => reason,
            Err(reason) => return Err(reason),
        };
        let (hash, start) = match known {
            true => hash_deflated(frame.body, hashable).ok_or_else(|| reason.clone())?,
            false => (hash_of(frame.from_type), vec![]),
        };
        if hash.0[..4] != frame.checksum {
            return Err(UncheckedChunk::broken());
        }
        Ok(Err(UnreadableChunk { is_change: frame.kind == ChunkType::Deflated as u8, hash, start, reason }))
    }

    /// As [`Self::read`], even with a wrong checksum; returns whether it is valid.
    pub(crate) fn read_any(reader: &mut Reader<'a>, limits: &Limits) -> Result<(Self, bool), ChunkError> {
        Ok(UncheckedChunk::read(reader, limits)?.open_any())
    }
}

/// Hash of a chunk: over its type, length and body.
pub(crate) fn hash_chunk(kind: ChunkType, body: &[u8]) -> ChangeHash {
    let mut hasher = hasher(kind, body.len() as u64);
    hasher.update(body);
    ChangeHash(hasher.finalize().into())
}

/// A hasher that was fed with type and length.
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

/// Number of bytes kept of a change that inflates to too much: a count and 4096 dependencies.
const START_LEN: usize = 10 + (32 << 12);

/// Hash and first bytes of a deflated change, computed without storing the inflated bytes. `None` if they are corrupt
/// or exceed `hashable`, from which their length is subtracted.
fn hash_deflated(deflated: &[u8], hashable: &mut u64) -> Option<(ChangeHash, Vec<u8>)> {
    // The length is hashed first, so the bytes are inflated twice.
    let mut len = 0;
    inflate_each(deflated, *hashable, |piece| len += piece.len() as u64).ok()?;
    let mut hasher = hasher(ChunkType::Change, len);
    let mut start = vec![];
    let each = |piece: &[u8]| {
        hasher.update(piece);
        start.extend_from_slice(&piece[..piece.len().min(START_LEN - start.len())]);
    };
    inflate_each(deflated, *hashable, each).ok()?;
    *hashable -= len;
    Some((ChangeHash(hasher.finalize().into()), start))
}

/// Initial state of SHA-256.
pub(in crate::codec) const START: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// Hash of a chunk in memory from its type on. Only the padding of the last block is written to a buffer.
pub(in crate::codec) fn hash_of(chunk: &[u8]) -> ChangeHash {
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

pub(in crate::codec) fn digest(state: [u32; 8]) -> ChangeHash {
    let mut hash = [0; 32];
    for (out, word) in hash.as_chunks_mut().0.iter_mut().zip(state) {
        *out = word.to_be_bytes();
    }
    ChangeHash(hash)
}

/// Adds the header to a body in parts. They are copied once, and the hashed bytes are contiguous in the chunk.
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

/// Adds the header to a body with a known hash. A deflated change has the checksum of the plain one.
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
    fn chunk_beyond_the_limits_returns_its_hash() {
        let body = b"a body that repeats ".repeat(10_000);
        let hash = hash_chunk(ChunkType::Change, &body);
        let deflated =
            crate::codec::columns::deflate::deflate(&body, crate::codec::columns::deflate::Effort::Texts);
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
        assert_eq!(name(&wrong, len), Err(UncheckedChunk::broken()));
        // A chunk type of a later version.
        let mut later = frame(ChunkType::Change, &[b"body"]);
        later[8] = 9;
        assert_eq!(name(&later, 0), Err(UncheckedChunk::broken()));
        let hash = hash_of(&later[8..]);
        later[4..8].copy_from_slice(&hash.0[..4]);
        assert_eq!(name(&later, 0), Ok(Err((false, hash))));
    }
}
