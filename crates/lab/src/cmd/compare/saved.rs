//! `lab compare OLD.json NEW.json`: two saved reports of one machine.

use super::super::error::Error;
use crate::report::between::{Became, Between};
use crate::report::store;
use std::path::Path;

/// Whether a word names a saved report rather than a build.
pub(super) fn is_report(word: &str) -> bool {
    let path = Path::new(word);
    path.extension().is_some_and(|extension| extension == "json") && path.is_file()
}

/// What lies between them, the earlier one first.
pub(super) fn between(one: &str, other: &str) -> Result<Between, Error> {
    let read = |name: &str| {
        let path = Path::new(name);
        let report = store::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
        match crate::report::check::problems(&report).first() {
            Some(problem) => Err(Error::Refused(format!("{name}: {problem}"))),
            None => Ok(report),
        }
    };
    Between::of(&read(one)?, &read(other)?).map_err(|error| Error::Refused(error.to_string()))
}

impl super::FailOn {
    pub(super) fn is_met_between(self, between: &Between) -> bool {
        between.pairs.iter().any(|pair| match self {
            super::FailOn::Slower => pair.became == Became::Slower,
            super::FailOn::Changed => matches!(pair.became, Became::Slower | Became::Faster),
        })
    }
}
