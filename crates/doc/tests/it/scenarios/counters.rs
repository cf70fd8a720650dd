//! Counters.

use hashmill_doc::{AutoCommit, EditError, ROOT, ReadDoc, ScalarValue, Transactable};

use super::{doc, fork, list, meet, values};

#[test]
fn concurrent_increments_add_up() {
    let mut a = doc(1);
    a.put(ROOT, "n", ScalarValue::counter(5)).unwrap();
    a.increment(ROOT, "n", 1).unwrap();
    let (mut b, mut c) = (fork(&mut a, 2), fork(&mut a, 3));
    a.increment(ROOT, "n", 10).unwrap();
    b.increment(ROOT, "n", -100).unwrap();
    c.increment(ROOT, "n", i64::MAX).unwrap();
    meet(&mut a, &mut b);
    assert_eq!(values(&a, ROOT, "n"), ["counter -84"]);
    // Beyond the greatest number it wraps to the smallest, equally on all replicas.
    meet(&mut a, &mut c);
    assert_eq!(values(&c, ROOT, "n"), [format!("counter {}", i64::MAX - 84)]);
    c.increment(ROOT, "n", 100).unwrap();
    meet(&mut a, &mut c);
    assert_eq!(values(&a, ROOT, "n"), [format!("counter {}", (i64::MAX - 84).wrapping_add(100))]);
}

#[test]
fn increment_applies_to_its_predecessors() {
    let mut a = doc(1);
    a.put(ROOT, "n", ScalarValue::counter(0)).unwrap();
    let mut b = fork(&mut a, 2);
    a.increment(ROOT, "n", 2).unwrap();
    b.put(ROOT, "n", ScalarValue::counter(100)).unwrap();
    b.increment(ROOT, "n", 3).unwrap();
    meet(&mut a, &mut b);
    // The earlier counter is superseded by another put; the increment does not restore it.
    assert_eq!(values(&a, ROOT, "n"), ["counter 103"]);
    let (mut c, mut d) = (doc(3), doc(4));
    c.put(ROOT, "n", ScalarValue::counter(1)).unwrap();
    d.put(ROOT, "n", ScalarValue::counter(2)).unwrap();
    c.increment(ROOT, "n", 10).unwrap();
    meet(&mut c, &mut d);
    assert_eq!(values(&c, ROOT, "n"), ["counter 11", "counter 2"]);
    // An increment applies to both conflicting counters.
    d.increment(ROOT, "n", 1000).unwrap();
    meet(&mut c, &mut d);
    assert_eq!(values(&c, ROOT, "n"), ["counter 1011", "counter 1002"]);
    let saved = AutoCommit::load(&c.save()).unwrap();
    assert_eq!(values(&saved, ROOT, "n"), values(&c, ROOT, "n"));
}

#[test]
fn only_counters_are_incremented() {
    let mut a = doc(1);
    a.put(ROOT, "n", 1).unwrap();
    let l = list(&mut a, "l", [ScalarValue::from(1), ScalarValue::counter(1)]);
    let wrong = |result: Result<(), EditError>| match result {
        Err(EditError::NotCounter(wrong)) => wrong.to_string(),
        other => panic!("{other:?}"),
    };
    let root = "object _root, key";
    assert_eq!(
        wrong(a.increment(ROOT, "n", 1)),
        format!("{root} \"n\": expected a counter to increment, found 1")
    );
    assert_eq!(
        wrong(a.increment(ROOT, "nothing", 1)),
        format!("{root} \"nothing\": expected a counter to increment, found nothing")
    );
    assert_eq!(
        wrong(a.increment(&l, 0, 1)),
        format!("object {l}, index 0: expected a counter to increment, found 1")
    );
    a.increment(&l, 1, 6).unwrap();
    assert_eq!(values(&a, &l, 1), ["counter 7"]);
    a.delete(&l, 1).unwrap();
    assert_eq!(a.length(&l), 1);
    // A concurrent increment does not restore a deleted counter.
    a.insert(&l, 1, ScalarValue::counter(0)).unwrap();
    let mut b = fork(&mut a, 2);
    a.increment(&l, 1, 1).unwrap();
    b.delete(&l, 1).unwrap();
    meet(&mut a, &mut b);
    assert_eq!(a.length(&l), 1);
}

#[test]
fn counter_is_known_at_all_heads() {
    let mut a = doc(1);
    a.put(ROOT, "n", ScalarValue::counter(1)).unwrap();
    let mut moments = vec![a.get_heads()];
    for by in [10, 100, 1000] {
        a.increment(ROOT, "n", by).unwrap();
        moments.push(a.get_heads());
    }
    let mut then = vec![];
    for heads in &moments {
        then.push(a.get_at(ROOT, "n", heads).unwrap().and_then(|(value, _)| value.as_i64()));
    }
    assert_eq!(then, [1, 11, 111, 1111].map(Some));
    let past = a.fork_at(&moments[1]).unwrap();
    assert_eq!(values(&past, ROOT, "n"), ["counter 11"]);
}
