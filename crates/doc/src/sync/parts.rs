//! A state taken apart, for those who keep it elsewhere between two messages.

use super::few::Few;
use super::message::Have;
use super::state::{Abilities, Sent, State, Theirs};
use crate::types::ChangeHash;

/// All that a [`State`] knows, as values. [`State::encode`] is for what is worth keeping when a connection ends; this is for
/// bindings whose callers hold the state of a connection that goes on.
///
/// What was put together by hand and contradicts itself costs messages, never changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateParts {
    /// Heads of what both have.
    pub shared_heads: Few<ChangeHash>,
    /// The heads that the peer was told last.
    pub last_sent_heads: Few<ChangeHash>,
    /// The heads that the peer named last; nothing before its first message, and then neither of the next two counts.
    pub their_heads: Option<Few<ChangeHash>>,
    /// What the peer asked for by name.
    pub their_need: Few<ChangeHash>,
    /// What the peer said it has.
    pub their_have: Few<Have>,
    /// Heads up to which everything was sent and not acknowledged.
    pub sent_upto: Few<ChangeHash>,
    /// Changes that were sent for themselves and not acknowledged.
    pub sent_hashes: Vec<ChangeHash>,
    /// Whether the whole document was sent and not all of it was acknowledged.
    pub sent_whole: bool,
    /// Whether an answer is awaited.
    pub in_flight: bool,
    /// Whether the peer was told our heads.
    pub have_responded: bool,
    /// Whether the peer understands resets; nothing while it is not known to read version 2.
    pub can_reset: Option<bool>,
    /// Whether changes of the peer are left alone.
    pub read_only: bool,
    /// Whether the peer said that it takes no changes.
    pub peer_read_only: bool,
    /// Whether the peer is to be told to forget what it sent.
    pub needs_reset: bool,
    /// Whether the peer ignored the whole document, so that it is sent changes.
    pub by_change: bool,
    /// How many times the peer was asked for changes because a whole document could not be taken.
    pub asked_for_changes: u8,
    /// Changes of the peer that were refused.
    pub refused: Vec<ChangeHash>,
}

impl From<&State> for StateParts {
    fn from(state: &State) -> Self {
        let theirs = state.theirs.clone();
        let their_heads = theirs.as_ref().map(|theirs| theirs.heads.clone());
        let Theirs { need, have, .. } = theirs.unwrap_or_default();
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
            by_change: state.by_change,
            asked_for_changes: state.asked_for_changes,
            refused: state.refused.clone(),
        }
    }
}

impl From<StateParts> for State {
    fn from(parts: StateParts) -> Self {
        let (need, have) = (parts.their_need, parts.their_have);
        let mut state = Self {
            shared_heads: parts.shared_heads.sorted(),
            last_sent_heads: parts.last_sent_heads.sorted(),
            theirs: parts.their_heads.map(|heads| Theirs { heads: heads.sorted(), need, have }),
            sent: Sent::default(),
            in_flight: parts.in_flight,
            have_responded: parts.have_responded,
            can: parts.can_reset.map(|reset| Abilities { reset }),
            read_only: parts.read_only,
            peer_read_only: parts.peer_read_only,
            needs_reset: parts.needs_reset,
            by_change: parts.by_change,
            asked_for_changes: parts.asked_for_changes,
            refused: vec![],
        };
        state.sent.upto = parts.sent_upto.sorted();
        state.sent.whole = parts.sent_whole;
        state.sent.extend(parts.sent_hashes.into_iter());
        parts.refused.into_iter().for_each(|hash| state.refuse(hash));
        state
    }
}
