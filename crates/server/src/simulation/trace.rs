//! Record of a world: its latest frames and faults as text, and a hash of all events and actions.

use std::collections::VecDeque;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::event::{Action, Event};
use crate::storage::StoredChunk;

/// Number of lines that are kept to explain a violation.
const MAX_LINES: usize = 80;

#[derive(Default)]
pub(super) struct Trace {
    lines: VecDeque<String>,
    hash: Sha256,
}

impl Trace {
    pub(super) fn note(&mut self, now: Duration, line: impl FnOnce() -> String) {
        if self.lines.len() == MAX_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(format!("{now:?} {}", line()));
    }

    /// The latest frames and faults.
    pub(super) fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// The hash of all events and actions until now.
    pub(super) fn hash(&self) -> [u8; 32] {
        self.hash.clone().finalize().into()
    }

    pub(super) fn add_event(&mut self, now: Duration, event: &Event) {
        self.add(now.as_nanos());
        match event {
            Event::FrameReceived(socket, frame) => self.add_bytes("frame received", socket, frame),
            Event::Loaded(request, Ok(stored)) => {
                self.add(("loaded", request, stored.is_deleted));
                self.add_chunks(&stored.chunks);
            }
            // The document says the same in the actions that follow.
            Event::WorkDone(work, _) => self.add(("work done", work)),
            event => self.add(event),
        }
    }

    pub(super) fn add_action(&mut self, action: &Action) {
        match action {
            Action::Send(socket, frame) => self.add_bytes("send", socket, frame),
            Action::Append { batch, chunks, owners } => {
                self.add(("append", batch, owners));
                self.add_chunks(chunks);
            }
            Action::PutSnapshot { request, chunk } => {
                self.add(("put snapshot", request));
                self.add_chunks(std::slice::from_ref(chunk));
            }
            Action::RunWork(work, _) => self.add(("run work", work)),
            action => self.add(action),
        }
    }

    fn add(&mut self, value: impl std::fmt::Debug) {
        self.hash.update(format!("{value:?};"));
    }

    /// As `add`, without text of the bytes, which are most of the record.
    fn add_bytes(&mut self, kind: &str, id: impl std::fmt::Debug, bytes: &[u8]) {
        self.add((kind, id, bytes.len()));
        self.hash.update(bytes);
    }

    fn add_chunks(&mut self, chunks: &[StoredChunk]) {
        chunks.iter().for_each(|chunk| self.add_bytes("chunk", &chunk.key, &chunk.bytes));
    }
}
