//! Taking in what others made: changes from bytes, changes from another document in memory, whole documents.

mod adopt;
pub(crate) mod apply;
pub(crate) mod load;
