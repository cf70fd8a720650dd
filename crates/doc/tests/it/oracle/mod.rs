//! Comparison of the engine with the oracle, which is based only on the reference of the format.

pub(crate) mod compare;
mod cursors;
mod files;
mod first;
mod mutated;
mod orders;
mod programs;
pub(crate) mod steps;
mod talks;
