//! The progress bar: on a terminal, after half a second, and never elsewhere.

#![cfg(target_os = "linux")]

use crate::world::{World, digest, hashmill};
use hashmill_testkit::{signal, skip};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Both ends of a new terminal: that of whoever sits before it, and that of programs.
pub(crate) fn terminal() -> (File, File) {
    let control = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&control).and_then(|()| unlockpt(&control)).expect("a terminal");
    let name = ptsname(&control, Vec::new()).expect("a terminal");
    let terminal = File::options().read(true).write(true).open(name.to_str().expect("a name"));
    (File::from(control), terminal.expect("a terminal"))
}

/// The program, told to ignore SIGHUP and SIGINT.
pub(crate) fn deaf() -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP INT; exec \"$@\"", "sh"]).arg(hashmill());
    command
}

/// Runs `hashmill sum ARGS` on standard input that lasts `time`, with a terminal as standard error. What both say.
fn on_a_terminal(args: &[&str], time: Duration) -> (String, String) {
    run_on_a_terminal(&World::new(), &[&["sum"], args].concat(), b"foo", time)
}

/// Runs `hashmill ARGS` in the same way.
fn run_on_a_terminal(world: &World, args: &[&str], input: &[u8], time: Duration) -> (String, String) {
    let (control, terminal) = terminal();
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
        let _ = { control }.read_to_end(&mut shown);
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
    assert!(shown.contains("hashing  0 B") && shown.contains("files  standard input"), "{shown:?}");
    let (out, shown) = on_a_terminal(&[], Duration::ZERO);
    assert_eq!((out, &*shown), (expected.clone(), ""));
    let (out, shown) = on_a_terminal(&["--no-progress"], Duration::from_millis(1500));
    assert_eq!((out, &*shown), (expected, ""));
}

/// Somebody who typed no name wonders what the program waits for.
#[test]
fn a_terminal_as_standard_input_is_told() {
    let (mut control, terminal) = terminal();
    let mut command = Command::new(hashmill());
    command.args(["sum", "--no-progress"]).stdin(terminal).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the program starts");
    drop(command);
    control.write_all(b"foo\n\x04").expect("a terminal");
    let done = crate::world::finish(child);
    assert_eq!(done.text(), format!("{}  -\n", digest(b"foo\n")));
    let said = "hashmill: standard input is the terminal: type what is to be hashed, and Ctrl-D at the end\n";
    assert_eq!(done.err, said);
}

/// The same without a list or a key.
#[test]
fn a_terminal_that_a_list_or_a_key_comes_from_is_told() {
    let world = World::new();
    world.write("f", "foo");
    let list = format!("{}  f\n\x04", digest(b"foo"));
    let key = format!("{}\n\x04", "k".repeat(31));
    let list_said = "hashmill: standard input is the terminal: type the list, and Ctrl-D at the end\n";
    let key_said =
        "hashmill: standard input is the terminal: type the 32 bytes of the key, and Ctrl-D at the end\n";
    for (args, typed, said) in [
        (&["-c"][..], &list, list_said),
        (&["-c", "-"], &list, list_said),
        (&["--keyed", "f"], &key, key_said),
    ] {
        let (mut control, terminal) = terminal();
        let mut command = Command::new(hashmill());
        command.arg("sum").args(args).arg("--no-progress").current_dir(world.path(""));
        command.stdin(terminal).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("the program starts");
        drop(command);
        control.write_all(typed.as_bytes()).expect("a terminal");
        let done = crate::world::finish(child);
        assert_eq!((done.code(), &*done.err), (0, said), "{args:?}");
    }
}

#[test]
fn checking_many_passwords_shows_how_many() {
    let world = World::new();
    let hash =
        world.run(&hashmill(), ["password", "hash", "-q", "-m", "64", "-t", "1"], b"x").quiet_success();
    world.write("password", "x\n");
    let args = ["password", "verify", "--file", "-", "--passwords", "password"];
    let (out, shown) = run_on_a_terminal(&world, &args, hash.as_bytes(), Duration::from_millis(1500));
    assert_eq!(out, "1: match\n");
    assert!(shown.contains("checking") && shown.contains("passwords"), "{shown:?}");
    let (out, shown) = run_on_a_terminal(&world, &args, hash.as_bytes(), Duration::ZERO);
    assert_eq!((&*out, &*shown), ("1: match\n", ""));
}

/// Behind a bar, too, what a program was told to ignore does nothing.
#[test]
fn a_bar_heeds_no_signal_that_is_ignored() {
    let (mut control, terminal) = terminal();
    let mut command = deaf();
    command.arg("sum").env("TERM", "xterm").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(terminal);
    let mut child = command.spawn().expect("the program starts");
    drop(command);
    child.stdin.as_mut().expect("a pipe").write_all(b"foo").expect("the program reads");
    let mut shown = Vec::new();
    while !shown.ends_with(b"standard input") {
        let mut byte = [0];
        control.read_exact(&mut byte).expect("a terminal");
        shown.push(byte[0]);
    }
    for signal in [Signal::HUP, Signal::INT] {
        kill_process(Pid::from_child(&child), signal).expect("a signal");
    }
    drop(child.stdin.take());
    let output = child.wait_with_output().expect("an end");
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{}  -\n", digest(b"foo")));
    assert!(output.status.success(), "{}", output.status);
}

/// What somebody sees who sits before the terminal.
pub(crate) fn screen(shown: &[u8]) -> vt100::Parser {
    let size = |lines| NonZero::new(lines).expect("not zero");
    let mut parser = vt100::Parser::new(size(ROWS), size(COLUMNS), 0);
    parser.process(shown);
    parser
}

const ROWS: u16 = 24;
const COLUMNS: u16 = 80;

/// Somebody sits before a long job and types Ctrl-C, which the terminal shows as `^C` where the cursor stands.
#[test]
fn a_bar_is_gone_after_an_interrupt() {
    let world = World::new();
    File::create(world.path("large")).and_then(|file| file.set_len(1 << 43)).expect("a sparse file");
    world.write("password", "sesame");
    let program = hashmill();
    let program = program.to_str().expect("a path");
    for line in [
        // The slower function, which has not read gigabytes by then.
        format!("{program} sum --algorithm sha256 large"),
        format!("{program} password hash -m 1MiB -t 400000000 <password"),
    ] {
        for key in [3, 0x1c] {
            let (control, terminal) = terminal();
            let size = Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
            tcsetwinsize(&terminal, size).expect("a terminal");
            signal::heed();
            let mut command = Command::new("setsid");
            let line = format!("ulimit -c 0; {line}; echo code $?");
            // The shell lives on, and tells how the program ended.
            command.args(["--wait", "--ctty", "bash", "-c", &format!("trap : INT QUIT; {line}")]);
            command.current_dir(world.path("")).env("TERM", "xterm");
            command.stdin(terminal.try_clone().expect("a terminal"));
            command.stdout(terminal.try_clone().expect("a terminal")).stderr(terminal);
            let Ok(mut child) = command.spawn() else {
                skip("a bar after an interrupt", "no setsid here: apt install util-linux");
                return;
            };
            drop(command);
            let (mut control, mut shown) = (control, Vec::new());
            let mut until = |enough: fn(&[u8]) -> bool, keys: &[u8]| {
                while !enough(&shown) {
                    let mut byte = [0];
                    if let Err(error) = control.read_exact(&mut byte) {
                        panic!("{line}, key {key}: {error} after {:?}", String::from_utf8_lossy(&shown));
                    }
                    shown.push(byte[0]);
                }
                control.write_all(keys).expect("a terminal");
            };
            until(|shown| screen(shown).screen().contents().contains('\u{2591}'), &[key]);
            until(|shown| shown.ends_with(b"code 130\r\n") || shown.ends_with(b"code 131\r\n"), b"");
            child.wait().expect("an end");
            let parser = screen(&shown);
            let contents = parser.screen().contents();
            // What bash says of a program that quits is its own.
            let rows: Vec<&str> = contents.lines().filter(|row| !row.contains("Quit")).collect();
            assert_eq!(
                rows.join("").trim(),
                format!("code {}", if key == 3 { 130 } else { 131 }),
                "{contents:?}"
            );
        }
    }
}
