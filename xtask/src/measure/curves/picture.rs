//! Curves as SVG: logarithmic axes, intervals as bands, for light and dark pages.
//!
//! Numbers are written with one decimal, so that a report gives the same picture on every machine.

use std::fmt::Write as _;

use crate::measure::curves::XQuantity;
use crate::measure::curves::points::{Point, number, size_text};

const WIDTH: f64 = 820.0;
const HEIGHT: f64 = 470.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 610.0;
const TOP: f64 = 72.0;
const BOTTOM: f64 = 408.0;
/// Minimum distance of two labels.
const LINE: f64 = 18.0;

/// An SVG image knows the reader's colour scheme but not the page's colours, so it has its own background.
const STYLE: &str = "\
text{font:13px system-ui,sans-serif;fill:#1f2328}
.title{font-size:16px;font-weight:600}
.ground{fill:#fff}
.grid{stroke:#d8dee4;fill:none}
.axis{stroke:#57606a;fill:none}
.bend{stroke:#57606a;stroke-dasharray:2 4;fill:none}
.line{fill:none;stroke-width:2}
.dashed{stroke-dasharray:7 4}
.ours{stroke:#0550ae;fill:#0550ae}
.theirs{stroke:#a04100;fill:#a04100}
.line.ours,.line.theirs{fill:none}
.band{stroke:none;opacity:.25}
.mark.theirs,.open{fill:#fff}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}
.ground{fill:#0d1117}
.grid{stroke:#30363d}
.axis,.bend{stroke:#9198a1}
.ours{stroke:#79c0ff;fill:#79c0ff}
.theirs{stroke:#ffa657;fill:#ffa657}
.mark.theirs,.open{fill:#0d1117}
}";

/// An axis for numbers above zero, on which equal ratios are equally far apart.
#[derive(Debug)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    ticks: Vec<(f64, String)>,
}

impl Axis {
    /// Ticks at every power of ten; for bytes, at 4 times the powers of 16.
    pub(super) fn for_sizes(sizes: impl Iterator<Item = f64>, binary: bool) -> Self {
        let (low, high) = min_and_max(sizes);
        let quantity = if binary { XQuantity::Bytes } else { XQuantity::Files };
        let base: f64 = if binary { 16.0 } else { 10.0 };
        let ticks = (0..16).map(|power| base.powi(power) * if binary { 4.0 } else { 1.0 });
        let ticks =
            ticks.filter(|tick| (low..=high).contains(tick)).map(|tick| (tick, size_text(tick, quantity)));
        Self { low, high, ticks: ticks.collect() }
    }

    /// Ticks at 1, 2 and 5 of every power of ten, or at the powers alone where that is too many.
    pub(super) fn for_costs(costs: impl Iterator<Item = f64>) -> Self {
        let (low, high) = min_and_max(costs);
        let (low, high) = (low / 1.15, high * 1.15);
        let decades = low.log10().floor() as i32..=high.log10().floor() as i32;
        let steps: &[f64] = if high / low < 2_000.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let all = decades.flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
        let ticks = all.filter(|tick| (low..=high).contains(tick)).map(|tick| (tick, tick_text(tick)));
        Self { low, high, ticks: ticks.collect() }
    }

    /// Position of a number on the axis, from 0 to 1.
    fn position(&self, value: f64) -> f64 {
        if self.high > self.low { (value / self.low).ln() / (self.high / self.low).ln() } else { 0.5 }
    }
}

fn min_and_max(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, 0.0), |(low, high), value| (low.min(value), high.max(value)))
}

/// A tick without trailing zeros.
fn tick_text(tick: f64) -> String {
    let text = number(tick);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// One line.
pub(super) struct Stroke {
    /// Label at its end.
    pub(super) label: String,
    pub(super) is_hashmill: bool,
    pub(super) dashed: bool,
    pub(super) points: Vec<Point>,
}

/// The content of a picture.
pub(super) struct Picture {
    pub(super) title: String,
    /// Text alternative.
    pub(super) description: String,
    pub(super) x: Axis,
    pub(super) x_name: String,
    pub(super) y: Axis,
    pub(super) y_name: String,
    pub(super) lines: Vec<Stroke>,
    /// Sizes that get a number; the page explains them.
    pub(super) bends: Vec<f64>,
}

impl Picture {
    pub(super) fn draw(&self) -> String {
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH:.0}\" height=\"{HEIGHT:.0}\" \
             viewBox=\"0 0 {WIDTH:.0} {HEIGHT:.0}\" role=\"img\" aria-labelledby=\"title desc\">\n\
             <title id=\"title\">{}</title>\n<desc id=\"desc\">{}</desc>\n<style>\n{STYLE}\n</style>\n\
             <rect class=\"ground\" width=\"100%\" height=\"100%\" rx=\"6\"/>\n",
            escape(&self.title),
            escape(&self.description)
        );
        self.axes(&mut out);
        for line in &self.lines {
            self.line(&mut out, line);
        }
        let mut labels: Vec<(f64, &Stroke)> =
            self.lines.iter().filter_map(|line| Some((self.y(line.points.last()?.ns), line))).collect();
        labels.sort_by(|a, b| a.0.total_cmp(&b.0));
        let heights = spread_labels(&labels.iter().map(|(height, _)| *height).collect::<Vec<_>>());
        for ((_, line), y) in labels.iter().zip(heights) {
            let class = class(line);
            push_line(
                &mut out,
                format_args!(r#"<path class="{class}" d="M{:.1} {y:.1}h24"/>"#, RIGHT + 10.0),
            );
            text(&mut out, "", (RIGHT + 40.0, y + 4.5), "start", &line.label);
        }
        out + "</svg>\n"
    }

    fn x(&self, size: f64) -> f64 {
        LEFT + self.x.position(size) * (RIGHT - LEFT)
    }

    fn y(&self, cost: f64) -> f64 {
        BOTTOM - self.y.position(cost) * (BOTTOM - TOP)
    }

    fn axes(&self, out: &mut String) {
        text(out, "title", (16.0, 28.0), "start", &self.title);
        text(out, "", (16.0, 50.0), "start", &self.y_name);
        text(out, "", (f64::midpoint(LEFT, RIGHT), HEIGHT - 16.0), "middle", &self.x_name);
        for (tick, label) in &self.y.ticks {
            let y = self.y(*tick);
            push_line(out, format_args!(r#"<path class="grid" d="M{LEFT:.1} {y:.1}H{RIGHT:.1}"/>"#));
            text(out, "", (LEFT - 8.0, y + 4.5), "end", label);
        }
        for (tick, label) in &self.x.ticks {
            let x = self.x(*tick);
            push_line(out, format_args!(r#"<path class="axis" d="M{x:.1} {BOTTOM:.1}v5"/>"#));
            text(out, "", (x, BOTTOM + 20.0), "middle", label);
        }
        push_line(
            out,
            format_args!(r#"<path class="axis" d="M{LEFT:.1} {TOP:.1}V{BOTTOM:.1}H{RIGHT:.1}"/>"#),
        );
        for (index, size) in self.bends.iter().enumerate() {
            let x = self.x(*size);
            push_line(out, format_args!(r#"<path class="bend" d="M{x:.1} {TOP:.1}V{BOTTOM:.1}"/>"#));
            text(out, "", (x, TOP - 5.0), "middle", &(index + 1).to_string());
        }
    }

    fn line(&self, out: &mut String, line: &Stroke) {
        let side = side_class(line);
        let coordinates = |size: f64, cost: f64| format!("{:.1} {:.1}", self.x(size), self.y(cost));
        let lower = line.points.iter().map(|point| coordinates(point.size, point.low()));
        let upper = line.points.iter().rev().map(|point| coordinates(point.size, point.high()));
        let band: Vec<String> = lower.chain(upper).collect();
        push_line(out, format_args!(r#"<path class="band {side}" d="M{}Z"/>"#, band.join("L")));
        let path: Vec<String> = line.points.iter().map(|point| coordinates(point.size, point.ns)).collect();
        push_line(out, format_args!(r#"<path class="{}" d="M{}"/>"#, class(line), path.join("L")));
        for point in &line.points {
            let (x, y) = (self.x(point.size), self.y(point.ns));
            // A point without an interval, from too few sessions, is an open mark.
            let open = if point.interval.is_none() { " open" } else { "" };
            if line.is_hashmill {
                push_line(
                    out,
                    format_args!(r#"<circle class="mark {side}{open}" cx="{x:.1}" cy="{y:.1}" r="3.5"/>"#),
                );
            } else {
                let (x, y) = (x - 3.0, y - 3.0);
                push_line(
                    out,
                    format_args!(
                        r#"<rect class="mark {side}{open}" x="{x:.1}" y="{y:.1}" width="6" height="6"/>"#
                    ),
                );
            }
        }
    }
}

fn side_class(line: &Stroke) -> &'static str {
    if line.is_hashmill { "ours" } else { "theirs" }
}

fn class(line: &Stroke) -> String {
    format!("line {}{}", side_class(line), if line.dashed { " dashed" } else { "" })
}

/// Heights of labels from top to bottom, moved so that none overlap.
fn spread_labels(preferred: &[f64]) -> Vec<f64> {
    let mut heights = preferred.to_vec();
    for index in 1..heights.len() {
        heights[index] = heights[index].max(heights[index - 1] + LINE);
    }
    // Labels pushed below the bottom move up and push the ones above.
    let mut lowest = BOTTOM;
    for height in heights.iter_mut().rev() {
        *height = height.min(lowest);
        lowest = *height - LINE;
    }
    heights
}

fn push_line(out: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(out, "{line}").expect("writing to a string does not fail");
}

fn text(out: &mut String, class: &str, (x, y): (f64, f64), anchor: &str, content: &str) {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let content = escape(content);
    push_line(
        out,
        format_args!(r#"<text{class} x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{content}</text>"#),
    );
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn axes_have_round_ticks() {
        let bytes = Axis::for_sizes([64.0, 1_073_741_824.0].into_iter(), true);
        assert_eq!(labels(&bytes), ["64 B", "1 KiB", "16 KiB", "256 KiB", "4 MiB", "64 MiB", "1 GiB"]);
        assert_eq!(labels(&Axis::for_sizes([10.0, 5_000.0].into_iter(), false)), ["10", "100", "1,000"]);
        assert_eq!(labels(&Axis::for_costs([0.06, 0.9].into_iter())), ["0.1", "0.2", "0.5", "1"]);
        assert_eq!(labels(&Axis::for_costs([1.5, 40_000.0].into_iter())), ["10", "100", "1000", "10000"]);
        let axis = Axis::for_sizes([1.0, 100.0].into_iter(), false);
        assert_eq!([1.0, 10.0, 100.0].map(|value| axis.position(value)), [0.0, 0.5, 1.0]);
        assert_eq!(Axis::for_sizes([7.0].into_iter(), false).position(7.0), 0.5, "an axis of a single size");
    }

    #[test]
    fn labels_do_not_overlap_and_stay_inside() {
        assert_eq!(spread_labels(&[100.0, 105.0, 200.0]), [100.0, 118.0, 200.0]);
        assert_eq!(spread_labels(&[BOTTOM - 1.0, BOTTOM]), [BOTTOM - LINE, BOTTOM]);
    }

    #[test]
    fn a_picture_has_bands_open_marks_and_escaped_names() {
        let point = |size, ns, interval| Point { size, ns, interval };
        let line = |label: &str, is_hashmill, points| Stroke {
            label: label.to_owned(),
            is_hashmill,
            dashed: !is_hashmill,
            points,
        };
        let hashmill = vec![point(1.0, 1.0, Some((0.5, 2.0))), point(100.0, 1.0, None)];
        let peer = vec![point(1.0, 2.0, Some((2.0, 2.0))), point(10.0, 2.0, Some((2.0, 2.0)))];
        let lines = vec![line("a<b", true, hashmill), line("other", false, peer)];
        let picture = Picture {
            title: "<b>&\"".to_owned(),
            description: "words".to_owned(),
            x: Axis::for_sizes([1.0, 100.0].into_iter(), false),
            x_name: "files".to_owned(),
            y: Axis::for_costs([0.5, 2.0].into_iter()),
            y_name: "ns".to_owned(),
            lines,
            bends: vec![10.0],
        };
        let svg = picture.draw();
        assert!(
            svg.contains("<title id=\"title\">&lt;b&gt;&amp;&quot;</title>") && !svg.contains("<b>"),
            "{svg}"
        );
        assert!(svg.contains(">a&lt;b</text>") && svg.contains("<desc id=\"desc\">words</desc>"), "{svg}");
        assert_eq!(svg.matches("class=\"mark ours open\"").count(), 1, "{svg}");
        assert_eq!(svg.matches("class=\"mark theirs\"").count(), 2, "{svg}");
        assert!(
            svg.contains("M340.0 72.0V408.0") && svg.contains("y=\"67.0\" text-anchor=\"middle\">1</text>"),
            "{svg}"
        );
        assert_eq!(svg.matches("line theirs dashed").count(), 2, "the line and its legend: {svg}");
    }
}
