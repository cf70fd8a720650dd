//! Maps.

use hashmill_doc::{EditError, ObjType, ROOT, ReadDoc, ScalarValue, Transactable, literal};

use super::{all, doc, fork, list, meet, values};

#[test]
fn repeated_put_is_no_operation_and_no_conflict() {
    let mut a = doc(1);
    a.put(ROOT, "", "the empty key").unwrap();
    a.put(ROOT, "k", 1).unwrap();
    a.commit();
    a.put(ROOT, "k", 1).unwrap();
    assert_eq!((a.pending_ops(), a.commit()), (0, None));
    a.put(ROOT, "k", 2).unwrap();
    a.put(ROOT, "k", 1).unwrap();
    assert_eq!(values(&a, ROOT, "k"), ["1"]);
    // Another actor's put of the first value made no operation.
    let mut b = fork(&mut a, 2);
    b.put(ROOT, "k", 1).unwrap();
    assert_eq!(b.get_heads(), a.get_heads());
    b.put(ROOT, "k", 3).unwrap();
    meet(&mut a, &mut b);
    assert_eq!(all(&a), literal!({ "": "the empty key", "k": 3 }));
}

#[test]
fn conflict_lasts_until_a_later_write() {
    let (mut a, mut b) = (doc(1), doc(2));
    a.put(ROOT, "k", "a").unwrap();
    b.put(ROOT, "k", "b").unwrap();
    a.put(ROOT, "of a", 1).unwrap();
    b.put(ROOT, "of b", 1).unwrap();
    meet(&mut a, &mut b);
    assert_eq!(values(&a, ROOT, "k"), ["\"a\"", "\"b\""]);
    assert_eq!(all(&a), literal!({ "k": "b", "of a": 1, "of b": 1 }));
    // Also if it is the winning value.
    a.put(ROOT, "k", "b").unwrap();
    meet(&mut a, &mut b);
    assert_eq!(values(&b, ROOT, "k"), ["\"b\""]);
}

#[test]
fn values_of_other_types_conflict_and_do_not_mix() {
    let (mut a, mut b, mut c) = (doc(1), doc(2), doc(3));
    a.put(ROOT, "k", "text").unwrap();
    list(&mut b, "k", ["element"]);
    let map = c.put_object(ROOT, "k", ObjType::Map).unwrap();
    c.put(&map, "inner", 1).unwrap();
    meet(&mut a, &mut b);
    meet(&mut b, &mut c);
    meet(&mut a, &mut b);
    assert_eq!(values(&a, ROOT, "k"), ["\"text\"", "list", "map"]);
    assert_eq!(all(&a), literal!({ "k": { "inner": 1 } }));
    // Two maps at one key are separate, and the losing one can be edited.
    let mut d = doc(4);
    let other = d.put_object(ROOT, "k", ObjType::Map).unwrap();
    d.put(&other, "inner", 2).unwrap();
    meet(&mut a, &mut d);
    a.put(&map, "more", true).unwrap();
    assert_eq!(all(&a), literal!({ "k": { "inner": 2 } }));
    assert_eq!(a.hydrate(&map).unwrap(), literal!({ "inner": 1, "more": true }));
}

#[test]
fn put_wins_over_concurrent_deletion() {
    let mut a = doc(1);
    a.put(ROOT, "k", 1).unwrap();
    let map = a.put_object(ROOT, "m", ObjType::Map).unwrap();
    a.put(&map, "bird", "robin").unwrap();
    let mut b = fork(&mut a, 2);
    a.put(ROOT, "k", 2).unwrap();
    b.delete(ROOT, "k").unwrap();
    // The contents of a concurrently deleted map are deleted with it.
    a.put(&map, "bird", "wren").unwrap();
    b.delete(ROOT, "m").unwrap();
    meet(&mut a, &mut b);
    assert_eq!(all(&a), literal!({ "k": 2 }));
    assert_eq!(a.get(&map, "bird").unwrap().unwrap().0, "wren".into());
    // Concurrent deletions agree.
    a.delete(ROOT, "k").unwrap();
    b.delete(ROOT, "k").unwrap();
    meet(&mut a, &mut b);
    assert_eq!(all(&a), literal!({}));
}

#[test]
fn each_object_accepts_keys_of_its_kind() {
    let mut a = doc(1);
    let map = a.put_object(ROOT, "m", ObjType::Map).unwrap();
    let list = list(&mut a, "l", [1]);
    let text = super::text(&mut a, "t", "x");
    let wrong = |outcome: Result<(), EditError>| assert!(matches!(outcome, Err(EditError::WrongType { .. })));
    wrong(a.put(&list, "key", 1));
    wrong(a.put(&text, "key", 1));
    wrong(a.put(&map, 0, 1));
    wrong(a.insert(&map, 0, 1));
    wrong(a.splice_text(&map, 0, 0, "x"));
    wrong(a.splice_text(&list, 0, 0, "x"));
    wrong(a.put_object(&list, "key", ObjType::Map).map(drop));
    wrong(a.split_block(&list, 0).map(drop));
    assert!(matches!(a.get(&list, "key"), Err(EditError::WrongType { .. })));
    assert_eq!(a.get(&map, "nothing").unwrap(), None);
    assert_eq!(a.get(&list, 7).unwrap(), None);
    assert!(matches!(a.put(&list, 1, 1), Err(EditError::Index { index: 1, len: 1 })));
    assert!(matches!(a.insert(&list, 2, 1), Err(EditError::Index { index: 2, len: 1 })));
    assert!(matches!(a.delete(&list, 1), Err(EditError::Index { index: 1, len: 1 })));
    assert_eq!(all(&a), literal!({ "m": {}, "l": [1], "t": (hashmill_doc::Literal::text("x")) }));
}

#[test]
fn every_scalar_round_trips() {
    let mut a = doc(1);
    let scalars: Vec<ScalarValue<'_>> = vec![
        ().into(),
        false.into(),
        i64::MIN.into(),
        u64::MAX.into(),
        f64::MIN_POSITIVE.into(),
        "ünï".into(),
        Vec::<u8>::new().into(),
        ScalarValue::counter(i64::MAX),
        ScalarValue::Timestamp(-905_182_979_000),
    ];
    for (n, scalar) in scalars.iter().enumerate() {
        a.put(ROOT, n.to_string(), scalar).unwrap();
    }
    let loaded = hashmill_doc::AutoCommit::load(&a.save()).unwrap();
    for (n, scalar) in scalars.iter().enumerate() {
        assert_eq!(loaded.get(ROOT, n.to_string()).unwrap().unwrap().0, scalar.clone().into());
    }
}
