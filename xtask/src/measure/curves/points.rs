//! Points of curves, from the lab's reports.

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use crate::measure::curves::{Pair, Report, XQuantity};

/// Time of one size, with the 99 % interval of its median if there were enough sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) size: f64,
    pub(super) ns: f64,
    pub(super) interval: Option<(f64, f64)>,
}

impl Point {
    /// The cost per unit of the x quantity.
    pub(super) fn per_unit(self, x: XQuantity) -> Self {
        let cost = |ns: f64| ns / (self.size / x.unit_size());
        Self { ns: cost(self.ns), interval: self.interval.map(|(low, high)| (cost(low), cost(high))), ..self }
    }

    pub(super) fn low(&self) -> f64 {
        self.interval.map_or(self.ns, |(low, _)| low)
    }

    pub(super) fn high(&self) -> f64 {
        self.interval.map_or(self.ns, |(_, high)| high)
    }
}

/// Measurements of one size. A side is `None` if it was not measured.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) size: f64,
    pub(super) peer: Option<Point>,
    pub(super) hashmill: Option<Point>,
    /// The peer's time over Hashmill's, from pairs of one run.
    pub(super) ratio: Option<(f64, Option<(f64, f64)>)>,
    /// Path of the report.
    pub(super) path: String,
}

/// All sizes of a pair in ascending order.
pub(super) fn rows_by_size(reports: &[Report], pair: &Pair) -> anyhow::Result<Vec<Row>> {
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
    ensure!(!rows.is_empty(), "no report has {:?}", pair.hashmill_case);
    rows.sort_by(|a, b| a.size.total_cmp(&b.size));
    if let Some(twice) = rows.windows(2).find(|two| two[0].size == two[1].size) {
        bail!("{} and {} have the same size of {:?}", twice[0].path, twice[1].path, pair.hashmill_case);
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
    let (peer, hashmill) = (side(pair.peer_case), side(pair.hashmill_case));
    let Some((_, size)) = hashmill.or(peer) else { return Ok(None) };
    let status = &content["status"];
    // An unfinished row has fewer sessions; the lab decides whether they are enough for an interval.
    ensure!(status["is"] == "ok" || status["is"] == "unfinished", "it is no measurement: {status}");
    ensure!(
        hashmill.is_none() || peer.is_none_or(|(_, peer_size)| peer_size == size),
        "its sides have two sizes"
    );
    let size = size * pair.x_per_size;
    let ratio = match (hashmill, peer) {
        (Some((hashmill, _)), Some((0, _))) => Some(ratio(content, hashmill)?),
        (Some(_), Some(_)) => bail!("the peer's side must be the first"),
        _ => None,
    };
    let point = |side: Option<(usize, f64)>| side.map(|(index, _)| point(&sides[index], size)).transpose();
    Ok(Some(Row { size, peer: point(peer)?, hashmill: point(hashmill)?, ratio, path: path.to_owned() }))
}

fn ratio(content: &Value, side: usize) -> anyhow::Result<(f64, Option<(f64, f64)>)> {
    let comparisons = content["comparisons"].as_array().context("the comparisons are missing")?;
    let comparison = comparisons.iter().find(|comparison| comparison["side"] == side);
    let comparison = comparison.context("it is not compared")?;
    Ok((comparison["ratio"].as_f64().context("the ratio is missing")?, interval(&comparison["interval"])))
}

fn point(side: &Value, size: f64) -> anyhow::Result<Point> {
    let summary = &side["summary"];
    let ns = summary["median_ns"].as_f64().context("a side has no time")?;
    Ok(Point { size, ns, interval: interval(&summary["interval_ns"]) })
}

fn interval(bounds: &Value) -> Option<(f64, f64)> {
    Some((bounds[0].as_f64()?, bounds[1].as_f64()?))
}

/// The size that the `*` of `case` stands for, if `name` matches.
fn size_in(name: &str, case: &str) -> Option<f64> {
    let (prefix, suffix) = case.split_once('*')?;
    size(name.strip_prefix(prefix)?.strip_suffix(suffix)?)
}

/// Parses a size in the name of a case.
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

/// A size with its unit, or with separators of thousands.
pub(super) fn size_text(size: f64, x: XQuantity) -> String {
    let size = size as u64;
    if x.is_binary() {
        let units = [(1_u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        let unit = units.into_iter().find(|(unit, _)| size >= *unit && size.is_multiple_of(*unit));
        return unit.map_or(format!("{size} B"), |(unit, name)| format!("{} {name}", size / unit));
    }
    let digits = size.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: Pair = Pair {
        variant: "",
        peer: "other",
        hashmill_case: "w/ours/kernel/*/t1",
        peer_case: "w/other/kernel/*/t1",
        x_per_size: 10.0,
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
    fn rows_are_sorted_by_size() {
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
        let rows = rows_by_size(&report(&rows), &PAIR).expect("two sizes");
        let values: Vec<_> = rows.iter().map(|row| (row.size, row.peer.map(|p| p.ns), row.ratio)).collect();
        let expected = [(640.0, None, None), (10_240.0, Some(4.0), Some((2.0, Some((1.9, 2.1)))))];
        assert_eq!(values, expected);
        let cost = rows[1].peer.expect("a time").per_unit(XQuantity::Blocks);
        assert_eq!((cost.ns, cost.interval), (0.4, Some((0.3, 0.5))));
    }

    #[test]
    fn an_unusable_row_is_an_error() {
        let hashmill = side("baseline", "w/ours/kernel/64/t1", 1.0, None);
        let peer = side("candidate", "w/other/kernel/64/t1", 1.0, None);
        let mut wrong = measured(std::slice::from_ref(&hashmill), &serde_json::json!([]));
        wrong["status"] = serde_json::json!({"is": "incorrect", "why": "a digest"});
        let complete = measured(std::slice::from_ref(&hashmill), &serde_json::json!([]));
        let swapped = measured(&[hashmill, peer], &serde_json::json!([]));
        for (rows, message) in [
            (serde_json::json!([wrong]), "no measurement"),
            (serde_json::json!([complete, complete]), "same size"),
            (serde_json::json!([swapped]), "must be the first"),
            (serde_json::json!([]), "no report has"),
        ] {
            let error = rows_by_size(&report(&rows), &PAIR).expect_err(message);
            assert!(format!("{error:#}").contains(message), "{error:#}");
        }
    }

    #[test]
    fn numbers_have_three_digits_and_sizes_have_units() {
        let values = [0.0712, 1.0, 45.678, 999.4, 12_345.6, 0.0];
        assert_eq!(values.map(number), ["0.0712", "1.00", "45.7", "999", "12346", "0.00"]);
        assert_eq!([53.2, 1_380.0, 2.5e9].map(time), ["53.2 ns", "1.38 µs", "2.50 s"]);
        assert_eq!(
            [64.0, 3072.0, 1_073_741_824.0].map(|s| size_text(s, XQuantity::Bytes)),
            ["64 B", "3 KiB", "1 GiB"]
        );
        assert_eq!(
            [10.0, 1_000.0, 1e7].map(|s| size_text(s, XQuantity::Files)),
            ["10", "1,000", "10,000,000"]
        );
        assert_eq!(size_in("a/64KiB/b", "a/*/b"), Some(65_536.0));
        assert_eq!(
            (size_in("a/x/b", "a/*/b"), size_in("a/7/c", "a/*/b"), size_in("a/7QiB", "a/*")),
            (None, None, None)
        );
    }
}
