//! Actor ids: the identities of writers.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use smallvec::SmallVec;

use super::{ParseHexError, decode_hex, encode_hex};

/// Identity of one writer: any bytes, compared bytewise. Sixteen random bytes by default.
///
/// Two replicas that write concurrently must never share one.
#[derive(PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActorId(SmallVec<[u8; 16]>);

/// Copies the usual length of 16 bytes with a fixed-size copy; the vector's own clone goes byte by byte.
impl Clone for ActorId {
    #[inline]
    fn clone(&self) -> Self {
        match <[u8; 16]>::try_from(self.as_bytes()) {
            Ok(bytes) => Self(SmallVec::from_buf(bytes)),
            Err(_) => Self(SmallVec::from_slice(&self.0)),
        }
    }
}

impl ActorId {
    /// Sixteen fresh random bytes.
    ///
    /// # Panics
    /// If the operating system cannot provide random bytes.
    pub fn random() -> Self {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the operating system provides random bytes");
        Self(SmallVec::from_buf(bytes))
    }

    /// The raw bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Equality, with one comparison for the usual sixteen bytes.
    #[inline]
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (<&[u8; 16]>::try_from(self.as_bytes()), <&[u8; 16]>::try_from(other.as_bytes())) {
            (Ok(a), Ok(b)) => a == b,
            _ => self == other,
        }
    }

    /// Lowercase hexadecimal, as printed in object ids.
    pub fn to_hex(&self) -> String {
        encode_hex(&self.0)
    }

    /// The actor with which a document writes at earlier heads while its own later changes are not ancestors of these:
    /// a reserved prefix, the level of concurrency, then this actor. All implementations derive the same one.
    pub(crate) fn at_level(&self, level: u64) -> Self {
        const PREFIX: [u8; 4] = [0x13, 0xb2, 0x23, 0x09];
        let mut bytes = SmallVec::from_slice(&PREFIX);
        let mut rest = level;
        loop {
            let low = (rest & 0x7f) as u8;
            rest >>= 7;
            if rest == 0 {
                bytes.push(low);
                break;
            }
            bytes.push(low | 0x80);
        }
        bytes.extend_from_slice(&self.0);
        Self(bytes)
    }
}

/// Actor of a document, created on first use: requesting sixteen random bytes from the operating system takes longer
/// than a fork, and most forks are only read.
#[derive(Debug)]
pub(crate) enum Writer {
    Given(ActorId),
    /// Random, not generated before it is requested.
    Random(OnceLock<ActorId>),
}

impl Default for Writer {
    fn default() -> Self {
        Self::Random(OnceLock::new())
    }
}

impl Writer {
    #[inline]
    pub(crate) fn id(&self) -> &ActorId {
        match self {
            Self::Given(id) => id,
            Self::Random(id) => id.get_or_init(ActorId::random),
        }
    }
}

impl From<ActorId> for Writer {
    fn from(actor: ActorId) -> Self {
        Self::Given(actor)
    }
}

/// A copy writes with the same actor.
impl Clone for Writer {
    fn clone(&self) -> Self {
        Self::from(self.id().clone())
    }
}

impl From<&[u8]> for ActorId {
    fn from(bytes: &[u8]) -> Self {
        Self(SmallVec::from_slice(bytes))
    }
}

impl From<Vec<u8>> for ActorId {
    fn from(bytes: Vec<u8>) -> Self {
        Self(SmallVec::from_vec(bytes))
    }
}

impl<const N: usize> From<[u8; N]> for ActorId {
    fn from(bytes: [u8; N]) -> Self {
        Self(SmallVec::from_slice(&bytes))
    }
}

impl FromStr for ActorId {
    type Err = ParseHexError;

    fn from_str(hex: &str) -> Result<Self, Self::Err> {
        decode_hex(hex).map(Self::from)
    }
}

impl fmt::Display for ActorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex())
    }
}

impl fmt::Debug for ActorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ActorId({self})")
    }
}
