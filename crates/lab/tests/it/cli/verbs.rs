//! The eight commands: their help, the replacements of former names, and the arguments of `compare`.

use crate::program::{CommandResult, Folder, lab, result_of};

const VERBS: [&str; 8] = ["list", "run", "compare", "gate", "claim", "check", "report", "doctor"];

fn typed(words: &[&str]) -> CommandResult {
    result_of(lab().args(words))
}

#[test]
fn there_are_eight_and_the_help_of_each_fits_a_screen() {
    let help = typed(&["--help"]).out;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let names: Vec<&str> = commands.filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, [&VERBS[..], &["help"]].concat());
    for verb in VERBS {
        let help = typed(&[verb, "-h"]);
        assert_eq!(help.code, Some(0), "{help:?}");
        assert!(help.out.lines().count() <= 40, "{verb}: {}", help.out);
    }
}

#[test]
fn a_name_of_before_is_answered_with_the_one_of_now() {
    for (old, new) in [
        ("ab", "compare BASELINE CANDIDATE"),
        ("duel", "compare --engines BASELINE,CANDIDATE"),
        ("soak", "run --for"),
        ("count", "run --explain"),
        ("profile", "run --explain"),
        ("noise", "doctor --noise"),
        ("prove", "claim prove"),
        ("import", "report import"),
        ("schema", "report schema"),
        ("tune", "run CASE"),
    ] {
        let answer = typed(&[old, "sum"]);
        assert_eq!((answer.code, answer.out.as_str()), (Some(2), ""), "{answer:?}");
        assert!(answer.err.starts_with(&format!("lab: `{old}` is `{new}")), "{}", answer.err);
        assert_eq!(answer.err.lines().count(), 1, "{}", answer.err);
        let new = new.split(' ').next().expect("a command");
        assert!(VERBS.contains(&new), "{new}");
    }
}

#[test]
fn usage_errors_of_compare_are_one_line() {
    for (words, message) in [
        (&["sum/copied/kernel/1KiB"][..], "a comparison has two sides, baseline first"),
        (&["a", "b", "c"], "a comparison has two sides, baseline first"),
        (&["sum/copied/kernel/1KiB", "sum/copyed/kernel/1KiB"], "(did you mean `copied`?)"),
        (&["sum/copied/kernel/*", "sum/copied/kernel/1KiB"], "names 3 cases, but a side must be one case"),
        (&["sum", "--engines", "copied"], "--engines takes exactly two: BASELINE,CANDIDATE"),
        (&["sum", "--engines", "copied,copied", "--cases", "sum"], "cannot be used with"),
        (&["sum/copied/kernel/1KiB", "sum/copied/kernel/1KiB"], "would be compared with itself"),
        (&["nonesuch", "nonesuch"], "`nonesuch` is not a file, directory or revision of"),
    ] {
        let folder = Folder::new("verbs");
        let refused = result_of(lab().current_dir(folder.join("")).arg("compare").args(words));
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.err.contains(message), "{words:?}: {}", refused.err);
        assert_eq!(refused.err.trim_end().lines().count(), 1, "{}", refused.err);
    }
}

#[test]
fn a_length_of_time_has_a_unit() {
    for length in ["90", "s", "1d", "0s", "1e30h"] {
        let refused = typed(&["run", "sum/copied/sustained/1KiB", "--for", length]);
        assert_eq!(refused.code, Some(2), "{length}: {refused:?}");
    }
}

/// Changing a line of a workflow from one form to another must not invert its gate.
#[test]
fn the_baseline_always_comes_first() {
    let short = ["--rounds", "3", "--sample-ms", "0.1", "--no-count"];
    let [plain, twice] = ["chain/plain/kernel/10000/t1", "chain/twice/kernel/10000/t1"];
    let engines = [&["--engines", "plain,twice", "chain/*/kernel/10000/t1"], &short[..]].concat();
    let cases = [&[plain, twice], &short[..]].concat();
    let commands = ["--runs", "10", "--", "true", "sleep 0.03"];
    let back = [
        [&["--engines", "twice,plain", "chain/*/kernel/10000/t1"], &short[..]].concat(),
        [&[twice, plain], &short[..]].concat(),
        ["--runs", "10", "--", "sleep 0.03", "true"].to_vec(),
    ];
    for (slower, faster) in [engines, cases, commands.to_vec()].iter().zip(&back) {
        for (words, code) in [(slower, 1), (faster, 0)] {
            let folder = Folder::new("order");
            let mut command = lab();
            command.current_dir(folder.join("")).args(["compare", "--fail-on", "slower", "--control", "off"]);
            let compared = result_of(command.args(words));
            assert_eq!(compared.code, Some(code), "{words:?}: {compared:?}");
        }
    }
}

#[test]
fn suggests_commands_for_programs_without_the_lab() {
    if cfg!(windows) {
        hashmill_testkit::skip("lab: programs that are no lab", "they are scripts of a shell");
        return;
    }
    let folder = Folder::new("no-lab");
    for (name, script) in
        [("numbers", "echo 1"), ("silent", "exit 0"), ("echoing", "exec cat"), ("failing", "exit 3")]
    {
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a folder");
        result_of(std::process::Command::new("chmod").arg("+x").arg(&path));
    }
    let lab_itself = lab().get_program().to_string_lossy().into_owned();
    for (baseline, candidate, wrong) in [
        ("./numbers", "./silent", "./numbers"),
        ("./echoing", "./failing", "./echoing"),
        (&lab_itself, "./numbers", "./numbers"),
        ("./silent", &lab_itself, "./silent"),
    ] {
        let refused = result_of(
            lab().current_dir(folder.join("")).args(["compare", baseline, candidate, "--cache", "cache"]),
        );
        let message = format!(
            "lab: {wrong} does not support the lab's protocol; whole programs: compare -- '{baseline}' '{candidate}'\n"
        );
        assert_eq!((refused.code, refused.err.ends_with(&message)), (Some(2), true), "{message}{refused:?}");
    }
}

#[test]
fn list_and_help_show_where_to_start() {
    let listed = typed(&["list"]);
    assert!(listed.out.starts_with("suites, each run by its name\nheadline: "), "{}", listed.out);
    assert!(listed.out.contains("\ncases: workload/engine/class/size/threads; "), "{}", listed.out);
    let chosen = typed(&["list", "chain/plain/kernel/100"]);
    assert_eq!(chosen.out, "chain/plain/kernel/100/t1\n", "other programs read this");
    let nothing = typed(&["run"]);
    assert_eq!(nothing.code, Some(2), "{nothing:?}");
    assert!(nothing.err.contains("`run headline` is a good start, `list` shows all"), "{}", nothing.err);
}
