//! Output for GitHub workflows: tables in the summary of the run, and annotations for failures.

use crate::cmd::context::error::Error;
use crate::cmd::context::options::FailOn;
use crate::report::render::markdown;
use crate::report::schema::{Comparison, Report, Verdict};
use crate::report::view::View;
use crate::stats::ratio::{range, times};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

/// Environment variable with the file of the step's summary.
const SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// Maximum size of a summary; GitHub shows an error for larger ones.
const MOST_BYTES: u64 = 1 << 20;

/// Maximum number of annotations per level in a step; GitHub silently drops more.
const MOST_LINES: usize = 10;

/// An annotation of the run, red or yellow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Annotation {
    /// Whether the step fails because of it.
    pub(crate) is_error: bool,
    pub(crate) message: String,
}

/// Summary of the step, if requested.
pub(crate) struct StepSummary(Option<(PathBuf, File)>);

impl StepSummary {
    /// Opens the file before the measurement, so that errors appear early.
    pub(crate) fn open(is_wanted: bool) -> Result<Self, Error> {
        if !is_wanted {
            return Ok(StepSummary(None));
        }
        let Some(path) = std::env::var_os(SUMMARY).filter(|path| !path.is_empty()).map(PathBuf::from) else {
            return Err(Error::Usage(format!(
                "--github is for GitHub workflows, but {SUMMARY} names no file"
            )));
        };
        let file = OpenOptions::new().append(true).create(true).open(&path).map_err(Error::keep(&path))?;
        Ok(StepSummary(Some((path, file))))
    }

    /// Writes the tables to the summary and the annotations to standard error, where they do not disturb `--json`.
    pub(crate) fn show(self, view: &View, mut lines: Vec<Annotation>) -> Result<(), Error> {
        let StepSummary(Some((path, mut file))) = self else { return Ok(()) };
        let written = file.metadata().and_then(|known| {
            let text = markdown::lay_out_view(view);
            let shown = fitting(&text, MOST_BYTES.saturating_sub(known.len()));
            if shown.len() < text.len() {
                lines.push(Annotation {
                    is_error: false,
                    message: "the summary is shortened to GitHub's size limit; the rest is in the report"
                        .to_owned(),
                });
            }
            file.write_all(shown.as_bytes())
        });
        written.map_err(Error::keep(&path))?;
        for line in few(lines) {
            writeln!(std::io::stderr(), "{}", command(&view.title, &line)).ok();
        }
        Ok(())
    }
}

/// Annotations for the warnings of a view.
pub(crate) fn of_banner(view: &View) -> Vec<Annotation> {
    let line = |warning: &crate::report::view::Warning| Annotation {
        is_error: warning.is_fatal,
        message: warning.message.clone(),
    };
    view.banner.iter().map(line).collect()
}

/// Annotations for the verdicts of a report. The flags decide which ones are failures.
pub(crate) fn of_verdicts(report: &Report, fail_on: Option<FailOn>, strict: bool) -> Vec<Annotation> {
    let is_failure = |verdict| {
        fail_on.is_some_and(|requested| requested.names(verdict))
            || strict && verdict == Verdict::Inconclusive
    };
    let candidates = report.candidates().filter(|(_, c)| c.sessions > 0);
    let candidates = candidates.filter(|(_, c)| c.verdict == Verdict::Slower || is_failure(c.verdict));
    candidates
        .map(|(row, comparison)| {
            let message = format!("{}: {}", row.title, against(comparison, &row.sides[0].label));
            Annotation { is_error: is_failure(comparison.verdict), message }
        })
        .collect()
}

/// Text such as `slower than main, 0.970× [0.962, 0.978]`.
fn against(comparison: &Comparison, other: &str) -> String {
    let verdict = match comparison.verdict {
        Verdict::Faster | Verdict::Slower => format!("{} than {other}", comparison.verdict.word()),
        Verdict::Same => format!("as fast as {other}"),
        Verdict::Inconclusive => format!("neither proven faster nor slower than {other}"),
    };
    format!("{verdict}, {} {}", times(comparison.ratio), range(comparison.interval))
}

/// Errors first, and only as many of each level as are shown; the last one gives the number of omitted ones.
fn few(lines: Vec<Annotation>) -> Vec<Annotation> {
    let (errors, warnings): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| line.is_error);
    let cut = |mut lines: Vec<Annotation>| {
        if lines.len() > MOST_LINES {
            let left_out = lines.len() - (MOST_LINES - 1);
            lines.truncate(MOST_LINES - 1);
            let is_error = lines[0].is_error;
            lines.push(Annotation { is_error, message: format!("{left_out} more are in the summary") });
        }
        lines
    };
    [cut(errors), cut(warnings)].concat()
}

/// Workflow command of an annotation.
fn command(title: &str, line: &Annotation) -> String {
    let level = if line.is_error { "error" } else { "warning" };
    let title = escape(title).replace(':', "%3A").replace(',', "%2C");
    format!("::{level} title={title}::{}", escape(&line.message))
}

/// Escapes characters that would end a command or start another.
fn escape(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// As many whole lines as fit.
fn fitting(text: &str, room: u64) -> &str {
    if text.len() as u64 <= room {
        return text;
    }
    let most = text.floor_char_boundary(usize::try_from(room).unwrap_or(usize::MAX));
    text[..most].rfind('\n').map_or("", |end| &text[..=end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(is_error: bool, message: &str) -> Annotation {
        Annotation { is_error, message: message.to_owned() }
    }

    #[test]
    fn escapes_messages_in_workflow_commands() {
        let message = line(true, "50 % of a::b\r\n::stop-commands::x");
        let text = command("lab compare 1, 2: 3", &message);
        assert_eq!(text, "::error title=lab compare 1%2C 2%3A 3::50 %25 of a::b%0D%0A::stop-commands::x");
        assert!(command("t", &line(false, "")).starts_with("::warning title=t::"));
    }

    #[test]
    fn errors_come_first_and_omitted_annotations_are_counted() {
        let many: Vec<_> = (0..25).map(|i| line(i % 2 == 0, &i.to_string())).collect();
        let shown = few(many);
        let message: Vec<&str> = shown.iter().map(|line| line.message.as_str()).collect();
        assert_eq!(message[..2], ["0", "2"]);
        assert_eq!(message[8..11], ["16", "4 more are in the summary", "1"]);
        assert_eq!((message.len(), message[19]), (20, "3 more are in the summary"));
        assert_eq!(few(vec![line(false, "a"); 10]).len(), 10);
    }

    #[test]
    fn a_summary_that_is_too_large_ends_with_a_whole_line() {
        let text = "| a |\n| ä |\n";
        assert_eq!(fitting(text, 100), text);
        for room in 6..text.len() as u64 {
            assert_eq!(fitting(text, room), "| a |\n");
        }
        assert_eq!(fitting(text, 3), "");
    }
}
