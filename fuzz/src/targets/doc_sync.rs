//! Fuzz target for sync messages, as bytes or with mutated changes: a refused message has no effect, an accepted one leaves a
//! consistent document, and sync with the next peer still works.

use hashmill_doc::sync::{Message, MessageVersion, State, SyncDoc as _};
use hashmill_doc::{ActorId, ApplyError, ChangeHash, Document, ROOT, Transactable as _};

use crate::accepted::{accepted, same};
use crate::targets::doc::{LIMITS, refused, small_within};
use crate::verdict::Verdict;

/// Maximum number of rounds until a sync ends.
const ROUNDS: usize = 12;

/// The first byte says whether the rest is a message or the chunks in one, and whether the receiver spoke first.
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
    let (before, said) = (doc.clone(), state.clone());
    let received = match doc.receive_sync_message(&mut state, message) {
        Ok(received) => received,
        Err(error) => {
            assert_eq!(state, said, "what cannot be read leaves something");
            return refused(&doc, &before, &error);
        }
    };
    accepted(&doc);
    // Whatever was said, there is an answer to it or none.
    if let Some(answer) = doc.generate_sync_message(&mut state) {
        assert_eq!(Message::decode(&answer.encode()), Ok(answer));
    }
    assert_eq!(State::decode(&state.encode()).map(|state| state.encode()), Ok(state.encode()));
    let limited = received.refused.iter().any(|(_, why)| matches!(why, ApplyError::Limit(_)));
    if !limited {
        meet(&mut doc);
    }
    if doc.get_heads() == before.get_heads() && received.waiting.is_empty() {
        Verdict::Refused
    } else {
        Verdict::Accepted
    }
}

/// Syncs with a peer who has something else that is new.
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

/// Gives whether a limit was reached: what is too much for one call may have been enough for several.
fn hear(doc: &mut Document, state: &mut State, message: Message) -> bool {
    let before = doc.clone();
    match doc.receive_sync_message(state, message) {
        Ok(received) => {
            let limit = |(_, why): &(ChangeHash, ApplyError)| matches!(why, ApplyError::Limit(_));
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
