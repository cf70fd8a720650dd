//! Reasons why bytes are not a message.

/// Maximum number of characters of a peer's text in an error.
pub(super) const MAX_SHOWN_CHARS: usize = 40;

/// Bytes that are not a message. The peer that sent them is at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes are not CBOR, or a field has a value of another type.
    #[error("its CBOR cannot be read: {0}")]
    Cbor(String),
    /// A required field is absent, null or undefined.
    #[error("it lacks the field {0}")]
    Missing(&'static str),
    /// A field occurs twice.
    #[error("it has the field {0:?} twice")]
    Twice(String),
    /// A field is not a whole number from 0 to 2^53 - 1.
    #[error("its field {0} is not a whole number in range")]
    Number(&'static str),
    /// A head is not a hash in base 58 with a checksum.
    #[error("it has an invalid head for storage {0:?}")]
    Head(String),
    /// The message exceeds a limit.
    #[error("it has more than {limit} {what}")]
    Limit {
        /// The counted items.
        what: &'static str,
        /// Their maximum number.
        limit: usize,
    },
    /// Bytes follow the message.
    #[error("{0} bytes follow it")]
    Rest(usize),
}

impl From<minicbor::decode::Error> for DecodeError {
    fn from(error: minicbor::decode::Error) -> Self {
        Self::Cbor(error.to_string())
    }
}

/// The first characters of a peer's text, to show it in an error.
pub(crate) fn shorten(text: &str, max_chars: usize) -> String {
    text.chars().take(max_chars).collect()
}
