//! `lab gate`: demands in a file, measured and judged.

use crate::program::{CommandResult, Folder, finish, lab, result_of};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Short sessions: one side does twice the work, which the shortest can detect.
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

fn gate(folder: &Folder, text: &str, args: &[&str]) -> CommandResult {
    fs::write(folder.join("gates.toml"), text).expect("a file");
    result_of(lab().current_dir(folder.join("")).args(["gate", "gates.toml"]).args(args).args(SHORT))
}

#[test]
fn judges_each_case_means_and_reported_gates() {
    let folder = Folder::new("gate");
    let all = gate(&folder, GATES, &["--json", "--out", "r"]);
    assert_eq!(all.code, Some(1), "{all:?}");
    let verdicts: Vec<Value> = serde_json::from_str(&all.out).expect("JSON");
    let found: Vec<(&str, usize, &str)> = verdicts
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
    assert_eq!(found, expected, "{}", all.out);
    let checked = result_of(lab().current_dir(folder.join("")).args(["check", "r/report.json"]));
    assert_eq!(checked.code, Some(0), "{checked:?}");

    let pages = fs::read_to_string(folder.join("r/gates.html")).expect("a page");
    assert_eq!(pages.matches("<td class=\"bad\">FAIL</td>").count(), 1, "{pages}");
    assert_eq!(pages.matches("<td class=\"good\">aim</td>").count(), 2, "{pages}");
    assert!(
        fs::read_to_string(folder.join("r/gates.md"))
            .expect("a page")
            .contains("| on average | mean of 2 cases |")
    );

    // The same from the report without measuring, with a filter.
    let again = gate(&folder, GATES, &["--report", "r/report.json", "--filter", "average"]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.out.contains("mean of 2 cases") && !again.out.contains("reported"), "{}", again.out);
    let reported = gate(&folder, GATES, &["--report", "r/report.json", "--filter", "reported"]);
    assert_eq!((reported.code, reported.err.as_str()), (Some(0), ""), "{reported:?}");

    // A build that was not measured does not pass because another one did.
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
        (GATES.to_owned(), &["--filter", "reportd"], "did you mean `reported`?"),
        (GATES.to_owned(), &["--list", "--filter", "kernle"], "did you mean `kernel`?"),
        (
            GATES.replace("\"lab\"", "\"other\""),
            &["--filter", "mean", "--filter", "average"],
            "no gate and no case",
        ),
        (
            GATES.replace("\"lab\"", "\"other\""),
            &["--filter", "chain"],
            "none of the 3 gates that contain `chain` can be judged here: run `other gate`",
        ),
        (
            GATES.replace("\"lab\"", "\"other\""),
            &[],
            "none of the 3 gates can be judged here: run `other gate`",
        ),
        (GATES.replace("\"lab\"", "\"other\""), &["--filter", "average"], "on average: run `other gate`"),
        (
            format!("{GATES}builds = [\"self\", \"shuffled\"]\n"),
            &["--filter", "reported"],
            "lab has no build `shuffled`: it knows only itself",
        ),
    ] {
        let result = gate(&folder, &text, args);
        assert_eq!((result.code, result.out.as_str()), (Some(2), ""), "{result:?}");
        assert!(result.err.contains(words), "{words}: {result:?}");
        assert_eq!(result.err.lines().count(), 1, "{result:?}");
    }
}

#[test]
fn a_report_of_another_machine_is_named_and_a_damaged_one_refused() {
    let folder = Folder::new("gate-foreign");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/report.json");
    let text = fs::read_to_string(golden).expect("a report");
    fs::write(folder.join("theirs.json"), &text).expect("a file");
    fs::write(folder.join("cut.json"), &text[..text.len() / 2]).expect("a file");
    fs::write(folder.join("changed.json"), text.replace("\"Scripted 1\"", "\"Scripted 2\"")).expect("a file");
    let foreign = gate(&folder, GATES, &["--report", "theirs.json"]);
    assert_eq!((foreign.code, foreign.err.as_str()), (Some(1), ""), "{foreign:?}");
    let first = "measured on Scripted 1 (1-2-3), machine m-a111464ebf63, not on this one\n";
    assert!(
        foreign.out.starts_with(first) && foreign.out.contains("MISSING: no report compares it"),
        "{foreign:?}"
    );
    for (file, code, words) in [
        ("cut.json", 4, "cut.json: "),
        ("changed.json", 4, "changed.json: "),
        ("absent.json", 2, "absent.json: "),
    ] {
        let result = gate(&folder, GATES, &["--report", file]);
        assert_eq!((result.code, result.out.as_str()), (Some(code), ""), "{result:?}");
        assert!(result.err.contains(words), "{words}: {result:?}");
        assert_eq!(result.err.lines().count(), 1, "{result:?}");
    }
}

#[test]
fn the_ratchet_writes_proven_thresholds() {
    let folder = Folder::new("gate-ratchet");
    let raised = gate(&folder, GATES, &["--ratchet", "--filter", "twice", "--out", "r"]);
    assert_eq!(raised.code, Some(0), "{raised:?}");
    let line = raised.out.lines().find(|line| line.starts_with("raised  twice the work: 1.05 to "));
    let to = line.and_then(|line| line.rsplit(' ').next()).expect("a raised bar");
    let bar: f64 = to.parse().expect("a number");
    assert!(bar > 1.05, "{bar}");
    let written = fs::read_to_string(folder.join("gates.toml")).expect("a file");
    assert_eq!(written, GATES.replacen("must = 1.05", &format!("must = {to}"), 1), "and nothing else");

    // The same report passes the raised threshold, fails a higher one, and raises nothing more.
    let again = gate(&folder, &written, &["--ratchet", "--filter", "twice", "--report", "r/report.json"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.out.contains("the results raise no threshold"), "{}", again.out);
    let higher = GATES.replacen("must = 1.05", "must = 9", 1);
    let failed = gate(&folder, &higher, &["--ratchet", "--filter", "twice", "--report", "r/report.json"]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert_eq!(fs::read_to_string(folder.join("gates.toml")).expect("a file"), higher, "never lowered");
}

/// An interrupt from the terminal, in the middle of the first comparison.
#[cfg(unix)]
#[test]
fn an_interrupted_run_is_unfinished_and_keeps_its_data() {
    use hashmill_testkit::wait;
    use std::process::Stdio;

    let folder = Folder::new("gate-interrupt");
    fs::write(folder.join("gates.toml"), GATES).expect("a file");
    let mut command = lab();
    command.current_dir(folder.join("")).args(["gate", "gates.toml", "--filter", "twice", "--out", "r"]);
    command.args(["--rounds", "50", "--sample-ms", "4", "--control", "off"]);
    let run = wait::start(command.stdout(Stdio::piped()).stderr(Stdio::piped())).expect("it starts");
    let has_sessions = || {
        let text = fs::read(folder.join("r/report.json")).unwrap_or_default();
        let report: Value = serde_json::from_slice(&text).unwrap_or_default();
        report["rows"][0]["sessions"]["count"].as_u64().is_some_and(|count| count > 0)
    };
    wait::until("a session in the report", has_sessions);
    let interrupt = crate::program::interrupt(&run.id().to_string());
    assert_eq!(interrupt.code, Some(0), "{interrupt:?}");
    let CommandResult { code, out, .. } = finish(run);
    assert_eq!(code, Some(3), "{out}");
    let verdicts: Vec<&str> = out.lines().filter(|line| line.starts_with("twice the work")).collect();
    assert_eq!(verdicts.len(), 2, "{out}");
    assert!(verdicts.iter().all(|line| line.ends_with("  unfinished")), "{out}");
    assert!(!out.contains("MISSING"), "{out}");

    // The measured data are saved, valid, and judged in the same way.
    let checked = result_of(lab().arg("check").arg(folder.join("r/report.json")));
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let again = gate(&folder, GATES, &["--filter", "twice", "--report", "r/report.json"]);
    assert_eq!(again.code, Some(3), "{again:?}");
    assert_eq!(again.out.lines().filter(|line| line.ends_with("  unfinished")).count(), 2, "{}", again.out);
}

#[test]
fn thresholds_of_other_machines_are_judged_but_do_not_fail() {
    let folder = Folder::new("gate-elsewhere");
    let text = GATES.replace("must = 1.05\n", "must = 100\nmachines = [\"Z80\"]\n");
    let listed = gate(&folder, &text, &["--list"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    let of_gate: Vec<&str> = listed.out.lines().filter(|line| line.starts_with("twice the work")).collect();
    assert!(of_gate.len() == 2 && of_gate.iter().all(|line| line.ends_with("set for Z80")), "{listed:?}");
    assert!(
        listed.out.lines().any(|line| line.starts_with("on average") && line.ends_with("yes")),
        "{listed:?}"
    );

    let judged = gate(&folder, &text, &["--filter", "twice", "--out", "r"]);
    assert_eq!(judged.code, Some(0), "{judged:?}");
    assert_eq!(judged.out.matches("fail, but set for Z80").count(), 2, "{judged:?}");
    assert!(judged.out.contains("2 thresholds are for another machine than "), "{judged:?}");
    let wire = gate(&folder, &text, &["--filter", "twice", "--report", "r/report.json", "--json"]);
    let verdicts: Vec<Value> = serde_json::from_str(&wire.out).expect("JSON");
    assert!(verdicts.iter().all(|line| line["verdict"] == "FAIL" && line["set_for"][0] == "Z80"), "{wire:?}");

    // Gates of another program can be listed, too, with the command to run.
    let text = GATES.replace("program = \"lab\"", "program = \"other lab\"");
    let listed = gate(&folder, &text, &["--list"]);
    assert_eq!((listed.code, listed.out.matches("run `other lab gate`").count()), (Some(0), 3), "{listed:?}");
}
