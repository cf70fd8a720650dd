//! Checksum lists: their lines, readers and writers, and the table, audit and update of a list.
//!
//! ```text
//! HEX  NAME                  the usual form
//! BLAKE3 (NAME) = HEX        the tagged form
//! \HEX  NAME                 either form with a backslash in front: NAME contains \\, \n or \r
//! ```
//! A name that ends with a slash belongs to a directory, and its digest is that of the tree.
//!
//! Readers also accept other variants: `HEX *NAME` and `HEX NAME`, uppercase digits, comments and blank
//! lines, which are noted; lines of JSON as `sum --json` writes them, the armour of signed text, and
//! hashdeep's files, see [`ListReader`]. `docs/sum.md` has the whole grammar.

mod algorithm;
mod audit;
mod json;
mod line_reader;
mod list_reader;
mod parse;
mod render;
mod scope;
mod table;
mod unreadable_dirs;
mod update;

pub use algorithm::{Algorithm, UnsupportedAlgorithm};
pub use audit::{Audit, AuditEntry, AuditOutcome};
pub use line_reader::{LINE_LIMIT, LineReader, NumberedLine};
pub use list_reader::ListReader;
pub use parse::{Entry, LineError, LineWarning, Mode, ParsedLine, parse};
pub use render::{LineTemplate, can_be_read_back, escape};
pub use scope::Scope;
pub use table::{
    ChecksumTable, ReadError, TableEntry, TooMany, name_to_path, normalize_name, write_file, write_header,
};
pub use unreadable_dirs::UnreadableDirs;
pub use update::{ForeignJournal, ListUpdate, UpdateError, leftover_files};

use std::num::NonZero;

/// Format of the lines of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ListFormat {
    /// The function of written digests. Lines that are read may name another.
    pub algorithm: Algorithm,
    /// Bytes of BLAKE3's output in a digest, if other than 32. Read digests must have this length.
    pub length: Option<NonZero<u64>>,
    /// Lines end with NUL instead of LF, and names have no escapes.
    pub zero: bool,
    /// Names that are not UTF-8 are written byte for byte in lines that end with LF, too, as GNU's programs
    /// do. Without this, U+FFFD replaces invalid bytes, as in b3sum.
    pub bytes: bool,
    /// GNU's mark for binary files precedes the name, in forms that have a mark.
    pub binary: bool,
}
