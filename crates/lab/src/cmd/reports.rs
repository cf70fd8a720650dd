//! `lab check`, `lab report` and `lab schema`: what becomes of reports after the run.

use super::args::{Check, Format, Kind, Render, Schema};
use super::error::Error;
use super::{Console, Exit};
use crate::report::count::CountRecord;
use crate::report::document::Document;
use crate::report::noise::NoiseRecord;
use crate::report::schema::Report;
use crate::report::{html, markdown, text};
use std::path::Path;

pub(super) fn check(args: &Check, console: &mut Console<'_>) -> Result<Exit, Error> {
    let mut exit = Exit::Ok;
    for path in &args.files {
        let shown = path.display();
        let document = read(path)?;
        let problems = document.problems();
        if problems.is_empty() {
            writeln!(console.out, "{shown}: ok; {}", document.checked())?;
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
    let document = read(&args.file)?;
    let text = match (&document, args.format) {
        (_, Format::Text) => text::lay_out_view(&document.view(), console.colour),
        (_, Format::Markdown) => markdown::lay_out_view(&document.view()),
        (_, Format::Json) => document.to_json(),
        (Document::Report(report), Format::Html) => html::render(report),
        (_, Format::Html) => html::page(&document.view(), "", ""),
    };
    console.out.write_all(text.as_bytes())?;
    Ok(Exit::Ok)
}

fn read(path: &Path) -> Result<Document, Error> {
    Document::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })
}

pub(super) fn schema(args: &Schema, console: &mut Console<'_>) -> Result<Exit, Error> {
    let schema = match args.of {
        Kind::Report => schemars::schema_for!(Report),
        Kind::Noise => schemars::schema_for!(NoiseRecord),
        Kind::Count => schemars::schema_for!(CountRecord),
    };
    let schema = serde_json::to_string_pretty(&schema).expect("a schema is plain data");
    writeln!(console.out, "{schema}")?;
    Ok(Exit::Ok)
}
