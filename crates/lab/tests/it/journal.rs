//! `lab journal` as it is used: predict, measure, attach, decide, check, render.

use crate::program::{Folder, Said, lab, said};
use std::path::Path;

#[test]
fn an_attempt_from_prediction_to_decision() {
    let folder = Folder::new("journal");
    let journal = |arguments: &[&str]| -> Said {
        let mut command = lab();
        command.arg("journal").args(arguments).arg("--file").arg(folder.join("j.jsonl"));
        said(command.current_dir(folder.join(".")))
    };
    let new = [
        "new",
        "Skip the copy",
        "--hypothesis",
        "copies cost",
        "--target",
        "sum/copied",
        "--predict",
        "-3,-1",
    ];
    let opened = journal(&new);
    assert_eq!((opened.code, opened.out.as_str()), (Some(0), "attempt 1\n"), "{opened:?}");

    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/report.json");
    std::fs::copy(golden, folder.join("old.json")).expect("a copy");
    let old = journal(&["attach", "1", "old.json"]);
    assert_eq!(old.code, Some(2), "{old:?}");
    assert!(old.err.contains("older than the prediction"), "{}", old.err);

    let mut duel = lab();
    duel.args([
        "duel",
        "sum/copied/kernel/1KiB",
        "sum/copied/kernel/64KiB",
        "--rounds",
        "2",
        "--sample-ms",
        "0.02",
    ]);
    let measured = said(duel.args(["--control", "off", "--out"]).arg(folder.join("r")));
    assert_eq!(measured.code, Some(0), "{measured:?}");
    let report = "r/report.json";
    let attached = journal(&["attach", "1", report]);
    assert_eq!(attached.code, Some(0), "{attached:?}");
    assert_eq!(journal(&["attach", "7", report]).code, Some(2), "no such attempt");
    let decided = journal(&["decide", "1", "rejected", "--reason", "another size is another case"]);
    assert_eq!(decided.code, Some(0), "{decided:?}");

    let check = journal(&["check"]);
    assert_eq!(check.code, Some(0), "{check:?}");
    let (says, head) = check.out.trim_end().split_once("\nhead ").expect("a head");
    assert!(says.ends_with("ok; 1 attempts, 1 cited numbers"), "{}", check.out);
    assert_eq!(journal(&["check", "--head", head]).code, Some(0));
    let shown = journal(&["render"]);
    assert!(shown.out.contains("## 1. Skip the copy — rejected"), "{}", shown.out);

    let file = folder.join("j.jsonl");
    let text = std::fs::read_to_string(&file).expect("a journal");
    std::fs::write(&file, text.replace("another size is", "no other size is")).expect("writable");
    assert_eq!(journal(&["check"]).code, Some(0), "nothing follows the last line");
    let caught = journal(&["check", "--head", head]);
    assert_eq!((caught.code, caught.err.lines().count()), (Some(4), 1), "{caught:?}");
    std::fs::write(&file, text).expect("writable");

    std::fs::remove_file(folder.join(report)).expect("there");
    assert_eq!(journal(&["check"]).code, Some(1), "a cited report is gone");
    let text = std::fs::read_to_string(folder.join("j.jsonl")).expect("a journal");
    std::fs::write(folder.join("j.jsonl"), text.replace("-3.0", "-9.0")).expect("writable");
    let changed = journal(&["check"]);
    assert_eq!(changed.code, Some(4), "{changed:?}");
    assert!(changed.err.contains("line 2: it does not follow"), "{}", changed.err);
}
