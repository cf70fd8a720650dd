//! Incomplete runs: output that cannot be written and missing input are failures.

#![cfg(unix)]

use crate::world::{Done, World, digest, finish, hashmill};
use hashmill_testkit::wait;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Runs `hashmill ARGS` with standard output closed by its reader, at once or after the first line.
fn unread(world: &World, args: &[&str], lines: usize) -> Done {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut command = Command::new(hashmill());
    command.args(args).current_dir(world.path("")).stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped());
    // Without this variable Mesa's Vulkan prints warnings.
    command.env("XDG_RUNTIME_DIR", world.path(""));
    let mut reader = BufReader::with_capacity(64, reader);
    let start = |command: &mut Command| wait::start(command).expect("the program starts");
    if lines == 0 {
        drop(reader);
        return finish(start(&mut command));
    }
    let child = start(&mut command);
    drop(command);
    for _ in 0..lines {
        reader.read_line(&mut String::new()).expect("a line");
    }
    drop(reader);
    finish(child)
}

/// Runs a shell line in which `hashmill` is the program under test.
fn shell(world: &World, line: &str) -> Done {
    let line = line.replace("hashmill", hashmill().to_str().expect("a path"));
    world.run("sh".as_ref(), ["-c", &line], b"")
}

/// Folder name, so long that the results of a few files fill a pipe.
const LONG: &str = "a-name-that-is-long-enough-for-that";
const FILES: usize = 1500;

/// Files with a list whose results do not fit into a pipe. The entry on line `bad` is wrong.
fn many(bad: usize) -> World {
    let world = World::new();
    let mut list = String::new();
    for n in 1..=FILES {
        let name = format!("{LONG}/{n:0>150}");
        world.write(&name, "x");
        list += &format!("{}  {name}\n", digest(if n == bad { b"y" } else { b"x" }));
    }
    world.write("list", &list).write("other", &list);
    world
}

#[test]
fn check_fails_if_its_reader_leaves() {
    // The reader leaves before the failure, after it, or there is no failure.
    for bad in [1, FILES - 250, 0] {
        let world = many(bad);
        let done = unread(&world, &["sum", "-c", "list", "other"], 1);
        assert_eq!(done.code(), 1, "{bad}: {}", done.err);
        assert!(done.err.contains("hashmill: list: the check stopped after line "), "{bad}: {}", done.err);
        assert!(done.err.contains("hashmill: other: not checked\n"), "{bad}: {}", done.err);
        assert_eq!(done.err.contains("did NOT match"), bad == 1, "{bad}: {}", done.err);
    }
    // A silent check has the same exit code.
    let world = many(0);
    unread(&world, &["sum", "-c", "--quiet", "list"], 0).failure(0, &[]);
    unread(&world, &["sum", "-c", "--status", "list"], 0).failure(0, &[]);
}

#[test]
fn one_line_check_fails_if_its_reader_leaves() {
    let world = World::new();
    // In JSON this name is longer than the buffer, so the write fails within the line.
    let long = "\"".repeat(60_000);
    world.write("f", "x").write("list", format!("{}  f\n{0}  {long}\n", digest(b"y")));
    world.write("good", format!("{}  f\n", digest(b"x")));
    for args in [&["sum", "-c", "list"][..], &["sum", "-c", "--json", "list"]] {
        let done = unread(&world, args, 0);
        assert_eq!(done.code(), 1, "{args:?}: {}", done.err);
        assert!(done.err.contains("did NOT match"), "{args:?}: {}", done.err);
    }
    let stopped = "good: the check stopped after line 1";
    unread(&world, &["sum", "-c", "good"], 0).failure(1, &[stopped]);
}

/// As `sha256sum` and `cat`: silently, by SIGPIPE.
#[test]
fn printing_commands_end_by_sigpipe() {
    let world = many(0);
    for args in [
        &["sum", "list", "list"][..],
        &["sum", "--tree", LONG],
        &["info"],
        &["--help"],
        &["password", "bench", "--preset", "argon2sharp-test"],
    ] {
        let done = unread(&world, args, 0);
        done.ended_unread();
    }
    let done = unread(&world, &["sum", "-r", LONG], 1);
    done.ended_unread();
    let done = shell(&world, "hashmill sum list | head -1");
    assert_eq!((done.code(), done.text().lines().count()), (0, 1));
}

/// Lab commands with a verdict fail if their reader leaves; those that only print do not.
#[test]
fn lab_verdict_fails_if_its_reader_leaves() {
    let world = World::new();
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/tests/golden/report.json");
    unread(&world, &["lab", "list"], 0).failure(0, &[]);
    unread(&world, &["lab", "report", golden], 0).failure(0, &[]);
    let done = unread(&world, &["lab", "check", golden], 0);
    let expected = "hashmill lab: cannot write the output: Broken pipe (os error 32)\n";
    assert_eq!((done.code(), &*done.err), (2, expected));
}

/// Rust's runtime replaces a closed stream by `/dev/null`, where all writes succeed.
#[test]
fn closed_standard_output_is_a_failure() {
    let world = World::new();
    world.write("f", "x").write("list", format!("{}  f\n", digest(b"x")));
    let stored = shell(&world, "printf x | hashmill password hash -q -m 64 -t 1").quiet_success();
    world.write("stored", &stored).write("pw", "x");
    let closed = "standard output: Bad file descriptor (os error 9)";
    for (command, code) in [
        ("sum f", 1),
        ("sum --json f", 1),
        ("sum --tree .", 1),
        ("info", 1),
        ("--help", 1),
        ("--version", 1),
        ("lab list", 1),
        ("password hash -q -m 64 -t 1 <pw", 2),
        ("password kdf somesalt -k 64 <pw", 2),
        ("password needs-rehash --file stored", 2),
    ] {
        shell(&world, &format!("hashmill {command} >&-")).failure(code, &[closed]);
    }
    shell(&world, "hashmill sum -c list >&-").failure(1, &[closed, "list: the check stopped after line 1"]);
    shell(&world, "hashmill password verify --file stored <pw >&-")
        .failure(2, &[closed, "stored: nothing was read after line 1"]);
    // Nothing is printed, so nothing is lost.
    shell(&world, "hashmill sum -c --status list >&-").failure(0, &[]);
    shell(&world, "hashmill sum -c --quiet list >&-").failure(0, &[]);
    shell(&world, "hashmill password verify --quiet --file stored <pw >&-").failure(0, &[]);
    // A descriptor opened for reading as well is intended.
    shell(&world, "hashmill sum f 1<>/dev/null").failure(0, &[]);
}

#[test]
fn closed_standard_input_is_not_empty() {
    let world = World::new();
    world.write("f", "x").write("stored", "");
    let closed = |what: &str| format!("{what}: Bad file descriptor (os error 9)");
    for (command, what, code) in [
        ("sum", "-", 1),
        ("sum -c", "-", 1),
        ("sum --keyed f", "the key on standard input", 1),
        ("password hash", "the password on standard input", 2),
        ("password kdf somesalt", "the password on standard input", 2),
        ("password verify --file stored", "the password on standard input", 2),
        ("password verify --file - --password-fd 3 3<f", "standard input", 2),
        ("password needs-rehash --file -", "standard input", 2),
    ] {
        shell(&world, &format!("hashmill {command} <&-")).failure(code, &[&closed(what)]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_is_a_failure_of_every_command() {
    let world = World::new();
    world.write("f", "x").write("list", format!("{}  f\n", digest(b"x")));
    let stored = shell(&world, "printf x | hashmill password hash -q -m 64 -t 1").quiet_success();
    world.write("stored", &stored);
    let full = "standard output: No space left on device (os error 28)";
    for (command, code) in
        [("sum f", 1), ("info", 1), ("--help", 1), ("password needs-rehash --file stored", 2)]
    {
        shell(&world, &format!("hashmill {command} >/dev/full")).failure(code, &[full]);
    }
    shell(&world, "hashmill sum -c list >/dev/full")
        .failure(1, &[full, "list: the check stopped after line 1"]);
}

#[test]
fn password_answers_fail_if_their_reader_leaves() {
    let world = World::new();
    let stored = shell(&world, "printf x | hashmill password hash -q -m 64 -t 1").quiet_success();
    let name = "a name that is so long that not all of them fit into a pipe";
    world.write("stored", format!("{name}:{stored}").repeat(2000)).write("pw", "x");
    let done =
        shell(&world, "{ hashmill password verify --file stored <pw; echo $? >code; } | head -1; cat code");
    assert_eq!(done.text(), format!("{name}: match\n2\n"));
    assert!(done.err.starts_with("hashmill: stored: nothing was read after line "), "{}", done.err);
    assert!(done.err.contains("standard output: its reader closed it before the end"), "{}", done.err);
    let done =
        shell(&world, "{ hashmill password needs-rehash --file stored; echo $? >code; } | head -1; cat code");
    assert!(done.text().ends_with("\n2\n"), "{}", done.text());
    assert!(done.err.starts_with("hashmill: stored: nothing was read after line "), "{}", done.err);
}

/// All possible answers come before the error about the early end.
#[test]
fn short_password_file_is_an_error() {
    let world = World::new();
    let stored = shell(&world, "printf x | hashmill password hash -q -m 64 -t 1").quiet_success();
    world.write("stored", stored.repeat(3)).write("passwords", "x\ny\n");
    let out = shell(&world, "hashmill password verify --file stored --passwords passwords")
        .failure(2, &["passwords: no password on line 3", "stored: nothing was read after line 2"]);
    assert_eq!(out, "1: match\n2: no match\n");
}
