//! Patches. Lists of patches are compared with the official crate by `cargo rivals differ`; these tests check their
//! contents, and that applying them reproduces the document.

use hashmill_doc::{
    ActorId, AutoCommit, ChangeHash, Document, ExpandMark, Literal, Mark, MarkSet, ObjId, ObjType, Patch,
    PatchAction, PatchError, Prop, ROOT, ReadDoc as _, ScalarValue, Span, TextEncoding, Transactable as _,
    Value, literal,
};
use hashmill_testkit::rng::Rng;

const ENCODING: TextEncoding = TextEncoding::UnicodeCodePoint;

fn text_of(doc: &mut AutoCommit, key: &str, text: &str) -> ObjId {
    let obj = doc.put_object(&ROOT, key, ObjType::Text).unwrap();
    doc.splice_text(&obj, 0, 0, text).unwrap();
    obj
}

/// The actions of patches, without paths and objects.
fn actions(patches: Vec<Patch>) -> Vec<PatchAction> {
    patches.into_iter().map(|patch| patch.action).collect()
}

fn splice(index: usize, text: &str) -> PatchAction {
    PatchAction::SpliceText { index, value: text.to_owned(), marks: MarkSet::default() }
}

#[test]
fn typing_is_one_patch() {
    let mut doc = AutoCommit::new();
    let text = text_of(&mut doc, "text", "hello");
    let patches = doc.diff_incremental();
    assert_eq!(patches.len(), 2);
    assert_eq!((&patches[0].obj, patches[0].path.is_empty()), (&ROOT, true));
    assert_eq!(
        patches[0].action,
        PatchAction::PutMap {
            key: "text".to_owned(),
            value: (Value::Object(ObjType::Text), text.clone()),
            conflict: false
        }
    );
    assert_eq!((&patches[1].obj, patches[1].path.len()), (&text, 1));
    assert_eq!(patches[1].path.last(), Some((&ROOT, &Prop::from("text"))));
    assert_eq!(patches[1].action, splice(0, "hello"));

    for (at, c) in (5..).zip([" ", "w", "o", "r", "l", "d"]) {
        doc.splice_text(&text, at, 0, c).unwrap();
        assert_eq!(actions(doc.diff_incremental()), [splice(at, c)]);
    }
    assert_eq!(doc.diff_incremental(), []);
    doc.splice_text(&text, 0, 6, "my ").unwrap();
    doc.splice_text(&text, 8, 0, "!").unwrap();
    let gone = PatchAction::DeleteSeq { index: 3, length: 6 };
    assert_eq!(actions(doc.diff_incremental()), [splice(0, "my "), gone, splice(8, "!")]);
}

#[test]
fn failed_report_is_repeated() {
    let mut doc = AutoCommit::new();
    let text = text_of(&mut doc, "text", "hello");
    doc.update_diff_cursor();
    for isolated in [false, true] {
        if isolated {
            let heads = doc.get_heads();
            doc.isolate(&heads).unwrap();
        }
        doc.splice_text(&text, 5, 0, "!").unwrap();
        let refused = doc.try_diff_incremental(|patches| Err::<(), _>(actions(patches)));
        assert_eq!(refused, Err(vec![splice(5, "!")]));
        assert_eq!(doc.try_diff_incremental(Ok::<_, ()>).map(actions), Ok(vec![splice(5, "!")]));
        assert_eq!(doc.diff_incremental(), []);
    }
}

#[test]
fn each_kind_of_patch() {
    let mut doc = AutoCommit::from(Document::new().with_actor(ActorId::from([1])));
    doc.put(&ROOT, "n", ScalarValue::counter(3)).unwrap();
    let list = doc.put_object(&ROOT, "list", ObjType::List).unwrap();
    doc.insert(&list, 0, "a").unwrap();
    doc.insert(&list, 1, "b").unwrap();
    doc.update_diff_cursor();

    doc.increment(&ROOT, "n", 4).unwrap();
    assert_eq!(actions(doc.diff_incremental()), [PatchAction::Increment { prop: Prop::from("n"), value: 4 }]);
    let mut other = doc.fork();
    doc.put(&list, 0, "x").unwrap();
    other.put(&list, 0, "y").unwrap();
    let here = actions(doc.diff_incremental());
    assert!(matches!(&here[..], [PatchAction::PutSeq { index: 0, conflict: false, .. }]), "{here:?}");
    doc.merge(&mut other).unwrap();
    let element = doc.get(&list, 0).unwrap().unwrap();
    let conflict = match element.0.as_str() == Some("x") {
        true => PatchAction::Conflict { prop: Prop::from(0) },
        false => PatchAction::PutSeq { index: 0, value: (element.0.into_owned(), element.1), conflict: true },
    };
    assert_eq!(actions(doc.diff_incremental()), [conflict]);
    doc.delete(&list, 1).unwrap();
    doc.delete(&ROOT, "n").unwrap();
    assert_eq!(
        actions(doc.diff_incremental()),
        [PatchAction::DeleteMap { key: "n".to_owned() }, PatchAction::DeleteSeq { index: 1, length: 1 }]
    );
    doc.insert(&list, 0, 1).unwrap();
    doc.insert(&list, 1, 2).unwrap();
    let came = actions(doc.diff_incremental());
    assert!(matches!(&came[..], [PatchAction::Insert { index: 0, values }] if values.len() == 2), "{came:?}");
}

#[test]
fn object_shown_again_is_reported_completely() {
    let mut doc = AutoCommit::new();
    let map = doc.put_object(&ROOT, "map", ObjType::Map).unwrap();
    doc.put(&map, "k", 1).unwrap();
    let before = doc.get_heads();
    doc.delete(&ROOT, "map").unwrap();
    let after = doc.get_heads();
    assert_eq!(
        actions(doc.diff(&before, &after).unwrap()),
        [PatchAction::DeleteMap { key: "map".to_owned() }]
    );
    let back = doc.diff(&after, &before).unwrap();
    assert_eq!(back.len(), 2);
    assert_eq!((&back[1].obj, back[1].path.len()), (&map, 1));
    // The object is not reachable any more, so its contents are not reported.
    doc.update_diff_cursor();
    doc.put(&map, "k", 2).unwrap();
    assert_eq!(doc.diff_incremental(), []);
}

#[test]
fn diff_of_one_object() {
    let mut doc = AutoCommit::new();
    let outer = doc.put_object(&ROOT, "outer", ObjType::Map).unwrap();
    let inner = doc.put_object(&outer, "inner", ObjType::Map).unwrap();
    let before = doc.get_heads();
    for obj in [&ROOT, &outer, &inner] {
        doc.put(obj, "k", 1).unwrap();
    }
    let after = doc.get_heads();
    let about = |doc: &mut AutoCommit, obj: &ObjId, deep| -> Vec<ObjId> {
        doc.diff_obj(obj, &before, &after, deep).unwrap().into_iter().map(|patch| patch.obj).collect()
    };
    assert_eq!(about(&mut doc, &ROOT, true), [ROOT, outer.clone(), inner.clone()]);
    assert_eq!(about(&mut doc, &ROOT, false), [ROOT]);
    assert_eq!(about(&mut doc, &outer, true), [outer.clone(), inner.clone()]);
    assert_eq!(about(&mut doc, &outer, false), std::slice::from_ref(&outer));
    // A new object is reported completely.
    assert_eq!(doc.diff_obj(&inner, &[], &after, true).unwrap()[0].path.len(), 2);
    assert!(doc.diff_obj(&inner, &after, &[], true).unwrap().is_empty());
}

#[test]
fn unknown_heads_are_an_error() {
    let mut doc = AutoCommit::new();
    let unknown_heads = [ChangeHash([7; 32])];
    assert!(doc.diff(&unknown_heads, &[]).is_err());
    assert!(doc.diff(&[], &unknown_heads).is_err());
    assert_eq!(doc.diff(&[], &[]).unwrap(), []);
}

#[test]
fn diff_cursor() {
    let mut doc = AutoCommit::new();
    doc.put(&ROOT, "a", 1).unwrap();
    assert!(doc.diff_cursor().is_empty());
    doc.update_diff_cursor();
    assert_eq!(doc.diff_cursor(), doc.get_heads());
    doc.put(&ROOT, "b", 1).unwrap();
    doc.reset_diff_cursor();
    assert_eq!(doc.diff_incremental(), doc.document().current_state());
    // Differences between earlier heads are reported, too.
    let heads = doc.get_heads();
    doc.put(&ROOT, "b", 2).unwrap();
    doc.update_diff_cursor();
    doc.isolate(&heads).unwrap();
    let back = doc.diff_incremental();
    assert!(
        matches!(&back[..], [Patch { action: PatchAction::PutMap { value, .. }, .. }] if value.0.as_i64() == Some(1))
    );
    doc.put(&ROOT, "c", 3).unwrap();
    assert_eq!(doc.diff_incremental().len(), 1);
    doc.integrate();
    let forth = doc.diff_incremental();
    assert!(
        matches!(&forth[..], [Patch { action: PatchAction::PutMap { value, .. }, .. }] if value.0.as_i64() == Some(2))
    );
    // After another document is assigned, nothing was reported yet.
    *doc.document() = Document::new();
    assert!(doc.diff_cursor().is_empty());
    assert_eq!(doc.diff_incremental(), []);
}

#[test]
fn apply_patches_refuses_a_different_value() {
    let mut doc = AutoCommit::new();
    let list = doc.put_object(&ROOT, "list", ObjType::List).unwrap();
    doc.insert(&list, 0, 1).unwrap();
    doc.update_diff_cursor();
    doc.delete(&list, 0).unwrap();
    let patches = doc.diff_incremental();
    let wrong: [(Literal, bool); 4] = [
        (literal!({}), true),
        (literal!({ "list": 1 }), true),
        (literal!({ "list": {} }), true),
        (literal!({ "list": [] }), false),
    ];
    for (mut value, lost) in wrong {
        let error = value.apply_patches(&patches, ENCODING).unwrap_err();
        assert_eq!(matches!(error, PatchError::NotThere { .. }), lost, "{error}");
    }
    let mut right = literal!({ "list": [1] });
    right.apply_patches(&patches, ENCODING).unwrap();
    assert_eq!(right, literal!({ "list": [] }));
    let far = Patch {
        action: PatchAction::DeleteSeq { index: usize::MAX, length: usize::MAX },
        ..patches[0].clone()
    };
    assert!(right.apply_patches(&[far], ENCODING).is_err());
}

/// Characters of a text with their marks; a block is U+FFFC.
type Rich = Vec<(char, Vec<(String, ScalarValue<'static>)>)>;

fn rich(spans: impl Iterator<Item = Span<'static>>) -> Rich {
    let marks = |marks: &MarkSet<'static>| {
        marks.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect::<Vec<_>>()
    };
    spans
        .flat_map(|span| match span {
            Span::Text { text, marks: on } => text.chars().map(|c| (c, marks(&on))).collect::<Vec<_>>(),
            Span::Block(_) => vec![('\u{fffc}', vec![])],
        })
        .collect()
}

/// Applies patches like an editor that shows marks.
fn take(shown: &mut Rich, patches: Vec<Patch>, text: &ObjId) {
    for patch in patches.into_iter().filter(|patch| patch.obj == *text) {
        match patch.action {
            PatchAction::SpliceText { index, value, marks } => {
                let marks: Vec<_> =
                    marks.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect();
                shown.splice(index..index, value.chars().map(|c| (c, marks.clone())));
            }
            PatchAction::Insert { index, values } => {
                shown.splice(index..index, values.iter().map(|_| ('\u{fffc}', vec![])));
            }
            PatchAction::DeleteSeq { index, length } => drop(shown.drain(index..index + length)),
            PatchAction::Mark { marks } => {
                for Mark { start, end, name, value } in marks {
                    for (c, on) in &mut shown[start..end] {
                        on.retain(|(other, _)| *other != name);
                        if value != ScalarValue::Null && *c != '\u{fffc}' {
                            on.push((name.clone().into_owned(), value.clone()));
                            on.sort_by(|a, b| a.0.cmp(&b.0));
                        }
                    }
                }
            }
            action => panic!("{action:?} is no step of a text"),
        }
    }
}

/// One random edit of a text.
fn scribble(doc: &mut AutoCommit, text: &ObjId, rng: &mut Rng) {
    let len = doc.length(text);
    let at = rng.below(len + 1);
    match rng.below(8) {
        0..3 => doc.splice_text(text, at, 0, ["x", "yz", "words "][rng.below(3)]).unwrap(),
        3 => doc.splice_text(text, at, rng.below(4).min(len - at) as isize, "").unwrap(),
        4 => drop(doc.split_block(text, at).unwrap()),
        5 if len > 0 => drop(doc.delete(text, at.min(len - 1))),
        _ => {
            let end = at + rng.below(len + 1 - at);
            let value = [ScalarValue::Null, true.into(), ScalarValue::Int(2)][rng.below(3)].clone();
            let expand =
                [ExpandMark::Before, ExpandMark::After, ExpandMark::Both, ExpandMark::None][rng.below(4)];
            doc.mark(text, Mark::new(["b", "i"][rng.below(2)], value, at, end), expand).unwrap();
        }
    }
}

#[test]
fn patches_lead_to_the_rich_text() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let mut a = AutoCommit::new();
        let text = text_of(&mut a, "text", "some words");
        let mut b = a.fork();
        let mut past = vec![a.get_heads()];
        let shown = |doc: &AutoCommit, heads: &[ChangeHash]| -> Rich {
            let spans = doc.spans_at(&text, heads).unwrap();
            rich(spans.map(Span::into_owned).collect::<Vec<_>>().into_iter())
        };
        for _ in 0..30 {
            for _ in 0..rng.below(4) {
                scribble(&mut a, &text, &mut rng);
                scribble(&mut b, &text, &mut rng);
            }
            if rng.below(3) == 0 {
                a.merge(&mut b).unwrap();
                b.merge(&mut a).unwrap();
            }
            past.push(a.get_heads());
            let (from, to) = (past[rng.below(past.len())].clone(), past[rng.below(past.len())].clone());
            for (from, to) in [(past[past.len() - 2].clone(), past[past.len() - 1].clone()), (from, to)] {
                let mut is = shown(&a, &from);
                take(&mut is, a.diff(&from, &to).unwrap(), &text);
                assert_eq!(is, shown(&a, &to), "seed {seed}");
            }
        }
    }
}

/// Patches computed from few elements equal those computed from all.
#[test]
fn diff_of_a_long_text_visits_few_elements() {
    let mut doc = AutoCommit::new();
    let text = text_of(&mut doc, "text", "");
    let mut rng = Rng::new(5);
    for n in 0..6000 {
        let len = doc.length(&text);
        doc.splice_text(&text, rng.below(len + 1), 0, ["a", "é", "字"][n % 3]).unwrap();
    }
    let mut past = vec![doc.get_heads()];
    let mut value = doc.hydrate(ROOT).unwrap();
    doc.update_diff_cursor();
    for n in 0..40 {
        let len = doc.length(&text);
        let at = rng.below(len - 10);
        doc.splice_text(&text, at, (n % 5) as isize, if n % 3 == 0 { "new" } else { "" }).unwrap();
        doc.put(&text, rng.below(len - 20), "Q").unwrap();
        past.push(doc.get_heads());
        value.apply_patches(&doc.diff_incremental(), ENCODING).unwrap();
        assert_eq!(value, doc.hydrate(ROOT).unwrap());
    }
    for window in past.windows(2) {
        for (from, to) in [(&window[0], &window[1]), (&window[1], &window[0])] {
            let patches = doc.diff(from, to).unwrap();
            let mut value = doc.at(from).unwrap().hydrate(ROOT).unwrap();
            value.apply_patches(&patches, ENCODING).unwrap();
            assert_eq!(value, doc.at(to).unwrap().hydrate(ROOT).unwrap());
        }
    }
}

#[test]
fn deep_paths_share_memory() {
    let mut doc = Document::new();
    let depth = 20_000;
    doc.transact(|tx| (0..depth).try_fold(ROOT, |at, _| tx.put_object(&at, "in", ObjType::Map)).map(drop))
        .unwrap();
    let patches = doc.current_state();
    assert_eq!((patches.len(), patches[depth - 1].path.len()), (depth, depth - 1));
    let last = patches.into_iter().next_back().unwrap();
    assert!(last.path.iter().all(|(_, prop)| *prop == Prop::from("in")));
}
