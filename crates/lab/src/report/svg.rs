//! Three charts as SVG, without a library: the strip of sessions, the curve over sizes, the line over time.
//!
//! Numbers are written with one decimal, so that the same report gives the same picture on every machine.

use crate::model::units::{Size, Units};
use std::fmt::Write;

const WIDTH: f64 = 720.0;
const LEFT: f64 = 96.0;
const RIGHT: f64 = 40.0;

/// A picture under construction.
struct Canvas {
    body: String,
    height: f64,
}

impl Canvas {
    fn new(height: f64) -> Self {
        Canvas { body: String::new(), height }
    }

    fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str) {
        writeln!(self.body, r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" class="{class}"/>"#)
            .expect("a string takes all");
    }

    fn band(&mut self, (x, y): (f64, f64), width: f64, height: f64, class: &str) {
        let width = width.max(0.0);
        writeln!(
            self.body,
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" class="{class}"/>"#
        )
        .expect("a string takes all");
    }

    fn dot(&mut self, (x, y): (f64, f64), class: &str, says: &str) {
        let says = escape(says);
        writeln!(
            self.body,
            r#"<circle cx="{x:.1}" cy="{y:.1}" r="3" class="{class}"><title>{says}</title></circle>"#
        )
        .expect("a string takes all");
    }

    fn text(&mut self, (x, y): (f64, f64), anchor: &str, says: &str) {
        let says = escape(says);
        writeln!(self.body, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{says}</text>"#)
            .expect("a string takes all");
    }

    fn path(&mut self, points: &[(f64, f64)], class: &str) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        writeln!(self.body, r#"<polyline points="{}" class="{class}"/>"#, points.join(" "))
            .expect("a string takes all");
    }

    fn finish(self, describes: &str) -> String {
        let describes = escape(describes);
        let height = self.height;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\" role=\"img\">\n\
             <title>{describes}</title>\n<style>{STYLE}</style>\n{}</svg>\n",
            self.body
        )
    }
}

/// The look of every chart; colours that hold on white and on dark paper alike.
const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#888}\
.axis{stroke:#888;stroke-width:1}.grid{stroke:#8884;stroke-width:1}\
.band{fill:#8882}.interval{fill:#0a7ea433}.centre{stroke:#0a7ea4;stroke-width:2}\
.dot{fill:#0a7ea4}.c0{stroke:#0a7ea4}.c1{stroke:#d9480f}.c2{stroke:#2b8a3e}.c3{stroke:#862e9c}.c4{stroke:#a61e4d}\
polyline{fill:none;stroke-width:2}.d0{fill:#0a7ea4}.d1{fill:#d9480f}.d2{fill:#2b8a3e}.d3{fill:#862e9c}.d4{fill:#a61e4d}";

const COLOURS: usize = 5;

/// A linear or logarithmic axis from data to pixels.
struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    fn new(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = if low.is_finite() && high > low { (low, high) } else { (low - 1.0, low + 1.0) };
        Scale { low, high, from, to }
    }

    fn at(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// About `n` round values within the axis.
    fn ticks(&self, n: f64) -> Vec<f64> {
        let rough = (self.high - self.low) / n;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .map(|f| f * power)
            .into_iter()
            .find(|s| *s >= rough)
            .unwrap_or(10.0 * power);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        (first..=last.min(first + 20)).map(|i| i as f64 * step).collect()
    }
}

/// Steps of 1, 2 and 5 in each decade between two numbers above zero.
fn decades(low: f64, high: f64) -> Vec<f64> {
    let decades = low.log10().floor() as i32..=high.log10().floor() as i32;
    let steps = decades.flat_map(|power| [1.0, 2.0, 5.0].map(|factor| round(factor * 10_f64.powi(power))));
    steps.filter(|step| (low..=high).contains(step)).take(20).collect()
}

/// Without the last digits, in which sums of steps such as 0.1 differ from what is meant.
fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// The paired difference of every session, its centre and its interval; `band` is the half width of sameness.
/// All numbers are ratios.
#[must_use]
pub fn strip(title: &str, ratios: &[f64], centre: f64, interval: Option<[f64; 2]>, band: f64) -> String {
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let height = 40.0 + 4.0 * ratios.len().max(6) as f64;
    let (top, bottom) = (8.0, height - 28.0);
    let ends = interval.into_iter().flatten().chain([1.0 - band, 1.0 + band, centre]);
    let x = Scale::new(ratios.iter().copied().chain(ends).map(percent), LEFT, WIDTH - RIGHT);
    let mut canvas = Canvas::new(height);
    let (low, high) = (x.at(-band * 100.0), x.at(band * 100.0));
    canvas.band((low, top), high - low, bottom - top, "band");
    if let Some([low, high]) = interval {
        let (low, high) = (x.at(percent(low)), x.at(percent(high)));
        canvas.band((low, top), high - low, bottom - top, "interval");
    }
    for tick in x.ticks(6.0) {
        canvas.line((x.at(tick), top), (x.at(tick), bottom), "grid");
        canvas.text((x.at(tick), height - 10.0), "middle", &format!("{tick:+.2} %"));
    }
    canvas.line((x.at(0.0), top), (x.at(0.0), bottom), "axis");
    canvas.line((x.at(percent(centre)), top), (x.at(percent(centre)), bottom), "centre");
    for (session, ratio) in ratios.iter().enumerate() {
        let y = top + 4.0 + 4.0 * session as f64;
        let says = format!("session {}: {:+.2} %", session + 1, percent(*ratio));
        canvas.dot((x.at(percent(*ratio)), y), "dot", &says);
    }
    canvas.text((LEFT - 8.0, top + 10.0), "end", "sessions");
    canvas.finish(&format!("{title}: difference of each session, centre and 99 % interval"))
}

/// One line of a curve: its name and its points `(x, y)`.
pub type Series<'a> = (&'a str, Vec<(f64, f64)>);

/// Rates over sizes: both axes logarithmic. Rates are in `unit` per nanosecond.
#[must_use]
pub fn curve(title: &str, series: &[Series<'_>], unit: Units) -> String {
    let height = 280.0 + 16.0 * series.len() as f64;
    let (top, bottom) = (16.0, 240.0);
    let points = || series.iter().flat_map(|(_, points)| points);
    let x = Scale::new(points().map(|p| p.0.log2()), LEFT, WIDTH - RIGHT);
    let y = Scale::new(points().map(|p| p.1.log10()), bottom, top);
    let mut canvas = Canvas::new(height);
    let mut sizes: Vec<u64> = points().map(|p| p.0 as u64).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for size in &sizes {
        let at = x.at((*size as f64).log2());
        canvas.line((at, top), (at, bottom), "grid");
        canvas.text((at, bottom + 16.0), "middle", &Size(*size).to_string());
    }
    let most = points().map(|p| p.1).fold(0.0, f64::max);
    let (step, name) = unit.rate_step(most);
    for tick in decades(10_f64.powf(y.low) / step, 10_f64.powf(y.high) / step) {
        let at = y.at((tick * step).log10());
        canvas.line((LEFT, at), (WIDTH - RIGHT, at), "grid");
        canvas.text((LEFT - 8.0, at + 4.0), "end", &format!("{tick} {name}"));
    }
    canvas.line((LEFT, bottom), (WIDTH - RIGHT, bottom), "axis");
    for (i, (name, points)) in series.iter().enumerate() {
        let placed: Vec<(f64, f64)> = points.iter().map(|(s, r)| (x.at(s.log2()), y.at(r.log10()))).collect();
        canvas.path(&placed, &format!("c{}", i % COLOURS));
        for (place, (size, rate)) in placed.iter().zip(points) {
            let says = format!("{name} {}: {}", Size(*size as u64), unit.rate(unit.count() as f64 / rate));
            canvas.dot(*place, &format!("d{}", i % COLOURS), &says);
        }
        let legend = bottom + 40.0 + 16.0 * i as f64;
        canvas.dot((LEFT, legend - 4.0), &format!("d{}", i % COLOURS), name);
        canvas.text((LEFT + 10.0, legend), "start", name);
    }
    canvas.finish(title)
}

/// A rate over time: points `(seconds, units per nanosecond)`, with the medians of the first and the last quarter as
/// lines.
#[must_use]
pub fn timeline(title: &str, points: &[(f64, f64)], quarters: (f64, f64), unit: Units) -> String {
    let (height, top, bottom) = (220.0, 16.0, 180.0);
    let x = Scale::new(points.iter().map(|p| p.0), LEFT, WIDTH - RIGHT);
    let y = Scale::new(points.iter().map(|p| p.1).chain([0.0]), bottom, top);
    let mut canvas = Canvas::new(height);
    for tick in x.ticks(8.0) {
        canvas.text((x.at(tick), bottom + 16.0), "middle", &format!("{tick:.0} s"));
    }
    let (step, name) = unit.rate_step(y.high);
    let steps = Scale { low: y.low / step, high: y.high / step, ..y };
    for tick in steps.ticks(4.0) {
        let at = steps.at(tick);
        canvas.line((LEFT, at), (WIDTH - RIGHT, at), "grid");
        canvas.text((LEFT - 8.0, at + 4.0), "end", &format!("{} {name}", round(tick)));
    }
    canvas.line((LEFT, bottom), (WIDTH - RIGHT, bottom), "axis");
    canvas.path(&points.iter().map(|(t, rate)| (x.at(*t), y.at(*rate))).collect::<Vec<_>>(), "c0");
    let quarter = (x.to - x.from) / 4.0;
    canvas.line((x.from, y.at(quarters.0)), (x.from + quarter, y.at(quarters.0)), "c1");
    canvas.line((x.to - quarter, y.at(quarters.1)), (x.to, y.at(quarters.1)), "c1");
    canvas.finish(title)
}

/// Text for XML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        let scale = Scale { low: -0.37, high: 2.2, from: 0.0, to: 1.0 };
        assert_eq!(scale.ticks(6.0), [0.0, 0.5, 1.0, 1.5, 2.0]);
        let flat = Scale::new([3.0, 3.0].into_iter(), 0.0, 1.0);
        assert_eq!((flat.low, flat.high), (2.0, 4.0), "a flat series still has an axis");
    }

    #[test]
    fn decades_have_three_steps() {
        assert_eq!(decades(0.04, 3.0), [0.05, 0.1, 0.2, 0.5, 1.0, 2.0]);
        assert!(decades(2.5, 4.0).is_empty(), "nothing round between them");
    }

    #[test]
    fn names_cannot_break_the_picture() {
        let svg = strip("<b>&\"", &[1.0], 1.0, None, 0.01);
        assert!(svg.contains("&lt;b&gt;&amp;&quot;"));
        assert!(!svg.contains("<b>"));
    }
}
