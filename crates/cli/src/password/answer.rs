//! Whether a password belongs to a hash, as it is told, for one hash and for each of many.

use super::keeper::Refusal;
use super::{NO, UNKNOWN, YES};
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
    /// Nobody enters with any password.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) locked: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

impl Answer {
    /// The answer where there is none.
    pub(super) fn none(error: String) -> Answer {
        Answer { line: None, name: None, matches: None, locked: false, error: Some(error) }
    }

    /// The answer for an entry with which nobody enters.
    pub(super) fn locked() -> Answer {
        Answer { line: None, name: None, matches: None, locked: true, error: None }
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

impl From<Result<(), Refusal>> for Answer {
    fn from(result: Result<(), Refusal>) -> Answer {
        let matches = match result {
            Ok(()) => true,
            Err(Refusal::Mismatch) => false,
            Err(Refusal::Unknown(why)) => return Answer::none(why),
        };
        Answer { line: None, name: None, matches: Some(matches), locked: false, error: None }
    }
}
