//! Errors of creating and verifying password hashes.

use super::limits::OverLimit;
use super::phc::PhcError;
use crate::argon2::HashError;
use core::fmt;

/// Error of creating a hash. Its source is the caller or the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CreateError {
    /// Caller: a salt of less than 8 or more than 64 bytes.
    SaltLen {
        /// The length of the salt in bytes.
        given: usize,
    },
    /// Error of the hash function.
    Hash(HashError),
}

impl fmt::Display for CreateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CreateError::SaltLen { given } => {
                write!(f, "a salt of {given} bytes: choose 8 to 64, 16 are recommended")
            }
            CreateError::Hash(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for CreateError {}

impl From<HashError> for CreateError {
    fn from(error: HashError) -> CreateError {
        CreateError::Hash(error)
    }
}

/// Failure of a verification. Its source is the user, the store or the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum VerifyError {
    /// User: another password. How it differs is not revealed.
    Mismatch,
    /// Store: not a password hash, or one that would cost too much.
    Phc(PhcError),
    /// Store: a hash that was decoded within other limits costs more than the current limits allow. Nothing
    /// is known about the password.
    OverLimit(OverLimit),
    /// Error of the hash function. Nothing is known about the password.
    Hash(HashError),
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VerifyError::Mismatch => f.write_str("the password does not match"),
            VerifyError::Phc(error) => error.fmt(f),
            VerifyError::OverLimit(error) => error.fmt(f),
            VerifyError::Hash(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for VerifyError {}

impl From<HashError> for VerifyError {
    fn from(error: HashError) -> VerifyError {
        VerifyError::Hash(error)
    }
}

impl From<PhcError> for VerifyError {
    fn from(error: PhcError) -> VerifyError {
        VerifyError::Phc(error)
    }
}
