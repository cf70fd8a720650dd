//! The journal against the reports that it cites.

use super::{Evidence, Journal, findings};
use crate::report::check;
use crate::report::schema::Report;

/// Every citation that its report does not bear out. `read` gives the report of a path, or why there is none.
pub(crate) fn problems(journal: &Journal, read: &dyn Fn(&str) -> Result<Report, String>) -> Vec<String> {
    let mut found = Vec::new();
    for attempt in &journal.attempts {
        for (_, evidence) in &attempt.evidence {
            let place = format!("attempt {}, {}", attempt.opened.attempt, evidence.report);
            let mut add = |reason: String| found.push(format!("{place}: {reason}"));
            match read(&evidence.report) {
                Err(reason) => add(reason),
                Ok(report) => {
                    against(evidence, &report).into_iter().for_each(&mut add);
                    if let Err(error) = attempt.evidence_of(&evidence.report, &report) {
                        add(error.to_string());
                    }
                }
            }
        }
    }
    found
}

fn against(evidence: &Evidence, report: &Report) -> Vec<String> {
    let mut found: Vec<String> = check::problems(report).iter().map(ToString::to_string).collect();
    if report.seal != evidence.seal {
        found.push("it is another report than the one that was cited: the seals differ".to_owned());
    }
    let stored = findings(report);
    for cited in &evidence.found {
        if !stored.contains(cited) {
            let (case, ratio, verdict) = (&cited.case, cited.ratio, cited.verdict.word());
            found.push(format!("it does not say that {case} is {verdict} with {ratio:.4}"));
        }
    }
    found
}
