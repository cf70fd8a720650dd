//! Access of a client to a document.

/// Access to a document.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Access {
    /// The document looks absent.
    Denied,
    /// Changes of the client are ignored, and it is told so.
    Read,
    /// Changes of the client are stored.
    Write,
}
