//! Undo and redo of one user's changes during concurrent edits.

use hashmill_doc::{
    CommitOptions, Document, EditError, ExpandMark, Literal, Mark, ObjId, ObjType, ROOT, ReadDoc as _,
    ScalarValue, Span, Transactable as _, Transaction, UndoManager, literal,
};
use hashmill_testkit::rng::Rng;

/// One user with a copy of the document.
struct Person {
    doc: Document,
    undo: UndoManager,
}

impl Person {
    fn new(doc: Document) -> Self {
        Self { doc, undo: UndoManager::new() }
    }

    fn does<T>(&mut self, edit: impl FnOnce(&mut Transaction<'_>) -> Result<T, EditError>) -> T {
        let (value, commit) = self.doc.transact_with(&CommitOptions::default(), edit).unwrap();
        self.undo.record(commit);
        value
    }

    fn undoes(&mut self) -> bool {
        self.undo.undo(&mut self.doc).unwrap().is_some()
    }

    fn redoes(&mut self) -> bool {
        self.undo.redo(&mut self.doc).unwrap().is_some()
    }

    fn shows(&self) -> Literal {
        self.doc.hydrate(ROOT).unwrap()
    }
}

fn meet(a: &mut Person, b: &mut Person) {
    a.doc.merge(&b.doc).unwrap();
    b.doc.merge(&a.doc).unwrap();
    assert_eq!(a.shows(), b.shows());
}

fn with_text(text: &str) -> (Document, ObjId) {
    let mut doc = Document::new();
    let obj = doc
        .transact(|tx| {
            let obj = tx.put_object(ROOT, "text", ObjType::Text)?;
            tx.splice_text(&obj, 0, 0, text)?;
            Ok::<_, EditError>(obj)
        })
        .unwrap();
    (doc, obj)
}

#[test]
fn undo_keeps_text_of_others() {
    let (doc, text) = with_text("one two three");
    let (mut a, mut b) = (Person::new(doc.fork()), Person::new(doc.fork()));
    a.does(|tx| tx.splice_text(&text, 4, 3, "zwei"));
    b.does(|tx| tx.splice_text(&text, 13, 0, "!"));
    meet(&mut a, &mut b);
    // Inside the text of the other user.
    b.does(|tx| tx.splice_text(&text, 6, 0, "X"));
    meet(&mut a, &mut b);
    assert_eq!(a.doc.text(&text).unwrap(), "one zwXei three!");
    assert!(a.undoes());
    meet(&mut a, &mut b);
    let left = a.doc.text(&text).unwrap();
    assert!(left.contains("two") && left.contains('X') && left.ends_with(" three!"), "{left}");
    assert!(a.redoes());
    meet(&mut a, &mut b);
    let again = a.doc.text(&text).unwrap();
    assert!(again.contains("zw") && again.contains("ei") && !again.contains("two"), "{again}");
    assert!(!a.redoes());
    assert!(b.undoes() && b.undoes() && !b.undoes());
    assert!(!b.doc.text(&text).unwrap().contains(['X', '!']));
}

#[test]
fn undo_keeps_replacements_by_others() {
    let mut doc = Document::new();
    doc.transact(|tx| tx.put(ROOT, "k", 1)).unwrap();
    let (mut a, mut b) = (Person::new(doc.fork()), Person::new(doc.fork()));
    a.does(|tx| tx.put(ROOT, "k", 2));
    a.does(|tx| tx.put(ROOT, "other", true));
    meet(&mut a, &mut b);
    b.does(|tx| tx.put(ROOT, "k", 3));
    meet(&mut a, &mut b);
    assert!(a.undoes());
    assert_eq!(a.shows(), literal!({ "k": 3 }));
    // The first change has no visible effect left, so there is nothing to undo.
    assert!(!a.undoes() && !a.undo.can_undo());
    assert!(a.redoes() && !a.redoes());
    assert_eq!(a.shows(), literal!({ "k": 3, "other": true }));
}

#[test]
fn undo_restores_counters_and_objects() {
    let mut doc = Document::new();
    doc.transact(|tx| {
        tx.put(ROOT, "n", ScalarValue::counter(5))?;
        tx.put_literal(ROOT, "map", literal!({ "list": [1, { "deep": (Literal::text("words")) }] })).map(drop)
    })
    .unwrap();
    let mut a = Person::new(doc);
    let before = a.shows();
    a.does(|tx| tx.increment(ROOT, "n", 3));
    a.does(|tx| tx.delete(ROOT, "map"));
    assert!(a.undoes());
    assert!(a.undoes());
    assert_eq!(a.shows(), before);
    assert!(a.redoes() && a.redoes());
    assert_eq!(a.shows(), literal!({ "n": (ScalarValue::counter(8)) }));
}

#[test]
fn joined_changes_are_one_undo_step() {
    let (doc, text) = with_text("");
    let mut a = Person::new(doc);
    for (at, c) in ["w", "o", "r", "d"].into_iter().enumerate() {
        let (_, commit) =
            a.doc.transact_with(&CommitOptions::default(), |tx| tx.splice_text(&text, at, 0, c)).unwrap();
        if at == 0 { a.undo.record(commit) } else { a.undo.join(commit) }
    }
    assert!(a.undoes());
    assert_eq!(a.doc.text(&text).unwrap(), "");
    assert!(!a.undoes() && a.redoes());
    assert_eq!(a.doc.text(&text).unwrap(), "word");
    // A new change clears the redo history.
    assert!(a.undoes());
    a.does(|tx| tx.splice_text(&text, 0, 0, "!"));
    assert!(!a.undo.can_redo());
    assert!(a.undoes() && !a.undoes());
}

#[test]
fn revert_undoes_a_change_of_another_actor() {
    let (doc, text) = with_text("some words");
    let (mut a, b) = (Person::new(doc.fork()), Person::new(doc));
    let options = CommitOptions::default();
    a.does(|tx| tx.splice_text(&text, 0, 5, ""));
    let hash = a.doc.get_heads();
    let mut b = b;
    b.doc.merge(&a.doc).unwrap();
    assert!(b.doc.revert(&hash, &options).unwrap().is_some());
    assert_eq!(b.doc.text(&text).unwrap(), "some words");
    // A second revert has no effect; reverting the revert restores the change.
    let reverse = b.doc.get_heads();
    assert!(b.doc.revert(&reverse, &options).unwrap().is_some());
    assert_eq!(b.doc.text(&text).unwrap(), "words");
    assert!(b.doc.revert(&[hashmill_doc::ChangeHash([1; 32])], &options).is_err());
    let heads = b.doc.get_heads();
    assert!(b.doc.revert(&[], &options).unwrap().is_none());
    assert_eq!(b.doc.get_heads(), heads);
}

#[test]
fn undo_steps_of_another_document_have_no_effect() {
    let (doc, text) = with_text("a");
    let mut a = Person::new(doc);
    a.does(|tx| tx.splice_text(&text, 0, 0, "b"));
    let (mut other, _) = with_text("c");
    assert!(a.undo.undo(&mut other).unwrap().is_none());
}

/// Contents of a document with one text and one list, as text, which distinguishes zeros with two signs.
fn visible(doc: &Document, text: &ObjId) -> String {
    let spans: Vec<Span<'static>> = doc.spans(text).unwrap().map(Span::into_owned).collect();
    format!("{:?} {spans:?}", doc.hydrate(ROOT).unwrap())
}

fn scribble(tx: &mut Transaction<'_>, text: &ObjId, rng: &mut Rng) -> Result<(), EditError> {
    let len = tx.length(text);
    let at = rng.below(len + 1);
    let key = ["k", "l", "m"][rng.below(3)];
    match rng.below(9) {
        0..3 => tx.splice_text(text, at, rng.below(3).min(len - at) as isize, ["x", "", "yz"][rng.below(3)]),
        3 => match rng.below(3) {
            0 => tx.put(ROOT, key, rng.below(4) as i64),
            // Over another value, because zeros with two signs are equal and a put would do nothing.
            1 => {
                tx.put(ROOT, key, 1)?;
                tx.put(ROOT, key, [0.0, -0.0][rng.below(2)])
            }
            _ => {
                let list = tx.get(ROOT, "list")?.expect("a list").1;
                let index = rng.below(tx.length(&list) + 1);
                match index < tx.length(&list) {
                    true => tx.put(&list, index, 1)?,
                    false => tx.insert(&list, index, 1)?,
                }
                tx.put(&list, index, [0.0, -0.0, 2.0][rng.below(3)])
            }
        },
        4 if tx.get(ROOT, key)?.is_some() => tx.delete(ROOT, key),
        // Never the same again: an object that only looks like another one is undone, too.
        5 => {
            let number = rng.next_u64() as i64;
            tx.put_literal(ROOT, key, literal!({ "in": [number, (Literal::text("t"))] })).map(drop)
        }
        6 => tx.split_block(text, at).map(drop),
        7 => tx.increment(ROOT, "n", rng.below(5) as i64),
        _ => {
            let end = at + rng.below(len + 1 - at);
            let value = [ScalarValue::Null, true.into()][rng.below(2)].clone();
            tx.mark(text, Mark::new(["b", "i"][rng.below(2)], value, at, end), ExpandMark::None)
        }
    }
}

#[test]
fn undo_and_redo_of_all_steps() {
    for seed in 0..80 {
        let mut rng = Rng::new(seed);
        let (mut doc, text) = with_text("some words");
        doc.transact(|tx| tx.put(ROOT, "n", ScalarValue::counter(0))).unwrap();
        doc.transact(|tx| tx.put_object(ROOT, "list", ObjType::List)).unwrap();
        let mut a = Person::new(doc);
        let mut states = vec![visible(&a.doc, &text)];
        for _ in 0..12 {
            a.does(|tx| (0..1 + rng.below(3)).try_for_each(|_| scribble(tx, &text, &mut rng)));
            states.push(visible(&a.doc, &text));
            states.dedup();
        }
        let mut at = states.len() - 1;
        // Replacing a value by an equal one has no visible effect: a step may be skipped.
        let mut step = |back: bool| {
            let moved = if back { a.undoes() } else { a.redoes() };
            let now = visible(&a.doc, &text);
            if now != states[at] {
                at = if back { at - 1 } else { at + 1 };
                assert!(moved && now == states[at], "seed {seed}, to {at}: {now:?}");
            }
            (moved, at)
        };
        for _ in 0..60 {
            step(rng.below(5) < 3);
        }
        while step(true).0 {}
        assert_eq!(step(true), (false, 0), "seed {seed}");
        while step(false).0 {}
        assert_eq!(step(false), (false, states.len() - 1), "seed {seed}");
        let loaded = Document::load(&a.doc.save()).unwrap();
        assert_eq!(visible(&loaded, &text), states[states.len() - 1]);
    }
}
