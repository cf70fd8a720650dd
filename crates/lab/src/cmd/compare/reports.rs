//! `lab compare OLD.json NEW.json`: two saved reports of one machine.

use crate::cmd::context::error::Error;
use crate::cmd::context::files::sound_report;
use crate::cmd::context::options::FailOn;
use crate::cmd::github::Annotation;
use crate::report::documents::report_diff::{CaseDiff, DiffVerdict, ReportDiff};
use crate::stats::ratio::{range, times};
use std::path::Path;

/// Whether an argument is a saved report and not a build.
pub(crate) fn is_report(word: &str) -> bool {
    let path = Path::new(word);
    path.extension().is_some_and(|extension| extension == "json") && path.is_file()
}

/// Compares two reports, the earlier one first.
pub(crate) fn diff(one: &str, other: &str) -> Result<ReportDiff, Error> {
    let read = |name: &str| sound_report(Path::new(name));
    ReportDiff::from_reports(&read(one)?, &read(other)?).map_err(|error| Error::Refused(error.to_string()))
}

/// Annotations for slower cases and other failures. The banner is omitted, because it holds for every two saved
/// reports.
pub(crate) fn annotations(diff: &ReportDiff, fail_on: Option<FailOn>) -> Vec<Annotation> {
    let lines = diff.pairs.iter().filter_map(|pair| {
        let is_error = fail_on.is_some_and(|requested| requested.is_met_by(pair));
        let word = if pair.verdict == DiffVerdict::Slower { "slower" } else { "faster" };
        (is_error || pair.verdict == DiffVerdict::Slower).then(|| Annotation {
            is_error,
            message: format!(
                "{} became {word}, {} {}",
                pair.case,
                times(pair.ratio),
                range(Some(pair.interval))
            ),
        })
    });
    let worthless = diff.warnings().iter().filter(|warning| warning.is_fatal);
    let worthless = worthless.map(|warning| Annotation { is_error: true, message: warning.message.clone() });
    worthless.chain(lines).collect()
}

impl FailOn {
    pub(crate) fn is_met_between(self, diff: &ReportDiff) -> bool {
        diff.pairs.iter().any(|pair| self.is_met_by(pair))
    }

    fn is_met_by(self, pair: &CaseDiff) -> bool {
        match self {
            FailOn::Slower => pair.verdict == DiffVerdict::Slower,
            FailOn::Changed => matches!(pair.verdict, DiffVerdict::Slower | DiffVerdict::Faster),
        }
    }
}
