//! Concurrent changes for a document that was loaded: received one by one or at once, saved, synced and merged.
//!
//! Two people type at the same time, each at their own place, and hear each other a few keys later. The document before is
//! saved and loaded, so the receiver has no hash at hand that a change names.

use super::cases::{Case, Talker, prepared, talk};
use super::engine::{Patch, Shared, Synced};
use super::named::Named;
use std::hint::black_box;
use std::rc::Rc;
use std::slice;

/// Keys of each before the document is saved.
const BEFORE: usize = 500;
/// Keys until one arrives at the other typist.
const DELAY: usize = 3;
/// Stands between the places of the two.
const BETWEEN: &str = "|";

/// The text in the end.
#[must_use]
pub(super) fn text(size: usize) -> String {
    let keys = BEFORE + size;
    ["a".repeat(keys).as_str(), BETWEEN, &"b".repeat(keys)].concat()
}

/// A workload of a loaded document, `size` keys of each.
pub(super) fn loaded<E: Synced + Shared>(named: Named, size: usize) -> Option<Case> {
    let Session { saved, updates, mut all } = Session::<E>::new(size);
    let updates: Rc<[Vec<u8>]> = updates.into();
    let receiver = move || E::load(&saved);
    let case = match named {
        Named::LoadedHearEach => prepared(receiver, move |doc: &mut E| {
            updates.iter().for_each(|update| doc.hear(slice::from_ref(update)));
            doc.text()
        }),
        Named::LoadedHearAll => prepared(receiver, move |doc: &mut E| {
            doc.hear(&updates);
            doc.text()
        }),
        Named::LoadedFirstSave => {
            let make = move || {
                let mut doc = receiver();
                doc.hear(&updates);
                doc
            };
            prepared(make, |doc: &mut E| usize::from(!black_box(doc.save()).is_empty()))
        }
        Named::LoadedSync => {
            let make = move || [Talker::new(receiver()), Talker::new(all.fork(3))];
            prepared(make, |[one, two]| talk(one, two))
        }
        Named::LoadedMerge => {
            let make = move || (receiver(), all.fork(3));
            prepared(make, |(doc, all)| {
                doc.merge(all);
                doc.text()
            })
        }
        _ => return None,
    };
    Some(case)
}

/// What two people typed.
struct Session<E> {
    /// The document before.
    saved: Vec<u8>,
    /// What came then, in an order in which nothing is missing.
    updates: Vec<Vec<u8>>,
    /// A document with all of it.
    all: E,
}

impl<E: Synced + Shared> Session<E> {
    fn new(size: usize) -> Self {
        let mut first = E::blank(1);
        first.edit(&[Patch { at: 0, delete: 0, insert: BETWEEN.to_owned() }]);
        let second = first.fork(2);
        let mut people = [first, second];
        typed(&mut people, 0, BEFORE);
        let saved = people[0].save();
        let updates = typed(&mut people, BEFORE, size);
        let [all, _] = people;
        Self { saved, updates, all }
    }
}

/// So many keys of each, who had typed `before`; both have heard all in the end.
fn typed<E: Synced + Shared>(people: &mut [E; 2], before: usize, keys: usize) -> Vec<Vec<u8>> {
    let mut updates: Vec<Vec<u8>> = vec![];
    for key in 0..keys + DELAY {
        if key < keys {
            let at = before + key;
            updates.push(people[0].edit_and_tell(&[Patch { at, delete: 0, insert: "a".to_owned() }]));
            let at = people[1].length();
            updates.push(people[1].edit_and_tell(&[Patch { at, delete: 0, insert: "b".to_owned() }]));
        }
        if let Some(heard) = key.checked_sub(DELAY) {
            people[0].hear(slice::from_ref(&updates[2 * heard + 1]));
            people[1].hear(slice::from_ref(&updates[2 * heard]));
        }
    }
    updates
}
