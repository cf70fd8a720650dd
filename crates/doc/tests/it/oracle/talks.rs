//! Sync between two engines, and between the engine and a change set without summaries. In the end both have the union
//! of the changes, as computed by the oracle.

use std::collections::BTreeSet;

use hashmill_doc::sync::{Have, Message, MessageFlags, SmallList, State, SyncDoc};
use hashmill_doc::{ChangeHash, Document};
use hashmill_testkit::Rng;
use hashmill_testkit::doc::forge::Forge;
use hashmill_testkit::doc::{Change, Hash, History, MOST, chunks};

use super::compare::{agree_now, deliver, each, hash_of};

/// A peer made of the oracle: it sends its heads, requests missing changes by hash, and sends what the other peer seems
/// to lack.
#[derive(Default)]
struct Plain {
    history: History,
    /// Heads and requests in the last received message.
    last_received: Option<(Vec<Hash>, Vec<Hash>)>,
    sent: BTreeSet<Hash>,
    /// Heads and requests in the last sent message, to stop when there is nothing new.
    last_sent: Option<(Vec<Hash>, Vec<Hash>)>,
}

impl Plain {
    fn has(&self, hash: &Hash) -> bool {
        self.history.changes().iter().any(|change| change.hash == *hash)
    }

    fn speak(&mut self) -> Option<Message> {
        let heads = self.history.heads();
        let mut need = self.history.missing();
        let mut changes = vec![];
        if let Some((their_heads, their_need)) = &self.last_received {
            need.extend(their_heads.iter().filter(|head| !self.has(head)));
            let known: Vec<Hash> = their_heads.iter().filter(|head| self.has(head)).copied().collect();
            let known = self.history.before(&known).expect("heads that are here");
            let known: BTreeSet<Hash> = known.iter().map(|change| change.hash).collect();
            let lacks = |change: &&Change| {
                their_need.contains(&change.hash)
                    || !known.contains(&change.hash) && !self.sent.contains(&change.hash)
            };
            changes = self.history.changes().iter().filter(lacks).cloned().collect();
        }
        need.sort_unstable();
        need.dedup();
        let last_sent = Some((heads.clone(), need.clone()));
        if changes.is_empty() && self.last_sent == last_sent {
            return None;
        }
        self.last_sent = last_sent;
        self.sent.extend(changes.iter().map(|change| change.hash));
        let mut message = Message::default();
        message.heads = heads.iter().map(hash_of).collect();
        message.need = need.iter().map(hash_of).collect();
        message.have = SmallList::one(Have::default());
        message.changes = changes.iter().map(Change::bytes).collect();
        message.flags = Some(MessageFlags::SUPPORTS_SYNC_RESET);
        Some(message)
    }

    fn hear(&mut self, message: &Message) {
        for entry in &message.changes {
            // A whole document is a change set, too.
            let read = History::load(entry, MOST);
            let changes: Vec<Change> = match read {
                Ok(history) => history.changes().iter().chain(history.waiting()).cloned().collect(),
                Err(_) => chunks(entry)
                    .expect("chunks")
                    .iter()
                    .map(|chunk| Change::read(&chunk.body, MOST).expect("a change"))
                    .collect(),
            };
            changes.into_iter().for_each(|change| self.history.deliver(change));
        }
        let plain = |hashes: &[ChangeHash]| hashes.iter().map(|hash| hash.0).collect::<Vec<Hash>>();
        self.last_received = Some((plain(&message.heads), plain(&message.need)));
    }
}

/// A history of some writers, and two subsets of its changes, each complete with dependencies.
fn apart(seed: u64) -> [(Document, History); 2] {
    let (mut rng, mut forge) = (Rng::new(seed), Forge::new(seed, History::new()));
    let count = [3, 12, 40][seed as usize % 3];
    let changes: Vec<Change> = (0..count).map(|_| forge.change(4, 0)).collect();
    let of_forge = &forge.history;
    [(); 2].map(|()| {
        let heads: Vec<Hash> = (0..rng.below(4)).map(|_| changes[rng.below(count)].hash).collect();
        let (mut doc, mut history) = (Document::new(), History::new());
        for change in of_forge.before(&heads).expect("changes of the forge") {
            deliver(&mut doc, &mut history, change);
        }
        (doc, history)
    })
}

/// Union of both histories.
fn union(one: &History, other: &History) -> History {
    let mut all = one.clone();
    other.changes().iter().for_each(|change| all.deliver(change.clone()));
    all
}

#[test]
fn sync_of_two_engines_reaches_the_union() {
    each(0..60, |seed| {
        let [(mut a, of_a), (mut b, of_b)] = apart(seed);
        let all = union(&of_a, &of_b);
        let (mut to_b, mut to_a) = (State::new(), State::new());
        let mut silent = 0;
        for _ in 0..40 {
            let words = a.generate_sync_message(&mut to_b);
            silent = if words.is_some() { 0 } else { silent + 1 };
            if let Some(message) = words {
                // As bytes, as in a transport.
                let message = Message::decode(&message.encode()).expect("a message");
                b.receive_sync_message(&mut to_a, message).expect("a message");
            }
            std::mem::swap(&mut a, &mut b);
            std::mem::swap(&mut to_a, &mut to_b);
            if silent == 2 {
                break;
            }
        }
        assert_eq!(silent, 2, "sync does not terminate");
        agree_now(&a, &all, "one of two");
        agree_now(&b, &all, "the other of two");
        assert!(a.has_our_changes(&to_b) && b.has_our_changes(&to_a));
    });
}

#[test]
fn sync_of_an_engine_and_a_change_set_reaches_the_union() {
    each(0..60, |seed| {
        let [(mut doc, of_doc), (_, history)] = apart(1000 + seed);
        let all = union(&of_doc, &history);
        let (mut state, mut plain) = (State::new(), Plain { history, ..Plain::default() });
        let mut silent = 0;
        for turn in 0..40 {
            let quiet = if (turn + seed) % 2 == 0 {
                let words = doc.generate_sync_message(&mut state);
                words.iter().for_each(|message| plain.hear(message));
                words.is_none()
            } else {
                let words = plain.speak();
                let quiet = words.is_none();
                if let Some(message) = words {
                    doc.receive_sync_message(&mut state, message).expect("a message");
                }
                quiet
            };
            silent = if quiet { silent + 1 } else { 0 };
            if silent == 2 {
                break;
            }
        }
        assert_eq!(silent, 2, "sync does not terminate");
        agree_now(&doc, &all, "the engine");
        assert_eq!(plain.history.state(), all.state(), "the set of changes");
    });
}
