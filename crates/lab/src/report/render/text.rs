//! The terminal form.

use crate::report::schema::Report;
use crate::report::view::{Table, Tone, View};

/// Renders a report for a terminal; `colour` adds ANSI colours to the verdicts.
pub(crate) fn render(report: &Report, colour: bool) -> String {
    lay_out_view(&View::from_report(report), colour)
}

pub(crate) fn lay_out_view(view: &View, colour: bool) -> String {
    let mut out = format!("{}\n", view.title);
    for warning in &view.banner {
        let tone = if warning.is_fatal { Tone::Bad } else { Tone::Warn };
        out += &format!("{}\n", paint(&format!("! {}", warning.message), tone, colour));
    }
    for (name, message) in &view.facts {
        out += &format!("{name:<10}{message}\n");
    }
    for table in &view.tables {
        out.push('\n');
        out += &lay_out(table, colour);
    }
    out.push('\n');
    for note in &view.notes {
        out += &format!("{note}\n");
    }
    out
}

pub(crate) fn lay_out(table: &Table, colour: bool) -> String {
    let count = |text: &str| text.chars().count();
    let mut widths: Vec<usize> = table.columns.iter().map(|column| count(column)).collect();
    for line in &table.rows {
        for (width, cell) in widths.iter_mut().zip(&line.cells) {
            *width = (*width).max(count(cell));
        }
    }
    let last = widths.len() - 1;
    let mut out = String::new();
    if !table.caption.is_empty() {
        out += &format!("{}\n", table.caption);
    }
    let mut write = |cells: &[&str], tone: Tone| {
        for (i, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            let gap = " ".repeat(width - count(cell));
            match i {
                0 => out += &format!("{cell}{gap}"),
                i if i == last => out += &format!("  {}", paint(cell, tone, colour)),
                _ => out += &format!("  {gap}{cell}"),
            }
        }
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    };
    write(&table.columns.iter().map(String::as_str).collect::<Vec<_>>(), Tone::Plain);
    for line in &table.rows {
        write(&line.cells.iter().map(String::as_str).collect::<Vec<_>>(), line.tone);
    }
    out
}

pub(crate) fn paint(text: &str, tone: Tone, colour: bool) -> String {
    let code = match tone {
        Tone::Good => "32",
        Tone::Bad => "31;1",
        Tone::Warn => "33",
        Tone::Dim => "2",
        Tone::Plain => return text.to_owned(),
    };
    if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}
