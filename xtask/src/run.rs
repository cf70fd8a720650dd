//! Running one step: its processes one after another, their words into a log, a sign of life for the user.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::steps::Cmd;
use crate::tally::Tally;

/// A step that prints nothing on the terminal says that it lives after each of these.
const SIGN_OF_LIFE: Duration = Duration::from_secs(60);

/// How a step ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) tally: Tally,
    /// The first process that failed, and how.
    pub(crate) failure: Option<String>,
    pub(crate) took: Duration,
    pub(crate) log: PathBuf,
}

impl Ended {
    /// A step that is there to run tests has failed if none ran.
    pub(crate) fn must_have_tested(&mut self) {
        if self.tally.passed + self.tally.failed == 0 {
            self.failure.get_or_insert_with(|| "no test ran".to_owned());
        }
    }
}

/// Runs every command of a step in `root`, the later ones even if an earlier one fails.
pub(crate) fn step(root: &Path, name: &str, commands: &[Cmd], verbose: bool) -> anyhow::Result<Ended> {
    let started = Instant::now();
    let (path, mut log) = log_of(root, name)?;
    let mut tally = Tally::default();
    let mut failure = None;
    for command in commands {
        let line = words(command);
        writeln!(log, "$ {line}")?;
        if verbose {
            println!("$ {line}");
        }
        let mut latest = String::new();
        let mut hear = |event: Heard| -> io::Result<()> {
            match event {
                Heard::Line(line) => {
                    tally.read(&line);
                    writeln!(log, "{line}")?;
                    if verbose {
                        println!("{line}");
                    } else {
                        latest = line;
                    }
                }
                Heard::Silence if !verbose => {
                    println!("    … {name}, {} s: {}", started.elapsed().as_secs(), latest.trim());
                }
                Heard::Silence => {}
            }
            Ok(())
        };
        let status = process(root, command, &mut hear).with_context(|| line.clone())?;
        if !status.success() {
            failure.get_or_insert_with(|| format!("{status}: {line}"));
        }
    }
    Ok(Ended { tally, failure, took: started.elapsed(), log: path })
}

/// How a step ended that could not say what to run.
pub(crate) fn failed(root: &Path, name: &str, error: &anyhow::Error) -> anyhow::Result<Ended> {
    let (path, mut log) = log_of(root, name)?;
    writeln!(log, "{error:?}")?;
    let failure = Some(format!("{error:#}"));
    Ok(Ended { tally: Tally::default(), failure, took: Duration::ZERO, log: path })
}

/// The log of a step, empty.
fn log_of(root: &Path, name: &str) -> anyhow::Result<(PathBuf, File)> {
    let folder = root.join("target/xtask");
    fs::create_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
    let path = folder.join(format!("{name}.log"));
    let log = File::create(&path).with_context(|| format!("{}", path.display()))?;
    Ok((path, log))
}

/// What comes from a running process.
enum Heard {
    Line(String),
    /// [`SIGN_OF_LIFE`] has passed since the last of these.
    Silence,
}

/// Runs one process to its end, both of its output streams through one pipe so that their order is kept.
fn process(
    root: &Path,
    command: &Cmd,
    hear: &mut dyn FnMut(Heard) -> io::Result<()>,
) -> io::Result<ExitStatus> {
    let (reader, writer) = io::pipe()?;
    let mut process = Command::new(&command.program);
    process.args(&command.args).envs(command.env.iter().map(|(name, value)| (name, value)));
    process.current_dir(root).stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = process.spawn()?;
    // `process` holds our copies of the pipe's writing end: the reader would never see the end of it.
    drop(process);
    let (sender, receiver) = mpsc::channel();
    let lines = thread::spawn(move || read_lines(reader, &sender));
    let mut next_sign = Instant::now() + SIGN_OF_LIFE;
    loop {
        match receiver.recv_timeout(next_sign.saturating_duration_since(Instant::now())) {
            Ok(line) => hear(Heard::Line(line))?,
            Err(RecvTimeoutError::Timeout) => {
                hear(Heard::Silence)?;
                next_sign = Instant::now() + SIGN_OF_LIFE;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    lines.join().expect("reading lines does not panic")?;
    child.wait()
}

/// Sends each line, whatever bytes it has; ends when the last writer is gone.
fn read_lines(reader: io::PipeReader, sender: &mpsc::Sender<String>) -> io::Result<()> {
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\n', '\r']).to_owned();
        line.clear();
        if sender.send(text).is_err() {
            break;
        }
    }
    Ok(())
}

/// The command as a person would type it.
fn words(command: &Cmd) -> String {
    let quoted = |word: &str| match word.is_empty() || word.contains(' ') {
        true => format!("'{word}'"),
        false => word.to_owned(),
    };
    let env = command.env.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
    let args = command.args.iter().map(|arg| quoted(arg));
    env.chain([command.program.clone()]).chain(args).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, commands: &[Cmd]) -> Ended {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository");
        step(root, name, commands, false).expect("the step starts")
    }

    #[test]
    fn a_failing_process_is_named_and_the_next_one_still_runs() {
        let ended = run("test-of-run", &[Cmd::new("cargo", &["no-such"]), Cmd::new("cargo", &["--version"])]);
        assert!(ended.failure.expect("`cargo no-such` fails").ends_with(": cargo no-such"));
        let log = fs::read_to_string(&ended.log).expect("the log");
        assert!(log.contains("no-such") && log.contains("\ncargo 1."), "both streams are in it: {log}");
    }

    #[test]
    fn a_step_that_tests_nothing_fails() {
        let mut ended = run("test-of-tests", &[Cmd::new("cargo", &["--version"])]);
        assert_eq!(ended.failure, None);
        ended.must_have_tested();
        assert_eq!(ended.failure.as_deref(), Some("no test ran"));
    }

    #[test]
    fn a_program_that_does_not_start_is_an_error() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(process(root, &Cmd::new("no-such-program-anywhere", &[]), &mut |_| Ok(())).is_err());
    }

    #[test]
    fn commands_are_shown_as_a_shell_takes_them() {
        let mut command = Cmd::new("cargo", &["test", "--features", ""]);
        command.env.push(("RUNNER".to_owned(), "qemu -cpu max".to_owned()));
        assert_eq!(words(&command), "RUNNER='qemu -cpu max' cargo test --features ''");
    }
}
