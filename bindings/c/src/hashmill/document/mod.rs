//! Documents: values, edits, reads, history and sync.

// In the order of the header.
pub(super) mod values;

pub(super) mod doc;

mod edit;

mod read;

mod text;

mod blocks;

mod history;

pub(super) mod sync;
