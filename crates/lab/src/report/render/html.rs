//! A single static HTML file: charts, tables, notes; no scripts and no external resources. Supports light and dark
//! mode, narrow screens and print.

use super::charts::{self, broken};
use super::svg::escape;
use crate::report::schema::Report;
use crate::report::view::{Table, Tone, View};

/// Colours by name: light mode and dark mode.
const COLOURS: [(&str, &str, &str); 16] = [
    ("paper", "#ffffff", "#15181b"),
    ("ink", "#1b1e21", "#e6e8ea"),
    ("dim", "#565c62", "#a7aeb5"),
    ("good", "#1a6b2d", "#6fdc86"),
    ("bad", "#b3201b", "#ff8f88"),
    ("careful", "#5f4600", "#ffdf85"),
    ("careful-paper", "#fff2c9", "#392c05"),
    ("bad-paper", "#ffe3e1", "#471513"),
    ("rule", "#d5d9dd", "#363c42"),
    ("track", "#eef0f2", "#22272b"),
    ("band", "#cfd8df", "#3d4953"),
    ("c0", "#0b6e8f", "#4fb8d9"),
    ("c1", "#c2410c", "#ff9a62"),
    ("c2", "#2b8a3e", "#6fdc86"),
    ("c3", "#7b2d8e", "#d69ae6"),
    ("c4", "#9d174d", "#f78fb9"),
];

const STYLE: &str = "\
*{box-sizing:border-box}\
body{font:15px/1.45 system-ui,sans-serif;max-width:1280px;margin:1.5rem auto;padding:0 1rem;background:var(--paper);color:var(--ink)}\
h1{font-size:1.4rem;margin:.2rem 0 .6rem;overflow-wrap:anywhere}h2{font-size:1.1rem;margin:1.6rem 0 .1rem}\
h3{font:600 .9rem ui-monospace,monospace;margin:.9rem 0 .2rem}hr{border:0;border-top:1px solid var(--rule);margin:.6rem 0 .3rem}\
.dim,dt{color:var(--dim)}.good{color:var(--good)}.bad{color:var(--bad)}p{margin:.2rem 0;overflow-wrap:anywhere}\
.banner{margin:.6rem 0;padding:.4rem .8rem;border-radius:.4rem;border-left:.4rem solid;overflow-wrap:anywhere}\
.banner.careful{background:var(--careful-paper);color:var(--careful)}.banner.fatal{background:var(--bad-paper);color:var(--bad);font-weight:600}\
.banner.right{background:var(--track);color:var(--good);font-weight:600}\
.headline{margin:.8rem 0}.headline th,.headline td{text-align:left;white-space:normal;border-bottom:0;min-width:0;padding:.2rem .8rem .2rem 0;font-family:inherit}\
.headline .first>*{border-top:1px solid var(--rule)}.headline b,.headline small,.headline td:nth-child(2){white-space:nowrap}.headline small{color:var(--dim)}\
.headline .track{display:block;height:.35rem;margin-top:.15rem}\
.both{display:grid;grid-template-columns:minmax(0,5fr) minmax(0,3fr);gap:0 2.5rem}\
.both>div:last-child .line{grid-template-columns:minmax(0,3fr) minmax(0,4fr)}.both>div:last-child .says{text-align:right}.both>div:last-child .track{grid-column:1/-1;grid-row:2}\
.line{display:grid;grid-template-columns:minmax(0,30%) minmax(0,1fr) minmax(0,31%);gap:0 .9rem;align-items:center;padding:.14rem 0}\
.name{font-family:ui-monospace,monospace;font-size:.86rem;overflow-wrap:anywhere}\
.says{font-size:.86rem;font-variant-numeric:tabular-nums}.says span{white-space:nowrap}\
summary.line{cursor:pointer;list-style:none}summary::-webkit-details-marker{display:none}\
summary .name::before{content:'▸ ';color:var(--dim)}details[open]>summary .name::before{content:'▾ '}\
div.line .name{padding-left:.2rem}summary:hover{background:var(--track)}summary:focus-visible{outline:2px solid var(--c0)}\
.track{position:relative;height:1.1rem;background:var(--track);border-radius:2px;overflow:hidden}\
.track i,.key{position:absolute;top:0;bottom:0;-webkit-print-color-adjust:exact;print-color-adjust:exact}\
.bar{background:var(--c0)}.bar.c1{background:var(--c1)}.bar.c2{background:var(--c2)}.bar.c3{background:var(--c3)}\
.band{background:var(--band)}.one{border-left:1px solid var(--dim)}.ideal{border-left:3px solid var(--ink);margin-left:-3px}\
.track .whisker{top:calc(50% - 1.5px);bottom:calc(50% - 1.5px);min-width:2px;background:var(--ink)}\
.track .dot{width:.62rem;height:.62rem;top:calc(50% - .31rem);margin-left:-.31rem;border-radius:50%;background:var(--ink)}\
.track .whisker.good,.track .dot.good{background:var(--good)}.track .whisker.bad,.track .dot.bad{background:var(--bad)}\
.track .whisker.dim,.track .dot.dim{background:var(--dim)}\
.ends,.ticks{background:none;overflow:visible;font-size:.8rem;color:var(--dim)}.ends{display:flex;justify-content:space-between;height:auto;gap:1rem}\
.ends em{font-style:normal}.ticks b{position:absolute;transform:translateX(-50%);font-weight:400}\
.legend{font-size:.82rem;color:var(--dim)}.key{position:static;display:inline-block;width:1rem;height:.7rem;margin:0 .3rem 0 .6rem}\
.key.whisker{height:3px;background:var(--ink);vertical-align:.25rem}.key.dot{width:.62rem;height:.62rem;border-radius:50%;background:var(--ink)}\
.key.dot.c0{background:var(--c0)}.key.dot.c1{background:var(--c1)}.key.dot.c2{background:var(--c2)}.key.dot.c3{background:var(--c3)}.key.dot.c4{background:var(--c4)}\
.more{padding:.2rem 0 .6rem 1.1rem;font-size:.86rem;overflow-wrap:anywhere}\
figure{margin:.6rem 0}.strip{max-width:640px}.strip svg{width:100%;display:block;background:var(--track)}\
.strip figcaption span:first-child,.strip figcaption span:last-child,.legend span{white-space:nowrap}.strip figcaption{display:flex;justify-content:space-between;gap:.8rem;color:var(--dim);font-size:.8rem}\
.many{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,340px),1fr));gap:0 2rem}figure>svg{width:100%;max-width:560px;height:auto}\
.strip svg{max-width:none}svg text{font:12px system-ui,sans-serif;fill:var(--dim)}svg path{fill:none}.interval{fill:var(--band)}\
.grid{stroke:var(--rule)}.axis{stroke:var(--dim)}.mark{stroke:var(--bad);stroke-dasharray:3 2}.level{stroke:var(--c1);stroke-width:3}\
.line.c0,.line.c1,.line.c2,.line.c3,.line.c4{stroke-width:1.8}.dots{stroke-width:5;stroke-linecap:round;vector-effect:non-scaling-stroke}\
path.c0{stroke:var(--c0)}path.c1{stroke:var(--c1)}path.c2{stroke:var(--c2)}path.c3{stroke:var(--c3)}path.c4{stroke:var(--c4)}\
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;margin:1rem 0;font-size:.86rem;font-variant-numeric:tabular-nums}\
caption{text-align:left;font-weight:600;padding:.3rem .6rem}\
th,td{padding:.25rem .6rem;text-align:right;border-bottom:1px solid var(--rule);white-space:nowrap;vertical-align:top}\
th:first-child,td:first-child{text-align:left;font-family:ui-monospace,monospace;white-space:normal}\
td:first-child{min-width:min(32ch,40vw)}th:last-child,td:last-child{text-align:left;white-space:normal;min-width:9ch}\
td.good,td.bad{font-weight:600}dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;font-size:.86rem}\
dd{margin:0}dd,li{overflow-wrap:anywhere}.numbers>summary{font-size:1.1rem;font-weight:600;margin-top:1.6rem;cursor:pointer}\
@media(max-width:1000px){.both{display:block}}\
@media(max-width:760px){.headline tr{display:grid;grid-template-columns:1fr 1fr;padding:.3rem 0;border-top:1px solid var(--rule)}\
.headline .first>*{border-top:0}.headline th,.headline td{padding:.05rem 0}.headline th{grid-column:1/-1}.headline td:last-child{grid-column:1/-1}\
.headline td:nth-child(3){text-align:right}.headline td:nth-child(4){grid-column:1/-1}}\
@media(max-width:640px){.line{grid-template-columns:minmax(11ch,2fr) minmax(0,3fr);padding:.3rem 0}.track{grid-column:1/-1;grid-row:2}.head .track,.foot .track{grid-row:1}\
.head .name,.foot .name,.head .says,.foot .says{display:none}.says{text-align:right}}\
@media print{body{max-width:none;margin:0}summary .name::before{content:''!important}details.numbers::details-content{content-visibility:visible;block-size:auto}\
.line,figure{break-inside:avoid}}";

/// Renders a report as an HTML file.
pub(crate) fn render(report: &Report) -> String {
    let closing = format!("schema {}, seal {}", report.schema, report.seal);
    page(&View::from_report(report), &charts::all(report), &closing)
}

/// A page: the content of the view, charts as HTML, and a closing line. If there are charts, the tables are
/// collapsed.
pub(crate) fn page(view: &View, pictures: &str, closing: &str) -> String {
    page_below(["", ""], view, pictures, closing)
}

/// The same with two HTML parts before it: one above the warnings and one below.
pub(crate) fn page_below([above, lead]: [&str; 2], view: &View, pictures: &str, closing: &str) -> String {
    let mut body = format!("<h1>{}</h1>\n{above}", escape(&view.title));
    for (class, is_fatal) in [("fatal", true), ("careful", false)] {
        let about = view.banner.iter().filter(|warning| warning.is_fatal == is_fatal);
        let lines: String = about.map(|warning| format!("<p>{}</p>\n", escape(&warning.message))).collect();
        if !lines.is_empty() {
            body += &format!("<div class=\"banner {class}\" role=\"note\">\n{lines}</div>\n");
        }
    }
    body += lead;
    let facts =
        view.facts.iter().map(|(name, message)| format!("<dt>{name}</dt><dd>{}</dd>\n", escape(message)));
    let facts = format!("<dl>\n{}</dl>\n", facts.collect::<String>());
    let tables: String = view.tables.iter().map(lay_out).collect();
    let notes: String = view.notes.iter().map(|note| format!("<li>{}</li>\n", escape(note))).collect();
    if pictures.is_empty() {
        body += &format!("{facts}{tables}<h2>Notes</h2>\n<ul>\n{notes}</ul>\n");
    } else {
        let fact = |name: &str| {
            view.facts.iter().find(|(other, _)| *other == name).map(|(_, message)| escape(message))
        };
        let where_and_when: Vec<String> = ["machine", "measured"].into_iter().filter_map(fact).collect();
        body += &format!("<p class=\"dim\">{}</p>\n{pictures}", where_and_when.join("; "));
        body += &format!(
            "<details class=\"numbers\"><summary>Numbers</summary>\n{tables}</details>\n\
             <h2>Conditions and notes</h2>\n{facts}<ul>\n{notes}</ul>\n"
        );
    }
    if !closing.is_empty() {
        body += &format!("<p class=\"dim\">{}</p>\n", escape(closing));
    }
    let title = escape(&view.title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>{}{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        colours()
    )
}

/// Colours as CSS properties: light mode, and dark mode for screens that request it. Print is always light.
fn colours() -> String {
    let light: String = COLOURS.iter().map(|(name, light, _)| format!("--{name}:{light};")).collect();
    let dark: String = COLOURS.iter().map(|(name, _, dark)| format!("--{name}:{dark};")).collect();
    format!(
        ":root{{color-scheme:light;{light}}}\n\
         @media screen and (prefers-color-scheme:dark){{:root{{color-scheme:dark;{dark}}}}}\n"
    )
}

pub(crate) fn lay_out(table: &Table) -> String {
    let mut out = String::from("<div class=\"wide\"><table>\n");
    if !table.caption.is_empty() {
        out += &format!("<caption>{}</caption>\n", broken(&table.caption));
    }
    out += "<thead><tr>";
    for column in &table.columns {
        out += &format!("<th scope=\"col\">{}</th>", escape(column));
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
                Tone::Warn | Tone::Dim => " class=\"dim\"",
            };
            out += &format!("<td{class}>{}</td>", if i == 0 { broken(cell) } else { escape(cell) });
        }
        out += "</tr>\n";
    }
    out + "</tbody>\n</table></div>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance of `#rrggbb`, as WCAG 2 defines it.
    fn luminance(colour: &str) -> f64 {
        let channel = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).expect("two digits")) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn words_and_marks_are_legible_on_light_and_dark_paper() {
        assert!((contrast("#ffffff", "#000000") - 21.0).abs() < 1e-9);
        let of = |name: &str| {
            let (_, light, dark) = COLOURS.iter().find(|(other, ..)| *other == name).expect("a colour");
            [*light, *dark]
        };
        let words = [
            ("ink", "paper"),
            ("dim", "paper"),
            ("good", "paper"),
            ("bad", "paper"),
            ("careful", "careful-paper"),
            ("bad", "bad-paper"),
            ("ink", "track"),
            ("dim", "track"),
            ("good", "track"),
            ("bad", "track"),
        ];
        let marks = ["c0", "c1", "c2", "c3", "c4"].map(|mark| [(mark, "paper"), (mark, "track")]).concat();
        for (pairs, least) in [(&words[..], 4.5), (&marks[..], 3.0)] {
            for (front, back) in pairs {
                for (front_colour, back_colour) in of(front).into_iter().zip(of(back)) {
                    let found = contrast(front_colour, back_colour);
                    assert!(found >= least, "{front} on {back}: {found:.2} is less than {least}");
                }
            }
        }
    }
}
