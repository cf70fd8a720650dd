//! `--github`: output for GitHub workflows, in the file that the runner names and on standard error.

use crate::program::{CommandResult, Folder, lab, result_of};
use std::fs;
use std::path::Path;

/// One side does twice the work, which the shortest sessions can detect.
const SHORT: [&str; 10] =
    ["--rounds", "3", "--sample-ms", "0.05", "--warm-ups", "1", "--control", "off", "--out", "r"];

const CASE: &str = "chain/plain/kernel/10000/t1";

const GATES: &str = "
[defaults]
confirm = 0
[[gate]]
name = \"twice, and more\"
cases = [\"chain/plain/kernel/*/t1\"]
sizes = [\"10000\"]
rival = \"twice\"
must = 5
";

fn step(folder: &Folder, args: &[&str]) -> CommandResult {
    fs::write(folder.join("gates.toml"), GATES).expect("a writable folder");
    let mut command = lab();
    command.current_dir(folder.join("")).env("GITHUB_STEP_SUMMARY", folder.join("summary.md"));
    result_of(command.args(args).args(SHORT))
}

fn summary(folder: &Folder) -> String {
    fs::read_to_string(folder.join("summary.md")).expect("a summary")
}

#[test]
fn a_slower_row_is_an_error_only_if_it_fails_the_step() {
    let folder = Folder::new("github");
    let slower = ["compare", "--engines", "plain,twice", CASE, "--github", "--no-count"];
    let failing = step(&folder, &[&slower[..], &["--fail-on", "slower", "--json"]].concat());
    assert_eq!(failing.code, Some(1), "{failing:?}");
    let annotation = failing.err.lines().find(|line| line.starts_with("::error ")).expect("an annotation");
    assert!(annotation.starts_with("::error title=lab compare 2"), "{annotation}");
    assert!(annotation.contains(": slower than plain, 0."), "{annotation}");
    assert!(serde_json::from_str::<serde_json::Value>(&failing.out).is_ok(), "no line of it among the JSON");
    let first = summary(&folder);
    assert!(first.starts_with("## lab compare 2") && first.contains("| slower |"), "{first}");

    let shown = step(&folder, &slower);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(!shown.err.contains("::error"), "{}", shown.err);
    assert!(shown.err.contains("::warning title=lab compare 2"), "{}", shown.err);
    assert!(summary(&folder).starts_with(&first), "steps add to what others wrote");

    let faster = step(&folder, &["compare", "--engines", "twice,plain", CASE, "--github", "--no-count"]);
    assert!(!faster.err.contains("faster than"), "good news need no line: {}", faster.err);
}

#[test]
fn a_bar_that_is_missed_is_named_with_its_numbers() {
    let folder = Folder::new("github");
    let failed = step(&folder, &["gate", "gates.toml", "--github"]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    let annotation = "::error title=lab gate::twice, and more, chain/plain/kernel/10000/t1: FAIL; ";
    let line = failed.err.lines().find(|line| line.starts_with(annotation));
    assert!(line.is_some_and(|line| line.ends_with(", must 5.00")), "{}", failed.err);
    assert!(summary(&folder).contains("| FAIL |"), "{}", summary(&folder));

    let saved = step(&folder, &["gate", "gates.toml", "--github", "--report", "r/report.json"]);
    assert_eq!(saved.code, Some(1), "{saved:?}");
    assert!(saved.err.contains(annotation), "{}", saved.err);
}

#[test]
fn github_without_a_summary_file_measures_nothing() {
    let folder = Folder::new("github");
    let mut run = lab();
    run.current_dir(folder.join("")).args(["run", CASE, "--github"]).args(SHORT);
    let absent = result_of(run.env_remove("GITHUB_STEP_SUMMARY"));
    assert_eq!(absent.code, Some(2), "{absent:?}");
    assert_eq!(absent.err, "lab: --github is for GitHub workflows, but GITHUB_STEP_SUMMARY names no file\n");
    let closed = result_of(run.env("GITHUB_STEP_SUMMARY", folder.join("no/such/folder")));
    assert_eq!(closed.code, Some(2), "{closed:?}");
    assert!(
        closed.err.starts_with("lab: cannot write ") && closed.err.lines().count() == 1,
        "{}",
        closed.err
    );
    assert!(!folder.join("r").exists(), "no report was begun");
}

#[test]
fn the_commands_of_the_workflow_in_the_documentation_are_understood() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lab-ci.yml");
    let text = fs::read_to_string(path).expect("committed").replace("\\\n", " ");
    let commands: Vec<&str> =
        text.lines().filter_map(|line| line.split_once("--bin mine -- ")).map(|c| c.1).collect();
    assert!(commands.len() >= 3, "{commands:?}");
    for command in commands {
        let command = command.split(" >> ").next().expect("a command");
        let words: Vec<&str> =
            command.split_whitespace().map(|word| word.trim_matches(['\'', '"'])).collect();
        let understood = result_of(lab().args(&words).arg("--help"));
        assert_eq!(understood.code, Some(0), "{command}: {understood:?}");
    }
}
