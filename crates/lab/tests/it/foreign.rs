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
