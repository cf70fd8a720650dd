//! The engine beside the oracle, which knows the format and its meaning from the reference alone.

pub(crate) mod compare;
mod cursors;
mod files;
mod first;
mod mutated;
mod orders;
mod programs;
pub(crate) mod steps;
mod talks;
