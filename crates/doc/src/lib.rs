//! A CRDT engine for local-first programs: maps, lists, text and counters that several people edit concurrently,
//! offline and without a coordinating server. Replicas with the same changes have the same contents. Files, changes and
//! sync messages are byte-compatible with Automerge.
//!
//! # Where to start
//!
//! | to | see |
//! |---|---|
//! | edit a document | [`AutoCommit`]: edits become changes when the document is saved, merged or synced; [`Document::transact`]: all edits or none |
//! | read | [`ReadDoc`], [`View`]; [`Snapshot`] for other threads; `_at` methods and [`Document::fork_at`] for earlier states |
//! | write nested values | [`literal!`], [`Literal`], [`Transactable`] |
//! | edit text | [`Transactable::splice_text`], [`Transactable::update_text`]; [`Mark`], [`Span`]; [`Cursor`] for a selection |
//! | save and load | [`Document::save`], [`Document::load_with`], [`LoadOptions`]; [`Document::open`] to defer reading a file; [`Document::rescue`] and [`examine`](fn@examine) for damaged files |
//! | exchange changes | [`sync`] between two peers over any connection; [`Document::apply_changes`], [`Change`], [`Bundle`], [`Fragment`] |
//! | show changes | [`Observer`], [`Document::diff`], [`Patch`] |
//! | undo edits | [`UndoManager`], [`Document::revert`] |
//! | find the author of contents | [`Blame`], [`ChangeMetadata`] |
//! | limit the cost of untrusted input | [`Limits`] |
//! | use serde or JSON | the modules `serde` and `json`, behind features of the same names |
//! | decode changes | [`legacy`], [`ExpandedChange`] |
//!
//! # Three example programs
//!
//! A to-do list that two people edit concurrently. If both write to the same key, all replicas choose the same winner;
//! [`ReadDoc::get_all`] also returns the other values.
//!
//! ```
//! use hashmill_doc::{AutoCommit, ROOT, ReadDoc, Transactable, literal};
//!
//! let mut ada = AutoCommit::new();
//! ada.put_literal(ROOT, "todos", literal!([{ "title": "Buy milk", "done": false }]))?;
//! let mut ben = ada.fork();
//!
//! let (_, todo) = ada.get_path([hashmill_doc::Prop::from("todos"), 0.into()])?.expect("the first entry");
//! ada.put(&todo, "title", "Buy oat milk")?;
//! ben.put(&todo, "title", "Buy two bottles of milk")?;
//! ben.put(&todo, "done", true)?;
//!
//! ada.merge(&mut ben)?;
//! ben.merge(&mut ada)?;
//! assert_eq!(ada.get_as::<String>(&todo, "title")?, ben.get_as::<String>(&todo, "title")?);
//! assert_eq!(ada.get_all(&todo, "title")?.len(), 2, "both titles are kept until one is written anew");
//! assert_eq!(ada.get_as(&todo, "done")?, Some(true));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A text with formatting. A string is a single value; collaborative text is an object.
//!
//! ```
//! use hashmill_doc::{AutoCommit, ExpandMark, Mark, ObjType, ROOT, ReadDoc, Transactable};
//!
//! let mut ada = AutoCommit::new();
//! let note = ada.put_object(ROOT, "note", ObjType::Text)?;
//! ada.splice_text(&note, 0, 0, "Hello world")?;
//! ada.mark(&note, Mark::new("bold", true, 0, 5), ExpandMark::After)?;
//!
//! let mut ben = ada.fork();
//! let selection = ben.get_cursor(&note, 6)?;
//! ada.splice_text(&note, 5, 0, ", dear")?;
//! ben.splice_text(&note, 11, 0, "!")?;
//! ben.merge(&mut ada)?;
//! assert_eq!(ben.text(&note)?, "Hello, dear world!");
//! assert_eq!(ben.get_cursor_position(&note, &selection)?, 12);
//! assert_eq!((ben.marks(&note)?[0].start, ben.marks(&note)?[0].end), (0, 11));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Two peers that sync over a connection. Each keeps a [`sync::State`] for the other and sends the messages of
//! [`sync::SyncDoc::generate_sync_message`] until there is none.
//!
//! ```
//! use hashmill_doc::sync::{Message, State, SyncDoc};
//! use hashmill_doc::{AutoCommit, ROOT, ReadDoc, Transactable};
//!
//! let (mut ada, mut ben) = (AutoCommit::new(), AutoCommit::new());
//! ada.put(ROOT, "from ada", 1)?;
//! ben.put(ROOT, "from ben", 2)?;
//!
//! let (mut of_ben, mut of_ada) = (State::new(), State::new());
//! loop {
//!     let to_ben = ada.sync().generate_sync_message(&mut of_ben).map(|message| message.encode());
//!     let to_ada = ben.sync().generate_sync_message(&mut of_ada).map(|message| message.encode());
//!     if to_ben.is_none() && to_ada.is_none() {
//!         break;
//!     }
//!     if let Some(bytes) = to_ben {
//!         ben.sync().receive_sync_message(&mut of_ada, Message::decode(&bytes)?)?;
//!     }
//!     if let Some(bytes) = to_ada {
//!         ada.sync().receive_sync_message(&mut of_ben, Message::decode(&bytes)?)?;
//!     }
//! }
//! assert_eq!(ada.get_heads(), ben.get_heads());
//! assert_eq!(ada.get_as(ROOT, "from ben")?, Some(2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Structure
//!
//! Layers, each using only earlier ones: `types` → `codec` → `store` → editing and reading → the document.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), warn(clippy::disallowed_types))]

mod codec;
mod document;
mod edit;
mod file;
mod interop;
mod mark;
mod patch;
mod read;
mod store;
pub mod sync;
mod types;

pub use codec::chunks::change::Change;
pub use codec::limits::Limits;
#[doc(hidden)]
pub use codec::shortcuts::Shortcuts;
pub use document::{Commit, Document, Snapshot};
pub use edit::autocommit::AutoCommit;
pub use edit::editor::{CommitOptions, Editor};
pub use edit::transaction::{Transactable, Transaction};
pub use edit::undo_manager::UndoManager;
pub use file::anonymise::AnonymiseError;
pub use file::bundle::Bundle;
pub use file::damage::{Loss, RecoveryLevel};
pub use file::examine::{Part, PartKind, examine};
pub use file::fragment::Fragment;
pub use file::lazy_open::LazyDocument;
pub use file::load_save::{LoadOptions, LoadReport, OnPartialLoad, OpenCheck, SaveOptions, Verify};
pub use file::migrate_strings::StringMigration;
pub use file::rescue::Rescue;
#[cfg(feature = "json")]
pub use interop::json;
pub use interop::legacy;
pub use interop::legacy::Change as ExpandedChange;
#[cfg(feature = "serde")]
pub use interop::serde;
pub use mark::{ExpandMark, Mark, MarkSet, Span, Spans, UpdateSpansConfig};
pub use patch::observer::Observer;
pub use patch::{Patch, PatchAction, PatchError, Path};
pub use read::blame::{Blame, BlamedPart};
pub use read::change_metadata::{ChangeMetadata, Stats};
pub use read::cursor::ParseCursorError;
pub use read::from_value::FromValue;
pub use read::iter::{DocItem, DocIter, DocObjItem};
pub use read::range_items::{ListRangeItem, MapRangeItem};
pub use read::read_doc::ReadDoc;
pub use read::view::{Keys, View};
pub use store::incoming::dependency_queue::Applied;
pub use types::error::{
    ApplyError, BundleError, CursorMismatch, DecodeError, EditError, Fault, ForeignCursor, FormatError,
    FragmentError, InputPosition, LimitError, LoadError, Mismatch, OpFault, Rule,
};
pub use types::literal::{Elements, Entries, Literal};
pub use types::{
    ActorId, ChangeHash, Cursor, CursorPosition, MoveCursor, ObjId, ObjType, ParseHexError, ParseObjIdError,
    Prop, ROOT, ScalarValue, TextEncoding, Value,
};

/// The examples of the README, compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
