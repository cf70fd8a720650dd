//! Charts of the HTML page: distances to lower bounds, comparisons on one axis, scaling with threads, page sizes,
//! rates over sizes and over time. Each row expands to the values of its sessions.
//!
//! Tracks are boxes with positions in percent, so that they fill the width of the screen; only line charts need SVG.

use super::axis::{Axis, Line};
use super::svg::{COLOURS, Chart, escape};
use crate::model::key::Key;
use crate::model::units::{Size, Units, duration};
use crate::report::analysis::lower_bound::is_probe;
use crate::report::analysis::page_sizes::{self, Shares};
use crate::report::analysis::precision::time_of;
use crate::report::analysis::scaling::{by_threads, families};
use crate::report::analysis::sustained::SustainedRun;
use crate::report::documents::history::Series;
use crate::report::schema::{Comparison, Kind, Report, Role, Row, Side, Status, Verdict};
use crate::report::sections::cells::{row_units, side_time, status};
use crate::stats::change::levels;
use crate::stats::ratio::{range, times};
use hashmill_machine::memory_size;
use std::mem::discriminant;

/// All charts of a report; empty if there is nothing to show.
pub(crate) fn all(report: &Report) -> String {
    let (groups, alone): (Vec<&Row>, Vec<&Row>) = report.rows.iter().partition(|row| row.sides.len() > 1);
    let alone: Vec<&Row> = alone.into_iter().filter(|row| !is_probe(row)).collect();
    let main = [comparisons(report, &groups), sustained(report), bars(report, &alone)].concat();
    let beside = [scaling(&report.rows), memory(&report.rows), sizes(report)].concat();
    match (main.is_empty(), beside.is_empty()) {
        (false, false) => format!("<div class=\"both\"><div>\n{main}</div><div>\n{beside}</div></div>\n"),
        _ => main + &beside,
    }
}

/// Charts of a summary: distances to the lower bounds if these were measured, otherwise the spread of the sessions of
/// each row. Titles of a summary are names and cannot be grouped.
pub(crate) fn of_summary(report: &Report) -> String {
    let rows: Vec<&Row> = report.rows.iter().filter(|row| !is_probe(row)).collect();
    match rows.iter().any(|row| row.sides[0].floor.is_some()) {
        true => bars(report, &rows),
        false => spreads(&rows),
    }
}

/// Allows a line break after each slash, so that narrow pages can break case names between words.
pub(crate) fn broken(text: &str) -> String {
    escape(text).replace('/', "/<wbr>")
}

/// A section of the page; empty if there is nothing to show.
fn section(title: &str, explains: &str, body: &str) -> String {
    if body.is_empty() {
        return String::new();
    }
    format!(
        "<section><h2>{}</h2>\n<p class=\"dim\">{}</p>\n{body}</section>\n",
        escape(title),
        escape(explains)
    )
}

/// Small charts side by side.
fn many(pictures: &str) -> String {
    if pictures.is_empty() { String::new() } else { format!("<div class=\"many\">{pictures}</div>\n") }
}

/// A mark on a track: start and length as shares of the track.
fn mark(class: &str, from: f64, length: f64) -> String {
    format!("<i class=\"{class}\" style=\"left:{:.2}%;width:{:.2}%\"></i>", from * 100.0, length * 100.0)
}

/// A point on a track.
fn point(class: &str, at: f64) -> String {
    format!("<i class=\"{class}\" style=\"left:{:.2}%\"></i>", at * 100.0)
}

/// A line with a name, a track and text; it expands to `more`, if any.
fn line(name: &str, track: &str, tone: &str, message: &str, more: &str) -> String {
    let inner = format!(
        "<span class=\"name\">{}</span><span class=\"track\" aria-hidden=\"true\">{track}</span>\
         <span class=\"says {tone}\">{message}</span>",
        broken(name)
    );
    if more.is_empty() {
        format!("<div class=\"line\">{inner}</div>\n")
    } else {
        format!(
            "<details><summary class=\"line\">{inner}</summary><div class=\"more\">{more}</div></details>\n"
        )
    }
}

/// Names without their common prefix, grouped by the text before their second slash.
fn grouped<'a>(titles: &[&'a str]) -> Vec<(Option<&'a str>, &'a str)> {
    let group = |title: &'a str| {
        let at = title.match_indices('/').nth(1).map(|(at, _)| at)?;
        Some((&title[..at], &title[at + 1..]))
    };
    let members =
        |name: &str| titles.iter().filter(|t| group(t).is_some_and(|(other, _)| other == name)).count();
    let split = |title: &&'a str| match group(title) {
        Some((name, rest)) if members(name) > 1 => (Some(name), rest),
        _ => (None, *title),
    };
    titles.iter().map(split).collect()
}

/// Lines under the headings of their groups; each group is at the position of its first line.
fn under_headings(titles: &[&str], line: impl Fn(usize, &str) -> String) -> String {
    let places = grouped(titles);
    let first = |i: usize| match places[i].0 {
        Some(group) => places.iter().position(|(other, _)| *other == Some(group)).unwrap_or(i),
        None => i,
    };
    let mut order: Vec<usize> = (0..titles.len()).collect();
    order.sort_by_key(|i| (first(*i), *i));
    let (mut out, mut last) = (String::new(), None);
    for i in order {
        let (group, name) = places[i];
        if group != last {
            out +=
                &group.map_or_else(|| "<hr>\n".to_owned(), |group| format!("<h3>{}</h3>\n", broken(group)));
            last = group;
        }
        out += &line(i, name);
    }
    out
}

/// Ticks below an axis of ratios.
fn ticks(axis: &Axis) -> String {
    let tick = |tick: &f64| format!("<b style=\"left:{:.2}%\">{tick}×</b>", axis.at(*tick) * 100.0);
    format!(
        "<div class=\"line foot\"><span class=\"name\"></span><span class=\"track ticks\" aria-hidden=\"true\">{}</span>\
         <span class=\"says\"></span></div>\n",
        axis.ticks().iter().map(tick).collect::<String>()
    )
}

/// Distribution of the sessions' times or differences: one dot per session, the first at the top.
fn strip(values: &[f64], interval: Option<[f64; 2]>, word: impl Fn(f64) -> String) -> String {
    if values.is_empty() {
        return String::new();
    }
    let scale = Line::over(values.iter().copied().chain(interval.into_iter().flatten()), 0.002);
    let row = 1.0 / values.len() as f64;
    let dots: String = values
        .iter()
        .enumerate()
        .map(|(i, value)| format!("M{:.1} {:.1}h0", scale.at(*value) * 100.0, (i as f64 + 0.5) * row * 100.0))
        .collect();
    let band = interval.map_or_else(String::new, |[low, high]| {
        let (low, high) = (scale.at(low) * 100.0, scale.at(high) * 100.0);
        format!("<rect class=\"interval\" x=\"{low:.1}\" width=\"{:.1}\" height=\"100\"/>", high - low)
    });
    let (low, high) = scale.ends();
    format!(
        "<figure class=\"strip\"><svg viewBox=\"0 0 100 100\" preserveAspectRatio=\"none\" aria-hidden=\"true\" \
         style=\"height:{}px\">{band}<path class=\"dots c0\" d=\"{dots}\"/></svg>\n\
         <figcaption><span>{}</span><span>{} sessions, the first at the top{}</span>\
         <span>{}</span></figcaption></figure>\n",
        (values.len() * 5).clamp(40, 200),
        word(low),
        values.len(),
        if interval.is_some() { "; shaded: the 99 % interval" } else { "" },
        word(high)
    )
}

fn comparisons(report: &Report, rows: &[&Row]) -> String {
    let shown: Vec<(&Row, Option<&Comparison>)> = rows
        .iter()
        .flat_map(|row| {
            let all: Vec<_> = row.found(Role::Candidate).map(|found| (*row, Some(found))).collect();
            if all.is_empty() { vec![(*row, None)] } else { all }
        })
        .collect();
    let mut names: Vec<[&str; 2]> = shown
        .iter()
        .filter_map(|(row, comparison)| Some([&*row.sides[0].label, &*row.sides[(*comparison)?.side].label]))
        .collect();
    names.dedup();
    // The lab cannot know whether commands do the same work.
    let is_commands = report.kind == Kind::Commands;
    let work = if is_commands { "" } else { ", for the same work" };
    // If all sides have the same baseline, the axis names it once.
    let (meeting, heads, means) = match names[..] {
        [] => return String::new(),
        [[baseline, candidate]] => (
            format!(": {candidate} against {baseline}"),
            [baseline.to_owned(), format!("{candidate} faster")],
            format!("The time of {baseline} over that of {candidate}{work}: above 1 {candidate} is faster."),
        ),
        [[other, _], ..] if names.iter().all(|[base, _]| *base == other) => (
            String::new(),
            [other.to_owned(), format!("faster than {other}")],
            format!("The time of {other} over that of each{work}: above 1 is faster."),
        ),
        _ => (
            String::new(),
            ["the baseline".to_owned(), "candidate faster".to_owned()],
            "The baseline's time over the candidate's, for the same work: above 1 the candidate is faster."
                .to_owned(),
        ),
    };
    let titles: Vec<String> = shown
        .iter()
        .map(|(row, comparison)| {
            if let Some(comparison) = comparison.filter(|_| is_commands) {
                return row.sides[comparison.side].label.clone();
            }
            let candidates = row.sides.iter().filter(|side| side.role == Role::Candidate).count();
            let side =
                comparison.filter(|_| candidates > 1).map(|c| format!(": {}", row.sides[c.side].label));
            row.title.replacen(&meeting, "", usize::from(!meeting.is_empty())) + &side.unwrap_or_default()
        })
        .collect();
    let same = report.plan.same_within;
    let numbers = shown.iter().filter_map(|(_, comparison)| *comparison).filter(|c| c.sessions > 0);
    let ends = numbers.flat_map(|c| c.interval.into_iter().flatten().chain([c.ratio]));
    let axis = Axis::over(ends.chain([1.0 - same, 1.0 + same]));
    let ground = mark("band", axis.at(1.0 - same), axis.at(1.0 + same) - axis.at(1.0 - same))
        + &point("one", axis.at(1.0));
    let head = format!(
        "<div class=\"line head\"><span class=\"name\"></span><span class=\"track ends\"><em>← {} faster</em>\
         <em>{} →</em></span><span class=\"says\"></span></div>\n",
        escape(&heads[0]),
        escape(&heads[1])
    );
    let foot = format!(
        "{}<p class=\"legend\"><span><i class=\"key band\"></i>within ±{} %: the same</span> \
         <span><i class=\"key whisker\"></i>99 % interval</span> <span><i class=\"key dot\"></i>estimate</span></p>\n",
        ticks(&axis),
        same * 100.0
    );
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let line = |i: usize, name: &str| comparison(shown[i], name, &axis, &ground);
    // Slashes in commands do not form groups.
    let body: String = match is_commands {
        true => titles.iter().enumerate().map(|(i, title)| line(i, title)).collect(),
        false => under_headings(&titles, line),
    };
    section("Comparisons", &format!("{means} Each line expands to its sessions."), &(head + &body + &foot))
}

fn comparison(
    (row, comparison): (&Row, Option<&Comparison>),
    name: &str,
    axis: &Axis,
    ground: &str,
) -> String {
    let unusable = !matches!(row.status, Status::Ok | Status::Unfinished);
    let Some(comparison) = comparison.filter(|comparison| comparison.sessions > 0 && !unusable) else {
        let tone = if matches!(row.status, Status::Skipped(_)) { "dim" } else { "bad" };
        return line(name, ground, tone, &escape(&status(&row.status)), "");
    };
    let tone = match comparison.verdict {
        Verdict::Faster => "good",
        Verdict::Slower => "bad",
        Verdict::Same => "",
        Verdict::Inconclusive => "dim",
    };
    let whisker = comparison.interval.map_or_else(String::new, |[low, high]| {
        let (low, high) = (axis.at(low), axis.at(high));
        mark(&format!("whisker {tone}"), low, high - low)
    });
    let track = format!("{ground}{whisker}{}", point(&format!("dot {tone}"), axis.at(comparison.ratio)));
    let interval =
        comparison.interval.map_or_else(String::new, |_| format!(" {}", range(comparison.interval)));
    let unfinished = if row.status == Status::Unfinished { ", unfinished" } else { "" };
    let message = format!(
        "<b>{}{unfinished}</b> <span>{}{interval}</span>",
        comparison.verdict.word(),
        times(comparison.ratio)
    );
    let speeds: Vec<f64> = row.sides[comparison.side].deltas.iter().map(|delta| delta.exp()).collect();
    let needs = comparison.sessions_needed.filter(|_| comparison.verdict == Verdict::Inconclusive);
    let needs = needs.map_or_else(String::new, |needed| format!(", about {needed} would resolve it"));
    let more = format!(
        "{}<p>{}; p {:.2e} with all comparisons and looks; {} sessions{needs}</p>",
        strip(&speeds, comparison.interval, times),
        [&row.sides[0], &row.sides[comparison.side]].map(details).join(", "),
        comparison.p_family,
        comparison.sessions,
    );
    line(name, &track, tone, &message, &more)
}

/// Details of a side.
fn details(side: &Side) -> String {
    let kernel = if side.kernel.is_empty() { String::new() } else { format!(" ({})", side.kernel) };
    escape(&format!("{}{kernel} {}", side.label, side_time(side)))
}

/// Rows with one side: distance to the lower bound, or to the fastest of the group if no bound is known.
fn bars(report: &Report, rows: &[&Row]) -> String {
    if rows.is_empty() || report.kind == Kind::Sustained {
        return String::new();
    }
    let has_floors = rows.iter().any(|row| row.sides[0].floor.is_some());
    let titles: Vec<&str> = rows.iter().map(|row| row.title.as_str()).collect();
    let groups: Vec<(Option<&str>, &str)> = grouped(&titles);
    let rate = |row: &Row| Some(row.units.per_iteration as f64 / row.sides[0].summary?.median_ns);
    let best = |i: usize| {
        let alike = |j: &usize| groups[*j].0.is_some() && groups[*j].0 == groups[i].0 || *j == i;
        let rates = (0..rows.len()).filter(alike).filter_map(|j| rate(rows[j]));
        rates.fold(0.0, f64::max)
    };
    let body = under_headings(&titles, |i, name| {
        let row = rows[i];
        let side = &row.sides[0];
        let Some(summary) = side.summary else {
            let tone = if matches!(row.status, Status::Skipped(_)) { "dim" } else { "bad" };
            return line(name, "", tone, &escape(&status(&row.status)), "");
        };
        let share = match (has_floors, side.floor) {
            (true, floor) => floor.map(|floor| floor.share),
            (false, _) => rate(row).map(|rate| rate / best(i)),
        };
        let track = share.map_or_else(String::new, |share| mark("bar", 0.0, share.min(1.0)));
        let reached = match side.floor {
            Some(floor) => format!("<b>{:.0} %</b> of {}", floor.share * 100.0, floor.bound.word()),
            None if has_floors => "no lower bound is known".to_owned(),
            None => String::new(),
        };
        let units = row_units(row).map_or_else(String::new, |units| units.rate(summary.median_ns));
        let mut message =
            format!("<b>{}</b> <span>{units}</span> <span>{reached}</span>", duration(summary.median_ns));
        if row.status != Status::Ok {
            let tone = if row.status == Status::Unfinished { "dim" } else { "bad" };
            message += &format!(" <b class=\"{tone}\">{}</b>", escape(&status(&row.status)));
        }
        let more = strip(&side.session_ns, summary.interval_ns, duration) + &case(row);
        line(name, &track, "", &message, &more)
    });
    let (title, explains) = if has_floors {
        (
            "Distance to the lower bound",
            "A full bar is the limit of the machine. Each line expands to its sessions.",
        )
    } else {
        ("Rates", "The bar is the rate over the best of its group. Each line expands to its sessions.")
    };
    section(title, explains, &body)
}

/// Rows with one side on one axis: the fastest and the slowest session relative to the median.
fn spreads(rows: &[&Row]) -> String {
    let ends = |side: &Side| -> Option<[f64; 2]> {
        let median = side.summary?.median_ns;
        let low = side.session_ns.iter().copied().fold(f64::INFINITY, f64::min);
        let high = side.session_ns.iter().copied().fold(0.0, f64::max);
        Some([low / median, high / median])
    };
    let all = || rows.iter().filter_map(|row| ends(&row.sides[0])).flatten();
    let Some(axis) = (all().count() > 0).then(|| Axis::over(all().chain([0.95, 1.05]))) else {
        return String::new();
    };
    let line = |row: &&Row| {
        let side = &row.sides[0];
        let Some(([low, high], time)) = ends(side).zip(time_of(side)) else {
            let tone = if matches!(row.status, Status::Skipped(_)) { "dim" } else { "bad" };
            return line(&row.title, "", tone, &escape(&status(&row.status)), "");
        };
        let whisker = mark("whisker", axis.at(low), axis.at(high) - axis.at(low));
        let track = point("one", axis.at(1.0)) + &whisker + &point("dot", axis.at(1.0));
        let message = format!("<b>{}</b> <span>{}</span>", time.as_time(), time.plus_minus());
        let interval = side.summary.and_then(|summary| summary.interval_ns);
        let more = strip(&side.session_ns, interval, duration) + &case(row);
        line(&row.title, &track, "", &message, &more)
    };
    let body: String = rows.iter().map(line).collect();
    let foot = ticks(&axis);
    let explains =
        "The fastest and the slowest session beside the median, 1×. Each line expands to its sessions.";
    section("Sessions", explains, &(body + &foot))
}

/// Case of a row, and the engine that ran.
fn case(row: &Row) -> String {
    let side = &row.sides[0];
    let is_named = row.title != side.key;
    let case = if is_named { format!("{}: ", broken(&side.key)) } else { String::new() };
    format!("<p>{case}{}{}</p>", details(side), floor_words(side))
}

fn floor_words(side: &Side) -> String {
    side.floor.map_or_else(String::new, |floor| {
        format!("; at least {}, because of {}", duration(floor.ns), floor.bound.word())
    })
}

fn scaling(rows: &[Row]) -> String {
    let mut body = String::new();
    for (name, points) in by_threads(rows) {
        let (fewest, base) = points[0];
        let most = points.iter().map(|(threads, _)| *threads).max().unwrap_or(1);
        body += &format!("<h3>{}</h3>\n", broken(&name));
        for (threads, rate) in &points {
            let (speedup, ideal) = (rate / base, *threads as f64 / fewest as f64);
            let full = (most as f64 / fewest as f64).max(1.0);
            let track =
                mark("bar", 0.0, (speedup / full).min(1.0)) + &point("ideal", (ideal / full).min(1.0));
            let message =
                format!("<b>{speedup:.2}×</b> <span>{:.0} % of each thread</span>", speedup / ideal * 100.0);
            let plural = if *threads == 1 { "" } else { "s" };
            body += &line(&format!("{threads} thread{plural}"), &track, "", &message, "");
        }
    }
    section("More threads", "Speed relative to the fewest threads; the mark is perfect scaling.", &body)
}

fn memory(rows: &[Row]) -> String {
    let mut body = String::new();
    for (row, shares) in page_sizes::of_large(rows) {
        let mean = Shares::mean(&shares);
        let parts = [mean.small, mean.transparent, mean.reserved, mean.gigantic];
        let (mut from, mut track) = (0.0, String::new());
        for (kind, part) in parts.into_iter().enumerate() {
            track += &mark(&format!("bar c{kind}"), from, part);
            from += part;
        }
        let resident = row.sessions.iter().filter_map(|session| session.resident_bytes).max().unwrap_or(0);
        let message = format!(
            "<b>{}</b> <span>{:.0} % in huge pages</span>",
            memory_size(resident),
            mean.huge() * 100.0
        );
        body += &line(&row.title, &track, "", &message, "");
    }
    let keys = ["small", "transparent huge", "reserved 2 MiB", "reserved 1 GiB"];
    let keys =
        keys.iter().enumerate().map(|(i, key)| format!("<span><i class=\"key bar c{i}\"></i>{key}</span> "));
    if !body.is_empty() {
        body += &format!("<p class=\"legend\">{}</p>\n", keys.collect::<String>());
    }
    section("Memory", "Large cases: peak memory and its page sizes.", &body)
}

/// Rates over sizes, with logarithmic axes.
fn sizes(report: &Report) -> String {
    let size = |key: Key| {
        let size = key.size.0;
        (size, Key { size: Size(0), ..key }.to_string().replacen("/0/", "/", 1))
    };
    let curves = families(&report.rows, size).into_iter().filter(|(_, points)| points.len() > 2);
    let curves: Vec<(String, Vec<(u64, &Row)>)> = curves.collect();
    let mut out = String::new();
    for kind in [Units::Bytes(1), Units::Hashes(1), Units::Operations(1)] {
        let rates = |points: &[(u64, &Row)]| -> Option<Vec<(f64, f64)>> {
            let rate = |(size, row): &(u64, &Row)| {
                let units = row_units(row).filter(|units| discriminant(units) == discriminant(&kind))?;
                Some((*size as f64, units.count() as f64 / row.sides[0].summary?.median_ns))
            };
            points.iter().map(rate).collect()
        };
        let lines: Vec<(&str, Vec<(f64, f64)>)> =
            curves.iter().filter_map(|(name, points)| Some((&**name, rates(points)?))).collect();
        if !lines.is_empty() {
            out += &over_sizes(&lines, kind);
        }
    }
    section("Rate over size", "Both axes are logarithmic.", &out)
}

fn over_sizes(lines: &[(&str, Vec<(f64, f64)>)], kind: Units) -> String {
    let points = || lines.iter().flat_map(|(_, points)| points);
    let (x, y) = (Axis::over(points().map(|p| p.0.max(0.5))), Axis::over(points().map(|p| p.1)));
    let (step, name) = kind.rate_step(points().map(|p| p.1).fold(0.0, f64::max));
    let scaled = Axis::over(points().map(|p| p.1 / step));
    let mut sizes: Vec<u64> = points().map(|p| p.0 as u64).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let chart = Chart {
        describes: format!(
            "rate over size: {}",
            lines.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
        ),
        x_ticks: sizes.iter().map(|size| (x.at((*size as f64).max(0.5)), Size(*size).to_string())).collect(),
        y_ticks: scaled.ticks().iter().map(|tick| (scaled.at(*tick), format!("{tick} {name}"))).collect(),
        lines: lines
            .iter()
            .map(|(_, points)| points.iter().map(|(size, rate)| (x.at(size.max(0.5)), y.at(*rate))).collect())
            .collect(),
        dots: true,
        ..Chart::default()
    };
    let keys = lines.iter().enumerate().map(|(i, (name, _))| {
        format!("<span><i class=\"key dot c{}\"></i>{}</span> ", i % COLOURS, broken(name))
    });
    format!(
        "<figure>{}<figcaption class=\"legend\">{}</figcaption></figure>\n",
        chart.draw(),
        keys.collect::<String>()
    )
}

fn sustained(report: &Report) -> String {
    let mut out = String::new();
    for row in report.rows.iter().filter(|_| report.kind == Kind::Sustained) {
        let (Some(sustained_run), Some(units)) = (SustainedRun::from_row(row), row_units(row)) else {
            continue;
        };
        let x = Line::over(sustained_run.windows.iter().map(|w| w.0), 0.0);
        let y = Line::over(sustained_run.windows.iter().map(|w| w.1), 0.05);
        let (step, name) = units.rate_step(y.ends().1);
        let quarter = (x.at(sustained_run.windows[sustained_run.windows.len() - 1].0)
            - x.at(sustained_run.windows[0].0))
            / 4.0;
        let (from, to) = (
            x.at(sustained_run.windows[0].0),
            x.at(sustained_run.windows[sustained_run.windows.len() - 1].0),
        );
        let chart = Chart {
            describes: format!("{}: rate over time, {}", row.title, sustained_run.steadiness.word()),
            x_ticks: x
                .ticks(6.0, 1.0)
                .iter()
                .filter(|t| **t >= 0.0)
                .map(|t| (x.at(*t), format!("{t} s")))
                .collect(),
            y_ticks: y.ticks(4.0, step).iter().map(|t| (y.at(t * step), format!("{t} {name}"))).collect(),
            lines: vec![sustained_run.windows.iter().map(|(at, rate)| (x.at(*at), y.at(*rate))).collect()],
            levels: vec![
                (from, from + quarter, y.at(sustained_run.first)),
                (to - quarter, to, y.at(sustained_run.last)),
            ],
            ..Chart::default()
        };
        out += &format!(
            "<figure><figcaption>{} <b>{}</b></figcaption>{}</figure>\n",
            broken(&row.title),
            sustained_run.steadiness.word(),
            chart.draw()
        );
    }
    section("Rate over time", "Thick: the medians of the first and the last quarter.", &many(&out))
}

/// A small chart per series of a history: its runs, levels and changes.
pub(crate) fn history(series: &[Series<'_>]) -> String {
    let mut out = String::new();
    for series in series.iter().filter(|series| series.values.len() > 1) {
        let y = Line::over(series.values.iter().copied(), 0.02);
        let x = |index: usize| 0.02 + 0.96 * index as f64 / (series.values.len() - 1) as f64;
        let cuts: Vec<usize> = series.changes.iter().map(|change| change.at).collect();
        let named = std::iter::once(0).chain(cuts.iter().copied()).chain([series.values.len() - 1]);
        let named: Vec<usize> = named.collect();
        let starts = std::iter::once(0).chain(cuts.iter().copied());
        let ends = cuts.iter().copied().chain([series.values.len()]);
        let levels = starts.zip(ends).zip(levels(&series.values, &cuts));
        let unit = 10_f64.powf(y.ends().1.abs().max(1e-3).log10().floor());
        let chart = Chart {
            describes: format!("{} over {} runs, {} changes", series.name, series.values.len(), cuts.len()),
            x_ticks: named.iter().map(|i| (x(*i), series.run(*i).to_owned())).collect(),
            y_ticks: y.ticks(3.0, unit).iter().map(|t| (y.at(t * unit), series.show(t * unit))).collect(),
            lines: vec![series.values.iter().enumerate().map(|(i, value)| (x(i), y.at(*value))).collect()],
            dots: true,
            levels: levels.map(|((start, end), level)| (x(start), x(end - 1), y.at(level))).collect(),
            marks: cuts.iter().map(|at| f64::midpoint(x(at - 1), x(*at))).collect(),
        };
        out +=
            &format!("<figure><figcaption>{}</figcaption>{}</figure>\n", broken(&series.name), chart.draw());
    }
    let explains = "Thick: the levels; dashed: their ends. Lower times and higher ratios are better.";
    section("Over runs", explains, &many(&out))
}
