//! Sync state as separate values, for callers that store it elsewhere between two messages.

use super::message::Have;
use super::state::{PeerCapabilities, PeerMessage, Sent, State};
use crate::types::ChangeHash;
use crate::types::small_list::SmallList;

/// All data of a [`State`]. [`State::encode`] is for the part that outlives a connection; this is for bindings whose
/// callers hold the state of an open connection.
///
/// Inconsistent values cost messages, never changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateParts {
    /// Shared heads.
    pub shared_heads: SmallList<ChangeHash>,
    /// The heads last sent to the peer.
    pub last_sent_heads: SmallList<ChangeHash>,
    /// The heads last received from the peer. `None` before its first message; then the next two fields are ignored.
    pub their_heads: Option<SmallList<ChangeHash>>,
    /// Changes that the peer requested by hash.
    pub their_need: SmallList<ChangeHash>,
    /// The peer's summaries.
    pub their_have: SmallList<Have>,
    /// Heads up to which everything was sent and not acknowledged.
    pub sent_upto: SmallList<ChangeHash>,
    /// Changes that were sent individually and not acknowledged.
    pub sent_hashes: Vec<ChangeHash>,
    /// Was the whole document sent and not acknowledged completely?
    pub sent_whole: bool,
    /// Is an answer awaited?
    pub in_flight: bool,
    /// Were our heads sent to the peer?
    pub have_responded: bool,
    /// Does the peer understand resets? `None` while it is not known to read version 2.
    pub can_reset: Option<bool>,
    /// Are changes of the peer ignored?
    pub read_only: bool,
    /// Did the peer announce that it accepts no changes?
    pub peer_read_only: bool,
    /// Must the peer be told to forget what it has sent?
    pub needs_reset: bool,
    /// Did the last message hide our heads, so that an older peer forgets what it has sent?
    pub hid_heads: bool,
    /// Did the peer ignore the whole document, so that it gets individual changes?
    pub by_change: bool,
    /// Number of requests for changes because a whole document could not be read.
    pub change_requests: u8,
    /// Refused changes of the peer.
    pub refused: Vec<ChangeHash>,
    /// Missing dependencies of refused changes.
    pub refused_deps: Vec<ChangeHash>,
    /// Did a message inform the peer that this document lacks shared changes?
    pub has_sent_reset: bool,
    /// Did the last message request changes by hash?
    pub has_requested: bool,
    /// Number of consecutive messages without progress after requests by hash.
    pub unanswered: u8,
    /// Requested changes that were not received.
    pub given_up: Vec<ChangeHash>,
    /// Changes that waited for others after an earlier message and are not here yet.
    pub waited: Vec<ChangeHash>,
}

impl From<&State> for StateParts {
    fn from(state: &State) -> Self {
        let peer = state.last_received.clone();
        let their_heads = peer.as_ref().map(|peer| peer.heads.clone());
        let PeerMessage { need, have, .. } = peer.unwrap_or_default();
        Self {
            shared_heads: state.shared_heads.clone(),
            last_sent_heads: state.last_sent_heads.clone(),
            their_heads,
            their_need: need,
            their_have: have,
            sent_upto: state.sent.upto.clone(),
            sent_hashes: state.sent.each(),
            sent_whole: state.sent.whole,
            in_flight: state.in_flight,
            have_responded: state.have_responded,
            can_reset: state.can.map(|can| can.reset),
            read_only: state.read_only,
            peer_read_only: state.peer_read_only,
            needs_reset: state.needs_reset,
            hid_heads: state.hid_heads,
            by_change: state.by_change,
            change_requests: state.change_requests,
            refused: state.refused.clone(),
            refused_deps: state.refused_deps.clone(),
            has_sent_reset: state.has_sent_reset,
            has_requested: state.has_requested,
            unanswered: state.unanswered,
            given_up: state.given_up.clone(),
            waited: state.waited.clone(),
        }
    }
}

impl From<StateParts> for State {
    fn from(parts: StateParts) -> Self {
        let (need, have) = (parts.their_need, parts.their_have);
        let mut state = Self {
            shared_heads: parts.shared_heads.sorted(),
            last_sent_heads: parts.last_sent_heads.sorted(),
            last_received: parts.their_heads.map(|heads| PeerMessage { heads: heads.sorted(), need, have }),
            sent: Sent::default(),
            in_flight: parts.in_flight,
            have_responded: parts.have_responded,
            can: parts.can_reset.map(|reset| PeerCapabilities { reset }),
            read_only: parts.read_only,
            peer_read_only: parts.peer_read_only,
            needs_reset: parts.needs_reset,
            hid_heads: parts.hid_heads,
            by_change: parts.by_change,
            change_requests: parts.change_requests,
            refused: vec![],
            refused_deps: vec![],
            has_sent_reset: parts.has_sent_reset,
            has_requested: parts.has_requested,
            unanswered: parts.unanswered,
            given_up: vec![],
            waited: vec![],
        };
        state.sent.upto = parts.sent_upto.sorted();
        state.sent.whole = parts.sent_whole;
        state.sent.extend(parts.sent_hashes.into_iter());
        parts.refused.into_iter().for_each(|hash| state.refuse(hash));
        parts.refused_deps.into_iter().for_each(|hash| state.add_refused_dep(hash));
        parts.given_up.into_iter().for_each(|hash| state.give_up(hash));
        parts.waited.into_iter().for_each(|hash| state.add_waited(hash));
        state
    }
}
