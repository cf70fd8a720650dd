//! Stories told to two engines at once.

use hashmill_rivals::doc::differential::search;
use hashmill_rivals::doc::official::Official;

/// Calls to compare: seconds of work. `cargo rivals doc --differential` compares as many as it is told to.
const CALLS: usize = 20_000;

/// What the oracle says depends on nothing but the story, or a difference would mean nothing.
#[test]
fn the_oracle_agrees_with_itself() {
    let total =
        search::<Official, Official>(1, 60, CALLS, |_| {}).unwrap_or_else(|finding| panic!("{finding}"));
    assert!(total.changes > 100, "{total:?}");
    assert!(total.oracle_panics * 20 < total.stories, "{total:?}");
}
