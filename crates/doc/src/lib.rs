//! Documents that several people edit at once, each at their own pace, without a server that decides: an independent
//! engine for the Automerge format, byte-compatible with every other implementation.
//!
//! Layers, each using only those before it: `types` → `codec` → `store` → editing and reading → the document.
#![forbid(unsafe_code)]
#![allow(dead_code, reason = "the store, the user of most of the codec, is the next layer")]

mod codec;
mod error;
mod types;

pub use codec::change::Change;
pub use codec::limits::Limits;
pub use error::{
    ApplyError, DecodeError, EditError, Fault, FormatError, LimitError, LoadError, OpFault, Place, Rule,
};
pub use types::{
    ActorId, ChangeHash, ObjId, ObjType, ParseHexError, Prop, ROOT, ScalarValue, TextEncoding, Value,
};
