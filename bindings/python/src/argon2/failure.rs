//! Errors as the exceptions of `hashmill.argon2.exceptions`, with the numbers in their words.

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

/// Why there is no new hash.
pub(super) fn of_hash(error: HashError) -> PyErr {
    match error {
        HashError::OutOfMemory { .. } => PyMemoryError::new_err(error.to_string()),
        _ => HashingError::new_err(error.to_string()),
    }
}

pub(super) fn of_create(error: CreateError) -> PyErr {
    match error {
        CreateError::Hash(error) => of_hash(error),
        _ => HashingError::new_err(error.to_string()),
    }
}

/// Why a hash is not checked.
pub(super) fn of_phc(error: PhcError) -> PyErr {
    match error {
        PhcError::OverLimit { .. } => exceptions::OverLimitError::new_err(error.to_string()),
        _ => VerificationError::new_err(error.to_string()),
    }
}

/// Why a password is not accepted.
pub(super) fn of_verify(error: VerifyError) -> PyErr {
    match error {
        VerifyError::Mismatch => {
            exceptions::VerifyMismatchError::new_err("The password does not match the supplied hash")
        }
        VerifyError::Phc(error) => of_phc(error),
        VerifyError::OverLimit(error) => exceptions::OverLimitError::new_err(error.to_string()),
        VerifyError::Hash(error @ HashError::OutOfMemory { .. }) => PyMemoryError::new_err(error.to_string()),
        _ => VerificationError::new_err(error.to_string()),
    }
}
