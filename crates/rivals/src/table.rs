//! A report as a table for a terminal. Renders, computes nothing that a record does not hold.

use std::fmt::Write as _;

use crate::gates::Verdict;
use crate::report::{GateReport, Report, RowReport, Unit};

const HEADER: [&str; 8] = ["workload", "rival", "ours", "ratio", "99 % interval", "must", "aim", "verdict"];

/// The whole report in words.
pub fn render(report: &Report) -> String {
    let mut lines = vec![Line::Cells(HEADER.map(str::to_owned).into())];
    for gate in &report.gates {
        gate_lines(gate, &mut lines);
    }
    let mut text = format!(
        "{} beside Hashmill on {} ({}), ratio = rival time / our time\n{}\n\n",
        report.rival,
        report.host.machine.cpu,
        report.host.rustc.as_deref().unwrap_or("unknown compiler"),
        report.method,
    );
    text.push_str(&align(&lines));
    text.push_str(&closing(report));
    text
}

/// One line of the table, or a heading that spans it.
enum Line {
    Cells(Vec<String>),
    Heading(String),
}

fn gate_lines(gate: &GateReport, lines: &mut Vec<Line>) {
    lines.push(Line::Heading(gate.name.clone()));
    if let Some(why) = &gate.skipped {
        lines.push(Line::Heading(format!("  SKIPPED: {why}")));
    }
    for row in &gate.rows {
        lines.push(gate_cells(gate, row));
    }
}

fn gate_cells(gate: &GateReport, row: &RowReport) -> Line {
    let numbers = &row.estimate;
    let amount = |amount: f64| match row.unit {
        Unit::Time => time(amount),
        Unit::Bytes => size(amount),
    };
    let bar = |bar: Option<f64>| bar.map(|bar| format!("{bar:.2}")).unwrap_or_default();
    let interval = numbers.interval.map(|[low, high]| format!("{low:.3}–{high:.3}"));
    Line::Cells(vec![
        format!("  {}", row.row),
        amount(numbers.rival_ns),
        amount(numbers.ours_ns),
        format!("{:.3}", numbers.ratio),
        interval.unwrap_or_else(|| "–".to_owned()),
        gate.within_us.map_or_else(|| bar(gate.must), |within| format!("{within:.0} µs")),
        bar(gate.aim),
        row.verdict.word().to_owned(),
    ])
}

fn time(ns: f64) -> String {
    match ns {
        ..1e3 => format!("{ns:.1} ns"),
        ..1e6 => format!("{:.2} µs", ns / 1e3),
        _ => format!("{:.2} ms", ns / 1e6),
    }
}

fn size(bytes: f64) -> String {
    match bytes {
        ..1e4 => format!("{bytes:.0} B"),
        ..1e7 => format!("{:.1} kB", bytes / 1e3),
        _ => format!("{:.1} MB", bytes / 1e6),
    }
}

fn align(lines: &[Line]) -> String {
    let mut widths = Vec::new();
    for line in lines {
        if let Line::Cells(cells) = line {
            widths.resize(cells.len().max(widths.len()), 0);
            for (width, cell) in widths.iter_mut().zip(cells) {
                *width = (*width).max(cell.chars().count());
            }
        }
    }
    let mut text = String::new();
    for line in lines {
        match line {
            Line::Heading(words) => text.push_str(words),
            Line::Cells(cells) => {
                for (i, (cell, &width)) in cells.iter().zip(&widths).enumerate() {
                    // The name and the verdict are words; everything between is a number.
                    let written = match i {
                        0 => write!(text, "{cell:<width$}"),
                        _ if i + 1 == cells.len() => write!(text, "  {cell}"),
                        _ => write!(text, "  {cell:>width$}"),
                    };
                    written.expect("a string takes everything");
                }
            }
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

/// What a reader in a hurry wants: how many gates stand, and the names of those that do not.
fn closing(report: &Report) -> String {
    let mut text = String::from("\n");
    for verdict in [Verdict::Aim, Verdict::Met, Verdict::Unproven, Verdict::Missed] {
        let gates = report.gates.iter().filter(|gate| gate.verdict == verdict && !gate.rows.is_empty());
        let names: Vec<&str> = gates.map(|gate| gate.name.as_str()).collect();
        writeln!(text, "{:<9} {:>2}  {}", verdict.word(), names.len(), names.join("; "))
            .expect("a string takes everything");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_nothing_trails() {
        let line = |words: [&str; 8]| Line::Cells(words.map(str::to_owned).into());
        let text = align(&[
            line(["a", "1", "2", "3", "4", "5", "6", "met"]),
            Line::Heading("heading".into()),
            line(["long name", "100", "2", "3", "4", "5", "6", ""]),
        ]);
        assert_eq!(
            text,
            "a            1  2  3  4  5  6  met\n\
             heading\n\
             long name  100  2  3  4  5  6\n"
        );
    }

    #[test]
    fn times_choose_their_unit() {
        assert_eq!(time(58.94), "58.9 ns");
        assert_eq!(time(1055.0), "1.05 µs");
        assert_eq!(time(58_410_000.0), "58.41 ms");
        assert_eq!(size(406.0), "406 B");
        assert_eq!(size(37_700_000.0), "37.7 MB");
    }
}
