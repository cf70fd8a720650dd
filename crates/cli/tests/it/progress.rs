//! What is told of work that lasts: as JSON for programs, as lines for logs, as a bar on a terminal.

#![cfg(target_os = "linux")]

use crate::terminal::{screen, terminal};
use crate::world::{World, finish, hashmill};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

/// A directory with two files and, between them, a pipe that nobody has written to.
fn world() -> World {
    let world = World::new();
    world.write("d/a", "12345").write("d/c", "678");
    mknodat(CWD, world.path("d/b"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    world
}

/// The program, which ends if a test that has failed leaves it waiting for the pipe.
fn program() -> Command {
    let mut command = Command::new("timeout");
    command.args(["--foreground", "-s", "KILL", "60"]).arg(hashmill());
    command
}

fn started(world: &World, args: &[&str]) -> Child {
    world.start(program().args(args))
}

/// Lets whoever reads the pipe go on.
fn let_go(world: &World) {
    File::options()
        .write(true)
        .open(world.path("d/b"))
        .and_then(|mut pipe| pipe.write_all(b"9"))
        .expect("a pipe");
}

#[test]
fn programs_read_lines_of_json() {
    let world = world();
    let mut child = started(&world, &["sum", "--progress", "json", "d/a", "d/b", "d/c"]);
    let mut err = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut lines = Vec::new();
    // The first line may come before somebody has looked how much there is.
    let waits = |lines: &[Value]| lines.last().is_none_or(|line| line["files_total"].is_null());
    while waits(&lines) {
        let mut line = String::new();
        err.read_line(&mut line).expect("text");
        lines.push(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}")));
    }
    let line = lines.pop().expect("a line");
    for (field, value) in [
        ("progress", Value::from("hashing")),
        ("ended", false.into()),
        ("file", "d/b".into()),
        ("files_done", 1.into()),
        ("files_total", 3.into()),
        ("bytes_done", 5.into()),
        // Nobody knows what is in a pipe.
        ("bytes_total", Value::Null),
    ] {
        assert_eq!(line[field], value, "{field} in {line}");
    }
    assert!(line.get("seconds_left").is_some() && line.get("bytes_per_second").is_some(), "{line}");
    let_go(&world);
    let mut rest = String::new();
    err.read_to_string(&mut rest).expect("text");
    let last: Value = serde_json::from_str(rest.lines().last().expect("a last line")).expect("JSON");
    assert_eq!((&last["ended"], &last["files_done"]), (&true.into(), &3.into()), "{last}");
    let done = finish(child);
    assert_eq!((done.code(), done.text().lines().count()), (0, 3), "{done:?}");
}

#[test]
fn short_work_has_one_line_of_json() {
    let world = world();
    let list = world.sum(["d/a", "d/c"]).quiet_success();
    world.write("LIST", list);
    let counted = |args: &[&str], fields: &[(&str, Value)]| {
        let done = world.run(&hashmill(), args, b"");
        assert_eq!(done.err.lines().count(), 1, "{done:?}");
        let line: Value = serde_json::from_str(&done.err).expect("JSON");
        for (field, value) in [&[("ended", true.into())], fields].concat() {
            assert_eq!(line[field], value, "{args:?}: {field} in {line}");
        }
    };
    let json = "--progress=json";
    counted(&["sum", json, "--check", "LIST"], &[("progress", "checking".into()), ("bytes_done", 8.into())]);
    // What is to be said of files is one thing, this is another.
    for quiet in ["--quiet", "--status"] {
        counted(&["sum", json, "--check", quiet, "LIST"], &[("files_done", 2.into())]);
    }
    let hash = format!(
        "--hash={}",
        world.run(&hashmill(), ["password", "hash", "-m=64", "-t=1"], b"x").text().trim()
    );
    let verify = world.run(&hashmill(), ["password", "verify", &hash, json, "--quiet"], b"x");
    assert_eq!((verify.code(), verify.err.lines().count()), (0, 1), "{verify:?}");
    counted(&["sum", json, "--audit", "LIST", "d/a"], &[("progress", "auditing".into())]);
    world.write("e/a", "12345");
    counted(&[json, "compare", "e", "e"], &[("progress", "comparing".into()), ("files_done", 2.into())]);
    counted(&["sum", json, "--update", "MANIFEST", "e"], &[("progress", "updating".into())]);
    counted(&["sum", json, "--duplicates", "e"], &[("progress", "hashing".into())]);
}

/// A file is one, by however many functions it was tried.
#[test]
fn what_is_hashed_twice_counts_once() {
    let world = world();
    let sha256 = world.sum(["--algorithm", "sha256", "d/a", "d/c"]).quiet_success();
    let tree = world.write("e/a", "12345").sum(["--tree", "e"]).quiet_success();
    let lines = world.sum(["-r", "e"]).quiet_success();
    world.write("SUMS", &sha256).write("TREE", tree + &lines).write("e/b", "678");
    for (args, files, bytes) in [
        (&["--check", "-q", "SUMS"][..], 2, 8),
        (&["--expect", &sha256[..64], "d/a"], 1, 5),
        // One file of the tree, the same as a line, and the one that it has more.
        (&["--check", "TREE"], 3, 13),
    ] {
        let done = world.sum([&["--progress", "json"], args].concat());
        let line = done.err.lines().last().expect("a line");
        let line: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(
            (&line["files_done"], &line["bytes_done"]),
            (&files.into(), &bytes.into()),
            "{args:?}: {done:?}"
        );
        assert_eq!(line["file"], Value::Null, "{line}");
    }
}

/// What the text of a name does not tell stands beside it.
#[test]
fn names_that_are_no_text_are_told_in_hex() {
    use std::os::unix::ffi::OsStrExt;
    let world = world();
    let name = world.path("d").join(std::ffi::OsStr::from_bytes(b"\xffb"));
    std::fs::rename(world.path("d/b"), &name).expect("a pipe");
    let mut child = world.start(program().args(["sum", "--progress", "json", "d/a"]).arg(&name).arg("d/c"));
    let mut err = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    err.read_line(&mut line).expect("text");
    let line: Value = serde_json::from_str(&line).expect("JSON");
    File::options().write(true).open(&name).expect("a pipe");
    finish(child);
    let hex: String = name.as_os_str().as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(line["file_hex"], hex, "{line}");
    assert!(line["file"].as_str().is_some_and(|file| file.ends_with("\u{fffd}b")), "{line}");
}

#[test]
fn a_log_has_a_line_now_and_then() {
    let world = world();
    let mut child = started(&world, &["sum", "--progress", "always", "d/a", "d/b"]);
    let mut err = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    err.read_line(&mut line).expect("text");
    assert!(line.starts_with("hashing  ") && line.ends_with("d/b\n"), "{line:?}");
    assert!(!line.contains('\x1b') && !line.contains('\r'), "{line:?}");
    let_go(&world);
    assert!(finish(child).status.success());
}

#[test]
fn pipes_get_nothing_unless_asked() {
    let world = world();
    let child = started(&world, &["sum", "d/a", "d/b"]);
    // As long as a bar would wait, and longer.
    std::thread::sleep(std::time::Duration::from_millis(900));
    let_go(&world);
    finish(child).quiet_success();
    world.sum(["--progress", "never", "d/a"]).quiet_success();
    world.sum(["--progress", "sometimes", "d/a"]).failure(
        2,
        &["invalid value 'sometimes' for '--progress <WHEN>' [possible values: auto, always, never, json] (see --help)"],
    );
}

/// Reads a terminal until it shows something, and gives all that was written to it.
fn until(control: &mut File, shown: &mut Vec<u8>, enough: impl Fn(&str) -> bool) -> String {
    loop {
        let contents = screen(shown).screen().contents();
        if enough(&contents) {
            return contents;
        }
        let mut bytes = [0; 4096];
        let count = control.read(&mut bytes).expect("a terminal");
        shown.extend_from_slice(&bytes[..count]);
    }
}

/// A bar names what is at hand, in as much room as there is, and leaves nothing behind.
#[test]
fn a_bar_follows_the_width_and_goes_away() {
    let world = world();
    let name = "a\u{1b}[31m-very-long-name-that-has-no-room-on-any-line-of-this-terminal.iso";
    std::fs::rename(world.path("d/b"), world.path("d").join(name)).expect("a pipe");
    let (mut control, terminal) = terminal();
    let size = |columns| Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&terminal, size(80)).expect("a terminal");
    let path = format!("d/{name}");
    let mut command = program();
    command.args(["sum", "d/a", &path]).current_dir(world.path("")).env("TERM", "xterm");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(terminal.try_clone().expect("a terminal"));
    let mut child = command.spawn().expect("the program starts");
    drop(command);
    let mut shown = Vec::new();
    let wide = until(&mut control, &mut shown, |contents| {
        contents.contains("1/2 files") && contents.contains(".iso")
    });
    // As long as nobody knows how much there is, there is no share of it.
    assert!(wide.starts_with("hashing  5 B  ") && !wide.contains('%'), "{wide:?}");
    assert!(wide.contains("d/a\\u") && wide.contains('…') && !wide.contains("\n"), "{wide:?}");
    tcsetwinsize(&terminal, size(30)).expect("a terminal");
    let is_narrow = |contents: &str| !contents.is_empty() && contents.chars().count() <= 26;
    until(&mut control, &mut shown, |contents| is_narrow(contents) && contents.starts_with("hashing"));
    File::options().write(true).open(world.path(&path)).expect("a pipe");
    let mut out = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut out).expect("text");
    assert!(child.wait().expect("an end").success());
    drop(terminal);
    let mut bytes = [0; 4096];
    // A terminal whose other end is closed ends with an error.
    while let Ok(count @ 1..) = control.read(&mut bytes) {
        shown.extend_from_slice(&bytes[..count]);
    }
    let parser = screen(&shown);
    assert_eq!(parser.screen().contents(), "");
    assert_eq!((parser.screen().cursor_position(), parser.screen().hide_cursor()), ((0, 0), false));
    assert_eq!(out.lines().count(), 2);
}
