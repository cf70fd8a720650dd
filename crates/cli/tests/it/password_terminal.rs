//! Prompts: on a terminal, without echo, and with a reason where there is none.

#![cfg(target_os = "linux")]

use crate::password::run;
use crate::terminal::{deaf, terminal};
use crate::world::{NOTE_ON_COSTS, World, hashmill};
use hashmill_testkit::{signal, skip};
use rustix::process::{Pid, Signal, kill_process};
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

/// How it ended.
struct Ended {
    code: Option<i32>,
    signal: Option<i32>,
    out: String,
    err: String,
    /// Everything that appeared on the terminal.
    shown: String,
}

impl Session {
    fn start(args: &[&str]) -> Session {
        Session::of(Command::new(hashmill()), args)
    }

    /// The same, told to ignore SIGHUP and SIGINT.
    fn start_deaf(args: &[&str]) -> Session {
        Session::of(deaf(), args)
    }

    fn of(mut command: Command, args: &[&str]) -> Session {
        signal::heed();
        let (control, terminal) = terminal();
        command.arg("password").args(args).stdin(terminal.try_clone().expect("a terminal"));
        let child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        Session { child, control, terminal, shown: String::new() }
    }

    /// Waits until this was shown.
    fn shows(&mut self, words: &str) -> &mut Session {
        while !self.shown.ends_with(words) {
            let mut byte = [0];
            self.control.read_exact(&mut byte).expect("a prompt");
            self.shown.push(char::from(byte[0]));
        }
        self
    }

    /// Waits for a prompt, sees that echo is off, and types.
    fn answer(&mut self, prompt: &str, typed: &[u8]) -> &mut Session {
        self.shows(prompt);
        let modes = tcgetattr(&self.terminal).expect("modes").local_modes;
        assert!(!modes.contains(LocalModes::ECHO), "echo is on after the prompt");
        self.control.write_all(typed).expect("a terminal");
        self
    }

    fn end(mut self) -> Ended {
        let (mut out, mut err) = (String::new(), String::new());
        self.child.stdout.take().expect("a pipe").read_to_string(&mut out).expect("text");
        self.child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("text");
        let status = self.child.wait().expect("an end");
        let (code, signal) = (status.code(), status.signal());
        let modes = tcgetattr(&self.terminal).expect("modes").local_modes;
        assert!(modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG), "given back");
        drop(self.terminal);
        let mut rest = Vec::new();
        // A terminal whose other end is closed ends with an error.
        let _ = self.control.read_to_end(&mut rest);
        self.shown.push_str(&String::from_utf8_lossy(&rest));
        Ended { code, signal, out, err: err.replacen(NOTE_ON_COSTS, "", 1), shown: self.shown }
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
    // An empty attempt is one like any other.
    let mut session = Session::start(&["verify", "--hash", hash]);
    session.answer("Password: ", b"\n");
    let ended = session.end();
    assert_eq!((ended.code, &*ended.out), (Some(1), "no match\n"));
}

/// The password of an entry is asked for once, and giving up leaves the file as it was.
#[test]
fn upgrading_asks_at_a_prompt_too() {
    let world = World::new();
    let old = format!("ann:{}\n", crate::password_upgrade::of("php", "bcrypt"));
    world.write("db", &old);
    let path = world.path("db");
    let args = ["upgrade", "--file", path.to_str().expect("a path"), "-m", "64", "-t", "1"];
    let mut session = Session::start(&args);
    session.answer("Password: ", b"pass");
    kill_process(Pid::from_child(&session.child), Signal::INT).expect("a signal");
    assert_eq!(session.end().signal, Some(Signal::INT.as_raw()));
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), old);
    let mut session = Session::start(&args);
    session.answer("Password: ", b"password\n");
    let ended = session.end();
    assert_eq!((ended.code, &*ended.err, &*ended.shown), (Some(0), "", "Password: \r\n"));
    assert!(ended.out.starts_with("ann: match, replaced (bcrypt, cost 4)\n"), "{}", ended.out);
    assert!(std::fs::read_to_string(&path).expect("a file").starts_with("ann:$argon2id$"));
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
    refused(&[(first, b"\x04")], "no password: nothing was typed");
    // Of two prompts the second ends without a line.
    refused(&[(first, b"sesame\n"), (again, b"\x04")], "no password: nothing was typed");
}

/// Whatever ends the program while it waits, the terminal is as it was, and whoever waits for it learns of the signal.
#[test]
fn a_signal_at_the_prompt_gives_the_terminal_back() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        for typed in [&b""[..], b"sesa"] {
            let mut session = Session::start(&["hash", "-m", "64", "-t", "1"]);
            session.answer("Password: ", typed);
            kill_process(Pid::from_child(&session.child), signal).expect("a signal");
            let ended = session.end();
            assert_eq!((ended.signal, &*ended.out, &*ended.err), (Some(signal.as_raw()), "", ""));
            // What is typed while the program ends is for whoever has the terminal next, who may show it.
            let shown =
                if typed.is_empty() { &*ended.shown } else { &ended.shown[..ended.shown.len().min(12)] };
            assert_eq!(shown, "Password: \r\n", "{signal:?}");
        }
    }
    // After the prompt signals are what they are everywhere.
    let mut session = Session::start(&["hash", "-m", "8", "-t", "400000000", "--no-progress"]);
    session.answer("Password: ", b"sesame\n").answer("The same again: ", b"sesame\n").shows("\r\n");
    kill_process(Pid::from_child(&session.child), Signal::TERM).expect("a signal");
    assert_eq!(session.end().signal, Some(Signal::TERM.as_raw()));
}

/// What `nohup` and shells have a program ignore does not end it, at the prompt and after it.
#[test]
fn what_is_ignored_stays_ignored() {
    let mut session = Session::start_deaf(&["hash", "-m", "8", "-t", "400000000", "--no-progress"]);
    let child = Pid::from_child(&session.child);
    let ignored = || [Signal::HUP, Signal::INT].map(|signal| kill_process(child, signal).expect("a signal"));
    session.answer("Password: ", b"sesa");
    ignored();
    session.control.write_all(b"me\n").expect("a terminal");
    session.answer("The same again: ", b"sesame\n").shows("\r\n");
    ignored();
    kill_process(child, Signal::TERM).expect("a signal");
    let ended = session.end();
    assert_eq!((ended.signal, &*ended.err), (Some(Signal::TERM.as_raw()), ""));
    assert_eq!(ended.shown, "Password: \r\nThe same again: \r\n");
}

/// A shell on a terminal of its own, as somebody sits before it: with jobs, and keys that are signals.
struct Shell {
    child: Child,
    control: File,
    terminal: File,
    shown: String,
}

impl Shell {
    /// `None` if there is none that can do this.
    fn start() -> Option<Shell> {
        let (control, terminal) = terminal();
        signal::heed();
        let mut command = Command::new("setsid");
        command.args(["--wait", "--ctty", "bash", "--norc", "--noprofile", "--noediting", "-i"]);
        command.stdin(terminal.try_clone().expect("a terminal"));
        command.stdout(terminal.try_clone().expect("a terminal"));
        command.stderr(terminal.try_clone().expect("a terminal"));
        command.env("PS1", "ready> ").env("TERM", "dumb").env("HASHMILL", hashmill());
        let Ok(child) = command.spawn() else {
            skip("jobs in a shell", "no setsid here: apt install util-linux");
            return None;
        };
        let mut shell = Shell { child, control, terminal, shown: String::new() };
        shell.until("ready> ");
        Some(shell)
    }

    /// Waits for the words, and forgets everything up to them.
    fn until(&mut self, words: &str) -> String {
        while !self.shown.ends_with(words) {
            let mut byte = [0];
            self.control.read_exact(&mut byte).expect("a terminal");
            self.shown.push(char::from(byte[0]));
        }
        std::mem::take(&mut self.shown)
    }

    fn types(&mut self, keys: &str) -> &mut Shell {
        self.control.write_all(keys.as_bytes()).expect("a terminal");
        self
    }

    /// Types a line and waits for the shell to be ready again.
    fn runs(&mut self, line: &str) -> String {
        self.types(&format!("{line}\n")).until("ready> ")
    }

    fn echoes(&self) -> bool {
        tcgetattr(&self.terminal).expect("modes").local_modes.contains(LocalModes::ECHO)
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.control.write_all(b"\nexit\nexit\n");
        let _ = self.child.wait();
    }
}

#[test]
fn a_stop_at_the_prompt_and_the_way_back() {
    let Some(mut shell) = Shell::start() else { return };
    shell.types("$HASHMILL password hash -m 64 -t 1; echo code $?\n").until("Password: ");
    assert!(!shell.echoes());
    // What was typed before the stop is no part of the line after it.
    shell.types("oth\x1a");
    let said = shell.until("ready> ");
    assert!(said.contains("Stopped"), "{said}");
    assert!(shell.echoes(), "the shell's terminal");
    assert!(shell.runs("echo visible").contains("echo visible"));
    shell.types("fg\n").until("Password: ");
    assert!(!shell.echoes(), "echo is off again");
    shell.types("sesame\n").until("The same again: ");
    shell.types("\x1a").until("ready> ");
    shell.types("fg\n").until("The same again: ");
    let said = shell.types("sesame\n").until("ready> ");
    assert!(said.contains("$argon2id$") && !said.contains("sesame"), "{said}");
    assert!(shell.echoes());
}

#[test]
fn keys_that_are_signals_end_the_prompt() {
    let Some(mut shell) = Shell::start() else { return };
    for (key, code) in [("\x03", 130), ("\x1c", 131)] {
        shell.types("ulimit -c 0; $HASHMILL password hash\n").until("Password: ");
        shell.types("sesa").types(key).until("ready> ");
        assert!(shell.echoes());
        let said = shell.runs("echo code $?");
        assert!(said.contains(&format!("code {code}")), "{said}");
    }
}

/// In the background nothing may be hidden, and nothing keeps the program from ending.
#[test]
fn a_prompt_in_the_background_waits_and_can_be_ended() {
    let ended = |mut shell: Shell| {
        let said = shell.runs("jobs -p");
        let pid = said.lines().find_map(|line| line.trim().parse::<u32>().ok()).expect("a job");
        shell.runs("kill %1");
        // It is gone, or waits for the shell to take notice.
        let lives = || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            stat.is_ok_and(|stat| !stat.contains(") Z "))
        };
        crate::world::within_a_minute(|| !lives());
        assert!(shell.echoes());
    };
    let Some(mut shell) = Shell::start() else { return };
    shell.types("$HASHMILL password hash\n").until("Password: ");
    shell.types("\x1a").until("ready> ");
    ended(shell);
    let Some(mut shell) = Shell::start() else { return };
    shell.runs("$HASHMILL password hash &");
    // It is stopped as soon as it asks for the terminal.
    crate::world::within_a_minute(|| shell.runs("jobs").contains("Stopped"));
    assert!(shell.echoes());
    shell.types("fg\n").until("Password: ");
    assert!(!shell.echoes());
    shell.types("\x1a").until("ready> ");
    ended(shell);
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

/// Where both outputs are one terminal, an entry without an answer is told once, and so is one that does not match.
#[test]
fn each_entry_is_told_once_on_a_terminal() {
    let world = World::new();
    world.write("db", "ann:$y$j9T$abc$def\nbob:what\neve:!\n").write("password", "x");
    let (mut control, terminal) = terminal();
    let mut command = Command::new(hashmill());
    command.args(["password", "verify", "--file", "db", "--password-fd", "0", "--progress", "never"]);
    command.current_dir(world.path("")).stdin(File::open(world.path("password")).expect("a file"));
    command.stdout(terminal.try_clone().expect("a terminal")).stderr(terminal);
    let mut child = command.spawn().expect("the program starts");
    drop(command);
    assert_eq!(child.wait().expect("an end").code(), Some(2));
    let mut shown = Vec::new();
    // A terminal whose other end is closed ends with an error.
    let _ = control.read_to_end(&mut shown);
    let shown = String::from_utf8_lossy(&shown);
    let lines: Vec<_> = shown.lines().collect();
    assert_eq!(lines.len(), 3, "{shown}");
    for (line, start) in lines.iter().zip(["ann: no answer (", "bob: no answer (", "eve: locked"]) {
        assert!(line.starts_with(start), "{shown}");
    }
}
