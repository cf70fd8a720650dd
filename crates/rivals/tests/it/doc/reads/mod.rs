//! Reads of documents on both engines: cursors, iteration, snapshots beside a writer.

mod cursors;
mod items;
mod threads;
