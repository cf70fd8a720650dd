//! Serde conversion: types that implement `Serialize` are written into a document, types that implement `Deserialize`
//! are read from it.
//!
//! | serde | document |
//! |---|---|
//! | none, unit | null |
//! | signed and unsigned integers | the same; 128-bit integers if they fit in 64 bits |
//! | `f32`, `f64` | floating point |
//! | string, `char`, a variant without contents | a string |
//! | bytes | bytes; serde treats `Vec<u8>` as a list, unless told otherwise |
//! | sequence, tuple | a list |
//! | map, struct | a map; keys are strings, or values written as strings: numbers, booleans, variants |
//! | a variant with contents | a map with its name as the only key |
//! | [`Text`], [`Counter`], [`Timestamp`] | types that serde lacks |
//!
//! When read, a text is also accepted as a string, and counters and timestamps as numbers.
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
mod special_values;
mod write;

pub use error::Error;
pub use read::from_literal;
pub use reconcile::{Reconciler, reconcile};
pub use special_values::{Counter, Text, Timestamp};
pub use write::to_literal;

use crate::read::view::View;
use crate::types::ObjId;
use ::serde::de::DeserializeOwned;

/// Maximum depth of a value in both directions: recursive types would overflow the stack.
const DEEPEST: usize = 128;

/// Reads an object with its contents as a Rust type. Of concurrent values the winner is read.
pub fn hydrate<T: DeserializeOwned>(view: &View<'_>, obj: impl AsRef<ObjId>) -> Result<T, Error> {
    from_literal(&view.hydrate(obj)?)
}
