//! Change hashes, and hexadecimal text.

use std::fmt;
use std::str::FromStr;

/// Hash that identifies a change: SHA-256 of its uncompressed chunk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChangeHash(pub [u8; 32]);

impl ChangeHash {
    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first eight bytes as a number. They are uniformly distributed, so tables use them as a hash.
    pub(crate) fn prefix(&self) -> u64 {
        let mut first = [0; 8];
        first.copy_from_slice(&self.0[..8]);
        u64::from_le_bytes(first)
    }
}

impl FromStr for ChangeHash {
    type Err = ParseHexError;

    fn from_str(hex: &str) -> Result<Self, Self::Err> {
        let bytes = decode_hex(hex)?;
        let len = bytes.len();
        bytes.try_into().map(Self).map_err(|_| ParseHexError::Length { bytes: len })
    }
}

impl fmt::Display for ChangeHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&encode_hex(&self.0))
    }
}

impl fmt::Debug for ChangeHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChangeHash({self})")
    }
}

/// Text that is not hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseHexError {
    /// A character outside `0-9a-fA-F`, or an odd number of digits.
    #[error("character {at} is not one of an even number of hexadecimal digits")]
    Digit {
        /// Byte offset of the character.
        at: usize,
    },
    /// Valid hexadecimal of the wrong length.
    #[error("a change hash has 32 bytes, not {bytes}")]
    Length {
        /// Number of bytes in the text.
        bytes: usize,
    },
}

pub(crate) fn encode_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)] as char);
        text.push(DIGITS[usize::from(byte & 15)] as char);
    }
    text
}

pub(crate) fn decode_hex(hex: &str) -> Result<Vec<u8>, ParseHexError> {
    let digit = |at: usize, byte: u8| match byte {
        b'0'..=b'9' => Ok(byte - b'0'),
        b'a'..=b'f' => Ok(byte - b'a' + 10),
        b'A'..=b'F' => Ok(byte - b'A' + 10),
        _ => Err(ParseHexError::Digit { at }),
    };
    let (pairs, odd) = hex.as_bytes().as_chunks::<2>();
    if !odd.is_empty() {
        return Err(ParseHexError::Digit { at: hex.len() - 1 });
    }
    pairs
        .iter()
        .enumerate()
        .map(|(i, [high, low])| Ok(digit(2 * i, *high)? << 4 | digit(2 * i + 1, *low)?))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_round_trips_and_errors_name_the_character() {
        assert_eq!(decode_hex(&encode_hex(&[0, 1, 0xab, 0xff])), Ok(vec![0, 1, 0xab, 0xff]));
        assert_eq!(decode_hex("0G"), Err(ParseHexError::Digit { at: 1 }));
        assert_eq!(decode_hex("012"), Err(ParseHexError::Digit { at: 2 }));
        assert_eq!("00".parse::<ChangeHash>(), Err(ParseHexError::Length { bytes: 1 }));
    }
}
