//! Manual pages and completions contain every command and flag of the help.

use crate::world::{World, finish, hashmill};
use std::fs;

/// Every path of commands below `path`, found by asking for help.
fn paths(world: &World, path: &[String]) -> Vec<Vec<String>> {
    let help = world.run(&hashmill(), path.iter().map(String::as_str).chain(["-h"]), b"").quiet_success();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let names = listed.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    let below = names.flat_map(|name| paths(world, &[path, &[name.to_owned()]].concat()));
    std::iter::once(path.to_vec()).chain(below).collect()
}

/// The long flags in a text of help.
fn flags(help: &str) -> Vec<String> {
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let words = lines.filter_map(|line| line.split([' ', ',', '=', '[']).find(|word| word.starts_with("--")));
    words.map(str::to_owned).collect()
}

#[test]
fn pages_and_completions_are_complete() {
    let world = World::new();
    world.run(&hashmill(), ["generate", "."], b"").quiet_success();
    let read =
        |name: &str| fs::read_to_string(world.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let shells = ["hashmill.bash", "_hashmill", "hashmill.fish", "_hashmill.ps1"]
        .map(|name| read(&format!("completions/{name}")));
    let all = paths(&world, &[]);
    assert!(all.len() > 10, "{all:?}");
    for path in &all {
        let page = read(&format!("man/{}.1", [&["hashmill".to_owned()], &path[..]].concat().join("-")));
        let page = page.replace("\\-", "-").replace("\\fR", "").replace("\\fB", "").replace("\\fI", "");
        let help = path.iter().map(String::as_str).chain(["--help"]);
        let help = world.run(&hashmill(), help, b"").quiet_success();
        for flag in flags(&help) {
            assert!(page.contains(&flag), "{flag} in the page of {path:?}");
            // Fish completions have flags without dashes.
            let bare = flag.trim_start_matches('-');
            // The generator for fish covers two levels only.
            let deep = path.len() > 2;
            for shell in shells.iter().filter(|shell| !(deep && shell.contains("__fish"))) {
                assert!(shell.contains(&flag) || shell.contains(&format!("-l {bare}")), "{flag} of {path:?}");
            }
        }
        if let Some(name) = path.last() {
            assert!(shells.iter().all(|shell| shell.contains(name.as_str())), "{path:?}");
        }
    }
}

/// Pages have the standard sections, and references exist.
#[test]
fn pages_have_standard_sections() {
    let world = World::new();
    world.run(&hashmill(), ["generate", "."], b"").quiet_success();
    let pages: Vec<_> = fs::read_dir(world.path("man")).expect("pages").flatten().collect();
    let names: Vec<String> = pages
        .iter()
        .map(|page| page.file_name().to_string_lossy().trim_end_matches(".1").to_owned())
        .collect();
    let section = |page: &str, title: &str| {
        let (_, rest) = page.split_once(&format!("\n.SH {title}\n"))?;
        Some(rest.split("\n.SH ").next().unwrap_or_default().to_owned())
    };
    for name in &names {
        let page = fs::read_to_string(world.path(format!("man/{name}.1"))).expect("a page");
        let title = format!(".TH {} 1 \"\" \"hashmill {}\" ", name.to_uppercase(), env!("CARGO_PKG_VERSION"));
        assert!(page.lines().any(|line| line.starts_with(&title)), "{name}");
        assert!(!page.contains(".SH EXTRA") && !page.contains("Exit codes:\n"), "{name}");
        for title in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS"] {
            assert!(section(&page, title).is_some_and(|text| !text.is_empty()), "{name}: {title}");
        }
        assert!(!section(&page, "DESCRIPTION").is_some_and(|text| text.contains("Exit codes")), "{name}");
        let codes = section(&page, "\"EXIT STATUS\"").unwrap_or_else(|| panic!("{name}: EXIT STATUS"));
        for (at, entry) in codes.split(".TP\n").skip(1).enumerate() {
            let words = entry.strip_prefix(&format!("\\fB{at}\\fR\n"));
            assert!(words.is_some_and(|words| !words.trim().is_empty()), "{name}: {entry}");
        }
        assert!(codes.matches(".TP\n").count() >= 2, "{name}: {codes}");
        let examples = section(&page, "EXAMPLES").unwrap_or_else(|| panic!("{name}: EXAMPLES"));
        let command = name.replace('-', " ");
        let own = examples.lines().filter(|line| line.replace("\\-", " ").contains(&command)).count();
        assert!(own >= 2, "{name}: {own} examples: {examples}");
        let related = section(&page, "\"SEE ALSO\"").unwrap_or_else(|| panic!("{name}: SEE ALSO"));
        for line in related.lines() {
            let other =
                line.trim_start_matches(".BR ").split(' ').next().expect("a name").replace("\\-", "-");
            assert!(names.contains(&other) && other != *name, "{name}: {other}");
        }
        let has_files = ["sum", "compare", "password", "info", "tune"].iter().any(|command| {
            name.strip_prefix("hashmill-")
                .and_then(|name| name.strip_prefix(command))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        });
        assert!(
            !has_files || section(&page, "FILES").is_some_and(|text| text.contains("tune.json")),
            "{name}: FILES"
        );
    }
}

/// No help line is wider than a terminal of 80 columns.
#[test]
fn help_fits_80_columns() {
    let world = World::new();
    for path in paths(&world, &[]) {
        for flag in ["-h", "--help"] {
            let mut command = std::process::Command::new(hashmill());
            let help =
                finish(world.start(command.args(&path).arg(flag).env("COLUMNS", "80"))).quiet_success();
            // Clap does not wrap usage lines.
            for line in help.lines().filter(|line| !line.starts_with("Usage: ")) {
                assert!(line.chars().count() <= 80, "{path:?} {flag}: {line}");
            }
        }
    }
}

/// Every page describes every option, and a linter, if installed, finds no error.
#[test]
fn every_option_is_described() {
    let world = World::new();
    world.run(&hashmill(), ["generate", "."], b"").quiet_success();
    let mut options = 0;
    let linter = std::process::Command::new("mandoc").arg("-V").output().is_ok();
    for entry in fs::read_dir(world.path("man")).expect("pages").flatten() {
        let page = fs::read_to_string(entry.path()).expect("a page");
        let lines: Vec<&str> = page.lines().collect();
        for (at, _) in lines.iter().enumerate().filter(|(_, line)| **line == ".TP") {
            let (head, body) = (lines[at + 1], lines.get(at + 2).copied().unwrap_or(".TP"));
            options += 1;
            let is_mute = body.is_empty() || body.starts_with('.');
            assert!(!is_mute, "{}: nothing is said of {head}", entry.path().display());
        }
        if linter {
            let path = entry.path();
            let path = path.to_str().expect("a path");
            let done = world.run("mandoc".as_ref(), ["-T", "lint", "-W", "error", path], b"");
            assert_eq!(done.code(), 0, "{}", done.text());
        }
    }
    assert!(options > 300, "{options}");
    if !linter {
        hashmill_testkit::skip("lint of the manual pages", "mandoc is not installed");
    }
}

#[test]
fn unwritable_folder_is_one_line() {
    let world = World::new();
    world.write("taken", "");
    let done = world.run(&hashmill(), ["generate", "taken"], b"");
    assert_eq!((done.code(), done.err.lines().count()), (1, 1), "{done:?}");
    assert!(done.err.starts_with("hashmill: taken/man: "), "{}", done.err);
}
