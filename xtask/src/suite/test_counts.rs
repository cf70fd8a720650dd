//! Results of a step, read from its output: counts of tests, skipped tests, and the lines that explain a failure.

use std::time::Duration;

/// Counts from the output of one step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TestCounts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    /// Reasons of skips in order, each once.
    pub(crate) skipped: Vec<String>,
    /// Tests that run at full size only, as their output tells.
    pub(crate) slow: usize,
    /// The time of each test that ended, where it is known.
    pub(crate) times: Vec<(String, Duration)>,
}

impl TestCounts {
    /// Reads one line of output.
    pub(crate) fn read(&mut self, line: &str) {
        let line = line.trim_end();
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.passed += count(counts, "passed");
            self.failed += count(counts, "failed");
        } else if line.starts_with("SLOW: ") {
            self.slow += 1;
        } else if let Some(reason) = skipped(line) {
            if !self.skipped.iter().any(|known| known == reason) {
                self.skipped.push(reason.to_owned());
            }
        } else if let Some(name) = line.strip_prefix("test ").and_then(ignored) {
            self.skipped.push(format!("{name} is marked `ignore`"));
        }
    }
}

/// The reason in `SKIPPED: reason`. With a single thread, the test's name stands before it on the same line.
fn skipped(line: &str) -> Option<&str> {
    let message = if line.starts_with("test ") { line.split_once(" ... ")?.1 } else { line };
    message.strip_prefix("SKIPPED: ")
}

/// The number before a result, in a line such as `ok. 3 passed; 0 failed; 0 ignored`.
pub(super) fn count(line: &str, result: &str) -> usize {
    let mut words = line.split_whitespace().map(|word| word.trim_end_matches(';'));
    let mut previous = words.next();
    for word in words {
        if word == result {
            return previous.and_then(|number| number.parse().ok()).unwrap_or(0);
        }
        previous = Some(word);
    }
    0
}

/// The name in `name ... ignored` and `name ... ignored, reason`.
fn ignored(rest: &str) -> Option<&str> {
    let (name, outcome) = rest.split_once(" ... ")?;
    outcome.starts_with("ignored").then_some(name)
}

/// The starts of lines that only report progress.
const NOISE: [&str; 8] = [
    "Compiling ",
    "Checking ",
    "Documenting ",
    "Finished ",
    "Running ",
    "Doc-tests ",
    "running ",
    "test result: ok",
];

/// The lines that explain a failure: everything but the tests that passed and their output.
pub(crate) fn explaining_lines(output: &str) -> impl Iterator<Item = &str> {
    let mut among_successes = false;
    output.lines().filter(move |line| {
        match *line {
            "successes:" => among_successes = true,
            "failures:" => among_successes = false,
            line if line.starts_with("test result: ") => among_successes = false,
            _ => {}
        }
        let passed = line.starts_with("test ") && line.ends_with(" ... ok");
        let noise = NOISE.iter().any(|start| line.trim_start().starts_with(start));
        !among_successes && !passed && !line.is_empty() && !noise
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "
running 3 tests
test a ... ok
test b ... FAILED
test c ... ignored, too slow

successes:

---- a stdout ----
SKIPPED: no vampire instructions

successes:
    a

failures:

---- b stdout ----
SKIPPED: no vampire instructions
b panicked

failures:
    b

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
test result: ok. 41 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    #[test]
    fn results_of_all_binaries_add_up() {
        let mut test_counts = TestCounts::default();
        OUTPUT.lines().for_each(|line| test_counts.read(line));
        assert_eq!((test_counts.passed, test_counts.failed), (42, 1));
        assert_eq!(test_counts.skipped, ["c is marked `ignore`", "no vampire instructions"]);
    }

    #[test]
    fn skips_are_read_only_at_the_start_or_after_the_name_of_a_test() {
        let mut test_counts = TestCounts::default();
        test_counts.read("test a::b ... SKIPPED: no vampire instructions");
        test_counts.read("  SKIPPED: a table that a test prints");
        test_counts.read("it says SKIPPED: in the middle");
        test_counts.read("SLOW: digests of 2 GiB");
        assert_eq!(test_counts.skipped, ["no vampire instructions"]);
        assert_eq!(test_counts.slow, 1);
    }

    #[test]
    fn a_failure_is_shown_without_the_successes() {
        let shown: Vec<_> = explaining_lines(OUTPUT).collect();
        assert!(shown.contains(&"b panicked") && shown.contains(&"test b ... FAILED"));
        assert!(!shown.contains(&"test a ... ok") && !shown.contains(&"---- a stdout ----"));
    }
}
