//! Errors of command lines that parse but cannot be used.

use std::fmt;

/// A command line that parses but makes no sense.
#[derive(Debug)]
pub(crate) struct UsageError(pub(crate) String);

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// The error for a command or an engine that this build leaves out.
#[cfg(any(not(feature = "doc"), not(feature = "gpu"), not(feature = "lab")))]
pub(crate) fn missing_feature(feature: &str) -> anyhow::Error {
    UsageError(format!("this program was built without `{feature}` (a feature of the package hashmill-cli)"))
        .into()
}
