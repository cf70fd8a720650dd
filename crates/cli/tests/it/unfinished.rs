//! Output that does not arrive, input that is not there: what was not done to the end does not succeed.

#![cfg(unix)]

use crate::world::{Done, World, digest, finish, hashmill};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Runs `hashmill ARGS` with nobody to read its standard output, from the first byte on or from the second line on.
fn unread(world: &World, args: &[&str], lines: usize) -> Done {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut command = Command::new(hashmill());
    command.args(args).current_dir(world.path("")).stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped());
    // As in every session: without it Mesa's Vulkan complains.
    command.env("XDG_RUNTIME_DIR", world.path(""));
    let mut reader = BufReader::with_capacity(64, reader);
    let start = |command: &mut Command| command.spawn().expect("the program starts");
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

/// Runs a line of shell, in which `hashmill` is the program.
fn shell(world: &World, line: &str) -> Done {
    let line = line.replace("hashmill", hashmill().to_str().expect("a path"));
    world.run("sh".as_ref(), ["-c", &line], b"")
}

/// So many files with a list that their results do not fit into a pipe. The entry of line `bad` is wrong.
fn many(bad: usize) -> World {
    let world = World::new();
    let mut list = String::new();
    for n in 1..=6000 {
        let name = format!("a-name-that-is-long-enough-for-that/{n}");
        world.write(&name, "x");
        list += &format!("{}  {name}\n", digest(if n == bad { b"y" } else { b"x" }));
    }
    world.write("list", &list).write("other", &list);
    world
}

#[test]
fn a_check_whose_reader_leaves_has_failed() {
    // Before the failure, after it, without one.
    for bad in [1, 5000, 0] {
        let world = many(bad);
        let done = unread(&world, &["sum", "-c", "list", "other"], 1);
        assert_eq!(done.code(), 1, "{bad}: {}", done.err);
        assert!(done.err.contains("hashmill: list: the check stopped after line "), "{bad}: {}", done.err);
        assert!(done.err.contains("hashmill: other: not checked\n"), "{bad}: {}", done.err);
        assert_eq!(done.err.contains("did NOT match"), bad == 1, "{bad}: {}", done.err);
    }
    // What is found out without a word is found out all the same.
    let world = many(0);
    unread(&world, &["sum", "-c", "--quiet", "list"], 0).failure(0, &[]);
    unread(&world, &["sum", "-c", "--status", "list"], 0).failure(0, &[]);
}

#[test]
fn a_check_of_one_line_whose_reader_leaves_has_failed() {
    let world = World::new();
    // In JSON this name is longer than any buffer, so the line is written, and fails, before it is complete.
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

/// As `sha256sum`, `cat` and everybody else: silently, and by the signal.
#[test]
fn what_only_prints_ends_with_its_reader() {
    let world = many(0);
    for args in [
        &["sum", "list", "list"][..],
        &["sum", "--tree", "a-name-that-is-long-enough-for-that"],
        &["info"],
        &["--help"],
        &["password", "bench", "--preset", "argon2sharp-test"],
    ] {
        let done = unread(&world, args, 0);
        done.ended_unread();
    }
    let done = unread(&world, &["sum", "-r", "a-name-that-is-long-enough-for-that"], 1);
    done.ended_unread();
    let done = shell(&world, "hashmill sum list | head -1");
    assert_eq!((done.code(), done.text().lines().count()), (0, 1));
}

/// The lab's commands that find something out are no success for a reader who left; those that show something are.
#[test]
fn a_verdict_of_the_lab_that_nobody_reads_is_none() {
    let world = World::new();
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/tests/golden/report.json");
    unread(&world, &["lab", "list"], 0).failure(0, &[]);
    unread(&world, &["lab", "report", golden], 0).failure(0, &[]);
    let done = unread(&world, &["lab", "check", golden], 0);
    let expected = "hashmill lab: cannot write the output: Broken pipe (os error 32)\n";
    assert_eq!((done.code(), &*done.err), (2, expected));
}

/// The runtime puts `/dev/null` in the place of a closed stream, where everything can be written.
#[test]
fn a_closed_standard_output_is_a_failure() {
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
        .failure(2, &[closed, "stored: nothing after line 1 of it was looked at"]);
    // Nothing is to be said, and nothing is lost.
    shell(&world, "hashmill sum -c --status list >&-").failure(0, &[]);
    shell(&world, "hashmill sum -c --quiet list >&-").failure(0, &[]);
    shell(&world, "hashmill password verify --quiet --file stored <pw >&-").failure(0, &[]);
    // Whoever opens it for reading, too, means it.
    shell(&world, "hashmill sum f 1<>/dev/null").failure(0, &[]);
}

#[test]
fn a_closed_standard_input_is_not_empty() {
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
fn a_full_disk_is_a_failure_of_everything() {
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
fn passwords_that_nobody_reads_about_are_no_success() {
    let world = World::new();
    let stored = shell(&world, "printf x | hashmill password hash -q -m 64 -t 1").quiet_success();
    let name = "a name that is so long that not all of them fit into a pipe";
    world.write("stored", format!("{name}:{stored}").repeat(2000)).write("pw", "x");
    let done =
        shell(&world, "{ hashmill password verify --file stored <pw; echo $? >code; } | head -1; cat code");
    assert_eq!(done.text(), format!("{name}: match\n2\n"));
    assert!(done.err.starts_with("hashmill: stored: nothing after line "), "{}", done.err);
    assert!(done.err.contains("standard output: its reader left before the end"), "{}", done.err);
    let done =
        shell(&world, "{ hashmill password needs-rehash --file stored; echo $? >code; } | head -1; cat code");
    assert!(done.text().ends_with("\n2\n"), "{}", done.text());
    assert!(done.err.starts_with("hashmill: stored: nothing after line "), "{}", done.err);
}

/// What can be answered is, before the end that came too early is told.
#[test]
fn a_file_of_passwords_that_ends_early() {
    let world = World::new();
    let stored = shell(&world, "printf x | hashmill password hash -q -m 64 -t 1").quiet_success();
    world.write("stored", stored.repeat(3)).write("passwords", "x\ny\n");
    let out = shell(&world, "hashmill password verify --file stored --passwords passwords").failure(
        2,
        &["passwords: no password on line 3", "stored: nothing after line 2 of it was looked at"],
    );
    assert_eq!(out, "1: match\n2: no match\n");
}
