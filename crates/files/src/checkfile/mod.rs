//! Lists of digests: how a line is written, how it is read, and how lines come out of a file.
//!
//! ```text
//! HEX  NAME                  the usual form
//! BLAKE3 (NAME) = HEX        the tagged form
//! \HEX  NAME                 either form with a backslash in front: NAME contains \\, \n or \r
//! ```
//! A name that ends with a slash is that of a directory, and the digest that of its tree.
//!
//! Reading accepts three more things that other programs or people put into such files, and notes each: `HEX *NAME`
//! and `HEX NAME`, uppercase digits, and comments or blank lines. `docs/sum.md` has the whole grammar.

mod foreign;
mod lines;
mod parse;
mod render;

pub use foreign::Foreign;
pub use lines::{LINE_LIMIT, Line, Lines};
pub use parse::{Entry, LineError, Note, Parsed, parse};
pub use render::{Frame, can_be_read_back, escape};

/// What a list is made with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Algorithm {
    /// BLAKE3.
    #[default]
    Blake3,
    /// SHA-256.
    Sha256,
}

impl Algorithm {
    /// The name in tagged lines.
    pub const fn tag(self) -> &'static str {
        match self {
            Algorithm::Blake3 => "BLAKE3",
            Algorithm::Sha256 => "SHA256",
        }
    }

    /// The name in sentences.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Blake3 => "BLAKE3",
            Algorithm::Sha256 => "SHA-256",
        }
    }

    /// The one with this name in tagged lines.
    pub fn by_tag(tag: &[u8]) -> Option<Algorithm> {
        [Algorithm::Blake3, Algorithm::Sha256].into_iter().find(|known| known.tag().as_bytes() == tag)
    }
}

/// How the lines of a list are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Style {
    /// The function whose digests are written. Lines that are read name theirs, or leave it open.
    pub algorithm: Algorithm,
    /// Lines end with NUL instead of LF, and names stand as they are, without escapes.
    pub zero: bool,
}
