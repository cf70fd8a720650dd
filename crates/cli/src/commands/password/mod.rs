//! `hashmill password`: hashes, verifies and upgrades passwords.

mod bench;
mod calibrate;
mod costs;
mod hash;
mod input;
mod kdf;
mod needs_rehash;
mod report;
mod service;
mod upgrade;
mod verify;

use crate::flags::PasswordCommand;
use crate::os;
use crate::output::{self, ReaderGone};
use report::UNKNOWN;

/// Runs the command. Every error ends with [`UNKNOWN`].
pub(crate) fn run(command: PasswordCommand) -> u8 {
    let exit_code_is_answer = matches!(
        command,
        PasswordCommand::Verify(_) | PasswordCommand::Upgrade(_) | PasswordCommand::NeedsRehash(_)
    );
    // Before any password is read. Benchmarks have no password of a user, and profilers need to look at them.
    if !matches!(command, PasswordCommand::Bench(_) | PasswordCommand::Calibrate(_)) {
        hashmill_machine::forbid_dumps();
    }
    let result = match command {
        PasswordCommand::Hash(flags) => hash::run(&flags),
        PasswordCommand::Verify(flags) => verify::run(&flags),
        PasswordCommand::Upgrade(flags) => upgrade::run(&flags),
        PasswordCommand::NeedsRehash(flags) => needs_rehash::run(&flags),
        PasswordCommand::Calibrate(flags) => calibrate::run(&flags),
        PasswordCommand::Kdf(flags) => kdf::run(&flags),
        PasswordCommand::Bench(flags) => bench::run(&flags),
    };
    result.unwrap_or_else(|error| {
        // A command that only prints ends quietly if its reader is gone. An answer that was not read completely must not look
        // like success.
        if error.is::<ReaderGone>() && !exit_code_is_answer {
            return os::exit_by_sigpipe(UNKNOWN);
        }
        output::print_error(&format!("{error:#}"));
        UNKNOWN
    })
}
