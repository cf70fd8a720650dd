//! The progress bar: on a terminal, after a second, and never elsewhere.

#![cfg(target_os = "linux")]

use crate::world::{World, digest, hashmill};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Runs `hashmill sum ARGS` on standard input that lasts `time`, with a terminal as standard error. What both say.
fn on_a_terminal(args: &[&str], time: Duration) -> (String, String) {
    run_on_a_terminal(&World::new(), &[&["sum"], args].concat(), b"foo", time)
}

/// Runs `hashmill ARGS` in the same way.
fn run_on_a_terminal(world: &World, args: &[&str], input: &[u8], time: Duration) -> (String, String) {
    let control = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&control).and_then(|()| unlockpt(&control)).expect("a terminal");
    let name = ptsname(&control, Vec::new()).expect("a terminal");
    let terminal =
        File::options().read(true).write(true).open(name.to_str().expect("a name")).expect("a terminal");
    let mut command = Command::new(hashmill());
    command.args(args).current_dir(world.path("")).env("TERM", "xterm");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(terminal);
    let mut child = command.spawn().expect("the program starts");
    drop(command);
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input).expect("the program reads");
    let shown = thread::spawn(move || {
        let mut shown = Vec::new();
        // A terminal whose other end is closed ends with an error.
        let _ = File::from(control).read_to_end(&mut shown);
        String::from_utf8_lossy(&shown).into_owned()
    });
    thread::sleep(time);
    drop(stdin);
    let mut out = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut out).expect("text");
    assert!(child.wait().expect("an end").success());
    (out, shown.join().expect("the reader of the terminal"))
}

#[test]
fn long_work_shows_a_bar_and_short_work_does_not() {
    let expected = format!("{}  -\n", digest(b"foo"));
    let (out, shown) = on_a_terminal(&[], Duration::from_millis(1500));
    assert_eq!(out, expected);
    assert!(shown.contains("files") && shown.contains("B/s"), "{shown:?}");
    let (out, shown) = on_a_terminal(&[], Duration::ZERO);
    assert_eq!((out, &*shown), (expected.clone(), ""));
    let (out, shown) = on_a_terminal(&["--no-progress"], Duration::from_millis(1500));
    assert_eq!((out, &*shown), (expected, ""));
}

#[test]
fn checking_many_passwords_shows_how_many() {
    let world = World::new();
    let hash = world.run(&hashmill(), ["password", "hash", "-m", "64", "-t", "1"], b"x").quiet_success();
    world.write("password", "x\n");
    let args = ["password", "verify", "--file", "-", "--passwords", "password"];
    let (out, shown) = run_on_a_terminal(&world, &args, hash.as_bytes(), Duration::from_millis(1500));
    assert_eq!(out, "1: match\n");
    assert!(shown.contains("passwords"), "{shown:?}");
    let (out, shown) = run_on_a_terminal(&world, &args, hash.as_bytes(), Duration::ZERO);
    assert_eq!((&*out, &*shown), ("1: match\n", ""));
}
