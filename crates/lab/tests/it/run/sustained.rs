//! `lab run --for` from command to report.

use crate::program::{Folder, lab, result_of};
use serde_json::Value;

#[test]
fn windows_become_a_timeline() {
    let folder = Folder::new("soak");
    let run = |case: &str, more: &[&str]| {
        let mut command = lab();
        command.args(["run", case, "--window", "20ms", "--out"]).arg(folder.join("out"));
        result_of(command.args(more))
    };
    let result = run("sum/copied/sustained/1KiB", &["--for", "0.4s"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    let text = std::fs::read(folder.join("out/report.json")).expect("a report");
    let report: Value = serde_json::from_slice(&text).expect("JSON");
    assert_eq!(report["kind"], "soak");
    assert_eq!(report["rows"][0]["windows_ns"].as_array().map(Vec::len), Some(20));
    assert!(result.out.contains("last/first"), "{}", result.out);
    let html = std::fs::read_to_string(folder.join("out/report.html")).expect("a page");
    assert!(html.contains("<svg"), "a timeline");
    let check = result_of(lab().arg("check").arg(folder.join("out/report.json")));
    assert_eq!(check.code, Some(0), "{check:?}");

    for (case, more, message) in [
        ("sum/copied/cold", &["--for", "1s"][..], "only its first call counts"),
        ("sum/copied/sustained/1KiB", &["--for", "0s"], "must be a number above 0"),
        ("sum/copied/sustained/1KiB", &["--for", "90s"], "rounds is 4500"),
    ] {
        let refused = run(case, more);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.err.contains(message), "{}", refused.err);
    }
}
