//! Errors of the serde conversion, with the path of the value.

use std::fmt::{self, Display};

use crate::interop::pointer_token::escape_token;
use crate::types::error::EditError;

/// Error of converting a value into or out of a document.
#[derive(Debug, PartialEq)]
pub struct Error(Box<ErrorDetails>);

#[derive(Debug, PartialEq)]
struct ErrorDetails {
    /// Keys and indexes, the innermost first.
    path: Vec<String>,
    what: ErrorKind,
}

#[derive(Debug, PartialEq)]
enum ErrorKind {
    /// A message of the type's implementation.
    Message(String),
    /// An error of the document.
    Edit(EditError),
}

impl Error {
    pub(super) fn new(what: impl Display) -> Self {
        Self(Box::new(ErrorDetails { path: Vec::new(), what: ErrorKind::Message(what.to_string()) }))
    }

    pub(super) fn deep() -> Self {
        Self::new("more than 128 levels")
    }

    /// Adds the key or index that contains the value.
    pub(super) fn inside(mut self, token: impl Display) -> Self {
        self.0.path.push(token.to_string());
        self
    }

    /// Path of the value as a JSON Pointer (RFC 6901); empty for the whole value.
    pub fn pointer(&self) -> String {
        self.0.path.iter().rev().map(|token| format!("/{}", escape_token(token))).collect()
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.path.is_empty() {
            write!(f, "{}: ", self.pointer())?;
        }
        match &self.0.what {
            ErrorKind::Message(what) => f.write_str(what),
            ErrorKind::Edit(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.what {
            ErrorKind::Message(_) => None,
            ErrorKind::Edit(error) => Some(error),
        }
    }
}

impl From<EditError> for Error {
    fn from(error: EditError) -> Self {
        Self(Box::new(ErrorDetails { path: Vec::new(), what: ErrorKind::Edit(error) }))
    }
}

impl ::serde::ser::Error for Error {
    fn custom<T: Display>(what: T) -> Self {
        Self::new(what)
    }
}

impl ::serde::de::Error for Error {
    fn custom<T: Display>(what: T) -> Self {
        Self::new(what)
    }
}
