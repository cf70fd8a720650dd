//! Reasons why a password was not hashed or not accepted.

use crate::failure::EngineFailure;
use hashmill_hash::argon2::HashError;
use hashmill_hash::password::{CreateError, VerifyError};
use std::fmt;

/// Why a password was not hashed, or not accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PasswordFailure {
    /// A wrong password, or an error of the CPU: see [`VerifyError`].
    Verify(VerifyError),
    /// A new hash could not be made.
    Create(CreateError),
    /// The engine failed. Nothing is known about the password.
    Engine(EngineFailure),
}

impl PasswordFailure {
    /// Whether the caller stopped the work.
    pub fn is_stop(&self) -> bool {
        match self {
            PasswordFailure::Engine(failure) => failure.is_stop(),
            PasswordFailure::Verify(error) => *error == VerifyError::Hash(HashError::Stopped),
            PasswordFailure::Create(error) => *error == CreateError::Hash(HashError::Stopped),
        }
    }

    /// The failure of the engine, if that is the reason.
    pub fn of_engine(&self) -> Option<&EngineFailure> {
        match self {
            PasswordFailure::Engine(failure) => Some(failure),
            PasswordFailure::Verify(_) | PasswordFailure::Create(_) => None,
        }
    }
}

impl fmt::Display for PasswordFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PasswordFailure::Verify(error) => error.fmt(f),
            PasswordFailure::Create(error) => error.fmt(f),
            PasswordFailure::Engine(failure) => failure.fmt(f),
        }
    }
}

impl std::error::Error for PasswordFailure {}

impl From<EngineFailure> for PasswordFailure {
    fn from(failure: EngineFailure) -> PasswordFailure {
        PasswordFailure::Engine(failure)
    }
}
