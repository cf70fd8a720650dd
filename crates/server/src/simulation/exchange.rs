//! Bound of exchanges in which nothing moves.

use std::collections::BTreeMap;

use hashmill_doc::ChangeHash;
use hashmill_doc::sync::Message;
use hashmill_repo::DocumentId;

use super::violation::Violation;
use crate::ids::SocketId;

/// Maximum number of frames in a row that repeat what the same side said before, and the number for each frame that was in flight
/// meanwhile: each of those may be answered until the news has arrived.
const MAX_IDLE_FRAMES: usize = 10;
const IDLE_FRAMES_IN_FLIGHT: usize = 4;

/// The sync messages of each socket about each document.
#[derive(Default)]
pub(super) struct Exchanges {
    all: BTreeMap<(SocketId, DocumentId), Exchange>,
}

#[derive(Default)]
struct Exchange {
    /// Heads, requests and shared heads in the last message of the client, and of the server.
    last: [Option<[Vec<ChangeHash>; 3]>; 2],
    idle: usize,
    /// Maximum number of frames in flight since something moved.
    in_flight: usize,
}

impl Exchanges {
    /// The exchanges about a document start again.
    pub(super) fn forget(&mut self, document: &DocumentId) {
        self.all.retain(|(_, about), _| about != document);
    }

    /// Notes a message of one side, beside others in flight.
    pub(super) fn note(
        &mut self,
        socket: SocketId,
        document: &DocumentId,
        is_server: bool,
        message: &Message,
        in_flight: usize,
    ) -> Result<(), Violation> {
        let exchange = self.all.entry((socket, document.clone())).or_default();
        let shared = message.have.iter().flat_map(|have| &have.last_sync).copied().collect();
        let content = [message.heads.to_vec(), message.need.to_vec(), shared];
        let last = &mut exchange.last[usize::from(is_server)];
        if last.as_ref() == Some(&content) {
            exchange.idle += 1;
            exchange.in_flight = exchange.in_flight.max(in_flight);
        } else {
            (exchange.idle, exchange.in_flight) = (0, in_flight);
        }
        *last = Some(content);
        let most = MAX_IDLE_FRAMES + IDLE_FRAMES_IN_FLIGHT * exchange.in_flight;
        if exchange.idle > most {
            return Err(Violation::new("exchange", format!("{document}: {most} idle frames")));
        }
        Ok(())
    }
}
