//! `lab gate`: demands in a file, measured and judged.

use crate::program::{Folder, Said, lab, said};
use serde_json::Value;
use std::fs;

/// Short sessions: one side does twice the work, which the shortest can see.
const SHORT: [&str; 8] = ["--rounds", "3", "--sample-ms", "0.05", "--warm-ups", "1", "--control", "off"];

const GATES: &str = r#"
[defaults]
program = "lab"

[[gate]]
name = "twice the work"
cases = ["chain/plain/kernel/*/t1"]
sizes = ["1000", "10000"]
rival = "twice"
must = 1.05
aim = 1.1

[[gate]]
name = "on average"
cases = ["chain/plain/kernel/*/all"]
sizes = ["1000", "10000"]
rival = "twice"
judge = "mean"
must = 5

[[gate]]
name = "reported"
cases = ["chain/plain/kernel/1000/t1"]
rival = "twice"
"#;

fn gate(folder: &Folder, text: &str, args: &[&str]) -> Said {
    fs::write(folder.join("gates.toml"), text).expect("a file");
    said(lab().current_dir(folder.join("")).args(["gate", "gates.toml"]).args(args).args(SHORT))
}

#[test]
fn each_case_the_mean_and_what_is_only_reported() {
    let folder = Folder::new("gate");
    let all = gate(&folder, GATES, &["--json", "--out", "r"]);
    assert_eq!(all.code, Some(1), "{all:?}");
    let verdicts: Vec<Value> = serde_json::from_str(&all.out).expect("JSON");
    let seen: Vec<(&str, usize, &str)> = verdicts
        .iter()
        .map(|line| {
            let text = |key: &str| line[key].as_str().expect("a text");
            (text("gate"), line["cases"].as_array().expect("cases").len(), text("verdict"))
        })
        .collect();
    let expected = [
        ("twice the work", 1, "aim"),
        ("twice the work", 1, "aim"),
        ("on average", 2, "FAIL"),
        ("reported", 1, "–"),
    ];
    assert_eq!(seen, expected, "{}", all.out);
    let checked = said(lab().current_dir(folder.join("")).args(["check", "r/report.json"]));
    assert_eq!(checked.code, Some(0), "{checked:?}");

    // The same from the report, without measuring, and only what was asked for.
    let again = gate(&folder, GATES, &["--report", "r/report.json", "--filter", "average"]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.out.contains("mean of 2 cases") && !again.out.contains("reported"), "{}", again.out);
    let reported = gate(&folder, GATES, &["--report", "r/report.json", "--filter", "reported"]);
    assert_eq!((reported.code, reported.err.as_str()), (Some(0), ""), "{reported:?}");

    // A build that was not measured does not pass because another one was.
    let builds = format!("{GATES}builds = [\"self\", \"shuffled\"]\n");
    let half = gate(&folder, &builds, &["--report", "r/report.json", "--filter", "reported"]);
    assert_eq!(half.code, Some(1), "{half:?}");
    assert!(half.out.contains("MISSING: build `shuffled` was not measured"), "{}", half.out);
}

#[test]
fn gates_that_cannot_be_judged_take_one_line() {
    let folder = Folder::new("gate-bad");
    for (text, args, words) in [
        (GATES.to_owned(), &["--filter", "avarage"][..], "no gate and no case contains `avarage`"),
        (
            GATES.replace("\"lab\"", "\"other\""),
            &["--filter", "mean", "--filter", "average"],
            "no gate and no case",
        ),
        (GATES.replace("\"lab\"", "\"other\""), &["--filter", "average"], "on average: run `other gate`"),
        (
            format!("{GATES}builds = [\"self\", \"shuffled\"]\n"),
            &["--filter", "reported"],
            "lab has no build `shuffled`: it knows only itself",
        ),
    ] {
        let said = gate(&folder, &text, args);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{said:?}");
        assert!(said.err.contains(words), "{words}: {said:?}");
        assert_eq!(said.err.lines().count(), 1, "{said:?}");
    }
}
