//! Stored hashes of every kind, and the words for those that are none or cost too much.

use super::input;
use super::lines::Lines;
use crate::flags::{InputFlags, Misuse, StoredFlags};
use anyhow::{Result, bail};
use hashmill_hash::password::foreign::{StoredError, StoredHash};
use hashmill_hash::password::{Limits, OverLimit, PhcError, Quantity, Syntax, VerifyError};
use std::path::Path;

/// The string of `--hash`: as typed, or the one line of standard input.
pub(super) fn typed(flags: &StoredFlags, input: Option<&InputFlags>) -> Result<Vec<u8>> {
    let typed = flags.hash.as_deref().unwrap_or_default();
    if typed != "-" {
        return Ok(typed.as_encoded_bytes().to_vec());
    }
    let taken = input.is_some_and(|input| input::takes_stdin(input) || input.secret_fd == Some(0));
    if taken {
        bail!(Misuse(
            "standard input is the hash: give the password with --password-fd or --prompt".to_owned()
        ));
    }
    let mut lines = Lines::open(Path::new("-"))?;
    let none = || Misuse("no hash on standard input".to_owned());
    let line = lines.next()?.ok_or_else(none)?;
    if lines.next()?.is_some() {
        bail!(Misuse("standard input has several lines; --file - reads a hash from each".to_owned()));
    }
    Ok(line.bytes.trim_ascii().to_vec())
}

/// Reads a stored hash, or says why it cannot be verified and which flag helps.
pub(super) fn decode(text: impl AsRef<[u8]>, syntax: Syntax, limits: &Limits) -> Result<StoredHash, String> {
    StoredHash::decode(text, syntax, limits).map_err(|error| match &error {
        StoredError::Argon2(PhcError::OverLimit { error: over, .. })
        | StoredError::OverLimit { error: over, .. } => with_flag(&error.to_string(), over),
        _ => error.to_string(),
    })
}

/// Why there is no answer, with the flag that helps.
pub(super) fn words(error: &VerifyError) -> String {
    match error {
        VerifyError::Phc(PhcError::OverLimit { error: over, .. }) | VerifyError::OverLimit(over) => {
            with_flag(&error.to_string(), over)
        }
        _ => error.to_string(),
    }
}

/// The function and its costs.
pub(super) fn kind(stored: &StoredHash) -> String {
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

fn with_flag(words: &str, over: &OverLimit) -> String {
    let flag = match over.what {
        Quantity::Memory => "--max-memory",
        Quantity::Passes => "--max-passes",
        Quantity::Lanes => "--max-lanes",
        Quantity::Work => "--max-work",
        Quantity::Tag if over.is_least => "--min-tag",
        Quantity::BcryptCost => "--max-bcrypt-cost",
        Quantity::Iterations => "--max-iterations",
        _ => return words.to_owned(),
    };
    format!("{words} (see {flag})")
}
