//! Sessions as processes: start, ask, wait until a timeout, collect the last words.

use super::peer::{Launcher, Peer, PeerError};
use super::protocol::{Reply, Request, VERSION};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How a build is started as a session.
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
    fn launch(&self, build: usize, padding: usize) -> Result<Box<dyn Peer + '_>, PeerError> {
        start(&self.programs[build], padding, self.timeout)
    }
}

/// Starts a session of `program`, once it has said that it understands.
pub(crate) fn start(
    program: &Program,
    padding: usize,
    timeout: Duration,
) -> Result<Box<dyn Peer>, PeerError> {
    let mut process = Process::start(program, &"x".repeat(padding), timeout)?;
    match process.ask(&Request::Hello)? {
        Reply::Hello { protocol: VERSION } => Ok(Box::new(process)),
        Reply::Hello { protocol } => Err(PeerError::Protocol { theirs: protocol, ours: VERSION }),
        other => Err(PeerError::Confused(format!("{other:?}"))),
    }
}

struct Process {
    child: Child,
    requests: Option<ChildStdin>,
    replies: Receiver<String>,
    errors: Option<JoinHandle<String>>,
    timeout: Duration,
}

impl Process {
    fn start(program: &Program, padding: &str, timeout: Duration) -> Result<Self, PeerError> {
        let mut child = Command::new(&program.path)
            .args(&program.arguments)
            .env("HASHMILL_LAB_PADDING", padding)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| PeerError::Start {
                program: program.path.display().to_string(),
                reason: error.to_string(),
            })?;
        let requests = child.stdin.take();
        let output = child.stdout.take().expect("piped");
        let errors = child.stderr.take().expect("piped");
        let (sender, replies) = channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(output).lines();
            lines.map_while(Result::ok).try_for_each(|line| sender.send(line)).ok();
        });
        let errors = Some(std::thread::spawn(move || tail(errors)));
        Ok(Process { child, requests, replies, errors, timeout })
    }

    fn died(&mut self) -> PeerError {
        // It closed its output; if it has not ended by itself, it does now.
        self.requests = None;
        let status = match self.child.wait() {
            Ok(status) => status.to_string(),
            Err(error) => format!("unknown status ({error})"),
        };
        let words = self.errors.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        let words = words.trim();
        let last_words = if words.is_empty() { String::new() } else { format!("; it said: {words}") };
        PeerError::Died { status, last_words }
    }
}

impl Peer for Process {
    fn ask(&mut self, request: &Request) -> Result<Reply, PeerError> {
        let line = serde_json::to_string(request).expect("requests are plain data") + "\n";
        let sent = self.requests.as_mut().is_some_and(|pipe| pipe.write_all(line.as_bytes()).is_ok());
        if !sent {
            return Err(self.died());
        }
        match self.replies.recv_timeout(self.timeout) {
            Ok(line) => {
                serde_json::from_str(&line).map_err(|error| PeerError::Confused(format!("{error} in {line}")))
            }
            Err(RecvTimeoutError::Timeout) => {
                self.child.kill().ok();
                Err(PeerError::Hung(self.timeout.as_secs()))
            }
            Err(RecvTimeoutError::Disconnected) => Err(self.died()),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Without its input the session ends by itself; one that hangs has been killed already.
        self.requests = None;
        self.child.wait().ok();
    }
}

/// The last kilobytes of a stream, whatever its length.
fn tail(mut stream: impl Read) -> String {
    const KEEP: usize = 4096;
    let mut kept = Vec::new();
    let mut buffer = [0; KEEP];
    while let Ok(n @ 1..) = stream.read(&mut buffer) {
        kept.extend_from_slice(&buffer[..n]);
        let excess = kept.len().saturating_sub(KEEP);
        kept.drain(..excess);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_tail_is_kept() {
        let text = "a".repeat(10_000) + "end";
        let kept = tail(text.as_bytes());
        assert_eq!(kept.len(), 4096);
        assert!(kept.ends_with("aend"));
    }

    #[test]
    fn a_program_that_does_not_exist_is_a_clear_error() {
        let program = Program { path: "/nowhere/lab".into(), arguments: Vec::new() };
        let processes = Processes { programs: vec![program], timeout: Duration::from_secs(5) };
        let error = processes.launch(0, 0).err().expect("cannot start");
        assert!(error.to_string().starts_with("cannot start the session /nowhere/lab"), "{error}");
    }
}
