//! Many writers of one document, connected to a hub with a state for each, over connections that break.

use std::collections::VecDeque;

use hashmill_doc::sync::{BloomFilter, Have, Message, MessageFlags, State, SyncDoc as _};
use hashmill_doc::{
    ActorId, Change, ChangeHash, Document, ObjId, ObjType, ROOT, ReadDoc as _, Transactable as _,
};

use hashmill_testkit::size;

use crate::Rng;

/// One writer, the hub's state for it, and the messages in transit between both.
struct Person {
    doc: Document,
    of_hub: State,
    at_hub: State,
    to_hub: VecDeque<Vec<u8>>,
    from_hub: VecDeque<Vec<u8>>,
}

struct Hub {
    doc: Document,
    text: ObjId,
    people: Vec<Person>,
    /// Hash that the hub must not name or send to any writer.
    refused: Option<ChangeHash>,
}

impl Hub {
    fn with(people: u8) -> Self {
        let mut doc = Document::new().with_actor(ActorId::from([0]));
        let text = doc.transact(|tx| tx.put_object(ROOT, "text", ObjType::Text)).unwrap();
        doc.transact(|tx| tx.splice_text(&text, 0, 0, &"what was there before ".repeat(20))).unwrap();
        let person = |number: u8| Person {
            doc: Document::new().with_actor(ActorId::from([number + 1])),
            of_hub: State::new(),
            at_hub: State::new(),
            to_hub: VecDeque::new(),
            from_hub: VecDeque::new(),
        };
        Self { doc, text, people: (0..people).map(person).collect(), refused: None }
    }

    fn everybody(&self) -> std::ops::Range<usize> {
        0..self.people.len()
    }

    /// Queues the next message of the hub to a writer, and that of the writer to the hub.
    fn speak(&mut self, who: usize) {
        let person = &mut self.people[who];
        if let Some(message) = self.doc.generate_sync_message(&mut person.at_hub) {
            // A refused change is not mentioned to others.
            let named = |hashes: &[ChangeHash]| self.refused.is_some_and(|bad| hashes.contains(&bad));
            assert!(!named(&message.heads) && !named(&message.need), "{message:?}");
            person.from_hub.push_back(message.encode());
        }
        let to_hub = person.doc.generate_sync_message(&mut person.of_hub);
        person.to_hub.extend(to_hub.map(|message| message.encode()));
    }

    /// Delivers a message to the hub; a new change causes messages to all writers.
    fn hear(&mut self, who: usize, bytes: &[u8]) {
        let before = self.doc.get_heads();
        let message = Message::decode(bytes).unwrap();
        let received = self.doc.receive_sync_message(&mut self.people[who].at_hub, message).unwrap();
        assert!(received.refused.is_empty(), "{received:?}");
        match before == self.doc.get_heads() {
            true => self.speak(who),
            false => self.everybody().for_each(|who| self.speak(who)),
        }
    }

    fn tell(&mut self, who: usize, bytes: &[u8]) {
        let Person { doc, of_hub, .. } = &mut self.people[who];
        let received = doc.receive_sync_message(of_hub, Message::decode(bytes).unwrap()).unwrap();
        assert!(received.refused.is_empty(), "{received:?}");
        self.speak(who);
    }

    /// Breaks the connection and loses the messages in transit. Each side continues with its stored state, or with a
    /// new one.
    fn reconnect(&mut self, who: usize, rng: &mut Rng) {
        let mut again = |state: &State| match rng.below(3) {
            0 => State::new(),
            _ => State::decode(&state.encode()).unwrap(),
        };
        let person = &mut self.people[who];
        (person.of_hub, person.at_hub) = (again(&person.of_hub), again(&person.at_hub));
        person.to_hub.clear();
        person.from_hub.clear();
        self.speak(who);
    }

    fn write(&mut self, who: usize, rng: &mut Rng) {
        let Person { doc, .. } = &mut self.people[who];
        // A writer that has received nothing has no text.
        if doc.get(ROOT, "text").unwrap().is_none() {
            return;
        }
        let (length, text) = (doc.length(&self.text), &self.text);
        let (at, delete) = (rng.below(length), rng.below(4) / 3);
        let letter = char::from(b'a' + rng.below(26) as u8).to_string();
        doc.transact(|tx| tx.splice_text(text, at, delete as isize, &letter)).unwrap();
        self.speak(who);
    }

    /// One random event.
    fn step(&mut self, rng: &mut Rng) {
        let who = rng.below(self.people.len());
        match rng.below(40) {
            0..6 => self.write(who, rng),
            6 => self.reconnect(who, rng),
            kind => {
                let to_hub = kind % 2 == 0;
                let person = &mut self.people[who];
                let wire = if to_hub { &mut person.to_hub } else { &mut person.from_hub };
                let Some(bytes) = wire.pop_front() else { return };
                // Sometimes a message is delivered twice.
                for _ in 0..1 + rng.below(12) / 11 {
                    if to_hub { self.hear(who, &bytes) } else { self.tell(who, &bytes) }
                }
            }
        }
    }

    /// Delivers all messages until none is left.
    fn settle(&mut self) {
        self.everybody().for_each(|who| self.speak(who));
        for round in 0.. {
            assert!(round < 100, "sync does not terminate");
            let mut silent = true;
            for who in self.everybody() {
                while let Some(bytes) = self.people[who].to_hub.pop_front() {
                    silent = false;
                    self.hear(who, &bytes);
                }
                while let Some(bytes) = self.people[who].from_hub.pop_front() {
                    silent = false;
                    self.tell(who, &bytes);
                }
            }
            if silent {
                return;
            }
        }
    }

    fn all_have_the_same(&self) {
        let (heads, text) = (self.doc.get_heads(), self.doc.text(&self.text).unwrap());
        for (who, person) in self.people.iter().enumerate() {
            assert_eq!(person.doc.get_heads(), heads, "{who}");
            assert_eq!(person.doc.text(&self.text).unwrap(), text, "{who}");
            assert!(self.doc.has_our_changes(&person.at_hub), "{who}");
        }
        self.doc.check(true);
    }
}

/// Checks convergence. The hub answers every new change of a writer to all of them, so the cost grows with the square
/// of their number.
fn have_the_same_whatever_is_lost_or_comes_twice(people: u8, steps: usize, seed: u64) {
    let (mut hub, mut rng) = (Hub::with(people), Rng::new(seed));
    hub.everybody().for_each(|who| hub.speak(who));
    (0..steps).for_each(|_| hub.step(&mut rng));
    let written = hub.doc.get_changes(&[]).len();
    assert!(written > 100, "{written}");
    // A silently lost message keeps a connection silent, so every writer reconnects.
    hub.everybody().for_each(|who| hub.reconnect(who, &mut rng));
    hub.settle();
    hub.all_have_the_same();
}

#[test]
fn fifty_peers_converge_despite_lost_and_repeated_messages() {
    have_the_same_whatever_is_lost_or_comes_twice(50, size::of(2000, 3000), 1);
}

#[test]
fn few_peers_converge_despite_lost_and_repeated_messages() {
    (2..size::of(4, 8)).for_each(|seed| have_the_same_whatever_is_lost_or_comes_twice(12, 3000, seed));
}

/// An invalid change of a writer, and a change that depends on it.
fn poison(doc: &Document) -> [Change; 2] {
    use hashmill_doc::legacy::{Op, OpId};
    let mut fork = doc.fork().with_actor(ActorId::from([200]));
    fork.transact(|tx| tx.put(ROOT, "poison", 1)).unwrap();
    let mut change = fork.get_last_local_change().unwrap().decode();
    let op = change.operations.pop().unwrap();
    let unknown_op = OpId::new(1, &ActorId::from([201]));
    change.operations.push(Op { pred: vec![unknown_op], ..op });
    let bad = Change::try_from(&change).unwrap();
    fork.transact(|tx| tx.put(ROOT, "sound", 2)).unwrap();
    let mut after = fork.get_last_local_change().unwrap().decode();
    after.deps = vec![bad.hash()];
    [bad, Change::try_from(&after).unwrap()]
}

#[test]
fn invalid_change_of_one_peer_does_not_block_others() {
    let (mut hub, mut rng) = (Hub::with(12), Rng::new(7));
    hub.settle();
    hub.all_have_the_same();
    (0..500).for_each(|_| hub.step(&mut rng));
    let [bad, after] = poison(&hub.doc);
    let mut message = Message::default();
    message.heads = vec![after.hash()].into();
    message.flags = Some(MessageFlags::SUPPORTS_SYNC_RESET);
    let bloom = BloomFilter::from_hashes([bad.hash(), after.hash()].into_iter());
    message.have = vec![Have { last_sync: hub.doc.get_heads().into(), bloom }].into();
    message.changes = vec![bad.raw_bytes(), after.raw_bytes()];
    hub.refused = Some(bad.hash());
    for _ in 0..3 {
        let heads = hub.doc.get_heads();
        let received = hub.doc.receive_sync_message(&mut hub.people[7].at_hub, message.clone()).unwrap();
        assert_eq!(received.refused[0].0, bad.hash());
        assert_eq!(hub.doc.get_heads(), heads);
        hub.everybody().for_each(|who| hub.speak(who));
        (0..1000).for_each(|_| hub.step(&mut rng));
    }
    // The sender reconnects without it.
    hub.everybody().for_each(|who| hub.reconnect(who, &mut rng));
    hub.settle();
    hub.all_have_the_same();
    assert!(hub.doc.get(ROOT, "sound").unwrap().is_none());
}
