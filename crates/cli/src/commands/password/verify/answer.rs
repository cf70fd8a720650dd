//! Answer to whether a password belongs to a hash.

use super::super::report::{NO, UNKNOWN, YES};
use super::super::service::Refusal;
use serde::Serialize;

/// The answer for one hash. The field names are those of the JSON.
#[derive(Serialize)]
pub(super) struct Answer {
    /// The line in a file of hashes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<u64>,
    /// The name before the hash on its line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    /// `null` if there is no answer.
    #[serde(rename = "match")]
    pub(super) matches: Option<bool>,
    /// No password gives access.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) locked: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

impl Answer {
    /// No answer, and why.
    pub(super) fn unknown(error: String) -> Answer {
        Answer { line: None, name: None, matches: None, locked: false, error: Some(error) }
    }

    /// The answer for a locked entry.
    pub(super) fn locked() -> Answer {
        Answer { line: None, name: None, matches: None, locked: true, error: None }
    }

    pub(super) fn exit_code(&self) -> u8 {
        match self.matches {
            Some(true) => YES,
            Some(false) => NO,
            None => UNKNOWN,
        }
    }
}

impl From<Result<(), Refusal>> for Answer {
    fn from(result: Result<(), Refusal>) -> Answer {
        let matches = match result {
            Ok(()) => true,
            Err(Refusal::Mismatch) => false,
            Err(Refusal::Unknown(reason)) => return Answer::unknown(reason),
        };
        Answer { line: None, name: None, matches: Some(matches), locked: false, error: None }
    }
}
