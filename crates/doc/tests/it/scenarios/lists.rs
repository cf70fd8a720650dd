//! Lists.

use hashmill_doc::{AutoCommit, ObjId, ObjType, ROOT, ReadDoc, Transactable, literal};

use super::{all, doc, fork, list, meet, values};

fn shown(doc: &AutoCommit, list: &ObjId) -> String {
    doc.values(list).iter().map(|(value, _)| value.as_str().unwrap_or("?").to_owned()).collect()
}

#[test]
fn concurrent_insertions_all_stay() {
    let mut a = doc(1);
    let l = list(&mut a, "l", ["b", "d"]);
    let mut b = fork(&mut a, 2);
    a.insert(&l, 1, "c").unwrap();
    b.insert(&l, 0, "a").unwrap();
    meet(&mut a, &mut b);
    assert_eq!(shown(&a, &l), "abcd");
    a.insert(&l, 4, "x").unwrap();
    b.insert(&l, 4, "y").unwrap();
    meet(&mut a, &mut b);
    assert_eq!(shown(&a, &l), "abcdyx", "the greater id comes first");
}

#[test]
fn consecutive_insertions_are_not_interleaved() {
    let mut a = doc(1);
    let l = list(&mut a, "l", ["<", ">"]);
    let mut b = fork(&mut a, 2);
    for n in 1..4 {
        a.insert(&l, n, "a").unwrap();
        b.insert(&l, n, "b").unwrap();
    }
    meet(&mut a, &mut b);
    assert_eq!(shown(&a, &l), "<bbbaaa>");
    // An insertion made with knowledge of another one comes before it, whichever actor is greater.
    for actor in [0, 9] {
        let mut c = fork(&mut a, actor);
        let mut d = fork(&mut c, 5);
        c.insert(&l, 1, "1").unwrap();
        d.merge(&mut c).unwrap();
        d.insert(&l, 1, "2").unwrap();
        c.merge(&mut d).unwrap();
        c.insert(&l, 1, "3").unwrap();
        meet(&mut c, &mut d);
        assert_eq!(shown(&d, &l), "<321bbbaaa>");
    }
}

#[test]
fn concurrent_puts_deletions_and_insertions() {
    let mut a = doc(1);
    let l = list(&mut a, "l", ["a", "b", "c"]);
    let mut b = fork(&mut a, 2);
    // A put wins over a concurrent deletion, and the element keeps its position.
    a.put(&l, 1, "B").unwrap();
    b.delete(&l, 1).unwrap();
    meet(&mut a, &mut b);
    assert_eq!(shown(&a, &l), "aBc");
    // Two concurrent puts are both kept, as a conflict of one element.
    a.put(&l, 1, "1").unwrap();
    b.put(&l, 1, "2").unwrap();
    meet(&mut a, &mut b);
    assert_eq!((values(&a, &l, 1), a.length(&l)), (vec!["\"1\"".to_owned(), "\"2\"".to_owned()], 3));
    a.put(&l, 1, "2").unwrap();
    meet(&mut a, &mut b);
    assert_eq!(values(&b, &l, 1), ["\"2\""]);
    // A concurrent deletion by two actors deletes once; an insertion after a deleted element stays.
    a.delete(&l, 1).unwrap();
    b.delete(&l, 1).unwrap();
    b.delete(&l, 0).unwrap();
    a.insert(&l, 1, "after a").unwrap();
    meet(&mut a, &mut b);
    assert_eq!(all(&a), literal!({ "l": ["after a", "c"] }));
    a.delete(ROOT, "l").unwrap();
    assert_eq!(all(&a), literal!({}));
}

#[test]
fn conflicting_objects_are_edited_separately() {
    let mut a = doc(1);
    let l = list(&mut a, "l", ["x"]);
    let mut b = fork(&mut a, 2);
    let of_a = a.put_object(&l, 0, ObjType::Map).unwrap();
    a.put(&of_a, "a", 1).unwrap();
    let of_b = b.put_object(&l, 0, ObjType::Map).unwrap();
    b.put(&of_b, "b", 1).unwrap();
    meet(&mut a, &mut b);
    assert_eq!(values(&a, &l, 0), ["map", "map"]);
    a.put(&of_a, "more", 1).unwrap();
    assert_eq!(all(&a), literal!({ "l": [{ "b": 1 }] }));
    assert_eq!(a.hydrate(&of_a).unwrap(), literal!({ "a": 1, "more": 1 }));
    // If the winner is deleted together with the loser, nothing is left.
    a.delete(&l, 0).unwrap();
    assert_eq!(all(&a), literal!({ "l": [] }));
}

#[test]
fn long_lists_keep_their_order_through_deletions() {
    let mut a = doc(1);
    let l = list(&mut a, "l", (0..300i64).rev());
    let mut expected: Vec<i64> = (0..300).rev().collect();
    for round in 0..280 {
        let at = round * 7 % expected.len();
        expected.remove(at);
        a.delete(&l, at).unwrap();
        if round % 3 == 0 {
            expected.insert(at, 1000 + round as i64);
            a.insert(&l, at, 1000 + round as i64).unwrap();
        }
    }
    let there = |doc: &AutoCommit| -> Vec<i64> {
        doc.values(&l).iter().map(|(value, _)| value.as_i64().unwrap()).collect()
    };
    assert_eq!(there(&a), expected);
    assert_eq!(there(&AutoCommit::load(&a.save()).unwrap()), expected);
    // All at once, and again.
    a.splice(&l, 0, expected.len() as isize, ["new"]).unwrap();
    assert_eq!(all(&a), literal!({ "l": ["new"] }));
    a.splice(&l, 1, -1, [1, 2]).unwrap();
    assert_eq!(all(&a), literal!({ "l": [1, 2] }));
}

/// A nested insertion makes the same operations as single calls.
#[test]
fn nested_insertion_equals_single_calls() {
    let value = literal!({
        "list": [1, [], ["a", { "deep": [true] }]],
        "map": { "text": (hashmill_doc::Literal::text("héllo")), "null": () },
    });
    let (mut at_once, mut call_by_call) = (doc(1), doc(1));
    at_once.put_literal(ROOT, "v", value.clone()).unwrap();
    let v = call_by_call.put_object(ROOT, "v", ObjType::Map).unwrap();
    // Level by level, the keys of each map in order.
    let l = call_by_call.put_object(&v, "list", ObjType::List).unwrap();
    let m = call_by_call.put_object(&v, "map", ObjType::Map).unwrap();
    call_by_call.insert(&l, 0, 1).unwrap();
    call_by_call.insert_object(&l, 1, ObjType::List).unwrap();
    let inner = call_by_call.insert_object(&l, 2, ObjType::List).unwrap();
    call_by_call.put(&m, "null", ()).unwrap();
    let text = call_by_call.put_object(&m, "text", ObjType::Text).unwrap();
    call_by_call.insert(&inner, 0, "a").unwrap();
    let map = call_by_call.insert_object(&inner, 1, ObjType::Map).unwrap();
    call_by_call.splice_text(&text, 0, 0, "héllo").unwrap();
    let deep = call_by_call.put_object(&map, "deep", ObjType::List).unwrap();
    call_by_call.insert(&deep, 0, true).unwrap();
    assert_eq!(at_once.get_heads(), call_by_call.get_heads());
    assert_eq!(all(&at_once), literal!({ "v": value }));
    // Replacing a value, between elements, and rolled back.
    at_once.insert_literal(&l, 1, literal!({ "x": [] })).unwrap();
    at_once.put_literal(&l, 0, literal!([9])).unwrap();
    at_once.commit();
    at_once.put_literal(ROOT, "v", literal!(["gone"])).unwrap();
    at_once.rollback();
    let expected = literal!({
        "list": [[9], { "x": [] }, [], ["a", { "deep": [true] }]],
        "map": { "text": (hashmill_doc::Literal::text("héllo")), "null": () },
    });
    assert_eq!(at_once.hydrate(&v).unwrap(), expected);
}
