//! The [`Hash`] type: thirty-two bytes that compare in constant time.

use crate::blake3::OUT_LEN;
use crate::blake3::kernel::Cv;
use crate::hex;
use core::fmt;
use core::str::FromStr;
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

/// A digest. Equality takes constant time, so that a digest may serve as an authentication code.
///
/// There is no order on digests: comparing by `<` would leak where they differ.
///
/// ```
/// use hashmill_hash::blake3::{Hash, hash};
///
/// let digest = hash(b"abc");
/// assert_eq!(Hash::from_hex(digest.to_string())?, digest);
/// assert!(Hash::from_hex("no hex").is_err());
/// # Ok::<(), hashmill_hash::blake3::HexError>(())
/// ```
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Hash([u8; OUT_LEN]);

impl Hash {
    #[inline]
    pub(in crate::blake3) fn from_words(words: &Cv) -> Hash {
        let mut bytes = [0; OUT_LEN];
        for (bytes, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
        Hash(bytes)
    }

    /// The bytes. Comparing them directly is not constant-time.
    pub const fn as_bytes(&self) -> &[u8; OUT_LEN] {
        &self.0
    }

    /// A digest of these bytes.
    pub const fn from_bytes(bytes: [u8; OUT_LEN]) -> Hash {
        Hash(bytes)
    }

    /// The bytes as a slice.
    pub const fn as_slice(&self) -> &[u8] {
        &self.0
    }

    /// A digest of these bytes, if there are thirty-two.
    ///
    /// # Errors
    /// Any other number of bytes.
    pub fn from_slice(bytes: &[u8]) -> Result<Hash, core::array::TryFromSliceError> {
        Ok(Hash(bytes.try_into()?))
    }

    /// The digest as sixty-four lowercase hexadecimal digits, without allocating.
    pub fn to_hex(&self) -> HexString {
        let mut digits = [0; 2 * OUT_LEN];
        for (pair, byte) in digits.as_chunks_mut::<2>().0.iter_mut().zip(self.0) {
            *pair = hex::digits(byte);
        }
        HexString(digits)
    }

    /// Parses sixty-four hexadecimal digits of either case.
    ///
    /// # Errors
    /// Another length, or a byte that is not a digit.
    pub fn from_hex(hex: impl AsRef<[u8]>) -> Result<Hash, HexError> {
        let hex = hex.as_ref();
        let (pairs, odd) = hex.as_chunks::<2>();
        if pairs.len() != OUT_LEN || !odd.is_empty() {
            return Err(HexError(HexFault::Length(hex.len())));
        }
        let mut bytes = [0; OUT_LEN];
        for (index, (byte, pair)) in bytes.iter_mut().zip(pairs).enumerate() {
            let [high, low] = *pair;
            *byte = nibble(high, 2 * index)? << 4 | nibble(low, 2 * index + 1)?;
        }
        Ok(Hash(bytes))
    }
}

fn nibble(digit: u8, at: usize) -> Result<u8, HexError> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        b'A'..=b'F' => Ok(digit - b'A' + 10),
        _ => Err(HexError(HexFault::Digit { byte: digit, at })),
    }
}

impl From<[u8; OUT_LEN]> for Hash {
    fn from(bytes: [u8; OUT_LEN]) -> Hash {
        Hash(bytes)
    }
}

impl From<Hash> for [u8; OUT_LEN] {
    fn from(hash: Hash) -> [u8; OUT_LEN] {
        hash.0
    }
}

impl AsRef<[u8]> for Hash {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl FromStr for Hash {
    type Err = HexError;

    fn from_str(hex: &str) -> Result<Hash, HexError> {
        Hash::from_hex(hex)
    }
}

impl PartialEq for Hash {
    fn eq(&self, other: &Hash) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Hash {}

impl PartialEq<[u8; OUT_LEN]> for Hash {
    fn eq(&self, other: &[u8; OUT_LEN]) -> bool {
        self.0.ct_eq(other).into()
    }
}

impl PartialEq<[u8]> for Hash {
    fn eq(&self, other: &[u8]) -> bool {
        self.0.ct_eq(other).into()
    }
}

impl core::hash::Hash for Hash {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl ConstantTimeEq for Hash {
    fn ct_eq(&self, other: &Hash) -> subtle::Choice {
        self.0.ct_eq(&other.0)
    }
}

impl Zeroize for Hash {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_hex().as_str())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Hash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // An array and not a byte string, for compatibility with existing data of BLAKE3 users.
        self.0.serialize(serializer)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Hash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Hash, D::Error> {
        <[u8; OUT_LEN]>::deserialize(deserializer).map(Hash)
    }
}

/// The hexadecimal digits of a [`struct@Hash`], on the stack.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HexString([u8; 2 * OUT_LEN]);

impl HexString {
    /// The digits.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.0).expect("hexadecimal digits are ASCII")
    }
}

impl core::ops::Deref for HexString {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for HexString {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for HexString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for HexString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// Error of [`Hash::from_hex`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HexError(HexFault);

#[derive(Clone, Debug, PartialEq, Eq)]
enum HexFault {
    Length(usize),
    Digit { byte: u8, at: usize },
}

impl fmt::Display for HexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            HexFault::Length(found) => write!(f, "a digest has 64 hexadecimal digits, found {found}"),
            HexFault::Digit { byte, at } => {
                write!(f, "'{}' at offset {at} is no hexadecimal digit", byte.escape_ascii())
            }
        }
    }
}

impl core::error::Error for HexError {}
