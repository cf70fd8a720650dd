//! Progress detection for sync sessions.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use hashbrown::HashSet;

use super::state::State;
use crate::document::Document;

/// Maximum number of distinct states between two changes. Each takes a message, so more of them are no progress.
const MOST_MOMENTS: usize = 1 << 10;

/// Judges whether a session with a peer makes progress, by what its messages change: the present and refused changes,
/// the heads of either side, and the peer's requests. Messages that only alternate between earlier states do not count.
/// Other messages, such as cursors of users, are not considered.
///
/// ```
/// use hashmill_doc::sync::{Progress, State, SyncDoc};
/// use hashmill_doc::Document;
///
/// let (mut here, mut there) = (Document::new(), Document::new());
/// let (mut of_there, mut of_here, mut progress) = (State::new(), State::new(), Progress::new());
/// let message = there.generate_sync_message(&mut of_here).unwrap();
/// here.receive_sync_message(&mut of_there, message.clone())?;
/// assert_eq!(progress.note(&here, &of_there), 0);
/// here.receive_sync_message(&mut of_there, message)?;
/// assert_eq!(progress.note(&here, &of_there), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Numbers of present and of refused changes: neither decreases.
    taken: (u32, usize),
    /// Fingerprints of the states since then.
    moments: HashSet<u64>,
    idle: u32,
}

impl Progress {
    /// State before the first message.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records the state after a received message. Returns the number of consecutive messages without progress.
    pub fn note(&mut self, doc: &Document, state: &State) -> u32 {
        let taken = (doc.state.history.len(), state.refused.len());
        if taken != self.taken {
            self.taken = taken;
            self.moments.clear();
        }
        let mut moment = DefaultHasher::new();
        doc.get_heads().hash(&mut moment);
        doc.queue.len().hash(&mut moment);
        if let Some(peer) = &state.last_received {
            peer.heads[..].hash(&mut moment);
            peer.need[..].hash(&mut moment);
        }
        let moved = self.moments.len() < MOST_MOMENTS && self.moments.insert(moment.finish());
        self.idle = if moved { 0 } else { self.idle.saturating_add(1) };
        self.idle
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Message, SmallList, SyncDoc as _};
    use super::*;
    use crate::types::ChangeHash;
    use crate::{ActorId, ROOT, Transactable as _};

    fn doc(actor: u8) -> Document {
        Document::new().with_actor(ActorId::from([actor]))
    }

    fn put(doc: &mut Document, value: i64) {
        doc.transact(|tx| tx.put(ROOT, "key", value)).expect("there is room");
    }

    #[test]
    fn session_makes_progress_until_both_are_in_step() {
        let (mut here, mut there) = (doc(1), doc(2));
        for round in 0..20 {
            (0..=round).for_each(|value| put(&mut here, value));
            (0..=round).for_each(|value| put(&mut there, value));
            let (mut of_there, mut of_here, mut progress) = (State::new(), State::new(), Progress::new());
            loop {
                let call = here.generate_sync_message(&mut of_there);
                let answer = there.generate_sync_message(&mut of_here);
                if call.is_none() && answer.is_none() {
                    break;
                }
                call.into_iter().for_each(|call| {
                    there.receive_sync_message(&mut of_here, call).expect("sound");
                });
                answer.into_iter().for_each(|answer| {
                    here.receive_sync_message(&mut of_there, answer).expect("sound");
                    // The last message may only acknowledge.
                    assert!(progress.note(&here, &of_there) <= 1, "{round}");
                });
            }
            assert_eq!(here.get_heads(), there.get_heads());
        }
    }

    #[test]
    fn alternating_states_are_no_progress() {
        let mut here = doc(1);
        put(&mut here, 1);
        let (mut of_there, mut progress) = (State::new(), Progress::new());
        // A peer that is given access and loses it again, without end.
        for round in 0..50_u32 {
            let heads = if round % 2 == 0 { SmallList::new() } else { SmallList::one(ChangeHash([7; 32])) };
            let message = Message { heads, ..Message::default() };
            here.receive_sync_message(&mut of_there, message).expect("sound");
            assert_eq!(progress.note(&here, &of_there), u32::saturating_sub(round, 1));
        }
        // A peer that names other heads each time.
        for round in 0..2 * MOST_MOMENTS {
            let mut hash = [9; 32];
            hash[..8].copy_from_slice(&(round as u64).to_be_bytes());
            let message = Message { heads: SmallList::one(ChangeHash(hash)), ..Message::default() };
            here.receive_sync_message(&mut of_there, message).expect("sound");
            progress.note(&here, &of_there);
        }
        assert!(progress.idle as usize >= MOST_MOMENTS);
        // A new change is progress in any state.
        put(&mut here, 2);
        assert_eq!(progress.note(&here, &of_there), 0);
    }
}
