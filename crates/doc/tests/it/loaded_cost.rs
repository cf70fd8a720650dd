//! Work on a document costs about as many instructions however the document came about: counted by Valgrind, not timed.
//!
//! Each kind of receiver has the same changes and then does the same work. The receiver that got every change as bytes knows
//! all hashes; one that was loaded, forked or edited here computes them later, and must not do so again and again.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;

use hashmill_doc::sync::{State, SyncDoc as _};
use hashmill_doc::{
    ActorId, Change, ChangeHash, Document, LoadOptions, ObjId, ObjType, ROOT, ReadDoc as _,
    Transactable as _, Verify,
};
use hashmill_testkit::skip;

use crate::Rng;

/// The variable that makes a second process of this program do [`all_counted`].
const CHILD: &str = "HASHMILL_TEST_COUNTED";
const NAME: &str = "loaded_cost::work_costs_as_much_on_any_document_as_on_one_that_received_all_changes";
const WHAT: &str = "instructions of work on loaded documents";

/// Keystrokes of each of two before the receivers are made, and afterwards.
const BEFORE: usize = 30;
const AFTER: usize = 250;
/// Keystrokes until one arrives at the other typist.
const DELAY: usize = 3;

/// How much more a receiver may take for some work than the one that received all changes. It computes the hashes of what
/// was there before once.
const FACTOR: f64 = 1.15;

/// Two who type at once, each hearing the other a moment later.
struct Typists {
    docs: [Document; 2],
    text: ObjId,
    /// What each typed.
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

    /// Types `keys` keystrokes of each; gives the changes, each after those it depends on.
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
                let theirs = &self.typed[1 - who];
                let arrived = theirs.len().checked_sub(DELAY + 1).map(|at| theirs[at].clone());
                self.docs[who].apply_changes(arrived).unwrap();
            }
        }
        changes
    }
}

/// The ways in which a document with the same changes comes about; the first knows every hash.
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
        let said = doc.generate_sync_message(&mut states[0]);
        let heard = other.generate_sync_message(&mut states[1]);
        if said.is_none() && heard.is_none() {
            return;
        }
        said.into_iter()
            .for_each(|message| drop(other.receive_sync_message(&mut states[1], message).unwrap()));
        heard
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

/// Each work with each kind of receiver, in this order.
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

/// Instructions of the call that the file is about.
fn total(path: &Path) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let line = text.lines().find_map(|line| line.strip_prefix("totals: "));
    line.and_then(|number| number.trim().parse().ok()).expect("a total")
}

#[test]
fn work_costs_as_much_on_any_document_as_on_one_that_received_all_changes() {
    if std::env::var_os(CHILD).is_some() {
        return all_counted();
    }
    if std::env::var_os("ASAN_OPTIONS").is_some() {
        return skip(WHAT, "what a sanitizer adds would be counted, too");
    }
    let Ok(program) = std::env::current_exe() else {
        return skip(WHAT, "this program cannot be started again");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let mut valgrind = Command::new("valgrind");
    let patterns = ["--toggle-collect=*::counted_*", "--dump-after=*loaded_cost::counted_*"];
    valgrind.arg("--tool=callgrind").args(patterns);
    valgrind.arg(format!("--callgrind-out-file={}", out.display())).arg(program);
    let Ok(output) = valgrind.args(["--exact", NAME]).env(CHILD, "1").output() else {
        return skip(WHAT, "no valgrind: apt-get install valgrind");
    };
    let words = String::from_utf8_lossy(&output.stdout);
    // Programs of other processors do not run under it.
    if !words.contains("running 1 test") {
        return skip(WHAT, "this program does not run under valgrind");
    }
    assert!(output.status.success() && words.contains("1 passed"), "{words}");
    let mut dearer = vec![];
    for (row, work) in WORKS.iter().enumerate() {
        let count = |at: usize| total(&out.with_extension((row * KINDS.len() + at + 1).to_string()));
        let least = count(0);
        for (at, kind) in KINDS.iter().enumerate() {
            let ratio = count(at) as f64 / least as f64;
            if ratio > FACTOR {
                dearer.push(format!("{work}, {kind}: {ratio:.2} times {least}"));
            }
        }
    }
    assert!(dearer.is_empty(), "{dearer:#?}");
}

/// Every hash is found, in whatever order hashes are asked for while changes arrive and are made here; no other is.
#[test]
fn hashes_are_found_in_any_order_on_any_document() {
    for seed in 0..6 {
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
