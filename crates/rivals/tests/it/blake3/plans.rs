//! Plans for the tests: every kernel of this CPU alone, and the default plan.

use hashmill_hash::blake3::{Kernel, Plan};
use hashmill_testkit::skip;

pub(crate) const KEY: &[u8; 32] = b"one key for all differential tes";
pub(crate) const CONTEXT: &str = "hashmill 2026-01-01 differential tests";

pub(crate) fn plans() -> Vec<Plan> {
    Kernel::all().map(Plan::for_kernel).chain([Plan::host()]).collect()
}

#[test]
fn unavailable_kernels_are_listed_with_missing_features() {
    for (name, _) in Kernel::unavailable() {
        skip(&format!("kernel {name} against the official crate"), "this CPU lacks its instructions");
    }
    assert!(!plans().is_empty());
}
