//! What became of an input.

use hashmill_doc::ChangeHash;

/// Whether the engine took an input. Whatever it did, the target's property held: otherwise there is no verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Something of it is in a document now.
    Accepted,
    /// Nothing of it is.
    Refused,
    /// A document was refused for the heads that it names alone; these are the heads of what is in it.
    OtherHeads(Vec<ChangeHash>),
}
