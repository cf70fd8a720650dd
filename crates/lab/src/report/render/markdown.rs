//! Markdown form, for pull requests and documents.

use crate::report::schema::Report;
use crate::report::view::{Table, View};

/// Renders a report as Markdown.
pub(crate) fn render(report: &Report) -> String {
    lay_out_view(&View::from_report(report))
}

pub(crate) fn lay_out_view(view: &View) -> String {
    let mut out = format!("## {}\n\n", escape(&view.title));
    for warning in &view.banner {
        out += &format!("**{}**\n\n", escape(&warning.message));
    }
    for (name, message) in &view.facts {
        out += &format!("- {name}: {}\n", escape(message));
    }
    for table in &view.tables {
        out.push('\n');
        out += &lay_out(table);
    }
    out.push('\n');
    for note in &view.notes {
        out += &format!("- {}\n", escape(note));
    }
    out
}

fn lay_out(table: &Table) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let caption = &table.caption;
    let mut out = if caption.is_empty() { String::new() } else { format!("{}:\n\n", escape(caption)) };
    out += &line(table.columns.iter().map(|column| escape(column)).collect());
    let last = table.columns.len() - 1;
    let rule = (0..=last).map(|i| if i == 0 || i == last { "---" } else { "---:" }.to_owned());
    out += &line(rule.collect());
    for row in &table.rows {
        out += &line(row.cells.iter().map(|cell| escape(cell)).collect());
    }
    out
}

/// Escapes cells: names and reasons may come from other programs.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '*' | '_' | '`' | '<' | '\\' | '#' => {
                out.push('\\');
                out.push(c);
            }
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
