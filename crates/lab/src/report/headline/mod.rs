//! Summary of a run for first-time users: correctness, one row per product with its uncertainty, and the usual tool
//! beside it.
//!
//! This module computes the content; `text` and `html` lay it out.

pub(crate) mod html;
#[cfg(test)]
mod tests;
pub(crate) mod text;

use super::schema::{Report, Row, State, Status};
use super::view::{Tone, Warning};
use crate::model::summary::{Meaning, NamedCase, Number, ProductRow, Recorded, Summary, Tool};
use crate::model::units::Units;
use crate::report::analysis::conditions::{explain, is_fatal, is_loud};
use crate::report::analysis::lower_bound::is_probe;
use crate::report::analysis::precision::{Estimate, time_of};
use crate::report::sections::cells::row_units;
use crate::report::sections::warnings::overrun;
use hashmill_machine::Machine;

/// Content of a summary, without layout.
#[derive(Clone, Debug)]
pub(crate) struct Headline {
    pub(crate) title: String,
    /// Whether the published test vectors and the timed results were correct.
    pub(crate) proof: Warning,
    /// Reasons to doubt the numbers.
    pub(crate) warnings: Vec<String>,
    pub(crate) rows: Vec<HeadlineRow>,
    /// More cases, and distances to lower bounds, if requested.
    pub(crate) tables: Vec<HeadlineTable>,
    pub(crate) notes: Vec<String>,
}

/// A table below the rows of the products.
#[derive(Clone, Debug)]
pub(crate) struct HeadlineTable {
    pub(crate) caption: &'static str,
    pub(crate) columns: &'static [&'static str],
    pub(crate) rows: Vec<(Vec<String>, Tone)>,
}

/// One row of a product.
#[derive(Clone, Debug)]
pub(crate) struct HeadlineRow {
    pub(crate) product: String,
    pub(crate) name: String,
    pub(crate) number: String,
    pub(crate) plus_minus: String,
    pub(crate) meaning: String,
    pub(crate) beside: Beside,
    pub(crate) tone: Tone,
}

/// The usual tool beside a row.
#[derive(Clone, Debug)]
pub(crate) struct Beside {
    /// Its name and its number if it was measured, or the reason why there is none.
    pub(crate) tool: String,
    pub(crate) ratio: Option<Ratio>,
}

/// How many times as fast as the tool.
#[derive(Clone, Debug)]
pub(crate) struct Ratio {
    pub(crate) value: f64,
    pub(crate) words: String,
    pub(crate) plus_minus: String,
}

/// Mark of a ratio that was not measured in this run.
const RECORDED: char = '*';

/// Time of one frame of a 60 Hz screen.
const FRAME_NS: f64 = 1e9 / 60.0;

const DAY_SECONDS: f64 = 86_400.0;

impl Headline {
    pub(crate) fn from_report(report: &Report, summary: &Summary) -> Self {
        let mut tables = Vec::new();
        tables.extend(further(report, summary));
        tables.extend(floors(report, summary));
        Headline {
            title: title(report, summary),
            proof: proof(report, summary),
            warnings: warnings(report),
            rows: summary.products.iter().map(|product| row(report, summary, product)).collect(),
            tables,
            notes: notes(report, summary),
        }
    }
}

/// The report with the names of the summary instead of case keys, for charts.
pub(crate) fn named(report: &Report, summary: &Summary) -> Report {
    let mut report = report.clone();
    for row in &mut report.rows {
        row.title = name_of(row, summary);
    }
    report
}

/// Name of a row, or its title if the summary has none.
fn name_of(row: &Row, summary: &Summary) -> String {
    let key = &row.sides[0].key;
    let known = summary.cases().into_iter().find(|named| named.key.to_string() == *key);
    known.map_or_else(|| row.title.clone(), |named| named.name)
}

fn title(report: &Report, summary: &Summary) -> String {
    let Machine { cpu, model, logical_cores, .. } = &report.machine;
    let mut numbers = model.split('-').map_while(|word| word.parse::<u32>().ok());
    let model = numbers.next().zip(numbers.next());
    let model =
        model.map_or_else(String::new, |(family, model)| format!(" (family {family}, model {model})"));
    let plural = if *logical_cores == 1 { "" } else { "s" };
    let took = Estimate { value: report.quality.elapsed_ms as f64 * 1e6, interval: None };
    format!(
        "{} on {cpu}{model}, {logical_cores} processor{plural}, measured in {}",
        summary.program,
        took.as_time()
    )
}

fn proof(report: &Report, summary: &Summary) -> Warning {
    let names = |holds: fn(&Status) -> bool| -> Vec<String> {
        report.rows.iter().filter(|row| holds(&row.status)).map(|row| name_of(row, summary)).collect()
    };
    let wrong = names(|status| matches!(status, Status::Incorrect(_)));
    let failed = names(|status| matches!(status, Status::Failed(_)));
    let answers =
        report.answers.iter().filter_map(|answers| answers.wrong.as_ref().map(|_| answers.engine.clone()));
    let found = [("WRONG ANSWER", answers.collect()), ("WRONG RESULT", wrong), ("FAILED", failed)];
    let found = found.iter().filter(|(_, names)| !names.is_empty());
    let found: Vec<String> = found.map(|(what, names)| format!("{what}: {}", names.join("; "))).collect();
    if !found.is_empty() {
        return Warning {
            is_fatal: true,
            message: format!("{}. None of these numbers may be used.", found.join(". ")),
        };
    }
    let answers: usize = report.answers.iter().map(|answers| answers.right).sum();
    let timed = report.rows.iter().filter(|row| !is_probe(row) && !row.sides[0].digest.is_empty());
    let measured = timed.count();
    let results = match measured {
        0 => "no result was timed".to_owned(),
        _ => format!("all {measured} timed results right"),
    };
    Warning { is_fatal: false, message: format!("{answers} published answers right, {results}") }
}

fn warnings(report: &Report) -> Vec<String> {
    let mut found = Vec::new();
    if report.state != State::Complete {
        found.push("not finished: the data measured so far are shown".to_owned());
    }
    for flag in report.quality.flags.iter().filter(|flag| is_loud(flag) && !is_fatal(flag)) {
        found.push(match (flag.as_str(), report.quality.before.average) {
            ("busy", Some(load)) => format!(
                "busy: the load average was {load:.1} on {} processors at the start; the ± may be large",
                report.machine.logical_cores
            ),
            (flag, _) => format!("{flag}: {}; the ± may be large", explain(flag)),
        });
    }
    found.extend(overrun(report));
    found
}

/// Measured number of a case; none if the case has no number.
struct Measured<'a> {
    row: &'a Row,
    time: Estimate,
    units: Units,
}

/// Row of a case, if measured.
fn find<'a>(report: &'a Report, named: &NamedCase) -> Option<&'a Row> {
    let key = named.key.to_string();
    report.rows.iter().find(|row| row.sides.len() == 1 && row.sides[0].key == key)
}

impl<'a> Measured<'a> {
    fn from_row(row: &'a Row) -> Option<Self> {
        let is_sound = matches!(row.status, Status::Ok | Status::Unfinished);
        let time = time_of(&row.sides[0]).filter(|_| is_sound)?;
        Some(Measured { row, time, units: row_units(row)? })
    }

    /// The number and its uncertainty; the uncertainty of a rate differs slightly from that of the time.
    fn number(&self, number: Number) -> [String; 2] {
        match number {
            Number::Time => [self.time.as_time(), self.time.plus_minus()],
            Number::Rate => [self.time.as_rate(self.units), self.time.inverse(1.0).plus_minus()],
        }
    }
}

fn row(report: &Report, summary: &Summary, product: &ProductRow) -> HeadlineRow {
    let found = find(report, &product.named);
    let measured = found.and_then(Measured::from_row);
    let ([number, plus_minus], tone) = match &measured {
        Some(measured) => (measured.number(product.number), Tone::Plain),
        None => {
            let (words, tone) = broken(found.map(|row| &row.status));
            ([words.to_owned(), String::new()], tone)
        }
    };
    HeadlineRow {
        product: product.product.clone(),
        name: product.named.name.clone(),
        number,
        plus_minus,
        meaning: measured.as_ref().map_or_else(String::new, |measured| meaning(measured, &product.meaning)),
        beside: beside(report, summary, product, measured.as_ref()),
        tone,
    }
}

fn meaning(measured: &Measured<'_>, meaning: &Meaning) -> String {
    let Measured { time, units, .. } = measured;
    let count = match units {
        Units::Bytes(_) => 1.0,
        Units::Hashes(count) | Units::Operations(count) => *count as f64,
    };
    let rate = |seconds: f64, what: &str, every: &str| {
        let count = time.inverse(count * 1e9 * seconds).as_count();
        let words = [&*count, what, every].into_iter().filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join(" ")
    };
    match meaning {
        Meaning::PerSecond(what) => rate(1.0, what, "a second"),
        Meaning::PerDay(what) => rate(DAY_SECONDS, what, "a day"),
        Meaning::Amount { what, units: amount } => {
            format!("{what} in {}", time.times(*amount as f64 / units.count() as f64).as_time())
        }
        Meaning::Frame => {
            let frames = time.times(1.0 / FRAME_NS);
            match frames.interval {
                Some([_, high]) if high <= 1.0 => "within a frame of a screen".to_owned(),
                _ => format!("{} frames of a screen", frames.digits(1.0)),
            }
        }
    }
}

fn beside(
    report: &Report,
    summary: &Summary,
    product: &ProductRow,
    measured: Option<&Measured<'_>>,
) -> Beside {
    match &product.tool {
        Tool::Unknown(reason) => Beside { tool: reason.clone(), ratio: None },
        Tool::Measured(named) => {
            let tool = find(report, named).and_then(Measured::from_row);
            let Some(tool) = tool else {
                return Beside { tool: format!("{}: not measured", named.name), ratio: None };
            };
            // Both are per unit of work.
            let per_unit = |side: &Measured<'_>| side.time.times(1.0 / side.units.count() as f64);
            let ratio = measured.map(|side| Ratio::from_estimate(per_unit(&tool).over(per_unit(side))));
            let [number, plus_minus] = tool.number(product.number);
            Beside { tool: format!("{} {number} {plus_minus}", named.name), ratio }
        }
        Tool::Recorded { name, engine } => match recorded(report, summary, product, engine) {
            None => Beside { tool: format!("{name}: no record here"), ratio: None },
            Some(found) => Beside {
                tool: format!("{name}{RECORDED}"),
                ratio: Some(Ratio::from_estimate(Estimate {
                    value: found.ratio,
                    interval: Some(found.interval),
                })),
            },
        },
    }
}

impl Ratio {
    fn from_estimate(ratio: Estimate) -> Self {
        let words = format!("{}×", ratio.digits(1.0));
        Ratio { value: ratio.value, words, plus_minus: ratio.plus_minus() }
    }
}

/// Newest record for a kind of processor.
fn recorded<'a>(
    report: &Report,
    summary: &'a Summary,
    product: &ProductRow,
    engine: &str,
) -> Option<&'a Recorded> {
    let (case, processor) = (product.named.key.to_string(), report.machine.processor());
    let fits = |recorded: &&Recorded| {
        recorded.case == case && recorded.engine == engine && recorded.processor == processor
    };
    summary.recorded.iter().filter(fits).max_by_key(|recorded| &recorded.date)
}

/// Cases besides those of the products.
fn further(report: &Report, summary: &Summary) -> Option<HeadlineTable> {
    let rows: Vec<_> = summary
        .further
        .iter()
        .filter_map(|named| {
            let row = find(report, named)?;
            Some(match Measured::from_row(row) {
                Some(measured) => {
                    let time = measured.time;
                    let cells =
                        [&*named.name, &time.as_time(), &time.plus_minus(), &time.as_rate(measured.units)];
                    (cells.map(str::to_owned).to_vec(), Tone::Plain)
                }
                None => {
                    let (words, tone) = broken(Some(&row.status));
                    (vec![named.name.clone(), String::new(), String::new(), words.to_owned()], tone)
                }
            })
        })
        .collect();
    let columns = &["further cases", "time", "±", "rate"];
    (!rows.is_empty()).then_some(HeadlineTable { caption: "", columns, rows })
}

/// Text for a row without a number.
fn broken(status: Option<&Status>) -> (&'static str, Tone) {
    match status {
        Some(Status::Incorrect(_)) => ("WRONG RESULT", Tone::Bad),
        Some(Status::Failed(_)) => ("FAILED", Tone::Bad),
        Some(Status::Skipped(_)) => ("skipped", Tone::Dim),
        Some(Status::Ok | Status::Unfinished) | None => ("not measured", Tone::Dim),
    }
}

/// Distances of the rows to their lower bounds.
fn floors(report: &Report, summary: &Summary) -> Option<HeadlineTable> {
    report.rows.iter().find(|row| is_probe(row))?;
    let rows = report.rows.iter().filter(|row| !is_probe(row)).filter_map(|row| {
        let measured = Measured::from_row(row)?;
        let name = name_of(row, summary);
        Some(match row.sides[0].floor {
            Some(floor) => {
                let bound = Estimate { value: floor.ns, interval: None };
                let share = measured.time.inverse(floor.ns * 100.0);
                let cells = [
                    name,
                    measured.time.as_time(),
                    bound.as_time(),
                    floor.bound.word().to_owned(),
                    format!("{} %", share.digits(1.0)),
                ];
                (cells.to_vec(), Tone::Plain)
            }
            None => {
                let nothing = [String::new(), String::new(), "no lower bound is known".to_owned()];
                ([&[name, measured.time.as_time()][..], &nothing[..]].concat(), Tone::Dim)
            }
        })
    });
    Some(HeadlineTable {
        caption: "How near the hardware's limit",
        columns: &["what", "time", "lower bound", "because of", "reached"],
        rows: rows.collect(),
    })
}

fn notes(report: &Report, summary: &Summary) -> Vec<String> {
    let shown: Vec<Measured<'_>> = summary
        .products
        .iter()
        .filter_map(|product| Measured::from_row(find(report, &product.named)?))
        .collect();
    let sessions = shown.iter().map(|measured| measured.row.sides[0].session_ns.len()).min();
    let has_interval =
        shown.iter().all(|measured| measured.row.sides[0].summary.is_some_and(|s| s.interval_ns.is_some()));
    let mut notes: Vec<String> = Vec::new();
    notes.extend(sessions.map(|sessions| match sessions {
        1 => "±?: one session has no uncertainty".to_owned(),
        _ if has_interval => format!("±: 99 % interval of the median of {sessions} sessions"),
        _ => format!("±: from the fastest to the slowest of {sessions} sessions"),
    }));
    for row in &report.rows {
        match &row.status {
            Status::Skipped(reason) => notes.push(format!("skipped: {}: {reason}", name_of(row, summary))),
            Status::Incorrect(reason) | Status::Failed(reason) => {
                notes.push(format!("{}: {reason}", name_of(row, summary)));
            }
            Status::Ok | Status::Unfinished => {}
        }
    }
    notes.extend(notes_on_tools(report, summary));
    notes
}

/// Sources of the ratios that were not measured in this run, and products without a ratio.
fn notes_on_tools(report: &Report, summary: &Summary) -> Vec<String> {
    let mut notes = Vec::new();
    let mut records: Vec<(String, String, Vec<String>)> = Vec::new();
    let mut missing: Vec<(&str, &str, &ProductRow)> = Vec::new();
    for product in &summary.products {
        let Tool::Recorded { name, engine } = &product.tool else { continue };
        match recorded(report, summary, product, engine) {
            Some(found) => match records.iter_mut().find(|(_, file, _)| *file == found.report) {
                Some((_, _, names)) if names.contains(name) => {}
                Some((_, _, names)) => names.push(name.clone()),
                None => records.push((found.date.clone(), found.report.clone(), vec![name.clone()])),
            },
            None => missing.push((name, engine, product)),
        }
    }
    let processor = report.machine.processor();
    for (date, file, names) in records {
        notes.push(format!(
            "{RECORDED} {}: not of this run; recorded on {date} on this kind of processor ({processor}), {file}",
            names.join(", ")
        ));
    }
    if let Some((_, engine, product)) = missing.first() {
        let mut names: Vec<&str> = missing.iter().map(|(name, ..)| *name).collect();
        names.dedup();
        let key = &product.named.key;
        notes.push(format!(
            "no record here: no committed report compares with {} on this kind of processor ({processor}); to measure it: \
             {} --engines {engine},{} {key}",
            names.join(" or "),
            summary.rivals,
            key.engine
        ));
    }
    notes
}
