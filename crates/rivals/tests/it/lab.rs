//! Competing engines in the lab: each gives the workload's reference result, and is compared with Hashmill.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn lab(args: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_hashmill-rivals"));
    command.current_dir(root).arg("lab").args(args).output().expect("the program starts")
}

/// Measures in very short sessions, and returns the report.
fn short_report(name: &str, args: &[&str]) -> Value {
    let folder: PathBuf = std::env::temp_dir().join(format!("rivals-lab-{name}-{}", std::process::id()));
    let shortest = ["--rounds", "1", "--warm-ups", "0", "--sample-ms", "0.001", "--sessions", "1", "--out"];
    let path = folder.to_str().expect("UTF-8");
    let output = lab(&[args, &shortest, &[path]].concat());
    assert!(output.status.success(), "{output:?}");
    let report = std::fs::read(folder.join("report.json")).expect("a report");
    std::fs::remove_dir_all(&folder).expect("the folder of this test");
    serde_json::from_slice(&report).expect("JSON")
}

#[test]
fn every_rival_computes_the_reference_result() {
    let report = short_report(
        "run",
        &[
            "run",
            "blake3/official*/oneshot/1025/t1",
            "blake3/official*/kernel/100000/*",
            "blake3-keyed/official",
            "blake3-derive/official",
            "blake3-batch/official-loop/kernel/100/t1",
            "blake3-xof/official-reader/kernel/131/t1",
            "argon2id/argon2-rust/*/64KiB/t1/lanes=1",
            "argon2id/rustcrypto/oneshot/64KiB/t1/lanes=1",
            "argon2id/reference-c/kernel/64KiB/all/passes=2",
        ],
    );
    let rows = report["rows"].as_array().expect("rows");
    assert!(rows.len() >= 20, "{}", rows.len());
    for row in rows {
        assert_eq!(row["status"]["is"], "ok", "{row}");
    }
}

#[test]
fn document_engines_end_a_recording_equally() {
    let cases = [
        "replay",
        "load",
        "load/checks=later",
        "open",
        "open_save",
        "first_edit",
        "save",
        "hear",
        "hear/heard=one-by-one",
        "hear_one",
    ];
    let cases = cases.map(|case| {
        let (work, knob) =
            case.split_once('/').map_or((case, String::new()), |(work, knob)| (work, format!("/{knob}")));
        format!("doc-recorded-{work}/*/kernel/60/t1{knob}")
    });
    let patterns: Vec<&str> = cases.iter().map(String::as_str).collect();
    let options = ["--engines", "automerge,hashmill", "--control", "off", "--no-count"];
    let report = short_report("recorded", &[&["compare"], &patterns[..], &options].concat());
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), cases.len());
    for row in rows {
        assert_eq!(row["status"]["is"], "ok", "{row}");
    }
    let saved = |side: &Value| side["amounts"][0]["bytes"].as_u64();
    let save = rows
        .iter()
        .find(|row| row["title"].as_str().is_some_and(|title| title.contains("-save")))
        .expect("a row");
    assert!(save["sides"].as_array().expect("sides").iter().all(|side| saved(side) > Some(60)), "{save}");
}

#[test]
fn a_rival_is_compared_with_hashmill_in_one_process() {
    // Without the control: on a busy machine such short samples of identical sides may differ significantly.
    let report = short_report(
        "compare",
        &["compare", "blake3/*/oneshot/64/t1", "--engines", "official,hash", "--control", "off"],
    );
    let row = &report["rows"][0];
    assert_eq!(row["together"], true);
    let sides = row["sides"].as_array().expect("sides");
    let keys: Vec<&str> = sides.iter().filter_map(|side| side["key"].as_str()).take(2).collect();
    assert_eq!(keys, ["blake3/official/oneshot/64/t1", "blake3/hash/oneshot/64/t1"]);
}

#[test]
fn every_committed_gate_has_cases() {
    let listed = lab(&["gate", "bench/gates.toml", "--list"]);
    assert!(listed.status.success(), "{listed:?}");
    let text = String::from_utf8(listed.stdout).expect("UTF-8");
    for part in [
        "k·1024",
        "blake3/hash/kernel/33KiB/t1",
        "argon2id/reference-c/",
        "blake3-batch/official-loop/",
        "sum/b3sum/end-to-end/1GiB/t1",
        "doc-recorded-hear_one/diamond-types/",
        "doc-map_put/loro/",
        ": peak",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn a_claim_reports_a_different_machine() {
    let claimed_report = include_str!("../../../../bench/records/amd-epyc-f25m17-2t/2026-11-29-blake3.json");
    let claimed: Value = serde_json::from_str(claimed_report).expect("JSON");
    let machine = hashmill_machine::Machine::read();
    let is_same_machine =
        claimed["machine"]["cpu"] == *machine.cpu && claimed["machine"]["model"] == *machine.model;
    let folder: PathBuf = std::env::temp_dir().join(format!("rivals-lab-prove-{}", std::process::id()));
    let path = folder.to_str().expect("UTF-8");
    let shortest = ["--rounds", "1", "--warm-ups", "0", "--sample-ms", "0.001", "--sessions", "1"];
    let prove = ["claim", "prove", "blake3-64k", "--control", "off", "--out", path];
    let output = lab(&[&prove[..], &shortest].concat());
    let text = String::from_utf8_lossy(&output.stdout);
    std::fs::remove_dir_all(&folder).expect("the folder of this test");
    assert!(text.contains("claimed  ") && text.contains("here     "), "{output:?}");
    assert_eq!(!text.contains("this is not the machine of the claim"), is_same_machine, "{text}");
}

#[test]
fn every_table_in_the_documents_equals_its_report() {
    let checked = lab(&["claim", "check"]);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
}
