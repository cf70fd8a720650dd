//! Mutated files that Hashmill accepts, read by the official crate.

use hashmill_rivals::doc::mutation::search;

#[test]
fn official_crate_reads_accepted_files() {
    let counts = search(1, 12_000).unwrap_or_else(|finding| panic!("{finding}"));
    assert!(counts.accepted > 4_000 && counts.equal * 2 > counts.accepted, "{counts}");
}
