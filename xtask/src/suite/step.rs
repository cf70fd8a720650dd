//! One step: its commands one after another, all of them even if one fails.

use std::path::Path;
use std::sync::mpsc::RecvTimeoutError;

use anyhow::Context;

use super::binaries;
use super::output::{Output, StepResult};
use super::process::RunningProcess;
use crate::command::Cmd;

/// Runs every command of a step in `root`, the later ones even if an earlier one fails.
pub(super) fn run(root: &Path, name: &str, commands: &[Cmd], verbose: bool) -> anyhow::Result<StepResult> {
    let mut output = Output::create(root, name, verbose)?;
    let mut failure = None;
    for command in commands {
        let shell_line = command.shell_line();
        output.command(&shell_line)?;
        let failed = match &command.tests {
            None => run_command(root, command, &mut output),
            Some(selection) => binaries::run(root, command, selection, &mut output),
        };
        if let Some(reason) = failed.with_context(|| shell_line.clone())? {
            failure.get_or_insert_with(|| format!("{reason}: {shell_line}"));
        }
    }
    Ok(output.end(failure))
}

/// The result of a step whose commands could not be determined.
pub(super) fn without_commands(root: &Path, name: &str, error: &anyhow::Error) -> anyhow::Result<StepResult> {
    let mut output = Output::create(root, name, false)?;
    output.line(&format!("{error:?}"))?;
    Ok(output.end(Some(format!("{error:#}"))))
}

/// Runs one process to its end. Returns how it failed, if it did.
fn run_command(root: &Path, command: &Cmd, output: &mut Output) -> anyhow::Result<Option<String>> {
    let mut running = RunningProcess::start(command.process(root))?;
    loop {
        match running.lines.recv_timeout(output.until_progress()) {
            Ok(line) => output.line(&line)?,
            Err(RecvTimeoutError::Timeout) => output.progress(None),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let status = running.wait()?;
    Ok((!status.success()).then(|| status.to_string()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn run(name: &str, commands: &[Cmd]) -> StepResult {
        super::run(&crate::root(), name, commands, false).expect("the step starts")
    }

    #[test]
    fn a_failing_command_is_named_and_the_next_one_still_runs() {
        let result =
            run("test-of-step", &[Cmd::new("cargo", &["no-such"]), Cmd::new("cargo", &["--version"])]);
        assert!(result.failure.expect("`cargo no-such` fails").ends_with(": cargo no-such"));
        let log = fs::read_to_string(&result.log).expect("the log");
        assert!(log.contains("no-such") && log.contains("\ncargo 1."), "both streams are in it: {log}");
    }

    #[test]
    fn a_step_that_runs_too_few_tests_fails() {
        let mut result = run("test-of-tests", &[Cmd::new("cargo", &["--version"])]);
        assert_eq!(result.failure, None);
        result.require_tests(1);
        assert_eq!(result.failure.take().as_deref(), Some("no test ran"));
        (result.test_counts.passed, result.test_counts.failed) = (6, 1);
        result.require_tests(7);
        assert_eq!(result.failure, None);
        result.require_tests(8);
        let failure = result.failure.expect("seven tests are too few");
        assert!(failure.starts_with("7 tests ran, and at least 8 must"), "{failure}");
        assert!(failure.contains("min_tests.rs"), "{failure}");
    }
}
