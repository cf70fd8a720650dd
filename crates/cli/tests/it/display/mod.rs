//! Tests of colours and progress on terminals and elsewhere.

mod colour;
mod progress;
pub(crate) mod terminal;
