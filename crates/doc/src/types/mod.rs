//! The words of the document model: actors, hashes, identifiers and values. Nothing here knows how they are stored.

mod actor;
mod convert;
mod cursor;
mod hash;
mod id;
mod numbers;
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
