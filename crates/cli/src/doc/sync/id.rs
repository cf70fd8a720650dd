//! What documents are called between peers: sixteen bytes in base 58, with a checksum.

use anyhow::Result;
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// In front of an id in a URL.
const SCHEME: &str = "automerge:";
const BYTES: usize = 16;
const CHECKSUM: usize = 4;

/// The name of a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DocumentId([u8; BYTES]);

impl DocumentId {
    /// A name that nothing has.
    pub(super) fn new() -> Result<DocumentId> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes)?;
        // Other programs make UUIDs of version 4.
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Ok(DocumentId(bytes))
    }

    /// The URL by which others find it.
    pub(super) fn url(&self) -> String {
        format!("{SCHEME}{self}")
    }
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM] {
    let digest = Sha256::digest(Sha256::digest(bytes));
    *digest.first_chunk().expect("a digest has 32 bytes")
}

impl fmt::Display for DocumentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = [&self.0[..], &checksum(&self.0)].concat();
        f.write_str(&bs58::encode(bytes).into_string())
    }
}

/// A word that names no document.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum BadId {
    #[error("not sixteen bytes in base 58 with a checksum")]
    Form,
    #[error("its checksum is wrong: some letter was mistyped")]
    Checksum,
    #[error("it names a document at a moment: leave away what is behind '#'")]
    Moment,
}

impl FromStr for DocumentId {
    type Err = BadId;

    fn from_str(word: &str) -> Result<Self, BadId> {
        let word = word.strip_prefix(SCHEME).unwrap_or(word);
        if word.contains('#') {
            return Err(BadId::Moment);
        }
        let mut bytes = [0; BYTES + CHECKSUM];
        let length = bs58::decode(word).onto(&mut bytes[..]).map_err(|_| BadId::Form)?;
        let (id, sum) = bytes.split_first_chunk::<BYTES>().ok_or(BadId::Form)?;
        match length == bytes.len() {
            false => Err(BadId::Form),
            true if checksum(id) != *sum => Err(BadId::Checksum),
            true => Ok(DocumentId(*id)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_what_its_word_says() {
        // As other programs wrote them.
        for word in ["4NMNnkMhL8jXrdJ9jamS58PAVdXu", "4ZMU8Po8a1VZwj2a78gQHGzZKo5c"] {
            let id: DocumentId = word.parse().expect("an id");
            assert_eq!((id.to_string(), id.url()), (word.to_owned(), format!("automerge:{word}")));
            assert_eq!(id.url().parse(), Ok(id));
            assert_eq!(id.0[6] >> 4, 4);
        }
        let made = DocumentId::new().expect("random bytes");
        assert_eq!(made.to_string().parse(), Ok(made));
        assert_ne!(made, DocumentId::new().expect("random bytes"));
    }

    #[test]
    fn other_words_are_refused() {
        let long = "1".repeat(1000);
        for (word, why) in [
            ("", BadId::Form),
            ("automerge:", BadId::Form),
            ("4NMNnkMhL8jXrdJ9jamS58PAVdXv", BadId::Checksum),
            ("4NMNnkMhL8jXrdJ9jamS58PA", BadId::Form),
            ("4NMNnkMhL8jXrdJ9jamS58PAVdX0", BadId::Form),
            ("4NMNnkMhL8jXrdJ9jamS58PAVdXu#2x", BadId::Moment),
            (&long, BadId::Form),
        ] {
            assert_eq!(word.parse::<DocumentId>(), Err(why), "{word}");
        }
    }
}
