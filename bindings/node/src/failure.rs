//! What went wrong, as a value: `lib/native.cjs` makes an error of it.

use std::io;

use hashmill_files::Error;
use hashmill_hash::argon2::{HashError, ParamsError};
use hashmill_hash::password::{CreateError, PhcError, VerifyError};
use napi_derive::napi;

/// Words, and which error they are the words of.
#[napi(object, object_from_js = false)]
pub struct Failure {
    /// `RangeError`, `SyntaxError`, `Error`, or `Stopped`.
    pub kind: &'static str,
    pub message: String,
    /// The number that the system gave.
    pub errno: Option<i32>,
}

impl Failure {
    fn new(kind: &'static str, message: &impl ToString) -> Failure {
        Failure { kind, message: message.to_string(), errno: None }
    }

    /// An error of this library.
    pub(crate) fn ours(words: &str) -> Failure {
        Failure::new("Error", &format!("an error of hashmill, please report it: {words}"))
    }

    pub(crate) fn stopped() -> Failure {
        Failure::new("Stopped", &"stopped before the end")
    }

    pub(crate) fn range(message: &impl ToString) -> Failure {
        Failure::new("RangeError", message)
    }
}

impl From<HashError> for Failure {
    fn from(error: HashError) -> Failure {
        match error {
            HashError::Stopped => Failure::stopped(),
            HashError::OutOfMemory { .. } => Failure::new("Error", &error),
            _ => Failure::range(&error),
        }
    }
}

impl From<ParamsError> for Failure {
    fn from(error: ParamsError) -> Failure {
        Failure::range(&error)
    }
}

impl From<PhcError> for Failure {
    fn from(error: PhcError) -> Failure {
        let is_malformed = matches!(error, PhcError::Malformed { .. });
        Failure::new(if is_malformed { "SyntaxError" } else { "RangeError" }, &error)
    }
}

impl From<CreateError> for Failure {
    fn from(error: CreateError) -> Failure {
        match error {
            CreateError::Hash(error) => error.into(),
            _ => Failure::range(&error),
        }
    }
}

impl From<VerifyError> for Failure {
    fn from(error: VerifyError) -> Failure {
        match error {
            VerifyError::Phc(error) => error.into(),
            VerifyError::Hash(error) => error.into(),
            _ => Failure::range(&error),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let message = error.to_string();
        match error {
            Error::Stopped => Failure::stopped(),
            error => Failure { kind: "Error", message, errno: io::Error::from(error).raw_os_error() },
        }
    }
}
