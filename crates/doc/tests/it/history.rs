//! Reading the past, forks, and changes that wait for others.

use hashmill_doc::{
    ActorId, ApplyError, AutoCommit, ChangeHash, Document, EditError, ObjType, ROOT, ReadDoc, Transactable,
};

fn document(actor: u8) -> AutoCommit {
    AutoCommit::from(Document::new().with_actor(ActorId::from([actor])))
}

#[test]
fn every_state_of_the_past_can_be_read() {
    let mut doc = document(1);
    let text = doc.put_object(ROOT, "text", ObjType::Text).unwrap();
    let mut rng = crate::Rng::new(5);
    let mut past = vec![];
    for i in 0..200 {
        let len = doc.length(&text);
        doc.splice_text(&text, rng.below(len + 1), rng.below(4) as isize, "ab").unwrap();
        doc.put(ROOT, "i", i).unwrap();
        doc.commit();
        past.push((doc.document().get_heads(), doc.text(&text).unwrap(), i));
    }
    for (heads, expected, i) in &past {
        assert_eq!(doc.text_at(&text, heads).unwrap(), *expected);
        assert_eq!(doc.length_at(&text, heads).unwrap(), expected.len());
        let (value, _) = doc.get_at(ROOT, "i", heads).unwrap().unwrap();
        assert_eq!(value, i64::from(*i).into());
        let fork = doc.document().fork_at(heads).unwrap();
        fork.check(true);
        assert_eq!((fork.text(&text).unwrap(), fork.get_heads()), (expected.clone(), heads.clone()));
    }
    let unknown = ChangeHash([7; 32]);
    assert_eq!(doc.text_at(&text, &[unknown]), Err(EditError::UnknownHash(unknown)));
}

#[test]
fn conflicts_keep_every_value_and_the_greatest_id_wins() {
    let (mut a, mut b) = (document(1), document(2));
    a.put(ROOT, "k", "from a").unwrap();
    b.put(ROOT, "k", "from b").unwrap();
    a.document().merge(b.document()).unwrap();
    let all = a.get_all(ROOT, "k").unwrap();
    let values: Vec<_> = all.iter().map(|(value, id)| (value.clone(), id.to_string())).collect();
    assert_eq!(values, [("from a".into(), "1@01".to_owned()), ("from b".into(), "1@02".to_owned())]);
    a.put(ROOT, "k", "from b").unwrap();
    assert_eq!(a.get_all(ROOT, "k").unwrap().len(), 1, "the losers are deleted");
}

#[test]
fn changes_wait_for_what_they_depend_on() {
    let mut doc = document(1);
    for i in 0..5 {
        doc.put(ROOT, "k", i).unwrap();
        doc.commit();
    }
    let changes = doc.document().get_changes(&[]);
    let mut other = Document::new();
    other.apply_changes(changes[1..].iter().rev().cloned()).unwrap();
    assert_eq!(other.get_missing_deps(&[]), [changes[0].hash()]);
    assert_eq!(other.length(ROOT), 0);
    let mut loaded = Document::load(&doc.document().save_after(&[])).unwrap();
    assert_eq!(loaded.get_heads(), doc.document().get_heads());
    loaded.apply_changes(changes[2..3].iter().cloned()).unwrap();
    other.apply_changes([changes[0].clone()]).unwrap();
    assert_eq!(other.get_heads(), doc.document().get_heads());
    assert!(other.get_missing_deps(&[]).is_empty());
}

#[test]
fn a_repeated_sequence_number_rejects_the_batch() {
    let (mut a, mut b) = (document(1), document(1));
    a.put(ROOT, "k", 1).unwrap();
    b.put(ROOT, "k", 2).unwrap();
    b.commit();
    b.put(ROOT, "l", 2).unwrap();
    let heads = a.document().get_heads();
    let changes = b.document().get_changes(&[]);
    let error = a.document().apply_changes(changes).unwrap_err();
    assert!(matches!(error, ApplyError::DuplicateSeq { seq: 1, .. }), "{error}");
    assert_eq!(a.document().get_heads(), heads);
    a.document().check(true);
}

#[test]
fn a_fork_shares_nothing_that_is_written_later() {
    let mut doc = document(1);
    let text = doc.put_object(ROOT, "text", ObjType::Text).unwrap();
    doc.splice_text(&text, 0, 0, &"long enough for many leaves ".repeat(500)).unwrap();
    let mut fork = AutoCommit::from(doc.document().fork());
    doc.splice_text(&text, 5, 3, "one").unwrap();
    fork.splice_text(&text, 9000, 3, "two").unwrap();
    assert_ne!(doc.text(&text).unwrap(), fork.text(&text).unwrap());
    doc.document().check(true);
    fork.document().check(true);
    let other = fork.document().clone();
    doc.document().merge(&other).unwrap();
    let text = doc.text(&text).unwrap();
    assert!(text.contains("one") && text.contains("two"));
}

#[test]
fn wrong_places_are_named() {
    let mut doc = document(1);
    let list = doc.put_object(ROOT, "list", ObjType::List).unwrap();
    assert_eq!(doc.insert(&list, 2, 1), Err(EditError::Index { index: 2, len: 0 }));
    assert_eq!(doc.put(&list, "key", 1), Err(EditError::WrongType { found: ObjType::List }));
    assert_eq!(doc.increment(ROOT, "list", 1), Err(EditError::NotCounter));
    let text = doc.put_object(ROOT, "text", ObjType::Text).unwrap();
    assert_eq!(doc.splice_text(&text, 1, -2, ""), Err(EditError::Underflow { index: 1, count: 2 }));
    let mut other = document(2);
    assert_eq!(other.put(&list, 0, 1), Err(EditError::UnknownObject(list)));
}

#[test]
fn edits_at_past_heads_are_concurrent_to_what_came_after() {
    let mut doc = document(1);
    let text = doc.put_object(ROOT, "text", ObjType::Text).unwrap();
    doc.splice_text(&text, 0, 0, "one").unwrap();
    doc.commit();
    let past = doc.document().get_heads();
    doc.splice_text(&text, 3, 0, " two").unwrap();
    doc.isolate(&past).unwrap();
    assert_eq!(doc.text(&text).unwrap(), "one");
    doc.splice_text(&text, 0, 1, "O").unwrap();
    doc.integrate();
    assert_eq!(doc.text(&text).unwrap(), "One two");
    assert_eq!(doc.document().get_heads().len(), 2);
    let done = doc.document().transact_at(&past, &hashmill_doc::CommitOptions::default(), |tx| {
        tx.splice_text(&text, 3, 0, "!")?;
        tx.text(&text)
    });
    assert_eq!(done.unwrap().0, "one!");
    assert_eq!(doc.document().get_heads().len(), 3);
    doc.document().check(true);
}

#[test]
fn nested_values_are_made_and_updated_with_few_edits() {
    use hashmill_doc::Literal;
    let mut doc = document(1);
    let card = Literal::from([
        ("title", Literal::Text("A title".to_owned())),
        ("tags", ["a", "b"].into_iter().collect()),
        ("size", 3.into()),
    ]);
    let id = doc.put_literal(ROOT, "card", card).unwrap().unwrap();
    assert_eq!(doc.get_as::<u8>(&id, "size"), Ok(Some(3)));
    assert_eq!(doc.get_as::<bool>(&id, "size"), Err(EditError::WrongValue { expected: "true or false" }));
    let (_, title) = doc.get_path(["card", "title"]).unwrap().unwrap();
    assert_eq!(doc.text(&title).unwrap(), "A title");
    let before = doc.pending_ops();
    let card = Literal::from([
        ("title", Literal::Text("A new title".to_owned())),
        ("tags", ["a", "b", "c"].into_iter().collect()),
        ("size", 3.into()),
    ]);
    doc.update_object(&id, &card).unwrap();
    assert_eq!(doc.text(&title).unwrap(), "A new title");
    assert_eq!(doc.pending_ops() - before, 5, "four letters and one tag");
    let (_, tags) = doc.get(&id, "tags").unwrap().unwrap();
    let (_, tag) = doc.get(&tags, 2).unwrap().unwrap();
    assert_eq!(doc.parents(&tags).unwrap().len(), 2);
    let head = doc.document().get_heads()[0];
    assert_eq!(doc.document().change_of(&tag), Some(head));
}
