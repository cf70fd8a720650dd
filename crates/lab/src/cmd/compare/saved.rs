//! `lab compare OLD.json NEW.json`: two saved reports of one machine.

use super::FailOn;
use crate::cmd::error::Error;
use crate::cmd::files::sound_report;
use crate::cmd::github::Annotation;
use crate::report::between::{Became, Between, Pair};
use crate::stats::ratio::{range, times};
use std::path::Path;

/// Whether a word names a saved report rather than a build.
pub(super) fn is_report(word: &str) -> bool {
    let path = Path::new(word);
    path.extension().is_some_and(|extension| extension == "json") && path.is_file()
}

/// What lies between them, the earlier one first.
pub(super) fn between(one: &str, other: &str) -> Result<Between, Error> {
    let read = |name: &str| sound_report(Path::new(name));
    Between::of(&read(one)?, &read(other)?).map_err(|error| Error::Refused(error.to_string()))
}

/// What became slower, and whatever else is a failure. What the banner says is true of every two saved reports.
pub(super) fn annotations(between: &Between, fail_on: Option<FailOn>) -> Vec<Annotation> {
    let lines = between.pairs.iter().filter_map(|pair| {
        let is_error = fail_on.is_some_and(|wish| wish.is_met_by(pair));
        let word = if pair.became == Became::Slower { "slower" } else { "faster" };
        (is_error || pair.became == Became::Slower).then(|| Annotation {
            is_error,
            says: format!(
                "{} became {word}, {} {}",
                pair.case,
                times(pair.ratio),
                range(Some(pair.interval))
            ),
        })
    });
    let worthless = between.warnings().iter().filter(|warning| warning.is_fatal);
    let worthless = worthless.map(|warning| Annotation { is_error: true, says: warning.says.clone() });
    worthless.chain(lines).collect()
}

impl FailOn {
    pub(super) fn is_met_between(self, between: &Between) -> bool {
        between.pairs.iter().any(|pair| self.is_met_by(pair))
    }

    fn is_met_by(self, pair: &Pair) -> bool {
        match self {
            FailOn::Slower => pair.became == Became::Slower,
            FailOn::Changed => matches!(pair.became, Became::Slower | Became::Faster),
        }
    }
}
