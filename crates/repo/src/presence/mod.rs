//! Presence: what each user of a document shows the others, such as a cursor; never stored.

mod cbor_item;
mod cbor_literal;
mod ephemeral_filter;
mod payload;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::id::PeerId;
use crate::message::DecodeError;

pub use cbor_item::CborItem;
pub use ephemeral_filter::EphemeralFilter;

use payload::{MAX_CHANNELS, Payload};

/// Delay between the first message of a new peer and the answer: the peer may not listen yet, and several peers that come
/// together get one answer.
const ANNOUNCE_DELAY: Duration = Duration::from_millis(500);
/// Maximum number of peers that are remembered.
const MAX_PEERS: usize = 4096;
/// Maximum number of bytes of a peer's id. Programs use a few dozen.
const MAX_ID_BYTES: usize = 1 << 10;
/// Maximum number of bytes of a peer's channels.
const MAX_PEER_BYTES: usize = 64 << 10;
/// Maximum number of bytes of all peers: their ids and channels, and what maps need for them.
const MAX_TOTAL_BYTES: usize = 16 << 20;
/// Memory for a peer beside the text of its id and its channels: an entry of a map that is half full, the headers of the id, and
/// the first node of the map of its channels.
const PEER_OVERHEAD_BYTES: usize = 896;
/// Memory for a channel beside the texts of its name and value: an entry of a map that is half full, and the headers of both.
const CHANNEL_OVERHEAD_BYTES: usize = 128;

/// Times of presence. The defaults are those of automerge-repo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PresenceTimes {
    /// After this time without another message, a heartbeat is sent.
    pub heartbeat: Duration,
    /// After this time without a message, a peer is forgotten.
    pub expiry: Duration,
}

impl Default for PresenceTimes {
    fn default() -> Self {
        Self { heartbeat: Duration::from_secs(15), expiry: Duration::from_secs(45) }
    }
}

/// The presence of this user and of all others in one document. Exchanges the payloads of automerge-repo's `Presence`, so
/// users of JavaScript programs see each other and this one.
///
/// A user's presence is a map from channels, such as `cursor`, to values. `now` is the time since any fixed start; times that
/// go back count as the latest one.
///
/// Payloads may be lost, repeated or, within a document, dropped as late. After a pause, a snapshot is sent in place of the
/// first heartbeat, which repairs what was lost.
///
/// Peers may be hostile. Of others, at most 4096 users and 16 MiB are remembered, of which the id of a user takes at most
/// 1 KiB and the channels at most 64 KiB; a channel counts 128 bytes beside its name and value. Payloads beyond a limit are
/// refused, and what was known stays.
#[derive(Clone, Debug)]
pub struct Presence {
    times: PresenceTimes,
    now: Duration,
    /// The channels of this user.
    own_channels: BTreeMap<String, CborItem>,
    /// Channels with values that were not sent.
    changed: BTreeSet<String>,
    /// Since when nothing was sent. `None` before the first snapshot of a connection.
    last_sent: Option<Duration>,
    /// A payload of this user was sent, on this or an earlier connection.
    has_sent_before: bool,
    /// Changes were sent since the last snapshot, so that the next heartbeat is one.
    is_snapshot_due: bool,
    announce_at: Option<Duration>,
    leaving: Leaving,
    peers: BTreeMap<PeerId, PeerPresence>,
    total_bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaving {
    No,
    /// The others are told that this user leaves, and then of all channels again.
    ForReconnect,
    ForGood,
    Done,
}

/// The presence of another user.
#[derive(Clone, Debug, PartialEq)]
pub struct PeerPresence {
    channels: BTreeMap<String, CborItem>,
    last_seen: Duration,
    last_active: Duration,
    /// Its part of the bytes of all peers.
    bytes: usize,
}

impl PeerPresence {
    /// The value of a channel.
    pub fn get(&self, channel: &str) -> Option<&CborItem> {
        self.channels.get(channel)
    }

    /// All channels, by name.
    pub fn channels(&self) -> impl Iterator<Item = (&str, &CborItem)> {
        self.channels.iter().map(|(channel, value)| (channel.as_str(), value))
    }

    /// The time of the last message.
    pub fn last_seen(&self) -> Duration {
        self.last_seen
    }

    /// The time of the last message that was no heartbeat.
    pub fn last_active(&self) -> Duration {
        self.last_active
    }
}

/// A change of another user's presence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PresenceEvent {
    /// Channels have new values.
    Updated {
        /// The user.
        peer: PeerId,
        /// The channels.
        channels: Vec<String>,
        /// Was the user unknown before?
        is_new: bool,
    },
    /// The user left.
    Left(PeerId),
    /// Nothing was heard of the user for too long.
    Expired(PeerId),
}

/// Effect of a received payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceivedPresence {
    /// A user's presence changed.
    Event(PresenceEvent),
    /// Presence that changes nothing, such as a heartbeat.
    Nothing,
    /// The payload is no presence, but a message of the program.
    OtherPayload,
}

/// Reason why a payload of presence was dropped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PresenceError {
    /// It cannot be read. The sender is at fault.
    #[error("presence that cannot be read")]
    Decode(#[from] DecodeError),
    /// It exceeds a limit.
    #[error("presence of more than {limit} {what}")]
    Limit {
        /// The counted items.
        what: &'static str,
        /// Their maximum number.
        limit: usize,
    },
    /// A value of the caller has no form that all users can read.
    #[error("presence cannot hold {0}")]
    Unsupported(&'static str),
}

impl Presence {
    /// Presence without channels. It is announced as soon as payloads can be sent.
    pub fn new(times: PresenceTimes) -> Presence {
        Presence {
            times,
            now: Duration::ZERO,
            own_channels: BTreeMap::new(),
            changed: BTreeSet::new(),
            last_sent: None,
            has_sent_before: false,
            is_snapshot_due: false,
            announce_at: None,
            leaving: Leaving::No,
            peers: BTreeMap::new(),
            total_bytes: 0,
        }
    }

    /// Sets a channel of this user. Until it is sent, a later value replaces it.
    pub fn set(&mut self, channel: &str, value: impl Into<CborItem>) -> Result<(), PresenceError> {
        let value = value.into();
        let replaced = self.own_channels.get(channel).map(|old| entry_bytes(channel, old.as_bytes()));
        let bytes: usize =
            self.own_channels.iter().map(|(name, value)| entry_bytes(name, value.as_bytes())).sum();
        check_limit(
            bytes - replaced.unwrap_or(0) + entry_bytes(channel, value.as_bytes()),
            MAX_PEER_BYTES,
            "bytes",
        )?;
        check_limit(self.own_channels.len() + usize::from(replaced.is_none()), MAX_CHANNELS, "channels")?;
        self.own_channels.insert(channel.to_owned(), value);
        self.changed.insert(channel.to_owned());
        Ok(())
    }

    /// The channels of this user.
    pub fn own_channels(&self) -> impl Iterator<Item = (&str, &CborItem)> {
        self.own_channels.iter().map(|(channel, value)| (channel.as_str(), value))
    }

    /// The other users, by id.
    pub fn peers(&self) -> impl Iterator<Item = (&PeerId, &PeerPresence)> {
        self.peers.iter()
    }

    /// Another user.
    pub fn peer(&self, id: &str) -> Option<&PeerPresence> {
        self.peers.get(id)
    }

    /// Tells the others that this user leaves. Nothing is sent after that.
    pub fn leave(&mut self) {
        self.leaving = if self.has_sent_before { Leaving::ForGood } else { Leaving::Done };
    }

    /// Was the last payload of this user sent?
    pub fn has_left(&self) -> bool {
        self.leaving == Leaving::Done
    }

    /// Prepares for a new connection. The others are told to forget this user and then of all channels: they answer with
    /// theirs, of which some may have been lost.
    pub fn reconnect(&mut self) {
        self.last_sent = None;
        if self.leaving == Leaving::No && self.has_sent_before {
            self.leaving = Leaving::ForReconnect;
        }
    }

    /// The next payload to send to all users of the document.
    pub fn next_payload(&mut self, now: Duration) -> Option<Vec<u8>> {
        let now = self.advance(now);
        match self.leaving {
            Leaving::Done => return None,
            Leaving::ForGood | Leaving::ForReconnect => {
                let is_final = self.leaving == Leaving::ForGood;
                self.leaving = if is_final { Leaving::Done } else { Leaving::No };
                return Some(Payload::Goodbye.encode());
            }
            Leaving::No => {}
        }
        let is_announced = self.announce_at.is_some_and(|at| at <= now);
        let is_idle = self.last_sent.is_some_and(|sent| sent.saturating_add(self.times.heartbeat) <= now);
        let payload = if self.last_sent.is_none() || is_announced || is_idle && self.is_snapshot_due {
            // A snapshot before this time may be too early for the new peer.
            self.announce_at.take_if(|at| *at <= now);
            self.changed.clear();
            self.is_snapshot_due = false;
            let state = self.own_channels.iter().map(|(channel, value)| (channel.into(), value.as_bytes()));
            Payload::Snapshot(state.collect()).encode()
        } else if let Some(channel) = self.changed.pop_first() {
            self.is_snapshot_due = true;
            let value = self.own_channels.get(&channel).expect("a changed channel has a value");
            Payload::Update(channel.as_str().into(), value.as_bytes()).encode()
        } else if is_idle {
            Payload::Heartbeat.encode()
        } else {
            return None;
        };
        self.last_sent = Some(now);
        self.has_sent_before = true;
        Some(payload)
    }

    /// Processes a payload of another user.
    pub fn receive(
        &mut self,
        sender: &PeerId,
        payload: &[u8],
        now: Duration,
    ) -> Result<ReceivedPresence, PresenceError> {
        let now = self.advance(now);
        let Some(payload) = Payload::decode(payload)? else { return Ok(ReceivedPresence::OtherPayload) };
        let is_new = !self.peers.contains_key(sender);
        let entries = match payload {
            Payload::Goodbye => {
                let left = self.remove_peer(sender);
                let event = || ReceivedPresence::Event(PresenceEvent::Left(sender.clone()));
                return Ok(if left { event() } else { ReceivedPresence::Nothing });
            }
            Payload::Heartbeat => {
                // An unknown peer is shown when its channels are known.
                match self.peers.get_mut(sender) {
                    Some(peer) => peer.last_seen = now,
                    None => self.announce(now),
                }
                return Ok(ReceivedPresence::Nothing);
            }
            Payload::Update(channel, value) => vec![(channel, value)],
            Payload::Snapshot(entries) => entries,
        };
        self.update_peer(sender, &entries, now)?;
        if is_new {
            self.announce(now);
        }
        let channels = entries.into_iter().map(|(channel, _)| channel.into_owned()).collect();
        Ok(ReceivedPresence::Event(PresenceEvent::Updated { peer: sender.clone(), channels, is_new }))
    }

    /// Forgets the users whose last message is too old.
    pub fn expire(&mut self, now: Duration) -> Vec<PresenceEvent> {
        let now = self.advance(now);
        let is_silent = |peer: &PeerPresence| peer.last_seen.saturating_add(self.times.expiry) <= now;
        let silent = self.peers.iter().filter(|(_, peer)| is_silent(peer)).map(|(id, _)| id.clone());
        let silent: Vec<PeerId> = silent.collect();
        for id in &silent {
            self.remove_peer(id);
        }
        silent.into_iter().map(PresenceEvent::Expired).collect()
    }

    /// When [`expire`](Self::expire) or, on an open connection, [`next_payload`](Self::next_payload) has something to do.
    /// `None`: not before another call.
    pub fn next_deadline(&self, is_connected: bool) -> Option<Duration> {
        let expiry = self.peers.values().map(|peer| peer.last_seen.saturating_add(self.times.expiry)).min();
        let sends = is_connected && self.leaving != Leaving::Done;
        let is_due = self.last_sent.is_none() || !self.changed.is_empty() || self.leaving != Leaving::No;
        let payload = if is_due {
            Some(self.now)
        } else {
            let heartbeat = self.last_sent.map(|sent| sent.saturating_add(self.times.heartbeat));
            [heartbeat, self.announce_at].into_iter().flatten().min()
        };
        [expiry, payload.filter(|_| sends)].into_iter().flatten().min()
    }

    /// Plans a snapshot for a new peer, which may not know this user. Of several peers, the first decides the time.
    fn announce(&mut self, now: Duration) {
        self.announce_at.get_or_insert(now.saturating_add(ANNOUNCE_DELAY));
    }

    fn advance(&mut self, now: Duration) -> Duration {
        self.now = self.now.max(now);
        self.now
    }

    /// Sets channels of a peer, all or none.
    fn update_peer(
        &mut self,
        sender: &PeerId,
        entries: &[(Cow<'_, str>, &[u8])],
        now: Duration,
    ) -> Result<(), PresenceError> {
        let id_bytes = sender.as_str().len();
        check_limit(id_bytes, MAX_ID_BYTES, "bytes of a user's id")?;
        let known = self.peers.get(sender);
        let old_bytes = known.map_or(0, |peer| peer.bytes);
        let mut channels = known.map_or_else(BTreeMap::new, |peer| peer.channels.clone());
        for (channel, value) in entries {
            let value = CborItem::from_bytes(value.to_vec())?;
            channels.insert(channel.to_string(), value);
        }
        let channel_bytes: usize =
            channels.iter().map(|(channel, value)| entry_bytes(channel, value.as_bytes())).sum();
        let bytes = PEER_OVERHEAD_BYTES + id_bytes + channel_bytes;
        check_limit(self.peers.len() + usize::from(known.is_none()), MAX_PEERS, "users")?;
        check_limit(channels.len(), MAX_CHANNELS, "channels")?;
        check_limit(channel_bytes, MAX_PEER_BYTES, "bytes")?;
        check_limit(self.total_bytes - old_bytes + bytes, MAX_TOTAL_BYTES, "bytes of all users")?;
        self.total_bytes = self.total_bytes - old_bytes + bytes;
        let peer = PeerPresence { channels, last_seen: now, last_active: now, bytes };
        self.peers.insert(sender.clone(), peer);
        Ok(())
    }

    fn remove_peer(&mut self, id: &PeerId) -> bool {
        let removed = self.peers.remove(id);
        self.total_bytes -= removed.as_ref().map_or(0, |peer| peer.bytes);
        removed.is_some()
    }
}

/// Counted bytes of a channel: its name and value, and what a map needs for it.
fn entry_bytes(channel: &str, value: &[u8]) -> usize {
    channel.len() + value.len() + CHANNEL_OVERHEAD_BYTES
}

fn check_limit(count: usize, limit: usize, what: &'static str) -> Result<(), PresenceError> {
    if count <= limit { Ok(()) } else { Err(PresenceError::Limit { what, limit }) }
}
