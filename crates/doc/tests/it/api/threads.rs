//! Snapshots that are read while the document is edited.

use hashmill_doc::{AutoCommit, ObjType, ROOT, ReadDoc, Transactable};

#[test]
fn readers_of_a_snapshot_see_no_later_edits() {
    let mut doc = AutoCommit::new();
    let text = doc.put_object(ROOT, "text", ObjType::Text).unwrap();
    let mut rng = crate::Rng::new(3);
    std::thread::scope(|scope| {
        for i in 0..60 {
            for _ in 0..20 {
                let len = doc.length(&text);
                doc.splice_text(&text, rng.below(len + 1), rng.below(3) as isize, "word ").unwrap();
            }
            doc.put(ROOT, format!("key {i}"), i).unwrap();
            doc.commit();
            let (snapshot, text) = (doc.document().snapshot(), text.clone());
            let (expected, heads) = (doc.text(&text).unwrap(), doc.document().get_heads());
            scope.spawn(move || {
                for _ in 0..5 {
                    assert_eq!(snapshot.text(&text).unwrap(), expected);
                    assert_eq!(snapshot.length(ROOT), i as usize + 2);
                    assert_eq!(snapshot.get_heads(), heads);
                    std::thread::yield_now();
                }
            });
        }
    });
    doc.document().check(true);
}

/// Readers of many snapshots read at random, some from forks that they edit, while the writer edits, merges, rolls back
/// and saves: shared pages must not be changed by any of them.
#[test]
fn readers_and_forks_do_not_disturb_each_other() {
    let mut doc = AutoCommit::new();
    let text = doc.put_object(ROOT, "text", ObjType::Text).unwrap();
    let list = doc.put_object(ROOT, "list", ObjType::List).unwrap();
    doc.commit();
    let mut rng = crate::Rng::new(7);
    std::thread::scope(|scope| {
        for round in 0..24 {
            for i in 0..15 {
                let len = doc.length(&text);
                doc.splice_text(&text, rng.below(len + 1), rng.below(4) as isize, "some words ").unwrap();
                doc.insert(&list, rng.below(doc.length(&list) + 1), i).unwrap();
            }
            match rng.below(4) {
                0 => assert_eq!(doc.pending_ops(), doc.rollback()),
                1 => assert!(!doc.document().save().is_empty()),
                _ => assert!(doc.commit().is_some()),
            }
            let expected = doc.document().hydrate(ROOT).unwrap();
            let (snapshot, fork) = (doc.document().snapshot(), doc.document().fork());
            let (text, list) = (&text, &list);
            let seed = round + 100;
            scope.spawn(move || {
                let mut rng = crate::Rng::new(seed);
                let mut own = AutoCommit::from(fork);
                for _ in 0..6 {
                    match rng.below(3) {
                        0 => assert_eq!(snapshot.hydrate(ROOT).unwrap(), expected),
                        1 => assert_eq!((snapshot.get_heads().len(), snapshot.length(ROOT)), (1, 2)),
                        _ if own.length(text) > 0 => own.delete(text, 0).unwrap(),
                        _ => {}
                    }
                    if own.object_type(list).is_ok() {
                        own.insert(list, 0, "mine").unwrap();
                    }
                    own.commit();
                    own.document().get_heads();
                }
                own.document().check(true);
                assert_eq!(snapshot.hydrate(ROOT).unwrap(), expected);
            });
        }
    });
    doc.document().check(true);
}
