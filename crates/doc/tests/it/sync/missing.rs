//! Changes requested by hash: dependencies of refused changes only, and changes that never arrive.

use std::collections::BTreeSet;

use hashmill_doc::sync::{Message, MessageFlags, State, StateParts, SyncDoc as _};
use hashmill_doc::{ActorId, Change, ChangeHash, Document, Limits, LoadOptions, ROOT, Transactable as _};

use crate::Rng;
use crate::support::worlds::for_all;

/// Limits that a change exceeds or not, independent of the document.
fn limits() -> Limits {
    Limits { operations: 8, inflated_bytes: 1 << 16, ..Limits::default() }
}

fn doc(actor: u8) -> Document {
    Document::new().with_actor(ActorId::from([actor]))
}

fn limited() -> Document {
    Document::load_with(&[], LoadOptions::new().limits(limits()).actor(ActorId::from([9]))).unwrap()
}

fn put(doc: &mut Document, value: i64) -> ChangeHash {
    doc.transact(|tx| tx.put(ROOT, "key", value)).unwrap();
    doc.get_heads()[0]
}

/// A change beyond the limits: with too many operations, or with too many bytes.
fn exceed(doc: &mut Document, long: bool) -> ChangeHash {
    doc.transact(|tx| match long {
        true => tx.put(ROOT, "long", "long ".repeat(20_000)),
        false => (0..10_i64).try_for_each(|key| tx.put(ROOT, format!("{key}"), key)),
    })
    .unwrap();
    doc.get_heads()[0]
}

/// A message with the heads of a peer and some of its changes.
fn message(peer: &Document, hashes: &[ChangeHash], deflated: bool) -> Message {
    let changes = hashes.iter().filter_map(|hash| peer.get_change_by_hash(hash));
    let mut message = Message::default();
    message.heads = peer.get_heads().into();
    message.flags = Some(MessageFlags::SUPPORTS_SYNC_RESET);
    message.changes =
        changes.map(|change| if deflated { change.bytes() } else { change.raw_bytes() }).collect();
    message
}

/// Receives a message, with a state rebuilt from its parts.
fn receive(doc: &mut Document, state: &mut State, message: Message) -> Vec<ChangeHash> {
    let again = State::from(StateParts::from(&*state));
    assert_eq!(again, *state);
    let received = doc.receive_sync_message(state, message).unwrap();
    received.refused.into_iter().map(|(hash, _)| hash).collect()
}

/// The changes within the limits that depend on no change beyond them.
fn takeable(changes: &[Change]) -> BTreeSet<ChangeHash> {
    let mut all = BTreeSet::new();
    for change in changes {
        let within = change.len() as u64 <= limits().operations
            && change.raw_bytes().len() as u64 <= limits().inflated_bytes;
        if within && change.deps().iter().all(|dep| all.contains(dep)) {
            all.insert(change.hash());
        }
    }
    all
}

/// Three writers of some changes beyond the limits, merged.
fn written(rng: &mut Rng) -> Document {
    let mut writers = [doc(1), doc(2), doc(3)];
    for number in 0..30 {
        let who = rng.below(3);
        if rng.below(4) == 0 {
            let other = writers[(who + 1) % 3].fork();
            writers[who].merge(&other).unwrap();
        }
        match rng.below(4) {
            0 => exceed(&mut writers[who], rng.below(2) == 0),
            _ => put(&mut writers[who], number),
        };
    }
    let [mut all, second, third] = writers;
    all.merge(&second).unwrap();
    all.merge(&third).unwrap();
    all
}

/// A peer sends the requested changes and some others, as if its summary of the rest were a false positive.
fn world(seed: u64) -> usize {
    let rng = &mut Rng::new(seed);
    let peer = written(rng);
    let changes = peer.get_changes(&[]);
    let (mut here, mut state, mut refused) = (limited(), State::new(), BTreeSet::new());
    let mut hashes: Vec<ChangeHash> = changes.iter().map(Change::hash).collect();
    hashes.retain(|_| rng.below(3) == 0);
    for round in 0.. {
        assert!(round < 60, "{seed}: sync does not terminate");
        refused.extend(receive(&mut here, &mut state, message(&peer, &hashes, rng.below(2) == 0)));
        let Some(call) = here.generate_sync_message(&mut state) else { break };
        hashes = call.need.to_vec();
    }
    let came: BTreeSet<ChangeHash> = here.get_changes(&[]).iter().map(Change::hash).collect();
    assert_eq!(came, takeable(&changes), "{seed}");
    assert!(refused.is_disjoint(&came), "{seed}");
    here.check(true);
    changes.len()
}

#[test]
fn dependencies_of_refused_changes_are_requested() {
    for_all("sync with summaries that contain everything", 0..100, world);
}

/// Exchanges messages until silence, with a peer that sends only its heads; returns the requests of each.
fn unanswered_requests(here: &mut Document, state: &mut State, peer: &Document) -> Vec<Vec<ChangeHash>> {
    let mut requests = vec![];
    while let Some(call) = here.generate_sync_message(state) {
        assert!(requests.len() < 20, "sync does not terminate");
        requests.push(call.need.to_vec());
        receive(here, state, message(peer, &[], false));
    }
    requests
}

#[test]
fn unanswered_requests_are_given_up() {
    for deflated in [false, true] {
        let mut peer = doc(1);
        let first = put(&mut peer, 1);
        let large = exceed(&mut peer, deflated);
        // The head is refused, and its dependency does not arrive; later, the head does not arrive either.
        let (mut here, mut state) = (limited(), State::new());
        let refused = receive(&mut here, &mut state, message(&peer, &[large], deflated));
        assert_eq!(refused, [large]);
        let requests = unanswered_requests(&mut here, &mut state, &peer);
        assert!(
            (3..10).contains(&requests.len()) && requests[..3].iter().all(|need| *need == [first]),
            "{requests:?}"
        );
        let last = put(&mut peer, 2);
        receive(&mut here, &mut state, message(&peer, &[], false));
        let requests = unanswered_requests(&mut here, &mut state, &peer);
        assert!(
            (3..10).contains(&requests.len()) && requests[..3].iter().all(|need| *need == [last]),
            "{requests:?}"
        );
        // It is still applied when it arrives.
        receive(&mut here, &mut state, message(&peer, &[first], deflated));
        assert_eq!(here.get_heads(), [first]);
    }
}

/// Exchanges messages until both are silent. While an answer is awaited, no message is generated.
fn talk((a, of_b): (&mut Document, &mut State), (b, of_a): (&mut Document, &mut State)) {
    for _ in 0..20 {
        let [call, answer] = [(&*a, &mut *of_b), (&*b, &mut *of_a)].map(|(doc, state)| {
            let message = doc.generate_sync_message(state);
            assert_eq!(doc.generate_sync_message(state), None, "while an answer is awaited");
            message
        });
        if call.is_none() && answer.is_none() {
            return;
        }
        call.into_iter().for_each(|message| drop(receive(b, of_a, message)));
        answer.into_iter().for_each(|message| drop(receive(a, of_b, message)));
    }
    panic!("sync does not terminate");
}

/// A change that was sent, and dropped here in another session, is sent again.
#[test]
fn changes_dropped_in_another_session_are_sent_again() {
    let mut peer = doc(1);
    let large = exceed(&mut peer, true);
    let mut other = doc(2);
    let small = put(&mut other, 1);
    peer.merge(&other).unwrap();
    let last = put(&mut peer, 2);
    let (mut here, mut of_peer, mut of_here) = (limited(), State::new(), State::new());
    // The last change is queued here, and the peer knows that it was sent.
    let mut call = Message::default();
    call.need = vec![last].into();
    peer.receive_sync_message(&mut of_here, call).unwrap();
    let answer = peer.generate_sync_message(&mut of_here).unwrap();
    assert_eq!(answer.changes.len(), 1);
    receive(&mut here, &mut of_peer, answer);
    // Another peer sends its dependency, which is refused.
    receive(&mut here, &mut State::new(), message(&peer, &[large], false));
    talk((&mut here, &mut of_peer), (&mut peer, &mut of_here));
    assert_eq!(here.get_heads(), [small]);
}

#[test]
fn dependencies_of_refused_changes_are_bounded() {
    let mut peer = doc(1);
    exceed(&mut peer, false);
    let mut change = peer.get_last_local_change().unwrap().decode();
    let (mut here, mut state) = (limited(), State::new());
    for round in 0..4_u32 {
        change.deps = (0..3000_u32)
            .map(|number| {
                let mut hash = [round as u8; 32];
                hash[..4].copy_from_slice(&number.to_be_bytes());
                ChangeHash(hash)
            })
            .collect();
        let mut message = message(&peer, &[], false);
        message.changes = vec![Change::try_from(&change).unwrap().raw_bytes()];
        assert_eq!(receive(&mut here, &mut state, message).len(), 1);
        let requests = here.generate_sync_message(&mut state).unwrap().need.len();
        assert!((3000..=4097).contains(&requests), "{requests}");
    }
    receive(&mut here, &mut state, message(&peer, &[], false));
    assert!(unanswered_requests(&mut here, &mut state, &peer).len() > 3);
    let StateParts { refused_deps, given_up, .. } = StateParts::from(&state);
    assert!([refused_deps, given_up].iter().all(|hashes| hashes.len() <= 4096));
}

/// A new document with limits, whose peer was in step with a document without limits.
#[test]
fn peer_that_shared_a_refused_change_sends_the_rest() {
    for seed in 0..20 {
        let rng = &mut Rng::new(seed);
        let mut peer = written(rng);
        let (mut before, mut of_peer, mut of_here) = (doc(8), State::new(), State::new());
        talk((&mut before, &mut of_peer), (&mut peer, &mut of_here));
        let mut of_here = State::decode(&of_here.encode()).unwrap();
        assert_eq!(of_here.shared_heads(), peer.get_heads());
        let (mut here, mut of_peer) = (limited(), State::new());
        let own = put(&mut here, -1);
        talk((&mut here, &mut of_peer), (&mut peer, &mut of_here));
        let mut expected = takeable(&peer.get_changes(&[]));
        expected.insert(own);
        let came: BTreeSet<ChangeHash> = here.get_changes(&[]).iter().map(Change::hash).collect();
        assert_eq!(came, expected, "{seed}");
    }
}

/// The number of shared heads does not grow with each change while the peer has a refused one.
#[test]
fn shared_heads_stay_few_despite_a_refused_change() {
    let (mut peer, mut here) = (doc(1), limited());
    exceed(&mut peer, false);
    let (mut of_peer, mut of_here) = (State::new(), State::new());
    for round in 0..100 {
        put(&mut here, round);
        talk((&mut here, &mut of_peer), (&mut peer, &mut of_here));
        assert_eq!(peer.get_heads().len(), 2);
        let few = of_peer.shared_heads().len();
        assert!(few <= 20, "{round}: {few}");
    }
}

/// A peer without resets sees no heads when it must forget what it has sent. They are told after its answer.
#[test]
fn hidden_heads_are_sent_after_the_answer() {
    let (mut here, mut peer) = (doc(1), doc(2));
    let (mut of_peer, mut of_here) = (State::new(), State::new());
    // An older peer sends no flags and ignores those that it receives.
    let exchange = |here: &mut Document, of_peer: &mut State, peer: &mut Document, of_here: &mut State| {
        for round in 0.. {
            assert!(round < 10, "messages without end");
            let call = here.generate_sync_message(of_peer);
            let answer = peer.generate_sync_message(of_here);
            if call.is_none() && answer.is_none() {
                break;
            }
            for (doc, state, message) in
                [(&mut *peer, &mut *of_here, call), (&mut *here, &mut *of_peer, answer)]
            {
                if let Some(mut message) = message {
                    message.flags = None;
                    receive(doc, state, message);
                }
            }
        }
    };
    for value in 0..3 {
        put(&mut here, value);
        put(&mut peer, 10 + value);
        exchange(&mut here, &mut of_peer, &mut peer, &mut of_here);
        assert_eq!(here.get_heads(), peer.get_heads());
        of_peer.restart();
        let mut hiding = here.generate_sync_message(&mut of_peer).unwrap();
        assert!(hiding.heads.is_empty());
        assert_eq!(here.generate_sync_message(&mut of_peer), None, "the answer is awaited");
        hiding.flags = None;
        receive(&mut peer, &mut of_here, hiding);
        exchange(&mut here, &mut of_peer, &mut peer, &mut of_here);
        assert_eq!(of_here.their_heads(), Some(&here.get_heads()[..]));
    }
}

/// A restart when no message of the peer has been received yet. It is not known whether the peer understands resets, and a peer
/// without changes does not answer when heads are hidden from it.
#[test]
fn a_peer_without_messages_is_synced_after_a_restart() {
    for (has_changes, resets, first_arrives) in for_each_of_three_flags() {
        let case = format!(
            "peer has changes: {has_changes}, resets {resets}, first message arrives: {first_arrives}"
        );
        let (mut here, mut peer) = (doc(1), doc(2));
        put(&mut here, 1);
        if has_changes {
            put(&mut peer, 2);
        }
        let (mut of_peer, mut of_here) = (State::new(), State::new());
        let deliver = |doc: &mut Document, state: &mut State, mut message: Message| {
            message.flags = message.flags.filter(|_| resets);
            receive(doc, state, message);
        };
        let first = here.generate_sync_message(&mut of_peer).expect("heads are told");
        if first_arrives {
            deliver(&mut peer, &mut of_here, first);
        }
        // The peer's message is lost, with the changes in it.
        peer.generate_sync_message(&mut of_here).expect("heads are told");
        of_peer.restart();
        for messages in 0.. {
            assert!(messages < 20, "{case}: messages without end");
            if let Some(message) = here.generate_sync_message(&mut of_peer) {
                deliver(&mut peer, &mut of_here, message);
            } else if let Some(message) = peer.generate_sync_message(&mut of_here) {
                deliver(&mut here, &mut of_peer, message);
            } else {
                break;
            }
        }
        assert_eq!(here.get_heads(), peer.get_heads(), "{case}");
        assert_eq!(of_peer.their_heads(), Some(&here.get_heads()[..]), "{case}");
        assert_eq!(of_here.their_heads(), Some(&here.get_heads()[..]), "{case}");
    }
}

/// A program closes a document and opens it again, or another copy, on one connection. The peer believes that what it sent in
/// between arrived. The new state may be empty or continue from shared heads, and the peer understands resets or not.
#[test]
fn changes_that_went_to_an_earlier_state_are_sent_again() {
    for (resets, from_shared, copy) in for_each_of_three_flags() {
        let case = format!("resets {resets}, shared heads {from_shared}, older copy {copy}");
        let (mut here, mut peer) = (doc(1), doc(2));
        let (mut of_peer, mut of_here) = (State::new(), State::new());
        let exchange =
            |here: &mut Document, of_peer: &mut State, peer: &mut Document, of_here: &mut State| {
                for messages in 0.. {
                    let call = here.generate_sync_message(of_peer);
                    let answer = peer.generate_sync_message(of_here);
                    if call.is_none() && answer.is_none() {
                        return messages;
                    }
                    assert!(messages < 20, "{case}: messages without end");
                    for (doc, state, message) in
                        [(&mut *peer, &mut *of_here, call), (&mut *here, &mut *of_peer, answer)]
                    {
                        if let Some(mut message) = message {
                            message.flags = message.flags.filter(|_| resets);
                            receive(doc, state, message);
                        }
                    }
                }
                unreachable!("the loop has no end")
            };
        put(&mut peer, 1);
        let older = here.clone();
        put(&mut here, 2);
        exchange(&mut here, &mut of_peer, &mut peer, &mut of_here);
        for round in 0..3 {
            // Changes that are sent while the document is closed.
            put(&mut peer, 10 + round);
            assert!(peer.generate_sync_message(&mut of_here).is_some());
            let mut state =
                if from_shared { State::decode(&of_peer.encode()).unwrap() } else { State::new() };
            state.restart_after(&of_peer);
            of_peer = state;
            if copy && !from_shared {
                here = older.clone();
            }
            let messages = exchange(&mut here, &mut of_peer, &mut peer, &mut of_here);
            assert_eq!(here.get_heads(), peer.get_heads(), "{case}");
            assert!(messages <= 3, "{case}: {messages} rounds of messages");
        }
    }
    // A peer that was told nothing has sent nothing.
    let mut state = State::new();
    state.restart_after(&State::new());
    assert_eq!(state, State::new());
}

fn for_each_of_three_flags() -> impl Iterator<Item = (bool, bool, bool)> {
    (0..8).map(|bits| (bits & 1 > 0, bits & 2 > 0, bits & 4 > 0))
}
