//! Quarantine of documents whose changes are refused: they take no changes for a while, and are read as before.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::time::Duration;

use hashmill_repo::DocumentId;

use crate::core::Core;
use crate::core::defect::Defect;
use crate::document::Input;
use crate::fact::Fact;

/// Documents in quarantine, also stored ones that have left memory.
#[derive(Debug, Default)]
pub(in crate::core) struct Quarantines {
    all: BTreeMap<DocumentId, Quarantine>,
    by_end: BTreeSet<(Duration, DocumentId)>,
}

/// The quarantine of a document.
#[derive(Debug)]
struct Quarantine {
    end: Duration,
    reason: String,
}

impl Quarantines {
    pub(in crate::core) fn len(&self) -> usize {
        self.all.len()
    }

    pub(in crate::core) fn contains(&self, document: &DocumentId) -> bool {
        self.all.contains_key(document)
    }

    /// Reason and end of the quarantine of a document.
    pub(in crate::core) fn get(&self, document: &DocumentId) -> Option<(&str, Duration)> {
        self.all.get(document).map(|quarantine| (quarantine.reason.as_str(), quarantine.end))
    }

    /// Quarantines of documents after another one.
    pub(in crate::core) fn after(
        &self,
        document: Option<&DocumentId>,
    ) -> impl Iterator<Item = (&DocumentId, &str, Duration)> {
        let start = document.map_or(Bound::Unbounded, Bound::Excluded);
        let those = self.all.range::<DocumentId, _>((start, Bound::Unbounded));
        those.map(|(document, Quarantine { end, reason })| (document, reason.as_str(), *end))
    }

    /// When the next quarantine ends.
    pub(in crate::core) fn next_end(&self) -> Option<Duration> {
        self.by_end.first().map(|(end, _)| *end)
    }

    fn insert(&mut self, document: &DocumentId, end: Duration, reason: &str) {
        let quarantine = Quarantine { end, reason: reason.to_owned() };
        if let Some(before) = self.all.insert(document.clone(), quarantine) {
            self.by_end.remove(&(before.end, document.clone()));
        }
        self.by_end.insert((end, document.clone()));
    }

    pub(in crate::core) fn remove(&mut self, document: &DocumentId) {
        if let Some(quarantine) = self.all.remove(document) {
            self.by_end.remove(&(quarantine.end, document.clone()));
        }
    }

    fn pop_ended(&mut self, now: Duration) -> Option<DocumentId> {
        if self.next_end()? > now {
            return None;
        }
        let (_, document) = self.by_end.pop_first()?;
        self.all.remove(&document);
        Some(document)
    }
}

impl Core {
    /// Records that a document takes no more changes.
    pub(in crate::core) fn quarantine(&mut self, document: &DocumentId, reason: String) {
        self.quarantines.insert(document, self.now + self.config.quarantine_time, &reason);
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
        quarantines.insert(&first, at(5), "a");
        quarantines.insert(&second, at(6), "b");
        quarantines.insert(&first, at(9), "c");
        assert_eq!(quarantines.get(&first), Some(("c", at(9))));
        assert_eq!((quarantines.len(), quarantines.next_end()), (2, Some(at(6))));
        assert_eq!(quarantines.pop_ended(at(5)), None);
        assert_eq!(quarantines.pop_ended(at(8)), Some(second.clone()));
        assert!(quarantines.contains(&first) && !quarantines.contains(&second));
        assert_eq!(quarantines.pop_ended(at(9)), Some(first.clone()));
        quarantines.insert(&first, at(5), "a");
        quarantines.remove(&first);
        assert_eq!((quarantines.pop_ended(at(9)), quarantines.len()), (None, 0));
    }
}
