//! The exact test against SciPy's numbers (`tests/data/signed_rank.py` made them and says how).

use hashmill_lab::stats::signed_rank::{null_counts, p_value};
use serde::Deserialize;

#[derive(Deserialize)]
struct Reference {
    tables: Vec<Table>,
    cases: Vec<Case>,
    large: Vec<Case>,
}

#[derive(Deserialize)]
struct Table {
    n: usize,
    counts: Vec<u64>,
}

#[derive(Deserialize)]
struct Case {
    values: Vec<f64>,
    p: f64,
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("../data/signed_rank.json")).expect("committed file parses")
}

#[test]
fn null_tables_equal_scipys_to_the_last_count() {
    for table in reference().tables {
        assert_eq!(null_counts(table.n), table.counts, "n = {}", table.n);
    }
}

#[test]
fn p_values_equal_scipys() {
    let Reference { cases, large, .. } = reference();
    assert!(cases.len() > 35 && large.len() == 9, "the file holds untied, tied and large cases");
    for case in cases.iter().chain(&large) {
        let p = p_value(&case.values);
        assert!((p - case.p).abs() <= 1e-13 * case.p, "{p} against {} for {:?}", case.p, case.values);
    }
}
