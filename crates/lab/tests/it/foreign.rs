//! `lab compare` in repositories that know nothing of the lab but a small file.

use crate::program::{Said, lab, said};
use crate::repository::Repository;
use serde_json::Value;

const TOY: &str = include_str!("data/toy.rs");

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

fn compare(repository: &Repository, sides: [&str; 2], more: &[&str]) -> Said {
    let mut command = lab();
    command.current_dir(repository.path()).arg("compare").args(sides).args(more);
    command.args(["--rounds", "2", "--warm-ups", "1", "--sample-ms", "1", "--no-count"]);
    command
        .arg("--cache")
        .arg(repository.folder.join("cache"))
        .arg("--out")
        .arg(repository.folder.join("out"));
    said(&mut command)
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
fn benches_and_examples_of_cargo_are_found_by_what_the_file_says() {
    let speeds = speeds();
    let without = compare(&speeds, ["slower", "first"], &[]);
    assert_eq!(without.code, Some(4), "{without:?}");
    assert!(without.err.contains("no bin target named `lab`"), "{}", without.err);
    assert!(without.err.contains("hashmill-lab.toml"), "what would help is said: {}", without.err);

    speeds.write("hashmill-lab.toml", "bench = 'speed'\nprofile = 'dev'\narguments = []\n");
    let bench = compare(&speeds, ["slower", "first"], &[]);
    assert_eq!(bench.code, Some(0), "{bench:?}");
    let report = report(&speeds);
    assert_eq!(report["rows"][0]["comparisons"][0]["verdict"], "slower");
    assert_eq!(report["builds"][0]["settings"][0], "bench=speed");
    assert_eq!(report["builds"][0]["settings"][1], "profile=dev");

    let example = compare(&speeds, ["first", "slower"], &["--set", "example=speed"]);
    assert_eq!(example.code, Some(0), "{example:?}");
    assert_eq!(self::report(&speeds)["builds"][1]["settings"][0], "example=speed", "--set wins");
    assert_eq!(self::report(&speeds)["rows"][0]["comparisons"][0]["verdict"], "faster");

    // A bench that is written with the lab is led to it by a word.
    speeds.write("other.toml", "bench = 'speed'\nprofile = 'dev'\n");
    let led = compare(&speeds, ["slower", "first"], &["--recipe", "other.toml"]);
    assert!(led.err.contains("our build lists no such cases"), "the toy does not know that word: {led:?}");
}

#[test]
fn a_side_that_does_not_build_is_named_with_the_end_of_what_was_said() {
    let speeds = speeds();
    speeds.write("hashmill-lab.toml", "example = 'speed'\nprofile = 'dev'\narguments = []\n");
    speeds.write("main.rs", "fn main() { broken on purpose }\n");
    speeds.commit("broken");
    let broken = compare(&speeds, ["broken", "first"], &[]);
    assert_eq!(broken.code, Some(4), "{broken:?}");
    assert!(broken.err.contains("the build of broken failed with exit status: 101"), "{}", broken.err);
    assert!(broken.err.contains("could not compile `speeds`"), "{}", broken.err);
    assert!(!broken.err.contains("hashmill-lab.toml"), "there is one: {}", broken.err);
}

#[test]
fn a_file_that_cannot_be_understood_is_refused_in_one_line() {
    let speeds = speeds();
    speeds.write("hashmill-lab.toml", "banch = 'speed'\n");
    let misspelt = compare(&speeds, ["slower", "first"], &[]);
    assert_eq!(misspelt.code, Some(2), "{misspelt:?}");
    assert!(
        misspelt.err.contains("there is no `banch` in a recipe (did you mean `bench`?)"),
        "{}",
        misspelt.err
    );
    assert_eq!(misspelt.err.trim_end().lines().count(), 1, "{}", misspelt.err);
    let absent = compare(&speeds, ["slower", "first"], &["--recipe", "nowhere.toml"]);
    assert_eq!(absent.code, Some(2), "{absent:?}");
    assert!(absent.err.contains("nowhere.toml"), "{}", absent.err);
}

/// The program of `cargo xtask layouts`, which proves with many links what one comparison shows here with few: that it builds in
/// all ways, and that an open verdict says what could have been seen. No verdict is expected, since nothing here is quiet.
#[test]
fn the_program_of_the_proof_builds_in_all_ways_and_is_linked_for_each_session() {
    let proof = Repository::new("proof");
    proof.write("main.rs", include_str!("../../../../xtask/probes/layouts.rs"));
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
        let [other, ours] = [build("--cfg 'dead=\"short\"' --cfg 'added=\"none\"'"), build(cfg)];
        let sets = ["--cases", "sort", "--other-set", &other, "--ours-set", &ours, "--control", "off"];
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
