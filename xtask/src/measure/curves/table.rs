//! Table of a curve, and the commands that measured it.

use std::fmt::Write as _;

use anyhow::Context;

use crate::measure::curves::points;
use crate::measure::curves::points::{Row, number, size_words, time};
use crate::measure::curves::{Curve, PICTURES, Report};

/// The picture, a table for each pair, and how to measure them again.
pub(super) fn block(curve: &Curve, pairs: &[Vec<Row>], reports: &[Report]) -> anyhow::Result<String> {
    let folder = PICTURES.rsplit('/').next().unwrap_or(PICTURES);
    let mut block = format!("![{}]({folder}/{}.svg)\n", curve.title, curve.name);
    for (pair, rows) in curve.pairs.iter().zip(pairs) {
        let how = if pair.how.is_empty() { String::new() } else { format!(" ({})", pair.how) };
        let (peer, unit) = (pair.peer, curve.of.unit());
        let head = format!(
            "\n| {}{how} | {peer} | Hashmill | {peer} / Hashmill | 99 % | {peer}, per {unit} | Hashmill, per {unit} |\n",
            curve.of.axis()
        );
        block.push_str(&head);
        block.push_str("|--:|--:|--:|--:|--:|--:|--:|\n");
        for row in rows {
            let size = size_words(row.size, curve.of);
            let cell = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
            let sides = [row.theirs, row.ours];
            let [theirs, ours] = sides.map(|point| cell(point.map(|point| time(point.ns))));
            let [their_share, our_share] =
                sides.map(|point| cell(point.map(|point| format!("{} ns", number(point.per(curve.of).ns)))));
            let ratio = cell(row.ratio.map(|(ratio, _)| format!("{ratio:.2}")));
            let ends = row.ratio.and_then(|(_, interval)| interval);
            let interval = cell(ends.map(|(low, high)| format!("{low:.2}, {high:.2}")));
            writeln!(
                block,
                "| {size} | {theirs} | {ours} | {ratio} | {interval} | {their_share} | {our_share} |"
            )?;
        }
    }
    let used = |report: &&Report| pairs.iter().flatten().any(|row| row.path == report.path);
    let used: Vec<&Report> = reports.iter().filter(used).collect();
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
        cpu.context("a report of no processor")?,
        model.context("a report of no model")?.replace('-', ", "),
        machine["logical_cores"],
        machine["memory_gib"],
    ))
}

/// Measured commits, each once.
fn commits(reports: &[&Report]) -> anyhow::Result<String> {
    let mut commits = Vec::new();
    for report in reports {
        let build = &report.content["builds"][0];
        let commit = build["commit"].as_str().context("a report of no commit")?;
        let changed = if build["dirty"] == false { "" } else { ", changed" };
        let commit = format!("{commit}{changed}");
        if !commits.contains(&commit) {
            commits.push(commit);
        }
    }
    let word = if commits.len() == 1 { "commit" } else { "commits" };
    Ok(format!("{word} {}", commits.join(" and ")))
}

/// What measures it again: what was typed, without the folder of the results, and with the engine of the baseline first, as
/// the lab asks for since 28 November 2026.
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

/// The sizes at which a curve bends: they stand with its place on the page, which says why.
pub(super) fn bends(page: &str, name: &str) -> anyhow::Result<Vec<f64>> {
    let (_, bends, _) = place(page, name)?;
    let size =
        |word| points::size(word).with_context(|| format!("{name} bends at `{word}`, which is no size"));
    bends.split_whitespace().map(size).collect()
}

/// The page with each block in its place.
pub(super) fn page_of(page: &str, blocks: &[(&str, String)]) -> anyhow::Result<String> {
    let mut page = page.to_owned();
    for (name, block) in blocks {
        let (head, bends, rest) = place(&page, name)?;
        let (_, tail) = rest.split_once(END).with_context(|| format!("the place for {name} has no end"))?;
        page = format!("{head}{BEGIN}{name}{bends}{OPEN}{block}{END}{tail}");
    }
    Ok(page)
}

const BEGIN: &str = "<!-- curve ";
const OPEN: &str = " -->\n";
const END: &str = "<!-- /curve -->";

/// What stands before the place of a curve, at which sizes it bends, and what stands in it and behind it.
fn place<'a>(page: &'a str, name: &str) -> anyhow::Result<(&'a str, &'a str, &'a str)> {
    let begin = format!("{BEGIN}{name} ");
    let (head, rest) =
        page.split_once(&begin).with_context(|| format!("the page has no place for {name}"))?;
    // The blank before the first size, or before the end of the mark, belongs to what follows the name.
    let rest = &page[page.len() - rest.len() - 1..];
    let (bends, rest) = rest.split_once(OPEN).with_context(|| format!("the mark of {name} has no end"))?;
    Ok((head, bends, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::curves::points::Point;
    use crate::measure::curves::{Of, Pair};

    #[test]
    fn a_block_has_the_picture_the_table_and_the_command() {
        let curve = Curve {
            name: "small",
            title: "Small things",
            of: Of::Files,
            pairs: &[Pair { how: "two threads", peer: "other", ours: "", theirs: "", each: 1.0 }],
        };
        let point = |ns| Some(Point { size: 1000.0, ns, interval: None });
        let row =
            |size, theirs, ratio| Row { size, theirs, ours: point(2e6), ratio, path: "r/a.json".to_owned() };
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
    fn a_block_goes_into_its_place() {
        let page =
            "a\n<!-- curve x -->\nold\n<!-- /curve -->\nb\n<!-- curve y 7 64KiB -->\n<!-- /curve -->\n";
        let filled = page_of(page, &[("y", "new\n".to_owned())]).expect("a place");
        assert_eq!(filled, page.replace("64KiB -->\n", "64KiB -->\nnew\n"));
        assert_eq!(page_of(page, &[("x", "old\n".to_owned())]).expect("a place"), page);
        assert!(page_of(page, &[("z", String::new())]).is_err());
        assert_eq!(bends(page, "y").expect("two sizes"), [7.0, 65_536.0]);
        assert!(bends(page, "x").expect("none").is_empty() && bends(&page.replace('7', "x"), "y").is_err());
    }
}
