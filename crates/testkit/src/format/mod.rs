//! Byte layer of the document format, shared by the oracle and the mutator: numbers, chunks, runs.
//!
//! Readers here accept what is longer than it needs to be. Rules and their errors belong to the oracle, `doc`.

pub mod chunk;
pub mod numbers;
pub mod runs;
