//! Oracle for Automerge's format and semantics: bytes to chunks, chunks to changes, changes to operations, and operations to the
//! visible document, by sorting and scanning.
//!
//! It checks the engine in `crates/doc` and shares no code with it. It has no cache and no incremental state: every query starts
//! from the operations. Read it beside the reference of the format.
//!
//! ```
//! use hashmill_testkit::doc::{Refused, judge};
//!
//! let state = judge(&[]).expect("nothing is an empty document");
//! assert!(state.heads.is_empty() && state.objects[&None].keys.is_empty());
//! let refused = judge(b"no chunk").expect_err("these are not the magic bytes");
//! assert_eq!(refused.rule, "magic");
//! ```

mod bundle;
mod bytes;
mod change;
mod column;
mod document;
pub mod forge;
mod history;
mod op;
mod state;
#[cfg(test)]
mod tests;
mod value;

use std::fmt;
use std::sync::Arc;

pub use bytes::{Chunk, chunk, chunks};
pub use change::Change;
pub use document::{ChangeRow, Document};
pub use history::History;
pub use op::{Action, Key, Kind, Op};
pub use state::{Content, Element, Entry, Object, State};
pub use value::Value;

pub use crate::format::chunk::Hash;
use crate::hex;

/// Maximum rows of one table in [`judge`]: a few bytes may claim any number.
pub const MOST: usize = 50_000;

/// The visible state of a file, or why it is refused.
pub fn judge(file: &[u8]) -> Result<State, Refused> {
    Ok(History::load(file, MOST)?.state())
}

/// An actor. Compared by bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Actor(pub Arc<[u8]>);

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

impl fmt::Debug for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Id of an operation and of the object or element it creates. Ordered by counter, then by actor (reference 4.1).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    /// Greater than all counters that the author knew.
    pub counter: u64,
    /// The writer.
    pub actor: Actor,
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.counter, self.actor)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Name of the rule.
    pub rule: &'static str,
    /// Details.
    pub what: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.what)
    }
}

impl std::error::Error for Refused {}

impl Refused {
    /// Whether the input exceeds the limits of the oracle and was not checked.
    pub fn is_too_large(&self) -> bool {
        self.rule == "too large"
    }

    fn too_large(what: &str) -> Self {
        refuse("too large", what)
    }

    /// The error with its context.
    fn in_context(self, whole: impl fmt::Display) -> Self {
        Self { what: format!("{whole}: {}", self.what), ..self }
    }
}

fn refuse(rule: &'static str, what: impl fmt::Display) -> Refused {
    Refused { rule, what: what.to_string() }
}
