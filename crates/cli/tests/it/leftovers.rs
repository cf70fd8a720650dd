//! What is left beside a list that was being written when its process ended: nothing.

use crate::world::{World, finish, hashmill, within_a_minute};
use hashmill_testkit::skip;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

/// A world with a file and a pipe that nobody writes to: whoever reads it waits.
fn world() -> World {
    let world = World::new();
    world.write("f", "x");
    mknodat(CWD, world.path("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    world
}

fn names(world: &World) -> Vec<String> {
    let entries = fs::read_dir(world.path("")).expect("a directory");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Waits until something holds, or the program has ended.
fn wait(child: &mut Child, holds: impl Fn() -> bool) {
    within_a_minute(|| holds() || child.try_wait().expect("our own child").is_some());
}

/// Waits until a temporary file is there.
fn wait_for_temporary(world: &World, child: &mut Child) {
    wait(child, || names(world).iter().any(|name| is_temporary(name)));
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("it runs");
}

/// `hashmill sum` where no file can be given a name afterwards, as that goes through `/proc`.
fn without_proc(args: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", "mount -t tmpfs none /proc && exec \"$0\" sum \"$@\""]);
    command.arg(hashmill()).args(args);
    command
}

fn can_hide_proc() -> bool {
    let works = Command::new("unshare").args(["-rm", "mount", "-t", "tmpfs", "none", "/proc"]).output();
    let works = works.is_ok_and(|output| output.status.success());
    if !works {
        skip("files that have names while they are written", "no mounts here: unshare -rm");
    }
    works
}

fn is_temporary(name: &str) -> bool {
    name.starts_with(".hashmill-") && name.ends_with(".tmp")
}

#[test]
fn a_list_that_is_being_written_has_no_name() {
    let world = world();
    for (args, left) in [
        (&["-o", "OUT", "f", "pipe"][..], &["f", "pipe"][..]),
        // What was read is kept for the next run, by name.
        (&["--update", "SUMS", "f", "pipe"], &[".SUMS.journal", "f", "pipe"]),
    ] {
        let mut child = world.start(Command::new(hashmill()).arg("sum").args(args));
        if args[0] == "--update" {
            let journal = world.path(".SUMS.journal");
            wait(&mut child, || fs::read_to_string(&journal).unwrap_or_default().contains("  f\n"));
        } else {
            thread::sleep(Duration::from_millis(200));
        }
        if names(&world).iter().any(|name| is_temporary(name)) {
            child.kill().expect("it runs");
            let _ = finish(child);
            return skip("files without names", "the file system of the temporary directory has none");
        }
        child.kill().expect("it runs");
        let _ = finish(child);
        assert_eq!(names(&world), left, "{args:?}");
    }
    // A run that was killed is no part of what is audited, nor of what is resumed.
    world.write("d/SUMS", world.sum(["f"]).out);
    fs::rename(world.path(".SUMS.journal"), world.path("d/.SUMS.journal")).expect("our own file");
    let out = world.sum(["--audit", "d/SUMS", "f", "d"]).quiet_success();
    assert_eq!(out, "1 same, 0 changed, 0 moved, 0 new, 0 gone\n");
}

#[test]
fn a_signal_takes_a_file_with_a_name_away() {
    if !can_hide_proc() {
        return;
    }
    for args in [&["-o", "OUT", "f", "pipe"][..], &["--update", "SUMS", "f", "pipe"]] {
        for signal in [Signal::TERM, Signal::HUP] {
            let world = world();
            let mut child = world.start(&mut without_proc(args));
            wait_for_temporary(&world, &mut child);
            send(&child, signal);
            let done = finish(child);
            assert_eq!(done.status.signal(), Some(signal.as_raw()), "{args:?}: {}", done.err);
            assert!(!names(&world).iter().any(|name| is_temporary(name)), "{args:?}: {:?}", names(&world));
        }
    }
}

#[test]
fn the_next_run_takes_away_what_a_killed_one_left() {
    if !can_hide_proc() {
        return;
    }
    let world = world();
    let mut child = world.start(&mut without_proc(&["-o", "OUT", "f", "pipe"]));
    wait_for_temporary(&world, &mut child);
    // As long as somebody writes it, it stays.
    let other = finish(world.start(&mut without_proc(&["-o", "OTHER", "f"])));
    assert_eq!((other.code(), &*other.err), (0, ""));
    assert_eq!(names(&world).len(), 4, "{:?}", names(&world));
    child.kill().expect("it runs");
    let _ = finish(child);
    assert_eq!(names(&world).len(), 4, "{:?}", names(&world));
    let last = finish(world.start(&mut without_proc(&["-o", "OUT", "f"])));
    assert_eq!((last.code(), &*last.err), (0, ""));
    assert_eq!(names(&world), ["OTHER", "OUT", "f", "pipe"]);
}

#[test]
fn pipes_and_devices_are_written_to() {
    let world = World::new();
    world.write("f", "x");
    mknodat(CWD, world.path("out"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    let reader = thread::spawn({
        let path = world.path("out");
        move || fs::read_to_string(path).expect("our own pipe")
    });
    let expected = world.sum(["f"]).quiet_success();
    assert_eq!(world.sum(["-o", "out", "f"]).quiet_success(), "");
    assert_eq!(reader.join().expect("it was written to"), expected);
    world.sum(["--update", "out", "f"]).failure(1, &["out: no file that could be replaced"]);
    world.sum(["--update", ".", "f"]).failure(1, &[".: no file that could be replaced"]);
    assert_eq!(names(&world), ["f", "out"]);
}
