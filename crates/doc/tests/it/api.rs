//! The calls that users of the official crate look for, and those that it lacks.

use std::collections::{BTreeMap, HashMap};

use hashmill_doc::{
    ActorId, AutoCommit, ChangeHash, CommitOptions, Document, EditError, Literal, LoadOptions, ObjType, ROOT,
    ReadDoc, SaveOptions, TextEncoding, Transactable, literal,
};

fn document(actor: u8) -> Document {
    Document::new().with_actor(ActorId::from([actor]))
}

#[test]
fn what_is_known_of_changes_is_what_their_bytes_say() {
    let mut doc = document(1);
    let options = CommitOptions::default().with_message("first").with_time(7).with_author([1, 2]);
    let (_, first) = doc.transact_with(&options, |tx| tx.put(ROOT, "k", 1)).unwrap();
    let mut other = doc.fork().with_actor(ActorId::from([2]));
    other.transact_with(&CommitOptions::default().with_author([1, 2]), |tx| tx.put(ROOT, "l", 1)).unwrap();
    for i in 0..100 {
        doc.transact(|tx| tx.put(ROOT, "k", i + 2)).unwrap();
    }
    doc.merge(&other).unwrap();
    doc.empty_commit(&CommitOptions::default().with_message("both seen"));
    let (changes, metas) = (doc.get_changes(&[]), doc.get_changes_meta(&[]));
    assert_eq!((changes.len(), metas.len()), (103, 103));
    for (change, meta) in changes.iter().zip(&metas) {
        assert_eq!(
            (meta.hash, &meta.deps[..], meta.actor),
            (change.hash(), change.deps(), change.actor_id())
        );
        assert_eq!(
            (meta.seq, meta.start_op, meta.max_op),
            (change.seq(), change.start_op(), change.max_op())
        );
        assert_eq!((meta.timestamp, meta.message), (change.timestamp(), change.message()));
        assert_eq!((meta.author, meta.extra), (change.author(), change.extra_bytes()));
        assert_eq!(doc.get_change_meta_by_hash(&change.hash()).as_ref(), Some(meta));
    }
    assert_eq!((Some(metas[0].hash), metas[0].message), (doc.hash(first.unwrap()), Some("first")));
    let since = [metas[50].hash];
    assert_eq!(doc.get_changes_meta(&since).len(), doc.get_changes(&since).len());
    assert_eq!(doc.get_authors(), [&[1, 2]]);
    assert_eq!(doc.get_actors_for_author(&[1, 2]), [ActorId::from([1]), ActorId::from([2])]);
    assert_eq!(doc.get_author_for_actor(&ActorId::from([2])), Some(&[1, 2][..]));
    assert_eq!(doc.get_author_for_actor(&ActorId::from([3])), None);
    let stats = doc.stats();
    assert_eq!((stats.changes, stats.operations, stats.actors), (103, 102, 2));
    let loaded = Document::load(&doc.save()).unwrap();
    assert_eq!((loaded.stats(), loaded.get_authors()), (stats, doc.get_authors()));
}

#[test]
fn a_document_is_filled_from_literals_and_read_as_types() {
    let mut doc = AutoCommit::from(document(1));
    let card = literal!({
        "title": (Literal::text("A title")),
        "tags": ["a", (Literal::text("b"))],
        "size": { "width": 3, "depth": (-1) },
        "bytes": (vec![1_u8, 2]),
        "none": (hashmill_doc::ScalarValue::Null),
    });
    let id = doc.put_literal(ROOT, "card", card.clone()).unwrap().unwrap();
    assert_eq!(doc.get_as(&id, "title"), Ok(Some("A title".to_owned())));
    assert_eq!(doc.get_as(&id, "tags"), Ok(Some(vec!["a".to_owned(), "b".to_owned()])));
    let sizes = BTreeMap::from([("width".to_owned(), 3_i8), ("depth".to_owned(), -1)]);
    assert_eq!(doc.get_as(&id, "size"), Ok(Some(sizes.clone())));
    assert_eq!(doc.get_as::<HashMap<String, i8>>(&id, "size"), Ok(Some(sizes.into_iter().collect())));
    assert_eq!(doc.get_as(&id, "bytes"), Ok(Some(vec![1_u8, 2])));
    assert_eq!(doc.get_as::<Option<u8>>(&id, "none"), Ok(Some(None)));
    assert_eq!(doc.get_as::<u8>(&id, "absent"), Ok(None));
    assert_eq!(doc.get_as(ROOT, "card"), Ok(Some(card)));
    let wrong = |expected| EditError::WrongValue { expected };
    let bytes = "a list of values of one type, or bytes";
    assert_eq!(doc.get_as::<Vec<u8>>(&id, "tags"), Err(wrong(bytes)));
    assert_eq!(doc.get_as::<Vec<u16>>(&id, "bytes"), Err(wrong(bytes)));
    assert_eq!(doc.get_as::<String>(&id, "size"), Err(wrong("a string or a text")));
    // Collections of the standard library.
    let shelf = HashMap::from([("b", vec![2, 3]), ("a", vec![])]);
    let shelf: BTreeMap<_, _> = shelf.into_iter().map(|(key, value)| (key, Literal::list(value))).collect();
    doc.put_literal(ROOT, "shelf", shelf).unwrap();
    let read: Option<BTreeMap<String, Vec<u8>>> = doc.get_as(ROOT, "shelf").unwrap();
    assert_eq!(read.unwrap()["b"], [2, 3]);
    let (value, _) =
        doc.get_path([hashmill_doc::Prop::from("shelf"), "b".into(), 1.into()]).unwrap().unwrap();
    assert_eq!(value, 3.into());
}

#[test]
fn a_document_that_commits_by_itself_has_the_everyday_calls() {
    let mut doc = AutoCommit::from(document(1));
    doc.put(ROOT, "k", 1).unwrap();
    let mut other = doc.fork();
    assert!(doc.base_heads() == doc.get_heads() && doc.pending_ops() == 0);
    other.put(ROOT, "k", 2).unwrap();
    assert_eq!((other.base_heads(), other.pending_ops()), (doc.get_heads(), 1));
    assert_eq!(doc.merge(&mut other).unwrap(), other.get_heads());
    let loaded = AutoCommit::load(&doc.save()).unwrap();
    assert_eq!(loaded.get_as(ROOT, "k"), Ok(Some(2)));
}

#[test]
fn a_transaction_returns_values_or_leaves_nothing() {
    let mut doc = document(1);
    let (length, commit) = doc
        .transact_with(&CommitOptions::default().with_message("two"), |tx| {
            tx.put(ROOT, "a", 1)?;
            tx.put(ROOT, "b", 2)?;
            Ok::<_, EditError>(tx.length(ROOT))
        })
        .unwrap();
    assert_eq!((length, doc.hash(commit.unwrap())), (2, Some(doc.get_heads()[0])));
    let (heads, file) = (doc.get_heads(), doc.save());
    let failed: Result<((), _), EditError> = doc.transact_with(&CommitOptions::default(), |tx| {
        tx.put(ROOT, "a", 3)?;
        tx.put_literal(ROOT, "card", literal!({ "tags": ["a", { "b": [] }] }))?;
        tx.delete(ROOT, "b")?;
        tx.increment(ROOT, "a", 1)
    });
    assert_eq!(failed.unwrap_err(), EditError::NotCounter);
    doc.check(true);
    assert_eq!((doc.get_heads(), doc.save(), doc.length(ROOT)), (heads, file, 2));
    assert_eq!(doc.transact_with(&CommitOptions::default(), |_| Ok::<_, EditError>(7)).unwrap(), (7, None));
}

/// While somebody types, a text is in one hand; however that ends, it is shared again.
#[test]
fn a_text_typed_for_long_is_shared_afterwards() {
    for (typed, end) in [("x", "commit"), ("", "commit"), ("x", "rollback"), ("x", "drop")] {
        let mut doc = document(1);
        let texts = doc.transact(|tx| {
            Ok::<_, EditError>([
                tx.put_object(ROOT, "a", ObjType::Text)?,
                tx.put_object(ROOT, "b", ObjType::Text)?,
            ])
        });
        let [a, b] = texts.unwrap();
        let before = doc.snapshot();
        let mut tx = doc.transaction();
        for text in [&a, &b, &a] {
            (0..40).for_each(|_| tx.splice_text(text, 0, 0, typed).unwrap());
        }
        assert_eq!(tx.length(&a), 80 * typed.len());
        match end {
            "commit" => drop(tx.commit()),
            "rollback" => assert_eq!(tx.rollback(), 120),
            _ => drop(tx),
        }
        doc.check(true);
        let kept = if end == "commit" { [80, 40].map(|n| typed.repeat(n)) } else { Default::default() };
        let after = doc.snapshot();
        doc.transact(|tx| tx.splice_text(&a, 0, 0, "y")).unwrap();
        assert_eq!([&a, &b].map(|text| after.text(text).unwrap()), kept, "{typed} {end}");
        assert_eq!(before.length(&a), 0);
    }
}

#[test]
fn an_auto_commit_does_what_its_document_does() {
    let mut doc = AutoCommit::with_encoding(TextEncoding::Utf16CodeUnit).with_actor(ActorId::from([5]));
    assert!(doc.is_empty());
    doc.put(ROOT, "a", 1).unwrap();
    let first = doc.commit().unwrap();
    let first = doc.hash(first).unwrap();
    assert_eq!(doc.get_heads(), [first]);
    assert_eq!(doc.get_actor(), &ActorId::from([5]));
    let base = doc.save();
    // Each of these commits what is open.
    let open = |doc: &mut AutoCommit, key: &str| {
        doc.put(ROOT, key, 1).unwrap();
        assert_eq!(doc.pending_ops(), 1);
    };
    open(&mut doc, "b");
    assert!(!doc.is_empty());
    open(&mut doc, "c");
    assert_eq!(doc.get_changes(&[first]).len(), 2);
    open(&mut doc, "d");
    assert_eq!(doc.get_changes_meta(&[first]).len(), 3);
    open(&mut doc, "e");
    let last = doc.get_last_local_change().unwrap();
    assert_eq!((last.seq(), doc.get_heads()), (5, vec![last.hash()]));
    assert_eq!(doc.get_change_by_hash(&last.hash()), Some(last));
    assert_eq!(doc.get_change_meta_by_hash(&first).map(|meta| meta.seq), Some(1));
    assert_eq!(doc.get_missing_deps(&[first, ChangeHash([1; 32])]), [ChangeHash([1; 32])]);
    open(&mut doc, "f");
    let after = doc.save_after(&[first]);
    open(&mut doc, "g");
    let increment = doc.save_incremental();
    let options = LoadOptions::new().actor(ActorId::from([6]));
    let mut other = AutoCommit::load_with(&base, options).unwrap();
    assert_eq!(other.get_actor(), &ActorId::from([6]));
    assert_eq!(
        (other.load_incremental(&after).unwrap(), other.load_incremental(&increment).unwrap()),
        (5, 1)
    );
    assert_eq!(other.get_heads(), doc.get_heads());
    open(&mut other, "h");
    open(&mut doc, "i");
    let added = doc.get_changes_added(&mut other);
    assert_eq!(added.len(), 1);
    doc.apply_changes(added).unwrap();
    assert_eq!(doc.keys(ROOT).collect::<String>(), "abcdefghi");
    assert_eq!(doc.fork_at(&[first]).unwrap().keys(ROOT).count(), 1);
    assert_eq!(doc.current_state().len(), 9);
    doc.set_actor(ActorId::from([7])).put(ROOT, "j", 1).unwrap();
    assert_eq!(doc.get_last_local_change().unwrap().actor_id(), &ActorId::from([7]));
    let files =
        [doc.save_with(SaveOptions::default()), doc.save_nocompress(), doc.save_and_verify().unwrap()];
    for file in files {
        assert_eq!(AutoCommit::load(&file).unwrap().get_heads(), doc.get_heads());
    }
}
