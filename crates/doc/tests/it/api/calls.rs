//! Methods that users of the official crate expect, and additional ones.

use std::collections::{BTreeMap, HashMap};

use hashmill_doc::{
    ActorId, AutoCommit, ChangeHash, CommitOptions, Document, EditError, Literal, LoadOptions, ObjType, ROOT,
    ReadDoc, SaveOptions, ScalarValue, TextEncoding, Transactable, literal,
};

fn document(actor: u8) -> Document {
    Document::new().with_actor(ActorId::from([actor]))
}

#[test]
fn change_metadata_equals_decoded_changes() {
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
fn literals_are_written_and_read_as_rust_types() {
    let mut doc = AutoCommit::from(document(1));
    let card = literal!({
        "title": (Literal::text("A title")),
        "tags": ["a", (Literal::text("b"))],
        "size": { "width": 3, "depth": (-1) },
        "bytes": (vec![1_u8, 2]),
        "none": (ScalarValue::Null),
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
    let wrong =
        |key, expected, found| format!("object {id}, key {key:?}: expected {expected}, found {found}");
    let list = "a list of values of one type, or bytes";
    assert_eq!(doc.get_as::<Vec<u8>>(&id, "tags").unwrap_err().to_string(), wrong("tags", list, "a list"));
    assert_eq!(doc.get_as::<Vec<u16>>(&id, "bytes").unwrap_err().to_string(), wrong("bytes", list, "bytes"));
    let string = "a string or a text";
    assert_eq!(doc.get_as::<String>(&id, "size").unwrap_err().to_string(), wrong("size", string, "a map"));
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
fn auto_commit_has_the_common_methods() {
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
fn transaction_returns_values_or_rolls_back() {
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
    assert!(matches!(failed.unwrap_err(), EditError::NotCounter(_)));
    doc.check(true);
    assert_eq!((doc.get_heads(), doc.save(), doc.length(ROOT)), (heads, file, 2));
    assert_eq!(doc.transact_with(&CommitOptions::default(), |_| Ok::<_, EditError>(7)).unwrap(), (7, None));
}

/// During repeated edits the transaction holds a text exclusively; at its end, in any way, the text is shareable again.
#[test]
fn edited_text_is_shared_after_the_transaction() {
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
        let expected = if end == "commit" { [80, 40].map(|n| typed.repeat(n)) } else { Default::default() };
        let after = doc.snapshot();
        doc.transact(|tx| tx.splice_text(&a, 0, 0, "y")).unwrap();
        assert_eq!([&a, &b].map(|text| after.text(text).unwrap()), expected, "{typed} {end}");
        assert_eq!(before.length(&a), 0);
    }
}

#[test]
fn auto_commit_delegates_to_its_document() {
    let mut doc = AutoCommit::with_encoding(TextEncoding::Utf16CodeUnit).with_actor(ActorId::from([5]));
    assert!(doc.is_empty());
    doc.put(ROOT, "a", 1).unwrap();
    let first = doc.commit().unwrap();
    let first = doc.hash(first).unwrap();
    assert_eq!(doc.get_heads(), [first]);
    assert_eq!(doc.get_actor(), &ActorId::from([5]));
    let base = doc.save();
    // Each of these commits pending edits.
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

/// Errors of calls with a wrong type of object or value name the object, the expected type, and the found one.
#[test]
fn type_errors_name_object_expected_and_found() {
    let mut doc = AutoCommit::new();
    let list = doc.put_object(ROOT, "list", ObjType::List).unwrap();
    let text = doc.put_object(ROOT, "text", ObjType::Text).unwrap();
    doc.insert(&list, 0, "long ".repeat(1000)).unwrap();
    let unknown = ScalarValue::Unknown { type_code: 9, bytes: vec![].into() };
    let unit = |error: EditError| error.to_string();
    let (l, t) = (list.to_string(), text.to_string());
    let errors = [
        (doc.get(ROOT, 0).map(drop), "_root", ", index 0", "a list or a text", "a map"),
        (doc.get(&list, "k").map(drop), &l, ", key \"k\"", "a map", "a list"),
        (doc.get_all(&text, "k").map(drop), &t, ", key \"k\"", "a map", "a text"),
        (doc.put(ROOT, 0, 1), "_root", ", index 0", "a list or a text", "a map"),
        (doc.put(&list, "k", 1), &l, ", key \"k\"", "a map", "a list"),
        (doc.put_object(&text, 0, ObjType::Map).map(drop), &t, ", index 0", "a list", "a text"),
        (doc.put_object(&list, "k", ObjType::Map).map(drop), &l, ", key \"k\"", "a map", "a list"),
        (doc.insert(ROOT, 0, 1), "_root", ", index 0", "a list or a text", "a map"),
        (
            doc.insert_object(ROOT, 3, ObjType::Map).map(drop),
            "_root",
            ", index 3",
            "a list or a text",
            "a map",
        ),
        (doc.delete(&list, "k"), &l, ", key \"k\"", "a map", "a list"),
        (doc.increment(&list, 0, 1), &l, ", index 0", "a counter to increment", "a string"),
        (doc.increment(&list, "k", 1), &l, ", key \"k\"", "a map", "a list"),
        (doc.splice_text(&list, 0, 0, "x"), &l, "", "a text", "a list"),
        (doc.splice(ROOT, 2, 0, [1]), "_root", ", index 2", "a list or a text", "a map"),
        (doc.text(ROOT).map(drop), "_root", "", "a text", "a map"),
        (doc.marks(&list).map(drop), &l, "", "a text", "a list"),
        (doc.split_block(&list, 0).map(drop), &l, "", "a text", "a list"),
        (doc.update_text(&list, "x"), &l, "", "a text", "a list"),
        (
            doc.get_as::<i64>(ROOT, "text").map(drop),
            "_root",
            ", key \"text\"",
            "a number that fits i64",
            "a text",
        ),
        (
            doc.put(ROOT, "u", unknown),
            "_root",
            ", key \"u\"",
            "a value of a known type, or of one of the unknown types 10 to 15",
            "a value of type 9",
        ),
    ];
    for (at, (result, object, prop, expected, found)) in errors.into_iter().enumerate() {
        let refusal = result.map_err(unit).expect_err("it needs something else");
        assert_eq!(
            refusal,
            format!("object {object}{prop}: expected {expected}, found {found}"),
            "call {at}"
        );
    }
}

/// Foreign bytes and truncated files have different errors, wherever the bytes end.
#[test]
fn foreign_and_truncated_files_have_different_errors() {
    let mut doc = AutoCommit::new();
    doc.put(ROOT, "title", "Groceries").unwrap();
    let saved = doc.save();
    for end in 1..saved.len() {
        let error = Document::load(&saved[..end]).expect_err("it is truncated").to_string();
        assert_eq!(error, "chunk 0, byte 0: truncated: the input ends too early", "{end} bytes");
    }
    let others: [&[u8]; 6] = [b"{}", b"{", b"\x85\x6f\x4b", b"%PDF-1.7", b"\0\0\0\0\0\0\0\0\0\0", b"\x85K"];
    for other in others {
        let error = Document::load(other).expect_err("it is no document").to_string();
        assert!(error.starts_with("chunk 0, byte 0: not an Automerge document: "), "{error}");
    }
    assert!(Document::load(b"").expect("no file is an empty document").is_empty());
}
