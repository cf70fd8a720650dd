//! `lab run --explain`: with whatever this machine can count, and under a real Valgrind.

use crate::program::{Folder, lab, said};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

const PLAIN: &str = "lab.cpu/probe/kernel/2000";
const EXTRA: &str = "lab.cpu/probe/kernel/2000/t1/extra=10";

fn instructions(record: &Path, row: usize) -> f64 {
    let text = std::fs::read(record).expect("a record");
    let record: Value = serde_json::from_slice(&text).expect("JSON");
    record["rows"][row]["instructions"].as_f64().expect("counted")
}

#[test]
fn the_known_slowdown_is_one_percent_of_the_instructions() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        hashmill_testkit::skip(
            "lab: counting instructions",
            "no valgrind here; Debian: apt-get install valgrind",
        );
        return;
    }
    let folder = Folder::new("explain");
    let record = folder.join("before/counts.json");
    let result = said(lab().args(["run", PLAIN, EXTRA, "--explain", "--out"]).arg(folder.join("before")));
    assert_eq!(result.code, Some(0), "{result:?}");
    let ratio = instructions(&record, 1) / instructions(&record, 0);
    assert!((1.0095..1.0105).contains(&ratio), "{ratio}: {}", result.out);

    let check = said(lab().arg("check").arg(&record));
    assert!(check.out.ends_with("ok; 2 counts\n"), "{check:?}");
    let against = |baseline: &Path, case: &str, limit: &str| {
        let mut command = lab();
        command.args(["run", case, "--explain", "--limit-pct", limit, "--against"]).arg(baseline);
        said(command.arg("--out").arg(folder.join("after")))
    };
    let same = against(&record, PLAIN, "0.2");
    assert_eq!(same.code, Some(0), "{same:?}");
    let mut leaner: Value = serde_json::from_slice(&std::fs::read(&record).expect("a record")).expect("JSON");
    leaner["rows"][0]["instructions"] = json!(instructions(&record, 0) / 1.01);
    let lean = folder.join("leaner.json");
    std::fs::write(&lean, leaner.to_string()).expect("writable");
    let grown = against(&lean, PLAIN, "0.2");
    assert_eq!(grown.code, Some(1), "{grown:?}");
    assert!(grown.out.contains("GREW by more than 0.2 %"), "{}", grown.out);
    assert_eq!(against(&lean, PLAIN, "2").code, Some(0), "within a wider limit");

    leaner["machine"]["id"] = json!("m-another");
    std::fs::write(&lean, leaner.to_string()).expect("writable");
    let foreign = against(&lean, PLAIN, "2");
    assert_eq!(foreign.code, Some(2), "{foreign:?}");
    assert!(foreign.err.contains("counted on machine m-another"), "{}", foreign.err);
    let absent = against(&record, "lab.cpu/probe/kernel/3000", "2");
    assert_eq!(absent.code, Some(2));
    assert!(absent.err.contains("no count of lab.cpu/probe/kernel/3000/t1"), "{}", absent.err);
    assert_eq!(against(&record, PLAIN, "-1").code, Some(2), "a negative limit");
}

#[test]
fn every_machine_tells_time_faults_and_pages() {
    let folder = Folder::new("explain-plain");
    let explain = |case: &str| said(lab().current_dir(folder.join("")).args(["run", "--explain", case]));
    let result = explain("lab.memory/probe/kernel/4MiB");
    assert_eq!(result.code, Some(0), "{result:?}");
    for what in ["kernel scalar, ", "instructions", "events per call ("] {
        assert!(result.out.contains(what), "{what}: {}", result.out);
    }
    if cfg!(target_os = "linux") {
        assert!(result.out.contains("page-faults") && result.out.contains("in huge pages"), "{}", result.out);
    }
    let broken = explain("sum/crashing/kernel/1KiB");
    assert_eq!(broken.code, Some(4), "{broken:?}");
    assert!(broken.out.contains("this engine always crashes"), "{}", broken.out);
}

#[test]
fn a_comparison_has_the_instructions_beside_the_times() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        hashmill_testkit::skip(
            "lab: instructions beside times",
            "no valgrind here; Debian: apt-get install valgrind",
        );
        return;
    }
    let folder = Folder::new("beside");
    // Twice the work, so that the verdict is never that they are the same.
    let words = ["compare", "chain/plain/kernel/1000/t1", "chain/twice/kernel/1000/t1", "--rounds", "3"];
    let result = said(lab().args(words).args(["--sample-ms", "0.05", "--out"]).arg(folder.join("r")));
    assert_eq!(result.code, Some(0), "{result:?}");
    assert!(
        result.out.lines().any(|line| line.contains("ratio") && line.contains("instructions")),
        "{}",
        result.out
    );
    let file = folder.join("r/report.json");
    let report: Value = serde_json::from_slice(&std::fs::read(&file).expect("a report")).expect("JSON");
    let counts = &report["rows"][0]["instructions"];
    let count = |side: usize| counts[side]["of"]["per_iteration"].as_f64().expect("counted");
    let ratio = count(1) / count(0);
    assert!((1.9..2.1).contains(&ratio), "{ratio}: {counts}");
    assert_eq!(said(lab().arg("check").arg(&file)).code, Some(0));
    let without =
        said(lab().args(words).args(["--sample-ms", "0.05", "--no-count", "--out"]).arg(folder.join("w")));
    assert!(!without.out.contains("instructions"), "{}", without.out);
}

#[test]
fn what_is_done_before_the_clock_starts_is_no_part_of_the_time() {
    let places = std::env::var_os("PATH").unwrap_or_default();
    let Some(perf) =
        std::env::split_paths(&places).map(|place| place.join("perf")).find(|perf| perf.is_file())
    else {
        hashmill_testkit::skip(
            "lab: functions within the clock",
            "no perf here; Debian: apt-get install linux-perf",
        );
        return;
    };
    let folder = Folder::new("explain-clock");
    // Without Valgrind, which would take most of the time.
    let tools = folder.join("tools");
    std::fs::create_dir(&tools).expect("a folder");
    said(Command::new("ln").arg("-s").arg(perf).arg(&tools));
    let explain = |case: &str| {
        said(lab().current_dir(folder.join("")).env("PATH", &tools).args(["run", "--explain", case]))
    };
    // The inputs are made before all calls, or anew for each; the calls do nothing.
    for case in ["dear/kept/kernel/64KiB", "dear/staged/kernel/64KiB"] {
        let result = explain(case);
        assert_eq!(result.code, Some(0), "{result:?}");
        assert!(!result.out.contains("dear_set_up"), "{}", result.out);
    }
    // Where the set-up is timed, it is seen, if perf may sample here.
    let timed = explain("dear/staged/backend/64KiB");
    assert_eq!(timed.code, Some(0), "{timed:?}");
    assert_eq!(timed.out.contains("dear_set_up"), timed.out.contains("share of the time"), "{}", timed.out);
}
