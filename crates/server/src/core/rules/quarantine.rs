//! Quarantine of documents whose changes are refused: they take no changes for a while, and are read as before.

use hashmill_repo::DocumentId;

use crate::core::Core;
use crate::core::defect::Defect;
use crate::core::documents::pop_due;
use crate::document::Input;
use crate::fact::Fact;

impl Core {
    /// Records that a document takes no more changes.
    pub(in crate::core) fn quarantine(&mut self, document: &DocumentId, reason: String) {
        let until = self.now + self.config.quarantine_time;
        let Some(entry) = self.documents.get_mut(document) else { return };
        entry.is_quarantined = true;
        self.quarantines.insert((until, document.clone()));
        self.counts.quarantines += 1;
        self.report(Fact::Quarantined { document: document.clone(), reason });
    }

    /// Lets documents take changes again. Clients send what was refused, so a document may come back at once.
    pub(in crate::core) fn release_quarantines(&mut self) {
        if self.has(Defect::NoRelease) {
            return;
        }
        while let Some((_, document)) = pop_due(&mut self.quarantines, self.now) {
            // A document that has left memory since is in no quarantine.
            let entry = self.documents.get_mut(&document).filter(|entry| entry.is_quarantined);
            let Some(entry) = entry else { continue };
            entry.is_quarantined = false;
            entry.push(Input::Release);
            self.schedule(&document);
        }
    }
}
