//! What commands used beside their time, and how a report tells it.

use super::schema::{Comparison, Report, Role, Row, Side, Status};
use super::view::{
    Line, NOTHING, Table, Tone, shown, side_interval, side_time, span, speed, status, verdict,
};
use crate::model::units::{bytes, duration};
use crate::stats::ratio::range;
use serde::{Deserialize, Serialize};

/// What was seen of commands, each started as processes of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Commands {
    /// From the start of a program that does nothing to its end: no command is faster.
    pub(crate) empty_ns: Option<f64>,
    /// The same of the shell, where a command needs one.
    pub(crate) shell_ns: Option<f64>,
    /// Least peak of memory that a child can show: the peak of the lab itself.
    pub(crate) least_bytes: Option<u64>,
    /// What the sides used, in their order.
    pub(crate) used: Vec<Used>,
    /// How all but the first compare with it in that.
    pub(crate) uses: Vec<Use>,
}

/// What the runs of one command used. Medians, unless it says otherwise; zero where the system does not tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Used {
    /// Runs that were measured.
    pub(crate) runs: usize,
    /// Time of the fastest run.
    pub(crate) least_ns: f64,
    /// Time of the slowest run.
    pub(crate) most_ns: f64,
    /// Time that one run in twenty exceeds, where there are enough for one.
    pub(crate) p95_ns: Option<f64>,
    /// Processor time in the program.
    pub(crate) user_ns: f64,
    /// Processor time in the system on its behalf.
    pub(crate) system_ns: f64,
    /// Most memory at once.
    pub(crate) peak_bytes: f64,
    /// Read from a device.
    pub(crate) bytes_read: f64,
    /// Written, for a device.
    pub(crate) bytes_written: f64,
    /// Pages that had to be read.
    pub(crate) major_faults: f64,
    /// Times that the processor was taken from it.
    pub(crate) switches: f64,
    /// Bytes that it printed.
    pub(crate) printed: f64,
    /// Digest of what most runs printed; absent where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) output: Option<String>,
    /// How many runs printed something else.
    pub(crate) odd: usize,
    /// How many runs returned something else than zero.
    pub(crate) failed: usize,
    /// How many runs left processes running, which were ended.
    pub(crate) left: usize,
}

/// Something that a command uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum What {
    /// Processor time, in nanoseconds.
    Processor,
    /// Most memory at once, in bytes.
    Memory,
    /// Bytes read from a device.
    Read,
    /// Bytes written, for a device.
    Written,
}

/// How much of it, beside the first command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum Than {
    /// Proven to be more, by 1 % and more.
    More,
    /// Proven to be less.
    Less,
    /// Within 1 %.
    Same,
    /// None of these is proven.
    Open,
}

/// What one command uses of one thing, beside the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Use {
    /// Index of the side in [`Row::sides`].
    pub(crate) side: usize,
    /// Of what.
    pub(crate) what: What,
    /// What the first usually uses.
    pub(crate) first: f64,
    /// What this one does.
    pub(crate) this: f64,
    /// How many times as much this one uses, from pairs of runs; absent where one of them used none that could be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ratio: Option<f64>,
    /// Its interval: all those of a report are right together in 99 of 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) interval: Option<[f64; 2]>,
    /// Whether one of them used less than can be told, so that the ratio is at least as far from 1.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_bound: bool,
    /// What is proven.
    pub(crate) than: Than,
}

impl What {
    /// All of them.
    pub(crate) const ALL: [What; 4] = [What::Processor, What::Memory, What::Read, What::Written];

    fn word(self) -> &'static str {
        match self {
            What::Processor => "processor time",
            What::Memory => "memory",
            What::Read => "read from a device",
            What::Written => "written for a device",
        }
    }

    fn amount(self, value: f64) -> String {
        match self {
            What::Processor => time(value),
            _ => bytes(value as u64),
        }
    }
}

impl Use {
    /// `uses 2.10× the memory`.
    pub(crate) fn words(&self) -> String {
        let ratio = self.ratio.unwrap_or(1.0);
        let digits = if ratio < 0.995 { 3 } else { usize::from(ratio < 9.95) + 1 };
        let bound = match (self.is_bound, self.than) {
            (false, _) => "",
            (true, Than::Less) => "at most ",
            (true, _) => "at least ",
        };
        let times = format!("{bound}{ratio:.digits$}×");
        match (self.than, self.what) {
            (Than::Same, _) => "the same".to_owned(),
            (Than::Open, _) => "inconclusive".to_owned(),
            (_, What::Processor | What::Memory) => format!("uses {times} the {}", self.what.word()),
            (_, What::Read) => format!("reads {times} as much"),
            (_, What::Written) => format!("writes {times} as much"),
        }
    }
}

/// What the rule said of a side beside the first.
pub(crate) fn beside(row: &Row, side: usize) -> Option<&Comparison> {
    row.comparisons.iter().find(|comparison| comparison.side == side)
}

/// What a side uses beside the first.
pub(crate) fn uses_of(row: &Row, side: usize) -> impl Iterator<Item = &Use> {
    row.commands.iter().flat_map(|commands| &commands.uses).filter(move |seen| seen.side == side)
}

/// The first command set against itself, where it was.
pub(crate) fn control(row: &Row) -> Option<&Comparison> {
    let at = row.sides.iter().position(|side| side.role == Role::Control)?;
    beside(row, at).filter(|control| control.sessions > 0)
}

/// Every side but controls, with its number and with what it used.
fn sides(row: &Row) -> impl Iterator<Item = (usize, &Side, &Used)> {
    let used = row.commands.iter().flat_map(|commands| &commands.used);
    let all = row.sides.iter().zip(used).enumerate().map(|(number, (side, used))| (number, side, used));
    all.filter(|(_, side, _)| side.role != Role::Control)
}

/// The tables of commands: each with its time, then beside the first, then what else they use beside the first.
pub(crate) fn tables(report: &Report) -> Vec<Table> {
    let all = report.rows.iter().flat_map(|row| [times(row), verdicts(report, row), uses(row)]);
    all.filter(|table| !table.rows.is_empty()).collect()
}

/// One of the amounts that were used.
type Amount = fn(&Used) -> f64;

fn times(row: &Row) -> Table {
    // Most commands touch no device, and then it needs no columns.
    let moved = |of: &Amount| sides(row).any(|(.., used)| of(used) > 0.0);
    let of_devices: [(&str, Amount); 2] =
        [("read", |used| used.bytes_read), ("written", |used| used.bytes_written)];
    let of_devices: Vec<_> = of_devices.into_iter().filter(|(_, of)| moved(of)).collect();
    let line = |(_, side, used): (usize, &Side, &Used)| {
        // Every process has memory: where the system told of none, it told nothing.
        let told = |ns: f64| shown(Some(ns).filter(|_| used.peak_bytes > 0.0), time);
        let has_run = Some(used).filter(|used| used.runs > 0);
        let mut cells = vec![
            side.label.clone(),
            side_time(side),
            side_interval(side),
            shown(has_run, |used| span([used.least_ns, used.most_ns])),
            told(used.user_ns),
            told(used.system_ns),
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
    let line = |(number, side, _): (usize, &Side, &Used)| {
        let beside = beside(row, number)?;
        let (words, tone) = match &row.status {
            Status::Ok | Status::Unfinished => (verdict(report, row, beside), Tone::of(beside.verdict)),
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
    let line = |seen: &Use| {
        let label = row.sides.get(seen.side).map(|side| side.label.clone()).unwrap_or_default();
        let ends = shown(seen.interval, |[low, high]| format!("[{low:.3}×, {high:.3}×]"));
        let [first, this] = [seen.first, seen.this].map(|value| seen.what.amount(value));
        let tone = if matches!(seen.than, Than::More | Than::Less) { Tone::Plain } else { Tone::Dim };
        Line::new([label, seen.what.word().to_owned(), this, first, ends, seen.words()], tone)
    };
    let columns = ["command", "of", "it", "the first", "99 % interval", "verdict"];
    let all = row.commands.iter().flat_map(|commands| &commands.uses);
    Table::new(columns, all.map(line)).under(caption(row, "use"))
}

/// A time that may be none.
fn time(ns: f64) -> String {
    if ns == 0.0 { "0".to_owned() } else { duration(ns) }
}

/// The usual peak of memory; below what a child can show, only that.
pub(crate) fn memory(row: &Row, usual: f64) -> String {
    let least = row.commands.as_ref().and_then(|commands| commands.least_bytes).unwrap_or(0) as f64;
    match usual {
        0.0 => NOTHING.to_owned(),
        peak if peak <= least => format!("< {}", bytes(least as u64)),
        peak => bytes(peak as u64),
    }
}

/// Output faster than this, in bytes per nanosecond, is slowed down by whoever reads it.
const FAST_OUTPUT: f64 = 0.2;

/// What a reader should know of the commands.
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
                "{label}: what it prints differs from run to run, in {} of {runs} runs; --ignore output says so no more",
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
            note(format!(
                "{label} prints {rate}/s: part of its time is the pipe; --output null leaves that out"
            ));
        }
        if used.failed > 0 {
            note(format!("{label}: {} of {runs} runs failed, which was to be ignored", used.failed));
        }
        if used.left > 0 {
            note(format!(
                "{label} left processes running in {} of {runs} runs; they were ended, and their work is not in the numbers",
                used.left
            ));
        }
        if let Some(empty) = commands.empty_ns.filter(|empty| time < 3.0 * empty) {
            let empty = duration(empty);
            note(format!(
                "{label}: much of its time is its start; a program that does nothing takes {empty} here"
            ));
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
        note(format!(
            "a shell that does nothing takes {shell}; that is in the times of commands that need one"
        ));
    }
    notes
}
