//! `hashmill password`: from what was typed to what it means, then to the command that does it.

mod answer;
mod attack;
mod bench;
mod bulk;
mod calibrate;
mod choose;
mod costs;
mod entry;
mod hash;
mod input;
mod kdf;
mod keeper;
mod lines;
mod rehash;
mod stored;
mod upgrade;
mod verify;
mod watch;

use crate::engine::Share;
use crate::flags::PasswordCommand;
use crate::os;
use crate::out::{self, Unread, print};
use anyhow::Result;
use serde::Serialize;

/// Done, or the answer is yes.
const YES: u8 = 0;
/// The answer is no.
const NO: u8 = 1;
/// There is no answer. Not 1: a script must not take a full disk for a wrong password.
const UNKNOWN: u8 = 2;

/// Does what the flags say. Everything that goes wrong ends with [`UNKNOWN`].
pub(crate) fn run(command: PasswordCommand) -> u8 {
    let asks = matches!(
        command,
        PasswordCommand::Verify(_) | PasswordCommand::Upgrade(_) | PasswordCommand::NeedsRehash(_)
    );
    // Before anything is read. A benchmark has no password of a user, and profilers look at it.
    if !matches!(command, PasswordCommand::Bench(_) | PasswordCommand::Calibrate(_)) {
        hashmill_machine::forbid_dumps();
    }
    let result = match command {
        PasswordCommand::Hash(low) => hash::run(&low),
        PasswordCommand::Verify(low) => verify::run(&low),
        PasswordCommand::Upgrade(low) => upgrade::run(&low),
        PasswordCommand::NeedsRehash(low) => rehash::run(&low),
        PasswordCommand::Calibrate(low) => calibrate::run(&low),
        PasswordCommand::Kdf(low) => kdf::run(&low),
        PasswordCommand::Bench(low) => bench::run(&low),
    };
    result.unwrap_or_else(|error| {
        // What is only printed was for nobody. An answer is one by its exit code, too, and must not be taken for given.
        if error.is::<Unread>() && !asks {
            return os::end_unread(UNKNOWN);
        }
        out::complain(&format!("{error:#}"));
        UNKNOWN
    })
}

/// What was done, and by whom, where several engines were asked for.
#[derive(Serialize)]
struct By<T> {
    #[serde(flatten)]
    what: T,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    engines: Vec<Share>,
}

/// Prints one JSON object on a line.
fn print_json(object: &impl Serialize) -> Result<()> {
    print(&(serde_json::to_string(object)? + "\n"))
}
