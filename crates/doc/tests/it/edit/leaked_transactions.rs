//! Leaked transactions: the next call rolls their edits back, and nothing else is lost.

use hashmill_doc::{
    ActorId, AutoCommit, CommitOptions, Document, ObjType, ROOT, ReadDoc, Transactable, Transaction, literal,
};

/// A document with a list, a text and a map of values.
fn document() -> Document {
    let mut doc = AutoCommit::from(Document::new().with_actor(ActorId::from([1])));
    doc.init_root(&literal!({ "list": [1, 2, 3], "map": { "k": 1 }, "k": 1 })).unwrap();
    let text = doc.put_object(ROOT, "text", ObjType::Text).unwrap();
    doc.splice_text(&text, 0, 0, "typed").unwrap();
    doc.into_document()
}

fn only_value(doc: &Document, key: &str) -> hashmill_doc::ObjId {
    doc.get(ROOT, key).unwrap().unwrap().1
}

/// Edits of every kind: a few, and enough of one object that the change holds it exclusively.
fn edit(tx: &mut Transaction<'_>, kind: usize) {
    let [list, map, text] = ["list", "map", "text"].map(|key| tx.get(ROOT, key).unwrap().unwrap().1);
    match kind {
        0 => {}
        1 => tx.put(ROOT, "k", 2).unwrap(),
        2 => tx.splice_text(&text, 5, 0, " and more").unwrap(),
        3 => (0..40).for_each(|n| tx.splice_text(&text, 5 + n, 0, "x").unwrap()),
        4 => {
            (0..40).for_each(|n| tx.splice_text(&text, n % 5, 1, "yz").unwrap());
            tx.delete(&list, 1).unwrap();
            tx.put(&list, 0, "new").unwrap();
        }
        5 => {
            let inside = tx.put_object(&map, "k", ObjType::Text).unwrap();
            (0..40).for_each(|n| tx.splice_text(&inside, n, 0, "z").unwrap());
            tx.insert_object(&list, 0, ObjType::Map).unwrap();
        }
        _ => {
            tx.delete(ROOT, "text").unwrap();
            tx.delete(ROOT, "k").unwrap();
            tx.put(ROOT, "fresh", 1).unwrap();
        }
    }
}

const KINDS: usize = 7;

/// A next call; returns the resulting document.
type Next = fn(Document) -> Document;

const NEXT: [(&str, Next); 13] = [
    ("nothing", |doc| doc),
    ("a transaction", |mut doc| {
        let text = only_value(&doc, "list");
        doc.transact(|tx| tx.insert(&text, 0, "after")).unwrap();
        doc
    }),
    ("a transaction that ends in nothing", |mut doc| {
        drop(doc.transaction());
        doc
    }),
    ("an empty change", |mut doc| {
        doc.empty_commit(&CommitOptions::default());
        doc
    }),
    ("a merge", |mut doc| {
        doc.merge(&others()).unwrap();
        doc
    }),
    ("changes", |mut doc| {
        doc.apply_changes(others().get_changes(&[])).unwrap();
        doc
    }),
    ("an increment", |mut doc| {
        doc.load_incremental(&others().save_after(&[])).unwrap();
        doc
    }),
    ("being merged", |doc| {
        let mut other = others();
        other.merge(&doc).unwrap();
        other
    }),
    ("a fork", |doc| doc.fork().with_actor(ActorId::from([3]))),
    ("a clone", |doc| {
        let copy = doc.clone();
        doc.check(true);
        copy
    }),
    ("a fork of the past", |doc| doc.fork_at(&doc.get_heads()).unwrap().with_actor(ActorId::from([3]))),
    ("a change of the past", |mut doc| {
        let heads = doc.get_heads();
        doc.transact(|tx| tx.put(ROOT, "now", 1)).unwrap();
        let then = |tx: &mut Transaction<'_>| tx.put(ROOT, "k", "then");
        doc.transact_at(&heads, &CommitOptions::default(), then).unwrap();
        doc
    }),
    ("edits that are committed by themselves", |doc| {
        let mut auto = AutoCommit::from(doc);
        auto.put(ROOT, "auto", 1).unwrap();
        let heads = auto.get_heads();
        auto.put(ROOT, "auto", 2).unwrap();
        auto.isolate(&heads).unwrap();
        auto.put(ROOT, "auto", 3).unwrap();
        auto.into_document()
    }),
];

fn others() -> Document {
    let mut other = Document::new().with_actor(ActorId::from([2]));
    let list = other.transact(|tx| tx.put_object(ROOT, "theirs", ObjType::List)).unwrap();
    other.transact(|tx| tx.splice(&list, 0, 0, [1, 2, 3])).unwrap();
    other
}

#[test]
fn leaked_transaction_ends_like_a_dropped_one() {
    for kind in 0..KINDS {
        for (name, next) in NEXT {
            let [leaked, dropped] = [true, false].map(|leak| {
                let mut doc = document();
                let mut tx = doc.transaction();
                edit(&mut tx, kind);
                if leak {
                    std::mem::forget(tx);
                } else {
                    drop(tx);
                }
                let mut doc = next(doc);
                // Further edits, twice: an unfinished change would interfere.
                for n in 0..2 {
                    let text = only_value(&doc, if name == "being merged" { "theirs" } else { "list" });
                    doc.transact(|tx| tx.insert(&text, 0, n)).unwrap();
                }
                doc
            });
            let mut docs = [leaked, dropped];
            docs[0].check(true);
            let [a, b] = docs.each_mut().map(|doc| doc.save_nocompress());
            assert!(a == b, "{name} after {kind}");
            let again = docs[0].save();
            let loaded =
                Document::load(&again).unwrap_or_else(|error| panic!("{name} after {kind}: {error}"));
            assert_eq!(loaded.get_heads(), docs[1].get_heads(), "{name} after {kind}");
            assert_eq!(loaded.hydrate(ROOT), docs[1].hydrate(ROOT), "{name} after {kind}");
        }
    }
}

/// Reads of the history and all output of the document ignore it.
#[test]
fn leaked_transaction_is_not_saved_or_reported() {
    for kind in 0..KINDS {
        let mut doc = document();
        let (mut before, heads) = (doc.fork(), doc.get_heads());
        let mut tx = doc.transaction();
        edit(&mut tx, kind);
        std::mem::forget(tx);
        doc.check(true);
        assert_eq!((doc.get_heads(), doc.get_changes(&heads).len()), (heads.clone(), 0));
        assert_eq!(doc.save_after(&[]), before.save_after(&[]));
        assert_eq!(doc.snapshot().hydrate(ROOT), before.hydrate(ROOT));
        assert_eq!(doc.fork_at(&heads).unwrap().hydrate(ROOT), before.hydrate(ROOT));
        assert_eq!(doc.at(&heads).unwrap().hydrate(ROOT), before.hydrate(ROOT));
        assert_eq!(doc.save_incremental(), before.save_incremental());
        assert_eq!(doc.save(), before.save());
        assert_eq!(doc.hydrate(ROOT), before.hydrate(ROOT));
    }
}

/// Also in a document without other contents.
#[test]
fn leaked_first_transaction_is_rolled_back() {
    let mut doc = Document::new().with_actor(ActorId::from([1]));
    let mut tx = doc.transaction();
    let text = tx.put_object(ROOT, "text", ObjType::Text).unwrap();
    (0..40).for_each(|n| tx.splice_text(&text, n, 0, "x").unwrap());
    std::mem::forget(tx);
    assert!(doc.is_empty());
    let mut loading = doc.clone();
    loading.load_incremental(&document().save()).unwrap();
    assert_eq!(loading.hydrate(ROOT), document().hydrate(ROOT));
    assert_eq!(doc.save(), Document::new().save());
    assert_eq!(doc.length(ROOT), 0);
}
