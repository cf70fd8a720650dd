//! Types of the document model: actors, hashes, ids and values. Independent of storage.

mod actor;
mod convert;
mod cursor;
pub(crate) mod error;
mod hash;
mod id;
pub(crate) mod literal;
mod numbers;
pub(crate) mod small_list;
mod value;

pub use actor::ActorId;
pub use cursor::{Cursor, CursorPosition, MoveCursor};
pub use hash::{ChangeHash, ParseHexError};
pub use id::{ObjId, ParseObjIdError, Prop, ROOT};
pub use value::{ObjType, ScalarValue, TextEncoding, Value};

pub(crate) use actor::Writer;
pub(crate) use hash::{decode_hex, encode_hex};
pub(crate) use id::OpId;
pub(crate) use numbers::{ActorIdx, ChangeIdx, KeyOpIdx, LeafIdx, NodeIdx, Number, ObjIdx, RegIdx, SpanIdx};
pub(crate) use value::Extent;
