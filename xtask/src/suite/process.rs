//! A child process whose two output streams arrive as lines of one channel.

use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;

/// A started process.
pub(super) struct RunningProcess {
    child: Child,
    /// Both streams in the order of writing; disconnected when the last writer has closed them.
    pub(super) lines: Receiver<String>,
}

impl RunningProcess {
    /// Starts a process without input.
    pub(super) fn start(mut command: Command) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let child = command.spawn()?;
        // `command` holds copies of the pipe's write end: with them open, the reader would never reach the end.
        drop(command);
        let (sender, lines) = mpsc::channel();
        // Not joined: a grandchild may keep the pipe open after a killed child.
        thread::spawn(move || send_lines(reader, &sender));
        Ok(Self { child, lines })
    }

    pub(super) fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }

    /// Kills the process itself, not the processes that it started.
    pub(super) fn kill(&mut self) -> io::Result<ExitStatus> {
        self.child.kill()?;
        self.child.wait()
    }
}

/// Sends each line, with replacement characters for bytes that are not UTF-8.
fn send_lines(reader: io::PipeReader, sender: &mpsc::Sender<String>) {
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    loop {
        line.clear();
        match reader.read_until(b'\n', &mut line) {
            Ok(0) => return,
            Ok(_) => {
                let text = String::from_utf8_lossy(&line);
                if sender.send(text.trim_end_matches(['\n', '\r']).to_owned()).is_err() {
                    return;
                }
            }
            Err(error) => {
                // A missing "test result" line then fails the step.
                let _ = sender.send(format!("xtask cannot read the output: {error}"));
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_streams_arrive_and_end() {
        let mut command = Command::new("cargo");
        command.args(["no-such-command"]);
        let mut running = RunningProcess::start(command).expect("cargo starts");
        assert!(running.lines.iter().any(|line| line.contains("no-such-command")));
        assert!(!running.wait().expect("cargo ends").success());
    }

    #[test]
    fn a_program_that_does_not_start_is_an_error() {
        assert!(RunningProcess::start(Command::new("no-such-program-anywhere")).is_err());
    }
}
