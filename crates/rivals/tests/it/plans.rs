//! What to loop over: every kernel of this CPU by itself, and the mixture that it would choose.

use hashmill_hash::blake3::{Kernel, Plan};
use hashmill_testkit::skip;

pub(crate) const KEY: &[u8; 32] = b"one key for all differential tes";
pub(crate) const CONTEXT: &str = "hashmill 2026-01-01 differential tests";

pub(crate) fn plans() -> Vec<Plan> {
    Kernel::all().map(Plan::of).chain([Plan::host()]).collect()
}

#[test]
fn kernels_that_cannot_run_here_are_named() {
    for (name, _) in Kernel::unavailable() {
        skip(&format!("kernel {name} against the official crate"), "this CPU lacks its instructions");
    }
    assert!(!plans().is_empty());
}
