//! Recorded patches in the order of edits, for programs that log, index or animate each edit.

use std::collections::BTreeMap;

use hashmill_doc::{
    AutoCommit, ExpandMark, Mark, ObjId, ObjType, Patch, PatchAction, ROOT, ReadDoc as _, ScalarValue,
    TextEncoding, Transactable as _, literal,
};
use hashmill_testkit::rng::Rng;

/// Short description of each patch: action and place.
fn words(patches: &[Patch]) -> Vec<String> {
    let one = |patch: &Patch| match &patch.action {
        PatchAction::PutMap { key, value, .. } => format!("put {key} {}", value.0),
        PatchAction::PutSeq { index, value, .. } => format!("put {index} {}", value.0),
        PatchAction::DeleteMap { key } => format!("del {key}"),
        PatchAction::DeleteSeq { index, length } => format!("del {index} {length}"),
        PatchAction::Increment { prop, value } => format!("inc {prop} {value}"),
        PatchAction::Insert { index, values } => format!("insert {index} {}", values.len()),
        PatchAction::SpliceText { index, value, .. } => format!("splice {index} {value}"),
        PatchAction::Conflict { prop } => format!("conflict {prop}"),
        PatchAction::Mark { marks } => format!("mark {}", marks.len()),
    };
    patches.iter().map(one).collect()
}

/// A document with recording enabled, whose contents were reported.
fn edited_document(edit: impl FnOnce(&mut AutoCommit)) -> AutoCommit {
    let mut doc = AutoCommit::new();
    doc.record_order();
    edit(&mut doc);
    doc.update_diff_cursor();
    doc
}

#[test]
fn each_call_is_reported_in_order() {
    let mut list = ROOT;
    let mut doc = edited_document(|doc| {
        doc.put(ROOT, "c", ScalarValue::Counter(1)).unwrap();
        list = doc.put_object(ROOT, "l", ObjType::List).unwrap();
        (0..3).for_each(|at| doc.insert(&list, at, at as i64).unwrap());
    });
    doc.put(ROOT, "k", 1).unwrap();
    doc.put(ROOT, "k", 2).unwrap();
    doc.put(ROOT, "tmp", 1).unwrap();
    doc.delete(ROOT, "tmp").unwrap();
    doc.increment(ROOT, "c", 4).unwrap();
    doc.insert(&list, 3, 9).unwrap();
    doc.delete(&list, 0).unwrap();
    let recorded = doc.recorded_patches().expect("seven calls");
    assert_eq!(
        words(&recorded),
        ["put k 1", "put k 2", "put tmp 1", "del tmp", "inc c 4", "insert 3 1", "del 0 1"]
    );
    // The net difference is unchanged, and nothing is new after it.
    assert_eq!(words(&doc.diff_incremental()), ["inc c 4", "put k 2", "del 0 1", "insert 2 1"]);
    assert_eq!(doc.recorded_patches(), None);
}

#[test]
fn adjacent_patches_merge_and_cancelled_ones_disappear() {
    let mut text = ROOT;
    let mut doc = edited_document(|doc| text = doc.put_object(ROOT, "t", ObjType::Text).unwrap());
    for (at, letter) in ["a", "b", "c"].into_iter().enumerate() {
        doc.splice_text(&text, at, 0, letter).unwrap();
    }
    doc.splice_text(&text, 1, 1, "xy").unwrap();
    assert_eq!(words(&doc.recorded_patches().expect("four calls")), ["splice 0 axyc"]);
    doc.splice_text(&text, 0, 4, "").unwrap();
    assert_eq!(words(&doc.recorded_patches().expect("five calls")), [""; 0]);
}

#[test]
fn merged_changes_are_reported_call_by_call_with_conflicts() {
    let finch = |name: &str| {
        let mut doc = AutoCommit::new().with_actor(name.as_bytes().into());
        doc.put(ROOT, "bird", name).unwrap();
        doc
    };
    let mut doc = finch("a");
    doc.record_order();
    doc.update_diff_cursor();
    for name in ["b", "c"] {
        doc.merge(&mut finch(name)).unwrap();
    }
    let recorded = doc.recorded_patches().expect("two merges");
    assert_eq!(words(&recorded), ["put bird \"b\"", "put bird \"c\""]);
    assert!(recorded.iter().all(|patch| matches!(patch.action, PatchAction::PutMap { conflict: true, .. })));
}

#[test]
fn patches_are_grouped_by_object_with_current_paths() {
    let (mut list, mut inner) = (ROOT, ROOT);
    let mut doc = edited_document(|doc| {
        list = doc.put_object(ROOT, "l", ObjType::List).unwrap();
        inner = doc.insert_object(&list, 0, ObjType::Map).unwrap();
    });
    let mut shown = doc.hydrate(ROOT).unwrap();
    doc.put(&inner, "a", 1).unwrap();
    doc.insert(&list, 0, 1).unwrap();
    doc.put(ROOT, "k", 1).unwrap();
    doc.put(&inner, "a", 2).unwrap();
    let recorded = doc.recorded_patches().expect("four calls");
    assert_eq!(words(&recorded), ["put k 1", "insert 0 1", "put a 1", "put a 2"]);
    assert_eq!(recorded[2].path, recorded[3].path);
    shown.apply_patches(&recorded, TextEncoding::UnicodeCodePoint).unwrap();
    assert_eq!(shown, doc.hydrate(ROOT).unwrap());
}

#[test]
fn object_shown_anew_is_reported_once() {
    let mut doc = edited_document(|doc| {
        doc.set_actor(b"a"[..].into());
        doc.put(ROOT, "foo", 1).unwrap();
    });
    let mut other = doc.fork().with_actor(b"b"[..].into());
    let mut shown = doc.hydrate(ROOT).unwrap();
    let inner = doc.put_object(ROOT, "foo", ObjType::List).unwrap();
    doc.insert(&inner, 0, 1).unwrap();
    other.put_object(ROOT, "foo", ObjType::Map).unwrap();
    doc.merge(&mut other).unwrap();
    other.delete(ROOT, "foo").unwrap();
    doc.merge(&mut other).unwrap();
    let recorded = doc.recorded_patches().expect("four calls");
    let places: Vec<_> = recorded.iter().map(|patch| patch.obj == inner).collect();
    assert_eq!(places, [false, false, false, true], "{recorded:?}");
    shown.apply_patches(&recorded, TextEncoding::UnicodeCodePoint).unwrap();
    assert_eq!(shown, doc.hydrate(ROOT).unwrap());
}

#[test]
fn many_calls_on_a_large_text_are_reported_as_net_difference() {
    let mut text = ROOT;
    let mut doc = edited_document(|doc| {
        text = doc.put_object(ROOT, "t", ObjType::Text).unwrap();
        // Each character is separate in the text.
        (0..3000).for_each(|_| doc.splice_text(&text, 0, 0, "a").unwrap());
    });
    for (calls, has_patches) in [(20, true), (600, false), (20, true)] {
        (0..calls).for_each(|call| doc.splice_text(&text, call, 1, "b").unwrap());
        assert_eq!(doc.recorded_patches().is_some(), has_patches, "{calls} calls");
        doc.update_diff_cursor();
    }
    // Maps have no such limit.
    (0..2000).for_each(|call| doc.put(ROOT, "k", call).unwrap());
    assert_eq!(doc.recorded_patches().map(|patches| patches.len()), Some(2000));
}

#[test]
fn marks_of_one_text_are_one_sorted_patch() {
    let mut text = ROOT;
    let mut doc = edited_document(|doc| {
        text = doc.put_object(ROOT, "t", ObjType::Text).unwrap();
        doc.splice_text(&text, 0, 0, "aaaaabbbbbcccccdddddeeeeeffff").unwrap();
    });
    let marks = [("m", "B", 10, 25), ("m", "C", 15, 20), ("a", "A", 5, 25), ("m", "C", 20, 22)]
        .map(|(name, value, start, end)| Mark::new(name, value, start, end));
    for mark in &marks {
        doc.mark(&text, mark.clone(), ExpandMark::None).unwrap();
    }
    let recorded = doc.recorded_patches().expect("four calls");
    let [Patch { action: PatchAction::Mark { marks: patched }, .. }] = &recorded[..] else {
        panic!("{recorded:?}")
    };
    let joined = Mark::new("m", "C", 15, 22);
    assert_eq!(*patched, [marks[2].clone(), marks[0].clone(), joined]);
}

/// Characters with the names and values of their marks, as given by patches.
type Marked = Vec<(char, BTreeMap<String, String>)>;

fn follow(shown: &mut Marked, patch: &Patch) {
    match &patch.action {
        PatchAction::SpliceText { index, value, marks } => {
            let marks = marks.iter().map(|(name, value)| (name.to_owned(), value.to_string()));
            let marks: BTreeMap<_, _> = marks.collect();
            shown.splice(index..index, value.chars().map(|letter| (letter, marks.clone())));
        }
        PatchAction::DeleteSeq { index, length } => drop(shown.drain(*index..*index + *length)),
        PatchAction::Mark { marks } => {
            for mark in marks {
                for (_, current) in &mut shown[mark.start..mark.end] {
                    match &mark.value {
                        ScalarValue::Null => drop(current.remove(&*mark.name)),
                        value => drop(current.insert(mark.name.to_string(), value.to_string())),
                    }
                }
            }
        }
        other => panic!("no edit of a text with marks: {other:?}"),
    }
}

#[test]
fn recorded_patches_lead_to_the_current_marks() {
    for seed in 0..200 {
        let (mut rng, mut text) = (Rng::new(seed), ROOT);
        let mut doc = edited_document(|doc| {
            text = doc.put_object(ROOT, "t", ObjType::Text).unwrap();
            doc.splice_text(&text, 0, 0, "0123456789").unwrap();
        });
        let mut shown: Marked = "0123456789".chars().map(|letter| (letter, BTreeMap::new())).collect();
        let mut other = doc.fork();
        for step in 0..30 {
            let len = doc.length(&text);
            let (start, end) = (rng.below(len + 1), rng.below(len + 1));
            let (start, end) = (start.min(end), start.max(end));
            let (name, value) = (["m", "n"][rng.below(2)], ["x", "y"][rng.below(2)]);
            let expand = [ExpandMark::None, ExpandMark::After, ExpandMark::Both][rng.below(3)];
            let edited = match rng.below(6) {
                0 => doc.splice_text(&text, start, 0, "ab"),
                1 => doc.splice_text(&text, start, (end - start).min(2) as isize, "c"),
                2 => doc.unmark(&text, name, start, end, expand),
                3 => {
                    let len = other.length(&text);
                    let mark = Mark::new(name, value, rng.below(len + 1), len);
                    // A range without characters is refused.
                    drop(other.mark(&text, mark, expand));
                    other.splice_text(&text, rng.below(len + 1), 0, "z").unwrap();
                    doc.merge(&mut other).map(drop).map_err(|error| panic!("{error}"))
                }
                _ => doc.mark(&text, Mark::new(name, value, start, end), expand),
            };
            drop(edited);
            if rng.below(4) == 0 {
                let recorded = doc.recorded_patches();
                let net = doc.diff_incremental();
                recorded.unwrap_or(net).iter().for_each(|patch| follow(&mut shown, patch));
                for (at, (letter, marks)) in shown.iter().enumerate() {
                    let marks_now = doc.get_marks(&text, at).unwrap();
                    let marks_now: BTreeMap<_, _> =
                        marks_now.iter().map(|(name, value)| (name.to_owned(), value.to_string())).collect();
                    assert_eq!(*marks, marks_now, "seed {seed}, step {step}, {letter} at {at}");
                }
                assert!(doc.text(&text).unwrap().chars().eq(shown.iter().map(|(letter, _)| *letter)));
            }
        }
    }
}

/// Recorded patches lead to the current document after edits, merges, rollbacks and isolation, and contain everything
/// that was put at a key.
#[test]
fn recorded_patches_lead_to_the_same_state_as_net_patches() {
    for seed in 0..400 {
        let mut rng = Rng::new(seed);
        let mut objects = vec![(ROOT, ObjType::Map)];
        let mut doc = edited_document(|doc| {
            for (key, kind) in [("map", ObjType::Map), ("list", ObjType::List), ("text", ObjType::Text)] {
                objects.push((doc.put_object(ROOT, key, kind).unwrap(), kind));
            }
        });
        let mut other = doc.fork();
        let mut shown = doc.hydrate(ROOT).unwrap();
        // Values put at key "k" of the root by calls that were not rolled back.
        let mut put = vec![];
        for step in 0..60_i64 {
            match rng.below(12) {
                0 => {
                    other.put(ROOT, "other", step).unwrap();
                    edit(&mut other, &mut rng, &objects, step);
                    doc.merge(&mut other).unwrap();
                    put.iter_mut().for_each(|(_, committed)| *committed = true);
                }
                1 if doc.pending_ops() > 0 => {
                    doc.rollback();
                    put.retain(|(_, committed)| *committed);
                }
                2 => {
                    doc.commit();
                    put.iter_mut().for_each(|(_, committed)| *committed = true);
                }
                3 => {
                    doc.put(ROOT, "k", step).unwrap();
                    put.push((format!("put k {step}"), false));
                }
                4 => {
                    let heads = doc.get_heads();
                    put.iter_mut().for_each(|(_, committed)| *committed = true);
                    doc.isolate(&heads).unwrap();
                    edit(&mut doc, &mut rng, &objects, step);
                    doc.integrate();
                }
                5 => {
                    let recorded = doc.recorded_patches();
                    let net = doc.diff_incremental();
                    let is_recorded = recorded.is_some();
                    let patches = recorded.unwrap_or(net);
                    shown
                        .apply_patches(&patches, TextEncoding::UnicodeCodePoint)
                        .unwrap_or_else(|e| panic!("{seed}: {e}"));
                    assert_eq!(shown, doc.hydrate(ROOT).unwrap(), "seed {seed}, step {step}");
                    let replayed: Vec<_> =
                        words(&patches).into_iter().filter(|word| word.starts_with("put k ")).collect();
                    let put: Vec<_> = put.drain(..).map(|(word, _)| word).collect();
                    assert!(
                        if is_recorded { replayed == put } else { replayed.last() == put.last() },
                        "seed {seed}: {replayed:?} {put:?}"
                    );
                }
                _ => edit(&mut doc, &mut rng, &objects, step),
            }
        }
    }
}

/// One call, which may be refused.
fn edit(doc: &mut AutoCommit, rng: &mut Rng, objects: &[(ObjId, ObjType)], step: i64) {
    let (obj, kind) = &objects[rng.below(objects.len())];
    let (len, key) = (doc.length(obj), ["a", "b", "c"][rng.below(3)]);
    let result = match (kind, rng.below(5)) {
        (ObjType::Text, 0) => doc.splice_text(obj, rng.below(len + 1), 0, "né").map(drop),
        (ObjType::Text, 1) => doc.splice_text(obj, rng.below(len + 1), rng.below(3) as isize, "x").map(drop),
        (ObjType::Text, 2) => doc.splice_text(obj, len, 0, "end").map(drop),
        (ObjType::Text, _) => doc.splice_text(obj, rng.below(len + 1), 1, "").map(drop),
        (ObjType::List, 0) => doc.insert(obj, rng.below(len + 1), ScalarValue::Counter(step)),
        (ObjType::List, 1) => doc.insert_literal(obj, rng.below(len + 1), literal!([step, step])).map(drop),
        (ObjType::List, 2) => doc.increment(obj, rng.below(len + 1), 2),
        (ObjType::List, 3) => doc.put(obj, rng.below(len + 1), step),
        (ObjType::List, _) => doc.delete(obj, rng.below(len + 1)),
        (_, 0) => doc.put(obj, key, step),
        (_, 1) => doc.put(obj, key, ScalarValue::Counter(step)),
        (_, 2) => doc.increment(obj, key, 3),
        (_, 3) => doc.put_literal(obj, key, literal!([step])).map(drop),
        (_, _) => doc.delete(obj, key),
    };
    // Refused: values that are not counters, and indexes past the end.
    drop(result);
}
