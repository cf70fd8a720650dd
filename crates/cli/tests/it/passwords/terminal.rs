//! Password prompts: on a terminal, without echo, and errors without a terminal.

#![cfg(target_os = "linux")]

use crate::display::terminal::{deaf, terminal};
use crate::passwords::commands::run;
use crate::world::{NOTE_ON_COSTS, World, hashmill};
use hashmill_testkit::wait::{self, Running, until};
use hashmill_testkit::{signal, skip};
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, tcgetattr};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

/// `hashmill password ARGS` with a terminal as standard input.
struct Session {
    child: Running,
    control: File,
    terminal: File,
    shown: String,
}

/// The exit status.
struct Ended {
    code: Option<i32>,
    signal: Option<i32>,
    out: String,
    err: String,
    /// All terminal output.
    shown: String,
}

impl Session {
    fn start(args: &[&str]) -> Session {
        Session::start_command(Command::new(hashmill()), args)
    }

    /// As above, with SIGHUP and SIGINT ignored.
    fn start_deaf(args: &[&str]) -> Session {
        Session::start_command(deaf(), args)
    }

    fn start_command(mut command: Command, args: &[&str]) -> Session {
        signal::heed();
        let (control, terminal) = terminal();
        command.arg("password").args(args).stdin(terminal.try_clone().expect("a terminal"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = wait::start(&mut command).expect("the program starts");
        Session { child, control, terminal, shown: String::new() }
    }

    /// Waits until this is shown.
    fn shows(&mut self, words: &str) -> &mut Session {
        while !self.shown.ends_with(words) {
            let mut byte = [0];
            self.control.read_exact(&mut byte).expect("a prompt");
            self.shown.push(char::from(byte[0]));
        }
        self
    }

    /// Waits for a prompt, checks that echo is off, and types.
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
        // Reading a terminal whose other end is closed fails.
        let _ = self.control.read_to_end(&mut rest);
        self.shown.push_str(&String::from_utf8_lossy(&rest));
        Ended { code, signal, out, err: err.replacen(NOTE_ON_COSTS, "", 1), shown: self.shown }
    }
}

#[test]
fn prompts_without_echo() {
    let mut session = Session::start(&["hash", "-m", "64", "-t", "1"]);
    session.answer("Password: ", b"sesame\n").answer("Repeat password: ", b"sesamo\x7fe\r");
    let ended = session.end();
    assert_eq!((ended.code, &*ended.err), (Some(0), ""));
    assert_eq!(ended.shown, "Password: \r\nRepeat password: \r\n");
    let hash = ended.out.trim_end();
    let mut session = Session::start(&["verify", "--hash", hash]);
    session.answer("Password: ", b"sesame\n");
    let ended = session.end();
    assert_eq!((ended.code, &*ended.out, &*ended.shown), (Some(0), "match\n", "Password: \r\n"));
    let mut session = Session::start(&["verify", "--hash", hash]);
    session.answer("Password: ", b"sesam\n");
    assert_eq!(session.end().code, Some(1));
    // An empty attempt is valid.
    let mut session = Session::start(&["verify", "--hash", hash]);
    session.answer("Password: ", b"\n");
    let ended = session.end();
    assert_eq!((ended.code, &*ended.out), (Some(1), "no match\n"));
}

/// The password of an entry is asked for once; aborting leaves the file unchanged.
#[test]
fn upgrade_prompts() {
    let world = World::new();
    let old = format!("ann:{}\n", crate::passwords::upgrade::foreign_hash("php", "bcrypt"));
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
fn kdf_prompt_leaves_out_the_newline() {
    let world = World::new();
    let piped = run(&world, ["kdf", "somesalt", "-k", "64", "-r"], b"sesame").quiet_success();
    let mut session = Session::start(&["kdf", "somesalt", "-k", "64", "-r"]);
    session.answer("Password: ", b"sesame\n");
    assert_eq!(session.end().out, piped);
}

#[test]
fn prompt_errors_have_a_reason() {
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
    let (first, again) = ("Password: ", "Repeat password: ");
    refused(&[(first, b"sesame\n"), (again, b"sesam\n")], "the two passwords differ");
    refused(&[(first, b"\n"), (again, b"\n")], "the password is empty; --allow-empty accepts it");
    refused(&[(first, b"\x04")], "no password: nothing was typed");
    // The second of two prompts ends without a line.
    refused(&[(first, b"sesame\n"), (again, b"\x04")], "no password: nothing was typed");
}

/// Any signal that ends the program at a prompt restores the terminal, and the parent process sees the signal.
#[test]
fn signal_at_the_prompt_restores_the_terminal() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        for typed in [&b""[..], b"sesa"] {
            let mut session = Session::start(&["hash", "-m", "64", "-t", "1"]);
            session.answer("Password: ", typed);
            kill_process(Pid::from_child(&session.child), signal).expect("a signal");
            let ended = session.end();
            assert_eq!((ended.signal, &*ended.out, &*ended.err), (Some(signal.as_raw()), "", ""));
            // Input typed while the program ends goes to the next reader of the terminal, which may echo it.
            let shown =
                if typed.is_empty() { &*ended.shown } else { &ended.shown[..ended.shown.len().min(12)] };
            assert_eq!(shown, "Password: \r\n", "{signal:?}");
        }
    }
    // After the prompt signals have their default effect.
    let mut session = Session::start(&["hash", "-m", "8", "-t", "400000000", "--no-progress"]);
    session.answer("Password: ", b"sesame\n").answer("Repeat password: ", b"sesame\n").shows("\r\n");
    kill_process(Pid::from_child(&session.child), Signal::TERM).expect("a signal");
    assert_eq!(session.end().signal, Some(Signal::TERM.as_raw()));
}

/// Signals ignored by `nohup` or a shell do not end the program, at the prompt and after it.
#[test]
fn ignored_signals_stay_ignored() {
    let mut session = Session::start_deaf(&["hash", "-m", "8", "-t", "400000000", "--no-progress"]);
    let child = Pid::from_child(&session.child);
    let ignored = || [Signal::HUP, Signal::INT].map(|signal| kill_process(child, signal).expect("a signal"));
    session.answer("Password: ", b"sesa");
    ignored();
    session.control.write_all(b"me\n").expect("a terminal");
    session.answer("Repeat password: ", b"sesame\n").shows("\r\n");
    ignored();
    kill_process(child, Signal::TERM).expect("a signal");
    let ended = session.end();
    assert_eq!((ended.signal, &*ended.err), (Some(Signal::TERM.as_raw()), ""));
    assert_eq!(ended.shown, "Password: \r\nRepeat password: \r\n");
}

/// An interactive shell on its own terminal, with job control and signal keys.
struct Shell {
    child: Running,
    control: File,
    terminal: File,
    shown: String,
}

impl Shell {
    /// `None` if no such shell is installed.
    fn start() -> Option<Shell> {
        let (control, terminal) = terminal();
        signal::heed();
        let mut command = Command::new("setsid");
        command.args(["--wait", "--ctty", "bash", "--norc", "--noprofile", "--noediting", "-i"]);
        command.stdin(terminal.try_clone().expect("a terminal"));
        command.stdout(terminal.try_clone().expect("a terminal"));
        command.stderr(terminal.try_clone().expect("a terminal"));
        command.env("PS1", "ready> ").env("TERM", "dumb").env("HASHMILL", hashmill());
        let Ok(child) = wait::start(&mut command) else {
            skip("jobs in a shell", "no setsid here: apt install util-linux");
            return None;
        };
        let mut shell = Shell { child, control, terminal, shown: String::new() };
        shell.until("ready> ");
        Some(shell)
    }

    /// Waits for the text and discards everything up to it.
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

    /// Types a line and waits for the shell's prompt.
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
fn stop_and_continue_at_the_prompt() {
    let Some(mut shell) = Shell::start() else { return };
    shell.types("$HASHMILL password hash -m 64 -t 1; echo code $?\n").until("Password: ");
    assert!(!shell.echoes());
    // Input typed before the stop is not part of the line after it.
    shell.types("oth\x1a");
    let shown = shell.until("ready> ");
    assert!(shown.contains("Stopped"), "{shown}");
    assert!(shell.echoes(), "the shell's terminal");
    assert!(shell.runs("echo visible").contains("echo visible"));
    shell.types("fg\n").until("Password: ");
    assert!(!shell.echoes(), "echo is off again");
    shell.types("sesame\n").until("Repeat password: ");
    shell.types("\x1a").until("ready> ");
    shell.types("fg\n").until("Repeat password: ");
    let shown = shell.types("sesame\n").until("ready> ");
    assert!(shown.contains("$argon2id$") && !shown.contains("sesame"), "{shown}");
    assert!(shell.echoes());
}

#[test]
fn signal_keys_end_the_prompt() {
    let Some(mut shell) = Shell::start() else { return };
    for (key, code) in [("\x03", 130), ("\x1c", 131)] {
        shell.types("ulimit -c 0; $HASHMILL password hash\n").until("Password: ");
        shell.types("sesa").types(key).until("ready> ");
        assert!(shell.echoes());
        let shown = shell.runs("echo code $?");
        assert!(shown.contains(&format!("code {code}")), "{shown}");
    }
}

/// A background process must not turn echo off, and can be ended.
#[test]
fn background_prompt_waits() {
    let ended = |mut shell: Shell| {
        let shown = shell.runs("jobs -p");
        let pid = shown.lines().find_map(|line| line.trim().parse::<u32>().ok()).expect("a job");
        shell.runs("kill %1");
        // It is gone, or a zombie until the shell reaps it.
        let lives = || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            stat.is_ok_and(|stat| !stat.contains(") Z "))
        };
        until("the end of the job", || !lives());
        assert!(shell.echoes());
    };
    let Some(mut shell) = Shell::start() else { return };
    shell.types("$HASHMILL password hash\n").until("Password: ");
    shell.types("\x1a").until("ready> ");
    ended(shell);
    let Some(mut shell) = Shell::start() else { return };
    shell.runs("$HASHMILL password hash &");
    // It is stopped when it accesses the terminal.
    until("a stopped job", || shell.runs("jobs").contains("Stopped"));
    assert!(shell.echoes());
    shell.types("fg\n").until("Password: ");
    assert!(!shell.echoes());
    shell.types("\x1a").until("ready> ");
    ended(shell);
}

#[test]
fn reports_unusable_hash_before_the_prompt() {
    let ended = Session::start(&["verify", "--hash", "nonsense"]).end();
    assert_eq!((ended.code, &*ended.shown), (Some(2), ""));
}

#[test]
fn no_prompt_without_a_terminal() {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new("setsid");
    // A new session has no terminal, independent of the test runner.
    command.arg("--wait").arg(hashmill()).args(["password", "hash", "--prompt"]).stdin(Stdio::null());
    command.process_group(0);
    let output = wait::output(&mut command).expect("setsid of util-linux");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "hashmill: no terminal to ask for the password; give it on standard input or with --password-fd: \
         No such device or address (os error 6)\n"
    );
}

/// If both outputs are one terminal, entries without an answer and without a match are printed once.
#[test]
fn reports_each_entry_once_on_a_terminal() {
    let world = World::new();
    world.write("db", "ann:$y$j9T$abc$def\nbob:what\neve:!\n").write("password", "x");
    let (mut control, terminal) = terminal();
    let mut command = Command::new(hashmill());
    command.args(["password", "verify", "--file", "db", "--password-fd", "0", "--progress", "never"]);
    command.current_dir(world.path("")).stdin(File::open(world.path("password")).expect("a file"));
    command.stdout(terminal.try_clone().expect("a terminal")).stderr(terminal);
    let mut child = wait::start(&mut command).expect("the program starts");
    drop(command);
    assert_eq!(child.wait().expect("an end").code(), Some(2));
    let mut shown = Vec::new();
    // Reading a terminal whose other end is closed fails.
    let _ = control.read_to_end(&mut shown);
    let shown = String::from_utf8_lossy(&shown);
    let lines: Vec<_> = shown.lines().collect();
    assert_eq!(lines.len(), 3, "{shown}");
    for (line, start) in lines.iter().zip(["ann: no answer (", "bob: no answer (", "eve: locked"]) {
        assert!(line.starts_with(start), "{shown}");
    }
}
