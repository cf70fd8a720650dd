//! A bench of an unrelated crate, run by cargo as its author would.

use crate::program::{CommandResult, Folder, cache, result_of, result_of_build};
use hashmill_testkit::size;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A small bench.
const SORT: &str = r#"fn main() {
    hashmill_lab::benches(|b| {
        b.case("sort/100").items(100).inputs(|random| random.numbers(100)).run_mut(|v| v.sort_unstable());
        b.case("sum/1KiB").bytes(1024).inputs(|random| random.bytes(1024)).run(|v| scratch::sum(v));
        b.case("fib").run(|| scratch::fib(20));
    });
}
"#;

const LIB: &str = "pub fn sum(v: &[u8]) -> u64 { v.iter().map(|b| u64::from(*b)).sum() }\n\
                   pub fn fib(n: u32) -> u32 { if n < 2 { n } else { fib(n - 1) + fib(n - 2) } }\n";

/// The shortest possible run: the results do not matter.
const TINY: [&str; 8] = ["--sessions", "1", "--rounds", "1", "--warm-ups", "0", "--sample-ms", "0.001"];

/// A package and its bench with the same name: in a shared target folder, only names distinguish them.
struct Scratch(Folder, &'static str);

impl Scratch {
    fn new(name: &'static str) -> Self {
        let scratch = Scratch(Folder::new("bench"), name);
        let lab = Path::new(env!("CARGO_MANIFEST_DIR"));
        // The same as in this workspace, so that common dependencies are built once.
        let manifest = format!(
            "[package]\nname = \"{name}\"\nedition = \"2024\"\n\
             [lib]\nname = \"scratch\"\nbench = false\n\
             [dev-dependencies]\nhashmill-lab = {{ path = {:?} }}\n\
             [[bench]]\nname = \"{name}\"\nharness = false\n\
             [workspace]\n[profile.dev]\ndebug = \"line-tables-only\"\n[profile.dev.package.sha2]\nopt-level = 3\n",
            lab.display().to_string()
        );
        scratch.write("Cargo.toml", &manifest);
        scratch.write("src/lib.rs", LIB);
        scratch.write_bench(SORT);
        std::fs::copy(lab.join("../../Cargo.lock"), scratch.0.join("Cargo.lock"))
            .expect("the versions that we have");
        scratch
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().expect("in a folder")).expect("a folder");
        std::fs::write(path, text).expect("a writable folder");
    }

    fn write_bench(&self, text: &str) {
        self.write(&format!("benches/{}.rs", self.1), text);
    }

    /// Target folder of this test.
    fn target() -> PathBuf {
        let own = std::env::current_exe().expect("a test has a path");
        own.ancestors().nth(3).expect("target/<profile>/deps/<test>").to_owned()
    }

    fn cargo(&self, arguments: &[&str]) -> CommandResult {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(self.0.join("")).env("NO_COLOR", "1").env("XDG_CACHE_HOME", cache());
        // Removes cargo's variables about this test's own package.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("CARGO_PKG") || name == "CARGO_MANIFEST_DIR" {
                cargo.env_remove(name);
            }
        }
        let (command, rest) = arguments.split_first().expect("a command");
        cargo.arg(command).args(["--offline", "--quiet", "--target-dir"]).arg(Self::target()).args(rest);
        result_of_build(&mut cargo)
    }

    /// `cargo bench -- …`, with the profile of tests.
    fn bench(&self, arguments: &[&str]) -> CommandResult {
        self.cargo(&[&["bench", "--profile", "dev", "--"], arguments].concat())
    }

    fn shelf(&self) -> PathBuf {
        Self::target().join("debug/hashmill-lab").join(self.1)
    }
}

#[test]
fn a_bench_of_ten_lines_lists_tests_measures_and_compares() {
    if !size::is_full() {
        return size::skip(
            "lab: build the bench of another crate; list, test, measure and compare its cases",
        );
    }
    let scratch = Scratch::new("lab_scratch");
    std::fs::remove_dir_all(scratch.shelf()).ok();

    let tests = scratch.cargo(&["test", "--benches"]);
    assert_eq!(tests.code, Some(0), "{tests:?}");
    let run: Vec<&str> = tests.out.lines().filter(|line| line.ends_with("... ok")).collect();
    assert_eq!(run, ["test sort/100 ... ok", "test sum/1KiB ... ok", "test fib ... ok"]);
    assert!(!scratch.shelf().exists(), "a test keeps nothing");

    let listed = scratch.bench(&["--list", "s"]);
    assert_eq!(
        (listed.code, &*listed.out),
        (Some(0), "sort/100: benchmark\nsum/1KiB: benchmark\n\n0 tests, 2 benchmarks\n")
    );
    let exact = scratch.bench(&["--list", "--exact", "sum", "--format", "terse"]);
    assert_eq!((exact.code, &*exact.out), (Some(0), ""));

    let first = scratch.bench(&[&["fib", "sum"], &TINY[..]].concat());
    assert_eq!(first.code, Some(0), "{first:?}");
    assert!(first.out.starts_with("case "), "{}", first.out);
    assert!(first.out.contains("sum/1KiB ") && first.out.contains("iB/s"), "a rate: {}", first.out);
    assert!(!first.out.contains("sort/100") && !first.out.contains("verdict"), "{}", first.out);
    let report = scratch.shelf().join("report/report.json");
    let checked = scratch.bench(&["lab", "check", report.to_str().expect("UTF-8")]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(checked.out.contains("report.json: ok; "), "{}", checked.out);

    // Nothing has changed, so there is nothing to compare with.
    let again = scratch.bench(&[&["fib"], &TINY[..]].concat());
    assert!(again.code == Some(0) && !again.out.contains("verdict"), "{again:?}");

    // One case is new, and the others are compared with the previous run.
    scratch.write_bench(&SORT.replace("b.case(\"fib\")", "b.case(\"new\").run(|| 1);\n b.case(\"fib\")"));
    let changed = scratch.bench(&[&["fib", "new", "--save", "kept"], &TINY[..]].concat());
    assert_eq!(changed.code, Some(0), "{changed:?}");
    assert!(
        changed.out.starts_with("ratio: the time of the run before divided by that of this program, "),
        "{}",
        changed.out
    );
    let row = changed.out.lines().find(|line| line.starts_with("fib ")).expect("a row");
    assert!(
        row.ends_with("inconclusive") || row.contains("inconclusive (try"),
        "of one session nothing follows: {row}"
    );
    assert!(changed.out.lines().any(|line| line.starts_with("new ")), "{}", changed.out);
    assert!(changed.out.contains("each program has one code layout"), "{}", changed.out);
    scratch.write_bench(SORT);
    let based = scratch.bench(&[&["fib", "--base", "kept"], &TINY[..]].concat());
    assert!(
        based.code == Some(0)
            && based.out.starts_with("ratio: the time of kept divided by that of this program, "),
        "{based:?}"
    );

    // A program with another result has no speed, and the next run is not compared with it.
    scratch.write("src/lib.rs", &LIB.replace("if n < 2 { n }", "if n < 2 { 1 }"));
    for (when, has_colours) in [("always", true), ("never", false)] {
        let other = scratch.bench(&[&["fib", "--color", when], &TINY[..]].concat());
        assert_eq!(other.code, Some(4), "{other:?}");
        assert_eq!(other.out.contains('\u{1b}'), has_colours, "{}", other.out);
        assert!(other.out.contains("WRONG RESULT") && other.out.contains("from one input"), "{}", other.out);
    }
}

/// The fewest sessions that can prove something, without a control, which could fail independently.
const CHECK: [&str; 6] = ["--fail-on", "slower", "--sessions", "10", "--control", "off"];

/// A bench with one case, whose speed depends on the depth.
fn fib(name: &str, depth: u32) -> String {
    format!(
        "fn main() {{\n    hashmill_lab::benches(|b| {{\n        \
         b.case(\"{name}\").run(|| {{\n            std::hint::black_box(scratch::fib({depth}));\n        }});\n    \
         }});\n}}\n"
    )
}

#[test]
fn a_failed_or_empty_check_does_not_pass_when_repeated() {
    if !size::is_full() {
        return size::skip("lab: build a bench anew for each check of it");
    }
    let scratch = Scratch::new("lab_scratch_check");
    std::fs::remove_dir_all(scratch.shelf()).ok();
    let check = |words: &[&str]| {
        let result = scratch.bench(&[words, &CHECK, &TINY[2..]].concat());
        let own = result.err.lines().filter(|line| line.starts_with("lab_scratch_check: "));
        let own: Vec<String> = own.map(str::to_owned).collect();
        (result.code, own.join("\n"))
    };
    let nothing = |(code, message): (Option<i32>, String)| {
        assert_eq!(code, Some(3), "{message}");
        assert!(message.starts_with("lab_scratch_check: nothing was compared"), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    };
    scratch.write_bench(&fib("fib", 1));
    nothing(check(&[]));
    nothing(check(&[]));

    // A program that is thousands of times slower is slower on every machine. It fails until it is accepted.
    scratch.write_bench(&fib("fib", 20));
    for _ in 0..2 {
        assert_eq!(check(&[]), (Some(1), String::new()));
    }
    let taken = scratch.bench(&[&["fib", "--save", "kept"], &TINY[..]].concat());
    assert_eq!(taken.code, Some(0), "{taken:?}");
    nothing(check(&[]));

    // A case that is missing in the base cannot be compared.
    scratch.write_bench(&fib("renamed", 20));
    for more in ["--no-pin", "--strict"] {
        let renamed = scratch.bench(&[&["--base", "kept", more], &TINY[..]].concat());
        assert_eq!((renamed.code, renamed.out.as_str()), (Some(2), ""), "{renamed:?}");
        assert!(renamed.err.contains("kept has none of these cases"), "{}", renamed.err);
    }
    nothing(check(&[]));
}

#[test]
fn a_base_that_is_a_revision_is_built_and_linked_for_each_session() {
    if !size::is_full() {
        return size::skip("lab: build a bench and its base in another revision");
    }
    let scratch = Scratch::new("lab_scratch_revision");
    std::fs::remove_dir_all(scratch.shelf()).ok();
    let manifest = std::fs::read_to_string(scratch.0.join("Cargo.toml")).expect("a manifest");
    // Both sides are built as benches; their speed does not matter.
    scratch.write("Cargo.toml", &format!("{manifest}[profile.bench]\nopt-level = 0\n"));
    scratch.write_bench(&fib("fib", 20));
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(scratch.0.join("")).args(["-c", "user.name=t", "-c", "user.email=t@t"]);
        let result = result_of(git.args(words));
        assert_eq!(result.code, Some(0), "git {words:?}: {}", result.err);
    };
    git(&["init", "--quiet"]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "-m", "slow"]);
    git(&["tag", "slow"]);

    scratch.write_bench(&fib("fib", 1));
    let sessions = ["--sessions", "10", "--control", "off"];
    let based = scratch.bench(&[&["--base", "slow"], &sessions[..], &TINY[2..]].concat());
    assert_eq!(based.code, Some(0), "{based:?}");
    assert!(
        based.out.starts_with("ratio: the time of slow divided by that of this program, "),
        "{}",
        based.out
    );
    let row = based.out.lines().find(|line| line.starts_with("fib ")).expect("a row");
    assert!(row.contains("faster"), "thousands of times: {row}");
    if cfg!(target_os = "linux") {
        assert!(!based.out.contains("one link"), "{}", based.out);
        let text = std::fs::read(scratch.shelf().join("report/report.json")).expect("a report");
        let report: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        for build in report["builds"].as_array().expect("two") {
            assert_eq!(build["layout"]["is"], "shuffled");
        }
    }
}

/// Everyone who adds a bench to a crate must build all of these.
#[test]
fn a_bench_brings_few_crates() {
    let scratch = Scratch::new("lab_scratch_tree");
    let tree = ["tree", "--package", "hashmill-lab", "--edges", "all", "--prefix", "none"];
    let mut cargo = Command::new(env!("CARGO"));
    let result =
        result_of(cargo.current_dir(scratch.0.join("")).args(tree).args(["--offline", "--no-dedupe"]));
    assert_eq!(result.code, Some(0), "{result:?}");
    let names = result.out.lines().filter_map(|line| line.split(' ').next());
    let crates: std::collections::BTreeSet<&str> = names.filter(|name| !name.is_empty()).collect();
    assert!((20..=45).contains(&crates.len()), "{}: {crates:?}", crates.len());
}

#[test]
fn usage_errors_of_a_bench_are_one_line() {
    if !size::is_full() {
        return size::skip("lab: build a bench and give it wrong arguments");
    }
    let scratch = Scratch::new("lab_scratch_wrong");
    scratch.write("src/lib.rs", &LIB.replace(".sum()", ".sum::<u64>() + 1"));
    scratch.write_bench(&SORT.replace(
        ".run(|v| scratch::sum",
        ".expect(|v| v.iter().map(|b| *b as u64).sum::<u64>()).run(|v| scratch::sum",
    ));
    let tests = scratch.cargo(&["test", "--benches"]);
    assert_ne!(tests.code, Some(0), "{tests:?}");
    assert!(tests.out.contains("test sum/1KiB ... FAILED: it computed "), "{}", tests.out);
    for (arguments, code, message) in [
        (&["--nonsense"][..], 2, "--nonsense"),
        (&["--base", "no such thing"], 2, "`no such thing` is not a file, directory or revision"),
        (&["--save", "../x", "fib", "--sessions", "0"], 2, "sessions is 0"),
        (&["lab", "run", "nothing/like/this"], 2, "no workload matches `nothing`"),
        (&["lab", "run", "fib", "--floor"], 2, "was built without the feature `limits` of hashmill-lab"),
        (&["--color", "sometimes"], 2, "sometimes"),
    ] {
        let result = scratch.bench(arguments);
        let own: Vec<&str> =
            result.err.lines().filter(|line| line.starts_with("lab_scratch_wrong")).collect();
        assert!(own.len() == 1 && own[0].contains(message), "{arguments:?}: {result:?}");
        assert_eq!(result.code, Some(code), "{result:?}");
    }
    // Cargo passes the same arguments to other benches, which may have such a case. A check needs a result.
    for (words, code, message) in [
        (
            &["nonesuch", "sort/.*"][..],
            0,
            "no remaining case has `nonesuch` or `sort/.*` in its name; --list shows",
        ),
        (&["--exact", "sum"], 0, "no case is called `sum`"),
        (&["nonesuch", "--fail-on", "slower"], 3, "nothing was compared: no remaining case has `nonesuch`"),
        (&["--skip", "s", "--skip", "fib"], 2, "no case remains"),
    ] {
        let none = scratch.bench(words);
        let own: Vec<&str> =
            none.err.lines().filter(|line| line.starts_with("lab_scratch_wrong: ")).collect();
        assert!(own.len() == 1 && own[0].contains(message), "{words:?}: {none:?}");
        assert_eq!((none.code, none.out.as_str()), (Some(code), ""), "{none:?}");
    }
    let help = scratch.bench(&["--help"]);
    assert!(help.code == Some(0) && help.out.contains("--base <BASE>"), "{help:?}");
}
