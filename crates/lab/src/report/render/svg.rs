//! Line charts as SVG, without a library: rates over sizes, time or commits. The page defines the colours.
//!
//! Numbers have one decimal, so that a report gives the same chart on every machine.

use std::fmt::Write;

const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 190.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 390.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 166.0;

/// Number of colours for series; the page names them.
pub(crate) const COLOURS: usize = 5;

/// Points as shares of width and height, from the lower left corner.
type Points = Vec<(f64, f64)>;

/// A chart of a few lines. Positions are shares of its width and height.
#[derive(Default)]
pub(crate) struct Chart {
    /// Description for screen readers.
    pub(crate) describes: String,
    /// Label below the chart.
    pub(crate) x_ticks: Vec<(f64, String)>,
    /// Label on the left.
    pub(crate) y_ticks: Vec<(f64, String)>,
    pub(crate) lines: Vec<Points>,
    /// Whether each point has a dot.
    pub(crate) dots: bool,
    /// Horizontal lines: from, to, height.
    pub(crate) levels: Vec<(f64, f64, f64)>,
    /// Vertical marks.
    pub(crate) marks: Vec<f64>,
}

impl Chart {
    pub(crate) fn draw(&self) -> String {
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH:.0} {HEIGHT:.0}\" role=\"img\" aria-label=\"{}\">\n",
            escape(&self.describes)
        );
        let x = |share: f64| LEFT + share * (RIGHT - LEFT);
        let y = |share: f64| BOTTOM - share * (BOTTOM - TOP);
        let mut line = |class: &str, x1: f64, y1: f64, x2: f64, y2: f64| {
            writeln!(out, r#"<path class="{class}" d="M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}"/>"#)
                .expect("a string takes all");
        };
        for (share, _) in &self.y_ticks {
            line("grid", LEFT, y(*share), RIGHT, y(*share));
        }
        line("axis", LEFT, BOTTOM, RIGHT, BOTTOM);
        for share in &self.marks {
            line("mark", x(*share), TOP, x(*share), BOTTOM);
        }
        for (from, to, at) in &self.levels {
            line("level", x(*from), y(*at), x(*to), y(*at));
        }
        let mut text = |x: f64, y: f64, anchor: &str, message: &str| {
            writeln!(out, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{}</text>"#, escape(message))
                .expect("a string takes all");
        };
        // Labels that would overlap are omitted.
        let mut free = f64::NEG_INFINITY;
        for (share, message) in &self.x_ticks {
            let half = 3.6 * message.chars().count() as f64;
            if x(*share) - half > free {
                text(x(*share).min(WIDTH - half), HEIGHT - 8.0, "middle", message);
                free = x(*share) + half + 6.0;
            }
        }
        for (share, message) in &self.y_ticks {
            text(LEFT - 6.0, y(*share) + 4.0, "end", message);
        }
        for (i, points) in self.lines.iter().enumerate() {
            let places: Vec<String> =
                points.iter().map(|(px, py)| format!("{:.1} {:.1}", x(*px), y(*py))).collect();
            let class = i % COLOURS;
            writeln!(out, r#"<path class="line c{class}" d="M{}"/>"#, places.join("L"))
                .expect("a string takes all");
            if self.dots {
                let dots: String = places.iter().map(|point| format!("M{point}h0")).collect();
                writeln!(out, r#"<path class="dots c{class}" d="{dots}"/>"#).expect("a string takes all");
            }
        }
        out + "</svg>\n"
    }
}

/// Escapes text for XML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_the_picture_and_words_do_not_overlap() {
        let ticks = (0..50).map(|i| (f64::from(i) / 49.0, "10 MiB".to_owned())).collect();
        let lines = vec![vec![(0.0, 0.0), (1.0, 1.0)]];
        let chart =
            Chart { describes: "<b>&\"".to_owned(), x_ticks: ticks, lines, dots: true, ..Chart::default() };
        let svg = chart.draw();
        assert!(svg.contains("aria-label=\"&lt;b&gt;&amp;&quot;\"") && !svg.contains("<b>"), "{svg}");
        assert_eq!(svg.matches("10 MiB").count(), 7, "{svg}");
        assert!(svg.contains("d=\"M76.0 166.0L390.0 10.0\"") && svg.contains("M390.0 10.0h0"), "{svg}");
    }
}
