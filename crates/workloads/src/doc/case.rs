//! Prepared workloads, and helpers that build them.

use super::engine::Synced;
use std::cell::RefCell;
use std::fmt;
use std::hint::black_box;
use std::rc::Rc;

/// Result of a call, equal for every engine.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A number.
    Number(i64),
    /// A text.
    Text(String),
}

impl From<i64> for Answer {
    fn from(number: i64) -> Self {
        Answer::Number(number)
    }
}

impl From<usize> for Answer {
    fn from(number: usize) -> Self {
        Answer::Number(number as i64)
    }
}

impl From<String> for Answer {
    fn from(text: String) -> Self {
        Answer::Text(text)
    }
}

/// A workload that is ready to run.
pub struct Case {
    /// One call and its answer. The argument is the position that the call reads, if it reads one.
    pub call: Box<dyn FnMut(usize) -> Answer>,
    /// Untimed preparation before each call, if a call consumes its input.
    pub prepare: Option<Box<dyn FnMut()>>,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case").field("prepared", &self.prepare.is_some()).finish_non_exhaustive()
    }
}

impl Case {
    /// The answer of one call for a position.
    pub fn once(&mut self, position: usize) -> Answer {
        if let Some(prepare) = &mut self.prepare {
            prepare();
        }
        (self.call)(position)
    }
}

/// A case whose calls are all the same.
pub fn repeat<T: Into<Answer>>(mut work: impl FnMut() -> T + 'static) -> Case {
    at_position(move |_| work())
}

/// A case whose calls each read one position.
pub(super) fn at_position<T: Into<Answer>>(mut work: impl FnMut(usize) -> T + 'static) -> Case {
    Case { call: Box::new(move |position| black_box(work(position)).into()), prepare: None }
}

/// A case with an untimed preparation before each call.
pub fn prepared<P: 'static, T: Into<Answer>>(
    mut prepare: impl FnMut() -> P + 'static,
    work: impl Fn(&mut P) -> T + 'static,
) -> Case {
    let ready = Rc::new(RefCell::new(None));
    let next = Rc::clone(&ready);
    let call = move |_| {
        let mut ready = ready.borrow_mut();
        black_box(work(ready.as_mut().expect("the preparation of each call"))).into()
    };
    Case { call: Box::new(call), prepare: Some(Box::new(move || *next.borrow_mut() = Some(prepare()))) }
}

/// A document and its sync state for the peer.
pub(super) struct SyncingDoc<E: Synced> {
    pub(super) doc: E,
    peer: E::Peer,
}

impl<E: Synced> SyncingDoc<E> {
    pub(super) fn new(doc: E) -> Self {
        Self { doc, peer: E::Peer::default() }
    }

    fn send_message(&mut self, other: &mut Self) -> bool {
        let message = self.doc.next_message(&mut self.peer);
        message.is_some_and(|message| {
            other.doc.receive(&mut other.peer, &message);
            true
        })
    }
}

/// Exchanges encoded messages until neither side has one.
pub(super) fn exchange_messages<E: Synced>(one: &mut SyncingDoc<E>, two: &mut SyncingDoc<E>) -> usize {
    while one.send_message(two) | two.send_message(one) {}
    usize::from(one.doc.has_same_changes(&mut two.doc))
}

/// The keys of the workloads on maps.
#[must_use]
pub fn keys(count: usize) -> Vec<String> {
    (0..count).map(|key| format!("key{key}")).collect()
}

/// Each key with its number.
pub fn numbered(keys: &[String]) -> impl Iterator<Item = (&str, i64)> {
    keys.iter().map(String::as_str).zip(0..)
}
