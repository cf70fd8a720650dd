//! Waits of tests, each with a limit that only a hang reaches.
//!
//! A test waits for an event: words in a pipe, a file that appears, the end of a child process. The limit is no part of the
//! test: it ends a hang, and tells what the test waited for.

use std::io::{self, Write as _};
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::process::{Child, Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// The limit of each wait. What tests wait for takes seconds at most, also beside many busy processes.
pub const LIMIT: Duration = Duration::from_secs(300);

/// A wait in progress, until this is dropped. At the limit the process of the tests ends, with its child processes: a thread that
/// is blocked in the kernel cannot be told to fail.
#[must_use]
pub struct Limit {
    _ends: Sender<()>,
}

/// A limit was reached, and this process is ending.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

impl Drop for Limit {
    /// Does not return once a limit was reached. The end of the killed child processes ends the wait, too, and its test could pass
    /// before the process has ended.
    fn drop(&mut self) {
        while IS_ENDING.load(Ordering::SeqCst) {
            thread::park();
        }
    }
}

/// Limits a wait for `what`.
#[track_caller]
pub fn limit(what: impl Into<String>) -> Limit {
    within(LIMIT, what.into())
}

#[track_caller]
fn within(time: Duration, what: String) -> Limit {
    let (ends, ended) = mpsc::channel();
    let location = Location::caller();
    thread::spawn(move || {
        if ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
            hang(&format!("{location}: waited {} s for {what}\n", time.as_secs_f32()));
        }
    });
    Limit { _ends: ends }
}

/// Ends this process and its child processes. `eprint` would write to what the harness keeps of the test, which is lost.
fn hang(words: &str) -> ! {
    IS_ENDING.store(true, Ordering::SeqCst);
    let _ = io::stderr().write_all(words.as_bytes());
    #[cfg(unix)]
    crate::process::signal::kill_children();
    std::process::abort()
}

/// Waits until `holds`.
///
/// # Panics
/// At the limit, with the name of what it waited for.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < LIMIT, "waited {} s for {what}", LIMIT.as_secs());
        thread::sleep(Duration::from_millis(2));
    }
}

/// A child process, with a limit until this is dropped, and killed then if it still runs.
pub struct Running {
    child: Child,
    _limit: Limit,
}

/// Starts a program.
///
/// # Errors
/// When it cannot be started.
#[track_caller]
pub fn start(command: &mut Command) -> io::Result<Running> {
    let limit = limit(end_of(command));
    Ok(Running { child: command.spawn()?, _limit: limit })
}

/// Runs a program to its end and reads what it writes, as [`Command::output`] does.
///
/// # Errors
/// When it cannot be started.
#[track_caller]
pub fn output(command: &mut Command) -> io::Result<Output> {
    let _limit = limit(end_of(command));
    command.output()
}

/// The same for a compiler or an emulator, which may have much to do. Its limit is an hour.
///
/// # Errors
/// When it cannot be started.
#[track_caller]
pub fn long_output(command: &mut Command) -> io::Result<Output> {
    let _limit = within(12 * LIMIT, end_of(command));
    command.output()
}

fn end_of(command: &Command) -> String {
    format!("the end of {command:?}").chars().take(500).collect()
}

impl Running {
    /// Closes the pipe to its standard input, waits for its end, and reads the other pipes meanwhile.
    ///
    /// # Errors
    /// When a pipe cannot be read.
    ///
    /// # Panics
    /// Never: the thread that reads does not.
    pub fn output(mut self) -> io::Result<Output> {
        let read = |pipe: Option<&mut dyn io::Read>| {
            let mut bytes = Vec::new();
            pipe.map_or(Ok(0), |pipe| pipe.read_to_end(&mut bytes)).map(|_| bytes)
        };
        drop(self.stdin.take());
        let (mut out, mut err) = (self.stdout.take(), self.stderr.take());
        let (stdout, stderr) = thread::scope(|scope| {
            let errors = scope.spawn(|| read(err.as_mut().map(|pipe| pipe as _)));
            (read(out.as_mut().map(|pipe| pipe as _)), errors.join().expect("no panic"))
        });
        Ok(Output { status: self.wait()?, stdout: stdout?, stderr: stderr? })
    }
}

impl Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.child
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.child
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that failed leaves no process behind. Both calls do nothing after the end of the child.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Stdio;

    use super::*;

    const CHILD: &str = "HASHMILL_TEST_HANGS";
    const NAME: &str = "process::wait::tests::a_hang_ends_with_its_children_and_names_its_event";

    #[test]
    fn a_hang_ends_with_its_children_and_names_its_event() {
        if std::env::var_os(CHILD).is_some() {
            // The shell's child keeps standard error open. The limit begins when it is there: where a test hangs, its children are.
            let mut shell = Command::new("sh");
            shell.args(["-c", "sleep 1000 & echo; wait"]).stdout(Stdio::piped());
            let mut shell = shell.spawn().expect("a shell");
            let mut line = [0];
            io::Read::read_exact(shell.stdout.as_mut().expect("a pipe"), &mut line).expect("a line");
            let _limit = within(Duration::from_millis(50), "words that never come".to_owned());
            let _ = shell.wait();
            return;
        }
        let own = std::env::current_exe().expect("where this program is");
        let mut command = Command::new(own);
        let output = output(command.args(["--exact", NAME]).env(CHILD, "1")).expect("the same program");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{stderr}");
        assert!(stderr.contains("wait.rs:") && stderr.contains("words that never come"), "{stderr}");
    }

    #[test]
    fn a_child_ends_with_its_handle() {
        let mut command = Command::new("cat");
        let mut running = start(command.stdin(Stdio::piped()).stdout(Stdio::piped())).expect("cat");
        let mut out = running.stdout.take().expect("a pipe");
        // Its standard input stays open, so that it would wait without end.
        let input = running.stdin.take();
        drop(running);
        assert_eq!(io::copy(&mut out, &mut io::sink()).expect("a pipe"), 0);
        drop(input);
    }
}
