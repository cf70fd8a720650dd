//! Document ids: bytes, written in base 58 with a checksum.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::base58check::{self, Base58Fault, MAX_PAYLOAD_BYTES};

/// The scheme of a document URL.
pub(super) const SCHEME: &str = "automerge:";

/// The id of a document. Programs make 16 random bytes, a UUID of version 4; other lengths up to 64 bytes exist. A clone
/// is cheap.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentId(Arc<[u8]>);

impl DocumentId {
    /// A new id from 16 random bytes, of which six bits are replaced by those of a UUID of version 4.
    pub fn from_random_bytes(bytes: [u8; 16]) -> DocumentId {
        DocumentId(Arc::new(super::uuid_v4(bytes)))
    }

    /// The id with these bytes, unless there are none or more than 64.
    pub fn from_bytes(bytes: &[u8]) -> Option<DocumentId> {
        (1..=MAX_PAYLOAD_BYTES).contains(&bytes.len()).then(|| DocumentId(bytes.into()))
    }

    /// The bytes of the id.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The URL of the document: `automerge:` and the id.
    pub fn url(&self) -> String {
        format!("{SCHEME}{self}")
    }
}

impl fmt::Display for DocumentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base58check::encode(&self.0))
    }
}

impl fmt::Debug for DocumentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DocumentId({self})")
    }
}

/// Text that is not a document id.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParseIdError {
    /// Other characters, or a wrong length.
    #[error("not an id in base 58 with a checksum, such as 4NMNnkMhL8jXrdJ9jamS58PAVdXu")]
    Form,
    /// The checksum does not match.
    #[error("its checksum is wrong: a letter was mistyped")]
    Checksum,
    /// A URL with heads.
    #[error("it names a version of a document: leave out '#' and what follows")]
    Version,
    /// A URL with a path.
    #[error("it names a place inside a document: leave out '/' and what follows")]
    Path,
}

impl From<Base58Fault> for ParseIdError {
    fn from(fault: Base58Fault) -> ParseIdError {
        match fault {
            Base58Fault::Form => ParseIdError::Form,
            Base58Fault::Checksum => ParseIdError::Checksum,
        }
    }
}

impl FromStr for DocumentId {
    type Err = ParseIdError;

    /// Parses an id, or the URL of a whole document. For URLs with heads or a path see [`DocumentUrl`](super::DocumentUrl).
    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let text = text.strip_prefix(SCHEME).unwrap_or(text);
        if text.contains('#') {
            return Err(ParseIdError::Version);
        }
        if text.contains('/') {
            return Err(ParseIdError::Path);
        }
        Ok(DocumentId(base58check::decode(text)?.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_round_trip() {
        // Written by other programs.
        for word in ["4NMNnkMhL8jXrdJ9jamS58PAVdXu", "4ZMU8Po8a1VZwj2a78gQHGzZKo5c"] {
            let id: DocumentId = word.parse().expect("an id");
            assert_eq!((id.to_string(), id.url()), (word.to_owned(), format!("automerge:{word}")));
            assert_eq!(id.url().parse(), Ok(id.clone()));
            assert_eq!((id.as_bytes().len(), id.as_bytes()[6] >> 4), (16, 4));
        }
        let random_id = DocumentId::from_random_bytes([0xff; 16]);
        assert_eq!(random_id.to_string().parse(), Ok(random_id.clone()));
        assert_eq!((random_id.as_bytes()[6], random_id.as_bytes()[8]), (0x4f, 0xbf));
        // Some programs choose ids of other lengths.
        for bytes in [&[7][..], &[0; 32], &[9; 64]] {
            let id = DocumentId::from_bytes(bytes).expect("a length in range");
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        assert_eq!(DocumentId::from_bytes(&[]), None);
        assert_eq!(DocumentId::from_bytes(&[0; 65]), None);
    }

    #[test]
    fn rejects_other_text() {
        let long = "1".repeat(1000);
        for (word, reason) in [
            ("", ParseIdError::Form),
            ("automerge:", ParseIdError::Form),
            ("4NMNnkMhL8jXrdJ9jamS58PAVdXv", ParseIdError::Checksum),
            ("4NMNnkMhL8jXrdJ9jamS58PA", ParseIdError::Checksum),
            ("4NMNnkMhL8jXrdJ9jamS58PAVdX0", ParseIdError::Form),
            ("4NMNnkMhL8jXrdJ9jamS58PAVdXu#2x", ParseIdError::Version),
            ("4NMNnkMhL8jXrdJ9jamS58PAVdXu/todos/0", ParseIdError::Path),
            (&long, ParseIdError::Form),
        ] {
            assert_eq!(word.parse::<DocumentId>(), Err(reason), "{word}");
        }
    }
}
