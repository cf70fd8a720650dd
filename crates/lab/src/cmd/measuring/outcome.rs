//! Output and exit code of a command that measured.

use crate::cmd::context::error::Error;
use crate::cmd::context::exit::{Console, Exit};
use crate::cmd::context::options::ReportOutput;
use crate::report::render::text;
use crate::report::schema::{Report, Row, State, Status};
use crate::report::store;
use std::io::Write as _;
use std::path::Path;

/// File name of the page in the folder of a run.
pub(crate) const PAGE: &str = "report.html";

/// Prints the report in the requested form and returns the exit code.
pub(crate) fn conclude(
    report: &Report,
    folder: &Path,
    output: ReportOutput,
    console: &mut Console<'_>,
) -> Result<Exit, Error> {
    let page = format!("report {}\n", folder.join(PAGE).display());
    conclude_as(&(text::render(report, console.colour) + &page), report, output, console)
}

/// The same, with `text` as the form for a terminal.
pub(crate) fn conclude_as(
    text: &str,
    report: &Report,
    output: ReportOutput,
    console: &mut Console<'_>,
) -> Result<Exit, Error> {
    let json = output.json.then(|| store::pretty(report));
    console.out.write_all(json.as_deref().unwrap_or(text).as_bytes())?;
    let skipped = |row: &Row| matches!(row.status, Status::Skipped(_));
    if report.is_valid() && report.rows.iter().all(skipped) {
        writeln!(std::io::stderr(), "nothing was measured: this machine lacks requirements of the cases")?;
        return Ok(Exit::Inconclusive);
    }
    Ok(exit_of(report, output.strict))
}

pub(crate) fn exit_of(report: &Report, strict: bool) -> Exit {
    if !report.is_valid() {
        Exit::Invalid
    } else if report.state != State::Complete || strict && report.is_inconclusive() {
        Exit::Inconclusive
    } else {
        Exit::Ok
    }
}
