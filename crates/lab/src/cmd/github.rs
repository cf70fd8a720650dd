//! What a workflow on GitHub shows of a command: its tables on the page of the run, and what went wrong above them and beside
//! the change.

use super::compare::FailOn;
use super::error::Error;
use crate::report::markdown;
use crate::report::schema::{Comparison, Report, Verdict};
use crate::report::view::View;
use crate::stats::ratio::{range, times};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

/// The variable that names the file for a step's summary.
const SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// A summary of more bytes is shown as an error instead.
const MOST_BYTES: u64 = 1 << 20;

/// So many annotations of each level a step may have; what comes after them is dropped without a word.
const MOST_LINES: usize = 10;

/// A line that GitHub puts beside the run, red or yellow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Annotation {
    /// The step ends with a code that says so.
    pub(super) is_error: bool,
    pub(super) says: String,
}

/// The summary of the step, where one was asked for.
pub(super) struct Page(Option<(PathBuf, File)>);

impl Page {
    /// Opens it before anything is measured: a file that cannot be written must show now.
    pub(super) fn open(is_wanted: bool) -> Result<Self, Error> {
        if !is_wanted {
            return Ok(Page(None));
        }
        let Some(path) = std::env::var_os(SUMMARY).filter(|path| !path.is_empty()).map(PathBuf::from) else {
            return Err(Error::Usage(format!("--github is for workflows, and {SUMMARY} names no file here")));
        };
        let file = OpenOptions::new().append(true).create(true).open(&path).map_err(Error::keep(&path))?;
        Ok(Page(Some((path, file))))
    }

    /// Adds the tables to the summary, and says the lines on standard error, where they disturb no `--json`.
    pub(super) fn show(self, view: &View, mut lines: Vec<Annotation>) -> Result<(), Error> {
        let Page(Some((path, mut file))) = self else { return Ok(()) };
        let written = file.metadata().and_then(|known| {
            let text = markdown::lay_out_view(view);
            let shown = fitting(&text, MOST_BYTES.saturating_sub(known.len()));
            if shown.len() < text.len() {
                lines.push(Annotation {
                    is_error: false,
                    says: "the summary is cut where GitHub would show none of it; the rest is in the report"
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

/// What the banner of a view says, which nobody should have to open a file for.
pub(super) fn of_banner(view: &View) -> Vec<Annotation> {
    let line = |warning: &crate::report::banner::Warning| Annotation {
        is_error: warning.is_fatal,
        says: warning.says.clone(),
    };
    view.banner.iter().map(line).collect()
}

/// The verdicts of a report that somebody should see. Whether one is a failure is up to the flags.
pub(super) fn of_verdicts(report: &Report, fail_on: Option<FailOn>, strict: bool) -> Vec<Annotation> {
    let is_failure = |verdict| {
        fail_on.is_some_and(|wish| wish.names(verdict)) || strict && verdict == Verdict::Inconclusive
    };
    let told = report.candidates().filter(|(_, c)| c.sessions > 0);
    let told = told.filter(|(_, c)| c.verdict == Verdict::Slower || is_failure(c.verdict));
    told.map(|(row, comparison)| {
        let says = format!("{}: {}", row.title, against(comparison, &row.sides[0].label));
        Annotation { is_error: is_failure(comparison.verdict), says }
    })
    .collect()
}

/// `slower than main, 0.970× [0.962, 0.978]`.
fn against(comparison: &Comparison, other: &str) -> String {
    let verdict = match comparison.verdict {
        Verdict::Faster | Verdict::Slower => format!("{} than {other}", comparison.verdict.word()),
        Verdict::Same => format!("as fast as {other}"),
        Verdict::Inconclusive => format!("neither proven faster nor slower than {other}"),
    };
    format!("{verdict}, {} {}", times(comparison.ratio), range(comparison.interval))
}

/// Errors first, and no more of each level than are shown; the last one says how many are missing.
fn few(lines: Vec<Annotation>) -> Vec<Annotation> {
    let (errors, warnings): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| line.is_error);
    let cut = |mut lines: Vec<Annotation>| {
        if lines.len() > MOST_LINES {
            let left_out = lines.len() - (MOST_LINES - 1);
            lines.truncate(MOST_LINES - 1);
            let is_error = lines[0].is_error;
            lines.push(Annotation { is_error, says: format!("{left_out} more are in the summary") });
        }
        lines
    };
    [cut(errors), cut(warnings)].concat()
}

/// The workflow command of an annotation.
fn command(title: &str, line: &Annotation) -> String {
    let level = if line.is_error { "error" } else { "warning" };
    let title = escape(title).replace(':', "%3A").replace(',', "%2C");
    format!("::{level} title={title}::{}", escape(&line.says))
}

/// What would end a command or begin another is said by its number.
fn escape(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// As many whole lines as there is room for.
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

    fn line(is_error: bool, says: &str) -> Annotation {
        Annotation { is_error, says: says.to_owned() }
    }

    #[test]
    fn nothing_in_a_message_ends_its_command() {
        let message = line(true, "50 % of a::b\r\n::stop-commands::x");
        let said = command("lab compare 1, 2: 3", &message);
        assert_eq!(said, "::error title=lab compare 1%2C 2%3A 3::50 %25 of a::b%0D%0A::stop-commands::x");
        assert!(command("t", &line(false, "")).starts_with("::warning title=t::"));
    }

    #[test]
    fn errors_come_first_and_what_would_be_dropped_is_counted() {
        let many: Vec<_> = (0..25).map(|i| line(i % 2 == 0, &i.to_string())).collect();
        let shown = few(many);
        let says: Vec<&str> = shown.iter().map(|line| line.says.as_str()).collect();
        assert_eq!(says[..2], ["0", "2"]);
        assert_eq!(says[8..11], ["16", "4 more are in the summary", "1"]);
        assert_eq!((says.len(), says[19]), (20, "3 more are in the summary"));
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
