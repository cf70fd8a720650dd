//! Random scripts on two engines.

use hashmill_rivals::doc::differential::{official_and_ours, search};
use hashmill_rivals::doc::official::Official;

/// Calls to compare: seconds of work. `cargo rivals differ` compares as many as it is told to.
const CALLS: usize = 20_000;

/// The official crate must be deterministic, or a difference would mean nothing.
#[test]
fn the_oracle_agrees_with_itself() {
    let total =
        search::<Official, Official>(1, 60, CALLS, |_| {}).unwrap_or_else(|finding| panic!("{finding}"));
    assert!(total.changes > 100, "{total}");
    assert!(total.oracle_panics * 20 < total.scripts, "{total}");
}

#[test]
fn answers_equal_those_of_the_official_crate() {
    // Short scripts go wrong where something is new, long ones where much has piled up.
    for (seed, length) in [(1_000, 20), (2_000, 80), (3_000, 300)] {
        let total =
            official_and_ours(seed, length, CALLS, |_| {}).unwrap_or_else(|finding| panic!("{finding}"));
        // The oracle panics on increments of counters in texts and lists: the longer a script, the likelier.
        assert!(total.oracle_panics * 2 < total.scripts, "{total}");
    }
}
