//! Delivery of changes one by one. The verdict for a change must be equal in every document that has its dependencies.

use std::collections::HashMap;

use hashmill_doc::{ApplyError, Change, ChangeHash, Document};

/// Verdicts for changes, from documents that had their dependencies.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    results: HashMap<ChangeHash, Option<String>>,
    /// A delivery ran into a limit. Limits are those of a call, and what one call is asked for depends on the order.
    pub(crate) limited: bool,
}

impl Ledger {
    /// Whether the change was taken; if not, why.
    pub(crate) fn note(&mut self, hash: ChangeHash, why: Option<String>) {
        match self.results.get(&hash) {
            None => drop(self.results.insert(hash, why)),
            Some(before) if before.is_some() == why.is_some() => {}
            Some(before) => panic!("acceptance depends on the order: {hash} gives {before:?}, then {why:?}"),
        }
    }

    /// Hands a change to a document.
    pub(crate) fn deliver(&mut self, doc: &mut Document, change: &Change) {
        let there = |doc: &Document, hash: &ChangeHash| doc.get_change_meta_by_hash(hash).is_some();
        loop {
            let ready = change.deps().iter().all(|dep| there(doc, dep));
            let before = doc.stats();
            let result = doc.apply_changes([change.clone()]);
            assert!(result.is_ok() || doc.stats() == before, "what is refused leaves something");
            match result {
                Ok(()) if ready => return self.note(change.hash(), None),
                // It waits.
                Ok(()) => return,
                Err(ApplyError::Fault { hash, fault }) => {
                    assert!(
                        ready || hash != change.hash(),
                        "judged before its dependencies are there: {fault}"
                    );
                    self.note(hash, Some(fault.to_string()));
                    if hash == change.hash() {
                        return;
                    }
                    // Another one had waited for it, and is gone now.
                }
                // Two writers with one actor: the first change is accepted.
                Err(ApplyError::DuplicateSeq { .. }) => return,
                Err(ApplyError::Limit(_)) => {
                    self.limited = true;
                    return;
                }
                Err(error) => panic!("an unexpected error: {error}"),
            }
        }
    }
}
