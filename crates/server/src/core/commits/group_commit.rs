//! Group commit: changes of all documents that came during an append go into the next one.

use std::collections::BTreeMap;
use std::time::Duration;

use hashmill_doc::ChangeHash;
use hashmill_repo::DocumentId;

use crate::ids::{BatchId, SocketId};
use crate::storage::StoredChunk;

/// Delay before the first retry of a failed append, and the maximum after doubling.
const FIRST_RETRY: Duration = Duration::from_millis(50);
const LAST_RETRY: Duration = Duration::from_secs(2);

/// A frame that reveals changes of a batch, and waits until it is stored.
#[derive(Debug)]
pub(in crate::core) struct PendingFrame {
    pub(in crate::core) socket: SocketId,
    pub(in crate::core) document: DocumentId,
    /// The number of the job that encoded it.
    pub(in crate::core) stamp: u64,
    pub(in crate::core) frame: Vec<u8>,
}

/// Changes to store together, and the frames that wait for it.
#[derive(Debug, Default)]
pub(in crate::core) struct Batch {
    pub(in crate::core) chunks: Vec<StoredChunk>,
    /// The documents of the chunks, with the heads that the chunks lead to.
    pub(in crate::core) documents: BTreeMap<DocumentId, Vec<ChangeHash>>,
    pub(in crate::core) pending_frames: Vec<PendingFrame>,
    /// Owners of new documents.
    owners: BTreeMap<DocumentId, String>,
    bytes: usize,
}

/// The batch that a document's frames wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::core) enum Hold {
    /// Everything is stored.
    Nothing,
    InFlight,
    Open,
}

/// The batches: one that is being appended, and one that collects.
#[derive(Debug, Default)]
pub(in crate::core) struct GroupCommit {
    open: Batch,
    in_flight: Option<Batch>,
    /// The current attempt. `None` between attempts.
    attempt: Option<Attempt>,
    /// When the first attempt at the current chunks started.
    stuck_since: Option<Duration>,
    retry: Option<Retry>,
    /// When the last attempt started.
    last_start: Option<Duration>,
    /// Chunks of batches that failed for long. The documents have returned to their states before them.
    given_up: Option<GivenUp>,
}

/// Chunks to store although their documents have returned to earlier states, and owners of new documents among these.
#[derive(Debug)]
struct GivenUp {
    chunks: Vec<StoredChunk>,
    owners: BTreeMap<DocumentId, String>,
}

#[derive(Debug)]
struct Attempt {
    id: BatchId,
    /// The chunks of this attempt are no longer all that is to be stored.
    is_stale: bool,
}

/// The next attempt after a failure.
#[derive(Debug)]
struct Retry {
    at: Duration,
    delay: Duration,
}

/// Result of a successful append.
pub(in crate::core) enum Stored {
    Batch(Batch),
    /// Chunks that were given up are stored after all.
    GivenUp(Vec<StoredChunk>),
}

impl GroupCommit {
    /// Adds changes of a document that lead to `heads`. The first of a document name its owner.
    pub(in crate::core) fn stage(
        &mut self,
        chunk: StoredChunk,
        heads: Vec<ChangeHash>,
        owner: Option<String>,
    ) {
        if let Some(owner) = owner {
            self.open.owners.insert(chunk.key.document.clone(), owner);
        }
        self.open.bytes += chunk.bytes.len();
        self.open.documents.insert(chunk.key.document.clone(), heads);
        self.open.chunks.push(chunk);
    }

    /// The batch that frames about a document wait for.
    pub(in crate::core) fn hold_of(&self, document: &DocumentId) -> Hold {
        let is_in = |batch: &Batch| batch.documents.contains_key(document);
        if is_in(&self.open) {
            Hold::Open
        } else if self.in_flight.as_ref().is_some_and(is_in) {
            Hold::InFlight
        } else {
            Hold::Nothing
        }
    }

    /// Keeps a frame until its batch is stored.
    pub(in crate::core) fn hold(&mut self, hold: Hold, frame: PendingFrame) {
        let batch = match hold {
            Hold::InFlight => self.in_flight.as_mut().unwrap_or(&mut self.open),
            Hold::Open | Hold::Nothing => &mut self.open,
        };
        batch.pending_frames.push(frame);
    }

    /// Is an append under way, or a retry awaited?
    pub(in crate::core) fn is_busy(&self) -> bool {
        self.in_flight.is_some()
    }

    /// Are all changes stored?
    pub(in crate::core) fn is_idle(&self) -> bool {
        self.in_flight.is_none() && self.open.chunks.is_empty() && self.given_up.is_none()
    }

    pub(in crate::core) fn is_degraded(&self) -> bool {
        self.given_up.is_some()
    }

    /// Bytes of changes that are not stored.
    pub(in crate::core) fn staged_bytes(&self) -> usize {
        let given_up: usize =
            self.given_up.iter().flat_map(|given_up| &given_up.chunks).map(|chunk| chunk.bytes.len()).sum();
        self.open.bytes + self.in_flight.as_ref().map_or(0, |batch| batch.bytes) + given_up
    }

    /// The chunks of the next attempt and the owners of new documents, if one can start now.
    pub(in crate::core) fn start(
        &mut self,
        now: Duration,
        id: BatchId,
    ) -> Option<(Vec<StoredChunk>, BTreeMap<DocumentId, String>)> {
        let is_waiting = self.retry.as_ref().is_some_and(|retry| retry.at > now);
        if self.attempt.is_some() || is_waiting {
            return None;
        }
        let attempt = if let Some(GivenUp { chunks, owners }) = &self.given_up {
            (chunks.clone(), owners.clone())
        } else {
            if self.in_flight.is_none() && !self.open.chunks.is_empty() {
                self.in_flight = Some(std::mem::take(&mut self.open));
            }
            let batch = self.in_flight.as_ref()?;
            (batch.chunks.clone(), batch.owners.clone())
        };
        self.attempt = Some(Attempt { id, is_stale: false });
        self.last_start = Some(now);
        self.stuck_since.get_or_insert(now);
        Some(attempt)
    }

    /// Records a success. `None` if more is to be stored, or the attempt is not the current one.
    pub(in crate::core) fn succeed(&mut self, id: BatchId) -> Option<Stored> {
        let attempt = self.attempt.take_if(|attempt| attempt.id == id)?;
        self.retry = None;
        if attempt.is_stale {
            return None;
        }
        self.stuck_since = None;
        match self.given_up.take() {
            Some(given_up) => Some(Stored::GivenUp(given_up.chunks)),
            None => self.in_flight.take().map(Stored::Batch),
        }
    }

    /// Records a failure, after which the chunks may be stored or not. False if the attempt is not the current one.
    pub(in crate::core) fn fail(&mut self, id: BatchId, now: Duration) -> bool {
        if self.attempt.take_if(|attempt| attempt.id == id).is_none() {
            return false;
        }
        let delay = self.retry.as_ref().map_or(FIRST_RETRY, |retry| (retry.delay * 2).min(LAST_RETRY));
        self.retry = Some(Retry { at: now + delay, delay });
        true
    }

    /// Gives up all batches. Their chunks are still to be stored; the returned frames are not to be sent.
    pub(in crate::core) fn give_up(&mut self) -> Vec<PendingFrame> {
        let (first, second) = (self.in_flight.take().unwrap_or_default(), std::mem::take(&mut self.open));
        if let Some(attempt) = &mut self.attempt {
            attempt.is_stale = true;
        }
        let mut owners = second.owners;
        owners.extend(first.owners);
        self.given_up = Some(GivenUp { chunks: [first.chunks, second.chunks].concat(), owners });
        first.pending_frames.into_iter().chain(second.pending_frames).collect()
    }

    /// Since when the storage has not taken the current chunks.
    pub(in crate::core) fn stuck_since(&self) -> Option<Duration> {
        self.stuck_since
    }

    /// Did an append start within this time?
    pub(in crate::core) fn has_started_within(&self, now: Duration, time: Duration) -> bool {
        self.last_start.is_some_and(|start| now < start + time)
    }

    /// When the next attempt is due.
    pub(in crate::core) fn retry_at(&self) -> Option<Duration> {
        self.retry.as_ref().filter(|_| self.attempt.is_none()).map(|retry| retry.at)
    }
}
