//! `lab run` of a suite with a summary: what is measured, what is printed, what the page says.

use crate::program::{CommandResult, Folder, lab, result_of};
use serde_json::Value;
use std::fs;

/// Short sessions; `--sessions` is not set.
const SHORT: [&str; 6] = ["--rounds", "1", "--sample-ms", "0.01", "--warm-ups", "0"];

fn run(folder: &Folder, words: &[&str], columns: &str) -> CommandResult {
    result_of(lab().current_dir(folder.join("")).env("COLUMNS", columns).arg("run").args(words).args(SHORT))
}

fn report(folder: &Folder) -> Value {
    let text = fs::read_to_string(folder.join("lab-results/latest/report.json")).expect("a report");
    serde_json::from_str(&text).expect("JSON")
}

fn cases(report: &Value) -> Vec<&str> {
    let rows = report["rows"].as_array().expect("rows");
    rows.iter().filter_map(|row| row["sides"][0]["key"].as_str()).collect()
}

#[test]
fn a_summary_measures_its_products_and_prints_the_page_address() {
    let folder = Folder::new("headline");
    let done = run(&folder, &["headline"], "80");
    assert_eq!((done.code, &*done.err), (Some(0), ""), "{done:?}");
    let measured = report(&folder);
    let products =
        ["chain/plain/kernel/10000/t1", "chain/twice/kernel/10000/t1", "sum/copied/kernel/64KiB/t1"];
    assert_eq!(cases(&measured), products);
    assert_eq!(measured["plan"]["solo_sessions"], 4);
    assert_eq!(measured["rows"][0]["title"], products[0], "programs read cases");
    let lines: Vec<&str> = done.out.lines().collect();
    assert_eq!(lines[0], "✔ 0 published answers right, all 3 timed results right", "{}", done.out);
    assert!(lines[1].starts_with("The example on "), "{}", done.out);
    assert!(lines.iter().any(|line| line.contains(" as fast as twice ")), "{}", done.out);
    assert!(lines.iter().any(|line| line.contains("abacus: no record here")), "{}", done.out);
    assert!(lines.contains(&"±: from the fastest to the slowest of 4 sessions"), "{}", done.out);
    let address = lines.iter().find_map(|line| line.strip_prefix("page: file://")).expect("an address");
    assert!(address.ends_with("/lab-results/latest/report.html"), "{address}");
    let page = fs::read_to_string(address).expect("a page");
    assert!(page.contains("<h1>The example on ") && page.contains("TOYS, chain"), "{page}");
    assert!(done.out.contains("\nmore: --full"), "{}", done.out);
    // The same content on a wide terminal.
    let wide = run(&folder, &["headline"], "160");
    assert!(
        wide.out.lines().any(|line| line.starts_with("TOYS") && line.contains("  twice ")),
        "{}",
        wide.out
    );
}

#[test]
fn full_and_floor_add_cases_and_lower_bounds() {
    let folder = Folder::new("headline-full");
    let done = run(&folder, &["headline", "--full", "--floor", "--sessions", "8"], "80");
    assert_eq!((done.code, &*done.err), (Some(0), ""), "{done:?}");
    let measured = report(&folder);
    assert!(cases(&measured).contains(&"sum/copied/oneshot/1KiB/t1"), "{measured}");
    assert_eq!(measured["plan"]["solo_sessions"], 8);
    let line = |begin: &str| done.out.lines().any(|line| line.starts_with(begin));
    assert!(line("sum of 1 KiB "), "{}", done.out);
    assert!(line("±: 99 % interval of the median of 8 sessions"), "{}", done.out);
    assert!(!done.out.contains("more: "), "nothing is left: {}", done.out);
    let default = run(&folder, &["headline", "--full"], "80");
    assert_eq!(report(&folder)["plan"]["solo_sessions"], 10, "{default:?}");
}

#[test]
fn a_wrong_result_comes_first_and_fails() {
    let folder = Folder::new("headline-broken");
    let done = run(&folder, &["broken"], "80");
    assert_eq!(done.code, Some(4), "{done:?}");
    assert!(
        done.out.starts_with("✘ WRONG RESULT: TOYS, sum. None of these numbers may be used.\n"),
        "{}",
        done.out
    );
    let json = run(&folder, &["broken", "--json"], "80");
    assert_eq!(json.code, Some(4), "{json:?}");
    let printed: Value = serde_json::from_str(&json.out).expect("nothing but JSON");
    assert_eq!(printed, report(&folder));
}
