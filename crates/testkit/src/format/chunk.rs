//! Framing of chunks: magic bytes, checksum, type, length.

use sha2::{Digest, Sha256};

use super::numbers::{Input, put_prefixed};

/// The first bytes of a chunk.
pub const MAGIC: [u8; 4] = [0x85, 0x6f, 0x4a, 0x83];

/// The hash of a change.
pub type Hash = [u8; 32];

/// Appends a chunk around a body.
pub fn seal(out: &mut Vec<u8>, kind: u8, body: &[u8]) {
    let start = out.len();
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&[0; 4]);
    out.push(kind);
    put_prefixed(out, body);
    let hash = hash(&out[start..]);
    out[start + 4..start + 8].copy_from_slice(&hash[..4]);
}

/// The chunk around a body.
pub fn chunk(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![];
    seal(&mut out, kind, body);
    out
}

/// The hash of a chunk: everything behind the checksum. For a chunk of type 1, the hash of the change.
pub fn hash(chunk: &[u8]) -> Hash {
    Sha256::digest(&chunk[8..]).into()
}

/// The next chunk: its type and its body. The checksum is not compared.
pub(crate) fn read_frame<'a>(input: &mut Input<'a>) -> Option<(u8, &'a [u8])> {
    if input.take(4)? != MAGIC {
        return None;
    }
    input.take(4)?;
    Some((input.byte()?, input.prefixed()?))
}
