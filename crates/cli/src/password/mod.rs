//! `hashmill password`: from what was typed to what it means, then to the command that does it.

mod attack;
mod bench;
mod bulk;
mod calibrate;
mod costs;
mod hash;
mod input;
mod kdf;
mod rehash;
mod verify;
mod watch;

use crate::flags::PasswordCommand;
use crate::out;
use anyhow::Result;
use std::io::{self, Write};

/// Done, or the answer is yes.
const YES: u8 = 0;
/// The answer is no.
const NO: u8 = 1;
/// There is no answer. Not 1: a script must not take a full disk for a wrong password.
const UNKNOWN: u8 = 2;

/// Does what the flags say. Everything that goes wrong ends with [`UNKNOWN`].
pub(crate) fn run(command: PasswordCommand) -> u8 {
    let result = match command {
        PasswordCommand::Hash(low) => hash::run(&low),
        PasswordCommand::Verify(low) => verify::run(&low),
        PasswordCommand::NeedsRehash(low) => rehash::run(&low),
        PasswordCommand::Calibrate(low) => calibrate::run(&low),
        PasswordCommand::Kdf(low) => kdf::run(&low),
        PasswordCommand::Bench(low) => bench::run(&low),
    };
    result.unwrap_or_else(|error| {
        out::complain(&format!("{error:#}"));
        UNKNOWN
    })
}

/// Prints text at once. That nobody reads it is no mistake.
fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(anyhow::Error::new(error).context("standard output"))
        }
        _ => Ok(()),
    }
}

/// Prints one JSON object on a line.
fn print_json(object: &impl serde::Serialize) -> Result<()> {
    print(&(serde_json::to_string(object)? + "\n"))
}
