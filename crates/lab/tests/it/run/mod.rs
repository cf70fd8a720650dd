//! Tests of `lab run`.

mod explain;
mod headline;
mod sustained;
