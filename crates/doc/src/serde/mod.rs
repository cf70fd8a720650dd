//! Any type that serde knows, in a document: what derives `Serialize` goes in, what derives `Deserialize` comes out.
//!
//! | serde | document |
//! |---|---|
//! | none, unit | null |
//! | signed and unsigned integers | the same; of 128 bits if 64 are enough |
//! | `f32`, `f64` | floating point |
//! | string, `char`, a variant without contents | a string |
//! | bytes | bytes; `Vec<u8>` is a list for serde, unless it says otherwise |
//! | sequence, tuple | a list |
//! | map, struct | a map; keys are strings, or what is written as one: numbers, booleans, variants |
//! | a variant with contents | a map with its name as the only key |
//! | [`Text`], [`Counter`], [`Timestamp`] | what serde has no word for |
//!
//! On the way out a text is a string, too, and a counter and a time are numbers.
//!
//! ```
//! use hashmill_doc::serde::{Counter, Text, hydrate, reconcile};
//! use hashmill_doc::{Document, ROOT, ReadDoc as _};
//!
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct Note {
//!     title: String,
//!     body: Text,
//!     read: Counter,
//!     tags: Vec<String>,
//! }
//!
//! let mut doc = Document::new();
//! let mut note =
//!     Note { title: "Milk".into(), body: Text("and honey".into()), read: Counter(0), tags: vec![] };
//! doc.transact(|tx| reconcile(tx, ROOT, &note))?;
//! note.body.0.push('!');
//! note.read.0 += 1;
//! doc.transact(|tx| reconcile(tx, ROOT, &note))?; // inserts a character, counts one on
//! let note: Note = hydrate(&doc.view(), ROOT)?;
//! assert_eq!((&*note.body.0, note.read.0), ("and honey!", 1));
//! # Ok::<(), hashmill_doc::serde::Error>(())
//! ```

mod error;
mod read;
mod reconcile;
mod words;
mod write;

pub use error::Error;
pub use read::from_literal;
pub use reconcile::{Reconciler, reconcile};
pub use words::{Counter, Text, Timestamp};
pub use write::to_literal;

use crate::types::ObjId;
use crate::view::View;
use ::serde::de::DeserializeOwned;

/// As deep as a value may be, in and out: types that hold themselves would fill the stack.
const DEEPEST: usize = 128;

/// An object with everything in it as a Rust type: of several values at a place the winner.
pub fn hydrate<T: DeserializeOwned>(view: &View<'_>, obj: impl AsRef<ObjId>) -> Result<T, Error> {
    from_literal(&view.hydrate(obj)?)
}
