//! Leftover files: a process that ends while it writes a list leaves none.

use crate::world::{World, finish, hashmill};
use hashmill_testkit::skip;
use hashmill_testkit::wait::{Running, until};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::thread;

/// A world with a file and a pipe without a writer: reading it blocks.
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

/// Waits until a condition holds or the program has ended.
fn wait(child: &mut Running, what: &str, mut holds: impl FnMut() -> bool) {
    until(what, || holds() || child.try_wait().expect("our own child").is_some());
}

/// Waits until a temporary file exists.
fn wait_for_temporary(world: &World, child: &mut Running) {
    wait(child, "a temporary file", || names(world).iter().any(|name| is_temporary(name)));
}

fn send(child: &Running, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("it runs");
}

/// `hashmill sum` where unnamed files cannot be linked, as that needs `/proc`.
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
fn unfinished_list_has_no_name() {
    let world = world();
    for (args, left) in [
        (&["-o", "OUT", "f", "pipe"][..], &["f", "pipe"][..]),
        // The digests so far are kept for the next run in a named file.
        (&["--update", "SUMS", "f", "pipe"], &[".SUMS.journal", "f", "pipe"]),
    ] {
        let mut child = world.start(Command::new(hashmill()).arg("sum").args(args));
        // Stays open until the program is killed; otherwise it would read the end of the pipe.
        let mut writer = None;
        if args[0] == "--update" {
            let journal = world.path(".SUMS.journal");
            wait(&mut child, "the line of a file in the journal", || {
                fs::read_to_string(&journal).unwrap_or_default().contains("  f\n")
            });
        } else {
            // The list is started before the files are read: a non-blocking open for writing succeeds once the pipe has a reader.
            let is_read = || open(world.path("pipe"), OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty());
            wait(&mut child, "a reader of the pipe", || {
                writer = is_read().ok();
                writer.is_some()
            });
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
    // The leftover of a killed run is neither audited nor resumed.
    world.write("d/SUMS", world.sum(["f"]).out);
    fs::rename(world.path(".SUMS.journal"), world.path("d/.SUMS.journal")).expect("our own file");
    let out = world.sum(["--audit", "d/SUMS", "f", "d"]).quiet_success();
    assert_eq!(out, "1 same, 0 changed, 0 moved, 0 new, 0 gone\n");
}

#[test]
fn signal_removes_named_temporary_file() {
    if !can_hide_proc() {
        return;
    }
    // Under `nohup` the program would inherit an ignored SIGHUP and correctly continue.
    hashmill_testkit::signal::heed();
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
fn next_run_removes_files_of_a_killed_one() {
    if !can_hide_proc() {
        return;
    }
    let world = world();
    let mut child = world.start(&mut without_proc(&["-o", "OUT", "f", "pipe"]));
    wait_for_temporary(&world, &mut child);
    // It stays while another run writes it.
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
fn writes_to_pipes_and_devices() {
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
    world.sum(["--update", "out", "f"]).failure(1, &["out: not a regular file, so it cannot be replaced"]);
    world.sum(["--update", ".", "f"]).failure(1, &[".: not a regular file, so it cannot be replaced"]);
    assert_eq!(names(&world), ["f", "out"]);
}
