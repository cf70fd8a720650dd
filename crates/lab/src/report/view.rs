//! Content of a page before rendering: warnings, facts, tables and notes.

use crate::model::units::duration;
use crate::report::schema::Verdict;
use hashmill_machine::Machine;

/// Content that all forms show.
pub(crate) struct View {
    pub(crate) title: String,
    /// Warnings, shown first.
    pub(crate) banner: Vec<Warning>,
    pub(crate) facts: Vec<(&'static str, String)>,
    pub(crate) tables: Vec<Table>,
    pub(crate) notes: Vec<String>,
}

/// One warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Warning {
    /// Whether the results must not be used; otherwise caution is enough.
    pub(crate) is_fatal: bool,
    pub(crate) message: String,
}

/// A table of text; the first column is left-aligned, the others right-aligned.
pub(crate) struct Table {
    /// Caption; may be empty.
    pub(crate) caption: String,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Line>,
}

pub(crate) struct Line {
    pub(crate) cells: Vec<String>,
    pub(crate) tone: Tone,
}

/// Emphasis of the last cell of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Good,
    Bad,
    Warn,
    Dim,
}

impl Table {
    /// A table without a caption.
    pub(crate) fn new<const N: usize>(columns: [&str; N], rows: impl IntoIterator<Item = Line>) -> Self {
        let columns = columns.map(str::to_owned).into();
        Table { caption: String::new(), columns, rows: rows.into_iter().collect() }
    }

    pub(crate) fn under(self, caption: impl Into<String>) -> Self {
        Table { caption: caption.into(), ..self }
    }
}

impl Line {
    pub(crate) fn new(cells: impl Into<Vec<String>>, tone: Tone) -> Self {
        Line { cells: cells.into(), tone }
    }

    pub(crate) fn plain(cells: impl Into<Vec<String>>) -> Self {
        Line::new(cells, Tone::Plain)
    }
}

/// Text of an empty cell.
pub(crate) const NOTHING: &str = "–";

/// Text of a value, if there is one.
pub(crate) fn shown<T>(value: Option<T>, words: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| NOTHING.to_owned(), words)
}

/// Text of an interval of two times.
pub(crate) fn span([low, high]: [f64; 2]) -> String {
    format!("{} … {}", duration(low), duration(high))
}

impl Tone {
    pub(crate) fn from_verdict(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Faster => Tone::Good,
            Verdict::Slower => Tone::Bad,
            Verdict::Same => Tone::Plain,
            Verdict::Inconclusive => Tone::Dim,
        }
    }
}

pub(crate) fn machine_facts(machine: &Machine) -> Vec<(&'static str, String)> {
    let Machine { id, cpu, logical_cores, memory_gib, os, kernel, virtualization, .. } = machine;
    vec![
        ("machine", format!("{id}  {cpu} ×{logical_cores}, {memory_gib} GiB")),
        ("system", format!("{os} {kernel}, virtualization {virtualization}")),
    ]
}
