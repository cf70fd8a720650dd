//! Reads of every kind, now and at earlier heads, in all text encodings.

use hashmill_doc::{
    ActorId, ChangeHash, Document, EditError, Literal, ObjId, ObjType, ROOT, ReadDoc, ScalarValue,
    TextEncoding, Transactable,
};

/// A document by two actors who sometimes write concurrently; returns its objects and the heads after each change.
fn story() -> (Document, Vec<ObjId>, Vec<Vec<ChangeHash>>) {
    let mut doc = Document::new().with_actor(ActorId::from([1]));
    let mut objects = vec![ROOT];
    doc.transact(|tx| {
        let map = tx.put_object(ROOT, "map", ObjType::Map)?;
        let list = tx.put_object(ROOT, "list", ObjType::List)?;
        let text = tx.put_object(&map, "text", ObjType::Text)?;
        objects.extend([map, list, text]);
        Ok::<_, EditError>(())
    })
    .unwrap();
    let mut heads = vec![vec![], doc.get_heads()];
    for n in 0..12_usize {
        let mut other = doc.fork().with_actor(ActorId::from([2]));
        for (who, doc) in [&mut doc, &mut other].into_iter().enumerate() {
            doc.transact(|tx| {
                let (map, list, text) = (&objects[1], &objects[2], &objects[3]);
                tx.put(ROOT, format!("k{}", n % 4), (n + who) as i64)?;
                tx.put(map, "both", who as i64)?;
                tx.insert(list, n / 2, n as i64)?;
                tx.splice_text(text, n, n as isize % 3, "añ🦀")?;
                if n % 3 == 2 {
                    tx.put(list, 0, ScalarValue::counter(n as i64))?;
                    tx.increment(list, 0, 1)?;
                    tx.delete(ROOT, format!("k{}", n % 2))?;
                    tx.delete(list, 1)?;
                }
                Ok::<_, EditError>(())
            })
            .unwrap();
        }
        if n % 4 != 1 {
            doc.merge(&other).unwrap();
        }
        heads.push(doc.get_heads());
    }
    (doc, objects, heads)
}

#[test]
fn reads_at_earlier_heads_are_stable() {
    let (doc, objects, all) = story();
    for heads in &all {
        let then = doc.fork_at(heads).unwrap();
        for obj in &objects {
            let now = doc.at(heads).unwrap();
            let Ok(kind) = then.object_type(obj) else {
                // The object was created later: it is known, and empty.
                assert!(heads.is_empty());
                assert_eq!((doc.length_at(obj, heads), doc.keys_at(obj, heads)), (Ok(0), Ok(vec![])));
                continue;
            };
            assert_eq!(now.object_type(obj), Ok(kind));
            assert_eq!(doc.keys_at(obj, heads).unwrap(), then.keys(obj).collect::<Vec<_>>());
            assert_eq!(doc.values_at(obj, heads).unwrap(), then.values(obj));
            assert_eq!(doc.length_at(obj, heads).unwrap(), then.length(obj));
            assert_eq!(doc.text_at(obj, heads), then.text(obj));
            assert_eq!(doc.parents_at(obj, heads), then.parents(obj));
            assert_eq!(now.hydrate(obj), then.hydrate(obj));
            let keys: Vec<_> = doc.map_range_at(obj, "k1".."k3", heads).unwrap().collect();
            assert_eq!(keys, then.map_range(obj, "k1".."k3").collect::<Vec<_>>());
            let items: Vec<_> = doc.list_range_at(obj, 1..4, heads).unwrap().collect();
            assert_eq!(items, then.list_range(obj, 1..4).collect::<Vec<_>>());
            for key in ["k0", "k1", "both", "text", "absent"] {
                assert_eq!(doc.get_at(obj, key, heads), then.get(obj, key));
                assert_eq!(doc.get_all_at(obj, key, heads), then.get_all(obj, key));
                assert_eq!(now.get_as::<Literal>(obj, key), then.get_as(obj, key));
            }
            for index in 0..=then.length(obj) {
                assert_eq!(doc.get_at(obj, index, heads), then.get(obj, index));
                assert_eq!(doc.get_all_at(obj, index, heads), then.get_all(obj, index));
            }
        }
        let path = ["map", "text"];
        assert_eq!(doc.at(heads).unwrap().get_path(path), then.get_path(path));
    }
    // The last heads are the current ones.
    assert_eq!(doc.at(&doc.get_heads()).unwrap().hydrate(ROOT), doc.hydrate(ROOT));
}

#[test]
fn every_read_reports_unknown_heads() {
    let (doc, objects, _) = story();
    let (obj, unknown) = (&objects[3], ChangeHash([7; 32]));
    let (heads, named) = ([unknown], EditError::UnknownHash(unknown));
    assert_eq!(doc.get_at(obj, 0, &heads).unwrap_err(), named);
    assert_eq!(doc.get_all_at(obj, 0, &heads).unwrap_err(), named);
    assert_eq!(doc.keys_at(obj, &heads).unwrap_err(), named);
    assert_eq!(doc.values_at(obj, &heads).unwrap_err(), named);
    assert_eq!(doc.length_at(obj, &heads).unwrap_err(), named);
    assert_eq!(doc.text_at(obj, &heads).unwrap_err(), named);
    assert_eq!(doc.parents_at(obj, &heads).unwrap_err(), named);
    assert_eq!(doc.map_range_at(obj, .., &heads).map(Iterator::count).unwrap_err(), named);
    assert_eq!(doc.list_range_at(obj, .., &heads).map(Iterator::count).unwrap_err(), named);
    assert_eq!(doc.fork_at(&heads).unwrap_err(), named);
}

#[test]
fn text_is_counted_in_four_encodings() {
    // A letter, one with an accent, a family of seven scalar values, and a letter.
    let text = "aé👨‍👩‍👧‍👦z";
    let cases = [
        (TextEncoding::UnicodeCodePoint, [0, 1, 2, 9], 10),
        (TextEncoding::Utf8CodeUnit, [0, 1, 3, 28], 29),
        (TextEncoding::Utf16CodeUnit, [0, 1, 2, 13], 14),
        (TextEncoding::GraphemeCluster, [0, 1, 2, 3], 4),
    ];
    let mut heads = vec![];
    for (encoding, starts, length) in cases {
        let mut doc = Document::with_encoding(encoding).with_actor(ActorId::from([1]));
        let id = doc.transact(|tx| {
            let id = tx.put_object(ROOT, "text", ObjType::Text)?;
            tx.splice_text(&id, 0, 0, text)?;
            Ok::<_, EditError>(id)
        });
        let id = id.unwrap();
        assert_eq!((doc.text_encoding(), doc.length(&id)), (encoding, length));
        // Inserts before each of the four, and deletes it again.
        for start in starts {
            let mut other = doc.fork();
            other.transact(|tx| tx.splice_text(&id, start, 0, "!")).unwrap();
            let shown = other.text(&id).unwrap();
            assert_eq!(shown.replace('!', ""), text, "{encoding:?} {start}");
            let before = shown.split('!').next().unwrap();
            assert!(["", "a", "aé", "aé👨‍👩‍👧‍👦"].contains(&before), "{encoding:?} {start} {before}");
            other.transact(|tx| tx.splice_text(&id, start, 1, "")).unwrap();
            assert_eq!(other.text(&id).unwrap(), text, "{encoding:?} {start}");
        }
        let past = doc.transact(|tx| tx.splice_text(&id, length + 1, 0, "!"));
        assert_eq!(past, Err(EditError::Index { index: length + 1, len: length }));
        // Deletes the first and the last; the text between stays.
        doc.transact(|tx| tx.splice_text(&id, starts[3], 1, "")).unwrap();
        doc.transact(|tx| tx.splice_text(&id, 0, 1, "")).unwrap();
        assert_eq!(doc.text(&id).unwrap(), "é👨‍👩‍👧‍👦", "{encoding:?}");
        doc.check(true);
        let options = hashmill_doc::LoadOptions::new().text_encoding(encoding);
        let again = Document::load_with(&doc.save(), options).unwrap();
        assert_eq!(again.length(&id), doc.length(&id));
        // With grapheme clusters, each of them is one element.
        if encoding != TextEncoding::GraphemeCluster {
            heads.push(doc.get_heads());
        }
    }
    heads.dedup();
    assert_eq!(heads.len(), 1, "changes do not depend on how their author counts");
}
