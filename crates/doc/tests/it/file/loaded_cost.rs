//! Cost of work on a document, which must not depend on the document's origin: instructions counted by Valgrind, not
//! time.
//!
//! Each kind of receiver has the same changes and does the same work. The receiver of individual changes knows all
//! hashes; one that was loaded, forked or edited locally computes them later, and must not do so repeatedly.

use std::hint::black_box;

use hashmill_doc::sync::{State, SyncDoc as _};
use hashmill_doc::{
    ActorId, Change, ChangeHash, Document, LoadOptions, ObjId, ObjType, ROOT, ReadDoc as _,
    Transactable as _, Verify,
};
use hashmill_testkit::{callgrind, size, skip};

use crate::Rng;

const NAME: &str = concat!(module_path!(), "::work_costs_are_independent_of_the_origin_of_a_document");
const WHAT: &str = "instructions of work on loaded documents";

/// Keystrokes of each typist before the receivers are made, and afterwards.
const BEFORE: usize = 30;
const AFTER: usize = 250;
/// Keystrokes until one arrives at the other typist.
const DELAY: usize = 3;

/// Allowed ratio of the cost to that of the receiver of all changes. It includes the one-time computation of earlier
/// hashes.
const FACTOR: f64 = 1.15;

/// Two concurrent typists, each receiving the other's changes with a delay.
struct Typists {
    docs: [Document; 2],
    text: ObjId,
    /// Changes of each.
    typed: [Vec<Change>; 2],
}

impl Typists {
    fn new() -> Self {
        let mut one = Document::new().with_actor(ActorId::from([1; 16]));
        let text = one.transact(|tx| tx.put_object(ROOT, "text", ObjType::Text)).unwrap();
        one.transact(|tx| tx.splice_text(&text, 0, 0, "|")).unwrap();
        let two = one.fork().with_actor(ActorId::from([2; 16]));
        Self { docs: [one, two], text, typed: [vec![], vec![]] }
    }

    /// Types `keys` keystrokes of each; returns the changes, each after its dependencies.
    fn typed(&mut self, keys: usize) -> Vec<Change> {
        let mut changes = vec![];
        for _ in 0..keys {
            for who in 0..2 {
                let doc = &mut self.docs[who];
                let at = if who == 0 { 0 } else { doc.length(&self.text) };
                doc.transact(|tx| tx.splice_text(&self.text, at, 0, "x")).unwrap();
                let change = doc.get_last_local_change().expect("just made");
                changes.push(change.clone());
                self.typed[who].push(change);
            }
            for who in 0..2 {
                let other = &self.typed[1 - who];
                let arrived = other.len().checked_sub(DELAY + 1).map(|at| other[at].clone());
                self.docs[who].apply_changes(arrived).unwrap();
            }
        }
        changes
    }
}

/// Origins of a document with the same changes; the first one knows every hash.
const KINDS: [&str; 6] = ["received", "loaded", "loaded, verified later", "saved", "forked", "typed here"];

fn receivers(author: &Document) -> [Document; KINDS.len()] {
    let received = || {
        let mut doc = Document::new();
        doc.apply_changes(author.get_changes(&[])).unwrap();
        doc
    };
    let file = received().save();
    let later = LoadOptions::new().verify(Verify::Later);
    let mut saved = author.clone();
    saved.save();
    let docs = [
        received(),
        Document::load(&file).unwrap(),
        Document::load_with(&file, later).unwrap(),
        saved,
        Document::load(&file).unwrap().fork(),
        author.clone(),
    ];
    docs.map(|doc| doc.with_actor(ActorId::from([9; 16])))
}

#[inline(never)]
fn counted_each(doc: &mut Document, changes: &[Change]) {
    changes.iter().for_each(|change| doc.apply_changes([change.clone()]).unwrap());
}

#[inline(never)]
fn counted_batch(doc: &mut Document, changes: &[Change]) {
    doc.apply_changes(changes.iter().cloned()).unwrap();
}

#[inline(never)]
fn counted_merge(doc: &mut Document, other: &Document) {
    doc.merge(other).unwrap();
}

#[inline(never)]
fn counted_sync(doc: &mut Document, other: &mut Document) {
    let mut states = [State::new(), State::new()];
    loop {
        let from_doc = doc.generate_sync_message(&mut states[0]);
        let from_other = other.generate_sync_message(&mut states[1]);
        if from_doc.is_none() && from_other.is_none() {
            return;
        }
        from_doc
            .into_iter()
            .for_each(|message| drop(other.receive_sync_message(&mut states[1], message).unwrap()));
        from_other
            .into_iter()
            .for_each(|message| drop(doc.receive_sync_message(&mut states[0], message).unwrap()));
    }
}

#[inline(never)]
fn counted_save(doc: &mut Document) {
    black_box(doc.save());
}

const WORKS: [&str; 5] =
    ["changes one by one", "changes at once", "merge", "sync", "first save after changes"];

/// Each kind of work with each kind of receiver, in this order.
fn all_counted() {
    let mut typists = Typists::new();
    typists.typed(BEFORE);
    let [one, two] = &mut typists.docs;
    one.merge(two).unwrap();
    two.merge(one).unwrap();
    let before = typists.docs[0].clone();
    let changes = typists.typed(AFTER);
    let [one, two] = &mut typists.docs;
    one.merge(two).unwrap();
    let all = one.clone();
    let heads = all.get_heads();
    let count = |work: &dyn Fn(&mut Document)| {
        for mut doc in receivers(&before) {
            work(&mut doc);
            assert_eq!(doc.get_heads(), heads);
        }
    };
    count(&|doc| counted_each(doc, &changes));
    count(&|doc| counted_batch(doc, &changes));
    count(&|doc| counted_merge(doc, &all));
    count(&|doc| counted_sync(doc, &mut all.clone()));
    count(&|doc| {
        doc.apply_changes(changes.iter().cloned()).unwrap();
        counted_save(doc);
    });
}

#[test]
fn work_costs_are_independent_of_the_origin_of_a_document() {
    if callgrind::is_counting() {
        return all_counted();
    }
    let folder = tempfile::tempdir().expect("a folder");
    let counts = match callgrind::counts(NAME, folder.path()) {
        Ok(counts) => counts,
        Err(reason) => return skip(WHAT, reason),
    };
    let mut dearer = vec![];
    assert_eq!(counts.len(), WORKS.len() * KINDS.len());
    for (work, counts) in WORKS.iter().zip(counts.chunks(KINDS.len())) {
        let least = counts[0];
        for (count, kind) in counts.iter().zip(KINDS) {
            let ratio = *count as f64 / least as f64;
            if ratio > FACTOR {
                dearer.push(format!("{work}, {kind}: {ratio:.2} times {least}"));
            }
        }
    }
    assert!(dearer.is_empty(), "{dearer:#?}");
}

/// Every hash is found, in any order of lookups while changes are received and made; unknown hashes are not.
#[test]
fn hashes_are_found_in_any_order_for_any_origin() {
    for seed in 0..size::of(2, 6) {
        let mut rng = Rng::new(seed);
        let mut typists = Typists::new();
        typists.typed(BEFORE + rng.below(400));
        let [one, two] = &mut typists.docs;
        one.merge(two).unwrap();
        two.merge(one).unwrap();
        let before = typists.docs[0].clone();
        let changes = typists.typed(300);
        for (kind, mut doc) in KINDS.iter().zip(receivers(&before)) {
            let known: Vec<ChangeHash> = before.get_changes(&[]).iter().map(Change::hash).collect();
            let mut known = known.clone();
            let mut arriving = changes.iter();
            while arriving.len() > 0 {
                match rng.below(8) {
                    0 => {
                        doc.transact(|tx| tx.put(ROOT, "n", rng.below(1000) as i64)).unwrap();
                    }
                    1 => {
                        let keys = 1 + rng.below(300);
                        for _ in 0..keys {
                            doc.transact(|tx| tx.splice_text(&typists.text, 0, 0, "y")).unwrap();
                        }
                    }
                    2 => {
                        let hash = known[rng.below(known.len())];
                        assert_eq!(doc.get_change_by_hash(&hash).map(|change| change.hash()), Some(hash));
                    }
                    3 if rng.below(20) == 0 => {
                        assert_eq!(doc.get_change_by_hash(&ChangeHash([seed as u8; 32])), None);
                    }
                    4 => known.extend(doc.get_heads()),
                    5 => doc = doc.fork().with_actor(ActorId::from([10 + rng.below(200) as u8; 16])),
                    _ => {
                        let change = arriving.next().expect("there are more");
                        doc.apply_changes([change.clone()]).unwrap();
                        known.push(change.hash());
                    }
                }
            }
            for hash in &known {
                let found = doc.get_change_by_hash(hash).map(|change| change.hash());
                assert_eq!(found, Some(*hash), "{kind}, seed {seed}");
            }
            doc.check(true);
        }
    }
}
