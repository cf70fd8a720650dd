//! Fuzz target for sync messages, as bytes or with mutated changes: a refused message has no effect, an accepted one leaves a
//! consistent document, and sync with the next peer still works.

use hashmill_doc::sync::{Message, MessageVersion, State, SyncDoc as _};
use hashmill_doc::{ActorId, ApplyError, ChangeHash, Document, ROOT, Transactable as _};

use crate::accepted::{accepted, same};
use crate::targets::doc::{LIMITS, refused, small_within};
use crate::verdict::Verdict;

/// Maximum number of rounds until a sync ends.
const ROUNDS: usize = 12;

/// The first byte selects whether the rest is a message or its chunks, and whether the receiver sends first.
pub fn doc_sync(data: &[u8]) -> Verdict {
    let Some((&first, rest)) = data.split_first() else { return Verdict::Refused };
    let message = if first % 2 == 0 {
        let message = match Message::decode(rest) {
            Ok(message) => message,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                return Verdict::Refused;
            }
        };
        assert_eq!(Message::decode(&message.encode()).as_ref(), Ok(&message), "another message");
        message
    } else {
        let mut message = Message::default();
        (message.version, message.changes) = (MessageVersion::V2, vec![rest.to_vec()]);
        message
    };
    let mut doc = small_within(LIMITS);
    let mut state = State::new();
    if first / 2 % 2 == 1 {
        assert!(
            doc.generate_sync_message(&mut state).is_some(),
            "the first message says which heads there are"
        );
    }
    let (before, state_before) = (doc.clone(), state.clone());
    let received = match doc.receive_sync_message(&mut state, message) {
        Ok(received) => received,
        Err(error) => {
            assert_eq!(state, state_before, "an unreadable message changes the state");
            return refused(&doc, &before, &error);
        }
    };
    accepted(&doc);
    // An answer, if there is one, can be encoded and decoded.
    if let Some(answer) = doc.generate_sync_message(&mut state) {
        assert_eq!(Message::decode(&answer.encode()), Ok(answer));
    }
    assert_eq!(State::decode(&state.encode()).map(|state| state.encode()), Ok(state.encode()));
    let limited = received.refused.iter().any(|(_, reason)| matches!(reason, ApplyError::Limit(_)));
    if !limited {
        meet(&mut doc);
    }
    if doc.get_heads() == before.get_heads() && received.waiting.is_empty() {
        Verdict::Refused
    } else {
        Verdict::Accepted
    }
}

/// Syncs with a peer that has another new change.
fn meet(doc: &mut Document) {
    let mut peer = small_within(LIMITS).with_actor(ActorId::from([0xee; 5]));
    peer.transact(|tx| tx.put(ROOT, "met", true)).expect("there is room");
    let (mut of_peer, mut of_doc) = (State::new(), State::new());
    for _ in 0..ROUNDS {
        let call = doc.generate_sync_message(&mut of_peer);
        let quiet = call.is_none();
        if call.is_some_and(|message| hear(&mut peer, &mut of_doc, message)) {
            return;
        }
        let answer = peer.generate_sync_message(&mut of_doc);
        if quiet && answer.is_none() {
            assert_eq!(doc.get_heads(), peer.get_heads(), "not all was told");
            accepted(&peer);
            return;
        }
        if answer.is_some_and(|message| hear(doc, &mut of_peer, message)) {
            return;
        }
    }
    panic!("two peers talk without end");
}

/// Was a limit reached? Work that exceeds the limits of one call may have been within those of several.
fn hear(doc: &mut Document, state: &mut State, message: Message) -> bool {
    let before = doc.clone();
    match doc.receive_sync_message(state, message) {
        Ok(received) => {
            let limit = |(_, reason): &(ChangeHash, ApplyError)| matches!(reason, ApplyError::Limit(_));
            let limited = received.refused.iter().any(limit);
            assert!(limited || received.refused.is_empty(), "what one took another refuses: {received:?}");
            limited
        }
        Err(error) => {
            same(doc, &before);
            panic!("what one wrote another cannot read: {error}");
        }
    }
}
