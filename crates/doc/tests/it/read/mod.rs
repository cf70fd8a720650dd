//! Tests of reading, now and at earlier heads.

mod cursors;
mod history;
mod iter;
mod queries;
mod rewind;
