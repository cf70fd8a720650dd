//! Failures as values: `lib/native.cjs` converts them to errors.

use std::io;

use hashmill_engines::PasswordFailure;
use hashmill_files::Error;
use hashmill_hash::argon2::{HashError, ParamsError};
use hashmill_hash::password::{CreateError, PhcError, VerifyError};
use napi_derive::napi;

/// A message, and the class of its error.
#[napi(object, object_from_js = false)]
pub struct Failure {
    /// `RangeError`, `SyntaxError`, `EngineError`, `Error`, or `Stopped`.
    pub kind: &'static str,
    pub message: String,
    /// The error number of the system.
    pub errno: Option<i32>,
}

impl Failure {
    fn new(kind: &'static str, message: &impl ToString) -> Failure {
        Failure { kind, message: message.to_string(), errno: None }
    }

    /// An error of this library.
    pub(crate) fn bug(words: &str) -> Failure {
        Failure::new("Error", &format!("a bug in hashmill, please report it: {words}"))
    }

    pub(crate) fn stopped() -> Failure {
        Failure::new("Stopped", &"stopped before the end")
    }

    /// An engine is not available, or failed.
    pub(crate) fn engine(message: &impl ToString) -> Failure {
        Failure::new("EngineError", message)
    }

    pub(crate) fn is_engine(&self) -> bool {
        self.kind == "EngineError"
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

impl From<PasswordFailure> for Failure {
    fn from(failure: PasswordFailure) -> Failure {
        match failure {
            failure if failure.is_stop() => Failure::stopped(),
            PasswordFailure::Verify(error) => error.into(),
            PasswordFailure::Create(error) => error.into(),
            failure => Failure::engine(&failure),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let message = error.to_string();
        match error {
            Error::Stopped => Failure::stopped(),
            Error::Engine(_) => Failure::engine(&message),
            error => Failure { kind: "Error", message, errno: io::Error::from(error).raw_os_error() },
        }
    }
}
