//! Documents beside Automerge's official crate.

mod edits;
mod format;
mod names;
mod oracle;
mod reads;
