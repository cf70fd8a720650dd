//! One static HTML file: tables and SVG, no script, nothing loaded from anywhere.

use super::schema::{Kind, Report, Role, Row};
use super::soak::Soak;
use super::svg::{Series, curve, escape, strip, timeline};
use super::view::{Table, Tone, View, curves, row_units};
use crate::model::units::Units;
use std::mem::discriminant;

const STYLE: &str = "\
:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:1300px;margin:2rem auto;padding:0 1rem}\
h1{font-size:1.5rem;overflow-wrap:break-word}.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;margin:1.5rem 0;\
font-variant-numeric:tabular-nums}caption{text-align:left;font-weight:600;padding:.3rem .6rem}\
th,td{padding:.3rem .6rem;text-align:right;border-bottom:1px solid #8884;white-space:nowrap;vertical-align:top}\
th:first-child,td:first-child{text-align:left;font-family:ui-monospace,monospace;white-space:normal}\
td:first-child{min-width:min(32ch,40vw)}th:last-child,td:last-child{text-align:left;white-space:normal;min-width:9ch}\
.good{color:#2b8a3e;color:light-dark(#2b8a3e,#69db7c);font-weight:600}.bad{color:#c92a2a;color:light-dark(#c92a2a,#ff8787);font-weight:600}.dim{opacity:.65}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem}dt{opacity:.65}dd{margin:0}dd,li,p{overflow-wrap:anywhere}\
figure{margin:1.5rem 0}figcaption{font-family:ui-monospace,monospace}svg{width:100%;min-width:600px;height:auto}";

/// Renders as one HTML file.
#[must_use]
pub fn render(report: &Report) -> String {
    let closing = format!("schema {}, seal {}", report.schema, report.seal);
    page(&View::of(report), &charts(report), &closing)
}

/// One page: what the view says, charts that are SVG already, and a line at the end.
pub(crate) fn page(view: &View, charts: &str, closing: &str) -> String {
    let mut body = format!("<h1>{}</h1>\n<dl>\n", escape(&view.title));
    for (name, says) in &view.facts {
        body += &format!("<dt>{name}</dt><dd>{}</dd>\n", escape(says));
    }
    body += "</dl>\n";
    for table in &view.tables {
        body += &lay_out(table);
    }
    body += charts;
    body += "<h2>Notes</h2>\n<ul>\n";
    for note in &view.notes {
        body += &format!("<li>{}</li>\n", escape(note));
    }
    body += "</ul>\n";
    if !closing.is_empty() {
        body += &format!("<p class=\"dim\">{}</p>\n", escape(closing));
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escape(&view.title)
    )
}

fn lay_out(table: &Table) -> String {
    let mut out = String::from("<div class=\"wide\"><table>\n");
    if !table.caption.is_empty() {
        out += &format!("<caption>{}</caption>\n", broken(&table.caption));
    }
    out += "<thead><tr>";
    for column in &table.columns {
        out += &format!("<th>{}</th>", escape(column));
    }
    out += "</tr></thead>\n<tbody>\n";
    for line in &table.rows {
        out += "<tr>";
        for (i, cell) in line.cells.iter().enumerate() {
            let class = match line.tone {
                _ if i + 1 < line.cells.len() => "",
                Tone::Plain => "",
                Tone::Good => " class=\"good\"",
                Tone::Bad => " class=\"bad\"",
                Tone::Dim => " class=\"dim\"",
            };
            out += &format!("<td{class}>{}</td>", if i == 0 { broken(cell) } else { escape(cell) });
        }
        out += "</tr>\n";
    }
    out + "</tbody>\n</table></div>\n"
}

/// Text that a narrow page may break after each slash: in a case's name, and never inside one of its words.
fn broken(text: &str) -> String {
    escape(text).replace('/', "/<wbr>")
}

fn charts(report: &Report) -> String {
    let mut out = String::new();
    for row in &report.rows {
        for comparison in row.comparisons.iter().filter(|c| row.sides[c.side].role == Role::Candidate) {
            let ratios: Vec<f64> = row.sides[comparison.side].deltas.iter().map(|d| d.exp()).collect();
            if ratios.is_empty() {
                continue;
            }
            let meeting = format!("{} against {}", row.sides[comparison.side].label, row.sides[0].label);
            let caption = if row.title.ends_with(&meeting) {
                row.title.clone()
            } else {
                format!("{}: {meeting}", row.title)
            };
            let chart =
                strip(&caption, &ratios, comparison.ratio, comparison.interval, report.plan.same_within);
            out += &figure(&caption, &chart);
        }
    }
    for row in report.rows.iter().filter(|_| report.kind == Kind::Soak) {
        if let Some(soak) = Soak::of(row) {
            let Some(units) = row_units(row) else { continue };
            let chart = timeline(&row.title, &soak.windows, (soak.first, soak.last), units);
            out += &figure(&row.title, &chart);
        }
    }
    let curves = curves(report);
    for kind in [Units::Bytes(1), Units::Hashes(1), Units::Operations(1)] {
        let lines: Vec<Series<'_>> =
            curves.iter().filter_map(|(name, points)| Some((name.as_str(), rates(points, kind)?))).collect();
        if !lines.is_empty() {
            out += &figure("rate over size", &curve("rate over size", &lines, kind));
        }
    }
    if out.is_empty() { out } else { format!("<h2>Charts</h2>\n{out}") }
}

/// Units per nanosecond over sizes, if that is what the rows count.
fn rates(points: &[(u64, &Row)], kind: Units) -> Option<Vec<(f64, f64)>> {
    let rate = |(size, row): &(u64, &Row)| {
        let units = row_units(row).filter(|units| discriminant(units) == discriminant(&kind))?;
        Some((*size as f64, units.count() as f64 / row.sides[0].summary?.median_ns))
    };
    points.iter().map(rate).collect()
}

fn figure(caption: &str, chart: &str) -> String {
    format!(
        "<figure>\n<figcaption>{}</figcaption>\n<div class=\"wide\">{chart}</div></figure>\n",
        broken(caption)
    )
}
