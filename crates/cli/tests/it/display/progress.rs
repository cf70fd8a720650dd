//! Progress of long work: JSON for programs, lines for logs, a bar on a terminal.

#![cfg(target_os = "linux")]

use crate::display::terminal::{screen, terminal};
use crate::world::{Done, World, finish, hashmill};
use hashmill_testkit::wait::{self, Running};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A directory with two files and, between them, a pipe without data.
fn world() -> World {
    let world = World::new();
    world.write("d/a", "12345").write("d/c", "678");
    mknodat(CWD, world.path("d/b"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    world
}

fn started(world: &World, args: &[&str]) -> Running {
    world.start(Command::new(hashmill()).args(args))
}

/// Unblocks the reader of the pipe.
fn let_go(world: &World) {
    File::options()
        .write(true)
        .open(world.path("d/b"))
        .and_then(|mut pipe| pipe.write_all(b"9"))
        .expect("a pipe");
}

#[test]
fn prints_json_lines() {
    let world = world();
    let mut child = started(&world, &["sum", "--progress", "json", "d/a", "d/b", "d/c"]);
    let mut err = BufReader::new(child.stderr.take().expect("a pipe"));
    // The first lines may come before the total is known and the first file is done.
    let is_known = |line: &Value| !line["files_total"].is_null() && line["file"] == "d/b";
    let line = loop {
        let mut line = String::new();
        err.read_line(&mut line).expect("text");
        let line: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"));
        if is_known(&line) {
            break line;
        }
    };
    for (field, value) in [
        ("progress", Value::from("hashing")),
        ("ended", false.into()),
        ("file", "d/b".into()),
        ("files_done", 1.into()),
        ("files_total", 3.into()),
        ("bytes_done", 5.into()),
        // The length of a pipe is unknown.
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

/// The last JSON line of a successful program. There is one, and one more per half second of run time.
fn last_line(run: impl FnOnce() -> Done) -> Value {
    let start = Instant::now();
    let done = run();
    let half_seconds = (start.elapsed().as_millis() / 500) as usize;
    assert_eq!(done.code(), 0, "{done:?}");
    let lines: Vec<Value> = done.err.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!((1..=1 + half_seconds).contains(&lines.len()), "{half_seconds}: {done:?}");
    lines.into_iter().next_back().expect("a line")
}

#[test]
fn short_work_prints_one_json_line() {
    let world = world();
    let list = world.sum(["d/a", "d/c"]).quiet_success();
    world.write("LIST", list);
    let counted = |args: &[&str], fields: &[(&str, Value)]| {
        let line = last_line(|| world.run(&hashmill(), args, b""));
        for (field, value) in [&[("ended", true.into())], fields].concat() {
            assert_eq!(line[field], value, "{args:?}: {field} in {line}");
        }
    };
    let json = "--progress=json";
    counted(&["sum", json, "--check", "LIST"], &[("progress", "checking".into()), ("bytes_done", 8.into())]);
    // Messages about files are separate lines.
    for quiet in ["--quiet", "--status"] {
        counted(&["sum", json, "--check", quiet, "LIST"], &[("files_done", 2.into())]);
    }
    let hash = format!(
        "--hash={}",
        world.run(&hashmill(), ["password", "hash", "-m=64", "-t=1"], b"x").text().trim()
    );
    let verify = last_line(|| world.run(&hashmill(), ["password", "verify", &hash, json, "--quiet"], b"x"));
    assert_eq!(verify["ended"], true, "{verify}");
    counted(&["sum", json, "--audit", "LIST", "d/a"], &[("progress", "auditing".into())]);
    world.write("e/a", "12345");
    counted(&[json, "compare", "e", "e"], &[("progress", "comparing".into()), ("files_done", 2.into())]);
    counted(&["sum", json, "--update", "MANIFEST", "e"], &[("progress", "updating".into())]);
    counted(&["sum", json, "--duplicates", "e"], &[("progress", "hashing".into())]);
}

/// A file counts once, even if tried by several functions.
#[test]
fn repeated_files_count_once() {
    let world = world();
    let sha256 = world.sum(["--algorithm", "sha256", "d/a", "d/c"]).quiet_success();
    let tree = world.write("e/a", "12345").sum(["--tree", "e"]).quiet_success();
    let lines = world.sum(["-r", "e"]).quiet_success();
    world.write("SUMS", &sha256).write("TREE", tree + &lines).write("e/b", "678");
    for (args, files, bytes) in [
        (&["--check", "-q", "SUMS"][..], 2, 8),
        (&["--expect", &sha256[..64], "d/a"], 1, 5),
        // One file of the tree, the same file as a line, and the additional one.
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

/// A name that is not text has its bytes in a second field.
#[test]
fn names_that_are_not_text_are_in_hex() {
    use std::os::unix::ffi::OsStrExt;
    let world = world();
    let name = world.path("d").join(std::ffi::OsStr::from_bytes(b"\xffb"));
    std::fs::rename(world.path("d/b"), &name).expect("a pipe");
    let mut command = Command::new(hashmill());
    let mut child = world.start(command.args(["sum", "--progress", "json", "d/a"]).arg(&name).arg("d/c"));
    let mut err = BufReader::new(child.stderr.take().expect("a pipe"));
    // Until the middle file starts, it is the one before.
    let line = loop {
        let mut line = String::new();
        err.read_line(&mut line).expect("text");
        let line: Value = serde_json::from_str(&line).expect("JSON");
        if line["file"].as_str().is_some_and(|file| file != "d/a") {
            break line;
        }
    };
    File::options().write(true).open(&name).expect("a pipe");
    finish(child);
    let hex = hashmill_testkit::hex::encode(name.as_os_str().as_bytes());
    assert_eq!(line["file_hex"], hex, "{line}");
    assert!(line["file"].as_str().is_some_and(|file| file.ends_with("\u{fffd}b")), "{line}");
}

#[test]
fn log_has_lines_at_intervals() {
    let world = world();
    let mut child = started(&world, &["sum", "--progress", "always", "d/a", "d/b"]);
    let mut err = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    // Until the second file starts, it is the first.
    while !line.ends_with("d/b\n") {
        line.clear();
        assert!(err.read_line(&mut line).expect("text") > 0, "it ended");
        assert!(line.starts_with("hashing  "), "{line:?}");
        assert!(!line.contains('\x1b') && !line.contains('\r'), "{line:?}");
    }
    let_go(&world);
    assert!(finish(child).status.success());
}

#[test]
fn pipes_get_progress_only_on_request() {
    let world = world();
    let child = started(&world, &["sum", "d/a", "d/b"]);
    // Longer than the delay of a bar.
    std::thread::sleep(Duration::from_millis(900));
    let_go(&world);
    finish(child).quiet_success();
    world.sum(["--progress", "never", "d/a"]).quiet_success();
    world.sum(["--progress", "sometimes", "d/a"]).failure(
        2,
        &["invalid value 'sometimes' for '--progress <WHEN>' [possible values: auto, always, never, json] (see --help)"],
    );
}

/// Reads a terminal until it shows the text; returns all output.
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

/// A bar shows the current file in the available width, and leaves nothing behind.
#[test]
fn bar_follows_the_width_and_is_cleared() {
    let world = world();
    let name = "a\u{1b}[31m-very-long-name-that-has-no-room-on-any-line-of-this-terminal.iso";
    std::fs::rename(world.path("d/b"), world.path("d").join(name)).expect("a pipe");
    let (mut control, terminal) = terminal();
    let size = |columns| Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&terminal, size(80)).expect("a terminal");
    let path = format!("d/{name}");
    let mut command = Command::new(hashmill());
    command.args(["sum", "d/a", &path]).current_dir(world.path("")).env("TERM", "xterm");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(terminal.try_clone().expect("a terminal"));
    let mut child = wait::start(&mut command).expect("the program starts");
    drop(command);
    let mut shown = Vec::new();
    let wide = until(&mut control, &mut shown, |contents| {
        contents.starts_with("hashing  5 B  ") && contents.contains("1/2 files") && contents.contains(".iso")
    });
    // Without a total there is no percentage.
    assert!(!wide.contains('%'), "{wide:?}");
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
    // Reading a terminal whose other end is closed fails.
    while let Ok(count @ 1..) = control.read(&mut bytes) {
        shown.extend_from_slice(&bytes[..count]);
    }
    let parser = screen(&shown);
    assert_eq!(parser.screen().contents(), "");
    assert_eq!((parser.screen().cursor_position(), parser.screen().hide_cursor()), ((0, 0), false));
    assert_eq!(out.lines().count(), 2);
}
