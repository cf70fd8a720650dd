//! Generator of committed code: the assembly of CPU kernels, and the CUDA kernels as one file for drivers.
//!
//! `cargo xtask codegen` and `cargo xtask fatbin` run it.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a developer tool writes to the terminal")]

mod assembly;
mod fatbin;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: hashmill-codegen assembly | fatbin [check | fetch]";

/// The exit status of `fatbin fetch` if the compiler cannot be downloaded; the reason is on standard output.
const NO_COMPILER: u8 = 3;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    run(&words).unwrap_or_else(|error| {
        eprintln!("hashmill-codegen: {error:#}");
        ExitCode::from(2)
    })
}

fn run(words: &[&str]) -> anyhow::Result<ExitCode> {
    let root = root();
    match words {
        ["assembly"] => assembly::write(&root)?,
        ["fatbin"] => fatbin::write(&root)?,
        ["fatbin", "check"] if !fatbin::check(&root)? => return Ok(ExitCode::FAILURE),
        ["fatbin", "check"] => {}
        ["fatbin", "fetch"] => {
            if let Some(reason) = fatbin::missing(&root) {
                println!("{reason}");
                return Ok(ExitCode::from(NO_COMPILER));
            }
        }
        _ => anyhow::bail!("{USAGE}"),
    }
    Ok(ExitCode::SUCCESS)
}

/// The repository.
fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).expect("the package is below crates/").to_path_buf()
}
