//! The workloads, written once for every engine.
//!
//! Each gives a side to be timed and the answer of one run, which must be the same for every engine.

use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;

use hashmill_testkit::trace::Patch;

use super::engine::{Objects, Past, Shared, Texts};
use super::row::{Named, Row};
use super::shelf::{Shelf, flat, play, script};
use crate::pace::Side;

/// A workload, ready to run.
#[derive(Debug)]
pub struct Case {
    /// What is timed.
    pub side: Side<'static>,
    /// What came out.
    pub answer: String,
}

/// A case, none where the engine has no such thing, or why there is no input.
pub type Made = Result<Option<Case>, String>;

/// A case that does the same thing again and again.
pub fn repeat<T: ToString>(mut work: impl FnMut() -> T + 'static) -> Made {
    let answer = work().to_string();
    let side = Side::new(move |calls, _| (0..calls).for_each(|_| drop(black_box(work()))));
    Ok(Some(Case { side, answer }))
}

/// A case whose every call needs something that is made before and not timed.
fn prepared<P: 'static, T: ToString>(
    mut prepare: impl FnMut() -> P + 'static,
    work: impl Fn(&mut P) -> T + 'static,
) -> Made {
    let answer = work(&mut prepare()).to_string();
    let ready = Rc::new(RefCell::new(None));
    let next = ready.clone();
    let side = Side::new(move |calls, _| {
        let mut ready = ready.borrow_mut();
        (0..calls).for_each(|_| {
            if let Some(ready) = &mut *ready {
                black_box(work(ready));
            }
        });
    });
    Ok(Some(Case { side: side.prepared(move || *next.borrow_mut() = Some(prepare())), answer }))
}

/// Workloads on one text.
pub fn texts<E: Texts>(row: &Row, shelf: &mut Shelf) -> Made {
    match row.clone() {
        Row::Replay { trace, commits, settled } => {
            let trace = shelf.trace(&trace)?;
            let script = script(&trace, commits);
            if play::<E>(&script).text() != trace.end {
                return Err(format!("{} ends with another text", E::NAME));
            }
            repeat(move || {
                let mut doc: E = play(&script);
                if settled {
                    doc.settle();
                }
                black_box(&mut doc);
                1
            })
        }
        Row::Load { trace, commits, deferred } => {
            let saved = shelf.saved::<E>(&trace, commits)?;
            let load = if deferred { E::load_deferred } else { E::load };
            repeat(move || load(&saved).text())
        }
        Row::FirstEdit { trace, commits } => {
            let saved = shelf.saved::<E>(&trace, commits)?;
            let edit = Patch { at: 0, delete: 0, insert: "x".to_owned() };
            prepared(
                move || E::load(&saved),
                move |doc| {
                    doc.edit(std::slice::from_ref(&edit));
                    1
                },
            )
        }
        Row::Save { trace, commits } => {
            let mut doc = E::load(&shelf.saved::<E>(&trace, commits)?);
            // Sizes differ by engine and are a row of their own.
            repeat(move || !black_box(doc.save()).is_empty())
        }
        Row::TextRead(length) => {
            let mut doc = E::blank(1);
            let text = "abcdefghijklmnopqrstuvwxyz ".repeat(length / 27 + 1)[..length].to_owned();
            doc.edit(&[Patch { at: 0, delete: 0, insert: text }]);
            repeat(move || doc.text())
        }
        Row::Named(Named::TextSpliceAppend, size) => appended::<E>("x", size),
        Row::Named(Named::TextSpliceBulk, size) => appended::<E>(&"a".repeat(100), size),
        Row::Named(Named::DocumentConstructor, _) => repeat(|| {
            black_box(E::blank(1));
            1
        }),
        _ => Ok(None),
    }
}

/// That many transactions, each of which appends the same piece.
fn appended<E: Texts>(piece: &str, size: usize) -> Made {
    let append = |i: usize| vec![Patch { at: i * piece.len(), delete: 0, insert: piece.to_owned() }];
    let script: Vec<Vec<Patch>> = (0..size).map(append).collect();
    repeat(move || {
        black_box(play::<E>(&script));
        size
    })
}

/// Workloads between replicas.
pub fn shared<E: Shared>(row: &Row, shelf: &mut Shelf) -> Made {
    match row.clone() {
        Row::ApplyOne(edits) => apply_one::<E>(edits, shelf),
        Row::Merge { trace, at_once } => {
            let session = shelf.session::<E>(&trace)?;
            repeat(move || {
                let (base, updates) = &*session;
                let mut doc = E::load(base);
                match at_once {
                    true => doc.hear(updates),
                    false => updates.iter().for_each(|update| doc.hear(std::slice::from_ref(update))),
                }
                // Which of two concurrent insertions comes first differs by engine, their number does not.
                doc.text().chars().count()
            })
        }
        _ => Ok(None),
    }
}

/// How many changes a receiver hears before it starts again from where it was.
const HEARD: usize = 64;

fn apply_one<E: Shared>(edits: usize, shelf: &mut Shelf) -> Made {
    let trace = shelf.trace("automerge-paper")?;
    let patches = flat(&trace);
    let mut sender = E::blank(1);
    let edits = edits.min(patches.len());
    patches[..edits].iter().for_each(|patch| sender.edit(std::slice::from_ref(patch)));
    let saved = sender.save();
    let length = sender.text().chars().count();
    // Scattered, as other people's edits are.
    let mut updates = Vec::new();
    for update in 0..HEARD {
        let patch = Patch { at: update * 7919 % length, delete: 0, insert: "x".to_owned() };
        updates.push([sender.edit_and_tell(std::slice::from_ref(&patch))]);
    }
    let receiver = Rc::new(RefCell::new((E::load(&saved), 0)));
    let again = receiver.clone();
    let before = move || {
        let (doc, heard) = &mut *again.borrow_mut();
        if *heard == HEARD {
            (*doc, *heard) = (E::load(&saved), 0);
        }
    };
    let side = Side::new(move |calls, _| {
        let (doc, heard) = &mut *receiver.borrow_mut();
        for _ in 0..calls {
            doc.hear(&updates[*heard % HEARD]);
            *heard += 1;
        }
    });
    Ok(Some(Case { side: side.prepared(before), answer: edits.to_string() }))
}

/// The keys of the workloads on maps.
fn keys(count: usize) -> Vec<String> {
    (0..count).map(|key| format!("key{key}")).collect()
}

fn numbered(keys: &[String]) -> impl Iterator<Item = (&str, i64)> {
    keys.iter().map(String::as_str).zip(0..)
}

/// A document with that many keys, put in one transaction.
fn keyed<E: Objects>(keys: &[String]) -> E {
    let mut doc = E::blank(1);
    doc.put_all(numbered(keys));
    doc
}

fn listed<E: Objects>(size: usize) -> E {
    let mut doc = E::blank(1);
    doc.insert_all((0..size).map(|index| (index, index as i64)));
    doc
}

/// A document of that many changes, ten operations each.
fn changed<E: Objects>(size: usize) -> E {
    let mut doc = E::blank(1);
    let keys = keys(10);
    (0..size).for_each(|round| doc.put_all(keys.iter().map(|key| (key.as_str(), round as i64))));
    doc
}

/// Workloads on maps and lists.
pub fn objects<E: Objects + Shared>(row: &Row) -> Made {
    let (named, size) = match *row {
        Row::Named(named, size) => (named, size),
        Row::Fork(size) => {
            let mut doc: E = keyed(&keys(size));
            doc.settle();
            return repeat(move || {
                black_box(doc.fork(2));
                size
            });
        }
        _ => return Ok(None),
    };
    match named {
        Named::Save
        | Named::Load
        | Named::SaveLarge
        | Named::LoadLarge
        | Named::SaveChanges
        | Named::LoadChanges
        | Named::SaveDocs
        | Named::LoadDocs => storage::<E>(named, size),
        Named::Merge | Named::ForkMergeBatch | Named::MergeReduce => merges::<E>(named, size),
        _ => points::<E>(named, size),
    }
}

/// Single puts and gets.
fn points<E: Objects>(named: Named, size: usize) -> Made {
    let keys = keys(size);
    match named {
        Named::MapPut => repeat(move || {
            let mut doc = E::blank(1);
            (0..size).for_each(|value| doc.put_all([("key", value as i64)].into_iter()));
            size
        }),
        Named::MapPutBatch | Named::PutScale => repeat(move || {
            black_box(keyed::<E>(&keys));
            size
        }),
        Named::MapGet => {
            let doc: E = keyed(&keys);
            let middle = format!("key{}", size / 2);
            repeat(move || doc.get(black_box(&middle)).unwrap_or(-1))
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
            size
        }),
        Named::ListInsertFront => repeat(move || {
            let mut doc = E::blank(1);
            (0..size).for_each(|_| doc.insert_all([(0, 42)].into_iter()));
            size
        }),
        Named::ListGet => {
            let doc: E = listed(size);
            repeat(move || doc.get_index(black_box(size / 2)).unwrap_or(-1))
        }
        _ => Ok(None),
    }
}

/// Saving and loading.
fn storage<E: Objects>(named: Named, size: usize) -> Made {
    let load = |saved: Vec<u8>| {
        repeat(move || {
            black_box(E::load(&saved));
            1
        })
    };
    let save = |mut doc: E| repeat(move || !black_box(doc.save()).is_empty());
    let docs = || (0..size).map(|_| keyed::<E>(&keys(50)));
    match named {
        Named::Save => save(keyed(&keys(size))),
        Named::Load => load(keyed::<E>(&keys(size)).save()),
        Named::SaveLarge => save(listed(size)),
        Named::LoadLarge => load(listed::<E>(size).save()),
        Named::SaveChanges => save(changed(size)),
        Named::LoadChanges => load(changed::<E>(size).save()),
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
        _ => Ok(None),
    }
}

/// Replicas that meet.
fn merges<E: Objects + Shared>(named: Named, size: usize) -> Made {
    match named {
        Named::Merge => {
            let (a, b): (Vec<String>, Vec<String>) =
                ((0..size).map(|i| format!("a{i}")).collect(), (0..size).map(|i| format!("b{i}")).collect());
            let make = move || {
                let mut one: E = keyed(&keys(1));
                let mut two = one.fork(2);
                a.iter().for_each(|key| one.put_all([(key.as_str(), 1)].into_iter()));
                b.iter().for_each(|key| two.put_all([(key.as_str(), 2)].into_iter()));
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
        _ => Ok(None),
    }
}

/// Workloads on the past.
pub fn past<E: Past>(row: &Row) -> Made {
    match *row {
        Row::GetAt(back) => {
            let mut doc = E::blank(1);
            doc.put_all([("x", 0)].into_iter());
            let then = doc.version();
            (0..back).for_each(|value| doc.put_all([("x", value as i64 + 1)].into_iter()));
            repeat(move || doc.get_at("x", &then).unwrap_or(-1))
        }
        Row::TextAt(back) => {
            let mut doc = E::blank(1);
            let splice = |at: usize, insert: &str| [Patch { at, delete: 0, insert: insert.to_owned() }];
            doc.edit(&splice(0, "Hello"));
            let then = doc.version();
            (0..back).for_each(|_| doc.edit(&splice(2, "and so on")));
            repeat(move || doc.text_at(&then))
        }
        _ => Ok(None),
    }
}
