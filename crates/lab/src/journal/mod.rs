//! The journal of attempts: what was expected, what was found, what was decided; lines are added and never changed.
//!
//! Each line carries the fingerprint of the line before, so that a changed or missing one shows; that of the last line is
//! the head, which a reader keeps and compares. The prediction comes
//! first: a report that is older than it is no evidence. Failures stay; they are the point of a journal.

mod check;
mod error;
mod render;

pub(crate) use check::problems;
pub(crate) use error::JournalError;
pub(crate) use render::markdown;

use crate::fingerprint::sha256_hex;
use crate::model::select::matches;
use crate::report::schema::{Report, Verdict};
use serde::{Deserialize, Serialize};

/// One line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
    /// SHA-256 of the line before; empty in the first.
    pub(crate) prev: String,
    pub(crate) date: String,
    pub(crate) event: Event,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Event {
    /// An attempt begins, with its prediction.
    Opened(Opened),
    /// A report speaks for or against it.
    Evidence(Evidence),
    /// It is kept, or not.
    Decided(Decided),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Opened {
    pub(crate) attempt: u64,
    pub(crate) title: String,
    pub(crate) hypothesis: String,
    /// Commit, branch or patch.
    pub(crate) change: String,
    /// Pattern of the cases that should change.
    pub(crate) target: String,
    /// Expected change of their time in percent: from, to.
    pub(crate) predicted_pct: [f64; 2],
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Evidence {
    pub(crate) attempt: u64,
    /// The file, seen from the journal's folder.
    pub(crate) report: String,
    pub(crate) seal: String,
    pub(crate) found: Vec<Finding>,
}

/// One comparison of a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Finding {
    pub(crate) case: String,
    pub(crate) ratio: f64,
    pub(crate) interval: Option<[f64; 2]>,
    pub(crate) verdict: Verdict,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Decided {
    pub(crate) attempt: u64,
    pub(crate) decision: Decision,
    pub(crate) reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Decision {
    /// Kept: a target is faster and nothing is slower.
    Adopted,
    /// Not kept.
    Rejected,
    /// Kept once, and taken back.
    Reverted,
    /// Undecided until there is more evidence.
    Held,
    /// It cannot work.
    NotViable,
    /// Something was learned, nothing was changed.
    AnalysisOnly,
    /// Another attempt took its place.
    Superseded,
}

/// An attempt with everything that was written about it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Attempt {
    pub(crate) date: String,
    pub(crate) opened: Opened,
    pub(crate) evidence: Vec<(String, Evidence)>,
    pub(crate) decided: Vec<(String, Decided)>,
}

/// The lines that are there, read and found in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Journal {
    pub(crate) attempts: Vec<Attempt>,
    /// Fingerprint of each line.
    prints: Vec<String>,
}

impl Journal {
    /// Reads the text of a journal; each line must follow from those before it.
    pub(crate) fn parse(text: &str) -> Result<Self, JournalError> {
        let mut journal = Journal::default();
        for (index, raw) in text.lines().enumerate() {
            let number = index + 1;
            let broken = |reason: String| JournalError::Line { number, reason };
            let line: Line = serde_json::from_str(raw).map_err(|error| broken(error.to_string()))?;
            if line.prev != journal.head() {
                return Err(broken(
                    "it does not follow the line before: a line was changed, added or lost".to_owned(),
                ));
            }
            journal.accept(&line).map_err(|error| broken(error.to_string()))?;
            journal.prints.push(sha256_hex(raw.as_bytes()));
        }
        Ok(journal)
    }

    /// The text of the line that adds `event`, if the rules allow it.
    pub(crate) fn add(&mut self, date: &str, event: Event) -> Result<String, JournalError> {
        let line = Line { prev: self.head().to_owned(), date: date.to_owned(), event };
        self.accept(&line)?;
        let raw = serde_json::to_string(&line).expect("a line is plain data");
        self.prints.push(sha256_hex(raw.as_bytes()));
        Ok(raw + "\n")
    }

    /// Fingerprint of the last line, and with it of all lines; empty where there is none. No later line vouches for
    /// the last one, so whoever wants to find it unchanged keeps this elsewhere: in a commit, a page, a message.
    pub(crate) fn head(&self) -> &str {
        self.prints.last().map_or("", String::as_str)
    }

    /// How many lines were added since the journal had this head; none if it never had, or a line was changed or cut.
    pub(crate) fn since(&self, head: &str) -> Option<usize> {
        self.prints.iter().rev().position(|print| print == head)
    }

    /// The number of the next attempt.
    pub(crate) fn next(&self) -> u64 {
        self.attempts.len() as u64 + 1
    }

    fn accept(&mut self, line: &Line) -> Result<(), JournalError> {
        if crate::time::parse_utc(&line.date).is_none() {
            return Err(JournalError::Date(line.date.clone()));
        }
        match &line.event {
            Event::Opened(opened) => self.open(&line.date, opened),
            Event::Evidence(evidence) => {
                self.attempt(evidence.attempt)?.evidence.push((line.date.clone(), evidence.clone()));
                Ok(())
            }
            Event::Decided(decided) => self.decide(&line.date, decided),
        }
    }

    fn open(&mut self, date: &str, opened: &Opened) -> Result<(), JournalError> {
        if opened.attempt != self.next() {
            return Err(JournalError::Number { found: opened.attempt, expected: self.next() });
        }
        for (name, text) in
            [("title", &opened.title), ("hypothesis", &opened.hypothesis), ("target", &opened.target)]
        {
            if text.trim().is_empty() {
                return Err(JournalError::Empty(name));
            }
        }
        let [low, high] = opened.predicted_pct;
        if !(low > -100.0 && high >= low && high < 1e6) {
            return Err(JournalError::Prediction(low, high));
        }
        let (date, opened) = (date.to_owned(), opened.clone());
        self.attempts.push(Attempt { date, opened, evidence: Vec::new(), decided: Vec::new() });
        Ok(())
    }

    fn decide(&mut self, date: &str, decided: &Decided) -> Result<(), JournalError> {
        if decided.reason.trim().is_empty() {
            return Err(JournalError::Empty("reason"));
        }
        let attempt = self.attempt(decided.attempt)?;
        if decided.decision == Decision::Adopted {
            attempt.may_be_adopted()?;
        }
        attempt.decided.push((date.to_owned(), decided.clone()));
        Ok(())
    }

    pub(crate) fn attempt(&mut self, number: u64) -> Result<&mut Attempt, JournalError> {
        let index = usize::try_from(number).ok().and_then(|n| n.checked_sub(1));
        index.and_then(|index| self.attempts.get_mut(index)).ok_or(JournalError::Unknown(number))
    }
}

impl Attempt {
    /// Whether a case is one that should change. A pattern may end before the case does, as on the command line.
    pub(crate) fn is_target(&self, case: &str) -> bool {
        let pattern = &self.opened.target;
        matches(pattern, case) || matches(&format!("{pattern}/*"), case)
    }

    pub(crate) fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.evidence.iter().flat_map(|(_, evidence)| &evidence.found)
    }

    fn may_be_adopted(&self) -> Result<(), JournalError> {
        if let Some(slower) = self.findings().find(|finding| finding.verdict == Verdict::Slower) {
            return Err(JournalError::Slower(slower.case.clone()));
        }
        let faster = |finding: &Finding| finding.verdict == Verdict::Faster && self.is_target(&finding.case);
        if self.findings().any(faster) {
            Ok(())
        } else {
            Err(JournalError::NotFaster(self.opened.target.clone()))
        }
    }

    /// What a report has to say about this attempt; `path` as it is written down.
    pub(crate) fn evidence_of(&self, path: &str, report: &Report) -> Result<Evidence, JournalError> {
        let made = crate::time::parse_utc(&report.created);
        if made < crate::time::parse_utc(&self.date) {
            return Err(JournalError::TooOld {
                report: report.created.clone(),
                prediction: self.date.clone(),
            });
        }
        let found: Vec<Finding> = findings(report);
        if !found.iter().any(|finding| self.is_target(&finding.case)) {
            return Err(JournalError::NoTarget(self.opened.target.clone()));
        }
        let (attempt, seal) = (self.opened.attempt, report.seal.clone());
        Ok(Evidence { attempt, report: path.to_owned(), seal, found })
    }
}

/// The comparisons of a report, by the candidate's case.
pub(crate) fn findings(report: &Report) -> Vec<Finding> {
    let found = report.candidates().map(|(row, comparison)| Finding {
        case: row.sides[comparison.side].key.clone(),
        ratio: comparison.ratio,
        interval: comparison.interval,
        verdict: comparison.verdict,
    });
    found.collect()
}

#[cfg(test)]
mod tests;
