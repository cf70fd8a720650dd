//! Terminal output of `cargo xtask test`: one line per step, and the closing lines.

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use super::output::StepResult;
use crate::steps::kind::Kind;
use crate::steps::{Graph, Step};
use crate::suite::test_counts::explaining_lines;

/// The number of tests whose times the closing lines show.
const SLOWEST: usize = 10;

/// The outcome of a step.
pub(crate) enum Outcome {
    /// A need is missing on this machine; the reason names it and its remedy.
    Skipped(String),
    Finished(StepResult),
}

/// Announces a step, so that the name of a hanging step is known.
pub(crate) fn begin(number: usize, count: usize, step: &Step) {
    let graph = match step.graph {
        Graph::None => String::new(),
        graph => format!(" (compiles {})", graph.name()),
    };
    println!("[{number}/{count}] {}: {}{graph}", step.name, step.about);
}

/// Prints the outcome of a step, with its name if other steps run beside it; after a failure, the lines that explain it.
pub(crate) fn end(step: &Step, outcome: &Outcome, verbose: bool, with_name: bool) {
    let name = if with_name { format!("{}: ", step.name) } else { String::new() };
    let result = match outcome {
        Outcome::Skipped(reason) => return println!("    {name}skipped: {reason}"),
        Outcome::Finished(result) => result,
    };
    let tests = match result.test_counts.passed + result.test_counts.failed {
        0 => String::new(),
        _ => format!(", {} passed, {} failed", result.test_counts.passed, result.test_counts.failed),
    };
    let status = if result.failure.is_none() { "ok" } else { "FAILED" };
    if result.failure.is_some() && !verbose {
        println!("---- {} ----", step.name);
        match fs::read_to_string(&result.log) {
            Ok(log) => explaining_lines(&log).for_each(|line| println!("{line}")),
            Err(error) => println!("{}: {error}", result.log.display()),
        }
    }
    println!("    {name}{status}, {:.1} s{tests}", result.took.as_secs_f64());
}

/// The contents of the closing lines.
pub(crate) struct Summary {
    /// A skip is a failure.
    require_all: bool,
    passed: usize,
    failed: usize,
    skipped: Vec<String>,
    failures: Vec<String>,
    steps: Vec<(&'static str, Duration)>,
    tests: Vec<(String, Duration)>,
    /// Tests, or parts of them, that exist at full size only.
    slow: usize,
    /// Kinds that the command left out.
    not_run: Vec<Kind>,
}

impl Summary {
    pub(crate) fn new(require_all: bool, not_run: Vec<Kind>) -> Self {
        Self {
            require_all,
            passed: 0,
            failed: 0,
            skipped: Vec::new(),
            failures: Vec::new(),
            steps: Vec::new(),
            tests: Vec::new(),
            slow: 0,
            not_run,
        }
    }

    pub(crate) fn add(&mut self, step: &'static str, outcome: Outcome) {
        let result = match outcome {
            Outcome::Skipped(reason) => return self.skipped.push(format!("{step}: {reason}")),
            Outcome::Finished(result) => result,
        };
        let test_counts = result.test_counts;
        self.passed += test_counts.passed;
        self.failed += test_counts.failed;
        self.slow += test_counts.slow;
        self.skipped.extend(test_counts.skipped.iter().map(|reason| format!("{step}: {reason}")));
        if let Some(failure) = &result.failure {
            self.failures.push(format!("{step}: {failure} (log: {})", result.log.display()));
            // A failed format, lint or build is no test, but the sum must not say "0 failed".
            self.failed += usize::from(test_counts.failed == 0);
        }
        self.steps.push((step, result.took));
        self.tests
            .extend(test_counts.times.into_iter().map(|(test, took)| (format!("{step}: {test}"), took)));
    }

    /// Whether the run has passed.
    pub(crate) fn passed(&self) -> bool {
        self.failed == 0 && self.failures.is_empty() && (self.skipped.is_empty() || !self.require_all)
    }

    /// The closing lines: times, skips with reasons, kinds that were not run, failures, and the sum alone on the last line.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let mut list = |title: &str, lines: &[String]| {
            if !lines.is_empty() {
                let _ = writeln!(text, "\n{title}:");
                lines.iter().for_each(|line| _ = writeln!(text, "  {line}"));
            }
        };
        let seconds = |name: &str, took: &Duration| format!("{:>7.1} s  {name}", took.as_secs_f64());
        let steps: Vec<_> = self.steps.iter().map(|(step, took)| seconds(step, took)).collect();
        list("steps", &steps);
        let mut tests: Vec<_> = self.tests.iter().collect();
        tests.sort_by_key(|(_, took)| std::cmp::Reverse(*took));
        let tests: Vec<_> = tests.into_iter().take(SLOWEST).map(|(test, took)| seconds(test, took)).collect();
        list("slowest tests", &tests);
        let title = if self.require_all { "skipped, a failure under REQUIRE_ALL=1" } else { "skipped" };
        list(title, &self.skipped);
        let row = |kind: &Kind| {
            let slow = match self.slow {
                0 => String::new(),
                count => format!("; {count} tests, or parts of them, have no small size"),
            };
            let slow = if *kind == Kind::Slow { slow } else { String::new() };
            format!("cargo xtask test {:<11} {}{slow}", kind.name(), kind.about())
        };
        let mut not_run: Vec<_> = self.not_run.iter().map(row).collect();
        if not_run.len() > 1 {
            not_run.push("cargo xtask test all".to_owned());
        }
        list("not run", &not_run);
        list("failed", &self.failures);
        let (failed, skipped) = match self.require_all {
            true => (self.failed + self.skipped.len(), 0),
            false => (self.failed, self.skipped.len()),
        };
        let _ = writeln!(text, "\n{} passed, {failed} failed, {skipped} skipped", self.passed);
        text
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::suite::test_counts::TestCounts;

    fn result(passed: usize, failed: usize, skipped: &[&str], failure: Option<&str>) -> Outcome {
        let skipped = skipped.iter().map(|&reason| reason.to_owned()).collect();
        let test_counts = TestCounts { passed, failed, skipped, ..TestCounts::default() };
        let failure = failure.map(str::to_owned);
        Outcome::Finished(StepResult {
            test_counts,
            failure,
            took: Duration::from_millis(1200),
            log: PathBuf::from("x.log"),
        })
    }

    fn summary(require_all: bool, outcomes: impl IntoIterator<Item = (&'static str, Outcome)>) -> Summary {
        let mut summary = Summary::new(require_all, Vec::new());
        outcomes.into_iter().for_each(|(name, outcome)| summary.add(name, outcome));
        summary
    }

    #[test]
    fn the_last_line_is_the_sum_and_skips_are_named() {
        let outcomes =
            [("tests", result(3, 0, &["no neon"], None)), ("qemu", Outcome::Skipped("no qemu".to_owned()))];
        let summary = summary(false, outcomes);
        assert!(summary.passed());
        let expected = "\nsteps:\n      1.2 s  tests\n\nskipped:\n  tests: no neon\n  qemu: no qemu\n\n\
                        3 passed, 0 failed, 2 skipped\n";
        assert_eq!(summary.text(), expected);
    }

    #[test]
    fn kinds_that_were_not_run_are_named_with_their_command() {
        let mut summary = Summary::new(false, vec![Kind::Gpu, Kind::Slow]);
        let test_counts = TestCounts { passed: 1, slow: 3, ..TestCounts::default() };
        let result =
            StepResult { test_counts, failure: None, took: Duration::ZERO, log: PathBuf::from("x.log") };
        summary.add("tests", Outcome::Finished(result));
        let text = summary.text();
        for part in [
            "  cargo xtask test gpu ",
            "  cargo xtask test slow ",
            "3 tests, or parts of them, have no small size",
            "test all\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.ends_with("\n1 passed, 0 failed, 0 skipped\n"));
    }

    #[test]
    fn the_slowest_tests_come_first() {
        let mut summary = Summary::new(false, Vec::new());
        let times = (0..20).map(|test| (format!("t{test}"), Duration::from_secs(test))).collect();
        let test_counts = TestCounts { passed: 20, times, ..TestCounts::default() };
        let result =
            StepResult { test_counts, failure: None, took: Duration::ZERO, log: PathBuf::from("x.log") };
        summary.add("core", Outcome::Finished(result));
        let text = summary.text();
        assert!(text.contains("slowest tests:\n     19.0 s  core: t19\n     18.0 s  core: t18\n"), "{text}");
        assert_eq!(text.matches("core: t").count(), SLOWEST);
    }

    #[test]
    fn a_failing_step_without_tests_counts_as_one_failure() {
        let summary = summary(false, [("lint", result(0, 0, &[], Some("exit status: 101: cargo clippy")))]);
        assert!(!summary.passed());
        assert!(summary.text().ends_with("\n0 passed, 1 failed, 0 skipped\n"));
    }

    #[test]
    fn failing_tests_are_counted_once() {
        let summary = summary(false, [("tests", result(5, 2, &[], Some("exit status: 101: cargo test")))]);
        assert!(summary.text().ends_with("\n5 passed, 2 failed, 0 skipped\n"));
    }

    #[test]
    fn require_all_turns_skips_into_failures() {
        let summary = summary(true, [("tests", result(3, 0, &["no neon"], None))]);
        assert!(!summary.passed());
        assert!(summary.text().ends_with("\n3 passed, 1 failed, 0 skipped\n"));
    }
}
