//! Prompts: on a terminal, without echo, and with a reason where there is none.

#![cfg(target_os = "linux")]

use crate::password::run;
use crate::world::{World, hashmill};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

/// `hashmill password ARGS` with a terminal as standard input.
struct Session {
    child: Child,
    control: File,
    terminal: File,
    shown: String,
}

/// Both ends of a new terminal: that of whoever sits before it, and that of programs.
fn terminal() -> (File, File) {
    let control = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&control).and_then(|()| unlockpt(&control)).expect("a terminal");
    let name = ptsname(&control, Vec::new()).expect("a terminal");
    let terminal = File::options().read(true).write(true).open(name.to_str().expect("a name"));
    (File::from(control), terminal.expect("a terminal"))
}

/// How it ended.
struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
    /// Everything that appeared on the terminal.
    shown: String,
}

impl Session {
    fn start(args: &[&str]) -> Session {
        let (control, terminal) = terminal();
        let mut command = Command::new(hashmill());
        command.arg("password").args(args).stdin(terminal.try_clone().expect("a terminal"));
        let child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        Session { child, control, terminal, shown: String::new() }
    }

    /// Waits for a prompt, sees that echo is off, and types.
    fn answer(&mut self, prompt: &str, typed: &[u8]) -> &mut Session {
        while !self.shown.ends_with(prompt) {
            let mut byte = [0];
            self.control.read_exact(&mut byte).expect("a prompt");
            self.shown.push(char::from(byte[0]));
        }
        let modes = tcgetattr(&self.terminal).expect("modes").local_modes;
        assert!(!modes.contains(LocalModes::ECHO), "echo is on after the prompt");
        self.control.write_all(typed).expect("a terminal");
        self
    }

    fn end(mut self) -> Ended {
        let (mut out, mut err) = (String::new(), String::new());
        self.child.stdout.take().expect("a pipe").read_to_string(&mut out).expect("text");
        self.child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("text");
        let code = self.child.wait().expect("an end").code();
        let modes = tcgetattr(&self.terminal).expect("modes").local_modes;
        assert!(modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG), "given back");
        drop(self.terminal);
        let mut rest = Vec::new();
        // A terminal whose other end is closed ends with an error.
        let _ = self.control.read_to_end(&mut rest);
        self.shown.push_str(&String::from_utf8_lossy(&rest));
        Ended { code, out, err, shown: self.shown }
    }
}

#[test]
fn passwords_are_asked_for_and_not_shown() {
    let mut session = Session::start(&["hash", "-m", "64", "-t", "1"]);
    session.answer("Password: ", b"sesame\n").answer("The same again: ", b"sesamo\x7fe\r");
    let ended = session.end();
    assert_eq!((ended.code, &*ended.err), (Some(0), ""));
    assert_eq!(ended.shown, "Password: \r\nThe same again: \r\n");
    let hash = ended.out.trim_end();
    let mut session = Session::start(&["verify", "--hash", hash]);
    session.answer("Password: ", b"sesame\n");
    let ended = session.end();
    assert_eq!((ended.code, &*ended.out, &*ended.shown), (Some(0), "match\n", "Password: \r\n"));
    let mut session = Session::start(&["verify", "--hash", hash]);
    session.answer("Password: ", b"sesam\n");
    assert_eq!(session.end().code, Some(1));
}

#[test]
fn the_derived_key_has_no_newline_in_its_password_at_a_prompt() {
    let world = World::new();
    let piped = run(&world, ["kdf", "somesalt", "-k", "64", "-r"], b"sesame").quiet_success();
    let mut session = Session::start(&["kdf", "somesalt", "-k", "64", "-r"]);
    session.answer("Password: ", b"sesame\n");
    assert_eq!(session.end().out, piped);
}

#[test]
fn slips_at_the_prompt_end_with_a_reason() {
    let refused = |answers: &[(&str, &[u8])], line: &str| {
        let mut session = Session::start(&["hash", "-m", "64", "-t", "1"]);
        for (prompt, typed) in answers {
            session.answer(prompt, typed);
        }
        let ended = session.end();
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""));
        assert_eq!(ended.err, format!("hashmill: {line}\n"));
        assert!(!ended.shown.contains("sesame"), "{}", ended.shown);
    };
    let (first, again) = ("Password: ", "The same again: ");
    refused(&[(first, b"sesame\n"), (again, b"sesam\n")], "the two passwords differ");
    refused(&[(first, b"\n"), (again, b"\n")], "the password is empty; --allow-empty takes it all the same");
    refused(&[(first, b"sesame\x03")], "no password: interrupted");
    refused(&[(first, b"\x04")], "no password: nothing was typed");
    refused(&[(first, b"sesame\n"), (again, b"ses\x03")], "no password: interrupted");
}

/// A hash that takes far too long shows how far it is. Whoever interrupts it finds the cursor in an empty line, and the
/// shell is told of the signal.
#[test]
fn a_long_hash_shows_a_bar_that_goes_with_an_interrupt() {
    let world = World::new();
    world.write("password", b"sesame");
    let (mut control, terminal) = terminal();
    let mut command = Command::new(hashmill());
    command.args(["password", "hash", "-m", "16MiB", "-t", "400000000"]);
    command.stdin(File::open(world.path("password")).expect("a file"));
    command.stdout(Stdio::null()).stderr(terminal);
    let mut child = command.env("TERM", "xterm").spawn().expect("the program starts");
    drop(command);
    let mut shown = Vec::new();
    while !shown.ends_with(b" % ") {
        let mut byte = [0];
        control.read_exact(&mut byte).expect("a bar");
        shown.push(byte[0]);
    }
    kill_process(Pid::from_child(&child), Signal::INT).expect("a signal");
    let status = child.wait().expect("an end");
    assert_eq!(status.signal(), Some(Signal::INT.as_raw()), "{status}");
    // A terminal whose other end is closed ends with an error.
    let _ = control.read_to_end(&mut shown);
    let shown = String::from_utf8_lossy(&shown).into_owned();
    assert!(shown.ends_with("\r\u{1b}[2K"), "{shown:?}");
}

#[test]
fn a_hash_that_cannot_be_checked_is_told_about_before_the_prompt() {
    let ended = Session::start(&["verify", "--hash", "nonsense"]).end();
    assert_eq!((ended.code, &*ended.shown), (Some(2), ""));
}

#[test]
fn without_a_terminal_there_is_no_prompt() {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new("setsid");
    // A session of its own has no terminal, whatever runs this test.
    command.arg("--wait").arg(hashmill()).args(["password", "hash", "--prompt"]).stdin(Stdio::null());
    command.process_group(0);
    let output = command.output().expect("setsid of util-linux");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "hashmill: no terminal to ask for the password; give it on standard input or with --password-fd: \
         No such device or address (os error 6)\n"
    );
}
