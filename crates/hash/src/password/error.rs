//! Why a password was not hashed, or not accepted.

use super::limits::OverLimit;
use super::phc::PhcError;
use crate::argon2::HashError;
use core::fmt;

/// Why there is no new hash. Sorted by whose doing it is: the caller's, the machine's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CreateError {
    /// The caller's: a salt of less than 8 or more than 64 bytes.
    SaltLen {
        /// How many were given.
        given: usize,
    },
    /// See there.
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

/// Why a password was not accepted. Sorted by whose doing it is: the guest's, the store's, the machine's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum VerifyError {
    /// The guest's: another password. Nothing says in what it differs.
    Mismatch,
    /// The store's: this is no password hash, or it would cost too much.
    Phc(PhcError),
    /// The store's: a hash that was read within other limits would cost more than those in use. Nothing is known about
    /// the password.
    OverLimit(OverLimit),
    /// See there. Nothing is known about the password.
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
