//! `lab check` and `lab report`: commands on existing reports.

mod import;
mod signature;

use crate::cmd::context::error::Error;
use crate::cmd::context::exit::{Console, Exit};
use crate::report::check::Problem;
use crate::report::documents::history::HistoryError;
use crate::report::documents::{Document, history, samples};
use crate::report::render::{charts, html, markdown, text};
use crate::report::schema::Report;
use crate::report::store;
use clap::{Args, Subcommand, ValueEnum};
use import::Import;
use signature::Signers;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Report files.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Samples of a report [default: samples.json beside it, if present].
    #[arg(long, value_name = "FILE")]
    pub(crate) samples: Option<PathBuf>,
    /// Require a signature of each report by a signer in this file (the format is that of `ssh-keygen`'s allowed
    /// signers). `report sign` writes signatures beside reports.
    #[arg(long, value_name = "FILE")]
    pub(crate) signers: Option<PathBuf>,
    /// Signer who must have signed.
    #[arg(long, value_name = "NAME", requires = "signers")]
    pub(crate) identity: Option<String>,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct ReportArgs {
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
    /// Show medians over the runs and commits of one machine, and where they changed.
    History(History),
    /// Sign a report with an SSH key, for `check --signers`.
    Sign {
        /// Reports, or other documents of the lab.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// File of the private key, or of the public key if an agent or a security key has the private one.
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
    },
    /// Print the JSON Schema of reports, or of another document of the lab.
    Schema {
        /// Which document.
        #[arg(value_enum, default_value = "report")]
        of: Kind,
    },
}

#[derive(Debug, Args)]
struct History {
    /// File of the history: one run per line. A missing file is created by --add.
    file: PathBuf,
    /// Reports to add first.
    #[arg(long, value_name = "REPORT", num_args = 1..)]
    add: Vec<PathBuf>,
    /// Form of the output; JSON is the file itself.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// Documents of the lab.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    Report,
    Samples,
    History,
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

pub(crate) fn check(args: &Check, console: &mut Console<'_>) -> Result<Exit, Error> {
    if args.samples.is_some() && args.files.len() > 1 {
        return Err(Error::Usage("--samples belongs to one report, but several are given".to_owned()));
    }
    let signers = args.signers.as_deref().map(|file| Signers { file, identity: args.identity.as_deref() });
    let mut exit = Exit::Ok;
    for path in &args.files {
        let shown = path.display();
        let bytes = bytes(path)?;
        let document = parse(path, &bytes)?;
        let mut problems = document.problems();
        let mut checked = document.checked();
        match &document {
            Document::Report(report) => match behind(report, path, args.samples.as_deref())? {
                Some(Ok(count)) => checked += &format!(", {count} samples behind them"),
                Some(Err(found)) => problems.extend(found.iter().map(ToString::to_string)),
                None => {}
            },
            _ if args.samples.is_some() => {
                return Err(Error::Usage(format!("{shown} is not a report, so it has no samples")));
            }
            _ => {}
        }
        if let Some(signers) = signers {
            match signature::verify(path, &bytes, signers)? {
                Ok(who) => checked += &format!(", {who}"),
                Err(reason) => problems.push(format!("signature: {reason}")),
            }
        }
        if problems.is_empty() && !document.is_usable() {
            // The report is correct, but its results cannot be used.
            exit = if exit == Exit::Ok { Exit::Invalid } else { exit };
            writeln!(console.out, "{shown}: consistent, but not to be used; {checked}")?;
            continue;
        }
        if problems.is_empty() {
            writeln!(console.out, "{shown}: ok; {checked}")?;
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

/// Checks a report against its samples: the given file, or the one beside it, if the report refers to one.
fn behind(
    report: &Report,
    path: &Path,
    given: Option<&Path>,
) -> Result<Option<Result<usize, Vec<Problem>>>, Error> {
    let beside = path.with_file_name(samples::NAME);
    let file = match given {
        Some(file) => file,
        None if report.samples_sha256.is_some() && beside.exists() => &beside,
        None => return Ok(None),
    };
    Ok(Some(samples::verify(report, &bytes(file)?)))
}

pub(crate) fn main(args: &ReportArgs, console: &mut Console<'_>) -> Result<Exit, Error> {
    match (&args.what, &args.file) {
        (Some(What::Import(args)), _) => import::main(args, console),
        (Some(What::History(args)), _) => history(args, console),
        (Some(What::Sign { files, key }), _) => sign(files, key, console),
        (Some(What::Schema { of }), _) => schema(*of, console),
        (None, Some(file)) => render(file, args.format, console),
        (None, None) => Err(Error::Usage("name a report".to_owned())),
    }
}

fn history(args: &History, console: &mut Console<'_>) -> Result<Exit, Error> {
    let refused = |path: &Path, error: HistoryError| match error {
        HistoryError::Read(source) => Error::Read { path: path.to_owned(), source },
        error => Error::Refused(format!("{}: {error}", path.display())),
    };
    let mut history = history::History::read(&args.file).map_err(|error| refused(&args.file, error))?;
    for path in &args.add {
        let report = store::read(path).map_err(Error::read(path))?;
        let run = history::Run::from_report(&report).map_err(|error| refused(path, error))?;
        history.add(run).map_err(|error| refused(path, error))?;
    }
    if history.runs.is_empty() {
        return Err(Error::Usage(format!("{} holds no run; add one with --add REPORT", args.file.display())));
    }
    if !args.add.is_empty() {
        let written = store::write_atomically(&args.file, &history.text());
        written.map_err(Error::keep(&args.file))?;
    }
    let series = history.series();
    let view = history.view(&series);
    let text = match args.format {
        Format::Text => text::lay_out_view(&view, console.colour),
        Format::Markdown => markdown::lay_out_view(&view),
        Format::Html => html::page(&view, &charts::history(&series), ""),
        Format::Json => history.text(),
    };
    console.out.write_all(text.as_bytes())?;
    Ok(Exit::Ok)
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

fn sign(files: &[PathBuf], key: &Path, console: &mut Console<'_>) -> Result<Exit, Error> {
    for path in files {
        let bytes = bytes(path)?;
        if let Some(problem) = parse(path, &bytes)?.problems().first() {
            return Err(Error::Refused(format!(
                "{} is not signed, because it has an error: {problem}",
                path.display()
            )));
        }
        let key = signature::sign(path, &bytes, key)?;
        writeln!(console.out, "{}: signed with {key}", signature::beside(path).display())?;
    }
    Ok(Exit::Ok)
}

fn read(path: &Path) -> Result<Document, Error> {
    parse(path, &bytes(path)?)
}

fn bytes(path: &Path) -> Result<Vec<u8>, Error> {
    store::read_bytes(path).map_err(Error::read(path))
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Document, Error> {
    Document::parse(bytes).map_err(Error::read(path))
}

/// Prints a committed file, so that programs do not need schemars. A unit test compares the files with the types.
fn schema(of: Kind, console: &mut Console<'_>) -> Result<Exit, Error> {
    let schema = match of {
        Kind::Report => include_str!("../../../schema/report.v2.json"),
        Kind::Noise => include_str!("../../../schema/noise.v3.json"),
        Kind::Count => include_str!("../../../schema/count.v1.json"),
        Kind::History => include_str!("../../../schema/history.v1.json"),
        Kind::Samples => include_str!("../../../schema/samples.v1.json"),
    };
    console.out.write_all(schema.as_bytes())?;
    Ok(Exit::Ok)
}
