//! Changes made through the API have the hashes of the official engine.

use hashmill_doc::{CommitOptions, Document, ObjType, ROOT, ReadDoc, ScalarValue, Transactable};

fn document() -> Document {
    Document::new().with_actor("00112233445566778899aabbccddeeff".parse().unwrap())
}

fn heads(doc: &Document) -> Vec<String> {
    doc.get_heads().iter().map(ToString::to_string).collect()
}

#[test]
fn golden_put() {
    let mut doc = document();
    let mut tx = doc.transaction();
    tx.put(ROOT, "k", 1).unwrap();
    tx.commit();
    assert_eq!(heads(&doc), ["a26dbfd182c54a7fe9452ff4c6a053a6e600a222392e76ac5928694654f6927a"]);
}

#[test]
fn golden_text_with_message_and_time() {
    let mut doc = document();
    let mut tx = doc.transaction();
    let text = tx.put_object(ROOT, "text", ObjType::Text).unwrap();
    tx.splice_text(&text, 0, 0, "héllo").unwrap();
    tx.commit_with(&CommitOptions::default().with_message("m").with_time(1_700_000_000));
    assert_eq!(heads(&doc), ["c1c13ae3d94bc339c59bd28271174f3282b947542a7f9344a7a04eb4c2a443bd"]);
    let change = &doc.get_changes(&[])[0];
    assert_eq!((change.message(), change.timestamp(), change.len()), (Some("m"), 1_700_000_000, 6));
}

#[test]
fn golden_author() {
    let mut doc = document();
    let mut tx = doc.transaction();
    tx.put(ROOT, "k", 1).unwrap();
    tx.commit_with(&CommitOptions::default().with_author([1, 2, 3]));
    assert_eq!(heads(&doc), ["7d645833d1c6ad5f7cb0b34d5f870aa685916ad7a7d50f521e68fe57bae508f1"]);
}

#[test]
fn golden_empty_change() {
    let mut doc = document();
    doc.empty_commit(&CommitOptions::default());
    assert_eq!(heads(&doc), ["0459d7e564ca74ea9cc95185c61de29bc76817887218645601e301ead086b55d"]);
    assert!(doc.transaction().commit().is_none());
}

#[test]
fn put_of_the_present_value_is_no_operation() {
    let mut doc = document();
    let mut tx = doc.transaction();
    tx.put(ROOT, "k", 1.5).unwrap();
    tx.put(ROOT, "k", 1.5).unwrap();
    tx.delete(ROOT, "absent").unwrap();
    assert_eq!(tx.pending_ops(), 1);
    tx.put(ROOT, "k", ScalarValue::Null).unwrap();
    assert_eq!(tx.pending_ops(), 2);
    tx.commit();
    assert_eq!(doc.get(ROOT, "k").unwrap().unwrap().0, ScalarValue::Null.into());
}

/// A counter is compared by its current value. Both cases were compared with the official engine: it writes no
/// operation in the first and one in the second.
#[test]
fn put_of_the_current_counter_value_is_no_operation() {
    let mut doc = document();
    let mut tx = doc.transaction();
    let list = tx.put_object(ROOT, "list", ObjType::List).unwrap();
    tx.insert(&list, 0, ScalarValue::counter(0)).unwrap();
    tx.put(ROOT, "key", ScalarValue::counter(0)).unwrap();
    tx.increment(ROOT, "key", 2).unwrap();
    tx.increment(&list, 0, 2).unwrap();
    assert_eq!(tx.pending_ops(), 5);
    tx.put(ROOT, "key", ScalarValue::counter(2)).unwrap();
    tx.put(&list, 0, ScalarValue::counter(2)).unwrap();
    assert_eq!(tx.pending_ops(), 5);
    tx.put(ROOT, "key", 2).unwrap();
    tx.put(ROOT, "key", ScalarValue::counter(0)).unwrap();
    tx.increment(ROOT, "key", 2).unwrap();
    tx.put(ROOT, "key", ScalarValue::counter(0)).unwrap();
    tx.put(&list, 0, ScalarValue::counter(0)).unwrap();
    assert_eq!(tx.pending_ops(), 10, "where it began is not where it is");
}

#[test]
fn put_compares_the_current_value_of_a_shared_counter() {
    let mut doc = document();
    doc.transact(|tx| tx.put(ROOT, "key", ScalarValue::counter(0))).unwrap();
    let mut other = doc.fork();
    other.transact(|tx| tx.increment(ROOT, "key", 2)).unwrap();
    doc.transact(|tx| tx.increment(ROOT, "key", 3)).unwrap();
    doc.merge(&other).unwrap();
    let mut tx = doc.transaction();
    tx.put(ROOT, "key", ScalarValue::counter(5)).unwrap();
    assert_eq!(tx.pending_ops(), 0);
    tx.put(ROOT, "key", ScalarValue::counter(3)).unwrap();
    assert_eq!(tx.pending_ops(), 1);
}
