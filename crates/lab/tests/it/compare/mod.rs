//! Tests of `lab compare`.

mod builds;
mod commands;
mod foreign_programs;
mod reports;
