//! Hexadecimal digits of digests and tags.

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// The two lowercase digits of a byte.
///
/// Inlined: a call takes three times the instructions for each byte.
#[inline]
pub const fn digits(byte: u8) -> [u8; 2] {
    [DIGITS[(byte >> 4) as usize], DIGITS[(byte & 15) as usize]]
}

/// Lowercase digits. The text is allocated once, so that no shorter copy of a secret's digits is left in freed memory.
///
/// ```
/// assert_eq!(hashmill_hash::hex::encode(&[0, 0x9a, 0xff]), "009aff");
/// ```
#[cfg(feature = "std")]
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for &byte in bytes {
        text.extend(digits(byte).map(char::from));
    }
    text
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_an_oracle() {
        let bytes: Vec<u8> = (0..=255).collect();
        let text = encode(&bytes);
        assert_eq!(text, hashmill_testkit::hex::encode(&bytes));
        assert_eq!(text.capacity(), text.len());
        assert_eq!(encode(&[]), "");
    }
}
