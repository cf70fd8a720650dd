//! `lab run --explain` with the counters of this machine, and with a real Valgrind.

use crate::program::{Folder, lab, result_of};
use hashmill_testkit::size;
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
    let result =
        result_of(lab().args(["run", PLAIN, EXTRA, "--explain", "--out"]).arg(folder.join("before")));
    assert_eq!(result.code, Some(0), "{result:?}");
    let ratio = instructions(&record, 1) / instructions(&record, 0);
    assert!((1.0095..1.0105).contains(&ratio), "{ratio}: {}", result.out);

    let check = result_of(lab().arg("check").arg(&record));
    assert!(check.out.ends_with("ok; 2 counts\n"), "{check:?}");
    let against = |baseline: &Path, case: &str, limit: &str| {
        let mut command = lab();
        command.args(["run", case, "--explain", "--limit-pct", limit, "--against"]).arg(baseline);
        result_of(command.arg("--out").arg(folder.join("after")))
    };
    let mut leaner: Value = serde_json::from_slice(&std::fs::read(&record).expect("a record")).expect("JSON");
    leaner["rows"][0]["instructions"] = json!(instructions(&record, 0) / 1.01);
    let lean = folder.join("leaner.json");
    std::fs::write(&lean, leaner.to_string()).expect("writable");
    let grown = against(&lean, PLAIN, "0.2");
    assert_eq!(grown.code, Some(1), "{grown:?}");
    assert!(grown.out.contains("GREW by more than 0.2 %"), "{}", grown.out);
    // Each count takes seconds of processor time.
    if !size::is_full() {
        return size::skip("lab: count against equal, wider, foreign and absent baselines");
    }
    let same = against(&record, PLAIN, "0.2");
    assert_eq!(same.code, Some(0), "{same:?}");
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
fn every_machine_reports_time_faults_and_pages() {
    let folder = Folder::new("explain-plain");
    let explain = |case: &str| result_of(lab().current_dir(folder.join("")).args(["run", "--explain", case]));
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
    // Twice the work, so that the verdict is never "same".
    let words = ["compare", "chain/plain/kernel/1000/t1", "chain/twice/kernel/1000/t1", "--rounds", "3"];
    let result = result_of(lab().args(words).args(["--sample-ms", "0.05", "--out"]).arg(folder.join("r")));
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
    assert_eq!(result_of(lab().arg("check").arg(&file)).code, Some(0));
    let without = result_of(
        lab().args(words).args(["--sample-ms", "0.05", "--no-count", "--out"]).arg(folder.join("w")),
    );
    assert!(!without.out.contains("instructions"), "{}", without.out);
}

#[test]
fn untimed_setup_is_not_part_of_the_profile() {
    let places = std::env::var_os("PATH").unwrap_or_default();
    let Some(perf) =
        std::env::split_paths(&places).map(|folder| folder.join("perf")).find(|perf| perf.is_file())
    else {
        hashmill_testkit::skip(
            "lab: functions within the clock",
            "perf is not installed; Debian: apt-get install linux-perf",
        );
        return;
    };
    let folder = Folder::new("explain-clock");
    // Without Valgrind, which would take most of the time.
    let tools = folder.join("tools");
    std::fs::create_dir(&tools).expect("a folder");
    result_of(Command::new("ln").arg("-s").arg(perf).arg(&tools));
    let explain = |case: &str| {
        result_of(lab().current_dir(folder.join("")).env("PATH", &tools).args(["run", "--explain", case]))
    };
    // The inputs are made before all calls, or for each call; the calls do nothing.
    for case in ["dear/kept/kernel/64KiB", "dear/staged/kernel/64KiB"] {
        let result = explain(case);
        assert_eq!(result.code, Some(0), "{result:?}");
        assert!(!result.out.contains("dear_set_up"), "{}", result.out);
    }
    // A timed set-up is visible, if perf may sample here.
    let timed = explain("dear/staged/backend/64KiB");
    assert_eq!(timed.code, Some(0), "{timed:?}");
    assert_eq!(timed.out.contains("dear_set_up"), timed.out.contains("share of the time"), "{}", timed.out);
}

/// A fake perf that runs the program, takes no samples, and answers `perf script` with `body`.
#[cfg(target_os = "linux")]
fn stand_in(tools: &Path, body: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let text = format!(
        "#!/bin/sh\ncase \"$1\" in\n--version) ;;\nscript) {body} ;;\n\
         *)\nwhile [ \"$1\" != -o ]; do shift; done\n: > \"$2\"\nshift 3\nexec \"$@\" ;;\nesac\n"
    );
    let perf = tools.join("perf");
    std::fs::write(&perf, text).expect("a file");
    std::fs::set_permissions(&perf, std::fs::Permissions::from_mode(0o755)).expect("a program");
}

#[cfg(target_os = "linux")]
#[test]
fn missing_functions_have_a_one_line_reason() {
    let folder = Folder::new("explain-none");
    let tools = folder.join("tools");
    std::fs::create_dir(&tools).expect("a folder");
    for (body, words) in [
        ("", "no shares of functions: perf took no sample"),
        ("echo no file >&2; echo at all >&2; exit 1", "no shares of functions: no file at all"),
    ] {
        stand_in(&tools, body);
        let mut command = lab();
        command.current_dir(folder.join("")).env("PATH", &tools);
        let result = result_of(command.args(["run", "--explain", "lab.cpu/probe/kernel/300"]));
        assert_eq!(result.code, Some(0), "{result:?}");
        let lines: Vec<&str> = result.out.lines().filter(|line| line.contains("functions")).collect();
        assert!(matches!(lines[..], [line] if line.contains(words)), "{words}: {}", result.out);
    }
}
