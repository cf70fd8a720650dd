//! Concurrent changes for a loaded document: received one by one or at once, saved, synced and merged.
//!
//! Two users type at the same time, each at their own position, and receive each other's keys a few keys later. The document before
//! is saved and loaded, so the receiver has not cached the hashes that a change names.

use crate::doc::case::{Case, SyncingDoc, exchange_messages, prepared};
use crate::doc::engine::{Patch, Shared, Synced};
use crate::doc::workload_names::WorkloadName;
use std::hint::black_box;
use std::rc::Rc;
use std::slice;

/// Keys of each user before the document is saved.
const BEFORE: usize = 500;
/// Delay until a key arrives at the other user, in keys.
const DELAY: usize = 3;
/// Text between the positions of the two users.
const BETWEEN: &str = "|";

/// The final text.
#[must_use]
pub(super) fn text(size: usize) -> String {
    let keys = BEFORE + size;
    ["a".repeat(keys).as_str(), BETWEEN, &"b".repeat(keys)].concat()
}

/// A workload of a loaded document, `size` keys of each.
pub(super) fn loaded<E: Synced + Shared>(named: WorkloadName, size: usize) -> Option<Case> {
    let Session { saved, updates, mut all } = Session::<E>::new(size);
    let updates: Rc<[Vec<u8>]> = updates.into();
    let receiver = move || E::load(&saved);
    let case = match named {
        WorkloadName::LoadedHearEach => prepared(receiver, move |doc: &mut E| {
            updates.iter().for_each(|update| doc.apply_updates(slice::from_ref(update)));
            doc.text()
        }),
        WorkloadName::LoadedHearAll => prepared(receiver, move |doc: &mut E| {
            doc.apply_updates(&updates);
            doc.text()
        }),
        WorkloadName::LoadedFirstSave => {
            let make = move || {
                let mut doc = receiver();
                doc.apply_updates(&updates);
                doc
            };
            prepared(make, |doc: &mut E| usize::from(!black_box(doc.save()).is_empty()))
        }
        WorkloadName::LoadedSync => {
            let make = move || [SyncingDoc::new(receiver()), SyncingDoc::new(all.fork(3))];
            prepared(make, |[one, two]| exchange_messages(one, two))
        }
        WorkloadName::LoadedMerge => {
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

/// The typing of two users.
struct Session<E> {
    /// The document before.
    saved: Vec<u8>,
    /// The updates, in causal order.
    updates: Vec<Vec<u8>>,
    /// A document with all updates.
    all: E,
}

impl<E: Synced + Shared> Session<E> {
    fn new(size: usize) -> Self {
        let mut first = E::blank(1);
        first.edit(&[Patch { at: 0, delete: 0, insert: BETWEEN.to_owned() }]);
        let second = first.fork(2);
        let mut replicas = [first, second];
        typed(&mut replicas, 0, BEFORE);
        let saved = replicas[0].save();
        let updates = typed(&mut replicas, BEFORE, size);
        let [all, _] = replicas;
        Self { saved, updates, all }
    }
}

/// `keys` keys of each user, after `before` earlier ones. In the end both have all updates.
fn typed<E: Synced + Shared>(replicas: &mut [E; 2], before: usize, keys: usize) -> Vec<Vec<u8>> {
    let mut updates: Vec<Vec<u8>> = vec![];
    for key in 0..keys + DELAY {
        if key < keys {
            let at = before + key;
            updates.push(replicas[0].edit_and_export(&[Patch { at, delete: 0, insert: "a".to_owned() }]));
            let at = replicas[1].length();
            updates.push(replicas[1].edit_and_export(&[Patch { at, delete: 0, insert: "b".to_owned() }]));
        }
        if let Some(delayed) = key.checked_sub(DELAY) {
            replicas[0].apply_updates(slice::from_ref(&updates[2 * delayed + 1]));
            replicas[1].apply_updates(slice::from_ref(&updates[2 * delayed]));
        }
    }
    updates
}
