//! Automerge's format and semantics, said once more: bytes to chunks, chunks to changes, changes to operations, and
//! operations to what a document shows, by sorting and scanning.
//!
//! It judges the engine in `crates/doc` and shares nothing with it. There is no cache, nothing is kept up to date, and
//! every question starts from the operations again. Read it beside the reference of the format.
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

/// The hash of a change.
pub type Hash = [u8; 32];

/// Bytes for people.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Rows of one table that [`judge`] goes through: a few bytes may claim any number.
pub const MOST: usize = 50_000;

/// What a file shows, or why it is refused: [`History::load`], and everything that is in it.
pub fn judge(file: &[u8]) -> Result<State, Refused> {
    Ok(History::load(file, MOST)?.state())
}

/// Who writes. Actors are compared by their bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Actor(pub Arc<[u8]>);

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The id of an operation, and of what it made. The greater counter is greater, then the greater actor (reference 4.1).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    /// Greater than those of everything that the writer knew.
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

/// A rule that an input breaks, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The rule.
    pub rule: &'static str,
    /// What breaks it.
    pub what: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.what)
    }
}

impl std::error::Error for Refused {}

impl Refused {
    /// Whether nothing was judged: the input claims more than the oracle goes through.
    pub fn is_too_large(&self) -> bool {
        self.rule == "too large"
    }

    fn too_large(what: &str) -> Self {
        refuse("too large", what)
    }

    /// The same, with what it is part of.
    fn of(self, whole: impl fmt::Display) -> Self {
        Self { what: format!("{whole}: {}", self.what), ..self }
    }
}

fn refuse(rule: &'static str, what: impl fmt::Display) -> Refused {
    Refused { rule, what: what.to_string() }
}
