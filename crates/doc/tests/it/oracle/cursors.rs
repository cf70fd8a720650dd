//! Cursors compared with their definition: an element, which is visible or not.

use std::collections::BTreeMap;

use hashmill_doc::{ChangeHash, Document, MoveCursor, ReadDoc};
use hashmill_testkit::doc::forge::Forge;
use hashmill_testkit::doc::{Action, Hash, History, Id, Key, Kind, Object};
use hashmill_testkit::{Rng, size};

use super::compare::{deliver, each, hash_of, obj};

/// Positions of the visible elements of a list or text by id, and its length.
fn places(history: &History, object: &Object) -> (BTreeMap<Id, (usize, Vec<Id>)>, usize) {
    let (mut places, mut at) = (BTreeMap::new(), 0);
    for element in &object.elements {
        let op = history.op(&element.values[0].id).expect("the operation of the value");
        let Key::Element(id) = op.register() else { panic!("an element is inserted") };
        places.insert(id, (at, element.values.iter().map(|value| value.id.clone()).collect()));
        at += if object.kind == Kind::Text { element.text().chars().count() } else { 1 };
    }
    (places, at)
}

/// Position of a cursor that refers to the value of operation `named`. `None` if that is unknown.
fn position(history: &History, of: &Id, named: &Id, moving: MoveCursor, heads: &[Hash]) -> Option<usize> {
    let known = history.before(heads).expect("heads").into_iter().flat_map(|change| &change.ops);
    known.into_iter().find(|op| op.id == *named)?;
    let state = history.at(heads).expect("heads");
    let (places, length) = places(history, &state.objects[&Some(of.clone())]);
    let Key::Element(element) = history.op(named).expect("an operation").register() else {
        panic!("an element")
    };
    if let Some((at, values)) = places.get(&element)
        && values.contains(named)
    {
        return Some(*at);
    }
    let order = history.order(of, heads).expect("heads");
    if moving == MoveCursor::After {
        let from = order.iter().position(|op| op.id == element).expect("an element");
        let next = order[from..].iter().find_map(|op| places.get(&op.id));
        return Some(next.map_or(length, |(at, _)| *at));
    }
    // From an update to the inserted element, and on along the origins, to the first visible value.
    let mut key = Key::Element(element);
    while let Key::Element(before) = &key {
        if let Some((at, _)) = places.get(before).filter(|(_, values)| values.contains(before)) {
            return Some(*at);
        }
        let op = history.op(before).expect("an insertion");
        if op.action == Action::Mark {
            // A mark boundary is a position: after everything visible before it.
            let here = order.iter().position(|other| other.id == op.id).expect("a boundary");
            let next = order[here..].iter().find_map(|op| places.get(&op.id));
            return Some(next.map_or(length, |(at, _)| *at));
        }
        key = op.key.clone();
    }
    Some(0)
}

#[test]
fn cursor_positions_equal_the_oracle() {
    let found = std::cell::Cell::new([0; 3]);
    each(0..size::of(12, 40), |seed| {
        let (mut rng, mut forge) = (Rng::new(seed), Forge::new(seed, History::new()));
        let (mut doc, mut history) = (Document::new(), History::new());
        for _ in 0..30 {
            deliver(&mut doc, &mut history, &forge.change(3, 0));
        }
        let moments: Vec<Hash> = history.changes().iter().map(|change| change.hash).collect();
        for _ in 0..12 {
            let (created_at, resolved_at) =
                (moments[rng.below(moments.len())], moments[rng.below(moments.len())]);
            let then = history.at(&[created_at]).expect("a moment");
            for (of, object) in &then.objects {
                let Some(of) = of.as_ref().filter(|_| object.kind.is_sequence()) else { continue };
                let mut unit = 0;
                for element in &object.elements {
                    let width = if object.kind == Kind::Text { element.text().chars().count() } else { 1 };
                    let named = &element.values.last().expect("a value").id;
                    for moving in [MoveCursor::After, MoveCursor::Before] {
                        if width == 0 {
                            continue;
                        }
                        let name = obj(&Some(of.clone()));
                        let view = doc.at(&[hash_of(&created_at)]).expect("a moment");
                        let cursor =
                            view.get_cursor_moving(&name, unit, moving).expect("an element is there");
                        for heads in [vec![resolved_at], history.heads()] {
                            let hashes: Vec<ChangeHash> = heads.iter().map(hash_of).collect();
                            let there = doc.get_cursor_position_at(&name, &cursor, &hashes).ok();
                            let expected = position(&history, of, named, moving, &heads);
                            assert_eq!(there, expected, "{cursor} of {of} at {hashes:?}");
                            let mut count = found.get();
                            count[match (expected, moving) {
                                (None, _) => 0,
                                (_, MoveCursor::After) => 1,
                                _ => 2,
                            }] += 1;
                            found.set(count);
                        }
                    }
                    unit += width;
                }
            }
        }
    });
    assert!(found.get().iter().all(|count| *count > 100), "{:?}", found.get());
}
