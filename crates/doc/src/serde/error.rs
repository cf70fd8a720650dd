//! What does not go into a document or a type, and where.

use std::fmt::{self, Display};

use crate::error::EditError;

/// Why a value does not go into a document, or out of one.
#[derive(Debug, PartialEq)]
pub struct Error(Box<Inside>);

#[derive(Debug, PartialEq)]
struct Inside {
    /// Keys and indexes, the innermost first.
    way: Vec<String>,
    what: What,
}

#[derive(Debug, PartialEq)]
enum What {
    /// The type says so.
    Said(String),
    /// The document does.
    Edit(EditError),
}

impl Error {
    pub(super) fn new(what: impl Display) -> Self {
        Self(Box::new(Inside { way: Vec::new(), what: What::Said(what.to_string()) }))
    }

    pub(super) fn deep() -> Self {
        Self::new("more than 128 levels")
    }

    /// It lies inside this key or index.
    pub(super) fn inside(mut self, token: impl Display) -> Self {
        self.0.way.push(token.to_string());
        self
    }

    /// The way to the value, as a JSON Pointer (RFC 6901); empty for the whole.
    pub fn pointer(&self) -> String {
        let escape = |token: &String| format!("/{}", token.replace('~', "~0").replace('/', "~1"));
        self.0.way.iter().rev().map(escape).collect()
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.way.is_empty() {
            write!(f, "{}: ", self.pointer())?;
        }
        match &self.0.what {
            What::Said(what) => f.write_str(what),
            What::Edit(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.what {
            What::Said(_) => None,
            What::Edit(error) => Some(error),
        }
    }
}

impl From<EditError> for Error {
    fn from(error: EditError) -> Self {
        Self(Box::new(Inside { way: Vec::new(), what: What::Edit(error) }))
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
