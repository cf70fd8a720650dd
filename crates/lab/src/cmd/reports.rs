//! `lab check`, `lab report` and `lab schema`: what becomes of reports after the run.

use super::args::{Check, Format, Render};
use super::error::Error;
use super::{Console, Exit};
use crate::report::check::problems;
use crate::report::noise::{self, NoiseRecord};
use crate::report::schema::Report;
use crate::report::store::ReadError;
use crate::report::{html, markdown, store, text};
use std::path::Path;

pub(super) fn check(args: &Check, console: &mut Console<'_>) -> Result<Exit, Error> {
    let mut exit = Exit::Ok;
    for path in &args.files {
        let shown = path.display();
        let (problems, says) = examine(path)?;
        if problems.is_empty() {
            writeln!(console.out, "{shown}: ok; {says}")?;
            continue;
        }
        exit = Exit::Failed;
        writeln!(console.out, "{shown}: rejected")?;
        for problem in problems {
            writeln!(console.out, "  {problem}")?;
        }
    }
    Ok(exit)
}

/// What is wrong with a report or a noise record, and what was computed again if nothing is.
fn examine(path: &Path) -> Result<(Vec<String>, String), Error> {
    let failed = |source| Error::Read { path: path.to_owned(), source };
    let bytes = store::read_bytes(path).map_err(failed)?;
    match store::parse(&bytes) {
        Ok(report) => {
            let samples: usize = report.rows.iter().map(|row| row.samples.ns.len()).sum();
            let count = report.candidates().count();
            let says = format!("{samples} samples, {count} verdicts computed again");
            Ok((problems(&report).iter().map(ToString::to_string).collect(), says))
        }
        Err(ReadError::Foreign { found }) if found.contains(noise::SCHEMA) => {
            let record: NoiseRecord = serde_json::from_slice(&bytes).map_err(|error| failed(error.into()))?;
            let trials: usize = record.series.iter().map(|series| series.trials.len()).sum();
            Ok((record.problems(), format!("{trials} comparisons judged again")))
        }
        Err(error) => Err(failed(error)),
    }
}

pub(super) fn render(args: &Render, console: &mut Console<'_>) -> Result<Exit, Error> {
    let report = store::read(&args.file).map_err(|source| Error::Read { path: args.file.clone(), source })?;
    let text = match args.format {
        Format::Text => text::render(&report, console.colour),
        Format::Markdown => markdown::render(&report),
        Format::Html => html::render(&report),
        Format::Json => store::to_json(&report),
    };
    console.out.write_all(text.as_bytes())?;
    Ok(Exit::Ok)
}

pub(super) fn schema(console: &mut Console<'_>) -> Result<Exit, Error> {
    let schema = serde_json::to_string_pretty(&Report::json_schema()).expect("a schema is plain data");
    writeln!(console.out, "{schema}")?;
    Ok(Exit::Ok)
}
