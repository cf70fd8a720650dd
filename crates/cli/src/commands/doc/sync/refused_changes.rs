//! Changes of the server that were refused: each is told when it comes, and listed in the next report.

use crate::output::{error_chain, print_error};
use hashmill_doc::{ApplyError, ChangeHash};
use serde::Serialize;
use std::fmt::Display;
use std::mem;

/// Maximum number of refused changes that are named between two reports. The others are counted.
const MAX_NAMED: usize = 64;

/// Refused changes since the last report. The field names are those of the JSON.
#[derive(Default, Serialize)]
pub(super) struct RefusedChanges {
    #[serde(rename = "refused")]
    named: Vec<RefusedChange>,
    /// Number of all, named or not.
    #[serde(rename = "refused_total")]
    total: u64,
    /// Number of those that were not told yet.
    #[serde(skip)]
    untold: u64,
}

#[derive(Serialize)]
struct RefusedChange {
    hash: String,
    reason: String,
}

impl RefusedChanges {
    /// Adds a change and tells it at once: whatever ends the program later, the reason is not lost.
    pub(super) fn add(&mut self, server: &dyn Display, hash: ChangeHash, reason: ApplyError) {
        if self.named.len() >= MAX_NAMED {
            return self.add_unnamed(1);
        }
        self.total += 1;
        let reason = error_chain(&reason.into());
        print_error(&format!("{server}: its change {hash} was refused: {reason}"));
        self.named.push(RefusedChange { hash: hash.to_string(), reason });
    }

    /// Adds changes of which only the number is known.
    pub(super) fn add_unnamed(&mut self, count: u64) {
        self.total += count;
        self.untold += count;
    }

    /// Tells the number of changes that were not named, if there are any.
    pub(super) fn print_unnamed(&mut self, server: &dyn Display) {
        match mem::take(&mut self.untold) {
            0 => {}
            1 => print_error(&format!("{server}: 1 more change was refused")),
            untold => print_error(&format!("{server}: {untold} more changes were refused")),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.total == 0
    }
}
