//! `lab journal`: attempts with their predictions, evidence and decisions.

use super::error::Error;
use super::{Console, Exit, Mount};
use crate::journal::{Decided, Decision, Event, Journal, JournalError, Opened, markdown, problems};
use crate::report::check;
use crate::report::store::{self, ReadError};
use crate::time::now_utc;
use clap::{Args, Subcommand};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(super) struct JournalArgs {
    /// The journal; reports are named relative to its folder.
    #[arg(long, value_name = "FILE", default_value = "lab-journal.jsonl", global = true)]
    file: PathBuf,
    #[command(subcommand)]
    step: Step,
}

#[derive(Debug, Subcommand)]
enum Step {
    /// Begin an attempt: hypothesis and prediction, before anything is measured.
    New(New),
    /// Add a report as evidence.
    Attach {
        /// Number of the attempt.
        attempt: u64,
        /// The report.json.
        report: PathBuf,
    },
    /// Decide an attempt; `adopted` needs a faster target and no slower case.
    Decide {
        /// Number of the attempt.
        attempt: u64,
        /// What becomes of it.
        decision: Decision,
        /// Why.
        #[arg(long)]
        reason: String,
    },
    /// Check the chain of lines and every cited number against its report; prints the fingerprint of the last line.
    Check {
        /// The fingerprint that was printed before: that line must still be there, with all before it as they were.
        #[arg(long, value_name = "FINGERPRINT")]
        head: Option<String>,
    },
    /// Print the journal as Markdown.
    Render,
}

#[derive(Debug, Args)]
struct New {
    /// What is tried, in a few words.
    title: String,
    /// Why it should help.
    #[arg(long)]
    hypothesis: String,
    /// Cases that should change: a pattern, as in `list`.
    #[arg(long, value_name = "PATTERN")]
    target: String,
    /// Expected change of their time in percent; -5,-2 is two to five percent faster.
    #[arg(
        long,
        value_name = "LOW,HIGH",
        value_delimiter = ',',
        num_args = 1,
        required = true,
        allow_hyphen_values = true
    )]
    predict: Vec<f64>,
    /// Commit, branch or patch.
    #[arg(long, default_value = "")]
    change: String,
}

pub(super) fn main(_: &Mount<'_>, args: &JournalArgs, console: &mut Console<'_>) -> Result<Exit, Error> {
    let path = &args.file;
    match &args.step {
        Step::New(new) => {
            let [low, high] = new.predict[..] else {
                return Err(Error::Usage("--predict takes two numbers: LOW,HIGH".to_owned()));
            };
            let event = |journal: &mut Journal| {
                Ok(Event::Opened(Opened {
                    attempt: journal.next(),
                    title: new.title.clone(),
                    hypothesis: new.hypothesis.clone(),
                    change: new.change.clone(),
                    target: new.target.clone(),
                    predicted_pct: [low, high],
                }))
            };
            let journal = append(path, event)?;
            writeln!(console.out, "attempt {}", journal.next() - 1)?;
        }
        Step::Attach { attempt, report } => {
            let name = relative(report, path)?;
            let stored = read_report(report)?;
            append(path, |journal| {
                let evidence = journal.attempt(*attempt).and_then(|found| found.evidence_of(&name, &stored));
                evidence.map(Event::Evidence).map_err(|error| refused(&error))
            })?;
        }
        Step::Decide { attempt, decision, reason } => {
            let decided = Decided { attempt: *attempt, decision: *decision, reason: reason.clone() };
            append(path, |_| Ok(Event::Decided(decided.clone())))?;
        }
        Step::Check { head } => return check_all(path, head.as_deref(), console),
        Step::Render => console.out.write_all(markdown(&open(path)?).as_bytes())?,
    }
    Ok(Exit::Ok)
}

fn check_all(path: &Path, head: Option<&str>, console: &mut Console<'_>) -> Result<Exit, Error> {
    let journal = open(path)?;
    let added = match head.map(|head| journal.since(head)) {
        Some(None) => {
            return Err(Error::Refused(format!(
                "{}: it has no line with that fingerprint: one was changed or cut since, or it is of another journal",
                path.display()
            )));
        }
        Some(Some(added)) => format!("; {added} lines since that head"),
        None => String::new(),
    };
    let folder = folder(path);
    let found =
        problems(&journal, &|name| store::read(&folder.join(name)).map_err(|error| error.to_string()));
    for problem in &found {
        writeln!(console.out, "{problem}")?;
    }
    if !found.is_empty() {
        return Ok(Exit::Failed);
    }
    let cited: usize = journal.attempts.iter().map(|attempt| attempt.findings().count()).sum();
    let attempts = journal.attempts.len();
    writeln!(console.out, "{}: ok; {attempts} attempts, {cited} cited numbers{added}", path.display())?;
    writeln!(console.out, "head {}", journal.head())?;
    Ok(Exit::Ok)
}

fn open(path: &Path) -> Result<Journal, Error> {
    let failed = |source| Error::Read {
        path: path.to_owned(),
        source: ReadError::Io { path: path.to_owned(), source },
    };
    let text = std::fs::read_to_string(path).map_err(failed)?;
    Journal::parse(&text).map_err(|error| Error::Refused(format!("{}: {error}", path.display())))
}

/// Adds one line, under a lock, to the journal as it is at that moment.
fn append(path: &Path, event: impl FnOnce(&mut Journal) -> Result<Event, Error>) -> Result<Journal, Error> {
    let failed = |source| Error::Write { path: path.to_owned(), source };
    let mut file = File::options().read(true).append(true).create(true).open(path).map_err(failed)?;
    file.lock().map_err(failed)?;
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(failed)?;
    let broken = |error: JournalError| Error::Refused(format!("{}: {error}", path.display()));
    let mut journal = Journal::parse(&text).map_err(broken)?;
    let event = event(&mut journal)?;
    let line = journal.add(&now_utc(), event).map_err(|error| refused(&error))?;
    // A file whose last line was torn has failed above; one without its line feed gets it.
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    file.write_all(format!("{gap}{line}").as_bytes()).map_err(failed)?;
    Ok(journal)
}

fn refused(error: &JournalError) -> Error {
    Error::Usage(error.to_string())
}

/// A report that may be cited: one that stands its own check.
fn read_report(path: &Path) -> Result<crate::report::schema::Report, Error> {
    let failed = |source| Error::Read { path: path.to_owned(), source };
    let report = store::read(path).map_err(failed)?;
    match check::problems(&report).first() {
        None => Ok(report),
        Some(problem) => Err(Error::Refused(format!("{}: {problem}", path.display()))),
    }
}

fn folder(journal: &Path) -> PathBuf {
    journal.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
}

/// The report's path from the journal's folder, so that both can move together.
fn relative(report: &Path, journal: &Path) -> Result<String, Error> {
    let real = |path: &Path| {
        std::fs::canonicalize(path).map_err(|source| {
            let source = ReadError::Io { path: path.to_owned(), source };
            Error::Read { path: path.to_owned(), source }
        })
    };
    let (report_at, folder_at) = (real(report)?, real(&folder(journal))?);
    let inside = report_at.strip_prefix(&folder_at).map_err(|_| {
        Error::Usage(format!(
            "{} is not below the journal's folder; keep cited reports beside it",
            report.display()
        ))
    })?;
    Ok(inside.to_string_lossy().replace('\\', "/"))
}
