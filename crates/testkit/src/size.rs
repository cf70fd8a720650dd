//! Two sizes of a test: small by default, full with `HASHMILL_TESTS=full` in the environment.
//!
//! A small size runs on every change, so it must still fail when the property is broken in a common case. The full size
//! searches for rare cases; `cargo xtask test slow` runs it.

use std::env;
use std::ffi::OsStr;
use std::io::Write as _;

const VARIABLE: &str = "HASHMILL_TESTS";

/// Does this run ask for the full size?
///
/// # Panics
/// When the variable has another value than `full`: a misspelt request must not pass as a small run.
pub fn is_full() -> bool {
    asks_for_full(env::var_os(VARIABLE).as_deref())
}

/// The value for the size of this run.
///
/// # Panics
/// As [`is_full`].
pub fn of<T>(default: T, full: T) -> T {
    if is_full() { full } else { default }
}

/// Reports that this run leaves out `what`, which has no small version. The test returns after this call.
///
/// The line goes to the process's standard output and not through `println!`, which the test harness swallows when the
/// test passes. `cargo xtask test` counts these lines and names the command that runs the tests.
pub fn skip(what: &str) {
    // One write, so that lines of parallel tests do not mix. The line begins with a break, because the harness may have
    // written the name of a test without one. A closed output is no reason to fail.
    let _ = std::io::stdout().lock().write_all(format!("\nSLOW: {what}\n").as_bytes());
}

fn asks_for_full(value: Option<&OsStr>) -> bool {
    let Some(value) = value else { return false };
    assert!(
        value == "full",
        "{VARIABLE} is {value:?}: set it to `full` for the full size, or unset it for the small one"
    );
    true
}

#[cfg(test)]
mod tests {
    use std::panic;

    use super::*;

    #[test]
    fn full_or_nothing_chooses_a_size() {
        assert!(!asks_for_full(None));
        assert!(asks_for_full(Some(OsStr::new("full"))));
        for wrong in ["", "1", "FULL", "full ", "small"] {
            let panic = panic::catch_unwind(|| asks_for_full(Some(OsStr::new(wrong)))).expect_err(wrong);
            let text = panic.downcast_ref::<String>().expect("a message");
            assert!(text.contains("HASHMILL_TESTS") && text.contains("`full`"), "{text}");
        }
    }
}
