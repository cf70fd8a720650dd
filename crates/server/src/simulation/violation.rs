//! A broken invariant.

use std::fmt;

/// A broken invariant, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Violation {
    pub(super) invariant: &'static str,
    detail: String,
}

impl Violation {
    pub(super) fn new(invariant: &'static str, detail: impl Into<String>) -> Violation {
        Violation { invariant, detail: detail.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.detail)
    }
}
