//! `password verify`: whether a password belongs to a hash.

use super::bulk::{self, Given};
use super::watch::watched;
use super::{NO, UNKNOWN, YES, costs, input, print, print_json};
use crate::flags::{Misuse, VerifyArgs};
use crate::{memory, out};
use anyhow::{Result, bail};
use hashmill_hash::password::{PasswordHash, Passwords, PhcError, Quantity, VerifyError};
use hashmill_lab::memory::free_kib;
use serde::Serialize;

/// The answer for one hash. The names of the fields are those of the JSON.
#[derive(Serialize)]
pub(super) struct Answer {
    /// In a file of hashes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<u64>,
    /// What stands before the hash on its line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    /// `null` if there is no answer.
    #[serde(rename = "match")]
    pub(super) matches: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

pub(super) fn run(low: &VerifyArgs) -> Result<u8> {
    let limits = costs::limits(&low.limits)?;
    let syntax = costs::syntax(low.limits.lenient);
    let keeper = |secret| Passwords::default().limits(limits).syntax(syntax).secret(secret);
    if let Some(file) = &low.stored.file {
        let password_on_stdin = low.passwords.is_none() && input::takes_stdin(&low.input);
        let lists_on_stdin = [Some(file), low.passwords.as_ref()].into_iter().flatten();
        let readers = lists_on_stdin.filter(|path| path.as_os_str() == "-").count();
        let readers = readers + usize::from(password_on_stdin);
        if readers > 1 {
            bail!(Misuse(
                "standard input cannot be the hashes and the password: see --password-fd".to_owned()
            ));
        }
        let secret = input::secret(&low.input, readers > 0)?;
        let given = match &low.passwords {
            Some(path) => Given::Each(path),
            None => Given::One(input::attempt(&low.input)?),
        };
        return bulk::run(keeper(secret), file, &given, low);
    }
    // Clap does not ask for the file once there is a hash.
    if low.passwords.is_some() {
        bail!(Misuse("--passwords goes with --file; for one hash, give the password itself".to_owned()));
    }
    let hash = low.stored.hash.as_deref().unwrap_or_default();
    // A hash that cannot be checked is told about before anybody is asked for a password.
    let mut mishap = None;
    let answer = match PasswordHash::decode(hash.as_encoded_bytes(), syntax, &limits) {
        Err(error) => answer(Err(error.into())),
        Ok(hash) => {
            if let Some(words) = memory::refusal(hash.params().blocks(), free_kib()) {
                bail!(words);
            }
            let passwords = keeper(input::secret(&low.input, input::takes_stdin(&low.input))?);
            let password = input::attempt(&low.input)?;
            mishap = input::mishap(&password);
            let hidden = low.no_progress || low.quiet;
            answer(watched(hash.params(), hidden, |tell| {
                passwords.verify_decoded_watched(&password, &hash, tell)
            }))
        }
    };
    if low.json {
        print_json(&answer)?;
    } else if let Some(matches) = answer.matches
        && !low.quiet
    {
        print(if matches { "match\n" } else { "no match\n" })?;
    }
    match (&answer, mishap) {
        (Answer { error: Some(error), .. }, _) if !low.json => out::complain(error),
        (Answer { matches: Some(false), .. }, Some(mishap)) if !low.quiet => {
            out::complain(&format!("take note: {mishap}"));
        }
        _ => {}
    }
    Ok(code(answer.matches))
}

/// The exit code for one answer.
pub(super) fn code(matches: Option<bool>) -> u8 {
    match matches {
        Some(true) => YES,
        Some(false) => NO,
        None => UNKNOWN,
    }
}

/// The answer where there is none.
pub(super) fn no_answer(error: String) -> Answer {
    Answer { line: None, name: None, matches: None, error: Some(error) }
}

pub(super) fn answer(result: Result<(), VerifyError>) -> Answer {
    let (matches, error) = match result {
        Ok(()) => (Some(true), None),
        Err(VerifyError::Mismatch) => (Some(false), None),
        Err(error) => (None, Some(words(&error))),
    };
    Answer { line: None, name: None, matches, error }
}

/// The error with the flag that helps.
pub(super) fn words(error: &VerifyError) -> String {
    let VerifyError::Phc(PhcError::OverLimit { error: over, .. }) = error else { return error.to_string() };
    let flag = match over.what {
        Quantity::Memory => "--max-memory",
        Quantity::Passes => "--max-passes",
        Quantity::Lanes => "--max-lanes",
        Quantity::Work => "--max-work",
        Quantity::Tag if over.is_least => "--min-tag",
        _ => return error.to_string(),
    };
    format!("{error} (see {flag})")
}
