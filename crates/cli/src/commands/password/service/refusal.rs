//! Reasons why a password was not accepted.

use super::super::input::stored_hash;
use hashmill_engines::PasswordFailure;
use hashmill_hash::password::VerifyError;

/// Why a password was not accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in super::super) enum Refusal {
    /// The password is wrong.
    Mismatch,
    /// Whether the password is right is unknown, and why.
    Unknown(String),
}

impl From<VerifyError> for Refusal {
    fn from(error: VerifyError) -> Refusal {
        match error {
            VerifyError::Mismatch => Refusal::Mismatch,
            error => Refusal::Unknown(stored_hash::error_message(&error)),
        }
    }
}

impl From<PasswordFailure> for Refusal {
    fn from(failure: PasswordFailure) -> Refusal {
        match failure {
            PasswordFailure::Verify(error) => error.into(),
            failure => Refusal::Unknown(failure.to_string()),
        }
    }
}
