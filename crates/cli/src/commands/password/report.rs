//! Exit codes and JSON output shared by the password commands.

use crate::output::print;
use anyhow::Result;
use hashmill_engines::EngineShare;
use serde::Serialize;

/// Done, or the answer is yes.
pub(super) const YES: u8 = 0;
/// The answer is no.
pub(super) const NO: u8 = 1;
/// No answer. Differs from 1, so that a script does not take a full disk for a wrong password.
pub(super) const UNKNOWN: u8 = 2;

/// A result, with the share of each engine if a group of engines was requested.
#[derive(Serialize)]
pub(super) struct EngineUsage<T> {
    #[serde(flatten)]
    pub(super) result: T,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) engines: Vec<EngineShare>,
}

/// Prints one JSON object on a line.
pub(super) fn print_json(object: &impl Serialize) -> Result<()> {
    print(&(serde_json::to_string(object)? + "\n"))
}
