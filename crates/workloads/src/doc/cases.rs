//! Document workloads, generic over the engine.

use super::case::{Case, SyncingDoc, at_position, exchange_messages, keys, numbered, prepared, repeat};
use super::engine::{HistoryReads, Objects, Patch, Rich, Shared, Synced, Texts};
use crate::doc::hub_simulation;
use crate::doc::loaded_documents;
use crate::doc::workload_names::{BULK, WorkloadName, letters};
use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;

/// A workload for an engine with texts only.
#[must_use]
pub fn text_case<E: Shared>(named: WorkloadName, size: usize) -> Option<Case> {
    let case = match named {
        WorkloadName::TextRead => {
            let mut doc = E::blank(1);
            doc.edit(&[Patch { at: 0, delete: 0, insert: letters(size) }]);
            repeat(move || doc.text())
        }
        WorkloadName::TextSpliceAppend => appended::<E>("x", size),
        WorkloadName::TextSpliceBulk => appended::<E>(&"a".repeat(BULK), size),
        _ => return None,
    };
    Some(case)
}

/// `size` transactions that each append the same text.
fn appended<E: Texts>(insertion: &str, size: usize) -> Case {
    let append = |i: usize| [Patch { at: i * insertion.len(), delete: 0, insert: insertion.to_owned() }];
    let script: Vec<[Patch; 1]> = (0..size).map(append).collect();
    repeat(move || {
        let mut doc = E::blank(1);
        script.iter().for_each(|patches| doc.edit(patches));
        doc.length()
    })
}

/// A workload for an engine with maps and lists.
#[must_use]
pub fn object_case<E: Objects + Shared>(named: WorkloadName, size: usize) -> Option<Case> {
    match named {
        WorkloadName::TextRead | WorkloadName::TextSpliceAppend | WorkloadName::TextSpliceBulk => {
            text_case::<E>(named, size)
        }
        WorkloadName::Save
        | WorkloadName::Load
        | WorkloadName::SaveLarge
        | WorkloadName::LoadLarge
        | WorkloadName::SaveChanges
        | WorkloadName::LoadChanges
        | WorkloadName::SaveDocs
        | WorkloadName::LoadDocs => storage::<E>(named, size),
        WorkloadName::Fork
        | WorkloadName::SaveAfterChange
        | WorkloadName::Merge
        | WorkloadName::ForkMergeBatch
        | WorkloadName::MergeReduce => replicas::<E>(named, size),
        _ => points::<E>(named, size),
    }
}

/// A workload for an engine with readable history.
#[must_use]
pub fn history_case<E: HistoryReads + Shared>(named: WorkloadName, size: usize) -> Option<Case> {
    let case = match named {
        WorkloadName::GetAt => {
            let mut doc = E::blank(1);
            doc.put_all([("x", 0)].into_iter());
            let earlier = doc.version();
            (0..size).for_each(|value| doc.put_all([("x", value as i64 + 1)].into_iter()));
            repeat(move || doc.get_at("x", &earlier).unwrap_or(-1))
        }
        WorkloadName::TextAt => {
            let mut doc = E::blank(1);
            let splice = |at: usize, insert: &str| [Patch { at, delete: 0, insert: insert.to_owned() }];
            doc.edit(&splice(0, "Hello"));
            let earlier = doc.version();
            (0..size).for_each(|_| doc.edit(&splice(2, "and so on")));
            repeat(move || doc.text_at(&earlier))
        }
        _ => return object_case::<E>(named, size),
    };
    Some(case)
}

/// A workload for an engine with sync.
#[must_use]
pub fn sync_case<E: Synced + Shared>(named: WorkloadName, size: usize) -> Option<Case> {
    let case = match named {
        WorkloadName::SyncGenerateMessage => {
            let mut doc: E = keyed(&keys(size));
            repeat(move || usize::from(doc.generate(&mut E::Peer::default())))
        }
        WorkloadName::SyncFullRoundTrip => {
            let keys = keys(size);
            let make = move || [1, 2].map(|actor| SyncingDoc::<E>::new(keyed_by(actor, &keys)));
            prepared(make, |[one, two]| exchange_messages(one, two))
        }
        WorkloadName::SyncUpdate => {
            let mut one = SyncingDoc::<E>::new(changed(size));
            let mut two = SyncingDoc::new(one.doc.fork(2));
            exchange_messages(&mut one, &mut two);
            let pair = Rc::new(RefCell::new((one, two)));
            let mut values = 0..;
            let make = move || {
                // A new value each time: writing the same one is no change.
                let value: i64 = values.next().expect("numbers do not end");
                pair.borrow_mut().0.doc.put_all([("key7", -value)].into_iter());
                Rc::clone(&pair)
            };
            prepared(make, |pair| {
                let (one, two) = &mut *pair.borrow_mut();
                exchange_messages(one, two)
            })
        }
        WorkloadName::SyncDiverged => {
            let mut one: E = E::blank(1);
            let mut two = one.fork(2);
            for (number, key) in keys(100).iter().cycle().take(size).enumerate() {
                one.put_all([(key.as_str(), number as i64)].into_iter());
                two.put_all([(key.as_str(), -(number as i64))].into_iter());
            }
            let make = move || [SyncingDoc::<E>::new(one.fork(3)), SyncingDoc::new(two.fork(4))];
            prepared(make, |[one, two]| exchange_messages(one, two))
        }
        WorkloadName::Typists => return hub_simulation::hub::<E>(size),
        WorkloadName::TypistsEverybody => return hub_simulation::hub_and_typists::<E>(size),
        WorkloadName::LoadedHearEach
        | WorkloadName::LoadedHearAll
        | WorkloadName::LoadedFirstSave
        | WorkloadName::LoadedSync
        | WorkloadName::LoadedMerge => return loaded_documents::loaded::<E>(named, size),
        _ => return rich::<E>(named, size),
    };
    Some(case)
}

/// A text with a mark over five of every ten characters.
fn rich<E: Rich + Shared>(named: WorkloadName, size: usize) -> Option<Case> {
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
        WorkloadName::MarksPut => {
            let mark = move |doc: &mut E| {
                doc.mark_all(ranges());
                size
            };
            prepared(plain, mark)
        }
        WorkloadName::MarksRead => {
            let doc = marked();
            repeat(move || doc.marks())
        }
        WorkloadName::SpansRead => {
            let doc = marked();
            repeat(move || doc.spans())
        }
        WorkloadName::TextObserved => observed_appends(size, E::edit_and_count_patches),
        WorkloadName::TextObserver => observed_appends(size, E::edit_observed),
        WorkloadName::DiffOne => {
            let mut doc = E::blank(1);
            doc.edit(&[Patch { at: 0, delete: 0, insert: letters(size) }]);
            let before = doc.version();
            doc.edit(&[Patch { at: size / 2, delete: 0, insert: "x".to_owned() }]);
            let after = doc.version();
            repeat(move || diff_both_ways(&mut doc, &before, &after))
        }
        WorkloadName::DiffAll => {
            let mut doc = E::blank(1);
            let first = doc.version();
            // Scattered positions.
            let scatter = |length: usize| (length as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
            for length in 0..size {
                let at = scatter(length) as usize % (length + 1);
                doc.edit(&[Patch { at, delete: 0, insert: "x".to_owned() }]);
            }
            let last = doc.version();
            repeat(move || diff_both_ways(&mut doc, &first, &last))
        }
        _ => return history_case::<E>(named, size),
    };
    Some(case)
}

/// `size` transactions that each append a character and return the patches.
fn observed_appends<E: Rich + Shared>(size: usize, edit: fn(&mut E, &[Patch]) -> usize) -> Case {
    let append = |at: usize| [Patch { at, delete: 0, insert: "x".to_owned() }];
    let script: Vec<[Patch; 1]> = (0..size).map(append).collect();
    repeat(move || {
        let mut doc = E::blank(1);
        script.iter().map(|patches| edit(&mut doc, patches)).sum::<usize>()
    })
}

/// Diffs in both directions, so that a cache of the last diff does not help.
fn diff_both_ways<E: Rich>(doc: &mut E, one: &E::Version, two: &E::Version) -> usize {
    doc.diff(one, two) + doc.diff(two, one)
}

/// A document with these keys, put in one transaction.
fn keyed<E: Objects>(keys: &[String]) -> E {
    keyed_by(1, keys)
}

fn keyed_by<E: Objects>(actor: u8, keys: &[String]) -> E {
    let mut doc = E::blank(actor);
    doc.put_all(numbered(keys));
    doc
}

fn listed<E: Objects>(size: usize) -> E {
    let mut doc = E::blank(1);
    doc.insert_all((0..size).map(|index| (index, index as i64)));
    doc
}

/// A document of `size` changes, ten operations each, on a hundred keys in turn. For this document the official crate takes the
/// times that `crdt-performance.md` states for "save, 100 / 1000 changes"; with only ten keys it takes a quarter.
fn changed<E: Objects>(size: usize) -> E {
    let mut doc = E::blank(1);
    let keys = keys(100);
    let numbered: Vec<(&str, i64)> =
        keys.iter().map(String::as_str).cycle().zip(0..10 * size as i64).collect();
    numbered.chunks(10).for_each(|puts| doc.put_all(puts.iter().copied()));
    doc
}

/// Single puts and gets.
fn points<E: Objects>(named: WorkloadName, size: usize) -> Option<Case> {
    let keys = keys(size);
    let case = match named {
        WorkloadName::DocumentConstructor => repeat(|| black_box(E::blank(1)).keys()),
        WorkloadName::MapPut => repeat(move || {
            let mut doc = E::blank(1);
            (0..size).for_each(|value| doc.put_all([("key", value as i64)].into_iter()));
            doc.get("key").unwrap_or(-1)
        }),
        WorkloadName::MapPutBatch | WorkloadName::PutScale => {
            let last = keys.last()?.clone();
            repeat(move || keyed::<E>(&keys).get(&last).unwrap_or(-1))
        }
        WorkloadName::MapGet => {
            let doc: E = keyed(&keys);
            at_position(move |position| doc.get(&keys[position]).unwrap_or(-1))
        }
        WorkloadName::MapKeys => {
            let doc: E = keyed(&keys);
            repeat(move || doc.keys())
        }
        WorkloadName::GetScale | WorkloadName::ConcurrentReads => {
            let doc: E = keyed(&keys);
            repeat(move || keys.iter().filter_map(|key| doc.get(key)).sum::<i64>())
        }
        WorkloadName::ListInsertAppend => repeat(move || {
            let mut doc = E::blank(1);
            (0..size).for_each(|index| doc.insert_all([(index, 42)].into_iter()));
            doc.get_index(size - 1).unwrap_or(-1)
        }),
        WorkloadName::ListInsertFront => repeat(move || {
            let mut doc = E::blank(1);
            (0..size).for_each(|_| doc.insert_all([(0, 42)].into_iter()));
            doc.get_index(size - 1).unwrap_or(-1)
        }),
        WorkloadName::ListGet => {
            let doc: E = listed(size);
            at_position(move |position| doc.get_index(position).unwrap_or(-1))
        }
        // The positions are resolved beforehand: resolving is the other workload.
        WorkloadName::CursorCreate => {
            let doc: E = listed(size);
            let positions: Vec<usize> =
                (0..size).map(|position| doc.resolve(&doc.cursor(position))).collect();
            at_position(move |position| {
                drop(black_box(doc.cursor(position)));
                positions[position]
            })
        }
        WorkloadName::CursorResolve => {
            let doc: E = listed(size);
            let cursors: Vec<E::Cursor> = (0..size).map(|position| doc.cursor(position)).collect();
            at_position(move |position| doc.resolve(&cursors[position]))
        }
        _ => return None,
    };
    Some(case)
}

/// Saving and loading.
fn storage<E: Objects>(named: WorkloadName, size: usize) -> Option<Case> {
    fn load<E: Objects>(saved: Vec<u8>, read: impl Fn(&E) -> Option<i64> + 'static) -> Case {
        repeat(move || read(&E::load(&saved)).unwrap_or(-1))
    }
    let save = |mut doc: E| repeat(move || usize::from(!black_box(doc.save()).is_empty()));
    let docs = || (0..size).map(|_| keyed::<E>(&keys(50)));
    let case = match named {
        WorkloadName::Save => save(keyed(&keys(size))),
        WorkloadName::Load => {
            let middle = format!("key{}", size / 2);
            load::<E>(keyed::<E>(&keys(size)).save(), move |doc| doc.get(&middle))
        }
        WorkloadName::SaveLarge => save(listed(size)),
        WorkloadName::LoadLarge => load::<E>(listed::<E>(size).save(), move |doc| doc.get_index(size / 2)),
        WorkloadName::SaveChanges => save(changed(size)),
        WorkloadName::LoadChanges => load::<E>(changed::<E>(size).save(), |doc| doc.get("key7")),
        WorkloadName::SaveDocs => {
            let mut docs: Vec<E> = docs().collect();
            repeat(move || docs.iter_mut().map(E::save).filter(|saved| !saved.is_empty()).count())
        }
        WorkloadName::LoadDocs => {
            let saved: Vec<Vec<u8>> = docs().map(|mut doc| doc.save()).collect();
            repeat(move || {
                saved.iter().map(|saved| E::load(saved)).filter(|doc| doc.get("key7") == Some(7)).count()
            })
        }
        _ => return None,
    };
    Some(case)
}

/// Replicas that diverge and merge.
fn replicas<E: Objects + Shared>(named: WorkloadName, size: usize) -> Option<Case> {
    let case = match named {
        WorkloadName::Fork => {
            let mut doc: E = keyed(&keys(size));
            doc.complete_commits();
            // The cheapest read of a fork: reading a key from cold memory takes four times as long as the fork.
            repeat(move || doc.fork(2).length())
        }
        // One edit after a save, so an engine's cache between saves helps.
        WorkloadName::SaveAfterChange => {
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
        WorkloadName::Merge => {
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
        // The original uses one fork for each of two threads; here they run one after the other.
        WorkloadName::ForkMergeBatch => {
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
        WorkloadName::MergeReduce => {
            let mut base = E::blank(0);
            let make = move || {
                let fork = |number: usize| {
                    let mut fork = base.fork(number as u8 + 1);
                    let keys: Vec<String> = (0..10).map(|key| format!("{number}.{key}")).collect();
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
