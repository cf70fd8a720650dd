//! Whether a password belongs to a hash, as it is told, for one hash and for each of many.

use super::{NO, UNKNOWN, YES};
use hashmill_hash::password::{PhcError, Quantity, VerifyError};
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

impl Answer {
    /// The answer where there is none.
    pub(super) fn none(error: String) -> Answer {
        Answer { line: None, name: None, matches: None, error: Some(error) }
    }

    /// The exit code.
    pub(super) fn code(&self) -> u8 {
        match self.matches {
            Some(true) => YES,
            Some(false) => NO,
            None => UNKNOWN,
        }
    }
}

impl From<Result<(), VerifyError>> for Answer {
    fn from(result: Result<(), VerifyError>) -> Answer {
        let matches = match result {
            Ok(()) => true,
            Err(VerifyError::Mismatch) => false,
            Err(error) => return Answer::none(words(&error)),
        };
        Answer { line: None, name: None, matches: Some(matches), error: None }
    }
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
