//! `lab compare` of two saved reports, and `lab report history`.

use crate::program::{CommandResult, Folder, lab, result_of};
use std::fs;

/// A folder with two runs of the same cases.
fn world(name: &str) -> Folder {
    let folder = Folder::new(name);
    for out in ["one", "two"] {
        let run = ["run", "chain/plain/kernel/100/t1", "chain/plain/kernel/1000/t1", "--sessions", "8"];
        let short = ["--rounds", "2", "--sample-ms", "0.02", "--warm-ups", "0", "--out", out];
        let measured = in_folder(&folder, &[&run[..], &short[..]].concat());
        assert_eq!(measured.code, Some(0), "{measured:?}");
    }
    folder
}

fn in_folder(folder: &Folder, args: &[&str]) -> CommandResult {
    result_of(lab().current_dir(folder.join("")).args(args))
}

#[test]
fn two_saved_reports_are_compared_with_care() {
    let folder = world("saved");
    let compare = |args: &[&str]| in_folder(&folder, &[&["compare"], args].concat());
    let result = compare(&["one/report.json", "two/report.json"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert!(result.out.contains("! These runs were not interleaved"), "{}", result.out);
    assert_eq!(
        result.out.lines().filter(|line| line.starts_with("chain/plain/kernel/")).count(),
        2,
        "{}",
        result.out
    );
    assert!(
        result.out.contains("counts as changed from 10 %: because the reports have no common probe"),
        "{}",
        result.out
    );
    let json = compare(&["two/report.json", "one/report.json", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!(json["pairs"].as_array().map(Vec::len), Some(2), "{json}");
    assert!(json["before"].as_str() < json["after"].as_str(), "the earlier one first: {json}");

    let report = fs::read_to_string(folder.join("two/report.json")).expect("a report");
    fs::write(folder.join("cut.json"), &report[..report.len() / 2]).expect("a file");
    fs::write(
        folder.join("changed.json"),
        report.replacen("\"state\"", " \"state\"", 1).replacen("kernel", "kernal", 1),
    )
    .expect("a file");
    for (args, code, message) in [
        (["one/report.json", "one/report.json"], 4, "both reports are of the same run"),
        (["one/report.json", "cut.json"], 4, "cut.json: it is not JSON, or it is truncated"),
        (["one/report.json", "changed.json"], 4, "changed.json: "),
    ] {
        let refused = compare(&args);
        assert_eq!(refused.code, Some(code), "{refused:?}");
        assert!(refused.err.contains(message), "{}", refused.err);
        assert_eq!(refused.err.lines().count(), 1, "{}", refused.err);
    }
}

#[test]
fn a_history_grows_run_by_run() {
    let folder = world("history");
    let history = |args: &[&str]| in_folder(&folder, &[&["report", "history", "h.jsonl"], args].concat());
    let nothing = history(&[]);
    assert_eq!((nothing.code, nothing.err.lines().count()), (Some(2), 1), "{nothing:?}");
    assert!(nothing.err.contains("h.jsonl holds no run"), "{}", nothing.err);
    let started = history(&["--add", "two/report.json", "one/report.json"]);
    assert_eq!(started.code, Some(0), "{started:?}");
    assert!(started.out.contains("2 runs from "), "{}", started.out);
    let lines = fs::read_to_string(folder.join("h.jsonl")).expect("a history");
    assert_eq!(lines.lines().count(), 2, "{lines}");
    let twice = history(&["--add", "one/report.json"]);
    assert_eq!(twice.code, Some(4), "{twice:?}");
    assert!(twice.err.contains("is in the history already"), "{}", twice.err);
    assert_eq!(fs::read_to_string(folder.join("h.jsonl")).expect("a history"), lines, "nothing was lost");
    let page = history(&["--format", "html"]);
    assert_eq!(page.out.matches("<svg").count(), 2, "a chart for each case");
    assert_eq!(history(&["--format", "json"]).out, lines);
    fs::write(folder.join("h.jsonl"), lines + "{}\n").expect("a file");
    let broken = history(&[]);
    assert_eq!(broken.code, Some(4), "{broken:?}");
    assert!(broken.err.contains("h.jsonl: line 3 is no run of a history"), "{}", broken.err);
}
