//! Tests the reports that are committed under `bench/records`.

use super::problems;
use crate::report::schema::Report;
use crate::report::store;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct Unequal {
    row: Vec<UnequalRow>,
}

#[derive(Deserialize)]
struct UnequalRow {
    report: PathBuf,
    title: String,
    iterations: [u64; 2],
}

fn committed(bench: &Path) -> Vec<(PathBuf, Report)> {
    let list = |folder: &Path| {
        let entries = folder.read_dir().expect("a folder");
        entries.map(|entry| entry.expect("an entry").path()).collect::<Vec<PathBuf>>()
    };
    let files = list(&bench.join("records")).into_iter().flat_map(|machine| list(&machine));
    let reports = files.filter(|path| path.extension().is_some_and(|ending| ending == "json"));
    let read = |path: PathBuf| {
        let report = store::parse(&store::read_bytes(&path).expect("readable"));
        (path.strip_prefix(bench).expect("below it").to_owned(), report.expect("a report"))
    };
    reports.map(read).collect()
}

/// Rows of unequal samples are listed by hand, with the iterations that show it; everything else holds.
#[test]
fn committed_reports_hold_but_for_the_listed_rows_of_unequal_samples() {
    let bench = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench");
    let reports = committed(&bench);
    assert!(!reports.is_empty());
    let mut found = BTreeSet::new();
    for (path, report) in &reports {
        let wrong: Vec<String> = problems(report)
            .iter()
            .filter(|problem| !problem.is_of_unequal_samples())
            .map(ToString::to_string)
            .collect();
        assert!(wrong.is_empty(), "{}: {wrong:?}", path.display());
        for row in report.rows.iter().filter(|row| row.has_unequal_samples()) {
            let iterations = [0, 1].map(|side: usize| row.sides[side].iterations);
            found.insert((path.clone(), row.title.clone(), iterations));
        }
        assert_eq!(report.is_valid(), !report.has_unequal_samples(), "{}", path.display());
    }
    let text = std::fs::read_to_string(bench.join("unequal-samples.toml")).expect("committed");
    let listed: Unequal = toml_edit::de::from_str(&text).expect("TOML");
    let listed: BTreeSet<_> =
        listed.row.into_iter().map(|row| (row.report, row.title, row.iterations)).collect();
    assert_eq!(found, listed, "bench/unequal-samples.toml lists the rows that are not to be leant on");
}
