//! State of a sync session with one peer.

use hashbrown::HashSet;

use super::message::{Have, Message, MessageFlags, hashes, put_hashes};
use crate::codec::bytes::reader::Reader;
use crate::types::ChangeHash;
use crate::types::error::Rule;
use crate::types::small_list::SmallList;

/// First byte of an encoded state.
const KIND: u8 = 0x43;
/// Maximum number of a peer's refused changes to remember, and likewise of their missing dependencies, of changes given up, and of
/// those that waited.
pub(super) const MOST_REFUSED: usize = 1 << 12;

/// What this side knows of a peer: shared changes, the peer's last message, and the changes sent. One for each peer and
/// document.
///
/// The result of [`Self::encode`] is the part that outlives a connection. If a message may have been lost, continue
/// with a decoded or a new state: while an answer is awaited, nothing else is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Shared heads.
    pub(super) shared_heads: SmallList<ChangeHash>,
    pub(super) last_sent_heads: SmallList<ChangeHash>,
    /// The peer's last message.
    pub(super) last_received: Option<PeerMessage>,
    pub(super) sent: Sent,
    /// Is an answer awaited?
    pub(super) in_flight: bool,
    /// Were our heads sent to the peer?
    pub(super) have_responded: bool,
    pub(super) can: Option<PeerCapabilities>,
    pub(super) read_only: bool,
    pub(super) peer_read_only: bool,
    /// Must the peer be told to forget what it has sent?
    pub(super) needs_reset: bool,
    /// Did the last message hide our heads, so that an older peer forgets what it has sent?
    pub(super) hid_heads: bool,
    /// Did the peer ignore the whole document, so that it gets individual changes?
    pub(super) by_change: bool,
    /// How often the changes of a peer's whole document were requested because it could not be read.
    pub(super) change_requests: u8,
    /// Changes of the peer that broke a rule or a limit, ascending. They are not requested again on this connection.
    pub(super) refused: Vec<ChangeHash>,
    /// Missing dependencies of refused changes, ascending.
    pub(super) refused_deps: Vec<ChangeHash>,
    /// Did a message inform the peer that this document lacks shared changes?
    pub(super) has_sent_reset: bool,
    /// Did the last message request changes by hash?
    pub(super) has_requested: bool,
    /// Number of consecutive messages without progress after requests by hash.
    pub(super) unanswered: u8,
    /// Requested changes that were not received, ascending. They are not requested again on this connection.
    pub(super) given_up: Vec<ChangeHash>,
    /// Changes of the peer that waited for others after an earlier message and are not here yet, ascending. Another session may
    /// have dropped them, because it had refused what they wait for.
    pub(super) waited: Vec<ChangeHash>,
}

/// The parts of a peer's last message that describe the peer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PeerMessage {
    pub(super) heads: SmallList<ChangeHash>,
    pub(super) need: SmallList<ChangeHash>,
    pub(super) have: SmallList<Have>,
}

/// Capabilities of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PeerCapabilities {
    pub(super) reset: bool,
}

/// Changes that were sent to a peer and not acknowledged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sent {
    /// These and all their ancestors, since the whole document was sent.
    pub(super) upto: SmallList<ChangeHash>,
    /// Individually sent changes. Most peers never get any.
    hashes: Option<HashSet<ChangeHash>>,
    /// Was the whole document sent and not acknowledged completely since?
    pub(super) whole: bool,
}

impl Sent {
    pub(super) fn is_empty(&self) -> bool {
        self.upto.is_empty() && self.hashes.as_ref().is_none_or(HashSet::is_empty)
    }

    /// Was a change sent individually?
    pub(super) fn contains(&self, hash: &ChangeHash) -> bool {
        self.hashes.as_ref().is_some_and(|hashes| hashes.contains(hash))
    }

    /// Individually sent changes, ascending.
    pub(super) fn each(&self) -> Vec<ChangeHash> {
        let mut hashes: Vec<ChangeHash> = self.hashes.iter().flatten().copied().collect();
        hashes.sort_unstable();
        hashes
    }

    /// Adds individually sent changes.
    pub(super) fn extend(&mut self, hashes: impl ExactSizeIterator<Item = ChangeHash>) {
        if hashes.len() > 0 {
            self.hashes.get_or_insert_default().extend(hashes);
        }
    }

    /// Removes those for which `keep` is false.
    pub(super) fn retain(&mut self, keep: impl FnMut(&ChangeHash) -> bool) {
        if let Some(hashes) = &mut self.hashes {
            hashes.retain(keep);
            hashes.shrink_to_fit();
        }
    }
}

impl State {
    /// State for an unknown peer.
    pub fn new() -> Self {
        Self::default()
    }

    /// As [`Self::new`], for a peer whose changes are ignored.
    pub fn new_read_only() -> Self {
        Self { read_only: true, ..Self::default() }
    }

    /// Encodes the part that outlives a connection: the shared heads.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![KIND];
        put_hashes(&mut out, &self.shared_heads);
        out
    }

    /// Decodes the bytes of [`Self::encode`].
    pub fn decode(bytes: &[u8]) -> Result<Self, ReadStateError> {
        let mut reader = Reader::new(bytes);
        let fault = |offset, rule| ReadStateError::Format { offset, rule };
        let [kind] = reader.array().map_err(|rule| fault(0, rule))?;
        if kind != KIND {
            return Err(ReadStateError::Type(kind));
        }
        let shared_heads = hashes(&mut reader).map_err(|rule| fault(reader.offset(), rule))?;
        Ok(Self { shared_heads, ..Self::default() })
    }

    /// Sets whether changes of the peer are ignored from now on. When they are accepted again, everything is requested
    /// again.
    pub fn set_read_only(&mut self, read_only: bool) {
        if self.read_only && !read_only {
            *self = Self { can: self.can, needs_reset: true, ..Self::default() };
        } else if read_only && !self.read_only {
            // The peer must be informed.
            self.read_only = true;
            self.in_flight = false;
            self.have_responded = false;
        }
    }

    /// Are changes of the peer ignored?
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Did the peer announce that it accepts no changes?
    pub fn is_peer_read_only(&self) -> bool {
        self.peer_read_only
    }

    /// Shared heads, as far as this side knows.
    pub fn shared_heads(&self) -> &[ChangeHash] {
        &self.shared_heads
    }

    /// The heads last received from the peer.
    pub fn their_heads(&self) -> Option<&[ChangeHash]> {
        self.last_received.as_ref().map(|peer| &peer.heads[..])
    }

    /// The heads last sent to the peer.
    pub fn last_sent_heads(&self) -> &[ChangeHash] {
        &self.last_sent_heads
    }

    /// Is an answer awaited?
    pub fn in_flight(&self) -> bool {
        self.in_flight
    }

    /// Makes the next message contain our heads, although the peer named them in its last message and needs no answer by the protocol.
    pub fn resend_heads(&mut self) {
        self.last_sent_heads.clear();
    }

    /// Starts the exchange again on the same connection, after a message of either side was refused, dropped or lost.
    ///
    /// What this side has sent counts as unsent, and the next message tells the peer to do the same. Otherwise both could
    /// wait for each other, or ask each other without end: each believes that the other has the lost changes. Shared heads
    /// are kept.
    pub fn restart(&mut self) {
        // A peer that received no message has sent no changes.
        self.needs_reset |= self.have_responded || self.can.is_some();
        self.sent = Sent::default();
        self.in_flight = false;
        self.have_responded = false;
        self.has_sent_reset = false;
        self.has_requested = false;
        self.waited.clear();
    }

    /// As [`Self::restart`], for a state that takes the place of `earlier` on the same connection, with the same document or
    /// another copy of it. The peer may have sent changes that this copy lacks, and believes that they arrived.
    pub fn restart_after(&mut self, earlier: &State) {
        self.can = self.can.or(earlier.can);
        self.peer_read_only = earlier.peer_read_only;
        // A peer does not send its heads again while they are the same. Its summary and requests are from before.
        if let Some(peer) = &earlier.last_received {
            self.last_received = Some(PeerMessage { heads: peer.heads.clone(), ..PeerMessage::default() });
        }
        self.restart();
        // A new state alone does not know that the peer received a message.
        self.needs_reset |= earlier.needs_reset || earlier.have_responded || earlier.can.is_some();
    }

    /// Notes the heads of a message that is ignored, because the document is closed for a while. A state that takes the place
    /// of this one by [`Self::restart_after`] then knows what the peer has.
    pub fn note_ignored(&mut self, message: Message) {
        message.flags.into_iter().for_each(|flags| self.set_flags(flags));
        self.last_received = Some(PeerMessage { heads: message.heads.sorted(), ..PeerMessage::default() });
        self.needs_reset = true;
    }

    /// Updates the state from the flags of a message.
    pub(super) fn set_flags(&mut self, flags: MessageFlags) {
        self.can = Some(PeerCapabilities { reset: flags.contains(MessageFlags::SUPPORTS_SYNC_RESET) });
        self.peer_read_only = flags.contains(MessageFlags::READ_ONLY);
        if flags.contains(MessageFlags::SYNC_RESET) {
            self.by_change |= self.sent.whole;
            self.sent = Sent::default();
        }
    }

    pub(super) fn refuse(&mut self, hash: ChangeHash) {
        insert(&mut self.refused, hash);
    }

    /// Was a missing change refused? For a peer with a full list of refused changes, always true.
    pub fn has_refused(&self, hash: &ChangeHash) -> bool {
        contains(&self.refused, hash)
    }

    pub(super) fn add_refused_dep(&mut self, hash: ChangeHash) {
        insert(&mut self.refused_deps, hash);
    }

    pub(super) fn give_up(&mut self, hash: ChangeHash) {
        insert(&mut self.given_up, hash);
    }

    pub(super) fn add_waited(&mut self, hash: ChangeHash) {
        insert(&mut self.waited, hash);
    }

    /// Did a change of the peer wait after an earlier message? For a full list, always true: then waiting is no progress.
    pub(super) fn has_waited(&self, hash: &ChangeHash) -> bool {
        contains(&self.waited, hash)
    }

    /// Is a missing change excluded from requests, because it was refused or because the peer does not send it? It is
    /// requested again on the next connection.
    pub fn has_given_up(&self, hash: &ChangeHash) -> bool {
        self.has_refused(hash) || contains(&self.given_up, hash)
    }
}

/// Inserts a hash if there is room.
fn insert(hashes: &mut Vec<ChangeHash>, hash: ChangeHash) {
    if let Err(at) = hashes.binary_search(&hash)
        && hashes.len() < MOST_REFUSED
    {
        hashes.insert(at, hash);
    }
}

/// Was a hash inserted? A full list contains every hash.
fn contains(hashes: &[ChangeHash], hash: &ChangeHash) -> bool {
    hashes.len() >= MOST_REFUSED || hashes.binary_search(hash).is_ok()
}

/// Bytes that are not a sync state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadStateError {
    /// The first byte is not that of a state.
    #[error("not a sync state: it starts with {0:#04x}, not with 0x43")]
    Type(u8),
    /// The bytes break the format.
    #[error("sync state, byte {offset}: {rule}")]
    Format {
        /// Byte offset.
        offset: usize,
        /// The broken rule.
        rule: Rule,
    },
}

#[cfg(test)]
mod tests {
    use super::super::{Message, SyncDoc as _};
    use super::*;
    use crate::{ActorId, Document, ROOT, Transactable as _};

    /// Memory of a state and all that it owns, in bytes.
    fn memory_bytes(state: &State) -> usize {
        let hashes = |hashes: &SmallList<ChangeHash>| hashes.allocated();
        let peer = state.last_received.iter().map(|peer| {
            let have = peer.have.iter().map(|have| hashes(&have.last_sync) + have.bloom.len());
            hashes(&peer.heads) + hashes(&peer.need) + peer.have.allocated() + have.sum::<usize>()
        });
        let sent = hashes(&state.sent.upto) + state.sent.hashes.as_ref().map_or(0, HashSet::allocation_size);
        let lists = [&state.refused, &state.refused_deps, &state.given_up, &state.waited];
        let refused = lists.map(|list| list.capacity() * size_of::<ChangeHash>()).iter().sum::<usize>();
        let known = hashes(&state.shared_heads) + hashes(&state.last_sent_heads) + refused;
        size_of::<State>() + peer.sum::<usize>() + sent + known
    }

    fn receive(doc: &mut Document, state: &mut State, message: Option<Message>) -> bool {
        let there_is = message.is_some();
        message
            .into_iter()
            .for_each(|message| drop(doc.receive_sync_message(state, message).expect("sound")));
        there_is
    }

    #[test]
    fn state_of_a_peer_in_step_is_small() {
        let mut a = Document::new().with_actor(ActorId::from([1]));
        let mut b = Document::new().with_actor(ActorId::from([2]));
        let (mut of_a, mut of_b) = (State::new(), State::new());
        for round in 0..50_i64 {
            // Many at first, then few, then one at a time.
            for number in 0..if round == 0 { 3000 } else { 50 - round } {
                a.transact(|tx| tx.put(ROOT, "a", number + round * 10_000)).expect("there is room");
                b.transact(|tx| tx.put(ROOT, "b", number + round * 10_000)).expect("there is room");
            }
            while receive(&mut b, &mut of_a, a.generate_sync_message(&mut of_b))
                | receive(&mut a, &mut of_b, b.generate_sync_message(&mut of_a))
            {}
            assert_eq!(a.get_heads(), b.get_heads());
            let bytes = [memory_bytes(&of_a), memory_bytes(&of_b)];
            assert!(bytes.iter().all(|bytes| *bytes <= 4096), "{round}: {bytes:?}");
        }
    }

    #[test]
    fn state_of_each_of_fifty_concurrent_peers_is_small() {
        let mut hub = Document::new().with_actor(ActorId::from([0]));
        let mut peers: Vec<(Document, State, State)> = (1..=50)
            .map(|who| (Document::new().with_actor(ActorId::from([who])), State::new(), State::new()))
            .collect();
        for round in 0..hashmill_testkit::size::of(8, 20_i64) {
            // All write before any exchange, so that every peer knows fifty heads.
            for (doc, of_hub, at_hub) in &mut peers {
                doc.transact(|tx| tx.put(ROOT, "key", round)).expect("there is room");
                receive(&mut hub, at_hub, doc.generate_sync_message(of_hub));
            }
            loop {
                let mut was_sent = false;
                for (doc, of_hub, at_hub) in &mut peers {
                    was_sent |= receive(doc, of_hub, hub.generate_sync_message(at_hub));
                    was_sent |= receive(&mut hub, at_hub, doc.generate_sync_message(of_hub));
                }
                if !was_sent {
                    break;
                }
            }
            if round % 2 > 0 {
                // One more change joins them into one head.
                let (doc, of_hub, at_hub) = &mut peers[0];
                doc.transact(|tx| tx.put(ROOT, "key", "one")).expect("there is room");
                receive(&mut hub, at_hub, doc.generate_sync_message(of_hub));
                for (doc, of_hub, at_hub) in &mut peers {
                    while receive(doc, of_hub, hub.generate_sync_message(at_hub))
                        | receive(&mut hub, at_hub, doc.generate_sync_message(of_hub))
                    {}
                }
            }
            for (doc, _, at_hub) in &peers {
                assert_eq!(doc.get_heads(), hub.get_heads());
                let bytes = memory_bytes(at_hub);
                let most = if hub.get_heads().len() == 1 { 4096 } else { 4096 * 2 };
                assert!(bytes <= most, "{round}: {bytes} bytes, {} heads", hub.get_heads().len());
            }
        }
    }

    #[test]
    fn dropped_messages_are_sent_again_after_a_restart() {
        let mut a = Document::new().with_actor(ActorId::from([1]));
        let mut b = Document::new().with_actor(ActorId::from([2]));
        let (mut of_a, mut of_b) = (State::new(), State::new());
        let exchange = |a: &mut Document, b: &mut Document, of_a: &mut State, of_b: &mut State| {
            let mut messages = 0;
            while receive(b, of_a, a.generate_sync_message(of_b))
                | receive(a, of_b, b.generate_sync_message(of_a))
            {
                messages += 1;
                assert!(messages < 10, "messages without end");
            }
        };
        a.transact(|tx| tx.put(ROOT, "a", 1)).expect("there is room");
        exchange(&mut a, &mut b, &mut of_a, &mut of_b);
        for round in 0..4 {
            a.transact(|tx| tx.put(ROOT, "a", round)).expect("there is room");
            b.transact(|tx| tx.put(ROOT, "b", round)).expect("there is room");
            // The first message of each is lost; the one that knows of it restarts.
            let lost = [a.generate_sync_message(&mut of_b), b.generate_sync_message(&mut of_a)];
            assert!(lost.iter().all(Option::is_some));
            if round % 2 == 0 {
                of_b.restart();
            } else {
                of_a.restart();
            }
            exchange(&mut a, &mut b, &mut of_a, &mut of_b);
            assert_eq!(a.get_heads(), b.get_heads(), "{round}");
        }
    }
}
