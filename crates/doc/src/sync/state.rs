//! What one peer knows of another.

use hashbrown::HashSet;

use super::few::Few;
use super::message::{Have, MessageFlags, hashes, put_hashes};
use crate::codec::reader::Reader;
use crate::error::Rule;
use crate::types::ChangeHash;

/// The first byte of what is kept of a state.
const KIND: u8 = 0x43;
/// So many changes that were refused are remembered of a peer.
const MOST_REFUSED: usize = 1 << 12;

/// What this side knows of a peer: which changes both have, what it said last, what it was sent. One for each peer and
/// document.
///
/// [`Self::encode`] gives what is worth keeping when the connection ends. A connection that may have lost a message needs a
/// state that was kept, or a new one: while an answer is awaited nothing else is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Heads of what both have.
    pub(super) shared_heads: Few<ChangeHash>,
    pub(super) last_sent_heads: Few<ChangeHash>,
    /// What the peer said last.
    pub(super) theirs: Option<Theirs>,
    pub(super) sent: Sent,
    /// An answer is awaited.
    pub(super) in_flight: bool,
    /// The peer was told our heads.
    pub(super) have_responded: bool,
    pub(super) can: Option<Abilities>,
    pub(super) read_only: bool,
    pub(super) peer_read_only: bool,
    /// The peer is to be told to forget what it sent.
    pub(super) needs_reset: bool,
    /// The peer ignored the whole document, so it is sent changes.
    pub(super) by_change: bool,
    /// How many times the changes of a whole document of the peer were asked for because it could not be taken.
    pub(super) asked_for_changes: u8,
    /// Changes of the peer that broke a rule or a limit, ascending. They are not asked for again on this connection.
    pub(super) refused: Vec<ChangeHash>,
}

/// A peer's last message, as far as it is about the peer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Theirs {
    pub(super) heads: Few<ChangeHash>,
    pub(super) need: Few<ChangeHash>,
    pub(super) have: Few<Have>,
}

/// What a peer can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Abilities {
    pub(super) reset: bool,
}

/// What a peer was sent and has not acknowledged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sent {
    /// These and all before them, since the whole document was sent.
    pub(super) upto: Few<ChangeHash>,
    /// And these. Most peers are never sent any.
    hashes: Option<HashSet<ChangeHash>>,
    /// The whole document was sent, and not all of it was acknowledged since.
    pub(super) whole: bool,
}

impl Sent {
    pub(super) fn is_empty(&self) -> bool {
        self.upto.is_empty() && self.hashes.as_ref().is_none_or(HashSet::is_empty)
    }

    /// Whether a change was sent for itself.
    pub(super) fn contains(&self, hash: &ChangeHash) -> bool {
        self.hashes.as_ref().is_some_and(|hashes| hashes.contains(hash))
    }

    /// What was sent for itself, ascending.
    pub(super) fn each(&self) -> Vec<ChangeHash> {
        let mut hashes: Vec<ChangeHash> = self.hashes.iter().flatten().copied().collect();
        hashes.sort_unstable();
        hashes
    }

    /// Remembers changes that are sent for themselves.
    pub(super) fn extend(&mut self, hashes: impl ExactSizeIterator<Item = ChangeHash>) {
        if hashes.len() > 0 {
            self.hashes.get_or_insert_default().extend(hashes);
        }
    }

    /// Forgets those for which `keep` is not true.
    pub(super) fn retain(&mut self, keep: impl FnMut(&ChangeHash) -> bool) {
        if let Some(hashes) = &mut self.hashes {
            hashes.retain(keep);
            hashes.shrink_to_fit();
        }
    }
}

impl State {
    /// A state for a peer of whom nothing is known.
    pub fn new() -> Self {
        Self::default()
    }

    /// As [`Self::new`], for a peer of whom no changes are taken.
    pub fn new_read_only() -> Self {
        Self { read_only: true, ..Self::default() }
    }

    /// What is worth keeping until the next connection: which changes both have.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![KIND];
        put_hashes(&mut out, &self.shared_heads);
        out
    }

    /// Reads what [`Self::encode`] gave.
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

    /// Whether changes of the peer are taken from now on. After it was not so, everything is asked for again.
    pub fn set_read_only(&mut self, read_only: bool) {
        if self.read_only && !read_only {
            *self = Self { can: self.can, needs_reset: true, ..Self::default() };
        } else if read_only && !self.read_only {
            // The peer is to hear of it.
            self.read_only = true;
            self.in_flight = false;
            self.have_responded = false;
        }
    }

    /// Whether changes of the peer are left alone.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Whether the peer said that it takes no changes.
    pub fn is_peer_read_only(&self) -> bool {
        self.peer_read_only
    }

    /// Heads of what both have, as far as this side knows.
    pub fn shared_heads(&self) -> &[ChangeHash] {
        &self.shared_heads
    }

    /// The heads that the peer named last.
    pub fn their_heads(&self) -> Option<&[ChangeHash]> {
        self.theirs.as_ref().map(|theirs| &theirs.heads[..])
    }

    /// The heads that the peer was told last.
    pub fn last_sent_heads(&self) -> &[ChangeHash] {
        &self.last_sent_heads
    }

    /// Whether an answer is awaited.
    pub fn in_flight(&self) -> bool {
        self.in_flight
    }

    /// Learns from the flags of a message.
    pub(super) fn hear(&mut self, flags: MessageFlags) {
        self.can = Some(Abilities { reset: flags.contains(MessageFlags::SUPPORTS_SYNC_RESET) });
        self.peer_read_only = flags.contains(MessageFlags::READ_ONLY);
        if flags.contains(MessageFlags::SYNC_RESET) {
            self.by_change |= self.sent.whole;
            self.sent = Sent::default();
        }
    }

    pub(super) fn refuse(&mut self, hash: ChangeHash) {
        if let Err(at) = self.refused.binary_search(&hash)
            && self.refused.len() < MOST_REFUSED
        {
            self.refused.insert(at, hash);
        }
    }

    /// Whether a change that is not here is given up. Of a peer of whom very many were refused, all are.
    pub(super) fn has_refused(&self, hash: &ChangeHash) -> bool {
        self.refused.len() >= MOST_REFUSED || self.refused.binary_search(hash).is_ok()
    }
}

/// Bytes that are no state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadStateError {
    /// They begin with something else.
    #[error("this is no state of a sync: it begins with {0:#04x}, not with 0x43")]
    Type(u8),
    /// They break the format.
    #[error("state of a sync, byte {offset}: {rule}")]
    Format {
        /// Where.
        offset: usize,
        /// What is wrong.
        rule: Rule,
    },
}

#[cfg(test)]
mod tests {
    use super::super::{Message, SyncDoc as _};
    use super::*;
    use crate::{ActorId, Document, ROOT, Transactable as _};

    /// Bytes of a state and of all that it holds.
    fn held(state: &State) -> usize {
        let hashes = |hashes: &Few<ChangeHash>| hashes.allocated();
        let theirs = state.theirs.iter().map(|theirs| {
            let have = theirs.have.iter().map(|have| hashes(&have.last_sync) + have.bloom.len());
            hashes(&theirs.heads) + hashes(&theirs.need) + theirs.have.allocated() + have.sum::<usize>()
        });
        let sent = hashes(&state.sent.upto) + state.sent.hashes.as_ref().map_or(0, HashSet::allocation_size);
        let refused = state.refused.capacity() * size_of::<ChangeHash>();
        let known = hashes(&state.shared_heads) + hashes(&state.last_sent_heads) + refused;
        size_of::<State>() + theirs.sum::<usize>() + sent + known
    }

    fn hear(doc: &mut Document, state: &mut State, message: Option<Message>) -> bool {
        let there_is = message.is_some();
        message
            .into_iter()
            .for_each(|message| drop(doc.receive_sync_message(state, message).expect("sound")));
        there_is
    }

    #[test]
    fn in_step_a_peer_takes_little_memory() {
        let mut a = Document::new().with_actor(ActorId::from([1]));
        let mut b = Document::new().with_actor(ActorId::from([2]));
        let (mut of_a, mut of_b) = (State::new(), State::new());
        for round in 0..50_i64 {
            // Many at first, then few, then one after the other.
            for number in 0..if round == 0 { 3000 } else { 50 - round } {
                a.transact(|tx| tx.put(ROOT, "a", number + round * 10_000)).expect("there is room");
                b.transact(|tx| tx.put(ROOT, "b", number + round * 10_000)).expect("there is room");
            }
            while hear(&mut b, &mut of_a, a.generate_sync_message(&mut of_b))
                | hear(&mut a, &mut of_b, b.generate_sync_message(&mut of_a))
            {}
            assert_eq!(a.get_heads(), b.get_heads());
            let bytes = [held(&of_a), held(&of_b)];
            assert!(bytes.iter().all(|bytes| *bytes <= 4096), "{round}: {bytes:?}");
        }
    }

    #[test]
    fn so_does_each_of_fifty_who_write_at_once() {
        let mut hub = Document::new().with_actor(ActorId::from([0]));
        let mut peers: Vec<(Document, State, State)> = (1..=50)
            .map(|who| (Document::new().with_actor(ActorId::from([who])), State::new(), State::new()))
            .collect();
        for round in 0..20_i64 {
            // All write before anybody has heard of it, so that everybody knows fifty heads.
            for (doc, of_hub, at_hub) in &mut peers {
                doc.transact(|tx| tx.put(ROOT, "key", round)).expect("there is room");
                hear(&mut hub, at_hub, doc.generate_sync_message(of_hub));
            }
            loop {
                let mut said = false;
                for (doc, of_hub, at_hub) in &mut peers {
                    said |= hear(doc, of_hub, hub.generate_sync_message(at_hub));
                    said |= hear(&mut hub, at_hub, doc.generate_sync_message(of_hub));
                }
                if !said {
                    break;
                }
            }
            if round % 2 > 0 {
                // One more makes one head of them.
                let (doc, of_hub, at_hub) = &mut peers[0];
                doc.transact(|tx| tx.put(ROOT, "key", "one")).expect("there is room");
                hear(&mut hub, at_hub, doc.generate_sync_message(of_hub));
                for (doc, of_hub, at_hub) in &mut peers {
                    while hear(doc, of_hub, hub.generate_sync_message(at_hub))
                        | hear(&mut hub, at_hub, doc.generate_sync_message(of_hub))
                    {}
                }
            }
            for (doc, _, at_hub) in &peers {
                assert_eq!(doc.get_heads(), hub.get_heads());
                let bytes = held(at_hub);
                let most = if hub.get_heads().len() == 1 { 4096 } else { 4096 * 2 };
                assert!(bytes <= most, "{round}: {bytes} bytes, {} heads", hub.get_heads().len());
            }
        }
    }
}
