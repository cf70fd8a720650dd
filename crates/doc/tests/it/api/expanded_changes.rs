//! Changes decoded into their parts and built from them.

use hashmill_doc::legacy::{ElementId, Key, MarkData, ObjectId, Op, OpId, OpType, ParseOpIdError};
use hashmill_doc::{
    ActorId, AutoCommit, Change, CommitOptions, DecodeError, Document, ExpandedChange, ObjType, OpFault,
    ROOT, Rule, ScalarValue, Transactable,
};

fn actor(n: u8) -> ActorId {
    ActorId::from([n])
}

/// A document of two actors whose last change names both, and has every kind of operation except marks.
fn document() -> Document {
    let mut doc = AutoCommit::from(Document::new().with_actor(actor(7)));
    let list = doc.put_object(ROOT, "list", ObjType::List).unwrap();
    doc.insert(&list, 0, ScalarValue::counter(1)).unwrap();
    doc.insert(&list, 1, 2u64).unwrap();
    doc.put(ROOT, "k", 1.5).unwrap();
    doc.commit();
    let mut other = doc.fork();
    other.document().set_actor(actor(3));
    other.put(ROOT, "k", "theirs").unwrap();
    doc.put(ROOT, "k", vec![1u8, 2]).unwrap();
    doc.merge(&mut other).unwrap();
    doc.increment(&list, 0, -5).unwrap();
    doc.delete(&list, 1).unwrap();
    doc.put(ROOT, "k", ScalarValue::Timestamp(9)).unwrap();
    let text = doc.insert_object(&list, 1, ObjType::Text).unwrap();
    doc.splice_text(&text, 0, 0, "é").unwrap();
    doc.put(ROOT, "nothing", ()).unwrap();
    let options = CommitOptions::default().with_message("all of it").with_time(-3);
    doc.commit_with(&options);
    doc.into_document()
}

#[test]
fn decoded_change_lists_its_operations() {
    let doc = document();
    let changes = doc.get_changes(&[]);
    let last = changes.last().unwrap();
    let decoded = last.decode();
    let id = |counter, n| OpId::new(counter, &actor(n));
    let list = ObjectId::Id(id(1, 7));
    let op = |action, obj: &ObjectId, key, pred: &[OpId], insert| Op {
        action,
        obj: obj.clone(),
        key,
        pred: pred.to_vec(),
        insert,
    };
    let (root, elem) = (ObjectId::Root, |counter| Key::Seq(ElementId::Id(id(counter, 7))));
    let text = ObjectId::Id(id(9, 7));
    let expected = [
        op(OpType::Increment(-5), &list, elem(2), &[id(2, 7)], false),
        op(OpType::Delete, &list, elem(3), &[id(3, 7)], false),
        op(
            OpType::Put(ScalarValue::Timestamp(9)),
            &root,
            Key::Map("k".to_owned()),
            &[id(5, 3), id(5, 7)],
            false,
        ),
        op(OpType::Make(ObjType::Text), &list, elem(2), &[], true),
        op(OpType::Put("é".into()), &text, Key::Seq(ElementId::Head), &[], true),
        op(OpType::Put(ScalarValue::Null), &root, Key::Map("nothing".to_owned()), &[], false),
    ];
    assert_eq!(decoded.operations, expected);
    assert_eq!((decoded.actor_id.clone(), decoded.seq, decoded.start_op, decoded.time), (actor(7), 3, 6, -3));
    assert_eq!((decoded.message.as_deref(), decoded.hash), (Some("all of it"), Some(last.hash())));
    assert_eq!((&decoded.deps[..], decoded.author, decoded.extra_bytes.len()), (last.deps(), None, 0));
    for change in &changes {
        let again = Change::try_from(&change.decode()).unwrap();
        assert_eq!((again.raw_bytes(), again.hash()), (change.raw_bytes(), change.hash()));
    }
}

#[test]
fn decoded_marks_and_authors_round_trip() {
    let mut doc = AutoCommit::from(Document::new().with_actor(actor(1)));
    let text = doc.put_object(ROOT, "text", ObjType::Text).unwrap();
    doc.splice_text(&text, 0, 0, "a").unwrap();
    doc.commit_with(&CommitOptions::default().with_author([1, 2]));
    let doc = doc.into_document();
    let decoded = doc.get_changes(&[])[0].decode();
    assert_eq!(decoded.author.as_deref(), Some(&[1, 2][..]));
    let after = |counter| Key::Seq(ElementId::Id(OpId::new(counter, &actor(1))));
    let mark = |action, counter| Op {
        action,
        obj: ObjectId::Id(OpId::new(1, &actor(1))),
        key: after(counter),
        pred: vec![],
        insert: true,
    };
    let bold = MarkData { name: "bold".to_owned(), value: true.into(), expand: true };
    let marked = ExpandedChange {
        operations: vec![mark(OpType::MarkBegin(bold), 2), mark(OpType::MarkEnd(false), 3)],
        hash: None,
        seq: 2,
        start_op: 3,
        deps: vec![decoded.hash.unwrap()],
        extra_bytes: vec![],
        author: None,
        ..decoded
    };
    let change = Change::try_from(&marked).unwrap();
    assert_eq!(change.decode(), ExpandedChange { hash: Some(change.hash()), ..marked });
    let mut doc = doc;
    doc.apply_changes([change]).unwrap();
    assert_eq!(Document::load(&doc.save()).unwrap().get_heads(), doc.get_heads());
}

#[test]
fn changes_that_cannot_be_encoded_are_refused() {
    let sound = document().get_changes(&[]).last().unwrap().decode();
    let refused = |change: &ExpandedChange| match Change::try_from(change) {
        Err(DecodeError::Format(error)) => error.rule,
        other => panic!("{other:?}"),
    };
    let with = |edit: fn(&mut ExpandedChange)| {
        let mut change = sound.clone();
        edit(&mut change);
        refused(&change)
    };
    assert_eq!(with(|change| change.seq = 0), Rule::Zero);
    assert_eq!(with(|change| change.start_op = 1 << 32), Rule::CounterRange);
    assert_eq!(with(|change| change.operations[0].pred[0].0 = 0), Rule::Zero);
    assert_eq!(with(|change| change.operations[0].pred[0].0 = u64::MAX), Rule::CounterRange);
    assert_eq!(with(|change| change.operations[2].pred.reverse()), Rule::Operation(OpFault::PredOrder));
    assert!(matches!(with(|change| change.operations[1].insert = true), Rule::Operation(_)));
    assert!("7@".parse::<OpId>().is_ok() && "7@0g".parse::<OpId>() == Err(ParseOpIdError));
    assert_eq!("7@ab".parse::<OpId>().map(|id| id.to_string()), Ok("7@ab".to_owned()));
}
