//! `lab compare` of builds, from repository to verdict. The program of the toy repository has its own clock, so that
//! its speed is known exactly and no test waits or depends on the machine's clock.

use crate::program::{CommandResult, Folder, lab, result_of};
use crate::repository::Repository;
use hashmill_testkit::{size, wait};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const TOY: &str = include_str!("../data/toy.rs");
const BUILD: &str =
    "build=rustc --edition 2024 ${LAB_LINKER:+-C linker=\"$LAB_LINKER\"} main.rs -o \"$LAB_PROGRAM\"";
/// A build without the lab's linker; other flags, so that the bytes differ from those of a known link.
const PLAIN_BUILD: &str = "build=rustc -O --edition 2024 main.rs -o \"$LAB_PROGRAM\"";

struct Toy(Repository);

impl std::ops::Deref for Toy {
    type Target = Repository;

    fn deref(&self) -> &Repository {
        &self.0
    }
}

impl Toy {
    /// A repository with one commit, tagged `first`.
    fn new() -> Self {
        let toy = Toy(Repository::new("ab"));
        toy.write("main.rs", TOY);
        toy.write(".gitignore", "*.tmp\n");
        toy.commit("first");
        toy
    }

    fn repository(&self) -> PathBuf {
        self.path()
    }

    /// The toy with one constant changed.
    fn set(&self, from: &str, to: &str) {
        assert!(TOY.contains(from), "{from}");
        self.write("main.rs", &TOY.replace(from, to));
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = lab();
        command.current_dir(self.repository()).arg("compare").args(arguments);
        command.args([
            "--cases",
            "toy",
            "--rounds",
            "3",
            "--warm-ups",
            "1",
            "--sample-ms",
            "1",
            "--set",
            BUILD,
            "--no-count",
        ]);
        command.arg("--cache").arg(self.folder.join("cache")).arg("--out").arg(self.folder.join("out"));
        command
    }

    fn compare(&self, arguments: &[&str]) -> CommandResult {
        result_of(&mut self.command(arguments))
    }

    fn report(&self) -> Value {
        self.read("report.json")
    }

    /// A file of the last comparison.
    fn read(&self, name: &str) -> Value {
        let text = std::fs::read(self.folder.join("out").join(name)).expect("a file");
        serde_json::from_slice(&text).expect("JSON")
    }

    fn check(&self) -> CommandResult {
        result_of(lab().arg("check").arg(self.folder.join("out/report.json")))
    }
}

#[test]
fn a_commit_that_is_slower_by_three_percent_is_found_to_the_digit() {
    let toy = Toy::new();
    toy.set("NS: u64 = 1000", "NS: u64 = 1030");
    toy.commit("slower");
    let result = toy.compare(&["first", "slower", "--strict"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    let report = toy.report();
    let versus = &report["rows"][0]["comparisons"][0];
    assert_eq!(versus["verdict"], "slower");
    assert!((versus["ratio"].as_f64().expect("a number") - 1.0 / 1.03).abs() < 1e-5, "{versus}");
    assert_eq!(report["rows"][0]["comparisons"][1]["ratio"], 1.0, "the control found nothing");
    let builds = report["builds"].as_array().expect("builds");
    assert_ne!(builds[0]["program_sha256"], builds[1]["program_sha256"]);
    assert_eq!((builds[1]["source"].as_str(), builds[1]["dirty"].as_bool()), (Some("slower"), Some(false)));
    assert_eq!(builds[0]["settings"], builds[1]["settings"], "built alike");
    assert_eq!(toy.check().code, Some(0));

    let wishes = [
        ("slower", ["first", "slower"], 1),
        ("changed", ["first", "slower"], 1),
        ("slower", ["slower", "first"], 0),
        ("changed", ["slower", "first"], 1),
    ];
    for (wish, sides, code) in wishes.into_iter().take(size::of(1, wishes.len())) {
        let judged = toy.compare(&[sides[0], sides[1], "--fail-on", wish]);
        assert_eq!(judged.code, Some(code), "{wish} of {sides:?}: {judged:?}");
    }

    let again = toy.compare(&["first", "slower"]);
    assert!(result.err.contains("building first"), "{}", result.err);
    assert_eq!(again.err, "", "the second time both programs are found");
}

#[test]
fn a_commit_of_words_alone_is_the_same() {
    let toy = Toy::new();
    toy.write("README.md", "words\n");
    toy.commit("words");
    let result = toy.compare(&["first", "words"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert!(result.err.contains("equal bytes"), "{}", result.err);
    let report = toy.report();
    assert_eq!(report["plan"]["same_code"], true);
    assert_eq!(report["rows"][0]["comparisons"][0]["verdict"], "same");
    assert_eq!(toy.check().code, Some(0));
}

#[test]
fn uncommitted_changes_are_built_and_flagged() {
    let toy = Toy::new();
    toy.set("NS: u64 = 1000", "NS: u64 = 900");
    toy.write("junk.tmp", "ignored");
    let result = toy.compare(&["HEAD", "."]);
    assert_eq!(result.code, Some(0), "{result:?}");
    let report = toy.report();
    assert_eq!(report["builds"][0]["dirty"], false);
    assert_eq!(report["builds"][1]["dirty"], true);
    assert_eq!(report["rows"][0]["comparisons"][0]["verdict"], "faster");
    assert!(result.out.contains("with uncommitted changes"), "{}", result.out);
    assert!(result.out.contains("dirty: a build had uncommitted changes"), "{}", result.out);
    let mut status = Command::new("git");
    let status = result_of(status.arg("-C").arg(toy.repository()).args(["status", "--porcelain"]));
    assert_eq!(status.out, " M main.rs\n", "the user's tree and index are as they were");
}

#[test]
fn a_failed_build_shows_the_end_of_the_compilers_output() {
    let toy = Toy::new();
    toy.write("main.rs", "compile_error!(\"broken on purpose\");\n");
    toy.commit("broken");
    let result = toy.compare(&["first", "broken"]);
    assert_eq!(result.code, Some(4), "{result:?}");
    assert!(result.err.contains("the build of broken failed with exit status: 1"), "{}", result.err);
    assert!(result.err.contains("broken on purpose"), "{}", result.err);
    let nothing = toy.compare(&["first", ".", "--candidate-set", "build=true"]);
    assert_eq!(nothing.code, Some(4));
    assert!(nothing.err.contains("left no program at"), "{}", nothing.err);
}

#[test]
fn a_crashed_session_ends_its_row_and_keeps_the_data() {
    let toy = Toy::new();
    toy.set("CRASH_AT_SAMPLE: u64 = 0", "CRASH_AT_SAMPLE: u64 = 3");
    toy.commit("crashing");
    let result = toy.compare(&["first", "crashing", "--control", "off"]);
    assert_eq!(result.code, Some(4), "{result:?}");
    assert!(result.out.contains("crashing on purpose"), "the last words are shown: {}", result.out);
    assert!(result.out.contains("session 1 was repeated"), "once is an accident: {}", result.out);
    let report = toy.report();
    assert_eq!(report["rows"][0]["status"]["is"], "failed");
    let samples = &toy.read("samples.json")["rows"][0];
    assert!(!samples["ns"].as_array().expect("samples").is_empty());
    let checked = toy.check();
    assert_eq!(
        checked.code,
        Some(4),
        "the report is honest about it, and nothing follows from it: {checked:?}"
    );
    assert!(checked.out.contains("consistent, but not to be used"), "{}", checked.out);
}

#[test]
fn builds_from_before_and_after_a_new_word_are_compared() {
    let toy = Toy::new();
    let newer = [
        (r#""re":"hello""#, r#""re":"hello","news":[1]"#),
        (r#""re":"opened""#, r#""re":"opened","news":7,"working_set":4096"#),
        (r#""re":"sampled""#, r#""re":"sampled","news":null"#),
        ("NS: u64 = 1000", "NS: u64 = 900"),
    ];
    let text = newer.into_iter().fold(TOY.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    toy.write("main.rs", &text);
    toy.commit("newer");
    let result = toy.compare(&["first", "newer"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert_eq!(toy.report()["rows"][0]["comparisons"][0]["verdict"], "faster");

    toy.set(r#""protocol":2"#, r#""protocol":1"#);
    toy.commit("other-words");
    let other = toy.compare(&["first", "other-words"]);
    assert_eq!(other.code, Some(4), "{other:?}");
    assert!(other.out.contains("the session has protocol 1, this lab has 2"), "{}", other.out);
}

#[test]
fn wrong_results_have_no_speed() {
    let toy = Toy::new();
    toy.set("DIGEST: &str = \"07\"", "DIGEST: &str = \"08\"");
    toy.commit("wrong");
    toy.set("= \"07\"", "= \"08\"");
    toy.commit("other");
    let wrong = toy.compare(&["first", "wrong"]);
    assert_eq!(wrong.code, Some(4), "{wrong:?}");
    assert!(wrong.out.contains("computed 08, the reference is 07"), "{}", wrong.out);
    let other = toy.compare(&["first", "other"]);
    assert_eq!(other.code, Some(4), "{other:?}");
    assert!(other.out.contains("from one input, "), "both agree with themselves: {}", other.out);
}

#[test]
fn a_killed_run_leaves_an_unfinished_report() {
    let toy = Toy::new();
    toy.set("PAUSE_MS: u64 = 0", "PAUSE_MS: u64 = 50");
    let mut command = toy.command(&["first", "."]);
    let mut run = wait::start(command.stdout(Stdio::null()).stderr(Stdio::null())).expect("it starts");
    let has_sessions = || {
        let text = std::fs::read(toy.folder.join("out/report.json")).unwrap_or_default();
        let report: Value = serde_json::from_slice(&text).unwrap_or_default();
        report["rows"][0]["sessions"]["count"].as_u64().is_some_and(|count| count > 0)
    };
    wait::until("a session in the report", || {
        assert_eq!(run.try_wait().expect("ours"), None, "it ended before it could be killed");
        has_sessions()
    });
    run.kill().expect("it runs");
    run.wait().expect("it ended");
    let report = toy.report();
    assert_eq!(report["state"], "running");
    assert_eq!(report["rows"][0]["status"]["is"], "unfinished");
    assert_eq!(toy.check().code, Some(0), "{:?}", toy.check());
    let shown = result_of(lab().arg("report").arg(toy.folder.join("out/report.json")));
    assert!(shown.out.contains("The data measured so far are kept"), "{}", shown.out);
}

#[test]
fn a_directory_outside_of_git_and_a_program_are_sides_too() {
    let toy = Toy::new();
    let bare = toy.folder.join("bare");
    std::fs::create_dir(&bare).expect("a folder");
    std::fs::write(bare.join("main.rs"), TOY.replace("NS: u64 = 1000", "NS: u64 = 1200")).expect("a file");
    let program = toy.folder.join("program");
    let mut rustc = Command::new("rustc");
    let rustc = result_of(
        rustc.args(["--edition", "2024", "main.rs", "-o"]).arg(&program).current_dir(toy.repository()),
    );
    assert_eq!(rustc.code, Some(0), "{}", rustc.err);
    let path = |path: &PathBuf| path.to_str().expect("UTF-8").to_owned();
    let result = toy.compare(&[&path(&program), &path(&bare)]);
    assert_eq!(result.code, Some(0), "{result:?}");
    let report = toy.report();
    assert_eq!(report["rows"][0]["comparisons"][0]["verdict"], "slower");
    assert_eq!(report["builds"][0]["commit"], Value::Null);
    let fixed = "not covered: its link inputs are unknown";
    assert!(result.out.contains(fixed), "{}", result.out);
}

#[test]
fn every_session_runs_a_link_of_its_own() {
    if std::env::consts::OS != "linux" {
        return hashmill_testkit::skip(
            "lab: links for each session",
            "only programs of Linux are linked again",
        );
    }
    let toy = Toy::new();
    toy.set("NS: u64 = 1000", "NS: u64 = 1030");
    toy.commit("slower");
    let result = toy.compare(&["first", "slower"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    let report = toy.report();
    for build in 0..2 {
        assert_eq!(report["builds"][build]["layout"]["is"], "shuffled");
    }
    assert_eq!(report["plan"]["fixed_layout"], Value::Null);
    assert!(result.out.contains("layout covered: each session had a random layout"), "{}", result.out);
    let links = toy.folder.join("cache/links");
    assert_eq!(
        std::fs::read_dir(links).expect("it was made").count(),
        0,
        "links do not outlive their session"
    );
}

#[test]
fn differences_of_one_link_per_side_may_be_layout() {
    let toy = Toy::new();
    toy.set("NS: u64 = 1000", "NS: u64 = 1030");
    toy.commit("slower");
    // The plain builds write their program where one with known link inputs was; these inputs are not theirs.
    let plain = [&["--one-link"][..], &["--baseline-set", PLAIN_BUILD], &["--candidate-set", PLAIN_BUILD]];
    for more in plain.into_iter().take(size::of(1, plain.len())) {
        let result = toy.compare(&[&["first", "slower"], more].concat());
        assert_eq!(result.code, Some(0), "{result:?}");
        let report = toy.report();
        assert_eq!(report["rows"][0]["comparisons"][0]["verdict"], "inconclusive");
        assert!(result.out.contains("not distinguishable from layout"), "{}", result.out);
        assert_eq!(toy.check().code, Some(0), "{:?}", toy.check());
    }
    let strict = toy.compare(&["first", "slower", "--one-link", "--strict"]);
    assert_eq!(strict.code, Some(3), "{strict:?}");
    assert!(strict.out.contains("14 %, as measured for code that is sensitive to layouts"), "{}", strict.out);

    // Relinked sessions have shown here that layouts do not affect it.
    if !size::is_full() {
        return size::skip("lab: use known layouts in a later comparison");
    }
    if cfg!(target_os = "linux") {
        let linked = toy.compare(&["first", "slower"]);
        assert_eq!(linked.code, Some(0), "{linked:?}");
        let id = toy.report()["id"].clone();
        let known = toy.compare(&["first", "slower", "--one-link", "--strict"]);
        assert_eq!(known.code, Some(0), "{known:?}");
        let row = &toy.report()["rows"][0];
        assert_eq!(row["comparisons"][0]["verdict"], "slower");
        assert_eq!(row["layouts"]["report"], id);
        assert_eq!(
            (row["layouts"]["by"].as_f64(), row["layouts"]["sessions"].as_u64()),
            (Some(0.0), Some(20))
        );
        let message =
            format!("0.0 % in {}, the farthest of 20 sessions", row["title"].as_str().expect("a title"));
        assert!(known.out.contains(&message), "{}", known.out);
        assert_eq!(toy.check().code, Some(0), "{:?}", toy.check());
    }
}

#[test]
fn cargo_builds_a_workspace_with_the_settings_of_each_side() {
    let toy = Toy::new();
    toy.write("Cargo.toml", "[package]\nname = \"toy\"\nedition = \"2024\"\n[[bin]]\nname = \"toy\"\npath = \"main.rs\"\n[features]\nslow = []\n");
    toy.write(
        "main.rs",
        &TOY.replace("NS: u64 = 1000", "NS: u64 = if cfg!(feature = \"slow\") { 2000 } else { 1000 }"),
    );
    toy.commit("cargo");
    let mut command = lab();
    command.current_dir(toy.repository()).args(["compare", "cargo", "cargo", "--cases", "toy"]);
    command.args([
        "--set",
        "bin=toy",
        "--set",
        "profile=dev",
        "--candidate-set",
        "features=slow",
        "--rounds",
        "2",
    ]);
    command.arg("--cache").arg(toy.folder.join("cache")).arg("--out").arg(toy.folder.join("out"));
    let result = result_of(&mut command);
    assert_eq!(result.code, Some(0), "{result:?}");
    let report = toy.report();
    assert_eq!(report["rows"][0]["comparisons"][0]["verdict"], "slower");
    assert_eq!(report["builds"][0]["settings"][2], "features=");
    assert_eq!(report["builds"][1]["settings"][2], "features=slow");
}

/// As `build=…` of a bench does: flags in the environment are part of the build.
#[test]
fn flags_of_the_compiler_make_another_program_of_a_build_by_command() {
    if !size::is_full() {
        return size::skip("lab: build a program with several flags of the compiler");
    }
    let toy = Toy::new();
    toy.write("main.rs", &TOY.replace("NS: u64 = 1000", "NS: u64 = if cfg!(slow) { 2000 } else { 1000 }"));
    toy.commit("flags");
    let build = BUILD.replace("rustc ", "rustc $RUSTFLAGS ");
    let compare = |flags: &str, more: &[&str]| {
        let sides = ["flags", "flags", "--candidate-set", &build, "--baseline-set", &build];
        let compared = result_of(toy.command(&[&sides[..], more].concat()).env("RUSTFLAGS", flags));
        assert_eq!(compared.code, Some(0), "{compared:?}");
        let report = toy.report();
        let settings = [0, 1].map(|build| report["builds"][build]["settings"].clone());
        (compared.err, settings, report["rows"][0]["comparisons"][0]["verdict"].clone())
    };
    let (plain, flagged) = (serde_json::json!([build]), serde_json::json!([build, "rustflags=--cfg slow"]));
    let (_, settings, verdict) = compare("", &[]);
    assert_eq!((settings, verdict), ([plain.clone(), plain.clone()], Value::from("same")));

    let (output, settings, verdict) = compare("--cfg slow", &[]);
    assert!(output.contains("building flags"), "what was built without them is another program: {output}");
    assert_eq!((settings, verdict), ([flagged.clone(), flagged.clone()], Value::from("same")));

    let (output, settings, verdict) = compare("--cfg slow", &["--baseline-set", "rustflags="]);
    assert!(!output.contains("building flags"), "both are known: {output}");
    assert_eq!((settings, verdict), ([plain, flagged], Value::from("slower")));
}

#[test]
fn usage_errors_of_builds_are_one_line() {
    let toy = Toy::new();
    for (arguments, code, message) in [
        (&["nonesuch", "."][..], 2, "`nonesuch` is not a file, directory or revision of"),
        (&["first", ".", "--set", "profil=x"], 2, "did you mean `profile`?"),
        (&["first", ".", "--set", "features=x"], 2, "`features` is for cargo, but `build` replaces cargo"),
        (&["first", ".", "--sessions", "0"], 2, "sessions is 0"),
    ] {
        let result = toy.compare(arguments);
        assert_eq!(result.code, Some(code), "{arguments:?}: {result:?}");
        assert!(result.err.contains(message), "{arguments:?}: {}", result.err);
        assert_eq!(result.err.trim_end().lines().count(), 1, "{}", result.err);
    }
}

/// Engines of the running program, and of a copy that a build made: both have a statement about layouts.
#[test]
fn engines_of_one_link_differ_by_more_than_layout_or_not_at_all() {
    let folder = Folder::new("engines");
    let compare = |candidate: &str, more: &[&str]| {
        let mut command = lab();
        let cases = ["chain/plain/kernel/1000/t1", &format!("chain/{candidate}/kernel/1000/t1")];
        command.arg("compare").args(cases).args(["--rounds", "5", "--sample-ms", "0.1", "--no-count"]);
        command.args(more).arg("--cache").arg(folder.join("cache")).arg("--out").arg(folder.join("out"));
        result_of(&mut command)
    };
    let report = || {
        let text = std::fs::read(folder.join("out/report.json")).expect("a report");
        serde_json::from_slice::<Value>(&text).expect("JSON")
    };
    let twice = compare("twice", &[]);
    assert_eq!(twice.code, Some(0), "{twice:?}");
    assert_eq!(report()["rows"][0]["comparisons"][0]["verdict"], "slower", "{}", twice.out);
    assert!(twice.out.contains("--from SOURCE links it again"), "{}", twice.out);
    assert_eq!(result_of(lab().arg("check").arg(folder.join("out/report.json"))).code, Some(0));

    let own = lab().get_program().to_owned();
    let build = format!("build=cp '{}' \"$LAB_PROGRAM\"", own.to_str().expect("UTF-8"));
    let bare = folder.join("bare");
    std::fs::create_dir(&bare).expect("a folder");
    let from = ["--from", bare.to_str().expect("UTF-8"), "--set", &build];
    let copied = compare("twice", &from);
    assert_eq!(copied.code, Some(0), "{copied:?}");
    let layout = &report()["builds"][0]["layout"];
    assert_eq!(layout["is"], "fixed");
    assert_eq!(layout["by"], "its build did not link with $LAB_LINKER");

    let both = result_of(lab().args(["compare", ".", ".", "--from", "."]));
    assert_eq!(both.code, Some(2), "{both:?}");
    assert!(both.err.contains("--from is for engines and cases"), "{}", both.err);
}

/// Flags that cannot be stored in a report are not silently dropped.
#[cfg(unix)]
#[test]
fn rejects_flags_that_are_not_utf8() {
    use std::os::unix::ffi::OsStrExt as _;
    let toy = Toy::new();
    let mut command = toy.command(&["first", "."]);
    let refused = result_of(command.env("RUSTFLAGS", std::ffi::OsStr::from_bytes(b"-O\xff")));
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("RUSTFLAGS is not UTF-8"), "{refused:?}");
}
