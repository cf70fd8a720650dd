//! Reports of skipped tests.

use std::io::Write as _;

/// Reports that `what` was not tested, and why. With `REQUIRE_ALL=1` in the environment that is a failure instead.
///
/// The line goes to the process's standard error and not through `eprintln!`, which the test harness swallows
/// when the test passes. `cargo xtask test` repeats all such lines at its end.
///
/// # Panics
/// When everything is required.
pub fn skip(what: &str, reason: &str) {
    let line = format!("SKIPPED: {what}: {reason}");
    assert!(std::env::var_os("REQUIRE_ALL").is_none_or(|all| all != "1"), "{line} (and REQUIRE_ALL=1)");
    // One write, so that lines of parallel tests do not mix. A closed stderr is no reason to fail a test.
    let _ = std::io::stderr().lock().write_all((line + "\n").as_bytes());
}
