//! `lab compare` in repositories that only have a small recipe file.

use crate::program::{CommandResult, lab, result_of};
use crate::repository::Repository;
use hashmill_testkit::size;
use serde_json::Value;

const TOY: &str = include_str!("../data/toy.rs");

const MANIFEST: &str = "\
[package]
name = \"speeds\"
version = \"0.1.0\"
edition = \"2024\"

[[bin]]
name = \"speeds\"
path = \"main.rs\"

[[bench]]
name = \"speed\"
path = \"main.rs\"
harness = false

[[example]]
name = \"speed\"
path = \"main.rs\"

[workspace]
";

fn compare(repository: &Repository, sides: [&str; 2], more: &[&str]) -> CommandResult {
    let mut command = lab();
    command.current_dir(repository.path()).arg("compare").args(sides).args(more);
    command.args(["--rounds", "2", "--warm-ups", "1", "--sample-ms", "1", "--no-count"]);
    command
        .arg("--cache")
        .arg(repository.folder.join("cache"))
        .arg("--out")
        .arg(repository.folder.join("out"));
    result_of(&mut command)
}

fn report(repository: &Repository) -> Value {
    let text = std::fs::read(repository.folder.join("out/report.json")).expect("a report");
    serde_json::from_slice(&text).expect("JSON")
}

/// A repository of cargo with a program, a bench and an example, faster at first than now.
fn speeds() -> Repository {
    let speeds = Repository::new("speeds");
    speeds.write("Cargo.toml", MANIFEST);
    speeds.write("main.rs", TOY);
    speeds.commit("first");
    speeds.write("main.rs", &TOY.replace("NS: u64 = 1000", "NS: u64 = 1100"));
    speeds.commit("slower");
    speeds
}

#[test]
fn builds_benches_and_examples_from_the_recipe() {
    let speeds = speeds();
    let without = compare(&speeds, ["first", "slower"], &[]);
    assert_eq!(without.code, Some(4), "{without:?}");
    assert!(without.err.contains("no bin target named `lab`"), "{}", without.err);
    assert!(without.err.contains("hashmill-lab.toml"), "what would help is said: {}", without.err);

    speeds.write("hashmill-lab.toml", "bench = 'speed'\nprofile = 'dev'\narguments = []\n");
    let bench = compare(&speeds, ["first", "slower"], &[]);
    assert_eq!(bench.code, Some(0), "{bench:?}");
    let report = report(&speeds);
    assert_eq!(report["rows"][0]["comparisons"][0]["verdict"], "slower");
    assert_eq!(report["builds"][0]["settings"][0], "bench=speed");
    assert_eq!(report["builds"][0]["settings"][1], "profile=dev");

    // Cargo builds both sides again for each of these.
    if !size::is_full() {
        return size::skip("lab: build examples, and a recipe for another harness");
    }
    let example = compare(&speeds, ["slower", "first"], &["--set", "example=speed"]);
    assert_eq!(example.code, Some(0), "{example:?}");
    assert_eq!(self::report(&speeds)["builds"][1]["settings"][0], "example=speed", "--set wins");
    assert_eq!(self::report(&speeds)["rows"][0]["comparisons"][0]["verdict"], "faster");

    // A bench written with the lab needs an argument to select it.
    speeds.write("other.toml", "bench = 'speed'\nprofile = 'dev'\n");
    let led = compare(&speeds, ["first", "slower"], &["--recipe", "other.toml"]);
    assert!(
        led.err.contains("the candidate lists no such cases"),
        "the toy does not know that word: {led:?}"
    );
}

#[test]
fn a_failed_side_is_named_with_the_end_of_its_output() {
    let speeds = speeds();
    speeds.write("hashmill-lab.toml", "example = 'speed'\nprofile = 'dev'\narguments = []\n");
    speeds.write("main.rs", "fn main() { broken on purpose }\n");
    speeds.commit("faulty");
    let broken = compare(&speeds, ["first", "faulty"], &[]);
    assert_eq!(broken.code, Some(4), "{broken:?}");
    assert!(broken.err.contains("the build of faulty failed with exit status: 101"), "{}", broken.err);
    assert!(broken.err.contains("could not compile `speeds`"), "{}", broken.err);
    assert!(!broken.err.contains("hashmill-lab.toml"), "there is one: {}", broken.err);
}

#[test]
fn a_file_that_cannot_be_understood_is_refused_in_one_line() {
    let speeds = speeds();
    speeds.write("hashmill-lab.toml", "banch = 'speed'\n");
    let misspelt = compare(&speeds, ["first", "slower"], &[]);
    assert_eq!(misspelt.code, Some(2), "{misspelt:?}");
    assert!(
        misspelt.err.contains("there is no `banch` in a recipe (did you mean `bench`?)"),
        "{}",
        misspelt.err
    );
    assert_eq!(misspelt.err.trim_end().lines().count(), 1, "{}", misspelt.err);
    let absent = compare(&speeds, ["first", "slower"], &["--recipe", "nowhere.toml"]);
    assert_eq!(absent.code, Some(2), "{absent:?}");
    assert!(absent.err.contains("nowhere.toml"), "{}", absent.err);
}

/// The program of `cargo xtask layouts`, which proves with many links what one comparison shows here with few: it
/// builds in all ways, and an inconclusive verdict says what could have been detected. No verdict is expected,
/// because nothing here is quiet.
#[test]
fn the_program_of_the_proof_builds_in_all_ways_and_is_linked_for_each_session() {
    if !size::is_full() {
        return size::skip("lab: build the program of the layout proof in all ways");
    }
    let proof = Repository::new("proof");
    proof.write("main.rs", include_str!("../../../../../xtask/probes/layouts.rs"));
    proof.commit("work");
    let build = |cfg: &str| {
        format!(
            "build=rustc --edition 2024 -O -C linker=\"${{LAB_LINKER:-cc}}\" {cfg} main.rs -o \"$LAB_PROGRAM\""
        )
    };
    if !cfg!(target_os = "linux") {
        hashmill_testkit::skip(
            "lab: the program of the proof",
            "it is for Linux, as links for each session are",
        );
        return;
    }
    for cfg in [
        "--cfg 'dead=\"long\"' --cfg 'added=\"two\"'",
        "--cfg 'dead=\"longer\"' --cfg more --cfg 'added=\"five\"'",
    ] {
        let [baseline, candidate] = [build("--cfg 'dead=\"short\"' --cfg 'added=\"none\"'"), build(cfg)];
        let sets = [
            "--cases",
            "sort",
            "--baseline-set",
            &baseline,
            "--candidate-set",
            &candidate,
            "--control",
            "off",
        ];
        let compared = compare(&proof, ["work", "work"], &sets);
        assert_eq!(compared.code, Some(0), "{compared:?}");
        let report = report(&proof);
        assert_eq!(report["builds"][0]["layout"]["is"], "shuffled", "{}", report["builds"][0]);
        assert_ne!(report["builds"][0]["program_sha256"], report["builds"][1]["program_sha256"]);
        let looks: f64 =
            report["plan"]["alpha"].as_array().expect("looks").iter().filter_map(Value::as_f64).sum();
        assert!((looks - 0.005).abs() < 1e-9, "half the budget where links are many: {}", report["plan"]);
        let comparison = &report["rows"][0]["comparisons"][0];
        let is_open = comparison["verdict"] == "inconclusive";
        assert_eq!(compared.out.contains("(sees "), is_open, "{}", compared.out);
    }
}

const MAKEFILE: &str = "\
CFLAGS = -O1 -ffunction-sections
tool: main.o
\t$(CC) main.o -o tool
main.o: main.c
\t$(CC) $(CFLAGS) -c main.c -o main.o
";

/// Adds up the given number of numbers, with one of many functions.
fn summing(times: u32) -> String {
    let functions = (0..8).map(|n| {
        format!(
            "__attribute__((noinline)) unsigned f{n}(unsigned n) {{\n  volatile unsigned sum = 0;\n  \
             for (unsigned i = 0; i < n; i++) sum += i + {n};\n  return sum;\n}}\n"
        )
    });
    let table: Vec<String> = (0..8).map(|n| format!("f{n}")).collect();
    format!(
        "#include <stdio.h>\n#include <stdlib.h>\n{}int main(int argc, char **argv) {{\n  \
         unsigned (*const all[])(unsigned) = {{ {} }};\n  if (argc < 2) return 3;\n  unsigned n = atoi(argv[1]);\n  \
         unsigned sum = 0;\n  for (int i = 0; i < {times}; i++) sum = all[n % 8](n);\n  \
         printf(\"%u\\n\", sum);\n  return 0;\n}}\n",
        functions.collect::<String>(),
        table.join(", ")
    )
}

const RECIPE: &str = "\
build = 'make -s CC=\"${LAB_LINKER:-cc}\" tool && cp tool \"$LAB_PROGRAM\"'

[commands]
few = '{program} 1000'
many = '{program} 20000'
";

/// A C repository built with make: at first every sum was taken once. None if make is missing.
fn summed() -> Option<Repository> {
    let there = |name: &str| std::process::Command::new(name).arg("--version").output().is_ok();
    if !(there("make") && there("cc")) {
        hashmill_testkit::skip("lab: builds of another repository", "there is no make and cc");
        return None;
    }
    let summed = Repository::new("summed");
    summed.write("Makefile", MAKEFILE);
    summed.write("main.c", &summing(1));
    summed.write("hashmill-lab.toml", RECIPE);
    summed.commit("once");
    summed.write("main.c", &summing(3));
    summed.commit("thrice");
    Some(summed)
}

fn compare_whole(repository: &Repository, sides: [&str; 2], more: &[&str]) -> CommandResult {
    let mut command = lab();
    command.current_dir(repository.path()).arg("compare").args(sides).args(more);
    command.args(["--rounds", "1", "--warm-ups", "0", "--control", "off"]);
    command
        .arg("--cache")
        .arg(repository.folder.join("cache"))
        .arg("--out")
        .arg(repository.folder.join("out"));
    result_of(&mut command)
}

#[test]
fn a_project_of_make_is_compared_as_whole_processes_of_many_links() {
    let Some(summed) = summed() else { return };
    let compared = compare_whole(&summed, ["once", "thrice"], &["--cases", "many"]);
    assert_eq!(compared.code, Some(0), "{compared:?}");
    let report = report(&summed);
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 1, "the other was not chosen");
    assert_eq!(rows[0]["title"], "many/command/process/1/t1");
    assert_eq!(rows[0]["status"]["is"], "ok", "{compared:?}");
    assert_eq!(rows[0]["sides"][0]["digest"], rows[0]["sides"][1]["digest"], "both print the same sum");
    if cfg!(target_os = "linux") {
        for build in report["builds"].as_array().expect("builds") {
            assert_eq!(build["layout"]["is"], "shuffled", "{build}");
        }
    }
    // Counts are exact: three times the work is three times the instructions, except for the start of a process.
    let counted = |side: usize| rows[0]["instructions"][side]["of"]["per_iteration"].as_f64();
    match counted(0).zip(counted(1)) {
        Some((once, thrice)) => assert!(thrice > 1.3 * once, "{thrice} of {once}"),
        None => hashmill_testkit::skip(
            "lab: instructions of whole processes",
            &rows[0]["instructions"].to_string(),
        ),
    }
    let check = result_of(lab().arg("check").arg(summed.folder.join("out/report.json")));
    assert_eq!(check.code, Some(0), "{check:?}");
}

#[test]
fn failed_commands_and_other_outputs_have_no_speed() {
    let Some(summed) = summed() else { return };
    summed.write("other.toml", &format!("{RECIPE}wrong = '{{program}}'\n"));
    let wrong = compare_whole(&summed, ["once", "thrice"], &["--recipe", "other.toml", "--cases", "wrong"]);
    assert_eq!(wrong.code, Some(4), "{wrong:?}");
    assert!(wrong.out.contains("returned 3"), "{}", wrong.out);
    summed.write("other.toml", &format!("{RECIPE}clock = '{{program}} 1; date +%s%N'\n"));
    let clock = compare_whole(&summed, ["once", "thrice"], &["--recipe", "other.toml", "--cases", "clock"]);
    assert_eq!(clock.code, Some(4), "{clock:?}");
    assert!(clock.out.contains("date +%s%N` prints different output in each run"), "{}", clock.out);
    let none = compare_whole(&summed, ["once", "thrice"], &["--cases", "nonesuch"]);
    assert_eq!(none.code, Some(2), "{none:?}");
    assert!(none.err.contains("the recipe has no such commands: it has few, many"), "{}", none.err);

    summed.write("main.c", &summing(1).replace("%u\\n", "sum %u\\n"));
    summed.commit("chatty");
    let other = compare_whole(&summed, ["once", "chatty"], &["--cases", "few"]);
    assert_eq!(other.code, Some(4), "{other:?}");
    assert!(other.out.contains("from one input"), "{}", other.out);

    summed.write("main.c", "int main(void) { broken }\n");
    summed.commit("broken");
    let broken = compare_whole(&summed, ["once", "broken"], &["--cases", "few"]);
    assert_eq!(broken.code, Some(4), "{broken:?}");
    assert!(broken.err.contains("the build of broken failed"), "{}", broken.err);
    assert!(broken.err.contains("main.c:1"), "{}", broken.err);
}
