//! Documents that the bindings make with the same calls: a test of each binding expects these heads.

use hashmill_doc::{AutoCommit, CommitOptions, Literal, ObjId, ObjType, ROOT, Transactable, literal};

#[test]
fn heads_equal_those_of_the_python_test() {
    let mut doc = AutoCommit::new().with_actor([0xaa].into());
    doc.put_literal(ROOT, "t", Literal::text("Hello")).expect("a key");
    doc.put_literal(ROOT, "l", literal!([1, 2])).expect("a key");
    doc.commit_with(&CommitOptions::default().with_message("Begin").with_time(1));
    let heads = doc.get_heads().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(heads, ["f712dff6e9a506a814c6b8f486d50e553bbb056450900a29c14340d408991ddd"]);
}

#[test]
fn pending_from_is_the_first_uncommitted_counter() {
    let counter = |id: &ObjId| if let ObjId::Id { counter, .. } = id { *counter } else { 0 };
    let mut doc = AutoCommit::new();
    let before = doc.put_object(ROOT, "before", ObjType::Map).expect("a key");
    doc.commit();
    assert_eq!(doc.pending_from(), None);
    doc.put(&before, "a", 1).expect("a key");
    let list = doc.put_object(&before, "made", ObjType::List).expect("a key");
    let first = doc.pending_from().expect("a change is open");
    assert!(counter(&before) < first && first < counter(&list));
    doc.rollback();
    assert_eq!(doc.pending_from(), None);
    let other = doc.put_object(ROOT, "b", ObjType::Text).expect("a key");
    assert_eq!((counter(&other), doc.pending_from()), (first, Some(first)), "the name is given again");
}
