//! Work on a document that may take long, to run on any thread.

use std::collections::BTreeSet;

use hashmill_repo::DocumentId;

use super::open::{DocumentLimits, Input, OpenDocument, Output};
use crate::fact::Fact;
use crate::ids::SocketId;
use crate::storage::{ChunkKey, StoredChunk};

/// Work on one document. It owns the document until its output is passed back.
#[derive(Debug)]
pub struct DocumentJob(Job);

#[derive(Debug)]
enum Job {
    Open { id: DocumentId, chunks: Vec<StoredChunk>, limits: DocumentLimits },
    Process { document: Box<OpenDocument>, inputs: Vec<Input>, full: BTreeSet<SocketId> },
}

/// Result of a [`DocumentJob`], for [`crate::Event::WorkDone`].
#[derive(Debug)]
pub struct WorkOutput(pub(crate) WorkResult);

#[derive(Debug)]
pub(crate) enum WorkResult {
    Opened(Opened),
    Processed(Box<OpenDocument>, Box<Output>),
}

/// A document that was read from the storage.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) document: Box<OpenDocument>,
    /// The chunks whose changes are in the document, with their lengths. A snapshot covers them.
    pub(crate) read: Vec<(ChunkKey, usize)>,
    pub(crate) facts: Vec<Fact>,
}

impl DocumentJob {
    pub(crate) fn open(id: DocumentId, chunks: Vec<StoredChunk>, limits: DocumentLimits) -> DocumentJob {
        DocumentJob(Job::Open { id, chunks, limits })
    }

    pub(crate) fn process(
        document: Box<OpenDocument>,
        inputs: Vec<Input>,
        full: BTreeSet<SocketId>,
    ) -> DocumentJob {
        DocumentJob(Job::Process { document, inputs, full })
    }

    /// Does the work.
    pub fn run(self) -> WorkOutput {
        WorkOutput(match self.0 {
            Job::Open { id, chunks, limits } => WorkResult::Opened(read_all(id, chunks, limits)),
            Job::Process { mut document, inputs, full } => {
                let output = document.process(inputs, &full);
                WorkResult::Processed(document, Box::new(output))
            }
        })
    }
}

/// The chunks of a document that cannot be read, with reasons.
#[cfg(feature = "shell")]
pub(crate) fn unreadable_chunks(
    id: &DocumentId,
    chunks: Vec<StoredChunk>,
    limits: DocumentLimits,
) -> Vec<(ChunkKey, String)> {
    let opened = read_all(id.clone(), chunks, limits);
    let unreadable = |fact| match fact {
        Fact::ChunkUnreadable { key, reason } => Some((key, reason)),
        _ => None,
    };
    opened.facts.into_iter().filter_map(unreadable).collect()
}

/// Details of a stored document.
#[cfg(feature = "shell")]
pub(crate) fn stored_details(
    id: &DocumentId,
    chunks: Vec<StoredChunk>,
    limits: DocumentLimits,
    max_changes: usize,
) -> super::DocumentDetails {
    read_all(id.clone(), chunks, limits).document.details(max_changes)
}

fn read_all(id: DocumentId, mut chunks: Vec<StoredChunk>, limits: DocumentLimits) -> Opened {
    // Snapshots first: fewer changes wait for others.
    chunks.sort_by(|a, b| a.key.cmp(&b.key));
    let mut document = Box::new(OpenDocument::new(id, limits));
    let mut facts = Vec::new();
    let read = document.read_chunks(chunks, &mut facts);
    Opened { document, read, facts }
}
