//! `lab check`, `lab report` and `lab schema`: what becomes of reports after the run.

use super::args::{Check, Format, Render};
use super::error::Error;
use super::{Console, Exit};
use crate::report::check::problems;
use crate::report::schema::Report;
use crate::report::{html, markdown, store, text};

pub(super) fn check(args: &Check, console: &mut Console<'_>) -> Result<Exit, Error> {
    let mut exit = Exit::Ok;
    for path in &args.files {
        let shown = path.display();
        let report = store::read(path).map_err(|source| Error::Read { path: path.clone(), source })?;
        let problems = problems(&report);
        if problems.is_empty() {
            let samples: usize = report.rows.iter().map(|row| row.samples.ns.len()).sum();
            let count = report.candidates().count();
            writeln!(console.out, "{shown}: ok; {samples} samples, {count} verdicts computed again")?;
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
