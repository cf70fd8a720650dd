//! JSON forms of documents: contents, pointers, patches.
//!
//! JSON has fewer types than a document. [`ScalarEncoding::Plain`] is for other programs: counters and timestamps are numbers,
//! texts are strings, bytes are lists of numbers, and numbers that JSON cannot express are null. [`ScalarEncoding::Tagged`] keeps
//! all types and can be read back: values without a JSON type are objects with a key `__type`.
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
//! Neither contains the losers of conflicts, or marks: see [`ReadDoc::get_all`](crate::ReadDoc::get_all) and
//! [`ReadDoc::spans`](crate::ReadDoc::spans).

mod diff;
mod equal;
mod flat;
mod merge;
mod patch;
mod pointer;
mod read;
mod write;

pub use crate::interop::pointer_token::escape_token;
pub use diff::diff;
pub use flat::{UnflattenError, flatten, unflatten};
pub use merge::{MergeDiffError, merge_diff};
pub use patch::{MergePatchError, Patch, PatchError, PatchFault, PatchFormError, merge};
pub use pointer::{Pointer, PointerError, WriteTarget};
pub use read::{ReadError, read};
pub use write::{Layout, write};

/// Key with the type of a tagged value.
const TYPE: &str = "__type";
/// Key with its contents.
const VALUE: &str = "value";

/// Encoding of values without a JSON type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ScalarEncoding {
    /// As the closest JSON type.
    #[default]
    Plain,
    /// As objects tagged with their type.
    Tagged,
}
