//! `lab check` and `lab report`: what becomes of reports after the run.

use super::args::Check;
use super::error::Error;
use super::import::{self, Import};
use super::{Console, Exit};
use crate::report::count::CountRecord;
use crate::report::document::Document;
use crate::report::noise::NoiseRecord;
use crate::report::schema::Report;
use crate::report::{html, markdown, text};
use clap::{Args, Subcommand, ValueEnum};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(super) struct ReportArgs {
    #[command(subcommand)]
    what: Option<What>,
    /// Report file, or another document of the lab.
    #[arg(required = true)]
    file: Option<PathBuf>,
    /// Form of the output.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show results of hyperfine and criterion as a table.
    Import(Import),
    /// Print the JSON Schema of reports, or of another document of the lab.
    Schema {
        /// Which document.
        #[arg(value_enum, default_value = "report")]
        of: Kind,
    },
}

/// The documents that the lab writes.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    Report,
    Noise,
    Count,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Text,
    Markdown,
    Html,
    Json,
}

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

pub(super) fn main(args: &ReportArgs, console: &mut Console<'_>) -> Result<Exit, Error> {
    match (&args.what, &args.file) {
        (Some(What::Import(args)), _) => import::main(args, console),
        (Some(What::Schema { of }), _) => schema(*of, console),
        (None, Some(file)) => render(file, args.format, console),
        (None, None) => Err(Error::Usage("name a report".to_owned())),
    }
}

fn render(file: &Path, format: Format, console: &mut Console<'_>) -> Result<Exit, Error> {
    let document = read(file)?;
    let text = match (&document, format) {
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

fn schema(of: Kind, console: &mut Console<'_>) -> Result<Exit, Error> {
    let schema = match of {
        Kind::Report => schemars::schema_for!(Report),
        Kind::Noise => schemars::schema_for!(NoiseRecord),
        Kind::Count => schemars::schema_for!(CountRecord),
    };
    let schema = serde_json::to_string_pretty(&schema).expect("a schema is plain data");
    writeln!(console.out, "{schema}")?;
    Ok(Exit::Ok)
}
