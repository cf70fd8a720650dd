//! `hashmill lab` through the real binary, with minimal sessions.

use crate::world::{Done, World, finish, hashmill};
use serde_json::Value;
use std::fs;
use std::process::Command;

/// The shortest possible session.
pub(crate) const TINY: [&str; 8] =
    ["--sessions", "1", "--rounds", "1", "--warm-ups", "0", "--sample-ms", "0.001"];

fn lab(world: &World, args: &[&str]) -> Done {
    world.run(&hashmill(), ["lab"].iter().chain(args), b"")
}

/// Runs the patterns in tiny sessions. Returns the report, whose folder is `r`.
fn tiny(world: &World, patterns: &[&str]) -> Value {
    let done = lab(world, &[&["run"], patterns, &TINY, &["--out", "r"]].concat());
    assert_eq!((done.code(), &*done.err), (0, ""), "{}", done.text());
    serde_json::from_slice(&fs::read(world.path("r/report.json")).expect("a report")).expect("JSON")
}

fn rows(report: &Value) -> &[Value] {
    report["rows"].as_array().expect("rows")
}

#[test]
fn blake3_engines_match_the_reference() {
    let world = World::new();
    let patterns = [
        "blake3/*/kernel/1025/*",
        "blake3/*/oneshot/1025/t1",
        "blake3/stream/oneshot/5000/t1/piece=64",
        "blake3/context/*end/3KiB/t1",
        "blake3/first/cold/3KiB/t1",
        "blake3/hash/oneshot/0/t1",
        "blake3-keyed/*/*/64/t1",
        "blake3-derive/*/*/64/t1",
        "blake3-batch/*/*/100/t1/messages=17",
        "blake3-xof/*/*/131/t1",
    ];
    let report = tiny(&world, &patterns);
    assert!(rows(&report).len() >= 14, "{report}");
    for row in rows(&report) {
        assert_eq!(row["status"]["is"], "ok", "{row}");
        let side = &row["sides"][0];
        assert!(!side["digest"].as_str().expect("a digest").is_empty() && side["kernel"] != "", "{row}");
    }
    let checked = lab(&world, &["check", "r/report.json"]);
    assert!(checked.quiet_success().contains("ok;"));
}

#[test]
fn every_available_kernel_can_be_forced() {
    let world = World::new();
    let report = tiny(&world, &["blake3/hash/kernel/3KiB/t1/*", "argon2id/hasher/kernel/64KiB/t1/*"]);
    let count = hashmill_hash::blake3::Kernel::all().count() + hashmill_hash::argon2::Kernel::all().count();
    assert_eq!(rows(&report).len(), count);
    for row in rows(&report) {
        let side = &row["sides"][0];
        let forced = side["key"].as_str().and_then(|key| key.rsplit('/').next()).expect("a key");
        assert!(side["kernel"].as_str().is_some_and(|ran| ran.starts_with(forced)), "{row}");
    }
}

#[test]
fn has_rows_for_files_and_argon2() {
    let world = World::new();
    let report = tiny(
        &world,
        &[
            "file/sum/*/100KiB/*",
            "argon2*/hasher/oneshot/64KiB/t1/passes=1/lanes=1",
            "argon2id/hasher/backend/64KiB",
        ],
    );
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(2);
    assert_eq!(rows(&report).len(), 6 * threads + 3 + threads);
    // The expected value is in the message if it differs.
    let ok = |row: &Value| {
        let side = &row["sides"][0];
        let done = row["status"]["is"] == "ok" && side["digest"].is_string() && side["reference"].is_null();
        // Not every file system supports direct reads.
        done || (row["class"] == "file:direct" && row["status"]["is"] == "unavailable")
    };
    assert!(rows(&report).iter().all(ok), "{report}");
    assert!(rows(&report).iter().any(|row| row["class"] == "file:mmap-parallel"), "{report}");
}

#[test]
fn checks_known_answers_and_measures_floors() {
    let world = World::new();
    let report = tiny(&world, &["blake3/hash/oneshot/1KiB/t1", "argon2id/hasher/kernel/64KiB/t1", "--floor"]);
    let answers = report["answers"].as_array().expect("answers");
    for engine in ["BLAKE3", "files", "Argon2"] {
        // Each available kernel has rows.
        let right = answers.iter().find(|of| of["engine"] == engine).and_then(|of| of["right"].as_u64());
        assert!(right > Some(2), "{engine}: {answers:?}");
    }
    let [hash, tag, probes @ ..] = rows(&report) else { panic!("{report}") };
    for row in [hash, tag] {
        let share = row["sides"][0]["floor"]["share"].as_f64().expect("a floor");
        assert!(share > 0.0, "{row}");
    }
    let probes: Vec<&str> = probes.iter().filter_map(|row| row["title"].as_str()).collect();
    assert_eq!(probes, ["lab.ports/probe/kernel/1000000/t1", "lab.cpu/probe/kernel/20000/t1"]);
    let text = lab(&world, &["report", "r/report.json"]).quiet_success();
    assert!(text.contains("reached") && text.contains("known answers right"), "{text}");
    assert!(lab(&world, &["check", "r/report.json"]).quiet_success().contains(": ok;"));
}

#[test]
fn newcomer_suite_names_existing_cases() {
    let world = World::new();
    let listed = lab(&world, &["list", "headline"]).quiet_success();
    assert!(listed.lines().count() >= 14, "{listed}");
    for group in [
        "sha256/sha2/oneshot/64/t1",
        "blake3/hash/oneshot/64/t1",
        "blake3-batch/",
        "blake3-xof/",
        "file/sum/file:auto/256MiB/t1",
        "argon2id/",
    ] {
        assert!(listed.lines().any(|line| line.starts_with(group)), "{group} in {listed}");
    }
}

/// Output for a first-time user: a row per product beside the usual tool, and the path of the page.
#[test]
fn headline_is_one_table() {
    let world = World::new();
    let done = lab(&world, &[&["run", "headline"], &TINY[..], &["--out", "r"]].concat());
    let text = done.quiet_success();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("✔ ") && lines[0].ends_with(" timed results right"), "{text}");
    assert!(lines[1].starts_with("Hashmill on "), "{text}");
    let fits = |line: &&str| line.chars().count() <= 80 || line.starts_with("page: ");
    assert!(lines.iter().all(fits), "{text}");
    for product in ["FILES", "MESSAGES", "PASSWORDS", "DOCUMENTS", "WORK"] {
        assert!(lines.iter().any(|line| line.starts_with(product)), "{product} in {text}");
    }
    let beside =
        |tool: &str| lines.iter().any(|line| line.contains("× ±? as fast as ") && line.contains(tool));
    assert!(beside("SHA-256 "), "{text}");
    let address =
        lines.iter().find_map(|line| line.strip_prefix("page: file://")).expect("where the page is");
    let page = fs::read_to_string(address).expect("the page");
    assert!(page.contains("<h1>Hashmill on ") && page.contains(">FILES, 256 MiB<"), "{page}");
    assert!(lab(&world, &["check", "r/report.json"]).quiet_success().contains(": ok;"));
}

/// The newest run is found without its name, and its page is opened in a browser.
#[cfg(target_os = "linux")]
#[test]
fn opens_the_newest_page() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    world.write("bin/xdg-open", "#!/bin/sh\nprintf %s \"$1\" > opened.new && mv opened.new opened\n");
    let browser = world.path("bin/xdg-open");
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).expect("an executable file");
    let path = format!("{}:/usr/bin:/bin", world.path("bin").display());
    let mut command = Command::new(hashmill());
    command.args(["lab", "run", "blake3/hash/kernel/64/t1", "--open"]).args(TINY).env("PATH", path);
    let text = finish(world.start(&mut command)).quiet_success();
    let shown = text.lines().find_map(|line| line.strip_prefix("report ")).expect("where the page is");
    let latest = world.path("lab-results/latest/report.html");
    let [page, linked] = [world.path(shown), latest].map(|path| fs::read(path).expect("a page"));
    assert!(page == linked);
    let opened = world.path("opened");
    hashmill_testkit::wait::until("the call of the browser", || opened.exists());
    let address = fs::read_to_string(opened).expect("an address");
    assert!(address.starts_with("file:///") && address.ends_with(shown), "{address}");
}

/// Each command of the lab has examples that parse.
#[test]
fn help_examples_parse() {
    let world = World::new();
    let listed = lab(&world, &["--help"]).quiet_success();
    let commands = listed.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let names: Vec<&str> = commands.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() == 9 && names.contains(&"run"), "{names:?}");
    let examples: Vec<&str> =
        listed.lines().filter_map(|line| line.strip_prefix("  hashmill lab ")).collect();
    assert!(examples.len() == 2 && examples[1].starts_with("compare -- "), "{listed}");
    for name in names.into_iter().filter(|name| *name != "help") {
        let help = lab(&world, &[name, "-h"]).quiet_success();
        assert!(help.lines().count() <= 40, "{name}: {help}");
        let examples: Vec<&str> =
            help.lines().filter_map(|line| line.strip_prefix("  hashmill lab ")).collect();
        assert_eq!(examples.len(), 2, "{name}: {help}");
        for example in examples {
            let words: Vec<&str> = example.split(' ').chain(["--help"]).collect();
            assert_eq!(words[0], name, "{example}");
            lab(&world, &words).quiet_success();
        }
    }
}

#[test]
fn unsupported_cases_are_skipped_with_a_reason() {
    let world = World::new();
    let done = lab(&world, &[&["run", "blake3/hash/kernel/64/t7"], &TINY[..], &["--out", "r"]].concat());
    assert_eq!(done.code(), 3, "nothing was measured, so nothing is proven: {done:?}");
    assert!(done.text().contains("skipped: this engine has one thread"), "{}", done.text());
    assert!(done.err.contains("nothing was measured"), "{}", done.err);
}

/// Common costs are suites, and the reports name the kernel and the page size.
#[test]
fn argon2_suites_name_existing_cases() {
    let world = World::new();
    for (suite, count, case) in [
        ("argon2sharp", 5, "argon2id/hasher/backend/256MiB/t1/lanes=4/passes=6/tag=64"),
        ("owasp", 5, "argon2id/hasher/backend/7MiB/t1/lanes=1/passes=5"),
        ("rfc9106", 3, "argon2id/hasher/backend/2GiB/t1/lanes=4/passes=1"),
        ("argon2-scaling", 3, "argon2id/hasher/backend/64MiB/t1/lanes=4/passes=3"),
        ("pow", 5, "pow/workers/end-to-end/2GiB/t1/in-flight=1"),
        ("argon2id-half", 4, "argon2id-half/dependent/kernel/64MiB/t1"),
    ] {
        let listed = lab(&world, &["list", suite]).quiet_success();
        assert!(listed.lines().count() >= count, "{listed}");
        assert!(listed.lines().any(|line| line.starts_with(case)), "{case} in {listed}");
    }
    let cases = [
        "pow/workers/end-to-end/1MiB/t1/in-flight=1",
        "pow/workers/backend/1MiB/t*/in-flight=1",
        "pow/workers/backend/1MiB/t1/in-flight=1/cores=best",
        "pow-stop/workers/kernel/1MiB/t1/in-flight=2",
        "argon2id-half/*/kernel/1MiB",
    ];
    let done = lab(&world, &[&["run"], &cases[..], &TINY[..], &["--out", "r"]].concat());
    assert_eq!(done.code(), 0, "{done:?}");
    let text = done.text();
    for words in [
        "pow/workers/end-to-end/1MiB/t1/in-flight=1",
        "pow-stop/workers",
        "cores=best",
        "argon2id-half/independent",
        "H/s",
        "GiB/s",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    if std::thread::available_parallelism().is_ok_and(|threads| threads.get() > 1) {
        assert!(text.contains("of each thread"), "{text}");
    }
    assert!(lab(&world, &["check", "r/report.json"]).quiet_success().contains(": ok;"));
}

#[test]
fn usage_errors_are_one_line_with_code_2() {
    let world = World::new();
    world.write("taken", "a file where a folder should be");
    for (args, words) in [
        (&["run", "blake/hash"][..], "no workload matches `blake` in `blake/hash` (did you mean `blake3`?)"),
        (&["run", "blake3/hash/kernl"], "(did you mean `kernel`?)"),
        (&["run", "headlin"], "(did you mean `headline`?)"),
        (&["run", "blake3/hash/kernel/64", "--full"], "--full is for a single suite with a summary"),
        (&["run"], "name what to run: `run headline` is a good start, `list` shows all"),
        (&["rum"], "unrecognized subcommand 'rum'; a similar subcommand exists: 'run'"),
        (&["run", "blake3/hash/kernel/64", "--rounds", "0"], "rounds is 0, but must be between 1 and 1000"),
        (&["check", "nothing.json"], "cannot read nothing.json"),
        (&["run", "blake3/hash/kernel/64", "--sessions", "0"], "sessions is 0, but must be between 1 and"),
        (&["run", "blake3/hash/kernel/64", "--sample-ms", "-1"], "invalid value '-1' for '--sample-ms <MS>'"),
        (&["run", "blake3/hash/kernel/64", "--out", "taken/r"], "cannot write taken/r/report.json: "),
        (&["run", "blake3/context/sustained/64"], "is sustained; measure it with `run --for 2m`"),
        (&["compare", "blake3/hash/oneshot/64"], "a comparison has two sides"),
        (
            &["compare", "blake3/hash/oneshot/64", "blake3/context/backend/64/t1"],
            "are of different timing classes: `oneshot` times reserve+stage+run+digest, `backend` times stage+run+digest",
        ),
        (&["compare", "blake3/hash/oneshot/64", "--engines", "hash,hash"], "would be compared with itself"),
    ] {
        let done = lab(&world, args);
        assert_eq!(done.code(), 2, "{done:?}");
        assert!(done.err.starts_with("hashmill lab: ") && done.err.contains(words), "{}", done.err);
        assert_eq!(done.err.lines().count(), 1, "{}", done.err);
    }
}

/// A file of one gate on two engines of the program.
fn gates(must: &str, more: &str) -> String {
    format!(
        "# why\n[defaults]\nconfirm = 1\n{more}\n[[gate]]\nname = \"streams\"\ncases = [\"blake3/hasher/oneshot/*/t1\"]\n\
         rival = \"hash\"\nmust = {must} # as of today\n"
    )
}

fn gate(world: &World, args: &[&str]) -> Done {
    // Samples of a microsecond may have unequal lengths by the clock's resolution, and then there is no verdict.
    let short = ["--rounds", "3", "--warm-ups", "1", "--sample-ms", "0.05", "--control", "off", "--out", "g"];
    lab(world, &[&["gate", "gates.toml"], args, &short].concat())
}

/// The end of a line about samples of unequal length, which occur on a busy machine.
const UNDECIDED: &str = "NO VERDICT: samples of unequal length";

/// The exit code of gates: `decided`, or the code for inconclusive results.
fn code_of(gated: &Done, decided: i32) -> i32 {
    if gated.text().contains(UNDECIDED) { 4 } else { decided }
}

#[test]
fn gates_pass_fail_and_are_raised() {
    let world = World::new();
    world.write("gates.toml", gates("{ 64 = 0.001, 1KiB = 0.001 }", ""));
    let passed = gate(&world, &["--ratchet"]);
    assert_eq!((passed.code(), &*passed.err), (code_of(&passed, 0), ""), "{}", passed.text());
    let rows = passed.text();
    let undecided = rows.matches(UNDECIDED).count();
    assert_eq!(rows.lines().filter(|line| line.ends_with("  pass")).count() + undecided, 2, "{rows}");
    let raised = fs::read_to_string(world.path("gates.toml")).expect("gates");
    assert!(raised.starts_with("# why\n") && raised.ends_with("# as of today\n"), "{raised}");
    assert_eq!(raised.matches("0.001").count(), undecided, "{raised}");
    // No machine is a thousand times faster than itself, also in the run that repeats the failure.
    world.write("gates.toml", gates("{ 64 = 1000 }", ""));
    let failed = gate(&world, &[]);
    assert_eq!(failed.code(), code_of(&failed, 1), "{failed:?}");
    if failed.code() == 1 {
        assert!(failed.text().contains("FAIL"), "{}", failed.text());
        assert!(world.path("g/confirm-1/report.json").exists());
    }
    // The report of that run can be judged again with other thresholds.
    world.write("gates.toml", gates("0.001", "").replace("/*/", "/64/"));
    let again = gate(&world, &["--report", "g/report.json"]);
    assert_eq!(again.code(), code_of(&again, 0), "{again:?}");
    world.write("gates.toml", gates("0.001", "").replace("/*/", "/128/"));
    let missing = gate(&world, &["--report", "g/report.json"]);
    assert_eq!(missing.code(), 1, "{missing:?}");
    assert!(missing.text().contains("MISSING: no report compares it"), "{}", missing.text());
}

#[test]
fn bad_gates_are_one_line_each() {
    let world = World::new();
    let absent = gates("1", "").replace("/hasher/", "/hashr/");
    let rival = gates("1", "").replace("rival = \"hash\"", "rival = \"hasg\"");
    for (text, code, words) in [
        (gates("0", ""), 2, "gates.toml: gate `streams`: must is 0, but a ratio is a finite number above 0"),
        (gates("-1", ""), 2, "must is -1,"),
        (absent, 2, "gates.toml: gate `streams`: no engine matches `hashr`"),
        (rival, 2, "no engine matches `hasg` in `blake3/hasg/oneshot/1/t1` (did you mean `hash`?)"),
        (gates("1", "").replace("must", "mist"), 2, "gates.toml: "),
        (
            gates("1", "").replace("rival = \"hash\"\n", ""),
            2,
            "gates.toml: streams: it compares builds: measure them with `compare`",
        ),
        (String::new(), 2, "it has no gates"),
    ] {
        world.write("gates.toml", &text);
        let done = gate(&world, &[]);
        assert_eq!(done.code(), code, "{done:?}");
        assert!(done.err.contains(words), "{}", done.err);
        assert_eq!(done.err.lines().count(), 1, "{}", done.err);
    }
    world.write("gates.toml", gates("1", "")).write("foreign.json", "{}");
    let foreign = gate(&world, &["--report", "foreign.json"]);
    assert_eq!((foreign.code(), foreign.err.lines().count()), (4, 1), "{foreign:?}");
    let nowhere = gate(&world, &["--filter", "nothing"]);
    assert_eq!(nowhere.code(), 2, "{nowhere:?}");
    let missing = lab(&world, &["gate", "absent.toml"]);
    assert!(missing.err.starts_with("hashmill lab: cannot read absent.toml"), "{missing:?}");
}

#[test]
fn reports_of_other_machines_decide_no_gate() {
    let world = World::new();
    world.write("gates.toml", gates("0.001", "").replace("/*/", "/64/"));
    let gated = gate(&world, &[]);
    assert_eq!(gated.code(), code_of(&gated, 0), "{gated:?}");
    // An edited report is invalid; its seal is checked before the machine.
    let report = fs::read_to_string(world.path("g/report.json")).expect("a report");
    world.write("changed.json", report.replace("\"memory_gib\": ", "\"memory_gib\": 1"));
    let done = gate(&world, &["--report", "changed.json"]);
    assert_eq!(done.code(), 4, "{done:?}");
    assert!(done.err.contains("changed.json: machine: "), "{}", done.err);
}

#[test]
fn readme_claims_are_proven() {
    let world = World::new();
    let claims = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/claims.toml");
    let checked = lab(&world, &["claim", "check", "--file", claims]);
    assert_eq!(checked.code(), 0, "{}", checked.text());
    assert!(!checked.text().starts_with("0 of"), "{}", checked.text());
}
