//! Lists of digests: how a line is written, how it is read, and how lines come out of a file.
//!
//! ```text
//! HEX  NAME                  the usual form
//! BLAKE3 (NAME) = HEX        the tagged form
//! \HEX  NAME                 either form with a backslash in front: NAME contains \\, \n or \r
//! ```
//! A name that ends with a slash is that of a directory, and the digest that of its tree.
//!
//! Reading accepts more that other programs or people put into such files: `HEX *NAME` and `HEX NAME`, uppercase
//! digits, comments and blank lines, which are noted; lines of JSON as `sum --json` writes them, the armour of
//! signed text, and hashdeep's files, see [`List`]. `docs/sum.md` has the whole grammar.

mod algorithm;
mod json;
mod lines;
mod list;
mod parse;
mod render;

pub use algorithm::{Algorithm, Foreign};
pub use lines::{LINE_LIMIT, Line, Lines};
pub use list::List;
pub(crate) use list::MANIFEST;
pub use parse::{Entry, LineError, Mode, Note, Parsed, parse};
pub use render::{Frame, can_be_read_back, escape};

use std::num::NonZero;

/// How the lines of a list are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Style {
    /// The function whose digests are written. Lines that are read name theirs, or leave it open.
    pub algorithm: Algorithm,
    /// How many bytes of BLAKE3's output the digests are, if it is not the usual 32. Read is what has as many.
    pub length: Option<NonZero<u64>>,
    /// Lines end with NUL instead of LF, and names stand as they are, without escapes.
    pub zero: bool,
    /// Names that are no UTF-8 stand byte for byte in lines that end with LF, too, as GNU's programs write them. Without
    /// this, U+FFFD stands for what is none, as b3sum writes it.
    pub bytes: bool,
    /// The mark of GNU's programs for binary files stands before the name, where there is a mark.
    pub binary: bool,
}
