//! Ignore files compared with git: random trees with random `.gitignore` files.

use hashmill_files::walk::{Rules, Visit, Walk};
use hashmill_testkit::{Rng, size, skip};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Names and pieces of patterns that often mean different things to the two programs.
const NAMES: [&str; 16] =
    ["a", "b", "ab", "a,b", "{a,b}", "{a", "b}", "a}", "{}", "x.o", "{x}.o", "x{1}", "d", "{d}", "a*", "]"];
const PIECES: [&str; 27] = [
    "a",
    "b",
    "{a,b}",
    "{",
    "}",
    ",",
    "*",
    "?",
    "[ab{]",
    "[!a]",
    "x",
    ".o",
    "d",
    "/",
    "**/",
    "{1}",
    "/**",
    "[^b-z]",
    "[]-a]",
    "[[:alpha:]}]",
    "[[:punct:][:space:]]",
    "[a",
    "[\\]]",
    "\\*",
    "\\a",
    "\\",
    " ",
];

fn pattern(rng: &mut Rng) -> String {
    let begin = ["", "", "", "!", "/"][rng.below(5)];
    let middle = match rng.below(3) {
        0 => NAMES[rng.below(NAMES.len())].to_owned(),
        _ => (0..=rng.below(4)).map(|_| PIECES[rng.below(PIECES.len())]).collect(),
    };
    let end = if rng.below(5) == 0 { "/" } else { "" };
    format!("{begin}{middle}{end}")
}

fn write(path: &Path, text: &str) {
    // A file may be in the place of a directory, or the other way round: then there is one entry fewer.
    let _ = fs::create_dir_all(path.parent().expect("a parent")).and_then(|()| fs::write(path, text));
}

#[test]
fn ignore_files_leave_out_what_git_leaves_out() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.args(args).current_dir(dir.path()).env("GIT_CONFIG_NOSYSTEM", "1");
        // Without the user's settings and patterns.
        command.env("HOME", dir.path()).env("XDG_CONFIG_HOME", dir.path()).env_remove("GIT_CONFIG_GLOBAL");
        command.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE").env_remove("GIT_INDEX_FILE").output()
    };
    let init = git(&["init", "--quiet", "."]);
    if !init.as_ref().is_ok_and(|init| init.status.success()) {
        return skip("ignore files beside git", &format!("git init: {init:?}"));
    }
    let mut rng = Rng::new(39);
    let cases = size::of(50, 150);
    for case in 0..cases {
        let root = dir.path().join(format!("case{case}"));
        for _ in 0..12 {
            let depth = rng.below(3);
            let path: PathBuf = (0..=depth).map(|_| NAMES[rng.below(NAMES.len())]).collect();
            write(&root.join(path), "");
        }
        for folder in ["", "a", "d", "{a,b}"].iter().take(1 + rng.below(4)) {
            let lines: Vec<String> = (0..=rng.below(4)).map(|_| pattern(&mut rng)).collect();
            let folder = root.join(folder);
            if folder.is_dir() {
                write(&folder.join(".gitignore"), &(lines.join("\n") + "\n"));
            }
        }
    }
    let listed = git(&["ls-files", "-o", "--exclude-standard", "-z"]).expect("it ran before");
    assert!(listed.status.success(), "{listed:?}");
    let listed = String::from_utf8(listed.stdout).expect("our own names");
    let gits: BTreeSet<PathBuf> = listed.split_terminator('\0').map(PathBuf::from).collect();

    let mut rules = Rules::default();
    rules.ignore_files = true;
    let walked: BTreeSet<PathBuf> = Walk::by(dir.path().to_owned(), Arc::new(rules))
        .filter_map(|visit| match visit {
            Visit::File(path) => Some(path.strip_prefix(dir.path()).expect("below").to_owned()),
            Visit::Failed(path, error) => panic!("{}: {error}", path.display()),
            _ => None,
        })
        .filter(|path| !path.starts_with(".git"))
        .collect();
    let differ: Vec<String> = gits
        .symmetric_difference(&walked)
        .map(|path| {
            let case = dir.path().join(path.components().next().expect("a case"));
            let all = ["", "a", "d", "{a,b}"]
                .map(|folder| fs::read_to_string(case.join(folder).join(".gitignore")));
            let by_git = gits.contains(path);
            format!(
                "{}: git {by_git}, patterns {:?}",
                path.display(),
                all.iter().flatten().collect::<Vec<_>>()
            )
        })
        .collect();
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
    assert!(gits.len() > 2 * cases, "the patterns leave out nearly everything: {}", gits.len());
}
