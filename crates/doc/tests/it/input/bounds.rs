//! Indexes, lengths, increments and times at the limits of their types.

use hashmill_doc::{
    AutoCommit, CommitOptions, CursorPosition, Document, EditError, LoadOptions, ObjType, ROOT, ReadDoc,
    ScalarValue, TextEncoding, Transactable, literal,
};

const ENCODINGS: [TextEncoding; 4] = [
    TextEncoding::UnicodeCodePoint,
    TextEncoding::Utf8CodeUnit,
    TextEncoding::Utf16CodeUnit,
    TextEncoding::GraphemeCluster,
];

/// Around the limits of every integer type of an index.
const INDEXES: [usize; 8] = [
    4,
    i32::MAX as usize,
    u32::MAX as usize - 1,
    u32::MAX as usize,
    isize::MAX as usize,
    isize::MAX as usize + 1,
    usize::MAX - 1,
    usize::MAX,
];

#[test]
fn huge_indexes_are_refused() {
    for encoding in ENCODINGS {
        let mut doc = AutoCommit::from(Document::with_encoding(encoding));
        doc.init_root(&literal!({ "list": [1, 2, 3], "text": (hashmill_doc::Literal::text("abc")) }))
            .unwrap();
        let [list, text] = ["list", "text"].map(|key| doc.get(ROOT, key).unwrap().unwrap().1);
        doc.commit();
        let heads = doc.get_heads();
        for index in INDEXES {
            let refused = EditError::Index { index, len: 3 };
            assert_eq!(doc.splice(&list, index, 0, [1, 2]), Err(refused.clone()));
            assert_eq!(doc.splice(&list, index, isize::MAX, [1, 2]), Err(refused.clone()));
            assert_eq!(doc.splice(&text, index, isize::MAX, ["a"]), Err(refused.clone()));
            assert_eq!(doc.splice_text(&text, index, isize::MAX, "aé"), Err(refused.clone()));
            assert_eq!(doc.insert(&list, index, 1), Err(refused.clone()));
            assert_eq!(doc.insert_object(&list, index, ObjType::Map), Err(refused.clone()));
            assert_eq!(doc.insert_literal(&list, index, literal!([1])), Err(refused.clone()));
            assert_eq!(doc.put(&list, index, 1), Err(refused.clone()));
            assert_eq!(doc.put_literal(&list, index, literal!([1])), Err(refused.clone()));
            assert_eq!(doc.increment(&list, index, 1), Err(refused.clone()));
            assert_eq!(doc.delete(&list, index), Err(refused));
            // Past the end, nothing is deleted or visible.
            assert_eq!(doc.splice(&list, index, isize::MAX, [0; 0]), Ok(()));
            assert_eq!(doc.splice_text(&text, index, isize::MAX, ""), Ok(()));
            assert_eq!(doc.delete(&text, index), Ok(()));
            for obj in [&list, &text] {
                assert_eq!(doc.get(obj, index), Ok(None));
                assert_eq!(doc.get_at(obj, index, &heads), Ok(None));
                assert!(doc.get_all(obj, index).unwrap().is_empty());
                assert_eq!(doc.list_range(obj, index..=usize::MAX).count(), 0);
                assert!(doc.get_cursor(obj, CursorPosition::Index(index)).is_err());
                assert!(doc.get_cursor_at(obj, CursorPosition::Index(index), &heads).is_err());
            }
            let count = isize::MIN.unsigned_abs();
            if index < count {
                let backwards = Err(EditError::Underflow { index, count });
                assert_eq!(doc.splice_text(&text, index, isize::MIN, ""), backwards);
                assert_eq!(doc.splice(&list, index, isize::MIN, [0; 0]), backwards);
            }
        }
        assert_eq!((doc.pending_ops(), doc.length(&list), doc.length(&text)), (0, 3, 3));
        doc.splice(&list, 1, isize::MAX, [5]).unwrap();
        doc.splice_text(&text, 1, isize::MAX, "é").unwrap();
        assert_eq!(
            doc.hydrate(ROOT).unwrap(),
            literal!({ "list": [1, 5], "text": (hashmill_doc::Literal::text("aé")) })
        );
    }
}

#[test]
fn extreme_increments_and_times_round_trip() {
    let mut doc = AutoCommit::new();
    let list = doc.put_object(ROOT, "list", ObjType::List).unwrap();
    let mut times = vec![];
    for (n, number) in [i64::MIN, i64::MAX, 0, i64::MAX, i64::MIN, -1, i64::MIN].into_iter().enumerate() {
        doc.insert(&list, n, ScalarValue::Counter(number)).unwrap();
        doc.increment(&list, n, number).unwrap();
        doc.increment(&list, n, i64::MIN).unwrap();
        doc.put(ROOT, "time", ScalarValue::Timestamp(number)).unwrap();
        doc.put(ROOT, "uint", u64::MAX - n as u64).unwrap();
        doc.commit_with(&CommitOptions::default().with_time(number));
        times.push(number);
    }
    let doc = doc.document();
    let timestamps = |doc: &Document| -> Vec<i64> {
        doc.get_changes_meta(&[]).iter().map(|meta| meta.timestamp).collect()
    };
    assert_eq!(timestamps(doc), times);
    for encoding in ENCODINGS {
        let loaded = Document::load_with(&doc.save(), LoadOptions::new().text_encoding(encoding)).unwrap();
        assert_eq!((timestamps(&loaded), loaded.get_heads()), (times.clone(), doc.get_heads()));
        assert_eq!(loaded.hydrate(ROOT).unwrap(), doc.hydrate(ROOT).unwrap());
    }
    let mut other = Document::new();
    other.load_incremental(&doc.save_after(&[])).unwrap();
    assert_eq!((timestamps(&other), other.hydrate(ROOT)), (times, doc.hydrate(ROOT)));
}
