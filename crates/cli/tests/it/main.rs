//! The binary as a user runs it.

mod b3sum;
mod bad_input;
mod changing_files;
mod check;
mod info;
mod lab;
mod limits;
mod sum;
mod terminal;
mod world;
