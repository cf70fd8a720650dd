//! `cargo xtask numbers`: the page of numbers, rendered from the records under `bench/records`.
//!
//! A test compares the page with what this makes, so that no number there can be newer or better than its record.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::Value;

const PAGE: &str = "docs/numbers.md";
const BEGIN: &str = "<!-- numbers:begin -->\n";
const END: &str = "<!-- numbers:end -->";

/// Writes the numbers into the page.
pub(crate) fn write(root: &Path) -> anyhow::Result<()> {
    let page = page(root)?;
    fs::write(root.join(PAGE), page).with_context(|| format!("writing {PAGE}"))
}

/// The page as it should be.
fn page(root: &Path) -> anyhow::Result<String> {
    let text = fs::read_to_string(root.join(PAGE)).with_context(|| format!("reading {PAGE}"))?;
    let (head, rest) = text.split_once(BEGIN).with_context(|| format!("{PAGE} has no place for numbers"))?;
    let (_, tail) =
        rest.split_once(END).with_context(|| format!("the place for numbers in {PAGE} has no end"))?;
    Ok(format!("{head}{BEGIN}{}{END}{tail}", block(root)?))
}

/// A table for the newest record of each topic on each host.
fn block(root: &Path) -> anyhow::Result<String> {
    let mut block = String::new();
    for path in newest(&root.join("bench/records"))? {
        let text = fs::read_to_string(&path)?;
        let record: Value = serde_json::from_str(&text).with_context(|| format!("{}", path.display()))?;
        let place = path.strip_prefix(root).expect("records lie in the tree").display();
        block.push_str(&table(&record).with_context(|| format!("{place}"))?);
        writeln!(block, "\nFrom [`{place}`](../{place}).\n")?;
    }
    Ok(block)
}

/// `<host>/<date>-<topic>.json`, of each topic the latest date.
fn newest(records: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut newest: Vec<PathBuf> = Vec::new();
    for host in sorted(records)? {
        let mut of_host: Vec<PathBuf> = sorted(&host)?;
        of_host.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
        let topic = |path: &Path| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            name.get(11..).unwrap_or_default().to_owned()
        };
        for (index, path) in of_host.iter().enumerate() {
            if !of_host[index + 1..].iter().any(|later| topic(later) == topic(path)) {
                newest.push(path.clone());
            }
        }
    }
    Ok(newest)
}

fn sorted(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = folder.read_dir().with_context(|| format!("{}", folder.display()))?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    paths.sort_unstable();
    Ok(paths)
}

/// A line for each gate: its rows from the lowest to the highest ratio, what it must reach, what came of it.
fn table(record: &Value) -> anyhow::Result<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned).context("a text is missing");
    let (rival, cpu) = (text(&record["rival"])?, text(&record["host"]["cpu"])?);
    let mut table =
        format!("Against {rival}, on {cpu}:\n\n| workload | ratio | goal | |\n|---|---|---|---|\n");
    let gates = record["gates"].as_array().context("the gates are missing")?;
    for gate in gates {
        let rows = gate["rows"].as_array().context("the rows are missing")?;
        let mut ratios: Vec<f64> = rows.iter().filter_map(|row| row["ratio"].as_f64()).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        let name = text(&gate["name"])?;
        let level = match gate["level"].as_str() {
            None | Some("native") => String::new(),
            Some(level) if name.to_lowercase().contains(&level.replace("sse41", "sse4.1")) => String::new(),
            Some(level) => format!(" ({level})"),
        };
        let range = match (ratios.first(), ratios.last()) {
            (Some(low), Some(high)) if format!("{low:.2}") == format!("{high:.2}") => format!("{low:.2}"),
            (Some(low), Some(high)) => format!("{low:.2} to {high:.2}"),
            _ => "not measured".to_owned(),
        };
        let goal = match (gate["must"].as_f64(), gate["within_us"].as_f64()) {
            (Some(must), _) => format!("{must:.2}"),
            (None, Some(within)) => format!("ours within {within} µs"),
            (None, None) => String::new(),
        };
        let verdict = match (goal.as_str(), text(&gate["verdict"])?.as_str()) {
            ("", _) => "",
            (_, "met" | "aim") => "reached",
            (_, "missed") => "not reached",
            (_, "unproven") => "unproven",
            (_, other) => bail!("the verdict `{other}` is not known"),
        };
        writeln!(table, "| {name}{level} | {range} | {goal} | {verdict} |")?;
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_numbers_of_the_records() {
        let root = crate::root();
        let found = fs::read_to_string(root.join(PAGE)).unwrap();
        assert!(page(&root).unwrap() == found, "{PAGE} is stale: run `cargo xtask numbers`");
    }

    #[test]
    fn a_gate_is_a_line() {
        let record = serde_json::json!({
            "rival": "other 1.0", "host": {"cpu": "A chip"},
            "gates": [
                {"name": "small", "must": 1.2, "verdict": "missed", "level": "native",
                 "rows": [{"ratio": 1.1}, {"ratio": 1.034}]},
                {"name": "large", "must": null, "verdict": "unproven", "level": "avx2", "rows": [{"ratio": 2.0}]},
                {"name": "soon", "must": null, "within_us": 4.0, "verdict": "missed", "rows": [{"ratio": 9.0}]},
                {"name": "gone", "must": 1.5, "verdict": "unproven", "rows": []},
            ],
        });
        let expected = "Against other 1.0, on A chip:\n\n| workload | ratio | goal | |\n|---|---|---|---|\n\
                        | small | 1.03 to 1.10 | 1.20 | not reached |\n| large (avx2) | 2.00 |  |  |\n\
                        | soon | 9.00 | ours within 4 µs | not reached |\n\
                        | gone | not measured | 1.50 | unproven |\n";
        assert_eq!(table(&record).unwrap(), expected);
    }
}
