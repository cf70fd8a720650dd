//! Sessions as processes: start, request with a timeout, collect error output.

use super::handle::{Launcher, SessionError, SessionHandle};
use super::protocol::{Reply, Request, VERSION};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Program and arguments that start a session of a build.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) arguments: Vec<OsString>,
}

/// Starts sessions of one or several programs.
pub(crate) struct Processes {
    pub(crate) programs: Vec<Program>,
    pub(crate) timeout: Duration,
}

impl Launcher for Processes {
    fn launch(&self, build: usize, padding: usize) -> Result<Box<dyn SessionHandle + '_>, SessionError> {
        start(&self.programs[build], padding, self.timeout)
    }
}

/// Starts a session of `program` and compares protocol versions.
pub(crate) fn start(
    program: &Program,
    padding: usize,
    timeout: Duration,
) -> Result<Box<dyn SessionHandle>, SessionError> {
    let mut process = Process::start(program, &"x".repeat(padding), timeout)?;
    match process.ask(&Request::Hello)? {
        Reply::Hello { protocol: VERSION } => Ok(Box::new(process)),
        Reply::Hello { protocol } => Err(SessionError::Protocol { session: protocol, lab: VERSION }),
        other => Err(SessionError::Confused(format!("{other:?}"))),
    }
}

struct Process {
    child: Child,
    requests: Option<ChildStdin>,
    replies: Receiver<std::io::Result<String>>,
    errors: Option<JoinHandle<String>>,
    timeout: Duration,
}

impl Process {
    fn start(program: &Program, padding: &str, timeout: Duration) -> Result<Self, SessionError> {
        let mut child = Command::new(&program.path)
            .args(&program.arguments)
            .env("HASHMILL_LAB_PADDING", padding)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| SessionError::Start {
                program: program.path.display().to_string(),
                reason: error.to_string(),
            })?;
        let requests = child.stdin.take();
        let output = child.stdout.take().expect("piped");
        let errors = child.stderr.take().expect("piped");
        let (sender, replies) = channel();
        std::thread::spawn(move || {
            // The receiver is dropped when the session is abandoned.
            BufReader::new(output).lines().try_for_each(|line| sender.send(line)).ok();
        });
        let errors = Some(std::thread::spawn(move || tail(errors)));
        Ok(Process { child, requests, replies, errors, timeout })
    }

    fn died(&mut self) -> SessionError {
        // It closed its output. If it has not exited by itself, closing its input makes it.
        self.requests = None;
        let status = match self.child.wait() {
            Ok(status) => status.to_string(),
            Err(error) => format!("unknown status ({error})"),
        };
        let words = self.errors.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        let words = words.trim();
        let last_words = if words.is_empty() { String::new() } else { format!("; it said: {words}") };
        SessionError::Died { status, last_words }
    }
}

impl SessionHandle for Process {
    fn ask(&mut self, request: &Request) -> Result<Reply, SessionError> {
        let line = serde_json::to_string(request).expect("requests are plain data") + "\n";
        let sent = self.requests.as_mut().is_some_and(|pipe| pipe.write_all(line.as_bytes()).is_ok());
        if !sent {
            return Err(self.died());
        }
        match self.replies.recv_timeout(self.timeout) {
            Ok(line) => {
                let line = line.map_err(|error| SessionError::Confused(error.to_string()))?;
                serde_json::from_str(&line)
                    .map_err(|error| SessionError::Confused(format!("{error} in {line}")))
            }
            Err(RecvTimeoutError::Timeout) => {
                self.child.kill().ok();
                Err(SessionError::Hung(self.timeout.as_secs()))
            }
            Err(RecvTimeoutError::Disconnected) => Err(self.died()),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The session exits when its input closes; a hung one was killed already.
        self.requests = None;
        self.child.wait().ok();
    }
}

/// Last 4 KiB of a stream of any length.
fn tail(mut stream: impl Read) -> String {
    const KEEP: usize = 4096;
    let mut end = Vec::new();
    let mut buffer = [0; KEEP];
    while let Ok(n @ 1..) = stream.read(&mut buffer) {
        end.extend_from_slice(&buffer[..n]);
        let excess = end.len().saturating_sub(KEEP);
        end.drain(..excess);
    }
    String::from_utf8_lossy(&end).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_testkit::wait::LIMIT;

    #[test]
    fn only_the_tail_is_returned() {
        let text = "a".repeat(10_000) + "end";
        let end = tail(text.as_bytes());
        assert_eq!(end.len(), 4096);
        assert!(end.ends_with("aend"));
    }

    #[test]
    fn a_program_that_does_not_exist_is_a_clear_error() {
        let program = Program { path: "/nowhere/lab".into(), arguments: Vec::new() };
        let processes = Processes { programs: vec![program], timeout: LIMIT };
        let error = processes.launch(0, 0).err().expect("cannot start");
        assert!(error.to_string().starts_with("cannot start the session /nowhere/lab"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn rejects_replies_that_are_not_utf8() {
        let script = r"printf '\377\n'; cat > /dev/null";
        let program = Program { path: "/bin/sh".into(), arguments: vec!["-c".into(), script.into()] };
        let error = start(&program, 0, LIMIT).err().expect("no session");
        assert!(matches!(&error, SessionError::Confused(why) if why.contains("UTF-8")), "{error}");
    }
}
