//! `lab doctor --noise`: records that grow over several calls and are judged again by `lab check`. The results of
//! this machine do not matter.

use crate::program::{Folder, lab, result_of};
use serde_json::{Value, json};

#[test]
fn a_record_grows_over_several_calls_and_is_checked() {
    let folder = Folder::new("noise");
    let record = folder.join("record.json");
    let noise = |seconds: &str, rounds: &str| {
        let mut command = lab();
        command.args([
            "doctor",
            "--noise",
            "lab.cpu/probe/kernel/300",
            "--sample-ms",
            "0.02",
            "--rounds",
            rounds,
        ]);
        result_of(command.args(["--seconds", seconds, "--record"]).arg(&record))
    };
    let read =
        || -> Value { serde_json::from_slice(&std::fs::read(&record).expect("a record")).expect("JSON") };
    assert_eq!(noise("0", "1").code, Some(3), "no time, so not complete");
    let done = noise("1000", "1");
    assert_eq!(done.code, Some(0), "{done:?}");
    let first = read();
    assert_eq!(first["series"][0]["trials"].as_array().map(Vec::len), Some(10));
    assert_eq!(noise("1000", "1").code, Some(0));
    assert_eq!(read(), first, "nothing was left to do");
    let other = noise("1000", "2");
    assert_eq!(other.code, Some(2), "another plan is another record: {other:?}");

    let check = || result_of(lab().arg("check").arg(&record));
    let honest = check();
    assert_eq!(honest.code, Some(0), "{honest:?}");
    assert!(honest.out.ends_with("ok; 10 comparisons judged again\n"), "{}", honest.out);
    let shown = result_of(lab().args(["report", "--format", "html"]).arg(&record));
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(
        shown.out.contains("<td>A/<wbr>A lab.cpu/<wbr>probe/<wbr>kernel/<wbr>300/<wbr>t1</td>"),
        "{}",
        shown.out
    );
    let mut changed = first;
    changed["series"][0]["trials"][3]["deltas"][0] = json!("0.5");
    std::fs::write(&record, changed.to_string()).expect("writable");
    assert_eq!(check().code, Some(4), "no number");
    changed["series"][0]["trials"][3]["deltas"] = json!([0.5]);
    std::fs::write(&record, changed.to_string()).expect("writable");
    let tampered = check();
    assert_eq!(tampered.code, Some(1));
    assert!(
        tampered.out.contains("trial 4: its sessions do not make a complete comparison"),
        "{}",
        tampered.out
    );
}
