//! Terminal output of a bench: a table, and the reasons to doubt it. The HTML page has more.

use super::previous_build::THIS_PROGRAM;
use crate::report::analysis::conditions::explain;
use crate::report::analysis::layout;
use crate::report::render::text::lay_out;
use crate::report::schema::{Report, Role, Row, State, Status};
use crate::report::sections::cells::{row_units, side_interval, side_time};
use crate::report::sections::verdict_text::verdict;
use crate::report::view::{Line, NOTHING, Table, Tone};
use crate::stats::ratio::{means, range, times};

/// Flags that the reader can act on.
const TELLING: [&str; 7] = [
    "busy",
    "stolen-time",
    "cpu-pressure",
    "memory-pressure",
    "control-failed",
    "unequal-samples",
    "retried",
];

pub(crate) fn render(report: &Report, base: Option<&str>, colour: bool) -> String {
    let mut out = String::new();
    let (compared, alone): (Vec<&Row>, Vec<&Row>) = report.rows.iter().partition(|row| row.sides.len() > 1);
    if !compared.is_empty() {
        let base = base.unwrap_or("baseline");
        let columns = ["case", base, THIS_PROGRAM, "ratio", "99 % interval", "verdict"];
        let rows = compared.iter().map(|row| comparison(report, row));
        out += &lay_out(&Table::new(columns, rows).under(means([base, THIS_PROGRAM])), colour);
    }
    if !alone.is_empty() {
        out += if out.is_empty() { "" } else { "\n" };
        let columns = ["case", "time", "99 % interval", "rate"];
        out += &lay_out(&Table::new(columns, alone.iter().map(|row| time(row))), colour);
    }
    out.push('\n');
    for row in &report.rows {
        if let Status::Incorrect(reason) | Status::Failed(reason) | Status::Skipped(reason) = &row.status {
            out += &format!("{}: {reason}\n", row.title);
        }
    }
    if report.state != State::Complete {
        out += "not finished; the data measured so far are kept\n";
    }
    if let Some(unknown) = report.plan.fixed_layout.filter(|_| !compared.is_empty()) {
        let moves = layout::moves(report, unknown);
        out += &format!(
            "each program has one code layout, which can change times by {moves}: with --base REVISION, every session has its own layout\n"
        );
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

/// A line without numbers.
fn broken_off(title: &str, dashes: usize, words: &str, tone: Tone) -> Line {
    let dashes = std::iter::repeat_n(NOTHING, dashes);
    Line::new(
        std::iter::once(title).chain(dashes).chain([words]).map(str::to_owned).collect::<Vec<_>>(),
        tone,
    )
}

fn comparison(report: &Report, row: &Row) -> Line {
    let found = row.found(Role::Candidate).next().filter(|comparison| comparison.sessions > 0);
    match (broken(row), found) {
        (Some(words), _) => broken_off(&row.title, 4, words, Tone::Bad),
        (None, None) => broken_off(&row.title, 4, "not measured", Tone::Dim),
        (None, Some(comparison)) => {
            let cells = [
                row.title.clone(),
                side_time(&row.sides[0]),
                side_time(&row.sides[comparison.side]),
                times(comparison.ratio),
                range(comparison.interval),
                verdict(report, row, comparison),
            ];
            Line::new(cells, Tone::from_verdict(comparison.verdict))
        }
    }
}

fn time(row: &Row) -> Line {
    if let Some(words) = broken(row) {
        return broken_off(&row.title, 2, words, if words == "skipped" { Tone::Dim } else { Tone::Bad });
    }
    let side = &row.sides[0];
    let Some(summary) = side.summary else {
        return broken_off(&row.title, 2, "not measured", Tone::Dim);
    };
    // A single operation has no rate besides its time.
    let rate = row_units(row).filter(|units| units.count() != 1).map(|units| units.rate(summary.median_ns));
    Line::plain([row.title.clone(), side_time(side), side_interval(side), rate.unwrap_or_default()])
}
