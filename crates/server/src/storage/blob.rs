//! Blobs: named by the BLAKE3 hash of their bytes, and stored while something needs them.
//!
//! A blob is needed by *references* of documents, and by *claims*: an identity that puts a blob, or removes a reference to it, has a
//! claim for a period.
//! Each reference and each claim counts for the stored bytes of one identity. A blob without both is removed.

use std::fmt;
use std::str::FromStr;

use hashmill_repo::DocumentId;

/// Name of a blob: the BLAKE3 hash of its bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlobHash(pub [u8; 32]);

/// A text that is no hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParseBlobHashError;

impl fmt::Display for BlobHash {
    /// Lower-case hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for BlobHash {
    type Err = ParseBlobHashError;

    /// Reads 64 lower-case hexadecimal digits: each blob has one name.
    fn from_str(text: &str) -> Result<BlobHash, ParseBlobHashError> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(ParseBlobHashError),
        };
        let mut bytes = [0; 32];
        if text.len() != 2 * bytes.len() {
            return Err(ParseBlobHashError);
        }
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = digit(digits[0])? << 4 | digit(digits[1])?;
        }
        Ok(BlobHash(bytes))
    }
}

impl fmt::Display for ParseBlobHashError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not the BLAKE3 hash of a blob: 64 hexadecimal digits, lower case")
    }
}

impl std::error::Error for ParseBlobHashError {}

/// A reference of a document to a blob.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct BlobReference {
    /// The document.
    pub document: DocumentId,
    /// The blob.
    pub blob: BlobHash,
    /// Name of the identity that added the reference. The bytes of the blob count for it.
    pub identity: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_blob_has_one_name() {
        let text = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";
        let hash: BlobHash = text.parse().expect("a hash");
        assert_eq!(hash.to_string(), text);
        for wrong in
            ["", "af", &text.to_uppercase(), &text[1..], &format!("{text}0"), &text.replace('a', "é")]
        {
            assert_eq!(wrong.parse::<BlobHash>(), Err(ParseBlobHashError), "{wrong}");
        }
    }
}
