//! Verdict for an input.

use hashmill_doc::ChangeHash;

/// Whether the engine accepted an input. A broken invariant panics and gives no verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A part of it is in a document.
    Accepted,
    /// No part of it is in a document.
    Refused,
    /// A document was refused only for its stated heads; these are its computed ones.
    OtherHeads(Vec<ChangeHash>),
}
