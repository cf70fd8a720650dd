//! `lab check` on changed reports, and on files that are not reports. The stored report is in `tests/golden`.

use crate::program::{CommandResult, Folder, lab, result_of};
use serde_json::{Value, json};
use std::path::Path;

fn golden() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/report.json");
    serde_json::from_slice(&std::fs::read(path).expect("committed")).expect("JSON")
}

fn check(text: &str) -> CommandResult {
    let folder = Folder::new("check");
    let file = folder.join("report.json");
    std::fs::write(&file, text).expect("a writable folder");
    result_of(lab().arg("check").arg(file))
}

#[test]
fn an_honest_report_is_accepted_and_its_verdicts_counted() {
    let result = check(&golden().to_string());
    // One of its rows has a wrong result: the report is consistent but cannot be used.
    assert_eq!(result.code, Some(4), "{result:?}");
    let message = "consistent, but not to be used; 250 medians of sessions, 4 verdicts computed again\n";
    assert!(result.out.ends_with(message), "{}", result.out);
}

#[test]
fn each_tampering_is_rejected_with_its_reason() {
    let cases: [(&str, Value, &str); 6] = [
        ("/rows/4/sides/0/session_ns/0", json!(1.0), "interval_ns is stated as"),
        (
            "/rows/1/comparisons/0/verdict",
            json!("faster"),
            "the verdict is stated as faster, but the sessions say slower",
        ),
        ("/rows/0/sides/2/digest", json!("08"), "rival and control have different references for one case"),
        ("/rows/0/comparisons/0/sessions", json!(40), "it claims 40 sessions, but there are 20"),
        ("/rows/4/sides/0/summary/median_ns", json!(699.0), "median_ns is stated as 699"),
        ("/machine/cpu", json!("Faster 2"), "belongs to another machine"),
    ];
    for (pointer, value, reason) in cases {
        let mut report = golden();
        *report.pointer_mut(pointer).expect(pointer) = value;
        let result = check(&report.to_string());
        assert_eq!(result.code, Some(1), "{pointer}: {result:?}");
        assert!(result.out.contains(reason), "{pointer}: {}", result.out);
        assert!(result.out.contains("seal: the report was changed"), "{pointer}: {}", result.out);
    }
}

#[test]
fn rejects_files_that_are_not_reports() {
    let mut newer = golden();
    newer["schema"] = json!("lab.report/9");
    let mut foreign = golden();
    foreign["surprise"] = json!(1);
    for (text, code, message) in [
        ("", 4, "it is not JSON, or it is truncated"),
        ("{\"results\": []}", 4, "`schema` is missing, this version reads lab.report/2"),
        (&newer.to_string(), 4, "`schema` is `lab.report/9`"),
        (&foreign.to_string(), 4, "unknown field `surprise`"),
    ] {
        let result = check(text);
        assert_eq!(result.code, Some(code), "{result:?}");
        assert!(result.err.contains(message), "{}", result.err);
        assert_eq!(result.err.lines().count(), 1);
    }
    let absent = result_of(lab().args(["check", "/nowhere/report.json"]));
    assert_eq!(absent.code, Some(2), "{absent:?}");
}

#[test]
fn sides_of_unequal_work_are_compared_by_the_time_for_the_same_work() {
    let folder = Folder::new("uneven");
    let mut compare = lab();
    compare.args([
        "compare",
        "sum/copied/kernel/1KiB",
        "sum/copied/kernel/64KiB",
        "--control",
        "off",
        "--no-count",
    ]);
    let measured =
        result_of(compare.args(["--rounds", "2", "--sample-ms", "0.02", "--out"]).arg(folder.join("r")));
    assert_eq!(measured.code, Some(0), "{measured:?}");
    assert!(measured.out.contains("times for equal work"), "{}", measured.out);

    let path = folder.join("r/report.json");
    let report: Value = serde_json::from_slice(&std::fs::read(&path).expect("a report")).expect("JSON");
    let row = &report["rows"][0];
    assert_eq!(row["units"]["per_iteration"], json!(1024));
    assert_eq!(row["sides"][1]["units_per_iteration"], json!(65536));
    let median = |side: usize| row["sides"][side]["summary"]["median_ns"].as_f64().expect("a median");
    let by_work = median(0) / median(1) * 64.0;
    let ratio = row["comparisons"][0]["ratio"].as_f64().expect("a ratio");
    assert!((by_work / 8.0..by_work * 8.0).contains(&ratio), "{ratio} is not near {by_work}");
    let checked = result_of(lab().arg("check").arg(&path));
    assert_eq!(checked.code, Some(0), "the rule stopped where the report says: {checked:?}");
    assert!(checked.out.contains(" samples behind them"), "{}", checked.out);

    // The samples are beside the report, and belong to it only.
    let samples = folder.join("r/samples.json");
    let text = std::fs::read_to_string(&samples).expect("samples");
    let moved = folder.join("moved.json");
    std::fs::write(&moved, &text).expect("a writable folder");
    std::fs::write(&samples, text.replacen("\"ns\": [", "\"ns\": [1", 1)).expect("a writable folder");
    let spoilt = result_of(lab().arg("check").arg(&path));
    assert_eq!(spoilt.code, Some(1), "{spoilt:?}");
    assert!(spoilt.out.contains("samples: it is not the file that the report refers to"), "{}", spoilt.out);
    let given = result_of(lab().arg("check").arg(&path).arg("--samples").arg(&moved));
    assert_eq!(given.code, Some(0), "{given:?}");
    let two = result_of(lab().arg("check").args([&path, &path]).arg("--samples").arg(&moved));
    assert_eq!(two.code, Some(2), "{two:?}");
}
