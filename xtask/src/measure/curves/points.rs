//! Points of curves, from the lab's reports.

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use crate::measure::curves::{Of, Pair, Report};

/// Time of one size, with the 99 % interval of its median if there were enough sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) size: f64,
    pub(super) ns: f64,
    pub(super) interval: Option<(f64, f64)>,
}

impl Point {
    /// The same for one of what grows.
    pub(super) fn per(self, of: Of) -> Self {
        let share = |ns: f64| ns / (self.size / of.per());
        Self {
            ns: share(self.ns),
            interval: self.interval.map(|(low, high)| (share(low), share(high))),
            ..self
        }
    }

    pub(super) fn low(&self) -> f64 {
        self.interval.map_or(self.ns, |(low, _)| low)
    }

    pub(super) fn high(&self) -> f64 {
        self.interval.map_or(self.ns, |(_, high)| high)
    }
}

/// One size: both sides, if measured.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) size: f64,
    pub(super) theirs: Option<Point>,
    pub(super) ours: Option<Point>,
    /// Their time over ours, from pairs of one run.
    pub(super) ratio: Option<(f64, Option<(f64, f64)>)>,
    /// Of the report.
    pub(super) path: String,
}

/// All sizes of a pair, from the smallest.
pub(super) fn gather(reports: &[Report], pair: &Pair) -> anyhow::Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    for report in reports {
        let all =
            report.content["rows"].as_array().with_context(|| format!("{} has no rows", report.path))?;
        for content in all {
            let title = content["title"].as_str().unwrap_or_default();
            if let Some(row) =
                row(content, pair, &report.path).with_context(|| format!("{}: {title}", report.path))?
            {
                rows.push(row);
            }
        }
    }
    ensure!(!rows.is_empty(), "no report has {:?}", pair.ours);
    rows.sort_by(|a, b| a.size.total_cmp(&b.size));
    if let Some(twice) = rows.windows(2).find(|two| two[0].size == two[1].size) {
        bail!("{} and {} have the same size of {:?}", twice[0].path, twice[1].path, pair.ours);
    }
    Ok(rows)
}

/// The values of a report's row for the pair, if it has some.
fn row(content: &Value, pair: &Pair, path: &str) -> anyhow::Result<Option<Row>> {
    let sides = content["sides"].as_array().context("the sides are missing")?;
    let side = |case: &str| {
        let mut measured = sides.iter().enumerate().filter(|(_, side)| side["role"] != "control");
        measured.find_map(|(index, side)| Some((index, size_in(side["key"].as_str()?, case)?)))
    };
    let (theirs, ours) = (side(pair.theirs), side(pair.ours));
    let Some((_, size)) = ours.or(theirs) else { return Ok(None) };
    let status = &content["status"];
    // An unfinished row has fewer sessions; the lab decides whether they are enough for an interval.
    ensure!(status["is"] == "ok" || status["is"] == "unfinished", "it is no measurement: {status}");
    ensure!(ours.is_none() || theirs.is_none_or(|(_, other)| other == size), "its sides have two sizes");
    let size = size * pair.each;
    let ratio = match (ours, theirs) {
        (Some((ours, _)), Some((0, _))) => Some(ratio(content, ours)?),
        (Some(_), Some(_)) => bail!("the other side must be the first"),
        _ => None,
    };
    let point = |found: Option<(usize, f64)>| found.map(|(index, _)| point(&sides[index], size)).transpose();
    Ok(Some(Row { size, theirs: point(theirs)?, ours: point(ours)?, ratio, path: path.to_owned() }))
}

fn ratio(content: &Value, side: usize) -> anyhow::Result<(f64, Option<(f64, f64)>)> {
    let comparisons = content["comparisons"].as_array().context("the comparisons are missing")?;
    let found = comparisons.iter().find(|comparison| comparison["side"] == side);
    let found = found.context("it is not compared")?;
    Ok((found["ratio"].as_f64().context("the ratio is missing")?, interval(&found["interval"])))
}

fn point(side: &Value, size: f64) -> anyhow::Result<Point> {
    let summary = &side["summary"];
    let ns = summary["median_ns"].as_f64().context("a side has no time")?;
    Ok(Point { size, ns, interval: interval(&summary["interval_ns"]) })
}

fn interval(ends: &Value) -> Option<(f64, f64)> {
    Some((ends[0].as_f64()?, ends[1].as_f64()?))
}

/// The size in the place of the `*`, if there is one.
fn size_in(name: &str, case: &str) -> Option<f64> {
    let (begin, end) = case.split_once('*')?;
    size(name.strip_prefix(begin)?.strip_suffix(end)?)
}

/// A size as cases have it.
pub(super) fn size(size: &str) -> Option<f64> {
    let digits = size.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match &size[digits.len()..] {
        "" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        _ => return None,
    };
    Some(digits.parse::<u64>().ok()?.checked_shl(unit)? as f64)
}

/// A number with three significant digits.
pub(super) fn number(value: f64) -> String {
    let before = value.abs().log10().floor();
    let decimals = if before.is_finite() { (2.0 - before).clamp(0.0, 9.0) as usize } else { 2 };
    format!("{value:.decimals$}")
}

/// A time with three significant digits.
pub(super) fn time(ns: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    let (unit, name) = units.into_iter().find(|(unit, _)| ns >= *unit).unwrap_or((1.0, "ns"));
    format!("{} {name}", number(ns / unit))
}

/// A size as people write it.
pub(super) fn size_words(size: f64, of: Of) -> String {
    let whole = size as u64;
    if of.is_binary() {
        let units = [(1_u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        let unit = units.into_iter().find(|(unit, _)| whole >= *unit && whole.is_multiple_of(*unit));
        return unit.map_or(format!("{whole} B"), |(unit, name)| format!("{} {name}", whole / unit));
    }
    let digits = whole.to_string();
    let mut words = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            words.push(',');
        }
        words.push(digit);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: Pair = Pair {
        how: "",
        peer: "other",
        ours: "w/ours/kernel/*/t1",
        theirs: "w/other/kernel/*/t1",
        each: 10.0,
    };

    fn report(rows: &Value) -> Vec<Report> {
        vec![Report { path: "a.json".to_owned(), content: serde_json::json!({ "rows": rows }) }]
    }

    fn side(role: &str, key: &str, ns: f64, interval: Option<[f64; 2]>) -> Value {
        let summary = serde_json::json!({"median_ns": ns, "interval_ns": interval});
        serde_json::json!({"role": role, "key": key, "summary": summary})
    }

    fn measured(sides: &[Value], comparisons: &Value) -> Value {
        serde_json::json!({"title": "x", "status": {"is": "ok"}, "sides": sides, "comparisons": comparisons})
    }

    #[test]
    fn rows_come_by_size() {
        let case = [
            side("baseline", "w/other/kernel/1KiB/t1", 4.0, Some([3.0, 5.0])),
            side("candidate", "w/ours/kernel/1KiB/t1", 2.0, None),
            side("control", "w/other/kernel/1KiB/t1", 4.0, None),
        ];
        let alone = [side("baseline", "w/ours/kernel/64/t1", 1.0, None)];
        let foreign = [side("baseline", "w/ours/kernel/64/t2", 1.0, None)];
        let rows = serde_json::json!([
            measured(&case, &serde_json::json!([{"side": 1, "ratio": 2.0, "interval": [1.9, 2.1]}])),
            measured(&foreign, &serde_json::json!([])),
            measured(&alone, &serde_json::json!([])),
        ]);
        let rows = gather(&report(&rows), &PAIR).expect("two sizes");
        let seen: Vec<_> = rows.iter().map(|row| (row.size, row.theirs.map(|p| p.ns), row.ratio)).collect();
        let expected = [(640.0, None, None), (10_240.0, Some(4.0), Some((2.0, Some((1.9, 2.1)))))];
        assert_eq!(seen, expected);
        let per = rows[1].theirs.expect("a time").per(Of::Blocks);
        assert_eq!((per.ns, per.interval), (0.4, Some((0.3, 0.5))));
    }

    #[test]
    fn what_is_no_measurement_is_an_error() {
        let ours = side("baseline", "w/ours/kernel/64/t1", 1.0, None);
        let other = side("candidate", "w/other/kernel/64/t1", 1.0, None);
        let mut wrong = measured(std::slice::from_ref(&ours), &serde_json::json!([]));
        wrong["status"] = serde_json::json!({"is": "incorrect", "why": "a digest"});
        let whole = measured(std::slice::from_ref(&ours), &serde_json::json!([]));
        let turned = measured(&[ours, other], &serde_json::json!([]));
        for (rows, says) in [
            (serde_json::json!([wrong]), "no measurement"),
            (serde_json::json!([whole, whole]), "same size"),
            (serde_json::json!([turned]), "must be the first"),
            (serde_json::json!([]), "no report has"),
        ] {
            let error = gather(&report(&rows), &PAIR).expect_err(says);
            assert!(format!("{error:#}").contains(says), "{error:#}");
        }
    }

    #[test]
    fn numbers_have_three_digits_and_sizes_are_words() {
        let values = [0.0712, 1.0, 45.678, 999.4, 12_345.6, 0.0];
        assert_eq!(values.map(number), ["0.0712", "1.00", "45.7", "999", "12346", "0.00"]);
        assert_eq!([53.2, 1_380.0, 2.5e9].map(time), ["53.2 ns", "1.38 µs", "2.50 s"]);
        assert_eq!(
            [64.0, 3072.0, 1_073_741_824.0].map(|s| size_words(s, Of::Bytes)),
            ["64 B", "3 KiB", "1 GiB"]
        );
        assert_eq!([10.0, 1_000.0, 1e7].map(|s| size_words(s, Of::Files)), ["10", "1,000", "10,000,000"]);
        assert_eq!(size_in("a/64KiB/b", "a/*/b"), Some(65_536.0));
        assert_eq!(
            (size_in("a/x/b", "a/*/b"), size_in("a/7/c", "a/*/b"), size_in("a/7QiB", "a/*")),
            (None, None, None)
        );
    }
}
