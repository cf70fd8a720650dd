//! What ignore files leave out, beside git itself: random trees with random `.gitignore` files.

use hashmill_files::walk::{Rules, Visit, Walk};
use hashmill_testkit::{Rng, skip};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Names and pieces of patterns: what may mean something else to one of the two is frequent.
const NAMES: [&str; 14] =
    ["a", "b", "ab", "a,b", "{a,b}", "{a", "b}", "a}", "{}", "x.o", "{x}.o", "x{1}", "d", "{d}"];
const PIECES: [&str; 16] =
    ["a", "b", "{a,b}", "{", "}", ",", "*", "?", "[ab{]", "[!a]", "x", ".o", "d", "/", "**/", "{1}"];

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
    // A file may be where a directory should be, or the other way round: then there is one fewer.
    let _ = fs::create_dir_all(path.parent().expect("a parent")).and_then(|()| fs::write(path, text));
}

#[test]
fn ignore_files_leave_out_what_git_leaves_out() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.args(args).current_dir(dir.path()).env("GIT_CONFIG_NOSYSTEM", "1");
        // No settings or patterns of the user's.
        command.env("HOME", dir.path()).env("XDG_CONFIG_HOME", dir.path()).env_remove("GIT_CONFIG_GLOBAL");
        command.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE").env_remove("GIT_INDEX_FILE").output()
    };
    let made = git(&["init", "--quiet", "."]);
    if !made.as_ref().is_ok_and(|made| made.status.success()) {
        return skip("ignore files beside git", &format!("git init: {made:?}"));
    }
    let mut rng = Rng::new(39);
    for case in 0..150 {
        let root = dir.path().join(format!("case{case}"));
        for _ in 0..12 {
            let depth = rng.below(3);
            let path: PathBuf = (0..=depth).map(|_| NAMES[rng.below(NAMES.len())]).collect();
            write(&root.join(path), "");
        }
        for place in ["", "a", "d", "{a,b}"].iter().take(1 + rng.below(4)) {
            let lines: Vec<String> = (0..=rng.below(4)).map(|_| pattern(&mut rng)).collect();
            let place = root.join(place);
            if place.is_dir() {
                write(&place.join(".gitignore"), &(lines.join("\n") + "\n"));
            }
        }
    }
    let listed = git(&["ls-files", "-o", "--exclude-standard", "-z"]).expect("it ran before");
    assert!(listed.status.success(), "{listed:?}");
    let listed = String::from_utf8(listed.stdout).expect("our own names");
    let gits: BTreeSet<PathBuf> = listed.split_terminator('\0').map(PathBuf::from).collect();

    let mut rules = Rules::default();
    rules.ignore_files = true;
    let ours: BTreeSet<PathBuf> = Walk::by(dir.path().to_owned(), Arc::new(rules))
        .filter_map(|visit| match visit {
            Visit::File(path) => Some(path.strip_prefix(dir.path()).expect("below").to_owned()),
            Visit::Failed(path, error) => panic!("{}: {error}", path.display()),
            _ => None,
        })
        .filter(|path| !path.starts_with(".git"))
        .collect();
    let differ: Vec<String> = gits
        .symmetric_difference(&ours)
        .map(|path| {
            let case = dir.path().join(path.components().next().expect("a case"));
            let all =
                ["", "a", "d", "{a,b}"].map(|place| fs::read_to_string(case.join(place).join(".gitignore")));
            let by_git = gits.contains(path);
            format!(
                "{}: git {by_git}, patterns {:?}",
                path.display(),
                all.iter().flatten().collect::<Vec<_>>()
            )
        })
        .collect();
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
    assert!(gits.len() > 300, "the patterns leave out nearly everything: {}", gits.len());
}
