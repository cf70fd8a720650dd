//! Simulation of a sync hub with many typists in one document. The hub has a copy and a sync state for each typist. Each typist has
//! a copy, types six keys a second at their own position, one change per key, and receives the others' changes through the hub.
//! Messages have a network delay, so changes are concurrent.
//!
//! The hub produces patches for each received message (as a server that saves or displays the document would) and answers all
//! typists. Two workloads of one second of typing: the hub alone, which is the work of a server, and the hub with all typists.
//!
//! For the hub alone, the typists' messages are recorded first by Hashmill's engine and replayed to every engine: all get the same
//! messages and must send the same number.

use crate::doc::case::{Answer, Case, prepared};
use crate::doc::engine::{Patch, Shared, Synced, Texts as _};
use crate::doc::hashmill::Hashmill;
use std::collections::VecDeque;
use std::hint::black_box;
use std::rc::Rc;

/// Keys per typist and second.
const KEYS_PER_SECOND: usize = 6;
/// Interval of backspaces, in keys.
const BACKSPACE_INTERVAL: usize = 4;
/// Characters typed beforehand by all typists in turn, one change each.
const EARLIER_CHARS: usize = 10_000;
/// Time between two keys of a typist, in microseconds.
const KEY_INTERVAL_US: u64 = 1_000_000 / KEYS_PER_SECOND as u64;
/// Network delay of a message, in microseconds.
const NETWORK_DELAY_US: u64 = 25_000;
/// Each typist types one key before the measured second, so that copies have diverged and messages are in flight.
const STRIKES: usize = KEYS_PER_SECOND + 1;
/// Actor of the hub; no typist has this number.
const HUB: u8 = 255;
/// Maximum number of typists.
const MAX_TYPISTS: usize = 200;

/// The final text of all copies.
#[must_use]
pub(super) fn text(typists: usize) -> String {
    let typed = |typist: usize| {
        let before = (0..EARLIER_CHARS / typists).map(|turn| letter(typist, turn));
        let mut text: String = before.collect();
        for strike in 0..STRIKES {
            match is_backspace(strike) {
                true => drop(text.pop()),
                false => text.push(letter(typist, strike)),
            }
        }
        text
    };
    (0..typists).map(typed).collect()
}

fn letter(typist: usize, number: usize) -> char {
    char::from(b'a' + ((typist * 7 + number * 5) % 26) as u8)
}

fn is_backspace(strike: usize) -> bool {
    strike % BACKSPACE_INTERVAL == BACKSPACE_INTERVAL - 1
}

fn actor_of(typist: usize) -> u8 {
    typist as u8 + 1
}

/// The saved document at the start of the simulation.
fn saved_document(typists: usize) -> Vec<u8> {
    let mut doc = Hashmill::blank(HUB);
    for turn in 0..EARLIER_CHARS / typists {
        for typist in 0..typists {
            // The typists before this one have typed their letter of this turn.
            let at = typist * (turn + 1) + turn;
            doc.write_as(actor_of(typist));
            doc.edit(&[Patch { at, delete: 0, insert: letter(typist, turn).into() }]);
        }
    }
    doc.save()
}

/// Work of the hub for one second of typing.
pub(super) fn hub<E: Synced + Shared>(typists: usize) -> Option<Case> {
    let record = Rc::new(Record::new(typists)?);
    let mut ready: Hub<E> = record.hub();
    let again = Rc::clone(&record);
    let make = move || {
        let mut hub = ready.fork();
        hub.play(&again.first);
        hub
    };
    Some(prepared(make, move |hub| {
        hub.messages_sent = 0;
        hub.play(&record.second);
        assert_eq!(hub.messages_sent, record.messages_sent, "messages of the hub");
        hub.doc.text()
    }))
}

/// Work of the hub and all typists for one second of typing.
pub(super) fn hub_and_typists<E: Synced + Shared>(typists: usize) -> Option<Case> {
    let mut ready: Session<E> = Session::new(typists, &checked_document(typists)?);
    let make = move || {
        let mut session = ready.fork();
        session.play(KEY_INTERVAL_US);
        session
    };
    Some(prepared(make, |session| {
        session.play(u64::MAX);
        session.common_text()
    }))
}

fn checked_document(typists: usize) -> Option<Vec<u8>> {
    (1..=MAX_TYPISTS).contains(&typists).then(|| saved_document(typists))
}

/// The hub: a copy of the document and a sync state for each typist.
struct Hub<E: Synced> {
    doc: E,
    peers: Vec<E::Peer>,
    /// Number of messages sent.
    messages_sent: usize,
}

impl<E: Synced + Shared> Hub<E> {
    fn new(typists: usize, saved: &[u8]) -> Self {
        Self { doc: E::load(saved), peers: vec![E::Peer::default(); typists], messages_sent: 0 }
    }

    fn fork(&mut self) -> Self {
        Self { doc: self.doc.fork(HUB), peers: self.peers.clone(), messages_sent: 0 }
    }

    /// Receives a message, produces patches, and sends answers: to all typists if something changed, otherwise to the sender.
    fn receive(&mut self, from: usize, message: &[u8], mut send: impl FnMut(usize, Vec<u8>)) {
        let show = |at, deleted, inserted| {
            black_box((at, deleted, inserted));
        };
        let is_new = self.doc.receive_with_view(&mut self.peers[from], message, show);
        let to = if is_new { 0..self.peers.len() } else { from..from + 1 };
        for typist in to {
            if let Some(message) = self.doc.next_message(&mut self.peers[typist]) {
                self.messages_sent += 1;
                send(typist, message);
            }
        }
    }

    fn play(&mut self, messages: &[Message]) {
        for (from, message) in messages {
            self.receive(*from, message, |to, message| drop(black_box((to, message))));
        }
    }
}

/// A message with its sending or receiving typist.
type Message = (usize, Vec<u8>);

struct Typist<E: Synced> {
    doc: E,
    hub: E::Peer,
    /// Typing position, after the text typed before. Received patches move it.
    at: usize,
}

impl<E: Synced + Shared> Typist<E> {
    fn strike(&mut self, typist: usize, strike: usize) -> Option<Vec<u8>> {
        let at = self.at;
        let patch = if is_backspace(strike) {
            self.at -= 1;
            Patch { at: at - 1, delete: 1, insert: String::new() }
        } else {
            self.at += 1;
            Patch { at, delete: 0, insert: letter(typist, strike).into() }
        };
        self.doc.edit_observed(&[patch]);
        self.doc.next_message(&mut self.hub)
    }

    fn receive(&mut self, message: &[u8]) -> Option<Vec<u8>> {
        let own = &mut self.at;
        self.doc.receive_with_view(&mut self.hub, message, |at, deleted, inserted| {
            if at < *own {
                *own = *own + inserted - deleted;
            }
        });
        self.doc.next_message(&mut self.hub)
    }
}

/// A hub, its typists, and the messages in flight.
struct Session<E: Synced> {
    hub: Hub<E>,
    typists: Vec<Typist<E>>,
    /// Keys typed by all together.
    strikes: usize,
    /// Messages in flight: arrival time, and whether the hub is the receiver.
    wire: VecDeque<(u64, bool, Message)>,
    /// Recorded messages to the hub, if they are recorded.
    received: Option<Vec<Message>>,
}

impl<E: Synced + Shared> Session<E> {
    /// All have the document and are in sync.
    fn new(typists: usize, saved: &[u8]) -> Self {
        let mut session = Self::unsynced(typists, saved);
        session.sync_all();
        session
    }

    fn unsynced(typists: usize, saved: &[u8]) -> Self {
        let mut hub = Hub::<E>::new(typists, saved);
        let typist = |typist: usize| Typist {
            doc: hub.doc.fork(actor_of(typist)),
            hub: E::Peer::default(),
            at: (typist + 1) * (EARLIER_CHARS / typists),
        };
        let typists = (0..typists).map(typist).collect();
        Self { hub, typists, strikes: 0, wire: VecDeque::new(), received: None }
    }

    fn sync_all(&mut self) {
        for typist in 0..self.typists.len() {
            let Typist { doc, hub, .. } = &mut self.typists[typist];
            let first_message = doc.next_message(hub);
            self.wire.extend(first_message.map(|message| (0, true, (typist, message))));
        }
        let strikes = std::mem::replace(&mut self.strikes, usize::MAX);
        self.play(u64::MAX);
        self.strikes = strikes;
    }

    fn fork(&mut self) -> Self {
        let fork = |(number, typist): (usize, &mut Typist<E>)| Typist {
            doc: typist.doc.fork(actor_of(number)),
            hub: typist.hub.clone(),
            at: typist.at,
        };
        let typists = self.typists.iter_mut().enumerate().map(fork).collect();
        Self { hub: self.hub.fork(), typists, strikes: self.strikes, wire: VecDeque::new(), received: None }
    }

    /// Runs all events before a time: keys and arriving messages.
    fn play(&mut self, until: u64) {
        let count = self.typists.len();
        loop {
            let key = (self.strikes < STRIKES * count)
                .then(|| self.strikes as u64 * KEY_INTERVAL_US / count as u64);
            let message = self.wire.front().map(|(time, ..)| *time);
            let Some(now) = key.into_iter().chain(message).min().filter(|time| *time < until) else { return };
            if key == Some(now) {
                let (strike, typist) = (self.strikes / count, self.strikes % count);
                self.strikes += 1;
                let sent = self.typists[typist].strike(typist, strike);
                self.wire.extend(sent.map(|message| (now + NETWORK_DELAY_US, true, (typist, message))));
                continue;
            }
            let Some((_, at_hub, (typist, message))) = self.wire.pop_front() else { return };
            if at_hub {
                let wire = &mut self.wire;
                self.hub.receive(typist, &message, |to, message| {
                    wire.push_back((now + NETWORK_DELAY_US, false, (to, message)));
                });
                self.received.iter_mut().for_each(|received| received.push((typist, message.clone())));
            } else {
                let reply = self.typists[typist].receive(&message);
                self.wire.extend(reply.map(|message| (now + NETWORK_DELAY_US, true, (typist, message))));
            }
        }
    }

    /// The common text, if all copies are equal.
    fn common_text(&mut self) -> Answer {
        let Self { hub, typists, .. } = self;
        let same = typists.iter_mut().all(|typist| hub.doc.has_same_changes(&mut typist.doc));
        if same { hub.doc.text().into() } else { Answer::Number(-1) }
    }
}

/// Recorded messages to a hub.
struct Record {
    typists: usize,
    saved: Vec<u8>,
    /// Messages until all are in sync.
    meeting: Vec<Message>,
    /// Messages until each typist has typed a key.
    first: Vec<Message>,
    /// Messages of the measured second, and until all are in sync again.
    second: Vec<Message>,
    /// Number of messages that the hub sends in that second.
    messages_sent: usize,
}

impl Record {
    fn new(typists: usize) -> Option<Self> {
        let saved = checked_document(typists)?;
        let mut session = Session::<Hashmill>::unsynced(typists, &saved);
        let mut part = |play: &mut dyn FnMut(&mut Session<Hashmill>)| {
            (session.received, session.hub.messages_sent) = (Some(vec![]), 0);
            play(&mut session);
            session.received.take()
        };
        let meeting = part(&mut Session::sync_all)?;
        let first = part(&mut |session| session.play(KEY_INTERVAL_US))?;
        let second = part(&mut |session| session.play(u64::MAX))?;
        let messages_sent = session.hub.messages_sent;
        Some(Self { typists, saved, meeting, first, second, messages_sent })
    }

    /// A hub in sync with the typists.
    fn hub<E: Synced + Shared>(&self) -> Hub<E> {
        let mut hub = Hub::new(self.typists, &self.saved);
        hub.play(&self.meeting);
        hub
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_copies_have_the_expected_text() {
        for typists in [1, 2, 8, 50] {
            let mut session = Session::<Hashmill>::new(typists, &saved_document(typists));
            session.play(u64::MAX);
            let expected = text(typists);
            assert_eq!(session.hub.doc.text(), expected, "{typists}");
            for typist in &mut session.typists {
                assert_eq!(typist.doc.text(), expected);
                assert!(session.hub.doc.has_same_changes(&mut typist.doc));
            }
            // No messages are left.
            let hub = &mut session.hub;
            assert!(hub.peers.iter_mut().all(|peer| hub.doc.next_message(peer).is_none()));
        }
    }

    #[test]
    fn replayed_hub_sends_the_same_messages() {
        let record = Record::new(8).expect("few enough");
        let strikes = |messages: &[Message]| messages.len();
        // The other seven acknowledge each change; concurrent changes need more messages.
        assert!(strikes(&record.second) >= 8 * KEYS_PER_SECOND * 8, "{}", strikes(&record.second));
        let mut hub: Hub<Hashmill> = record.hub();
        hub.play(&record.first);
        hub.messages_sent = 0;
        hub.play(&record.second);
        assert_eq!(hub.messages_sent, record.messages_sent);
        assert_eq!(hub.doc.text(), text(8));
        assert!(Record::new(MAX_TYPISTS + 1).is_none() && Record::new(0).is_none());
    }
}
