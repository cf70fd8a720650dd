//! The workloads, written once for every engine.

use super::engine::{Objects, Past, Patch, Rich, Shared, Synced, Texts};
use super::loaded;
use super::named::{BULK, Named, letters};
use super::typists;
use std::cell::RefCell;
use std::fmt;
use std::hint::black_box;
use std::rc::Rc;

/// What came out of a call: the same from every engine.
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

/// A workload, ready to run.
pub struct Case {
    /// One call and its answer. Where calls ask for a place, it is this one.
    pub call: Box<dyn FnMut(usize) -> Answer>,
    /// Makes what one call uses up. Where there is such a thing, it comes before each call.
    pub prepare: Option<Box<dyn FnMut()>>,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case").field("prepared", &self.prepare.is_some()).finish_non_exhaustive()
    }
}

impl Case {
    /// The answer of one call for a place.
    pub fn once(&mut self, place: usize) -> Answer {
        if let Some(prepare) = &mut self.prepare {
            prepare();
        }
        (self.call)(place)
    }
}

/// A case that does the same thing again and again.
pub fn repeat<T: Into<Answer>>(mut work: impl FnMut() -> T + 'static) -> Case {
    asked(move |_| work())
}

/// A case whose calls ask for a place each.
fn asked<T: Into<Answer>>(mut work: impl FnMut(usize) -> T + 'static) -> Case {
    Case { call: Box::new(move |place| black_box(work(place)).into()), prepare: None }
}

/// A case whose every call needs something that is made before and not timed.
pub fn prepared<P: 'static, T: Into<Answer>>(
    mut prepare: impl FnMut() -> P + 'static,
    work: impl Fn(&mut P) -> T + 'static,
) -> Case {
    let ready = Rc::new(RefCell::new(None));
    let next = Rc::clone(&ready);
    let call = move |_| {
        let mut ready = ready.borrow_mut();
        black_box(work(ready.as_mut().expect("something is made before each call"))).into()
    };
    Case { call: Box::new(call), prepare: Some(Box::new(move || *next.borrow_mut() = Some(prepare()))) }
}

/// A workload of an engine that has texts alone.
#[must_use]
pub fn words<E: Shared>(named: Named, size: usize) -> Option<Case> {
    let case = match named {
        Named::TextRead => {
            let mut doc = E::blank(1);
            doc.edit(&[Patch { at: 0, delete: 0, insert: letters(size) }]);
            repeat(move || doc.text())
        }
        Named::TextSpliceAppend => appended::<E>("x", size),
        Named::TextSpliceBulk => appended::<E>(&"a".repeat(BULK), size),
        _ => return None,
    };
    Some(case)
}

/// That many transactions, each of which appends the same piece.
fn appended<E: Texts>(piece: &str, size: usize) -> Case {
    let append = |i: usize| [Patch { at: i * piece.len(), delete: 0, insert: piece.to_owned() }];
    let script: Vec<[Patch; 1]> = (0..size).map(append).collect();
    repeat(move || {
        let mut doc = E::blank(1);
        script.iter().for_each(|patches| doc.edit(patches));
        doc.length()
    })
}

/// A workload of an engine that has maps and lists too.
#[must_use]
pub fn present<E: Objects + Shared>(named: Named, size: usize) -> Option<Case> {
    match named {
        Named::TextRead | Named::TextSpliceAppend | Named::TextSpliceBulk => words::<E>(named, size),
        Named::Save
        | Named::Load
        | Named::SaveLarge
        | Named::LoadLarge
        | Named::SaveChanges
        | Named::LoadChanges
        | Named::SaveDocs
        | Named::LoadDocs => storage::<E>(named, size),
        Named::Fork | Named::SaveAfterChange | Named::Merge | Named::ForkMergeBatch | Named::MergeReduce => {
            replicas::<E>(named, size)
        }
        _ => points::<E>(named, size),
    }
}

/// A workload of an engine whose past can be read.
#[must_use]
pub fn all<E: Past + Shared>(named: Named, size: usize) -> Option<Case> {
    let case = match named {
        Named::GetAt => {
            let mut doc = E::blank(1);
            doc.put_all([("x", 0)].into_iter());
            let then = doc.version();
            (0..size).for_each(|value| doc.put_all([("x", value as i64 + 1)].into_iter()));
            repeat(move || doc.get_at("x", &then).unwrap_or(-1))
        }
        Named::TextAt => {
            let mut doc = E::blank(1);
            let splice = |at: usize, insert: &str| [Patch { at, delete: 0, insert: insert.to_owned() }];
            doc.edit(&splice(0, "Hello"));
            let then = doc.version();
            (0..size).for_each(|_| doc.edit(&splice(2, "and so on")));
            repeat(move || doc.text_at(&then))
        }
        _ => return present::<E>(named, size),
    };
    Some(case)
}

/// A workload of an engine that syncs, too.
#[must_use]
pub fn synced<E: Synced + Shared>(named: Named, size: usize) -> Option<Case> {
    let case = match named {
        Named::SyncGenerateMessage => {
            let mut doc: E = keyed(&keys(size));
            repeat(move || usize::from(doc.generate(&mut E::Peer::default())))
        }
        Named::SyncFullRoundTrip => {
            let keys = keys(size);
            let make = move || [1, 2].map(|who| Talker::<E>::new(keyed_by(who, &keys)));
            prepared(make, |[one, two]| talk(one, two))
        }
        Named::SyncUpdate => {
            let mut one = Talker::<E>::new(changed(size));
            let mut two = Talker::new(one.doc.fork(2));
            talk(&mut one, &mut two);
            let pair = Rc::new(RefCell::new((one, two)));
            let mut values = 0..;
            let make = move || {
                // Another value each time: what is there already is no change.
                let value: i64 = values.next().expect("numbers do not end");
                pair.borrow_mut().0.doc.put_all([("key7", -value)].into_iter());
                Rc::clone(&pair)
            };
            prepared(make, |pair| {
                let (one, two) = &mut *pair.borrow_mut();
                talk(one, two)
            })
        }
        Named::SyncDiverged => {
            let mut one: E = E::blank(1);
            let mut two = one.fork(2);
            for (number, key) in keys(100).iter().cycle().take(size).enumerate() {
                one.put_all([(key.as_str(), number as i64)].into_iter());
                two.put_all([(key.as_str(), -(number as i64))].into_iter());
            }
            let make = move || [Talker::<E>::new(one.fork(3)), Talker::new(two.fork(4))];
            prepared(make, |[one, two]| talk(one, two))
        }
        Named::Typists => return typists::hub::<E>(size),
        Named::TypistsEverybody => return typists::everybody::<E>(size),
        Named::LoadedHearEach
        | Named::LoadedHearAll
        | Named::LoadedFirstSave
        | Named::LoadedSync
        | Named::LoadedMerge => return loaded::loaded::<E>(named, size),
        _ => return rich::<E>(named, size),
    };
    Some(case)
}

/// A text of ten characters a mark, of which it covers five.
fn rich<E: Rich + Shared>(named: Named, size: usize) -> Option<Case> {
    let ranges = move || (0..size).map(|mark| (10 * mark, 10 * mark + 5));
    let plain = move || {
        let mut doc = E::blank(1);
        doc.edit(&[Patch { at: 0, delete: 0, insert: letters(10 * size) }]);
        doc
    };
    let marked = || {
        let mut doc: E = plain();
        doc.mark_all(ranges());
        doc
    };
    let case = match named {
        Named::MarksPut => {
            let mark = move |doc: &mut E| {
                doc.mark_all(ranges());
                size
            };
            prepared(plain, mark)
        }
        Named::MarksRead => {
            let doc = marked();
            repeat(move || doc.marks())
        }
        Named::SpansRead => {
            let doc = marked();
            repeat(move || doc.spans())
        }
        Named::TextObserved => watched(size, E::edit_and_show),
        Named::TextHeard => watched(size, E::edit_and_hear),
        Named::DiffOne => {
            let mut doc = E::blank(1);
            doc.edit(&[Patch { at: 0, delete: 0, insert: letters(size) }]);
            let before = doc.version();
            doc.edit(&[Patch { at: size / 2, delete: 0, insert: "x".to_owned() }]);
            let after = doc.version();
            repeat(move || there_and_back(&mut doc, &before, &after))
        }
        Named::DiffAll => {
            let mut doc = E::blank(1);
            let first = doc.version();
            // Here and there.
            let place = |length: usize| (length as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
            for length in 0..size {
                let at = place(length) as usize % (length + 1);
                doc.edit(&[Patch { at, delete: 0, insert: "x".to_owned() }]);
            }
            let last = doc.version();
            repeat(move || there_and_back(&mut doc, &first, &last))
        }
        _ => return all::<E>(named, size),
    };
    Some(case)
}

/// That many transactions, each of which appends a character and tells what is new.
fn watched<E: Rich + Shared>(size: usize, edit: fn(&mut E, &[Patch]) -> usize) -> Case {
    let append = |at: usize| [Patch { at, delete: 0, insert: "x".to_owned() }];
    let script: Vec<[Patch; 1]> = (0..size).map(append).collect();
    repeat(move || {
        let mut doc = E::blank(1);
        script.iter().map(|patches| edit(&mut doc, patches)).sum::<usize>()
    })
}

/// The steps both ways: who remembers the last answer has to think again.
fn there_and_back<E: Rich>(doc: &mut E, one: &E::Version, two: &E::Version) -> usize {
    doc.diff(one, two) + doc.diff(two, one)
}

/// A document and what it knows of the other.
pub(super) struct Talker<E: Synced> {
    doc: E,
    peer: E::Peer,
}

impl<E: Synced> Talker<E> {
    pub(super) fn new(doc: E) -> Self {
        Self { doc, peer: E::Peer::default() }
    }

    fn tell(&mut self, other: &mut Self) -> bool {
        let message = self.doc.say(&mut self.peer);
        message.is_some_and(|message| {
            other.doc.take(&mut other.peer, &message);
            true
        })
    }
}

/// Messages as bytes, until neither has anything to say.
pub(super) fn talk<E: Synced>(one: &mut Talker<E>, two: &mut Talker<E>) -> usize {
    while one.tell(two) | two.tell(one) {}
    usize::from(one.doc.is_with(&mut two.doc))
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

/// A document with that many keys, put in one transaction.
fn keyed<E: Objects>(keys: &[String]) -> E {
    keyed_by(1, keys)
}

fn keyed_by<E: Objects>(who: u8, keys: &[String]) -> E {
    let mut doc = E::blank(who);
    doc.put_all(numbered(keys));
    doc
}

fn listed<E: Objects>(size: usize) -> E {
    let mut doc = E::blank(1);
    doc.insert_all((0..size).map(|index| (index, index as i64)));
    doc
}

/// A document of that many changes, ten operations each, on a hundred keys in turn. The official crate takes the times
/// that `crdt-performance.md` says for "save, 100 / 1000 changes" of this one; of ten keys alone it takes a quarter.
fn changed<E: Objects>(size: usize) -> E {
    let mut doc = E::blank(1);
    let keys = keys(100);
    let numbered: Vec<(&str, i64)> =
        keys.iter().map(String::as_str).cycle().zip(0..10 * size as i64).collect();
    numbered.chunks(10).for_each(|puts| doc.put_all(puts.iter().copied()));
    doc
}

/// Single puts and gets.
fn points<E: Objects>(named: Named, size: usize) -> Option<Case> {
    let keys = keys(size);
    let case = match named {
        Named::DocumentConstructor => repeat(|| black_box(E::blank(1)).keys()),
        Named::MapPut => repeat(move || {
            let mut doc = E::blank(1);
            (0..size).for_each(|value| doc.put_all([("key", value as i64)].into_iter()));
            doc.get("key").unwrap_or(-1)
        }),
        Named::MapPutBatch | Named::PutScale => {
            let last = keys.last().cloned().unwrap_or_default();
            repeat(move || keyed::<E>(&keys).get(&last).unwrap_or(-1))
        }
        Named::MapGet => {
            let doc: E = keyed(&keys);
            asked(move |place| doc.get(&keys[place]).unwrap_or(-1))
        }
        Named::MapKeys => {
            let doc: E = keyed(&keys);
            repeat(move || doc.keys())
        }
        Named::GetScale | Named::ConcurrentReads => {
            let doc: E = keyed(&keys);
            repeat(move || keys.iter().filter_map(|key| doc.get(key)).sum::<i64>())
        }
        Named::ListInsertAppend => repeat(move || {
            let mut doc = E::blank(1);
            (0..size).for_each(|index| doc.insert_all([(index, 42)].into_iter()));
            doc.get_index(size - 1).unwrap_or(-1)
        }),
        Named::ListInsertFront => repeat(move || {
            let mut doc = E::blank(1);
            (0..size).for_each(|_| doc.insert_all([(0, 42)].into_iter()));
            doc.get_index(size - 1).unwrap_or(-1)
        }),
        Named::ListGet => {
            let doc: E = listed(size);
            asked(move |place| doc.get_index(place).unwrap_or(-1))
        }
        // Where such cursors are was found out before: that is the other workload.
        Named::CursorCreate => {
            let doc: E = listed(size);
            let places: Vec<usize> = (0..size).map(|place| doc.resolve(&doc.cursor(place))).collect();
            asked(move |place| {
                drop(black_box(doc.cursor(place)));
                places[place]
            })
        }
        Named::CursorResolve => {
            let doc: E = listed(size);
            let cursors: Vec<E::Cursor> = (0..size).map(|place| doc.cursor(place)).collect();
            asked(move |place| doc.resolve(&cursors[place]))
        }
        _ => return None,
    };
    Some(case)
}

/// Saving and loading.
fn storage<E: Objects>(named: Named, size: usize) -> Option<Case> {
    fn load<E: Objects>(saved: Vec<u8>, read: impl Fn(&E) -> Option<i64> + 'static) -> Case {
        repeat(move || read(&E::load(&saved)).unwrap_or(-1))
    }
    let save = |mut doc: E| repeat(move || usize::from(!black_box(doc.save()).is_empty()));
    let docs = || (0..size).map(|_| keyed::<E>(&keys(50)));
    let case = match named {
        Named::Save => save(keyed(&keys(size))),
        Named::Load => {
            let middle = format!("key{}", size / 2);
            load::<E>(keyed::<E>(&keys(size)).save(), move |doc| doc.get(&middle))
        }
        Named::SaveLarge => save(listed(size)),
        Named::LoadLarge => load::<E>(listed::<E>(size).save(), move |doc| doc.get_index(size / 2)),
        Named::SaveChanges => save(changed(size)),
        Named::LoadChanges => load::<E>(changed::<E>(size).save(), |doc| doc.get("key7")),
        Named::SaveDocs => {
            let mut docs: Vec<E> = docs().collect();
            repeat(move || docs.iter_mut().map(E::save).filter(|saved| !saved.is_empty()).count())
        }
        Named::LoadDocs => {
            let saved: Vec<Vec<u8>> = docs().map(|mut doc| doc.save()).collect();
            repeat(move || {
                saved.iter().map(|saved| E::load(saved)).filter(|doc| doc.get("key7") == Some(7)).count()
            })
        }
        _ => return None,
    };
    Some(case)
}

/// Replicas that part and meet.
fn replicas<E: Objects + Shared>(named: Named, size: usize) -> Option<Case> {
    let case = match named {
        Named::Fork => {
            let mut doc: E = keyed(&keys(size));
            doc.settle();
            // Asked for the least that a fork can be asked for: a key would be read from cold memory, which takes four
            // times as long as the fork.
            repeat(move || doc.fork(2).length())
        }
        // What was saved before changes in one place: what an engine keeps from one save to the next helps, as it may.
        Named::SaveAfterChange => {
            let mut base = changed::<E>(size);
            black_box(base.save());
            prepared(
                move || base.fork(2),
                |doc| {
                    doc.put_all([("key7", 0)].into_iter());
                    usize::from(!black_box(doc.save()).is_empty())
                },
            )
        }
        Named::Merge => {
            let side = |letter: char| (0..size).map(|i| format!("{letter}{i}")).collect::<Vec<_>>();
            let sides = [side('a'), side('b')];
            let make = move || {
                let mut one: E = keyed(&keys(1));
                let mut two = one.fork(2);
                let put = |doc: &mut E, keys: &[String]| {
                    keys.iter().for_each(|key| doc.put_all([(key.as_str(), 1)].into_iter()));
                };
                put(&mut one, &sides[0]);
                put(&mut two, &sides[1]);
                (one, two)
            };
            prepared(make, |(one, two)| {
                one.merge(two);
                one.keys()
            })
        }
        // One fork for each of two threads of the original; here one after the other.
        Named::ForkMergeBatch => {
            let keys = keys(size);
            repeat(move || {
                let mut base = E::blank(1);
                let mut forks = [base.fork(2), base.fork(3)];
                for (fork, keys) in forks.iter_mut().zip(keys.chunks(size.div_ceil(2))) {
                    fork.put_all(numbered(keys));
                }
                forks.iter_mut().for_each(|fork| base.merge(fork));
                base.keys()
            })
        }
        Named::MergeReduce => {
            let mut base = E::blank(0);
            let make = move || {
                let fork = |who: usize| {
                    let mut fork = base.fork(who as u8 + 1);
                    let keys: Vec<String> = (0..10).map(|key| format!("{who}.{key}")).collect();
                    fork.put_all(numbered(&keys));
                    fork
                };
                (0..size).map(fork).collect::<Vec<E>>()
            };
            prepared(make, |docs| {
                let (first, rest) = docs.split_first_mut().expect("documents");
                rest.iter_mut().for_each(|other| first.merge(other));
                first.keys()
            })
        }
        _ => return None,
    };
    Some(case)
}
