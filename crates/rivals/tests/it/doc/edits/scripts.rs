//! Random scripts on two engines.

use hashmill_rivals::doc::differential::{official_and_hashmill, search};
use hashmill_rivals::doc::official::Official;

/// Calls to compare: a few seconds of work. `cargo rivals differ` takes the number as an argument.
const CALLS: usize = 20_000;

/// The official crate must be deterministic; otherwise a difference would prove nothing.
#[test]
fn the_oracle_agrees_with_itself() {
    let total =
        search::<Official, Official>(1, 60, CALLS, |_| {}).unwrap_or_else(|finding| panic!("{finding}"));
    assert!(total.changes > 100, "{total}");
    assert!(total.oracle_panics * 20 < total.scripts, "{total}");
}

#[test]
fn results_equal_those_of_the_official_crate() {
    // Short scripts find errors of new documents, long ones those of large histories.
    for (seed, length) in [(1_000, 20), (2_000, 80), (3_000, 300)] {
        let total =
            official_and_hashmill(seed, length, CALLS, |_| {}).unwrap_or_else(|finding| panic!("{finding}"));
        // The oracle panics on increments of counters in texts and lists: the longer a script, the more often.
        assert!(total.oracle_panics * 2 < total.scripts, "{total}");
    }
}
