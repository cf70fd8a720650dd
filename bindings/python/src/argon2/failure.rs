//! Conversion of errors to the exceptions of `hashmill.argon2.exceptions`, with numbers in their messages.

use hashmill_engines::PasswordFailure;
use hashmill_hash::argon2::HashError;
use hashmill_hash::password::{CreateError, PhcError, VerifyError};
use pyo3::PyErr;
use pyo3::exceptions::PyMemoryError;

mod exceptions {
    pyo3::import_exception!(hashmill.argon2.exceptions, HashingError);
    pyo3::import_exception!(hashmill.argon2.exceptions, InvalidHashError);
    pyo3::import_exception!(hashmill.argon2.exceptions, OverLimitError);
    pyo3::import_exception!(hashmill.argon2.exceptions, VerificationError);
    pyo3::import_exception!(hashmill.argon2.exceptions, VerifyMismatchError);
}

pub(super) use exceptions::{HashingError, InvalidHashError, VerificationError};

/// The exception for a hash that could not be made.
pub(super) fn from_hash_error(error: HashError) -> PyErr {
    match error {
        HashError::OutOfMemory { .. } => PyMemoryError::new_err(error.to_string()),
        _ => HashingError::new_err(error.to_string()),
    }
}

pub(super) fn from_create_error(error: CreateError) -> PyErr {
    match error {
        CreateError::Hash(error) => from_hash_error(error),
        _ => HashingError::new_err(error.to_string()),
    }
}

/// The exception for a stored hash that is not checked.
pub(super) fn from_phc_error(error: PhcError) -> PyErr {
    match error {
        PhcError::OverLimit { .. } => exceptions::OverLimitError::new_err(error.to_string()),
        _ => VerificationError::new_err(error.to_string()),
    }
}

/// The exception for a password that is not accepted.
pub(super) fn from_verify_error(error: VerifyError) -> PyErr {
    match error {
        VerifyError::Mismatch => {
            exceptions::VerifyMismatchError::new_err("The password does not match the supplied hash")
        }
        VerifyError::Phc(error) => from_phc_error(error),
        VerifyError::OverLimit(error) => exceptions::OverLimitError::new_err(error.to_string()),
        VerifyError::Hash(error @ HashError::OutOfMemory { .. }) => PyMemoryError::new_err(error.to_string()),
        _ => VerificationError::new_err(error.to_string()),
    }
}

/// The exception for a password in a batch.
pub(super) fn from_password_failure(failure: PasswordFailure) -> PyErr {
    match failure {
        failure if failure.is_stop() => from_hash_error(HashError::Stopped),
        PasswordFailure::Verify(error) => from_verify_error(error),
        PasswordFailure::Create(error) => from_create_error(error),
        failure => crate::engines::EngineError::new_err(failure.to_string()),
    }
}
