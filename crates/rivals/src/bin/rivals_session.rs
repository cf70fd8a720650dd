//! Another build of the lab with rivals in it: `cargo rivals lab` makes it and starts it as a session.

use std::process::ExitCode;

fn main() -> ExitCode {
    // The first argument is the word that leads to the lab.
    ExitCode::from(hashmill_rivals::lab::run(std::env::args_os().skip(2)))
}
