//! Test binaries of `cargo test`: built by cargo, listed, and run in parts side by side.
//!
//! Each part is one process that runs some tests of one binary on a single thread. So every test has a time, a test that crashes or
//! hangs is known by name, and short binaries run beside long ones.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::Value;

use super::output::Output;
use super::process::RunningProcess;
use crate::command::{Cmd, Selection};

/// Tests of one process: few enough that processors finish together, many enough that tests of one file share what they set up.
const TESTS_PER_PART: usize = 16;

/// A test that runs for longer is killed. The slowest takes two minutes on a slow machine.
const TEST_LIMIT: Duration = Duration::from_secs(900);

/// A test binary of one package.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Binary {
    /// Folder of the package, relative to the repository.
    package: String,
    /// Name of the library, program or test file.
    target: String,
    path: PathBuf,
}

/// Some tests of one binary, in the order in which the binary runs them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    binary: usize,
    tests: Vec<String>,
}

/// Builds the binaries of a `cargo test` and runs the selected tests. Returns a failure other than that of a test.
pub(super) fn run(
    root: &Path,
    command: &Cmd,
    selection: &Selection,
    output: &mut Output,
) -> anyhow::Result<Option<String>> {
    let mut binaries = Vec::new();
    if let Some(failure) = build(root, command, output, &mut binaries)? {
        return Ok(Some(failure));
    }
    binaries.retain(|binary| selection.has_package(&binary.package));
    let runner = runner(command);
    let mut parts = VecDeque::new();
    for (index, binary) in binaries.iter().enumerate() {
        let tests = list(root, command, &runner, binary)?;
        let is_selected = |test: &String| {
            selection.has_test(test) && selection.has_module(&binary.package, &binary.target, test)
        };
        let tests = tests.into_iter().filter(is_selected).collect::<Vec<_>>();
        parts.extend(split_tests(index, &tests, &runner));
    }
    let workers = thread::available_parallelism().map_or(1, usize::from);
    run_parts(workers, parts, output, &|part| {
        let binary = &binaries[part.binary];
        let mut process = start(root, command, &runner, binary);
        process.args(["--exact", "--test-threads=1", "--show-output"]).args(&part.tests);
        (process, format!("{} {}", binary.package, binary.target))
    })
}

/// Builds the binaries that a `cargo test` would run.
fn build(
    root: &Path,
    command: &Cmd,
    output: &mut Output,
    binaries: &mut Vec<Binary>,
) -> anyhow::Result<Option<String>> {
    let mut build = command.clone();
    build.args.extend(["--no-run", "--message-format=json-render-diagnostics"].map(str::to_owned));
    let mut running = RunningProcess::start(build.process(root))?;
    loop {
        match running.lines.recv_timeout(output.until_progress()) {
            Ok(line) if line.starts_with("{\"reason\":") => binaries.extend(binary(root, &line)?),
            Ok(line) => output.line(&line)?,
            Err(RecvTimeoutError::Timeout) => output.progress(None),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let status = running.wait()?;
    Ok((!status.success()).then(|| status.to_string()))
}

/// The test binary that one of cargo's messages announces, if it announces one.
fn binary(root: &Path, message: &str) -> anyhow::Result<Option<Binary>> {
    let message: Value = serde_json::from_str(message).context("a message of cargo")?;
    let is_test = message["profile"]["test"].as_bool() == Some(true);
    let Some(path) = message["executable"].as_str().filter(|_| is_test) else { return Ok(None) };
    let manifest = Path::new(message["manifest_path"].as_str().context("the manifest of a test binary")?);
    let folder = manifest.parent().context("the folder of a package")?;
    let package = folder.strip_prefix(root).unwrap_or(folder).to_string_lossy().replace('\\', "/");
    let target = message["target"]["name"].as_str().context("the name of a test binary")?.to_owned();
    Ok(Some(Binary { package, target, path: PathBuf::from(path) }))
}

/// The program and arguments that run a binary of another machine, from the environment of the command.
fn runner(command: &Cmd) -> Vec<String> {
    let runner =
        command.env.iter().find(|(name, _)| name.starts_with("CARGO_TARGET_") && name.ends_with("_RUNNER"));
    runner.map_or_else(Vec::new, |(_, line)| line.split_whitespace().map(str::to_owned).collect())
}

/// A process of a binary as cargo starts it: in the folder of its package.
fn start(root: &Path, command: &Cmd, runner: &[String], binary: &Binary) -> Command {
    let mut process = match runner {
        [] => Command::new(&binary.path),
        [program, arguments @ ..] => {
            let mut process = Command::new(program);
            process.args(arguments).arg(&binary.path);
            process
        }
    };
    let folder = root.join(&binary.package);
    process.envs(command.env.iter().map(|(name, value)| (name, value)));
    process.env("CARGO_MANIFEST_DIR", &folder).current_dir(folder);
    process
}

/// The names of the tests in a binary, in its order.
fn list(root: &Path, command: &Cmd, runner: &[String], binary: &Binary) -> anyhow::Result<Vec<String>> {
    let mut process = start(root, command, runner, binary);
    let output = process.args(["--list", "--format=terse"]).output();
    let output = output.with_context(|| binary.path.display().to_string())?;
    let listed = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} --list: {} {stderr}", binary.path.display(), output.status);
    Ok(listed.lines().filter_map(|line| line.trim_end().strip_suffix(": test")).map(str::to_owned).collect())
}

/// Splits the tests of a binary into parts. A runner may start slowly, so its parts are larger: at most four.
fn split_tests(binary: usize, tests: &[String], runner: &[String]) -> Vec<Part> {
    let size = if runner.is_empty() { TESTS_PER_PART } else { tests.len().div_ceil(4).max(TESTS_PER_PART) };
    tests.chunks(size).map(|tests| Part { binary, tests: tests.to_vec() }).collect()
}

/// The end of a part: the lines of its process, and the times of the tests that ended in it.
struct PartEnd {
    lines: Vec<String>,
    times: Vec<(String, Duration)>,
    failure: Option<String>,
}

/// Runs parts on some workers until none is left. `process` makes the process of a part, and its name.
fn run_parts(
    workers: usize,
    parts: VecDeque<Part>,
    output: &mut Output,
    process: &(dyn Fn(&Part) -> (Command, String) + Sync),
) -> anyhow::Result<Option<String>> {
    let queue = Mutex::new(parts);
    let running = Mutex::new(vec![String::new(); workers]);
    let (sender, ends) = mpsc::channel();
    let mut failure = None;
    thread::scope(|scope| -> anyhow::Result<()> {
        for worker in 0..workers {
            let (sender, queue, running) = (sender.clone(), &queue, &running);
            scope.spawn(move || {
                let is_running = |test: &str| test.clone_into(&mut running.lock().expect("no panic")[worker]);
                run_worker(queue, process, &is_running, &sender);
                is_running("");
            });
        }
        drop(sender);
        loop {
            match ends.recv_timeout(output.until_progress()) {
                Ok(PartEnd { lines, times, failure: failed }) => {
                    lines.iter().try_for_each(|line| output.line(line))?;
                    output.test_counts.times.extend(times);
                    if let Some(failed) = failed {
                        output.line(&format!("test result: FAILED. 0 passed; 1 failed; {failed}"))?;
                        failure.get_or_insert(failed);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    let names = running.lock().expect("no panic").join(" ");
                    output.progress(Some(names.trim()));
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    })?;
    let failed = (output.test_counts.failed > 0).then(|| "tests failed".to_owned());
    Ok(failure.or(failed))
}

/// Runs parts from the queue until it is empty.
fn run_worker(
    queue: &Mutex<VecDeque<Part>>,
    process: &dyn Fn(&Part) -> (Command, String),
    is_running: &dyn Fn(&str),
    ends: &Sender<PartEnd>,
) {
    let next = || queue.lock().expect("no panic").pop_front();
    while let Some(part) = next() {
        let (command, name) = process(&part);
        let mut lines = vec![format!("     Running {name}")];
        let mut progress = Progress::new(&part.tests);
        let failure = match run_part(command, &mut progress, &mut lines, is_running) {
            Err(error) => Some(format!("{name}: {error}")),
            Ok(None) => None,
            Ok(Some(end)) => {
                // The tests after the one that ended the process run in a new process.
                let at_fault = progress.next;
                let rest = part.tests.get(at_fault + 1..).unwrap_or_default();
                if !rest.is_empty() {
                    let rest = Part { binary: part.binary, tests: rest.to_vec() };
                    queue.lock().expect("no panic").push_front(rest);
                }
                let test = part.tests.get(at_fault).map_or("after the last test", String::as_str);
                Some(format!("{name}: {test}: {end}"))
            }
        };
        let times = progress.times.drain(..).map(|(test, took)| (format!("{name} {test}"), took)).collect();
        // The receiver is gone only after an error that ends the whole run.
        if ends.send(PartEnd { lines, times, failure }).is_err() {
            return;
        }
    }
}

/// Runs the process of a part. Returns how it ended if that was before its last test.
fn run_part(
    command: Command,
    progress: &mut Progress<'_>,
    lines: &mut Vec<String>,
    is_running: &dyn Fn(&str),
) -> anyhow::Result<Option<String>> {
    let mut running = RunningProcess::start(command)?;
    is_running(progress.running());
    let mut limit = Instant::now() + TEST_LIMIT;
    loop {
        match running.lines.recv_timeout(limit.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                if progress.read(&line, Instant::now()) {
                    is_running(progress.running());
                    limit = Instant::now() + TEST_LIMIT;
                }
                lines.push(line);
            }
            Err(RecvTimeoutError::Timeout) => {
                running.kill()?;
                lines.extend(running.lines.try_iter());
                return Ok(Some(format!("killed after {} s", TEST_LIMIT.as_secs())));
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let status = running.wait()?;
    match progress.result {
        Some(count) if count == progress.tests.len() && (status.success() || progress.has_failed) => Ok(None),
        Some(count) => Ok(Some(format!("{status}, {count} of {} tests ended", progress.tests.len()))),
        None => Ok(Some(status.to_string())),
    }
}

/// The tests of a process that have ended so far, read from its output.
struct Progress<'a> {
    tests: &'a [String],
    /// The index of the test that runs.
    next: usize,
    /// The line of the running test has begun but not ended: a child process wrote in between.
    is_open: bool,
    since: Instant,
    times: Vec<(String, Duration)>,
    /// The number of tests that the closing line counts.
    result: Option<usize>,
    has_failed: bool,
}

impl<'a> Progress<'a> {
    fn new(tests: &'a [String]) -> Self {
        let times = Vec::with_capacity(tests.len());
        Self { tests, next: 0, is_open: false, since: Instant::now(), times, result: None, has_failed: false }
    }

    /// The name of the test that runs; empty after the last.
    fn running(&self) -> &'a str {
        self.tests.get(self.next).map_or("", String::as_str)
    }

    /// Reads one line that arrived at `now`. Returns whether a test has ended.
    fn read(&mut self, line: &str, now: Instant) -> bool {
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.has_failed = counts.starts_with("FAILED");
            let number = |result: &str| crate::suite::test_counts::count(counts, result);
            self.result = Some(number("passed") + number("failed") + number("ignored"));
            return false;
        }
        let Some(test) = self.tests.get(self.next) else { return false };
        let begins = line.strip_prefix("test ").and_then(|rest| rest.strip_prefix(test.as_str()));
        self.is_open |= begins.is_some_and(|rest| rest.starts_with(' '));
        let ends = line.ends_with("ok") || line.ends_with("FAILED") || line.contains(" ... ignored");
        if !(self.is_open && ends) {
            return false;
        }
        self.times.push((test.clone(), now.saturating_duration_since(self.since)));
        (self.next, self.is_open, self.since) = (self.next + 1, false, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn test_binaries_are_read_from_messages_of_cargo() {
        let root = Path::new("/r");
        let message = |test: bool, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/r/crates/a/Cargo.toml","target":{{"name":"it"}},"profile":{{"test":{test}}},"executable":{executable}}}"#
            )
        };
        let expected = Binary { package: "crates/a".into(), target: "it".into(), path: "/t/it-1".into() };
        assert_eq!(binary(root, &message(true, "\"/t/it-1\"")).expect("a message"), Some(expected));
        assert_eq!(binary(root, &message(false, "\"/t/a\"")).expect("a program"), None);
        assert_eq!(binary(root, &message(true, "null")).expect("a library"), None);
        assert_eq!(binary(root, r#"{"reason":"build-finished","success":true}"#).expect("the end"), None);
        assert!(binary(root, "{\"reason\":").is_err(), "a message that is cut off is no message");
    }

    #[test]
    fn parts_have_every_test_once_and_in_order() {
        let tests: Vec<String> = (0..100).map(|test| format!("t{test}")).collect();
        for runner in [vec![], names(&["qemu"])] {
            let parts = split_tests(3, &tests, &runner);
            assert!(parts.len() > 1 && parts.iter().all(|part| part.binary == 3));
            assert_eq!(parts.into_iter().flat_map(|part| part.tests).collect::<Vec<_>>(), tests);
        }
        assert!(split_tests(0, &[], &[]).is_empty());
    }

    #[test]
    fn progress_is_read_also_when_child_processes_write_between() {
        let tests = names(&["a", "a::b", "c", "d"]);
        let mut progress = Progress::new(&tests);
        let start = progress.since;
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(!progress.read("running 4 tests", at(0)));
        assert!(progress.read("test a ... ok", at(1)));
        assert_eq!(progress.running(), "a::b");
        assert!(!progress.read("test a::b - should panic ... SKIPPED: no network", at(2)));
        assert!(!progress.read("output of a child", at(3)));
        assert!(progress.read("ok", at(4)));
        assert!(progress.read("test c ... ignored, reason", at(4)));
        assert!(!progress.read("it is ok", at(5)), "the line of `d` has not begun");
        assert!(progress.read("test d ... FAILED", at(9)));
        assert_eq!(progress.running(), "");
        assert!(!progress.read("test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured", at(9)));
        assert_eq!((progress.result, progress.has_failed), (Some(4), true));
        let seconds: Vec<u64> = progress.times.iter().map(|(_, took)| took.as_secs()).collect();
        assert_eq!(seconds, [1, 3, 0, 5]);
    }

    /// Runs a part whose process is a shell script; its arguments are the names of the tests.
    #[cfg(unix)]
    fn run_script(
        name: &str,
        script: &str,
        tests: &[&str],
    ) -> (Option<String>, crate::suite::test_counts::TestCounts) {
        let mut output = Output::create(&crate::root(), name, false).expect("a log");
        let parts = VecDeque::from([Part { binary: 0, tests: names(tests) }]);
        let process = |part: &Part| {
            let mut command = Command::new("sh");
            command.args(["-c", script, "sh"]).args(&part.tests);
            (command, "crates/a it".to_owned())
        };
        let failure = run_parts(2, parts, &mut output, &process).expect("shells start");
        (failure, output.test_counts)
    }

    #[cfg(unix)]
    #[test]
    fn a_crash_is_the_failure_of_one_test_and_the_rest_still_runs() {
        let script = r#"n=0; for t in "$@"; do
            [ "$t" = crash ] && { printf 'test crash ... '; kill -9 $$; }
            echo "test $t ... ok"; n=$((n + 1))
        done; echo "test result: ok. $n passed; 0 failed; 0 ignored; 0 measured""#;
        let (failure, test_counts) = run_script("test-of-crash", script, &["a", "crash", "x", "y"]);
        let failure = failure.expect("a failure");
        assert!(failure.starts_with("crates/a it: crash: signal: 9"), "{failure}");
        assert_eq!(
            (test_counts.passed, test_counts.failed),
            (2, 1),
            "the count of the process that died is lost"
        );
        let timed: Vec<&str> = test_counts.times.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(timed, ["crates/a it a", "crates/a it x", "crates/a it y"]);
    }

    #[cfg(unix)]
    #[test]
    fn tests_that_did_not_run_are_a_failure() {
        let script =
            "echo 'test a ... ok'; echo 'test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured'";
        let (failure, _) = run_script("test-of-count", script, &["a", "b"]);
        assert_eq!(failure.as_deref(), Some("crates/a it: b: exit status: 0, 1 of 2 tests ended"));
        let script = script.replace("'test r", "'test-r");
        let (failure, _) = run_script("test-of-silence", &script, &["a"]);
        assert_eq!(failure.as_deref(), Some("crates/a it: after the last test: exit status: 0"));
    }
}
