//! A process that is killed at any moment while it replaces a file: the file is one whole version.
#![cfg(unix)]

use hashmill_atomic_file::{Expected, Replacement, is_temporary, write};
use hashmill_testkit::wait;
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Names the file to the child, which is this program once more.
const FILE: &str = "ATOMIC_FILE_TEST";
/// Lines of a version: several writes.
const LINES: usize = 5_000;

fn version(number: usize) -> String {
    format!("{number}\n").repeat(LINES)
}

fn number_of(text: &str) -> usize {
    let number = text.lines().next().expect("a line").parse().expect("a number");
    assert!(text == version(number), "half a version, or two of them");
    number
}

/// The child: replaces the file without end.
fn replace_for_ever(path: &Path) -> ! {
    for number in 1.. {
        let mut file = Replacement::begin(path).expect("a folder");
        for line in version(number).split_inclusive('\n') {
            file.write_all(line.as_bytes()).expect("space");
        }
        file.finish(Expected::Anything).expect("space");
    }
    unreachable!("numbers do not end")
}

#[test]
fn a_killed_process_leaves_one_whole_version() {
    if let Some(path) = std::env::var_os(FILE) {
        replace_for_ever(path.as_ref());
    }
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("list");
    for round in 0..10 {
        write(&path, version(0).as_bytes()).expect("space");
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["a_killed_process_leaves_one_whole_version", "--exact"]).env(FILE, &path);
        let mut child = wait::start(command.stdout(Stdio::null())).expect("this program once more");
        // At least `round` versions, and then somewhere within the next one.
        while number_of(&fs::read_to_string(&path).expect("a file")) < round {
            assert!(child.try_wait().expect("our child").is_none(), "it never ends by itself");
        }
        child.kill().expect("our child");
        assert_eq!(child.wait().expect("our child").signal(), Some(9));
        assert!(number_of(&fs::read_to_string(&path).expect("a file")) >= round);
    }
    let names = fs::read_dir(dir.path()).expect("a directory").flatten().map(|entry| entry.file_name());
    let mut names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    // Killed between link and rename, a process leaves its name, which the next one that needs a name removes.
    names.retain(|name| !is_temporary(name));
    assert_eq!(names, ["list"]);
}
