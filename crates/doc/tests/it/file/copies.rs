//! Copies of documents: without history, anonymised, and decoded into parts.

use hashmill_doc::{
    ActorId, AutoCommit, CommitOptions, Document, ExpandMark, Limits, Literal, Mark, ObjId, ObjType,
    PartKind, ROOT, ReadDoc as _, ScalarValue, Span, Transactable as _, Value, View, examine, literal,
};
use hashmill_testkit::rng::Rng;

/// Edits by several actors, with marks, blocks, counters, conflicts and values of every type.
fn any(seed: u64) -> Document {
    let mut rng = Rng::new(seed);
    let mut first = AutoCommit::from(Document::new().with_actor(ActorId::from([9, 9])));
    let text = first.put_object(ROOT, "text", ObjType::Text).unwrap();
    first.splice_text(&text, 0, 0, "secret één 字 😀").unwrap();
    let list = first.put_object(ROOT, "secret", ObjType::List).unwrap();
    first.put(ROOT, "n", ScalarValue::Counter(5)).unwrap();
    first.commit();
    let mut people: Vec<AutoCommit> = vec![first];
    for n in 0..2_u8 {
        let copy = people[0].document().fork().with_actor(ActorId::from([7 - n, 1, 2])).into();
        people.push(copy);
    }
    for _ in 0..30 {
        let who = rng.below(people.len());
        let other = rng.below(people.len());
        let doc = &mut people[who];
        let at = rng.below(doc.length(&text) + 1);
        match rng.below(9) {
            0 => doc.splice_text(&text, at, 0, ["secret", "é", "\n"][rng.below(3)]).unwrap(),
            1 => drop(doc.splice_text(&text, at, 1, "")),
            2 => {
                let end = rng.below(doc.length(&text) + 1);
                let (name, expand) =
                    [("bold", ExpandMark::After), ("secret", ExpandMark::None)][rng.below(2)];
                let mark = Mark::new(name, "secret", at.min(end), at.max(end));
                drop(doc.mark(&text, mark, expand));
            }
            3 => {
                let block = doc.split_block(&text, at).unwrap();
                doc.put(&block, "secret", 1).unwrap();
            }
            4 => doc.increment(ROOT, "n", 3).unwrap(),
            5 => doc.put(ROOT, ["a", "secret"][rng.below(2)], who as i64).unwrap(),
            6 => drop(
                doc.put_literal(ROOT, "b", literal!({ "secret": [1.5, (Literal::text("secret"))] })).unwrap(),
            ),
            7 => {
                let value = [ScalarValue::from("secret"), vec![1, 2].into(), (-1000).into(), u64::MAX.into()];
                drop(doc.insert(&list, 0, value[rng.below(4)].clone()));
            }
            _ => {
                let mut from = people[other].fork();
                people[who].merge(&mut from).unwrap();
            }
        }
        people[who].commit_with(&CommitOptions::default().with_message("secret").with_time(77));
    }
    let [mut a, mut b, mut c]: [AutoCommit; 3] = people.try_into().unwrap();
    a.merge(&mut b).unwrap();
    a.merge(&mut c).unwrap();
    a.into_document()
}

/// Structure of an object without its contents.
fn shape(view: &View<'_>, value: &Value<'_>, id: &ObjId) -> String {
    let all = |values: Vec<(Value<'_>, ObjId)>| -> Vec<String> {
        values.iter().map(|(value, id)| shape(view, value, id)).collect()
    };
    match value {
        Value::Object(ObjType::Map | ObjType::Table) => {
            let mut members: Vec<_> =
                view.keys(id).map(|key| all(view.get_all(id, key).unwrap()).join("|")).collect();
            members.sort();
            format!("{members:?}")
        }
        Value::Object(ObjType::List) => {
            let elements = 0..view.length(id);
            format!("{:?}", elements.map(|at| all(view.get_all(id, at).unwrap())).collect::<Vec<_>>())
        }
        Value::Object(ObjType::Text) => {
            let text = view.text(id).unwrap();
            let marks: Vec<_> = view.marks(id).unwrap().iter().map(|mark| (mark.start, mark.end)).collect();
            let chars: Vec<usize> = text.chars().map(char::len_utf8).collect();
            // Marks are sorted by name, and the names differ.
            let mut sorted = marks;
            sorted.sort_unstable();
            format!("{chars:?} {sorted:?} {:?}", all(view.values_of(id)))
        }
        Value::Scalar(ScalarValue::Str(text)) => {
            format!("{:?}", text.chars().map(char::len_utf8).collect::<Vec<_>>())
        }
        Value::Scalar(ScalarValue::Bytes(bytes)) => format!("{} bytes", bytes.len()),
        Value::Scalar(ScalarValue::Counter(_)) => "counter".to_owned(),
        Value::Scalar(ScalarValue::Int(value)) => {
            format!("int {} {}", value.signum(), value.unsigned_abs().leading_zeros())
        }
        Value::Scalar(ScalarValue::Uint(value)) => format!("uint {}", value.leading_zeros()),
        Value::Scalar(other) => format!("{other}").chars().take(1).collect(),
    }
}

#[test]
fn anonymised_document_has_the_same_structure_without_contents() {
    for seed in 0..60 {
        let doc = any(seed);
        let mut masked = doc.anonymise().unwrap();
        let root = Value::Object(ObjType::Map);
        assert_eq!(shape(&masked.view(), &root, &ROOT), shape(&doc.view(), &root, &ROOT), "seed {seed}");
        assert_eq!(masked.stats(), doc.stats());
        assert_eq!(masked.get_heads().len(), doc.get_heads().len());
        for (a, b) in masked.get_changes_meta(&[]).iter().zip(doc.get_changes_meta(&[])) {
            assert_eq!((a.seq, a.start_op, a.max_op, a.timestamp), (b.seq, b.start_op, b.max_op, 0));
        }
        let bytes = masked.save_nocompress();
        assert!(!bytes.windows(6).any(|word| word == b"secret"), "seed {seed}");
        let again = Document::load(&bytes).unwrap();
        assert_eq!(again.hydrate(ROOT).unwrap(), masked.hydrate(ROOT).unwrap());
    }
}

#[test]
fn anonymised_values_are_as_documented() {
    let mut doc = Document::new();
    doc.transact(|tx| {
        tx.init_root(&literal!({
            "min": (i64::MIN), "max": (i64::MAX), "zero": 0, "seven": (-7), "u": (u64::MAX), "f": (-2.5), "nan": (f64::NAN),
            "none": (ScalarValue::Null), "yes": true, "text": (Literal::text("a é\n字😀")), "time": (ScalarValue::Timestamp(1000)),
            "odd": (ScalarValue::Unknown { type_code: 11, bytes: vec![1, 2].into() })
        }))
    })
    .unwrap();
    let masked = doc.anonymise().unwrap();
    let values: Vec<_> = masked.values(ROOT).into_iter().map(|(value, _)| value.to_string()).collect();
    for value in [
        "-9223372036854775808",
        "4611686018427387904",
        "0",
        "-4",
        "9223372036854775808",
        "-1",
        "NaN",
        "null",
        "true",
        "timestamp 512",
        "type 11 [0, 0]",
        "text",
    ] {
        assert!(values.iter().any(|there| there == value), "{value} in {values:?}");
    }
    let text = masked.values(ROOT).into_iter().find(|(value, _)| *value == ObjType::Text.into()).unwrap().1;
    assert_eq!(masked.text(&text).unwrap(), "xxß\n字😀");
    assert!(Document::new().anonymise().unwrap().is_empty());
}

#[test]
fn squashed_document_has_equal_contents_without_history() {
    for seed in 0..60 {
        let doc = any(seed);
        let options = CommitOptions::default().with_message("all of it").with_time(5);
        let mut squashed = doc.squash(ActorId::from([1]), &options).unwrap();
        assert_eq!(squashed.hydrate(ROOT).unwrap(), doc.hydrate(ROOT).unwrap(), "seed {seed}");
        let text = |doc: &Document| doc.get(ROOT, "text").unwrap().unwrap().1;
        let spans = |doc: &Document| -> Vec<Span<'static>> {
            doc.spans(text(doc)).unwrap().map(Span::into_owned).collect()
        };
        assert_eq!(spans(&squashed), spans(&doc), "seed {seed}");
        let changes = squashed.get_changes_meta(&[]);
        assert_eq!((changes.len(), changes[0].message, changes[0].timestamp), (1, Some("all of it"), 5));
        let again = Document::load(&squashed.save()).unwrap();
        assert_eq!(spans(&again), spans(&doc));
        // Marks expand as before.
        let mut grown = AutoCommit::from(again.clone());
        let bold = again.marks(text(&again)).unwrap();
        for mark in bold.into_iter().filter(|mark| mark.end < again.length(text(&again))) {
            grown.splice_text(text(&again), mark.end, 0, "+").unwrap();
            let grew = grown.get_marks(text(&again), mark.end).unwrap();
            assert_eq!(grew.get(&mark.name).is_some(), mark.name == "bold", "seed {seed}");
            grown.rollback();
        }
    }
    assert_eq!(
        Document::new().squash(ActorId::from([1]), &CommitOptions::default()).unwrap().stats().changes,
        0
    );
}

#[test]
fn examine_lists_the_parts_of_a_file() {
    let mut doc = Document::new().with_actor(ActorId::from([1]));
    doc.transact(|tx| tx.put(ROOT, "a", 1)).unwrap();
    let mut bytes = doc.save();
    let whole = bytes.len();
    doc.transact(|tx| tx.put(ROOT, "b", "x".repeat(2000))).unwrap();
    bytes.extend(doc.get_last_local_change().unwrap().bytes());
    let parts = examine(&bytes, &Limits::default());
    let kinds: Vec<_> = parts.iter().map(|part| part.kind).collect();
    assert_eq!(kinds, [Some(PartKind::Document), Some(PartKind::CompressedChange)]);
    assert_eq!((parts[0].bytes.clone(), parts[1].bytes.clone()), (0..whole, whole..bytes.len()));
    let hashes: Vec<_> =
        parts.iter().flat_map(|part| part.changes.as_ref().unwrap()).map(|change| change.hash()).collect();
    assert_eq!(hashes, doc.get_changes(&[]).iter().map(|change| change.hash()).collect::<Vec<_>>());

    // A wrong checksum affects one part; trailing garbage is the last part.
    bytes[5] ^= 1;
    bytes.extend(b"\x85\x6f\x4a");
    let parts = examine(&bytes, &Limits::default());
    let good: Vec<_> = parts.iter().map(|part| part.changes.is_ok()).collect();
    assert_eq!((good, parts[2].kind), (vec![false, true, false], None));
    assert!(examine(&[], &Limits::default()).is_empty());
    for len in 0..bytes.len() {
        let parts = examine(&bytes[..len], &Limits::default());
        assert_eq!(parts.iter().map(|part| part.bytes.len()).sum::<usize>(), len);
    }
}
