//! What a bench prints: a table that fits a terminal, and what speaks against it. The page has the rest.

use super::before::OURS;
use crate::model::units::duration;
use crate::report::quality::explain;
use crate::report::schema::{Comparison, Report, Role, Row, State, Status};
use crate::report::text::lay_out;
use crate::report::view::{Line, Table, Tone, row_units, verdict};
use crate::stats::ratio::{MEANS, range, times};

/// Flags that its reader can do something about.
const TELLING: [&str; 6] =
    ["busy", "stolen-time", "cpu-pressure", "memory-pressure", "control-failed", "retried"];

const LAYOUT: &str = "each program has one link, whose luck can be worth 10 %: with --base REVISION, \
                      every session has its own";

pub(super) fn render(report: &Report, base: Option<&str>, colour: bool) -> String {
    let mut out = String::new();
    let (compared, alone): (Vec<&Row>, Vec<&Row>) = report.rows.iter().partition(|row| row.sides.len() > 1);
    if !compared.is_empty() {
        let caption = base.map_or_else(String::new, |base| format!("ours: {OURS}; other: {base}; {MEANS}"));
        let columns = vec!["case", "ours", "other", "ratio", "99 % interval", "verdict"];
        let rows = compared.iter().map(|row| comparison(report, row)).collect();
        out += &lay_out(&Table { caption, columns, rows }, colour);
    }
    if !alone.is_empty() {
        let columns = vec!["case", "time", "99 % interval", "rate"];
        let rows = alone.iter().map(|row| time(row)).collect();
        let gap = if out.is_empty() { "" } else { "\n" };
        out += gap;
        out += &lay_out(&Table { caption: String::new(), columns, rows }, colour);
    }
    out.push('\n');
    for row in &report.rows {
        if let Status::Incorrect(why) | Status::Failed(why) | Status::Skipped(why) = &row.status {
            out += &format!("{}: {why}\n", row.title);
        }
    }
    if report.state != State::Complete {
        out += "not finished; what was measured until then is kept\n";
    }
    if report.plan.fixed_layout.is_some() && report.candidates().next().is_some() {
        out += &format!("{LAYOUT}\n");
    }
    let telling = report.quality.flags.iter().filter(|flag| TELLING.contains(&flag.as_str()));
    telling.for_each(|flag| out += &format!("{flag}: {}\n", explain(flag)));
    out
}

fn broken(row: &Row) -> Option<&'static str> {
    match row.status {
        Status::Ok | Status::Unfinished => None,
        Status::Skipped(_) => Some("skipped"),
        Status::Incorrect(_) => Some("WRONG RESULT"),
        Status::Failed(_) => Some("FAILED"),
    }
}

fn line(title: &str, cells: impl IntoIterator<Item = String>, tone: Tone) -> Line {
    Line { cells: std::iter::once(title.to_owned()).chain(cells).collect(), tone }
}

fn median(row: &Row, side: usize) -> String {
    row.sides[side].summary.map_or_else(|| "–".to_owned(), |summary| duration(summary.median_ns))
}

fn comparison(report: &Report, row: &Row) -> Line {
    let candidate = |comparison: &&Comparison| row.sides[comparison.side].role == Role::Candidate;
    let found = row.comparisons.iter().find(candidate).filter(|comparison| comparison.sessions > 0);
    let dashes = || ["–"; 4].map(str::to_owned);
    match (broken(row), found) {
        (Some(words), _) => line(&row.title, dashes().into_iter().chain([words.to_owned()]), Tone::Bad),
        (None, None) => line(&row.title, dashes().into_iter().chain(["not measured".to_owned()]), Tone::Dim),
        (None, Some(comparison)) => {
            let cells = [
                median(row, comparison.side),
                median(row, 0),
                times(comparison.ratio),
                range(comparison.interval),
                verdict(report, row, comparison),
            ];
            line(&row.title, cells, Tone::of(comparison.verdict))
        }
    }
}

fn time(row: &Row) -> Line {
    if let Some(words) = broken(row) {
        let cells = ["–", "–", words].map(str::to_owned);
        return line(&row.title, cells, if words == "skipped" { Tone::Dim } else { Tone::Bad });
    }
    let Some(summary) = row.sides[0].summary else {
        return line(&row.title, ["–", "–", "not measured"].map(str::to_owned), Tone::Dim);
    };
    let spread = summary
        .interval_ns
        .map_or_else(|| "–".to_owned(), |[low, high]| format!("{} … {}", duration(low), duration(high)));
    // One operation of which nothing is known has no rate that its time does not say.
    let rate = row_units(row).filter(|units| units.count() != 1).map(|units| units.rate(summary.median_ns));
    line(&row.title, [duration(summary.median_ns), spread, rate.unwrap_or_default()], Tone::Plain)
}
