//! A CRDT engine for local-first programs: maps, lists, text and counters that several people edit at once, offline and
//! without a server that decides. Replicas with the same changes have the same contents. Files, changes and sync messages
//! are byte-compatible with Automerge.
//!
//! # Where to start
//!
//! | to | see |
//! |---|---|
//! | edit a document | [`AutoCommit`]: edits become changes when the document is saved, merged or synced; [`Document::transact`]: all of it or nothing |
//! | read | [`ReadDoc`], [`View`]; [`Snapshot`] for other threads; `_at` calls and [`Document::fork_at`] for the past |
//! | write values with contents | [`literal!`], [`Literal`], [`Transactable`] |
//! | edit text | [`Transactable::splice_text`], [`Transactable::update_text`]; [`Mark`], [`Span`]; [`Cursor`] for a selection |
//! | save and load | [`Document::save`], [`Document::load_with`], [`LoadOptions`]; [`Document::open`] for a file that is read later; [`Document::rescue`] and [`examine`](fn@examine) for a damaged one |
//! | exchange changes | [`sync`] between two peers over any connection; [`Document::apply_changes`], [`Change`], [`Bundle`], [`Fragment`] |
//! | show changes | [`Observer`], [`Document::diff`], [`Patch`] |
//! | take back edits | [`Undo`], [`Document::revert`] |
//! | ask who wrote what | [`Blame`], [`ChangeMetadata`] |
//! | bound what others may cost | [`Limits`] |
//! | use serde or JSON | the modules `serde` and `json`, behind features of the same names |
//! | take changes apart | [`legacy`], [`ExpandedChange`] |
//!
//! # Three first programs
//!
//! A to-do list that two people change at once. Where both wrote to the same key, all replicas choose the same winner;
//! [`ReadDoc::get_all`] gives the others as well.
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
//! A text with formatting. A string that is put is one value; text that people edit together is an object.
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
//! Two peers that sync over a connection. Each keeps a [`sync::State`] for the other and sends what
//! [`sync::SyncDoc::generate_sync_message`] gives until there is nothing more to send.
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
//! # Inside
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
mod damage;
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
pub use damage::{Kept, Loss};
pub use document::{Commit, Document, Snapshot};
pub use edit::{CommitOptions, Editor};
pub use error::{
    ApplyError, BundleError, DecodeError, EditError, Fault, Foreign, ForeignCursor, FormatError,
    FragmentError, LimitError, LoadError, Mismatch, OpFault, Place, Rule,
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
pub use rescue::Rescue;
pub use storage::{LoadOptions, LoadReport, OnPartialLoad, SaveOptions, Verify};
pub use transaction::{Transactable, Transaction};
pub use typed::FromValue;
pub use types::{
    ActorId, ChangeHash, Cursor, CursorPosition, MoveCursor, ObjId, ObjType, ParseHexError, ParseObjIdError,
    Prop, ROOT, ScalarValue, TextEncoding, Value,
};
pub use undo::Undo;
pub use view::{Keys, View};

/// What the page of the crate shows compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
