//! Digests and extended output.

mod digest;
mod reader;

pub use digest::{Hash, HexError, HexString};
pub(super) use reader::Output;
pub use reader::OutputReader;
