//! Operations as rows of columns: reading and writing.
//!
//! Layers, each using only those before it: [`op_reader`], [`op_writer`]; [`runs`].

pub(crate) mod op_reader;
pub(crate) mod op_writer;
pub(crate) mod runs;
