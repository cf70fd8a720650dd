//! Lists of digests: how a line is written, how it is read, and how lines come out of a file.
//!
//! ```text
//! HEX  NAME                  the usual form
//! BLAKE3 (NAME) = HEX        the tagged form
//! \HEX  NAME                 either form with a backslash in front: NAME contains \\, \n or \r
//! ```
//! Reading accepts three more things that other programs or people put into such files, and notes each: `HEX *NAME`
//! and `HEX NAME`, uppercase digits, and comments or blank lines. `docs/sum.md` has the whole grammar.

mod lines;
mod parse;
mod render;

pub use lines::{LINE_LIMIT, Line, Lines};
pub use parse::{Entry, LineError, Note, Parsed, parse};
pub use render::{Frame, escape};

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
}

/// How the lines of a list are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Style {
    /// The function whose digests they are.
    pub algorithm: Algorithm,
    /// Lines end with NUL instead of LF, and names stand as they are, without escapes.
    pub zero: bool,
}
