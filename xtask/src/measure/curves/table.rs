//! Table of a curve, and the commands that measured it.

use std::fmt::Write as _;

use anyhow::Context;

use crate::measure::curves::points;
use crate::measure::curves::points::{Row, number, size_text, time};
use crate::measure::curves::{Curve, PICTURES, Report};

/// The picture, a table for each pair, and how to measure them again.
pub(super) fn block(curve: &Curve, pairs: &[Vec<Row>], reports: &[Report]) -> anyhow::Result<String> {
    let folder = PICTURES.rsplit('/').next().unwrap_or(PICTURES);
    let mut block = format!("![{}]({folder}/{}.svg)\n", curve.title, curve.name);
    for (pair, rows) in curve.pairs.iter().zip(pairs) {
        let variant = if pair.variant.is_empty() { String::new() } else { format!(" ({})", pair.variant) };
        let (peer, unit) = (pair.peer, curve.x.unit());
        let head = format!(
            "\n| {}{variant} | {peer} | Hashmill | {peer} / Hashmill | 99 % | {peer}, per {unit} | Hashmill, per {unit} |\n",
            curve.x.axis()
        );
        block.push_str(&head);
        block.push_str("|--:|--:|--:|--:|--:|--:|--:|\n");
        for row in rows {
            let size = size_text(row.size, curve.x);
            let cell = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
            let sides = [row.peer, row.hashmill];
            let [peer_time, hashmill_time] = sides.map(|point| cell(point.map(|point| time(point.ns))));
            let [peer_cost, hashmill_cost] = sides
                .map(|point| cell(point.map(|point| format!("{} ns", number(point.per_unit(curve.x).ns)))));
            let ratio = cell(row.ratio.map(|(ratio, _)| format!("{ratio:.2}")));
            let bounds = row.ratio.and_then(|(_, interval)| interval);
            let interval = cell(bounds.map(|(low, high)| format!("{low:.2}, {high:.2}")));
            writeln!(
                block,
                "| {size} | {peer_time} | {hashmill_time} | {ratio} | {interval} | {peer_cost} | {hashmill_cost} |"
            )?;
        }
    }
    let is_used = |report: &&Report| pairs.iter().flatten().any(|row| row.path == report.path);
    let used: Vec<&Report> = reports.iter().filter(is_used).collect();
    block.push_str("\n```sh\n");
    for report in &used {
        writeln!(block, "{}", command(report)?)?;
    }
    let links = used.iter().map(|report| {
        let name = report.path.rsplit('/').next().unwrap_or(&report.path);
        format!("[`{name}`](../{})", report.path)
    });
    let links = links.collect::<Vec<_>>().join(", ");
    writeln!(
        block,
        "```\n\nFrom {links}; {}, {}.",
        used.first().map(|report| host(report)).transpose()?.unwrap_or_default(),
        commits(&used)?
    )?;
    Ok(block)
}

/// Host of a report.
fn host(report: &Report) -> anyhow::Result<String> {
    let machine = &report.content["machine"];
    let (cpu, model) = (machine["cpu"].as_str(), machine["model"].as_str());
    Ok(format!(
        "{} (family, model, stepping {}), {} processors, {} GiB",
        cpu.context("a report without a processor")?,
        model.context("a report without a model")?.replace('-', ", "),
        machine["logical_cores"],
        machine["memory_gib"],
    ))
}

/// Measured commits, each once.
fn commits(reports: &[&Report]) -> anyhow::Result<String> {
    let mut commits = Vec::new();
    for report in reports {
        let build = &report.content["builds"][0];
        let commit = build["commit"].as_str().context("a report without a commit")?;
        let changed = if build["dirty"] == false { "" } else { ", changed" };
        let commit = format!("{commit}{changed}");
        if !commits.contains(&commit) {
            commits.push(commit);
        }
    }
    let noun = if commits.len() == 1 { "commit" } else { "commits" };
    Ok(format!("{noun} {}", commits.join(" and ")))
}

/// The command that repeats the measurement: as typed, without the folder of the results. The engine of the baseline comes first: the
/// lab requires this order since 28 November 2026.
fn command(report: &Report) -> anyhow::Result<String> {
    let words = report.content["command"].as_array().context("a report without its command")?;
    let mut words = words.iter().filter_map(|word| word.as_str());
    let mut line = Vec::new();
    while let Some(word) = words.next() {
        match word {
            "--out" => {
                words.next();
            }
            "--engines" => {
                let engines = words.next().context("--engines without engines")?;
                line.extend([word.to_owned(), quoted(&baseline_first(report, engines))]);
            }
            _ => line.push(quoted(word)),
        }
    }
    Ok(line.join(" "))
}

fn baseline_first(report: &Report, engines: &str) -> String {
    let baseline =
        report.content["rows"][0]["sides"][0]["key"].as_str().and_then(|key| key.split('/').nth(1));
    match engines.split_once(',') {
        Some((candidate, second)) if baseline == Some(second) => format!("{second},{candidate}"),
        _ => engines.to_owned(),
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=,:+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else if word.contains('\'') {
        format!("\"{word}\"")
    } else {
        format!("'{word}'")
    }
}

/// The sizes at which a curve bends, from the mark of its block on the page. The page explains them.
pub(super) fn bends(page: &str, name: &str) -> anyhow::Result<Vec<f64>> {
    let (_, bends, _) = split_at_block(page, name)?;
    let size =
        |word| points::size(word).with_context(|| format!("{name} bends at `{word}`, which is no size"));
    bends.split_whitespace().map(size).collect()
}

/// The page with new blocks.
pub(super) fn with_blocks(page: &str, blocks: &[(&str, String)]) -> anyhow::Result<String> {
    let mut page = page.to_owned();
    for (name, block) in blocks {
        let (head, bends, rest) = split_at_block(&page, name)?;
        let (_, tail) = rest.split_once(END).with_context(|| format!("the block of {name} has no end"))?;
        page = format!("{head}{BEGIN}{name}{bends}{OPEN}{block}{END}{tail}");
    }
    Ok(page)
}

const BEGIN: &str = "<!-- curve ";
const OPEN: &str = " -->\n";
const END: &str = "<!-- /curve -->";

/// Splits the page at the block of a curve: the text before it, the sizes of its mark, and the rest from the block on.
fn split_at_block<'a>(page: &'a str, name: &str) -> anyhow::Result<(&'a str, &'a str, &'a str)> {
    let begin = format!("{BEGIN}{name} ");
    let (head, rest) = page.split_once(&begin).with_context(|| format!("the page has no block of {name}"))?;
    // Keep the blank after the name: it belongs to the sizes, or to the end of the mark.
    let rest = &page[page.len() - rest.len() - 1..];
    let (bends, rest) = rest.split_once(OPEN).with_context(|| format!("the mark of {name} has no end"))?;
    Ok((head, bends, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::curves::points::Point;
    use crate::measure::curves::{Pair, XQuantity};

    #[test]
    fn a_block_has_the_picture_the_table_and_the_command() {
        let curve = Curve {
            name: "small",
            title: "Small things",
            x: XQuantity::Files,
            pairs: &[Pair {
                variant: "two threads",
                peer: "other",
                hashmill_case: "",
                peer_case: "",
                x_per_size: 1.0,
            }],
        };
        let point = |ns| Some(Point { size: 1000.0, ns, interval: None });
        let row =
            |size, peer, ratio| Row { size, peer, hashmill: point(2e6), ratio, path: "r/a.json".to_owned() };
        let rows = vec![row(1000.0, point(3e6), Some((1.5, Some((1.42, 1.61))))), row(10_000.0, None, None)];
        let words = ["lab", "compare", "--out", "/tmp/x", "--", "a b", "sh -c 'x'"];
        let machine =
            serde_json::json!({"cpu": "A chip", "model": "25-1-1", "logical_cores": 2, "memory_gib": 24});
        let builds = serde_json::json!([{"commit": "abc", "dirty": false}]);
        let content = serde_json::json!({ "command": words, "machine": machine, "builds": builds });
        let unused = Report { path: "r/b.json".to_owned(), content: content.clone() };
        let report = Report { path: "r/a.json".to_owned(), content };
        let block = block(&curve, &[rows], &[report, unused]).expect("a block");
        let expected = "![Small things](curves/small.svg)\n\n\
            | files of 4 KiB (two threads) | other | Hashmill | other / Hashmill | 99 % | other, per file | Hashmill, per file |\n\
            |--:|--:|--:|--:|--:|--:|--:|\n\
            | 1,000 | 3.00 ms | 2.00 ms | 1.50 | 1.42, 1.61 | 3000 ns | 2000 ns |\n\
            | 10,000 | – | 2.00 ms | – | – | – | 2000 ns |\n\n\
            ```sh\nlab compare -- 'a b' \"sh -c 'x'\"\n```\n\nFrom [`a.json`](../r/a.json); A chip (family, model, stepping 25, 1, 1), 2 processors, 24 GiB, commit abc.\n";
        assert_eq!(block, expected);
    }

    #[test]
    fn a_block_is_replaced_by_name() {
        let page =
            "a\n<!-- curve x -->\nold\n<!-- /curve -->\nb\n<!-- curve y 7 64KiB -->\n<!-- /curve -->\n";
        let filled = with_blocks(page, &[("y", "new\n".to_owned())]).expect("a block");
        assert_eq!(filled, page.replace("64KiB -->\n", "64KiB -->\nnew\n"));
        assert_eq!(with_blocks(page, &[("x", "old\n".to_owned())]).expect("a block"), page);
        assert!(with_blocks(page, &[("z", String::new())]).is_err());
        assert_eq!(bends(page, "y").expect("two sizes"), [7.0, 65_536.0]);
        assert!(bends(page, "x").expect("none").is_empty() && bends(&page.replace('7', "x"), "y").is_err());
    }
}
