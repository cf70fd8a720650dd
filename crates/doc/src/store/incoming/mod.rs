//! Incoming data: changes from bytes, changes from another document in memory, and whole documents.

mod adopt;
pub(crate) mod apply;
pub(crate) mod dependency_queue;
pub(crate) mod load;
