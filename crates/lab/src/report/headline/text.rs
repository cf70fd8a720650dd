//! Terminal form of a summary for any width: one line per row if it fits, otherwise two or more.

use super::{Headline, HeadlineRow, HeadlineTable, Ratio};
use crate::report::render::text::paint;
use crate::report::view::Tone;

/// Gap between columns.
const GAP: usize = 2;

/// Range of useful bar lengths.
const BAR: std::ops::RangeInclusive<usize> = 6..=20;

/// Text in one tone.
type Cell = (String, Tone);

/// Renders for a terminal of `width` columns; `colour` adds ANSI colours.
pub(crate) fn render(headline: &Headline, width: usize, colour: bool) -> String {
    let proof = &headline.proof;
    let (mark, tone) = if proof.is_fatal { ("✘", Tone::Bad) } else { ("✔", Tone::Good) };
    let mut out = prose(&format!("{mark} {}", proof.message), width, tone, colour);
    out += &prose(&headline.title, width, Tone::Plain, colour);
    for warning in &headline.warnings {
        out += &prose(&format!("! {warning}"), width, Tone::Warn, colour);
    }
    out += "\n";
    for line in rows(&headline.rows, width) {
        out += &painted(&line, colour);
    }
    for table in &headline.tables {
        out += "\n";
        out += &lay_out(table, width, colour);
    }
    out += "\n";
    for note in &headline.notes {
        out += &prose(note, width, Tone::Dim, colour);
    }
    out
}

/// A paragraph, wrapped between words; further lines are indented.
fn prose(text: &str, width: usize, tone: Tone, colour: bool) -> String {
    wrapped(text, width, 2).iter().map(|line| painted(&[(line.clone(), tone)], colour)).collect()
}

/// Wraps at `width` columns, except for longer words; all lines but the first are indented.
fn wrapped(text: &str, width: usize, indent: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let words = text.trim_start();
    let mut line = text[..text.len() - words.len()].to_owned();
    for word in words.split(' ') {
        let is_empty = line.trim_start().is_empty();
        if !is_empty && count(&line) + 1 + count(word) > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
        } else if !is_empty {
            line.push(' ');
        }
        line += word;
    }
    lines.push(line);
    lines
}

fn count(text: &str) -> usize {
    text.chars().count()
}

/// One line of aligned cells.
fn painted(cells: &[Cell], colour: bool) -> String {
    let blank = |(text, _): &&Cell| text.trim().is_empty();
    let count = cells.len() - cells.iter().rev().take_while(blank).count();
    let mut out = String::new();
    for (index, (text, tone)) in cells[..count].iter().enumerate() {
        let shown = if index + 1 == count { text.trim_end() } else { text };
        out += &paint(shown, *tone, colour);
    }
    out + "\n"
}

/// First form of the rows that fits the width.
fn rows(rows: &[HeadlineRow], width: usize) -> Vec<Vec<Cell>> {
    let widest = |lines: &[Vec<Cell>]| {
        lines.iter().map(|line| line.iter().map(|(text, _)| count(text)).sum()).max().unwrap_or(0)
    };
    let flat = one_line(rows, 0);
    let taken: usize = widest(&flat);
    if taken <= width {
        let left = width.saturating_sub(taken + GAP).min(*BAR.end());
        return if BAR.contains(&left) { one_line(rows, left) } else { flat };
    }
    let split = two_lines(rows);
    if widest(&split) <= width { split } else { stacked(rows, width) }
}

/// Product, name, number and meaning, aligned.
fn heads(rows: &[HeadlineRow]) -> Vec<Vec<Cell>> {
    let most = |of: fn(&HeadlineRow) -> &str| rows.iter().map(|row| count(of(row))).max().unwrap_or(0);
    let (product, name) = (most(|row| &row.product), most(|row| &row.name));
    let (number, plus_minus) = (most(|row| &row.number), most(|row| &row.plus_minus));
    let meaning = most(|row| &row.meaning);
    let mut last = "";
    let mut lines = Vec::new();
    for row in rows {
        let shown = if row.product == last { "" } else { &row.product };
        last = &row.product;
        lines.push(vec![
            (format!("{shown:<product$}  {:<name$}  ", row.name), Tone::Plain),
            (format!("{:>number$}", row.number), row.tone),
            (format!(" {:>plus_minus$}  ", row.plus_minus), Tone::Dim),
            (format!("{:<meaning$}", row.meaning), Tone::Plain),
        ]);
    }
    lines
}

/// Each row in one line, with a bar of up to `bar` columns if there is room.
fn one_line(rows: &[HeadlineRow], bar: usize) -> Vec<Vec<Cell>> {
    let tool = rows.iter().map(|row| count(&row.beside.tool)).max().unwrap_or(0);
    let of_ratio = |of: fn(&Ratio) -> &str| {
        rows.iter()
            .filter_map(|row| row.beside.ratio.as_ref())
            .map(|ratio| count(of(ratio)))
            .max()
            .unwrap_or(0)
    };
    let (words, plus_minus) = (of_ratio(|ratio| &ratio.words), of_ratio(|ratio| &ratio.plus_minus));
    let most =
        rows.iter().filter_map(|row| row.beside.ratio.as_ref()).map(|ratio| ratio.value).fold(1.0, f64::max);
    let mut lines = heads(rows);
    for (line, row) in lines.iter_mut().zip(rows) {
        let tone = if row.beside.ratio.is_some() { Tone::Plain } else { Tone::Dim };
        line.push((format!("  {:<tool$}", row.beside.tool), tone));
        if let Some(ratio) = &row.beside.ratio {
            line.push((format!("  {:>words$}", ratio.words), tone_of(ratio)));
            line.push((format!(" {:>plus_minus$}", ratio.plus_minus), Tone::Dim));
            line.push((format!("  {}", bar_of(ratio.value, most, bar)), tone_of(ratio)));
        }
    }
    lines
}

fn tone_of(ratio: &Ratio) -> Tone {
    if ratio.value >= 1.0 { Tone::Good } else { Tone::Bad }
}

/// A bar on a logarithmic scale from 1 to `most`.
fn bar_of(ratio: f64, most: f64, width: usize) -> String {
    let share = if most > 1.0 { (ratio.ln() / most.ln()).clamp(0.0, 1.0) } else { 0.0 };
    let eighths = (share * width as f64 * 8.0).round() as usize;
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    "█".repeat(eighths / 8) + rest
}

/// The tool on its own line below each row.
fn two_lines(rows: &[HeadlineRow]) -> Vec<Vec<Cell>> {
    let indent = rows.iter().map(|row| count(&row.product)).max().unwrap_or(0) + GAP;
    let mut lines = Vec::new();
    for (head, row) in heads(rows).into_iter().zip(rows) {
        lines.push(head);
        lines.push([&[(" ".repeat(indent), Tone::Plain)][..], &beside(row)].concat());
    }
    lines
}

/// `3.04× ±2 % as fast as SHA-256 1.88 GiB/s ±1 %`.
fn beside(row: &HeadlineRow) -> Vec<Cell> {
    match &row.beside.ratio {
        None => vec![(row.beside.tool.clone(), Tone::Dim)],
        Some(ratio) => vec![
            (ratio.words.clone(), tone_of(ratio)),
            (format!(" {}", ratio.plus_minus), Tone::Dim),
            (format!(" as fast as {}", row.beside.tool), Tone::Plain),
        ],
    }
}

/// Each part on its own lines.
fn stacked(rows: &[HeadlineRow], width: usize) -> Vec<Vec<Cell>> {
    let mut lines = Vec::new();
    for row in rows {
        let text = |cells: Vec<Cell>| cells.into_iter().map(|(text, _)| text).collect::<String>();
        let number = format!("  {} {}", row.number, row.plus_minus);
        let parts = [
            (format!("{} {}", row.product, row.name), Tone::Plain),
            (number.trim_end().to_owned(), row.tone),
            (format!("  {}", row.meaning), Tone::Plain),
            (format!("  {}", text(beside(row))), Tone::Plain),
        ];
        for (text, tone) in parts.into_iter().filter(|(text, _)| !text.trim().is_empty()) {
            lines.extend(wrapped(&text, width, 4).into_iter().map(|line| vec![(line, tone)]));
        }
    }
    lines
}

/// A table; its first column is shortened until it fits.
fn lay_out(table: &HeadlineTable, width: usize, colour: bool) -> String {
    let columns = table.columns.len();
    let mut widths: Vec<usize> = table.columns.iter().map(|column| count(column)).collect();
    for (cells, _) in &table.rows {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = (*width).max(count(cell));
        }
    }
    let rest: usize = widths[1..].iter().sum::<usize>() + GAP * (columns - 1);
    widths[0] = widths[0].min(width.saturating_sub(rest).max(count(table.columns[0])));
    let mut out = String::new();
    if !table.caption.is_empty() {
        out += &format!("{}\n", table.caption);
    }
    let line = |cells: &[String], tone: Tone| {
        let cells = cells.iter().zip(&widths).enumerate().map(|(index, (cell, width))| match index {
            0 => (format!("{:<width$}", shortened(cell, *width)), Tone::Plain),
            _ if index + 1 == columns => (format!("  {cell}"), tone),
            _ => (format!("  {cell:>width$}"), Tone::Plain),
        });
        painted(&cells.collect::<Vec<_>>(), colour)
    };
    let head: Vec<String> = table.columns.iter().map(|column| (*column).to_owned()).collect();
    out += &line(&head, Tone::Plain);
    for (cells, tone) in &table.rows {
        out += &line(cells, *tone);
    }
    out
}

fn shortened(text: &str, width: usize) -> String {
    match count(text) > width {
        true => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_owned(),
    }
}
