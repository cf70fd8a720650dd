//! `lab doctor` on whatever machine runs the tests.

use crate::program::{Folder, lab, result_of};
use std::fs;

#[test]
fn doctor_lists_findings_on_every_machine() {
    let result = result_of(lab().arg("doctor"));
    assert_eq!(result.code, Some(0), "{result:?}");
    for what in ["clock", "load average", "hardware counters", "huge pages", "valgrind", "noise card"] {
        assert!(result.out.lines().any(|line| line.starts_with(what)), "{what}: {}", result.out);
    }
}

/// An unusable noise card is not a missing one: `doctor` and every command that measures report it and continue.
#[test]
fn an_unusable_noise_card_is_named() {
    let folder = Folder::new("card");
    let run = |args: &[&str]| {
        result_of(lab().current_dir(folder.join("")).env("XDG_CACHE_HOME", folder.join("cache")).args(args))
    };
    let measure =
        ["run", "lab.cpu/probe/kernel/300", "--rounds", "1", "--sample-ms", "0.02", "--sessions", "2"];
    let none = run(&measure);
    assert_eq!((none.code, none.err.as_str()), (Some(0), ""), "{none:?}");
    let id = none.out.split_whitespace().find(|word| word.starts_with("m-")).expect("a machine").to_owned();
    let card = folder.join(&format!("cache/lab/noise/{id}.json"));
    fs::create_dir_all(card.parent().expect("a folder")).expect("folders");
    for (text, words) in [
        ("", "it is not JSON, or it is truncated"),
        ("{\"schema\": \"lab.noise/1\"", "it is not JSON, or it is truncated"),
        ("{}", "it does not match its schema"),
    ] {
        fs::write(&card, text).expect("a file");
        let measured = run(&measure);
        assert_eq!(measured.code, Some(0), "{text}: {measured:?}");
        assert_eq!(measured.err.lines().count(), 1, "{text}: {measured:?}");
        assert!(measured.err.contains(words) && measured.err.contains("doctor --noise"), "{measured:?}");
    }
    fs::remove_file(&card).expect("a file");
    fs::create_dir(&card).expect("a folder");
    let doctor = run(&["doctor"]);
    assert_eq!(doctor.code, Some(0), "{doctor:?}");
    let line = doctor.out.lines().find(|line| line.starts_with("noise card")).expect("a line");
    assert!(line.contains("unusable") && line.contains("cannot read"), "{doctor:?}");
}
