//! Tests of checksum lists: checks, audits, updates, stored digests, and other programs beside ours.

mod audit_update;
pub(crate) mod b3sum;
mod check;
mod expect;
mod foreign_lists;
mod oracles;
mod personalities;
#[cfg(target_os = "linux")]
mod verdicts;
#[cfg(target_os = "linux")]
mod xattr;
