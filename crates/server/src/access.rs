//! Rights of a socket.

/// Access of a socket to documents. Today one value for all documents; rights per document belong here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Access {
    /// Every document looks absent.
    Denied,
    /// Changes of the client are ignored, and it is told so.
    Read,
    /// Changes of the client are stored.
    Write,
}
