//! Stored hashes: reading, decoding, and messages for those that are malformed or over a limit.

use super::super::costs::StoredLimits;
use super::lines::Lines;
use super::password_source::takes_stdin;
use crate::flags::{InputFlags, StoredFlags, UsageError};
use anyhow::{Result, bail};
use hashmill_hash::password::foreign::{StoredError, StoredHash};
use hashmill_hash::password::{OverLimit, PhcError, Quantity, VerifyError};
use std::path::Path;

/// The string of `--hash`: the argument, or the only line of standard input.
pub(in super::super) fn typed(flags: &StoredFlags, input: Option<&InputFlags>) -> Result<Vec<u8>> {
    let typed = flags.hash.as_deref().unwrap_or_default();
    if typed != "-" {
        return Ok(typed.as_encoded_bytes().to_vec());
    }
    let is_taken = input.is_some_and(|input| takes_stdin(input) || input.secret_fd == Some(0));
    if is_taken {
        bail!(UsageError(
            "standard input is the hash: give the password with --password-fd or --prompt".to_owned()
        ));
    }
    let mut lines = Lines::open(Path::new("-"))?;
    let none = || UsageError("no hash on standard input".to_owned());
    let line = lines.next()?.ok_or_else(none)?;
    if lines.next()?.is_some() {
        bail!(UsageError("standard input has several lines; --file - reads a hash from each".to_owned()));
    }
    Ok(line.bytes.trim_ascii().to_vec())
}

/// Decodes a stored hash. The error says why it cannot be verified and which flag helps.
pub(in super::super) fn decode(text: impl AsRef<[u8]>, limits: &StoredLimits) -> Result<StoredHash, String> {
    StoredHash::decode(text, limits.syntax, &limits.limits).map_err(|error| match &error {
        StoredError::Argon2(PhcError::OverLimit { error: over, .. })
        | StoredError::OverLimit { error: over, .. } => with_flag(&error.to_string(), over),
        _ => error.to_string(),
    })
}

/// Why there is no answer, with the flag that helps.
pub(in super::super) fn error_message(error: &VerifyError) -> String {
    match error {
        VerifyError::Phc(PhcError::OverLimit { error: over, .. }) | VerifyError::OverLimit(over) => {
            with_flag(&error.to_string(), over)
        }
        _ => error.to_string(),
    }
}

/// The hash function and its costs, for people.
pub(in super::super) fn description(stored: &StoredHash) -> String {
    match (stored.foreign(), stored.argon2()) {
        (Some(foreign), _) => foreign.scheme().to_string(),
        (None, Some(hash)) => {
            let params = hash.params();
            let (m, t, p) = (params.memory_kib(), params.passes(), params.lanes());
            format!("{}, m {m}, t {t}, p {p}", params.variant())
        }
        (None, None) => String::new(),
    }
}

fn with_flag(message: &str, over: &OverLimit) -> String {
    let flag = match over.what {
        Quantity::Memory => "--max-memory",
        Quantity::Passes => "--max-passes",
        Quantity::Lanes => "--max-lanes",
        Quantity::Work => "--max-work",
        Quantity::Tag if over.is_least => "--min-tag",
        Quantity::BcryptCost => "--max-bcrypt-cost",
        Quantity::Iterations => "--max-iterations",
        _ => return message.to_owned(),
    };
    format!("{message} (see {flag})")
}
