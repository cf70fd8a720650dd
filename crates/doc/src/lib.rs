//! A CRDT: documents that several people edit at once, each at their own pace, without a server that decides. An
//! independent engine for the Automerge format, byte-compatible with every other implementation.
//!
//! Layers, each using only those before it: `types` → `codec` → `store` → editing and reading → the document.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), warn(clippy::disallowed_types))]

mod anonymise;
mod autocommit;
mod blame;
mod bundle;
mod codec;
mod cursor;
mod document;
mod edit;
mod error;
mod examine;
mod fill;
mod fragment;
mod items;
#[cfg(feature = "json")]
pub mod json;
pub mod legacy;
mod literal;
mod mark;
mod meta;
mod migrate;
mod nested;
mod observer;
mod opened;
mod patch;
mod queue;
mod read;
mod rescue;
#[cfg(feature = "serde")]
pub mod serde;
mod squash;
mod storage;
mod store;
pub mod sync;
mod threads;
mod transaction;
mod typed;
mod types;
mod undo;
mod update;
mod view;

pub use anonymise::AnonymiseError;
pub use autocommit::AutoCommit;
pub use blame::{Blame, BlamedPlace};
pub use bundle::Bundle;
pub use codec::change::Change;
pub use codec::limits::Limits;
#[doc(hidden)]
pub use codec::shortcuts::Shortcuts;
pub use cursor::ParseCursorError;
pub use document::{Commit, Document, Snapshot};
pub use edit::{CommitOptions, Editor};
pub use error::{
    ApplyError, BundleError, DecodeError, EditError, Fault, Foreign, ForeignCursor, FormatError,
    FragmentError, LimitError, LoadError, OpFault, Place, Rule,
};
pub use examine::{Part, PartKind, examine};
pub use fragment::Fragment;
pub use items::{DocItem, DocIter, DocObjItem, ListRangeItem, MapRangeItem};
pub use legacy::Change as ExpandedChange;
pub use literal::{Elements, Entries, Literal};
pub use mark::{ExpandMark, Mark, MarkSet, Span, Spans, UpdateSpansConfig};
pub use meta::{ChangeMetadata, Stats};
pub use migrate::StringMigration;
pub use observer::Observer;
pub use opened::{Opened, Opening};
pub use patch::{Patch, PatchAction, PatchError, Path};
pub use queue::Applied;
pub use read::ReadDoc;
pub use rescue::{Kept, Loss, Rescue};
pub use storage::{LoadOptions, OnPartialLoad, SaveOptions, Verify};
pub use transaction::{Transactable, Transaction};
pub use typed::FromValue;
pub use types::{
    ActorId, ChangeHash, Cursor, CursorPosition, MoveCursor, ObjId, ObjType, ParseHexError, Prop, ROOT,
    ScalarValue, TextEncoding, Value,
};
pub use undo::Undo;
pub use view::{Keys, View};

/// What the page of the crate shows compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
