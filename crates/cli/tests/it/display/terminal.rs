//! Progress bar: on a terminal, after half a second, and never elsewhere.

#![cfg(target_os = "linux")]

use crate::world::{World, digest, hashmill};
use hashmill_testkit::wait::{self, until};
use hashmill_testkit::{signal, skip};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Both ends of a new pseudo-terminal: the controlling side and that of programs.
pub(crate) fn terminal() -> (File, File) {
    let control = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&control).and_then(|()| unlockpt(&control)).expect("a terminal");
    let name = ptsname(&control, Vec::new()).expect("a terminal");
    // Without this flag it becomes the controlling terminal of a test that leads a session without one, as in a container: closing
    // it then ends the test by SIGHUP, and no child can use the terminal for its own session.
    let flags = OpenptFlags::NOCTTY.bits().cast_signed();
    let terminal =
        File::options().read(true).write(true).custom_flags(flags).open(name.to_str().expect("a name"));
    (File::from(control), terminal.expect("a terminal"))
}

/// A test binary that leads a session without a terminal, as in a container, does not acquire one.
#[test]
fn test_terminal_is_not_controlling() {
    const CHILD: &str = "HASHMILL_TEST_LEADS_A_SESSION";
    if std::env::var_os(CHILD).is_some() {
        let ends = terminal();
        assert!(File::open("/dev/tty").is_err(), "the session has a terminal");
        return drop(ends);
    }
    let own = std::env::current_exe().expect("a test has a path");
    let mut command = Command::new("setsid");
    command.arg("--wait").arg(own).args(["--exact", "display::terminal::test_terminal_is_not_controlling"]);
    let Ok(output) = wait::output(command.env(CHILD, "1")) else {
        return skip("tests that lead a session", "no setsid here: apt install util-linux");
    };
    let words = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && words.contains("1 passed"), "{}: {words}", output.status);
}

/// The program with SIGHUP and SIGINT ignored.
pub(crate) fn deaf() -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP INT; exec \"$@\"", "sh"]).arg(hashmill());
    command
}

/// Output of a program with a terminal as standard error.
struct Ended {
    out: String,
    /// All terminal output.
    shown: Vec<u8>,
    /// An upper bound of the run time.
    took: Duration,
}

impl Ended {
    /// Work of less than half a second shows nothing. On a slow machine a bar may show, which is cleared at the end.
    fn showed_nothing(&self) {
        if self.took < Duration::from_millis(500) {
            assert_eq!(String::from_utf8_lossy(&self.shown), "");
        }
        assert_eq!(screen(&self.shown).screen().contents(), "");
    }
}

/// How long standard input stays open.
#[derive(Clone, Copy)]
enum Input {
    Closed,
    /// Until the terminal shows this text.
    Until(&'static [&'static str]),
    /// Longer than the delay of a bar.
    Lasting,
}

/// Runs `hashmill sum ARGS` with a terminal as standard error.
fn on_a_terminal(args: &[&str], lasts: Input) -> Ended {
    run_on_a_terminal(&World::new(), &[&["sum"], args].concat(), b"foo", lasts)
}

/// Runs `hashmill ARGS` likewise.
fn run_on_a_terminal(world: &World, args: &[&str], input: &[u8], lasts: Input) -> Ended {
    let (control, terminal) = terminal();
    let mut command = Command::new(hashmill());
    command.args(args).current_dir(world.path("")).env("TERM", "xterm");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(terminal);
    let start = Instant::now();
    let mut child = wait::start(&mut command).expect("the program starts");
    drop(command);
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input).expect("the program reads");
    let shown = Arc::new(Mutex::new(Vec::new()));
    let reader = thread::spawn({
        let (mut control, shown) = (control, Arc::clone(&shown));
        // Reading a terminal whose other end is closed fails.
        move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = control.read(&mut bytes) {
                shown.lock().expect("no panic").extend_from_slice(&bytes[..count]);
            }
        }
    });
    match lasts {
        Input::Closed => {}
        Input::Until(words) => until(&format!("{words:?} on the terminal"), || {
            let contents = screen(&shown.lock().expect("no panic")).screen().contents();
            words.iter().all(|words| contents.contains(words))
        }),
        Input::Lasting => thread::sleep(Duration::from_millis(1000)),
    }
    drop(stdin);
    let mut out = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut out).expect("text");
    assert!(child.wait().expect("an end").success());
    let took = start.elapsed();
    reader.join().expect("the reader of the terminal");
    let shown = std::mem::take(&mut *shown.lock().expect("no panic"));
    Ended { out, shown, took }
}

#[test]
fn only_long_work_shows_a_bar() {
    let expected = format!("{}  -\n", digest(b"foo"));
    let long = on_a_terminal(&[], Input::Until(&["hashing  ", "files  standard input"]));
    assert_eq!(long.out, expected);
    assert_eq!(screen(&long.shown).screen().contents(), "", "the bar is gone");
    let short = on_a_terminal(&[], Input::Closed);
    assert_eq!(short.out, expected);
    short.showed_nothing();
    let silent = on_a_terminal(&["--no-progress"], Input::Lasting);
    assert_eq!((silent.out, &*silent.shown), (expected, &b""[..]));
}

/// Without operands the program says that it waits for input.
#[test]
fn notes_terminal_on_standard_input() {
    let (mut control, terminal) = terminal();
    let mut command = Command::new(hashmill());
    command.args(["sum", "--no-progress"]).stdin(terminal).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = wait::start(&mut command).expect("the program starts");
    drop(command);
    control.write_all(b"foo\n\x04").expect("a terminal");
    let done = crate::world::finish(child);
    assert_eq!(done.text(), format!("{}  -\n", digest(b"foo\n")));
    let message = "hashmill: standard input is the terminal: type the input, and Ctrl-D at the end\n";
    assert_eq!(done.err, message);
}

/// As above without a list or a key.
#[test]
fn notes_terminal_for_lists_and_keys() {
    let world = World::new();
    world.write("f", "foo");
    let list = format!("{}  f\n\x04", digest(b"foo"));
    let key = format!("{}\n\x04", "k".repeat(31));
    let list_message = "hashmill: standard input is the terminal: type the list, and Ctrl-D at the end\n";
    let key_message =
        "hashmill: standard input is the terminal: type the 32 bytes of the key, and Ctrl-D at the end\n";
    for (args, typed, message) in [
        (&["-c"][..], &list, list_message),
        (&["-c", "-"], &list, list_message),
        (&["--keyed", "f"], &key, key_message),
    ] {
        let (mut control, terminal) = terminal();
        let mut command = Command::new(hashmill());
        command.arg("sum").args(args).arg("--no-progress").current_dir(world.path(""));
        command.stdin(terminal).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = wait::start(&mut command).expect("the program starts");
        drop(command);
        control.write_all(typed.as_bytes()).expect("a terminal");
        let done = crate::world::finish(child);
        assert_eq!((done.code(), &*done.err), (0, message), "{args:?}");
    }
}

#[test]
fn verifying_many_passwords_shows_counts() {
    let world = World::new();
    let hash =
        world.run(&hashmill(), ["password", "hash", "-q", "-m", "64", "-t", "1"], b"x").quiet_success();
    world.write("password", "x\n");
    let args = ["password", "verify", "--file", "-", "--passwords", "password"];
    let long = run_on_a_terminal(&world, &args, hash.as_bytes(), Input::Until(&["checking", "passwords"]));
    assert_eq!(long.out, "1: match\n");
    let short = run_on_a_terminal(&world, &args, hash.as_bytes(), Input::Closed);
    assert_eq!(short.out, "1: match\n");
    short.showed_nothing();
}

/// Ignored signals stay ignored while a bar is shown.
#[test]
fn bar_keeps_ignored_signals_ignored() {
    let (mut control, terminal) = terminal();
    let mut command = deaf();
    command.arg("sum").env("TERM", "xterm").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(terminal);
    let mut child = wait::start(&mut command).expect("the program starts");
    drop(command);
    child.stdin.as_mut().expect("a pipe").write_all(b"foo").expect("the program reads");
    let mut shown = Vec::new();
    while !screen(&shown).screen().contents().ends_with("standard input") {
        let mut byte = [0];
        control.read_exact(&mut byte).expect("a terminal");
        shown.push(byte[0]);
    }
    for signal in [Signal::HUP, Signal::INT] {
        kill_process(Pid::from_child(&child), signal).expect("a signal");
    }
    drop(child.stdin.take());
    let done = crate::world::finish(child);
    assert_eq!((done.code(), done.text()), (0, format!("{}  -\n", digest(b"foo"))));
}

/// The visible screen of the terminal.
pub(crate) fn screen(shown: &[u8]) -> vt100::Parser {
    let size = |lines| NonZero::new(lines).expect("not zero");
    let mut parser = vt100::Parser::new(size(ROWS), size(COLUMNS), 0);
    parser.process(shown);
    parser
}

const ROWS: u16 = 24;
const COLUMNS: u16 = 80;

/// A user interrupts a long job with Ctrl-C, which the terminal echoes as `^C` at the cursor.
#[test]
fn interrupt_clears_the_bar() {
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
            // The shell continues and prints how the program ended.
            command.args(["--wait", "--ctty", "bash", "-c", &format!("trap : INT QUIT; {line}")]);
            command.current_dir(world.path("")).env("TERM", "xterm");
            command.stdin(terminal.try_clone().expect("a terminal"));
            command.stdout(terminal.try_clone().expect("a terminal")).stderr(terminal);
            let Ok(mut child) = wait::start(&mut command) else {
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
            // The message of bash about SIGQUIT differs.
            let rows: Vec<&str> = contents.lines().filter(|row| !row.contains("Quit")).collect();
            assert_eq!(
                rows.join("").trim(),
                format!("code {}", if key == 3 { 130 } else { 131 }),
                "{contents:?}"
            );
        }
    }
}
