//! Typists in one document. A hub has a copy of it and a state for each of them; each of them has a copy of their own,
//! strikes six keys a second at their own place, a change for each key, and hears of all others through the hub. A
//! message is on its way for a while, as on a network, so that changes are made at the same time.
//!
//! What the hub takes, it shows (as whoever saves or draws the document needs it) and tells to everybody. Two things are
//! measured of one second of typing: the work of the hub, which is what a server has to do, and that of everybody.
//!
//! For the hub alone the messages of the typists are recorded first, by our engine, and played to every engine: they are
//! the same for all, and each has to answer with as many.

use super::cases::{Answer, Case, prepared};
use super::engine::{Patch, Shared, Synced, Texts as _};
use super::ours::Hashmill;
use std::collections::VecDeque;
use std::hint::black_box;
use std::rc::Rc;

/// Keys that each strikes in a second.
const KEYS: usize = 6;
/// Every so many-th key takes the character before it away.
const BACKSPACE: usize = 4;
/// Characters that were there before, typed by all of them in turn, a change for each.
const BEFORE: usize = 10_000;
/// From one key of a typist to the next, in microseconds.
const APART: u64 = 1_000_000 / KEYS as u64;
/// How long a message is on its way.
const WAY: u64 = 25_000;
/// Everybody strikes once before the second that counts: copies share nothing then, and messages are on their way.
const STRIKES: usize = KEYS + 1;
/// Who has no number as a typist.
const HUB: u8 = 255;
/// Typists that can be told apart.
const MOST: usize = 200;

/// What everybody has in the end.
#[must_use]
pub(super) fn text(typists: usize) -> String {
    let typed = |typist: usize| {
        let before = (0..BEFORE / typists).map(|turn| letter(typist, turn));
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
    strike % BACKSPACE == BACKSPACE - 1
}

fn who(typist: usize) -> u8 {
    typist as u8 + 1
}

/// The document before, saved.
fn before(typists: usize) -> Vec<u8> {
    let mut doc = Hashmill::blank(HUB);
    for turn in 0..BEFORE / typists {
        for typist in 0..typists {
            // Those before have typed their letter of this turn.
            let at = typist * (turn + 1) + turn;
            doc.write_as(who(typist));
            doc.edit(&[Patch { at, delete: 0, insert: letter(typist, turn).into() }]);
        }
    }
    doc.save()
}

/// The work of the hub in a second of typing.
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
        hub.said = 0;
        hub.play(&record.second);
        assert_eq!(hub.said, record.said, "messages of the hub");
        hub.doc.text()
    }))
}

/// The work of the hub and all typists in a second of typing.
pub(super) fn everybody<E: Synced + Shared>(typists: usize) -> Option<Case> {
    let mut ready: Session<E> = Session::new(typists, &before_of(typists)?);
    let make = move || {
        let mut session = ready.fork();
        session.play(APART);
        session
    };
    Some(prepared(make, |session| {
        session.play(u64::MAX);
        session.hub_is_with_all()
    }))
}

fn before_of(typists: usize) -> Option<Vec<u8>> {
    (1..=MOST).contains(&typists).then(|| before(typists))
}

/// A copy of the document, and a state for each typist.
struct Hub<E: Synced> {
    doc: E,
    peers: Vec<E::Peer>,
    /// How many messages it sent.
    said: usize,
}

impl<E: Synced + Shared> Hub<E> {
    fn new(typists: usize, saved: &[u8]) -> Self {
        Self { doc: E::load(saved), peers: vec![E::Peer::default(); typists], said: 0 }
    }

    fn fork(&mut self) -> Self {
        Self { doc: self.doc.fork(HUB), peers: self.peers.clone(), said: 0 }
    }

    /// Takes a message, shows what is new, and sends what is to be said: to everybody if something is new, otherwise to
    /// who sent it.
    fn hear(&mut self, from: usize, message: &[u8], mut send: impl FnMut(usize, Vec<u8>)) {
        let show = |at, deleted, inserted| {
            black_box((at, deleted, inserted));
        };
        let is_new = self.doc.take_and_show(&mut self.peers[from], message, show);
        let to = if is_new { 0..self.peers.len() } else { from..from + 1 };
        for typist in to {
            if let Some(message) = self.doc.say(&mut self.peers[typist]) {
                self.said += 1;
                send(typist, message);
            }
        }
    }

    fn play(&mut self, messages: &[Message]) {
        for (from, message) in messages {
            self.hear(*from, message, |to, message| drop(black_box((to, message))));
        }
    }
}

/// A message, with the typist who sent it or to whom it is sent.
type Message = (usize, Vec<u8>);

struct Typist<E: Synced> {
    doc: E,
    hub: E::Peer,
    /// Where they type: behind what they typed before. The steps that they are shown move it.
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
        self.doc.edit_and_hear(&[patch]);
        self.doc.say(&mut self.hub)
    }

    fn hear(&mut self, message: &[u8]) -> Option<Vec<u8>> {
        let own = &mut self.at;
        self.doc.take_and_show(&mut self.hub, message, |at, deleted, inserted| {
            if at < *own {
                *own = *own + inserted - deleted;
            }
        });
        self.doc.say(&mut self.hub)
    }
}

/// A hub, its typists, and what is on its way between them.
struct Session<E: Synced> {
    hub: Hub<E>,
    typists: Vec<Typist<E>>,
    /// Keys struck by all together.
    strikes: usize,
    /// When it arrives, and whether at the hub.
    wire: VecDeque<(u64, bool, Message)>,
    /// What the hub heard, where somebody wants to know.
    heard: Option<Vec<Message>>,
}

impl<E: Synced + Shared> Session<E> {
    /// Everybody has the document, and knows that everybody has it.
    fn new(typists: usize, saved: &[u8]) -> Self {
        let mut session = Self::apart(typists, saved);
        session.meet();
        session
    }

    fn apart(typists: usize, saved: &[u8]) -> Self {
        let mut hub = Hub::<E>::new(typists, saved);
        let typist = |typist: usize| Typist {
            doc: hub.doc.fork(who(typist)),
            hub: E::Peer::default(),
            at: (typist + 1) * (BEFORE / typists),
        };
        let typists = (0..typists).map(typist).collect();
        Self { hub, typists, strikes: 0, wire: VecDeque::new(), heard: None }
    }

    fn meet(&mut self) {
        for typist in 0..self.typists.len() {
            let Typist { doc, hub, .. } = &mut self.typists[typist];
            let call = doc.say(hub);
            self.wire.extend(call.map(|message| (0, true, (typist, message))));
        }
        let strikes = std::mem::replace(&mut self.strikes, usize::MAX);
        self.play(u64::MAX);
        self.strikes = strikes;
    }

    fn fork(&mut self) -> Self {
        let fork = |(number, typist): (usize, &mut Typist<E>)| Typist {
            doc: typist.doc.fork(who(number)),
            hub: typist.hub.clone(),
            at: typist.at,
        };
        let typists = self.typists.iter_mut().enumerate().map(fork).collect();
        Self { hub: self.hub.fork(), typists, strikes: self.strikes, wire: VecDeque::new(), heard: None }
    }

    /// All that happens before a time: keys, and messages that arrive.
    fn play(&mut self, until: u64) {
        let count = self.typists.len();
        loop {
            let key = (self.strikes < STRIKES * count).then(|| self.strikes as u64 * APART / count as u64);
            let message = self.wire.front().map(|(time, ..)| *time);
            let Some(now) = key.into_iter().chain(message).min().filter(|time| *time < until) else { return };
            if key == Some(now) {
                let (strike, typist) = (self.strikes / count, self.strikes % count);
                self.strikes += 1;
                let said = self.typists[typist].strike(typist, strike);
                self.wire.extend(said.map(|message| (now + WAY, true, (typist, message))));
                continue;
            }
            let Some((_, at_hub, (typist, message))) = self.wire.pop_front() else { return };
            if at_hub {
                let wire = &mut self.wire;
                self.hub.hear(typist, &message, |to, message| {
                    wire.push_back((now + WAY, false, (to, message)));
                });
                self.heard.iter_mut().for_each(|heard| heard.push((typist, message.clone())));
            } else {
                let said = self.typists[typist].hear(&message);
                self.wire.extend(said.map(|message| (now + WAY, true, (typist, message))));
            }
        }
    }

    /// The text of all, when all have the same.
    fn hub_is_with_all(&mut self) -> Answer {
        let Self { hub, typists, .. } = self;
        let same = typists.iter_mut().all(|typist| hub.doc.is_with(&mut typist.doc));
        if same { hub.doc.text().into() } else { Answer::Number(-1) }
    }
}

/// What a hub hears.
struct Record {
    typists: usize,
    saved: Vec<u8>,
    /// Until everybody knows that everybody has the document.
    meeting: Vec<Message>,
    /// Until everybody has struck a key,
    first: Vec<Message>,
    /// in the second after it, and until all of it is known to all.
    second: Vec<Message>,
    /// How many messages the hub sends in that second.
    said: usize,
}

impl Record {
    fn new(typists: usize) -> Option<Self> {
        let saved = before_of(typists)?;
        let mut session = Session::<Hashmill>::apart(typists, &saved);
        let mut part = |play: &mut dyn FnMut(&mut Session<Hashmill>)| {
            (session.heard, session.hub.said) = (Some(vec![]), 0);
            play(&mut session);
            session.heard.take().unwrap_or_default()
        };
        let meeting = part(&mut Session::meet);
        let first = part(&mut |session| session.play(APART));
        let second = part(&mut |session| session.play(u64::MAX));
        let said = session.hub.said;
        Some(Self { typists, saved, meeting, first, second, said })
    }

    /// A hub that met the typists.
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
    fn all_have_the_text_that_was_worked_out() {
        for typists in [1, 2, 8, 50] {
            let mut session = Session::<Hashmill>::new(typists, &before(typists));
            session.play(u64::MAX);
            let expected = text(typists);
            assert_eq!(session.hub.doc.text(), expected, "{typists}");
            for typist in &mut session.typists {
                assert_eq!(typist.doc.text(), expected);
                assert!(session.hub.doc.is_with(&mut typist.doc));
            }
            // Nobody has more to say.
            let hub = &mut session.hub;
            assert!(hub.peers.iter_mut().all(|peer| hub.doc.say(peer).is_none()));
        }
    }

    #[test]
    fn the_hub_alone_says_what_it_said_among_all() {
        let record = Record::new(8).expect("few enough");
        let strikes = |messages: &[Message]| messages.len();
        // Each change is acknowledged by the other seven; who crosses with others has more to say.
        assert!(strikes(&record.second) >= 8 * KEYS * 8, "{}", strikes(&record.second));
        let mut hub: Hub<Hashmill> = record.hub();
        hub.play(&record.first);
        hub.said = 0;
        hub.play(&record.second);
        assert_eq!(hub.said, record.said);
        assert_eq!(hub.doc.text(), text(8));
        assert!(Record::new(MOST + 1).is_none() && Record::new(0).is_none());
    }
}
