//! Delivery of changes one by one. The verdict for a change must be equal in every document that has its dependencies.

use std::collections::HashMap;

use hashmill_doc::{ApplyError, Change, ChangeHash, Document};

/// Verdicts for changes, from documents that had their dependencies.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    results: HashMap<ChangeHash, Option<String>>,
    /// A delivery reached a limit. Limits apply to a call, and the work of a call depends on the order.
    pub(crate) limited: bool,
}

impl Ledger {
    /// Was the change accepted? If not, the reason.
    pub(crate) fn note(&mut self, hash: ChangeHash, reason: Option<String>) {
        match self.results.get(&hash) {
            None => drop(self.results.insert(hash, reason)),
            Some(before) if before.is_some() == reason.is_some() => {}
            Some(before) => {
                panic!("acceptance depends on the order: {hash} gives {before:?}, then {reason:?}")
            }
        }
    }

    /// Delivers a change to a document.
    pub(crate) fn deliver(&mut self, doc: &mut Document, change: &Change) {
        let there = |doc: &Document, hash: &ChangeHash| doc.get_change_meta_by_hash(hash).is_some();
        loop {
            let ready = change.deps().iter().all(|dep| there(doc, dep));
            let before = doc.stats();
            let result = doc.apply_changes([change.clone()]);
            assert!(result.is_ok() || doc.stats() == before, "what is refused leaves something");
            match result {
                Ok(()) if ready => return self.note(change.hash(), None),
                // The change waits for dependencies.
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
                    // A change that waited for it is refused with it.
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
