//! Files of other implementations.

use hashmill_doc::{
    ActorId, ChangeHash, Document, EditError, InputPosition, LoadError, LoadOptions, ObjType, OpFault, ROOT,
    ReadDoc, Rule, ScalarValue, Transactable, Value, Verify,
};

macro_rules! fixture {
    ($name:literal) => {
        &include_bytes!(concat!("../../data/automerge/fixtures/", $name, ".automerge"))[..]
    };
}

macro_rules! crasher {
    ($name:literal) => {
        &include_bytes!(concat!("../../data/automerge/crashers/", $name))[..]
    };
}

const EXEMPLAR: &[u8] = include_bytes!("../../data/automerge/exemplar");

fn hashes(hashes: &[ChangeHash]) -> Vec<String> {
    hashes.iter().map(|hash| hash.to_string()[..8].to_owned()).collect()
}

#[test]
fn exemplar_round_trips() {
    for verify in [Verify::Now, Verify::Later] {
        let mut doc = Document::load_with(EXEMPLAR, LoadOptions::new().verify(verify)).unwrap();
        doc.check(true);
        assert_eq!(hashes(&doc.get_heads()), ["3df6f946"]);
        let scalar = |key: &str| match doc.get(ROOT, key).unwrap().unwrap().0 {
            Value::Scalar(value) => value.into_owned(),
            other => panic!("{other:?}"),
        };
        assert_eq!(scalar("bool"), ScalarValue::Boolean(true));
        assert_eq!(scalar("bytes"), vec![0x85, 0x6f, 0x4a, 0x83].into());
        assert_eq!(scalar("counter"), ScalarValue::Counter(5));
        assert_eq!(scalar("fp"), 3.14159267.into());
        assert_eq!(scalar("int"), (-4).into());
        assert_eq!(scalar("uint"), u64::MAX.into());
        assert_eq!(scalar("timestamp"), ScalarValue::Timestamp(-905_182_979_000));
        assert_eq!(scalar("title"), "Hello 🇬🇧👨‍👨‍👧‍👦😀".into());
        let (_, notes) = doc.get(ROOT, "notes").unwrap().unwrap();
        assert_eq!(doc.text(&notes).unwrap(), "🇬🇧👨‍👨‍👧‍👦😀");
        assert_eq!(doc.save(), EXEMPLAR);
    }
}

#[test]
fn fixtures_load_or_report_the_reason() {
    let doc = Document::load(fixture!("counter_value_is_ok")).unwrap();
    assert_eq!(doc.get(ROOT, "a").unwrap().unwrap().0, ScalarValue::Counter(2000).into());
    assert_eq!(hashes(&doc.get_heads()), ["d473daa6"]);
    for bytes in [
        fixture!("two_change_chunks"),
        fixture!("two_change_chunks_compressed"),
        fixture!("two_change_chunks_out_of_order"),
    ] {
        let doc = Document::load(bytes).unwrap();
        assert_eq!(hashes(&doc.get_heads()), ["a7e727d5"]);
        let (_, a) = doc.get(ROOT, "a").unwrap().unwrap();
        assert_eq!(doc.get(&a, "a").unwrap().unwrap().0, "b".into());
    }
}

#[test]
fn errors_of_malformed_files_name_chunk_offset_and_rule() {
    let end_before_begin = Rule::Operation(OpFault::MarkOrder);
    let cases = [
        (fixture!("counter_value_is_overlong"), Some(0x57), 2, Rule::LebOverlong),
        (fixture!("counter_value_has_incorrect_meta"), Some(0x57), 2, Rule::Value),
        (fixture!("64bit_obj_id_change"), None, 36, Rule::CounterRange),
        (fixture!("64bit_obj_id_doc"), Some(0x23), 8, Rule::CounterRange),
        (fixture!("broken_zero_width_mark"), Some(0x42), 4, end_before_begin),
        (crasher!("action-is-48.automerge"), Some(0x42), 1, Rule::ShortRepeat),
        (crasher!("crash-da39a3ee5e6b4b0d3255bfef95601890afd80709"), None, 10, Rule::Truncated),
        (crasher!("incorrect_max_op.automerge"), Some(0x23), 2, Rule::Zero),
        (crasher!("invalid_deflate_stream.automerge"), None, 0, Rule::Checksum),
        (crasher!("missing_actor.automerge"), Some(0x21), 2, Rule::Missing),
        (crasher!("overflow_in_length.automerge"), None, 14, Rule::ColumnTwice),
        (crasher!("too_many_deps.automerge"), Some(0x42), 2, Rule::Truncated),
        (crasher!("too_many_ops.automerge"), Some(0x80), 1, Rule::LebOverlong),
    ];
    for (bytes, column, offset, rule) in cases {
        let expected = |chunk, before| InputPosition { chunk, offset: offset + before, column };
        let LoadError::Format(error) = Document::load(bytes).unwrap_err() else { panic!("{rule}") };
        assert_eq!((error.position, &error.rule), (expected(0, 0), &rule));
        // After another chunk, offsets include its length, except inside a column.
        let LoadError::Format(error) = Document::load(&[EXEMPLAR, bytes].concat()).unwrap_err() else {
            panic!("{rule}")
        };
        let before = if column.is_some() { 0 } else { EXEMPLAR.len() };
        assert_eq!((error.position, &error.rule), (expected(1, before), &rule));
        // Present contents stay.
        let mut doc = Document::load(EXEMPLAR).unwrap();
        assert_eq!(doc.load_incremental(bytes), Ok(0));
        assert_eq!(doc.save(), EXEMPLAR);
    }
}

#[test]
fn damaged_files_never_panic() {
    for at in 0..EXEMPLAR.len() {
        for flip in [1, 0x80] {
            let mut bad = EXEMPLAR.to_vec();
            bad[at] ^= flip;
            assert!(Document::load(&bad).is_err(), "byte {at}");
        }
        assert_eq!(Document::load(&EXEMPLAR[..at]).is_err(), at > 0);
    }
}

#[test]
fn empty_document_has_known_bytes() {
    let bytes = Document::new().save();
    assert_eq!(bytes, [0x85, 0x6f, 0x4a, 0x83, 0xb8, 0x1a, 0x95, 0x44, 0, 4, 0, 0, 0, 0]);
    assert!(Document::load(&bytes).unwrap().get_heads().is_empty());
    assert!(Document::load(&[]).unwrap().get_heads().is_empty());
}

/// Every kind of encoding: typed text with deletions, other values in text and lists, their histories, counters,
/// overwritten keys, and concurrent values.
fn everything(pieces: usize) -> Document {
    let mut doc = Document::new().with_actor(ActorId::from([1]));
    let created = doc.transact(|tx| {
        let text = tx.put_object(ROOT, "text", ObjType::Text)?;
        let list = tx.put_object(ROOT, "list", ObjType::List)?;
        tx.put(ROOT, "counter", ScalarValue::Counter(3))?;
        Ok::<_, EditError>((text, list))
    });
    let (text, list) = created.unwrap();
    let edit = |n: usize, doc: &mut Document| {
        let edited = doc.transact(|tx| {
            tx.splice_text(&text, n % 17, 0, "as one types, and then ünicode ")?;
            tx.splice_text(&text, n % 13, 2, "")?;
            tx.insert(&list, n % 5, n as i64)?;
            tx.insert(&list, 0, "a value")?;
            if n.is_multiple_of(5) {
                tx.insert(&text, 3, ScalarValue::F64(n as f64))?;
                tx.put(&list, n % 3, "put")?;
                tx.delete(&list, n % 4)?;
                tx.increment(ROOT, "counter", 2)?;
            }
            tx.put(ROOT, "number", n as i64)?;
            tx.put(ROOT, "name", format!("name {n}"))?;
            tx.put(ROOT, format!("key {n}"), n as i64)?;
            if n % 7 == 3 { tx.delete(ROOT, format!("key {}", n - 3)) } else { Ok(()) }
        });
        edited.unwrap();
    };
    (0..pieces).for_each(|n| edit(n, &mut doc));
    let mut other = doc.fork().with_actor(ActorId::from([0, 1]));
    edit(pieces, &mut doc);
    edit(pieces + 5, &mut other);
    doc.merge(&other).unwrap();
    edit(pieces + 10, &mut doc);
    doc
}

/// Long values are deflated by another thread, in parallel with the other columns; the verification compares every
/// change.
#[test]
fn documents_of_every_length_round_trip() {
    for pieces in [1, 40, 400, 4000] {
        let mut doc = everything(pieces);
        let (packed, plain) = (doc.save(), doc.save_nocompress());
        assert!(packed.len() <= plain.len());
        for bytes in [packed, plain.clone()] {
            let mut loaded = Document::load(&bytes).unwrap();
            loaded.check(true);
            assert_eq!(loaded.get_heads(), doc.get_heads(), "{pieces}");
            assert!(loaded.save_nocompress() == plain, "{pieces}");
        }
    }
}

#[test]
fn garbage_in_a_stream_is_skipped() {
    let mut doc = Document::load(fixture!("two_change_chunks")).unwrap();
    let bytes = [EXEMPLAR, b"garbage"].concat();
    assert!(matches!(Document::load(&bytes), Err(LoadError::Format(_))));
    assert_eq!(doc.load_incremental(&bytes), Ok(21));
    assert_eq!(doc.get_heads().len(), 2);
}
