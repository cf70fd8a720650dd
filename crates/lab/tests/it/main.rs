//! Tests of the lab as its users see it.

mod bench;
mod cli;
mod compare;
mod machine;
mod program;
mod reports;
mod repository;
mod requirements;
mod run;
