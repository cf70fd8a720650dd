//! Ignore files beside `git check-ignore`: random lines, and random names that they may match.

use super::ignore_files;
use crate::walk::pattern::{Decision, PatternList};
use hashmill_testkit::{Rng, size, skip};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Parts of lines, with every wildcard and escape, and with forms that are no pattern.
const PIECES: [&str; 64] = [
    "a",
    "b",
    "c",
    "ab",
    "x",
    "d",
    "é",
    "a",
    "b",
    "d",
    "*",
    "*",
    "**",
    "***",
    "?",
    "/",
    "/",
    "/",
    "/**",
    "**/",
    "/**/",
    "*/",
    "\\/",
    "**\\/",
    "\\/**",
    "\\a",
    "\\*",
    "\\\\",
    "\\",
    "\\ ",
    " ",
    "-",
    "!",
    "^",
    "#",
    "]",
    "[",
    "[ab]",
    "[!a]",
    "[^b-z]",
    "[a-c]",
    "[b-ac]",
    "[b-a]",
    "[!b-a]",
    "[a-c-e]",
    "[a-]",
    "[-a]",
    "[]a]",
    "[!]a]",
    "[]-a]",
    "[a/b]",
    "[!/]",
    "[\\]]",
    "[a\\-c]",
    "[a-\\c]",
    "[\\/]",
    "[[:alpha:]]",
    "[![:digit:]b]",
    "[[:no:]]",
    "[[:a]",
    "[[:]",
    ".o",
    "{a,b}",
    "\t",
];
/// Characters of classes.
const CLASS: [&str; 14] = ["a", "b", "c", "-", "-", "]", "[", "!", "^", "\\", "/", ":", "[:alpha:]", "é"];
/// Parts of names.
const NAME_PARTS: [&str; 24] = [
    "a", "b", "c", "ab", "x", "d", "é", "a", "b", "c", "d", "a", "b", "*", "\\", "]", "[", "-", "!", " ",
    ".o", "\r", "#", "ax",
];

fn line(rng: &mut Rng) -> String {
    let mut line = String::from(["", "", "", "", "!", "/", "\\"][rng.below(7)]);
    for _ in 0..=rng.below(4) {
        if rng.below(6) > 0 {
            line += PIECES[rng.below(PIECES.len())];
            continue;
        }
        line.push('[');
        (0..=rng.below(6)).for_each(|_| line += CLASS[rng.below(CLASS.len())]);
        line.push(']');
    }
    line + ["", "", "", "", "/", " ", "\\ ", "\r", "\r\r", "\0a"][rng.below(10)]
}

/// An ignore file. The last line often has no end.
fn lines(rng: &mut Rng) -> String {
    let mut text = String::from(["", "", "", "\u{feff}"][rng.below(4)]);
    for _ in 0..=rng.below(3) {
        text += &line(rng);
        text += ["\n", "\n", "\r\n"][rng.below(3)];
    }
    if rng.below(2) == 0 {
        text.pop();
    }
    text
}

fn name(rng: &mut Rng) -> String {
    (0..1 + rng.below(2)).map(|_| NAME_PARTS[rng.below(NAME_PARTS.len())]).collect()
}

/// A path that one of the lines may match: wildcards become texts, and most brackets and escapes go.
fn path_for(rng: &mut Rng, lines: &str) -> PathBuf {
    let all: Vec<&str> = lines.split('\n').collect();
    let line = all[rng.below(all.len())].trim_start_matches(['!', '\u{feff}']);
    let mut text = String::from(["", "", "", "a/", "d/", "x"][rng.below(6)]);
    for char in line.chars().take_while(|char| *char != '\0') {
        match char {
            '*' => text += ["", "a", "ab", "a/b", "/"][rng.below(5)],
            '?' => text += ["a", "b", "x"][rng.below(3)],
            '[' | ']' | '\\' if rng.below(4) > 0 => {}
            '!' | '^' | '-' | ':' if rng.below(2) > 0 => {}
            _ => text.push(char),
        }
    }
    text += ["", "", "", "/a", "/b/c", "x", " "][rng.below(7)];
    let names = text.split('/').filter(|name| !["", ".", ".."].contains(name));
    let path: PathBuf = names.take(6).collect();
    if path == Path::new("") { PathBuf::from("a") } else { path }
}

/// Is a path ignored by the patterns of its root, as git asks: each directory above it first?
fn is_ignored(list: &PatternList, root: &Path, path: &Path) -> bool {
    let mut above: Vec<&Path> = path.ancestors().filter(|path| *path != Path::new("")).collect();
    above.reverse();
    above.iter().enumerate().any(|(index, entry)| {
        let is_dir = index + 1 < above.len();
        list.decide(&root.join(entry), is_dir) == Some(Decision::Skip)
    })
}

#[test]
fn lines_mean_what_they_mean_to_git() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.args(args).current_dir(dir.path()).env("GIT_CONFIG_NOSYSTEM", "1");
        // Without the user's settings and patterns.
        command.env("HOME", dir.path()).env("XDG_CONFIG_HOME", dir.path()).env_remove("GIT_CONFIG_GLOBAL");
        command.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE").env_remove("GIT_INDEX_FILE");
        command
    };
    let init = git(&["init", "--quiet", "."]).output();
    if !init.as_ref().is_ok_and(|init| init.status.success()) {
        return skip("lines of ignore files beside git", &format!("git init: {init:?}"));
    }
    let mut rng = Rng::new(41);
    let mut paths: Vec<(String, PathBuf)> = Vec::new();
    let mut lists = BTreeMap::new();
    for case in 0..size::of(1_500, 40_000) {
        let case = format!("case{case}");
        let root = dir.path().join(&case);
        fs::create_dir(&root).expect("a new directory");
        let lines = lines(&mut rng);
        fs::write(root.join(".gitignore"), &lines).expect("a new file");
        let list = ignore_files(&root).expect("an ignore file that can be read");
        // Without any pattern there is none.
        lists.insert(case.clone(), list.unwrap_or_else(|| PatternList::new(&root)));
        for _ in 0..16 {
            let path = match rng.below(3) {
                0 => (0..=rng.below(4)).map(|_| name(&mut rng)).collect(),
                _ => path_for(&mut rng, &lines),
            };
            paths.push((case.clone(), path));
        }
    }
    // The paths need not exist: git takes those above others for directories, and these for files.
    let input: Vec<u8> = paths
        .iter()
        .flat_map(|(case, path)| [case.as_bytes(), b"/", path.as_os_str().as_encoded_bytes(), b"\0"].concat())
        .collect();
    let mut child = git(&["check-ignore", "--no-index", "--stdin", "-z"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it ran before");
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("it ran before");
    writer.join().expect("no panic").expect("git reads all paths");
    assert!(output.status.success(), "{output:?}");
    let ignored: BTreeSet<&[u8]> = output.stdout.split(|byte| *byte == 0).collect();

    let (mut differ, mut count) = (String::new(), 0);
    for (case, path) in &paths {
        let root = dir.path().join(case);
        let by_git = ignored.contains(Path::new(case).join(path).as_os_str().as_encoded_bytes());
        if is_ignored(&lists[case], &root, path) != by_git {
            count += 1;
            if count <= 20 {
                let text = fs::read_to_string(root.join(".gitignore")).expect("written above");
                writeln!(differ, "{path:?}: git {by_git}, lines {text:?}").expect("a string");
            }
        }
    }
    assert_eq!(count, 0, "of {} paths differ:\n{differ}", paths.len());
    let share = ignored.len() * 100 / paths.len();
    assert!((5..=90).contains(&share), "{share} % of the paths are ignored");
}
