//! Documents whose messages are collected, to be processed together at one time.

use std::collections::BTreeSet;
use std::time::Duration;

use hashmill_repo::DocumentId;

/// Documents that wait for the same time.
#[derive(Debug, Default)]
pub(in crate::core) struct Collector {
    /// The time. `None` if no document waits.
    end: Option<Duration>,
    documents: BTreeSet<DocumentId>,
}

impl Collector {
    /// Adds a document. The first one sets the time.
    pub(in crate::core) fn add(&mut self, document: DocumentId, end: Duration) {
        self.end.get_or_insert(end);
        self.documents.insert(document);
    }

    /// When the documents are due.
    pub(in crate::core) fn end(&self) -> Option<Duration> {
        self.end
    }

    /// Removes all documents if they are due.
    pub(in crate::core) fn take_due(&mut self, now: Duration) -> BTreeSet<DocumentId> {
        match self.end.take_if(|end| *end <= now) {
            Some(_) => std::mem::take(&mut self.documents),
            None => BTreeSet::new(),
        }
    }
}
