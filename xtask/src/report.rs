//! The words of `cargo xtask test`: one line per step, and the closing list.

use std::fmt::Write as _;
use std::fs;

use crate::run::Ended;
use crate::steps::Step;
use crate::tally::telling;

/// What became of a step.
pub(crate) enum Outcome {
    /// This machine lacks something; the reason says what and how to get it.
    Skipped(String),
    Ended(Ended),
}

/// Announces a step, so that a step which hangs is known by name.
pub(crate) fn begin(number: usize, of: usize, step: &Step) {
    println!("[{number}/{of}] {}: {}", step.name, step.about);
}

/// Tells how the step went; after a failure, shows the lines that matter.
pub(crate) fn end(step: &Step, outcome: &Outcome, verbose: bool) {
    let ended = match outcome {
        Outcome::Skipped(reason) => return println!("    skipped: {reason}"),
        Outcome::Ended(ended) => ended,
    };
    let tests = match ended.tally.passed + ended.tally.failed {
        0 => String::new(),
        _ => format!(", {} passed, {} failed", ended.tally.passed, ended.tally.failed),
    };
    let word = if ended.failure.is_none() { "ok" } else { "FAILED" };
    if ended.failure.is_some() && !verbose {
        println!("---- {} ----", step.name);
        match fs::read_to_string(&ended.log) {
            Ok(log) => telling(&log).for_each(|line| println!("{line}")),
            Err(error) => println!("{}: {error}", ended.log.display()),
        }
    }
    println!("    {word}, {:.1} s{tests}", ended.took.as_secs_f64());
}

/// Everything that the closing lines say.
pub(crate) struct Summary {
    /// A skip is a failure.
    require_all: bool,
    passed: usize,
    failed: usize,
    skipped: Vec<String>,
    failures: Vec<String>,
}

impl Summary {
    pub(crate) fn new(require_all: bool) -> Self {
        Self { require_all, passed: 0, failed: 0, skipped: Vec::new(), failures: Vec::new() }
    }

    pub(crate) fn add(&mut self, step: &str, outcome: &Outcome) {
        let ended = match outcome {
            Outcome::Skipped(reason) => return self.skipped.push(format!("{step}: {reason}")),
            Outcome::Ended(ended) => ended,
        };
        self.passed += ended.tally.passed;
        self.failed += ended.tally.failed;
        self.skipped.extend(ended.tally.skipped.iter().map(|reason| format!("{step}: {reason}")));
        if let Some(failure) = &ended.failure {
            self.failures.push(format!("{step}: {failure} (log: {})", ended.log.display()));
            // A format, a lint, a build or a crash is no test, but it must not end in "0 failed".
            self.failed += usize::from(ended.tally.failed == 0);
        }
    }

    /// Whether the whole run is good.
    pub(crate) fn passed(&self) -> bool {
        self.failed == 0 && self.failures.is_empty() && (self.skipped.is_empty() || !self.require_all)
    }

    /// The closing lines: what was skipped and why, what failed, and the sum alone on the last line.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let mut list = |title: &str, lines: &[String]| {
            if !lines.is_empty() {
                let _ = writeln!(text, "\n{title}:");
                lines.iter().for_each(|line| _ = writeln!(text, "  {line}"));
            }
        };
        let title = if self.require_all { "skipped, a failure under REQUIRE_ALL=1" } else { "skipped" };
        list(title, &self.skipped);
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
    use std::time::Duration;

    use super::*;
    use crate::tally::Tally;

    fn ended(passed: usize, failed: usize, skipped: &[&str], failure: Option<&str>) -> Outcome {
        let skipped = skipped.iter().map(|&reason| reason.to_owned()).collect();
        let tally = Tally { passed, failed, skipped };
        let failure = failure.map(str::to_owned);
        Outcome::Ended(Ended { tally, failure, took: Duration::ZERO, log: PathBuf::from("x.log") })
    }

    fn summary(require_all: bool, outcomes: &[(&str, Outcome)]) -> Summary {
        let mut summary = Summary::new(require_all);
        outcomes.iter().for_each(|(name, outcome)| summary.add(name, outcome));
        summary
    }

    #[test]
    fn the_last_line_is_the_sum_and_skips_are_named() {
        let outcomes =
            [("tests", ended(3, 0, &["no neon"], None)), ("qemu", Outcome::Skipped("no qemu".to_owned()))];
        let summary = summary(false, &outcomes);
        assert!(summary.passed());
        let text = summary.text();
        assert_eq!(text, "\nskipped:\n  tests: no neon\n  qemu: no qemu\n\n3 passed, 0 failed, 2 skipped\n");
    }

    #[test]
    fn a_failing_step_without_tests_counts_as_one_failure() {
        let summary = summary(false, &[("lint", ended(0, 0, &[], Some("exit status: 101: cargo clippy")))]);
        assert!(!summary.passed());
        assert!(summary.text().ends_with("\n0 passed, 1 failed, 0 skipped\n"));
    }

    #[test]
    fn failing_tests_are_counted_once() {
        let summary = summary(false, &[("tests", ended(5, 2, &[], Some("exit status: 101: cargo test")))]);
        assert!(summary.text().ends_with("\n5 passed, 2 failed, 0 skipped\n"));
    }

    #[test]
    fn require_all_turns_skips_into_failures() {
        let summary = summary(true, &[("tests", ended(3, 0, &["no neon"], None))]);
        assert!(!summary.passed());
        assert!(summary.text().ends_with("\n3 passed, 1 failed, 0 skipped\n"));
    }
}
