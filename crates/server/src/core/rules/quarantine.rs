//! Quarantine of documents whose changes are refused: they take no changes for a while, and are read as before.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hashmill_repo::DocumentId;

use crate::core::Core;
use crate::core::defect::Defect;
use crate::document::Input;
use crate::fact::Fact;

/// Documents in quarantine, also stored ones that have left memory.
#[derive(Debug, Default)]
pub(in crate::core) struct Quarantines {
    ends: BTreeMap<DocumentId, Duration>,
    by_end: BTreeSet<(Duration, DocumentId)>,
}

impl Quarantines {
    pub(in crate::core) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(in crate::core) fn contains(&self, document: &DocumentId) -> bool {
        self.ends.contains_key(document)
    }

    /// When the next quarantine ends.
    pub(in crate::core) fn next_end(&self) -> Option<Duration> {
        self.by_end.first().map(|(end, _)| *end)
    }

    fn insert(&mut self, document: &DocumentId, end: Duration) {
        if let Some(before) = self.ends.insert(document.clone(), end) {
            self.by_end.remove(&(before, document.clone()));
        }
        self.by_end.insert((end, document.clone()));
    }

    pub(in crate::core) fn remove(&mut self, document: &DocumentId) {
        if let Some(end) = self.ends.remove(document) {
            self.by_end.remove(&(end, document.clone()));
        }
    }

    fn pop_ended(&mut self, now: Duration) -> Option<DocumentId> {
        if self.next_end()? > now {
            return None;
        }
        let (_, document) = self.by_end.pop_first()?;
        self.ends.remove(&document);
        Some(document)
    }
}

impl Core {
    /// Records that a document takes no more changes.
    pub(in crate::core) fn quarantine(&mut self, document: &DocumentId, reason: String) {
        self.quarantines.insert(document, self.now + self.config.quarantine_time);
        self.counts.quarantines += 1;
        self.report(Fact::Quarantined { document: document.clone(), reason });
    }

    /// Lets documents take changes again. Clients send what was refused, so a document may come back at once.
    pub(in crate::core) fn release_quarantines(&mut self) {
        if self.has(Defect::NoRelease) {
            return;
        }
        while let Some(document) = self.quarantines.pop_ended(self.now) {
            // One that is loaded later takes changes.
            let Some(entry) = self.documents.get_mut(&document) else { continue };
            entry.push(Input::Release);
            self.schedule(&document);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarantine_that_begins_again_ends_once() {
        let [first, second] = [1, 2].map(|number| DocumentId::from_random_bytes([number; 16]));
        let at = Duration::from_secs;
        let mut quarantines = Quarantines::default();
        quarantines.insert(&first, at(5));
        quarantines.insert(&second, at(6));
        quarantines.insert(&first, at(9));
        assert_eq!((quarantines.len(), quarantines.next_end()), (2, Some(at(6))));
        assert_eq!(quarantines.pop_ended(at(5)), None);
        assert_eq!(quarantines.pop_ended(at(8)), Some(second.clone()));
        assert!(quarantines.contains(&first) && !quarantines.contains(&second));
        assert_eq!(quarantines.pop_ended(at(9)), Some(first.clone()));
        quarantines.insert(&first, at(5));
        quarantines.remove(&first);
        assert_eq!((quarantines.pop_ended(at(9)), quarantines.len()), (None, 0));
    }
}
