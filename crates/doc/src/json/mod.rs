//! Documents as JSON: what is in them, and where.
//!
//! JSON has fewer kinds of values than a document. [`Form::Plain`] is what another program wants to read: counters and
//! times are numbers, texts are strings, bytes are lists of numbers, and a number that JSON lacks is null. [`Form::Tagged`]
//! keeps every kind apart and can be read back: what JSON has no form for is an object with a key `__type`.
//!
//! | value | plain | tagged |
//! |---|---|---|
//! | null, boolean, signed number, string | itself | itself |
//! | unsigned number | itself | itself above 2^63 − 1, else `{"__type": "uint", "value": 7}` |
//! | floating point | with a point; null where it is not finite | with a point; `{"__type": "f64", "value": "NaN"}` |
//! | text | a string | `{"__type": "text", "value": "…"}` |
//! | counter, timestamp | a number | `{"__type": "counter", "value": 7}` |
//! | bytes | a list of numbers | `{"__type": "bytes", "value": "0a0b"}`, hexadecimal |
//! | of an unknown type | a list of numbers | `{"__type": 12, "value": "0a0b"}` |
//! | a map with a key `__type` | itself | `{"__type": "map", "value": {…}}` |
//!
//! Neither says what lost a conflict, nor marks: see [`ReadDoc::get_all`](crate::ReadDoc::get_all) and
//! [`ReadDoc::spans`](crate::ReadDoc::spans).

mod diff;
mod equal;
mod flat;
mod merge;
mod patch;
mod pointer;
mod read;
mod write;

pub use diff::diff;
pub use flat::{UnflattenError, flatten, unflatten};
pub use merge::{MergeDiffError, merge_diff};
pub use patch::{MergePatchError, Patch, PatchError, PatchFault, PatchFormError, merge};
pub use pointer::{Place, Pointer, PointerError};
pub use read::{ReadError, read};
pub use write::{Layout, write};

/// The key that tells what JSON has no form for.
const TYPE: &str = "__type";
/// The key beside it.
const VALUE: &str = "value";

/// How values are said that JSON has no form for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Form {
    /// As what comes nearest.
    #[default]
    Plain,
    /// As objects that say what they are.
    Tagged,
}
