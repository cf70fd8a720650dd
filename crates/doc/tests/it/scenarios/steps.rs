//! Patches: applied to a displayed copy they reproduce the document, forwards and backwards; and contents of individual
//! patches.

use hashmill_doc::legacy::OpType;
use hashmill_doc::{
    AutoCommit, Change, ChangeHash, ExpandMark, Literal, Mark, ObjId, ObjType, Patch, PatchAction, ROOT,
    ReadDoc, ScalarValue, TextEncoding, Transactable, Value, literal,
};

use super::{all, doc, fork, list, text};

/// Checks that patches lead from each of two states to the other. Returns the forward patches.
fn lead(doc: &mut AutoCommit, before: &[ChangeHash], after: &[ChangeHash]) -> Vec<Patch> {
    let at = |doc: &AutoCommit, heads: &[ChangeHash]| doc.at(heads).unwrap().hydrate(ROOT).unwrap();
    for (from, to) in [(before, after), (after, before)] {
        let patches = doc.diff(from, to).unwrap();
        let mut shown = at(doc, from);
        shown.apply_patches(&patches, TextEncoding::default()).unwrap();
        assert_eq!(shown, at(doc, to), "{patches:?}");
    }
    doc.diff(before, after).unwrap()
}

/// Patches of an edit of a document with a map, a list and a text.
fn actions(edit: impl FnOnce(&mut AutoCommit, [&ObjId; 3])) -> Vec<PatchAction> {
    let mut a = doc(1);
    let map = a.put_object(ROOT, "m", ObjType::Map).unwrap();
    a.put_literal(&map, "inner", literal!({ "deep": [1, 2] })).unwrap();
    let l = list(&mut a, "l", [literal!(1), literal!({ "x": 1 }), literal!(3)]);
    let t = text(&mut a, "t", "some text");
    let block = a.split_block(&t, 4).unwrap();
    a.put(&block, "type", "p").unwrap();
    let before = a.get_heads();
    edit(&mut a, [&map, &l, &t]);
    let after = a.get_heads();
    lead(&mut a, &before, &after).into_iter().map(|patch| patch.action).collect()
}

#[test]
fn deletion_is_reported_without_contents() {
    let map = actions(|doc, [..]| doc.delete(ROOT, "m").unwrap());
    assert!(matches!(&map[..], [PatchAction::DeleteMap { key }] if key == "m"));
    let element = actions(|doc, [_, l, _]| doc.delete(l, 1).unwrap());
    assert!(matches!(&element[..], [PatchAction::DeleteSeq { index: 1, length: 1 }]));
    let block = actions(|doc, [_, _, t]| doc.join_block(t, 4).unwrap());
    assert!(matches!(&block[..], [PatchAction::DeleteSeq { index: 4, length: 1 }]));
    let all = actions(|doc, [_, _, t]| doc.splice_text(t, 0, 100, "").unwrap());
    assert!(matches!(&all[..], [PatchAction::DeleteSeq { index: 0, length: 10 }]));
    // Edits inside a deleted object are not reported.
    let gone = actions(|doc, [map, ..]| {
        doc.put(map, "unseen", 1).unwrap();
        doc.delete(ROOT, "m").unwrap();
    });
    assert_eq!(gone.len(), 1);
}

#[test]
fn replacement_is_reported_with_contents() {
    let other = actions(|doc, [..]| drop(doc.put_literal(ROOT, "m", literal!({ "k": [true] })).unwrap()));
    assert!(matches!(&other[0], PatchAction::PutMap { key, conflict: false, .. } if key == "m"));
    assert_eq!(other.len(), 3, "the map, the list in it, the element in that");
    let element = actions(|doc, [_, l, _]| doc.put(l, 1, "x").unwrap());
    assert!(matches!(&element[..], [PatchAction::PutSeq { index: 1, conflict: false, .. }]));
    let text = actions(|doc, [_, _, t]| doc.put(t, 0, "longer").unwrap());
    assert!(
        matches!(&text[..], [PatchAction::DeleteSeq { index: 0, length: 1 }, PatchAction::SpliceText { index: 0, value, .. }] if value == "longer")
    );
    let same = actions(|doc, [_, l, _]| doc.put(l, 0, 1).unwrap());
    assert_eq!(same, []);
}

#[test]
fn many_elements_are_reported_in_order() {
    let many = actions(|doc, [_, l, _]| doc.splice(l, 1, 1, 0..500).unwrap());
    let inserted: usize = many
        .iter()
        .map(|action| if let PatchAction::Insert { values, .. } = action { values.len() } else { 0 })
        .sum();
    assert_eq!(inserted, 500);
    actions(|doc, [_, l, t]| {
        for n in 0..40 {
            doc.insert(l, n % 3, n as i64).unwrap();
            doc.delete(l, (n + 1) % 3).unwrap();
            doc.splice_text(t, n % 5, 1, "xy").unwrap();
        }
    });
}

#[test]
fn marks_are_reported_with_text_and_alone() {
    let marked = actions(|doc, [_, _, t]| {
        doc.mark(t, Mark::new("bold", true, 0, 4), ExpandMark::After).unwrap();
    });
    assert!(matches!(&marked[..], [PatchAction::Mark { marks }] if (marks[0].start, marks[0].end) == (0, 4)));
    let mut a = doc(1);
    let t = text(&mut a, "t", "12345");
    a.mark(&t, Mark::new("strong", true, 1, 2), ExpandMark::Both).unwrap();
    a.update_diff_cursor();
    for at in [1, 2, 4] {
        a.splice_text(&t, at, 0, "-").unwrap();
        let patches = a.diff_incremental();
        let [Patch { action: PatchAction::SpliceText { index, value, marks }, .. }] = &patches[..] else {
            panic!("{patches:?}");
        };
        assert_eq!(
            (*index, value.as_str(), marks.get("strong")),
            (at, "-", Some(&ScalarValue::Boolean(true)))
        );
    }
    // A replica that merges the edit gets the same patches.
    let mut b = fork(&mut a, 2);
    let heads = a.get_heads();
    a.splice_text(&t, 5, 0, "x").unwrap();
    let now = a.get_heads();
    b.merge(&mut a).unwrap();
    assert_eq!(a.diff(&heads, &now).unwrap(), b.diff(&heads, &now).unwrap());
}

#[test]
fn conflicts_come_and_go() {
    let mut a = doc(1);
    let l = list(&mut a, "l", [0]);
    a.put(ROOT, "n", ScalarValue::counter(1)).unwrap();
    let base = a.get_heads();
    let (mut b, mut c) = (fork(&mut a, 2), fork(&mut a, 3));
    for (doc, name) in [(&mut a, "a"), (&mut b, "b")] {
        doc.put(ROOT, "k", name).unwrap();
        doc.put(&l, 0, name).unwrap();
        doc.increment(ROOT, "n", 10).unwrap();
    }
    let alone = a.get_heads();
    a.merge(&mut b).unwrap();
    let both = a.get_heads();
    let won: Vec<PatchAction> = lead(&mut a, &alone, &both).into_iter().map(|patch| patch.action).collect();
    assert!(
        won.iter()
            .any(|action| matches!(action, PatchAction::PutMap { key, conflict: true, .. } if key == "k"))
    );
    assert!(won.iter().any(|action| matches!(action, PatchAction::PutSeq { index: 0, conflict: true, .. })));
    assert!(won.iter().any(|action| matches!(action, PatchAction::Increment { value: 10, .. })));
    // If the winner was visible before, only the conflict is reported.
    let mut winner = b.fork();
    let heads_before = winner.get_heads();
    winner.merge(&mut a).unwrap();
    let lost = lead(&mut winner, &heads_before, &both);
    assert!(lost.iter().any(|patch| matches!(patch.action, PatchAction::Conflict { .. })));
    // Deleting the winner without knowledge of the loser makes the loser visible again.
    c.merge(&mut b).unwrap();
    c.delete(ROOT, "k").unwrap();
    a.merge(&mut c).unwrap();
    let end = a.get_heads();
    let shown = lead(&mut a, &both, &end);
    assert!(shown.iter().any(|patch| matches!(&patch.action,
        PatchAction::PutMap { key, value: (Value::Scalar(value), _), conflict: false } if key == "k" && value.as_str() == Some("a"))));
    lead(&mut a, &base, &end);
    lead(&mut a, &[], &end);
}

/// A displayed copy is updated through edits, merges and periods of isolation.
#[test]
fn incremental_reader_stays_in_step() {
    let mut a = doc(1);
    let (l, t) = (list(&mut a, "l", [1, 2, 3]), text(&mut a, "t", "start"));
    a.put(ROOT, "n", ScalarValue::counter(0)).unwrap();
    let beginning = a.get_heads();
    let mut shown = Literal::Map(Default::default());
    let mut follow = |doc: &mut AutoCommit| {
        let patches = doc.diff_incremental();
        shown.apply_patches(&patches, TextEncoding::default()).unwrap();
        assert_eq!(shown, all(doc), "{patches:?}");
    };
    follow(&mut a);
    for round in 0..6 {
        let mut b = fork(&mut a, 10 + round as u8);
        b.put(&l, 0, round as i64).unwrap();
        b.splice_text(&t, round, 1, "émigré").unwrap();
        b.increment(ROOT, "n", 1).unwrap();
        a.put(&l, 0, "here").unwrap();
        a.insert(&l, 1, round as i64).unwrap();
        follow(&mut a);
        a.merge(&mut b).unwrap();
        follow(&mut a);
        a.isolate(&beginning).unwrap();
        follow(&mut a);
        a.put_literal(ROOT, "color", literal!({ "name": (Literal::text("x".repeat(120))) })).unwrap();
        a.increment(ROOT, "n", 100).unwrap();
        a.delete(&l, 2).unwrap();
        follow(&mut a);
        a.integrate();
        follow(&mut a);
    }
    a.reset_diff_cursor();
    let mut anew = Literal::Map(Default::default());
    anew.apply_patches(&a.diff_incremental(), TextEncoding::default()).unwrap();
    assert_eq!(anew, all(&a));
}

/// A text reports winners only, so a block is not shown anew when its concurrent values disappear: changes inside it
/// are reported.
#[test]
fn contents_of_a_winning_block_are_reported() {
    let mut a = doc(1);
    let t = text(&mut a, "t", "x");
    let (mut b, mut c) = (fork(&mut a, 2), fork(&mut a, 3));
    a.put(&t, 0, "lost").unwrap();
    // No call replaces a character by a block, so the change is forged.
    b.put(&t, 0, "won").unwrap();
    let mut put = b.get_last_local_change().unwrap().decode();
    put.operations[0].action = OpType::Make(ObjType::Map);
    c.apply_changes([Change::try_from(&put).unwrap()]).unwrap();
    let block = c.get(&t, 0).unwrap().unwrap().1;
    let alone = c.get_heads();
    c.put(&block, "type", "p").unwrap();
    c.merge(&mut a).unwrap();
    assert_eq!(c.get_all(&t, 0).unwrap().len(), 2);
    let both = c.get_heads();
    let on: Vec<PatchAction> = c.diff(&alone, &both).unwrap().into_iter().map(|patch| patch.action).collect();
    assert!(matches!(&on[..], [PatchAction::PutMap { key, .. }] if key == "type"), "{on:?}");
    let back: Vec<PatchAction> =
        c.diff(&both, &alone).unwrap().into_iter().map(|patch| patch.action).collect();
    assert_eq!(back, [PatchAction::DeleteMap { key: "type".to_owned() }]);
}
