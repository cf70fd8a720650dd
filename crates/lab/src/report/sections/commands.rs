//! Resource usage of commands besides time, and its presentation.

use super::cells::{side_interval, side_time, speed, status};
use super::verdict_text::verdict;
use crate::model::units::{bytes, duration};
use crate::report::schema::commands::{Resource, ResourceUsage, UsageComparison, UsageVerdict};
use crate::report::schema::{Comparison, Report, Role, Row, Side, Status};
use crate::report::view::{Line, NOTHING, Table, Tone, shown, span};
use crate::stats::ratio::range;

impl Resource {
    fn word(self) -> &'static str {
        match self {
            Resource::Processor => "processor time",
            Resource::Memory => "memory",
            Resource::Read => "read from a device",
            Resource::Written => "written for a device",
        }
    }

    fn amount(self, value: f64) -> String {
        match self {
            Resource::Processor => time(value),
            _ => bytes(value as u64),
        }
    }
}

impl UsageComparison {
    /// Text such as `uses 2.10× the memory`.
    pub(crate) fn words(&self) -> String {
        let ratio = self.ratio.unwrap_or(1.0);
        let digits = if ratio < 0.995 { 3 } else { usize::from(ratio < 9.95) + 1 };
        let bound = match (self.is_bound, self.than) {
            (false, _) => "",
            (true, UsageVerdict::Less) => "at most ",
            (true, _) => "at least ",
        };
        let times = format!("{bound}{ratio:.digits$}×");
        match (self.than, self.what) {
            (UsageVerdict::Same, _) => "the same".to_owned(),
            (UsageVerdict::Open, _) => "inconclusive".to_owned(),
            (_, Resource::Processor | Resource::Memory) => format!("uses {times} the {}", self.what.word()),
            (_, Resource::Read) => format!("reads {times} as much"),
            (_, Resource::Written) => format!("writes {times} as much"),
        }
    }
}

/// Comparison of a side with the first side.
pub(crate) fn beside(row: &Row, side: usize) -> Option<&Comparison> {
    row.comparisons.iter().find(|comparison| comparison.side == side)
}

/// Resource usage of a side relative to the first.
pub(crate) fn uses_of(row: &Row, side: usize) -> impl Iterator<Item = &UsageComparison> {
    row.commands.iter().flat_map(|commands| &commands.uses).filter(move |usage| usage.side == side)
}

/// Control: the first command compared with itself, if measured.
pub(crate) fn control(row: &Row) -> Option<&Comparison> {
    let at = row.sides.iter().position(|side| side.role == Role::Control)?;
    beside(row, at).filter(|control| control.sessions > 0)
}

/// Every side but controls, with its index and its resource usage.
fn sides(row: &Row) -> impl Iterator<Item = (usize, &Side, &ResourceUsage)> {
    let used = row.commands.iter().flat_map(|commands| &commands.used);
    let all = row.sides.iter().zip(used).enumerate().map(|(number, (side, used))| (number, side, used));
    all.filter(|(_, side, _)| side.role != Role::Control)
}

/// Tables of commands: times, comparisons with the first command, then resource usage relative to the first.
pub(crate) fn tables(report: &Report) -> Vec<Table> {
    let all = report.rows.iter().flat_map(|row| [times(row), verdicts(report, row), uses(row)]);
    all.filter(|table| !table.rows.is_empty()).collect()
}

/// Table of times and amounts.
type Amount = fn(&ResourceUsage) -> f64;

fn times(row: &Row) -> Table {
    // Most commands use no device and need no columns for it.
    let moved = |of: &Amount| sides(row).any(|(.., used)| of(used) > 0.0);
    let of_devices: [(&str, Amount); 2] =
        [("read", |used| used.bytes_read), ("written", |used| used.bytes_written)];
    let of_devices: Vec<_> = of_devices.into_iter().filter(|(_, of)| moved(of)).collect();
    let line = |(_, side, used): (usize, &Side, &ResourceUsage)| {
        // Every process uses memory, so zero means that the system does not report it.
        let time_if_reported = |ns: f64| shown(Some(ns).filter(|_| used.peak_bytes > 0.0), time);
        let has_run = Some(used).filter(|used| used.runs > 0);
        let mut cells = vec![
            side.label.clone(),
            side_time(side),
            side_interval(side),
            shown(has_run, |used| span([used.least_ns, used.most_ns])),
            time_if_reported(used.user_ns),
            time_if_reported(used.system_ns),
            memory(row, used.peak_bytes),
        ];
        cells.extend(of_devices.iter().map(|(_, of)| shown(has_run, |used| bytes(of(used) as u64))));
        cells.push(used.runs.to_string());
        Line::plain(cells)
    };
    let mut table = Table::new(
        ["command", "time", "99 % interval", "range", "user", "system", "memory", "runs"],
        sides(row).map(line),
    );
    table.columns.splice(7..7, of_devices.iter().map(|(name, _)| (*name).to_owned()));
    table
}

fn verdicts(report: &Report, row: &Row) -> Table {
    let line = |(number, side, _): (usize, &Side, &ResourceUsage)| {
        let beside = beside(row, number)?;
        let (words, tone) = match &row.status {
            Status::Ok | Status::Unfinished => {
                (verdict(report, row, beside), Tone::from_verdict(beside.verdict))
            }
            other => (status(other), Tone::Bad),
        };
        let (interval, sessions) = (range(beside.interval), beside.sessions.to_string());
        Some(Line::new([side.label.clone(), speed(beside), interval, sessions, words], tone))
    };
    let columns = ["command", "speed", "99 % interval", "sessions", "verdict"];
    let caption = caption(row, "speed") + ": its time over that of each, above 1 is faster";
    Table::new(columns, sides(row).filter_map(line)).under(caption)
}

fn caption(row: &Row, what: &str) -> String {
    row.sides.first().map_or_else(String::new, |first| format!("{what} beside {}", first.label))
}

fn uses(row: &Row) -> Table {
    let line = |usage: &UsageComparison| {
        let label = row.sides.get(usage.side).map(|side| side.label.clone()).unwrap_or_default();
        let ends = shown(usage.interval, |[low, high]| format!("[{low:.3}×, {high:.3}×]"));
        let [first, this] = [usage.first, usage.this].map(|value| usage.what.amount(value));
        let tone = if matches!(usage.than, UsageVerdict::More | UsageVerdict::Less) {
            Tone::Plain
        } else {
            Tone::Dim
        };
        Line::new([label, usage.what.word().to_owned(), this, first, ends, usage.words()], tone)
    };
    let columns = ["command", "of", "it", "the first", "99 % interval", "verdict"];
    let all = row.commands.iter().flat_map(|commands| &commands.uses);
    Table::new(columns, all.map(line)).under(caption(row, "use"))
}

/// A time that may be zero.
fn time(ns: f64) -> String {
    if ns == 0.0 { "0".to_owned() } else { duration(ns) }
}

/// Typical peak of memory, or the least value that can be measured for a child process.
pub(crate) fn memory(row: &Row, usual: f64) -> String {
    let least = row.commands.as_ref().and_then(|commands| commands.least_bytes).unwrap_or(0) as f64;
    match usual {
        0.0 => NOTHING.to_owned(),
        peak if peak <= least => format!("< {}", bytes(least as u64)),
        peak => bytes(peak as u64),
    }
}

/// Faster output, in bytes per nanosecond, is limited by the reader.
const FAST_OUTPUT: f64 = 0.2;

/// Notes about the commands.
pub(crate) fn notes(row: &Row) -> Vec<String> {
    let Some(commands) = &row.commands else { return Vec::new() };
    let mut notes = Vec::new();
    let mut note = |words: String| notes.push(words);
    let mut first: Option<(&str, &str)> = None;
    for (_, side, used) in sides(row).filter(|(.., used)| used.runs > 0) {
        let (label, runs) = (&side.label, used.runs);
        let time = side.summary.map_or(used.least_ns, |summary| summary.median_ns);
        match (&used.output, first) {
            (Some(_), _) if used.odd > 0 => note(format!(
                "{label}: its output differs in {} of {runs} runs; --ignore output hides this note",
                used.odd
            )),
            (Some(output), None) => first = Some((label, output)),
            (Some(output), Some((other, expected))) if output != expected => {
                note(format!("{label} prints something else than {other}: do they do the same work?"));
            }
            _ => {}
        }
        if used.printed / time > FAST_OUTPUT {
            let rate = bytes((used.printed / time * 1e9) as u64);
            note(format!("{label} prints {rate}/s: part of its time is the pipe; --output null avoids it"));
        }
        if used.failed > 0 {
            note(format!("{label}: {} of {runs} runs failed, and failures are ignored", used.failed));
        }
        if used.left > 0 {
            note(format!(
                "{label} left processes running in {} of {runs} runs; they were killed, and their work is not measured",
                used.left
            ));
        }
        if let Some(empty) = commands.empty_ns.filter(|empty| time < 3.0 * empty) {
            let empty = duration(empty);
            note(format!("{label}: much of its time is its start; an empty program takes {empty} here"));
        }
        if let Some(p95) = used.p95_ns.filter(|p95| *p95 > 2.0 * time) {
            note(format!(
                "{label}: one run in twenty took more than {}; is the machine busy?",
                duration(p95)
            ));
        }
    }
    if let Some(shell) = commands.shell_ns {
        let shell = duration(shell);
        note(format!("an empty shell takes {shell}, which is part of the times of commands that need one"));
    }
    notes
}
