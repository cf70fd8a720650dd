//! Values that are nested more deeply than any stack allows.

use hashmill_doc::{AutoCommit, Elements, Entries, Literal, ObjType, ROOT, ReadDoc, Transactable, literal};

/// A depth at which recursion would overflow the stack.
const DEPTH: usize = 200_000;

/// Alternating maps and lists around one number.
fn deep(levels: usize, inside: i64) -> Literal {
    (0..levels).fold(inside.into(), |inside, level| match level % 2 {
        0 => Literal::from([("in", inside)]),
        _ => Literal::from(vec![inside]),
    })
}

#[test]
fn deep_value_is_cloned_compared_formatted_and_dropped() {
    let (value, other) = (deep(DEPTH, 1), deep(DEPTH, 2));
    let copy = value.clone();
    assert!(copy == value && copy != other);
    let shown = format!("{value:?}");
    assert!(shown.starts_with("List([Map({\"in\": List([") && shown.contains("Scalar(Int(1))"));
    assert!(shown.ends_with("])})])"));
    let (Literal::List(list), Literal::List(longer)) = (value, deep(DEPTH + 2, 1)) else { panic!("lists") };
    assert!(list.clone() == list && list != longer);
    assert!(format!("{list:?}").starts_with("[Map("));
    let Some(Literal::Map(map)) = list.into_iter().next() else { panic!("a map") };
    assert!(map.clone() == map && format!("{map:?}").starts_with("{\"in\": "));
}

#[test]
fn deep_value_round_trips_through_a_document() {
    let value = deep(DEPTH / 2 + 1, 1);
    let mut doc = AutoCommit::new();
    let put = doc.put_literal(ROOT, "put", value.clone()).unwrap().unwrap();
    assert!(doc.hydrate(&put).unwrap() == value);
    assert!(doc.get_as::<Literal>(ROOT, "put").unwrap().unwrap() == value);
    let updated = doc.put_object(ROOT, "updated", ObjType::Map).unwrap();
    doc.update_object(&updated, &value).unwrap();
    assert!(doc.hydrate(&updated).unwrap() == value);
    let more = deep(DEPTH / 2 + 1, 2);
    let before = doc.pending_ops();
    doc.update_object(&updated, &more).unwrap();
    assert_eq!(doc.pending_ops() - before, 1, "only the number differs");
    assert!(doc.hydrate(&updated).unwrap() == more);
    let list = doc.put_object(ROOT, "list", ObjType::List).unwrap();
    doc.insert_literal(&list, 0, value.clone()).unwrap();
    doc.splice(&list, 0, 1, [value, more]).unwrap();
    assert_eq!(doc.length(&list), 2);
}

/// Contents are written before the next element: all implementations number operations in this order.
#[test]
fn update_is_depth_first() {
    let mut doc = AutoCommit::new();
    doc.init_root(&literal!({ "a": { "x": 1, "gone": 2 }, "b": [1, [2], 3] })).unwrap();
    doc.commit();
    let at = |doc: &AutoCommit, path: &[&str]| {
        let (value, id) = doc.get_path(path.iter().copied()).unwrap().unwrap();
        (value.into_owned(), id.to_string())
    };
    doc.update_object(ROOT, &literal!({ "a": { "x": 1, "new": { "deep": 5 } }, "b": [1, [7]], "c": 9 }))
        .unwrap();
    let counters: Vec<String> = [&["a", "new"][..], &["a", "new", "deep"], &["c"]]
        .iter()
        .map(|path| at(&doc, path).1.split('@').next().unwrap().to_owned())
        .collect();
    // After eight operations and these two, a key of `a` is deleted, then an element of `b` changes and one is deleted.
    assert_eq!(counters, ["9", "10", "14"]);
    let hydrated = doc.hydrate(ROOT).unwrap();
    assert_eq!(hydrated, literal!({ "a": { "x": 1, "new": { "deep": 5 } }, "b": [1, [7]], "c": 9 }));
    let wrong = doc.update_object(ROOT, &literal!([1])).unwrap_err().to_string();
    assert_eq!(wrong, "object _root: expected a map, found a list");
}

#[test]
fn entries_and_elements_deref_to_collections() {
    let Literal::Map(mut entries) = literal!({ "a": 1, "b": [2, 3] }) else { panic!("a map") };
    entries.insert("c".to_owned(), 4.into());
    assert_eq!(entries.iter().count(), 3);
    let Some(Literal::List(mut list)) = entries.remove("b") else { panic!("a list") };
    list.push(5.into());
    assert_eq!((&list).into_iter().filter(|value| **value == Literal::from(5)).count(), 1);
    let (map, vec) = (std::collections::BTreeMap::from(entries), Vec::from(list));
    assert_eq!((map.len(), vec.len()), (2, 3));
    assert_eq!(Literal::Map(Entries::from(map)), literal!({ "a": 1, "c": 4 }));
    assert_eq!(Literal::List(Elements::from(vec)), literal!([2, 3, 5]));
}
