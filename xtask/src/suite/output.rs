//! Output of a step: a log, counts and times of tests, and a line per minute on the terminal.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::suite::test_counts::TestCounts;

/// Interval of progress lines while a step prints nothing else on the terminal.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(60);

/// The result of a step.
#[derive(Debug)]
pub(super) struct StepResult {
    pub(super) test_counts: TestCounts,
    /// The first command that failed, and how.
    pub(super) failure: Option<String>,
    pub(super) took: Duration,
    pub(super) log: PathBuf,
}

impl StepResult {
    /// Fails a step that ran fewer tests than it must.
    pub(super) fn require_tests(&mut self, min: usize) {
        let count = self.test_counts.passed + self.test_counts.failed;
        let message = match count {
            0 => "no test ran".to_owned(),
            _ => format!(
                "{count} tests ran, and at least {min} must: where names of tests have changed, correct the selection of the \
                 step; where tests have gone, correct the number in xtask/src/steps/min_tests.rs"
            ),
        };
        if count < min {
            self.failure.get_or_insert(message);
        }
    }
}

/// The destination of a step's lines: its log, its counts and, on request, the terminal.
pub(super) struct Output {
    name: String,
    path: PathBuf,
    log: File,
    verbose: bool,
    started: Instant,
    next_progress: Instant,
    latest: String,
    pub(super) test_counts: TestCounts,
}

impl Output {
    pub(super) fn create(root: &Path, name: &str, verbose: bool) -> anyhow::Result<Self> {
        let folder = root.join("target/xtask");
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let path = folder.join(format!("{name}.log"));
        let log = File::create(&path).with_context(|| path.display().to_string())?;
        let started = Instant::now();
        Ok(Self {
            name: name.to_owned(),
            path,
            log,
            verbose,
            started,
            next_progress: started + PROGRESS_INTERVAL,
            latest: String::new(),
            test_counts: TestCounts::default(),
        })
    }

    pub(super) fn command(&mut self, shell_line: &str) -> io::Result<()> {
        self.write(&format!("$ {shell_line}"))
    }

    /// Adds one line of output.
    pub(super) fn line(&mut self, line: &str) -> io::Result<()> {
        self.test_counts.read(line);
        line.clone_into(&mut self.latest);
        self.write(line)
    }

    fn write(&mut self, line: &str) -> io::Result<()> {
        if self.verbose {
            println!("{line}");
        }
        writeln!(self.log, "{line}")
    }

    /// The time until the next progress line.
    pub(super) fn until_progress(&self) -> Duration {
        self.next_progress.saturating_duration_since(Instant::now())
    }

    /// Prints a progress line if one is due: the running tests, or else the latest line of output.
    pub(super) fn progress(&mut self, running: Option<&str>) {
        if self.until_progress() > Duration::ZERO {
            return;
        }
        self.next_progress = Instant::now() + PROGRESS_INTERVAL;
        if !self.verbose {
            let activity = running.unwrap_or(self.latest.trim());
            println!("    … {}, {} s: {activity}", self.name, self.started.elapsed().as_secs());
        }
    }

    pub(super) fn end(self, failure: Option<String>) -> StepResult {
        StepResult { test_counts: self.test_counts, failure, took: self.started.elapsed(), log: self.path }
    }
}
