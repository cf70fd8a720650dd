//! Instruction counts by callgrind, and profiles by perf.

pub(crate) mod callgrind;
pub(crate) mod perf;
pub(crate) mod profile;
pub(crate) mod readings;
