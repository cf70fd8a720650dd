//! Output files: named descriptors, new files, hard links, planted journals.

use crate::world::{Done, World, hashmill};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

fn shell(world: &World, script: &str) -> Done {
    let hashmill = hashmill();
    let script = format!("hashmill() {{ \"$0\" \"$@\"; }}; {script}");
    let args = ["-c".as_ref(), script.as_ref(), hashmill.as_os_str()];
    world.run("sh".as_ref(), args, b"")
}

fn read(world: &World, name: &str) -> String {
    fs::read_to_string(world.path(name)).expect("a file")
}

/// Output of the shell and other programs to the same descriptor stays, before and after.
#[test]
fn descriptor_output_is_not_truncated() {
    let world = World::new();
    world.write("f", "x");
    let line = world.sum(["f"]).quiet_success();
    for (path, redirect) in [
        ("-", ">out"),
        ("/dev/stdout", ">out"),
        ("/dev/fd/1", ">out"),
        ("/proc/self/fd/1", ">out"),
        ("/dev/fd/3", "3>out"),
        ("/proc/self/fd/7", "7>out"),
        ("/dev/stderr", "2>out"),
    ] {
        if path.starts_with("/proc") && !Path::new("/proc/self/fd").exists() {
            continue;
        }
        let number = redirect.trim_end_matches(">out");
        let number = if number.is_empty() { "1" } else { number };
        for list in ["f", "--tree ."] {
            world.write("out", "");
            let script = format!(
                "(echo header >&{number}; hashmill sum {list} -o {path}; echo trailer >&{number}) {redirect}"
            );
            let done = shell(&world, &script);
            assert_eq!((done.code(), &*done.err), (0, ""), "{path}");
            let text = read(&world, "out");
            let middle = text.strip_prefix("header\n").and_then(|text| text.strip_suffix("trailer\n"));
            let middle = middle.unwrap_or_else(|| panic!("{path} {list}: {text}"));
            assert_eq!(middle.lines().count(), 1, "{path} {list}: {text}");
            if list == "f" {
                assert_eq!(middle, line, "{path}");
            }
        }
        // A walk leaves out its own output file.
        let done = shell(&world, &format!("hashmill sum -r . -o {path} {redirect}"));
        assert_eq!((done.code(), &*done.err), (0, ""), "{path}");
        assert_eq!(read(&world, "out").lines().count(), 1, "{path}: {}", read(&world, "out"));
    }
    assert!(!world.path("-").exists());
    assert_eq!(world.sum(["f", "-o", "./-"]).quiet_success(), "");
    assert_eq!(read(&world, "-"), line, "a file of that name can be written");
    let done = world.sum(["f", "-o", "/dev/fd/9"]);
    done.failure(1, &["/dev/fd/9: Bad file descriptor (os error 9)"]);
    let done = shell(&world, "hashmill sum f -o - >&-");
    assert_eq!(done.code(), 1, "{done:?}");
}

/// Simulates a full disk by a file size limit.
#[test]
fn failed_update_reports_the_state() {
    for before in [false, true] {
        let world = World::new();
        if before {
            world.write("d/first", "x");
            world.sum(["--update", "SUMS", "d"]).quiet_success();
        }
        let old = fs::read(world.path("SUMS")).ok();
        assert_eq!(old.is_some(), before);
        for n in 0..300 {
            world.write(format!("d/{n:050}"), "x");
        }
        let done = shell(&world, "trap '' XFSZ; ulimit -f 8; hashmill sum --update SUMS d");
        let state = if before { "it is unchanged" } else { "it was not created" };
        done.failure(1, &[&format!("SUMS: File too large (os error 27); {state}")]);
        assert_eq!(fs::read(world.path("SUMS")).ok(), old);
    }
}

/// Hard links of a replaced file keep the old content, and the program notes it.
#[test]
fn notes_hard_links_of_a_replaced_file() {
    let world = World::new();
    world.write("f", "x").write("list", "old");
    for args in [["-o", "list", "f"], ["f", "-zo", "list"]] {
        fs::hard_link(world.path("list"), world.path("other")).expect("a link");
        let old = read(&world, "list");
        let done = world.sum(args);
        done.failure(0, &["list: the file had another name (hard link), which keeps the old content"]);
        assert_eq!(read(&world, "other"), old);
        assert_ne!(read(&world, "list"), old);
        assert_eq!(world.sum(args).quiet_success(), "");
        fs::remove_file(world.path("other")).expect("our file");
    }
    world.sum(["--update", "SUMS", "f"]).quiet_success();
    for other in ["a", "b"] {
        fs::hard_link(world.path("SUMS"), world.path(other)).expect("a link");
    }
    let done = world.sum(["--update", "SUMS", "f"]);
    done.failure(0, &["SUMS: the file had 2 other names (hard links), which keep the old content"]);
}

/// A folder that another user may write to: for any kind of file with the journal's name, nothing is written through it, nothing
/// blocks, and the message says what to do.
#[test]
fn update_keeps_files_that_are_not_journals() {
    type Plant = fn(&World, &Path) -> std::io::Result<()>;
    let plants: [(Plant, &str); 5] = [
        (|world, at| symlink(world.path("secret"), at), "it is a symbolic link"),
        (|_, at| symlink("nowhere", at), "it is a symbolic link"),
        (|world, at| fs::hard_link(world.path("secret"), at), "it is a file with 2 names (hard links)"),
        (
            |_, at| Ok(mknodat(CWD, at, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?),
            "it is not a regular file",
        ),
        (|_, at| fs::write(at, "my own notes\n"), "its first line is another one"),
    ];
    for (plant, reason) in plants {
        let world = World::new();
        world.write("d/a", "1").write("secret", "for me alone");
        let journal = world.path(".SUMS.journal");
        plant(&world, &journal).expect("a planted entry");
        let kind = fs::symlink_metadata(&journal).expect("it is there").file_type();
        let message = format!(
            "SUMS: .SUMS.journal beside it: not a journal of hashmill for this list: {reason}; it was left as it is: \
             move it away, or remove it"
        );
        world.sum(["--update", "SUMS", "d"]).failure(1, &[&message]);
        assert_eq!(read(&world, "secret"), "for me alone");
        assert_eq!(fs::symlink_metadata(&journal).expect("it stays").file_type(), kind);
        assert!(!world.path("SUMS").exists() && !world.path("nowhere").exists());
        fs::remove_file(&journal).expect("what was planted");
        world.sum(["--update", "SUMS", "d"]).quiet_success();
    }
}
