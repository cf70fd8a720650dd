//! HTML page of a summary: the same text as in the terminal, then the sessions of each number.

use super::{Headline, HeadlineRow, HeadlineTable, named};
use crate::model::summary::Summary;
use crate::report::render::charts;
use crate::report::render::html::{lay_out, page_below};
use crate::report::render::svg::escape;
use crate::report::schema::Report;
use crate::report::view::{Line, Table, View};

/// Renders as one HTML file.
pub(crate) fn render(report: &Report, summary: &Summary, headline: &Headline) -> String {
    let report = named(report, summary);
    let view = View { title: headline.title.clone(), ..View::from_report(&report) };
    let closing = format!("schema {}, seal {}", report.schema, report.seal);
    page_below([&proof(headline), &lead(headline)], &view, &charts::of_summary(&report), &closing)
}

fn proof(headline: &Headline) -> String {
    let (mark, class) = if headline.proof.is_fatal { ("✘", "fatal") } else { ("✔", "right") };
    let message = escape(&headline.proof.message);
    format!("<p class=\"banner {class}\" role=\"note\">{mark} {message}</p>\n")
}

/// The table and its notes.
fn lead(headline: &Headline) -> String {
    let mut out = String::from("<table class=\"headline\"><tbody>\n");
    let ratios = headline.rows.iter().filter_map(|row| row.beside.ratio.as_ref());
    let most = ratios.map(|ratio| ratio.value).fold(1.0, f64::max);
    let mut last = "";
    for row in &headline.rows {
        out += &line(row, row.product != last, most);
        last = &row.product;
    }
    out += "</tbody></table>\n";
    out += &headline.tables.iter().map(table).collect::<String>();
    for note in &headline.notes {
        out += &format!("<p class=\"dim\">{}</p>\n", escape(note));
    }
    out
}

fn line(row: &HeadlineRow, is_first: bool, most: f64) -> String {
    let product = if is_first { escape(&row.product) } else { String::new() };
    let beside = match &row.beside.ratio {
        None => format!("<td class=\"dim\">{}</td>", escape(&row.beside.tool)),
        Some(ratio) => {
            let share = if most > 1.0 { (ratio.value.ln() / most.ln()).clamp(0.0, 1.0) } else { 0.0 };
            format!(
                "<td><b>{}</b> <small>{}</small> as fast as {}<span class=\"track\" aria-hidden=\"true\">\
                 <i class=\"bar\" style=\"left:0;width:{:.1}%\"></i></span></td>",
                escape(&ratio.words),
                escape(&ratio.plus_minus),
                escape(&row.beside.tool),
                share * 100.0
            )
        }
    };
    format!(
        "<tr{}><th scope=\"row\">{product}</th><td>{}</td><td><b>{}</b> <small>{}</small></td><td>{}</td>{beside}</tr>\n",
        if is_first { " class=\"first\"" } else { "" },
        escape(&row.name),
        escape(&row.number),
        escape(&row.plus_minus),
        escape(&row.meaning)
    )
}

fn table(table: &HeadlineTable) -> String {
    let rows = table.rows.iter().map(|(cells, tone)| Line::new(cells.clone(), *tone)).collect();
    let columns = table.columns.iter().map(|column| (*column).to_owned()).collect();
    lay_out(&Table { caption: table.caption.to_owned(), columns, rows })
}
