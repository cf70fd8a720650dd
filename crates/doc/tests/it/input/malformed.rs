//! Every rule of the format, broken by bytes with a valid checksum: the error names the rule, and the document is
//! unchanged.

use hashmill_doc::{
    ActorId, ApplyError, Change, DecodeError, Document, EditError, Fault, LoadError, ObjType, OpFault, ROOT,
    ReadDoc, Rule, ScalarValue, Transactable, Value,
};

use crate::support::forge::{At, Draft, Op, chunk, hex, put};

fn rule(error: LoadError) -> Rule {
    match error {
        LoadError::Format(error) => error.rule,
        error => panic!("{error}"),
    }
}

fn base() -> Draft {
    Draft::new(7, &put())
}

#[test]
fn forger_can_write_valid_changes() {
    let change = Change::from_bytes(&base().bytes()).unwrap();
    assert_eq!((change.seq(), change.start_op(), change.len()), (1, 1, 1));
    assert_eq!(Document::load(&base().bytes()).unwrap().get_as(ROOT, "k"), Ok(Some(1)));
}

#[test]
fn errors_of_malformed_changes_name_the_rule() {
    let cases: Vec<(&str, Draft, Rule)> = vec![
        ("a sequence number of 0", Draft { seq: vec![0], ..base() }, Rule::Zero),
        ("a first counter of 0", Draft { start: vec![0], ..base() }, Rule::Zero),
        ("over 64 bits", Draft { seq: hex("ffffffffffffffffff7f"), ..base() }, Rule::LebRange),
        ("over 32 bits", Draft { seq: hex("8080808010"), ..base() }, Rule::CounterRange),
        ("an overlong number", Draft { seq: hex("8100"), ..base() }, Rule::LebOverlong),
        ("a message of no text", Draft { message: vec![0xff], ..base() }, Rule::Utf8),
        (
            "actors out of order",
            Draft { others: vec![vec![9], vec![8]], ..base() },
            Rule::NotAscending("other actors"),
        ),
        ("an actor twice", Draft { others: vec![vec![7]], ..base() }, Rule::NotAscending("other actors")),
        ("an unused actor", Draft { others: vec![vec![9]], ..base() }, Rule::NotCanonical),
        ("a key of no text", base().with(0x15, "7f01ff"), Rule::Utf8),
        ("a key cut off", base().with(0x15, "7f056b"), Rule::Truncated),
        ("a run of one", base().with(0x15, "01016b"), Rule::ShortRepeat),
        ("a run of no nulls", base().with(0x15, "00007f016b"), Rule::EmptyRun),
        ("an action of 8", base().with(0x42, "7f08"), Rule::Action(8)),
        ("no action", base().with(0x42, "0001"), Rule::Missing),
        ("one action for many rows", base().with(0x15, "02016b"), Rule::Uneven),
        ("an unlisted actor", base().with(0x01, "7f05").with(0x02, "7f01"), Rule::ActorIndex(5)),
        ("an object without an actor", base().with(0x02, "7f01"), Rule::Missing),
        (
            "a predecessor of an unlisted actor",
            base().with(0x70, "7f01").with(0x71, "7f05").with(0x73, "7f01"),
            Rule::ActorIndex(5),
        ),
        ("a value cut off", base().with(0x56, "7f24"), Rule::Truncated),
        ("a value with bytes over", base().with(0x57, "0102"), Rule::Uneven),
        ("an overlong integer", base().with(0x56, "7f24").with(0x57, "8100"), Rule::LebOverlong),
        ("an integer with bytes over", base().with(0x56, "7f24").with(0x57, "0101"), Rule::Value),
        ("a number of seven bytes", base().with(0x56, "7f75").with(0x57, "00000000000000"), Rule::Value),
        ("a true with bytes", base().with(0x56, "7f12"), Rule::Value),
        (
            "a compressed column",
            {
                let mut draft = base();
                draft.columns[0].0 = 0x1d;
                draft
            },
            Rule::CompressedInChange,
        ),
        (
            "a column twice",
            {
                let mut draft = base();
                draft.columns.insert(1, draft.columns[0].clone());
                draft
            },
            Rule::ColumnTwice,
        ),
        (
            "columns out of order",
            {
                let mut draft = base();
                draft.columns.swap(1, 2);
                draft
            },
            Rule::ColumnOrder,
        ),
        (
            "values of no type",
            {
                let mut draft = base();
                draft.columns.retain(|(spec, _)| *spec != 0x56);
                draft
            },
            Rule::LoneValue,
        ),
        ("an empty column", base().with(0x13, ""), Rule::NotCanonical),
        ("a column of a later version", base().with(0xc2, "7f01"), Rule::UnknownColumn),
        (
            "an increment by text",
            base()
                .with(0x42, "7f05")
                .with(0x56, "7f16")
                .with(0x70, "7f01")
                .with(0x71, "7f00")
                .with(0x73, "7f01"),
            Rule::Operation(OpFault::Increment),
        ),
        (
            "a key and an element",
            base().with(0x13, "7f01").with(0x11, "7f00"),
            Rule::Operation(OpFault::TwoKeys),
        ),
    ];
    for (name, draft, expected) in cases {
        let bytes = draft.bytes();
        let found = rule(Document::load(&bytes).expect_err(name));
        assert_eq!(found, expected, "{name}");
        let DecodeError::Format(error) = Change::from_bytes(&bytes).expect_err(name) else {
            panic!("{name}")
        };
        assert_eq!(error.position.chunk, 0);
    }
}

/// The document of one put, in the parts of reference 2.7: a case replaces a part that occurs once.
const DOCUMENT: &str = "01 0107 01 HEAD 06 0102 0302 1302 2302 4002 5602 \
    08 1503 2102 2302 3401 4202 5602 5701 800102 \
    7f00 7f01 7f01 7f00 7f00 7f07 7f016b 7f00 7f01 01 7f01 7f14 01 7f00 00";

#[test]
fn errors_of_malformed_documents_name_the_rule() {
    let head = Document::load(&base().bytes()).unwrap().get_heads()[0].to_string();
    let whole = DOCUMENT.replace("HEAD", &head);
    let load = |body: &str| Document::load(&chunk(0, &hex(body)));
    assert_eq!(load(&whole).unwrap().get_heads()[0].to_string(), head);
    let columns = "7f00 7f01 7f01 7f00 7f00 7f07";
    let ops = "7f016b 7f00 7f01 01 7f01 7f14 01 7f00 00";
    let cases: [(&str, &str, &str, Rule); 18] = [
        ("bytes after the end", ops, "7f016b 7f00 7f01 01 7f01 7f14 01 7f00 00 00", Rule::Leftover(1)),
        (
            "a dependency that does not exist",
            "06 0102 0302 1302 2302 4002 5602 08 1503 2102 2302 3401 4202 5602 5701 800102 7f00 7f01 7f01 7f00 7f00 7f07",
            "07 0102 0302 1302 2302 4002 4302 5602 08 1503 2102 2302 3401 4202 5602 5701 800102 7f00 7f01 7f01 7f00 7f01 7f05 7f07",
            Rule::ChangeIndex(5),
        ),
        ("actors out of order", "01 0107 01", "02 0107 0106 01", Rule::NotAscending("actors")),
        ("a change of an unlisted actor", columns, "7f05 7f01 7f01 7f00 7f00 7f07", Rule::ActorIndex(5)),
        (
            "an operation of an unlisted actor",
            ops,
            "7f016b 7f05 7f01 01 7f01 7f14 01 7f00 00",
            Rule::ActorIndex(5),
        ),
        ("a second change without a first", columns, "7f00 7f02 7f01 7f00 7f00 7f07", Rule::ChangeOrder),
        ("a change of two operations", columns, "7f00 7f01 7f02 7f00 7f00 7f07", Rule::OperationCount),
        ("an operation of no change", ops, "7f016b 7f00 7f02 01 7f01 7f14 01 7f00 00", Rule::OperationCount),
        ("two actors for one change", columns, "0200 7f01 7f01 7f00 7f00 7f07", Rule::Uneven),
        ("a change without a number", columns, "7f00 0001 7f01 7f00 7f00 7f07", Rule::Missing),
        ("a dependency of none", columns, "7f00 7f01 7f01 7f00 7f01 7f07", Rule::Missing),
        ("extra bytes that are a number", columns, "7f00 7f01 7f01 7f00 7f00 7f04", Rule::Value),
        ("a key that is missing", ops, "000100 7f00 7f01 01 7f01 7f14 01 7f00 00", Rule::Missing),
        ("an operation without an id", ops, "7f016b 0001 7f01 01 7f01 7f14 01 7f00 00", Rule::Missing),
        ("an insertion into a map", ops, "7f016b 7f00 7f01 00 7f01 7f14 01 7f00 00", Rule::EmptyRun),
        ("a successor that is not there", ops, "7f016b 7f00 7f01 01 7f01 7f14 01 7f01 00", Rule::Missing),
        ("a corrupt stream", "1503 2102", "1d03 2102", Rule::Deflate),
        ("a column too long", "1503 2102", "157f 2102", Rule::ColumnRange),
    ];
    for (name, from, to, expected) in cases {
        assert_eq!(whole.matches(from).count(), 1, "{name}");
        assert_eq!(rule(load(&whole.replace(from, to)).expect_err(name)), expected, "{name}");
    }
    let other = whole.replace(&head, &"ab".repeat(32));
    let LoadError::Heads { named, computed } = load(&other).unwrap_err() else { panic!("heads") };
    assert_eq!((named[0].0, computed[0].to_string()), ([0xab; 32], head));
}

#[test]
fn unknown_columns_of_a_document_are_skipped() {
    let head = Document::load(&base().bytes()).unwrap().get_heads()[0].to_string();
    let more = DOCUMENT
        .replace("HEAD", &head)
        .replace("06 0102 0302 1302 2302 4002 5602", "07 0102 0302 1302 2302 4002 5602 6202")
        .replace("08 1503", "09 1503")
        .replace("800102", "800102 f20103")
        .replace("7f00 7f07", "7f00 7f07 7f01")
        .replace("01 7f00 00", "01 7f00 027f01 00");
    let mut doc = Document::load(&chunk(0, &hex(&more))).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(doc.get_heads()[0].to_string(), head);
    assert_eq!(doc.save(), Document::load(&base().bytes()).unwrap().save());
}

#[test]
fn unknown_values_are_preserved() {
    for code in 10..16_u8 {
        let op = Op { value: (0x20 | code, vec![0xff, code]), ..put() };
        let bytes = Draft::new(7, &op).bytes();
        let mut doc = Document::load(&bytes).unwrap();
        let unknown = ScalarValue::Unknown { type_code: code, bytes: vec![0xff, code].into() };
        assert_eq!(doc.get(ROOT, "k").unwrap().unwrap().0, Value::from(unknown.clone()));
        let again = Document::load(&doc.save()).unwrap();
        assert_eq!(again.get(ROOT, "k").unwrap().unwrap().0, Value::from(unknown.clone()));
        assert_eq!(again.get_changes(&[])[0].raw_bytes(), bytes);
        doc.transact(|tx| tx.put(ROOT, "copy", unknown.clone())).unwrap();
        let again = Document::load(&doc.save()).unwrap();
        assert_eq!(again.get(ROOT, "copy").unwrap().unwrap().0, Value::from(unknown));
    }
}

#[test]
fn extra_bytes_of_a_change_are_preserved_and_hashed() {
    let plain = base().bytes();
    // A record with an unknown tag, an author, and bytes that are not a record.
    for extra in ["0702aabb", "0103010203", "0103010203 0702aabb", "ff"] {
        let extra = hex(extra);
        let bytes = chunk(1, &[&plain[10..], &extra].concat());
        let change = Change::from_bytes(&bytes).unwrap();
        assert_ne!(change.hash(), Change::from_bytes(&plain).unwrap().hash());
        assert_eq!((change.extra_bytes(), change.raw_bytes()), (&extra[..], bytes.clone()));
        let author = (extra[0] == 1).then_some(&[1, 2, 3][..]);
        assert_eq!(change.author(), author);
        let mut doc = Document::load(&bytes).unwrap();
        for file in [doc.save(), doc.save_after(&[]), doc.save_nocompress()] {
            let again = Document::load(&file).unwrap();
            assert_eq!(again.get_changes(&[])[0].raw_bytes(), bytes);
            assert_eq!(again.get_changes(&[])[0].author(), author);
        }
    }
}

#[test]
fn errors_of_malformed_chunks_name_the_rule() {
    let bundle = |body: &str| Document::load(&chunk(3, &hex(body)));
    assert_eq!(rule(Document::load(&chunk(9, &[])).unwrap_err()), Rule::ChunkType(9));
    assert_eq!(rule(Document::load(&chunk(2, &[0xff; 9])).unwrap_err()), Rule::Deflate);
    assert_eq!(rule(Document::load(&chunk(0, &[])).unwrap_err()), Rule::Truncated);
    assert_eq!(rule(bundle("00 01 0107 01 c202").unwrap_err()), Rule::Truncated);
    assert_eq!(rule(bundle("00 01 0107 01 c20102 7f01 00").unwrap_err()), Rule::UnknownColumn);
    let mut flipped = base().bytes();
    flipped[5] ^= 1;
    assert_eq!(rule(Document::load(&flipped).unwrap_err()), Rule::Checksum);
}

/// A document by actor 7 with every kind of content. Objects: 1 a map, 2 a list with element 3, 4 a text with element
/// 5. 6 is a counter, 7 a number at `k`.
fn everything() -> Document {
    let mut doc = Document::new().with_actor(ActorId::from([7]));
    doc.transact(|tx| {
        tx.put_object(ROOT, "map", ObjType::Map)?;
        let list = tx.put_object(ROOT, "list", ObjType::List)?;
        tx.insert(&list, 0, 1)?;
        let text = tx.put_object(ROOT, "text", ObjType::Text)?;
        tx.splice_text(&text, 0, 0, "a")?;
        tx.put(ROOT, "counter", ScalarValue::counter(1))?;
        tx.put(ROOT, "k", 1)
    })
    .unwrap();
    doc
}

#[test]
fn errors_of_contradicting_changes_name_the_fault_and_roll_back() {
    let mut doc = everything();
    let (heads, file) = (doc.get_heads(), doc.save());
    let next = |op: Op| Draft { deps: vec![heads[0].0], seq: vec![2], start: vec![8], ..Draft::new(7, &op) };
    let operation = |rule| Fault::Operation { counter: 8, rule };
    let list = Some((0, 2));
    let delete = Op { action: 3, value: (0, vec![]), ..put() };
    let mark = Op { action: 7, insert: true, value: (0, vec![]), ..put() };
    let cases: Vec<(&str, Draft, Fault)> = vec![
        ("a missing object", next(Op { obj: Some((0, 7)), ..put() }), operation(OpFault::Object)),
        ("a key of a list", next(Op { obj: list, ..put() }), operation(OpFault::KeyKind)),
        (
            "an element of a map",
            next(Op { at: At::After((0, 3)), preds: vec![(0, 3)], ..put() }),
            operation(OpFault::KeyKind),
        ),
        (
            "an element of another list",
            next(Op { obj: list, at: At::After((0, 5)), insert: true, ..put() }),
            operation(OpFault::Element),
        ),
        (
            "an update of no element",
            next(Op { obj: list, at: At::After((0, 1)), ..put() }),
            operation(OpFault::Element),
        ),
        ("a predecessor at another key", next(Op { preds: vec![(0, 6)], ..put() }), operation(OpFault::Pred)),
        ("a delete of nothing", next(delete), operation(OpFault::NoPred)),
        ("an increment of nothing", next(Op { action: 5, ..put() }), operation(OpFault::NoPred)),
        (
            "an insertion over something",
            next(Op { obj: list, at: At::Head, insert: true, preds: vec![(0, 3)], ..put() }),
            operation(OpFault::InsertPred),
        ),
        ("a mark in a list", next(Op { obj: list, at: At::Head, ..mark }), operation(OpFault::Mark)),
        ("a hole in the numbers", Draft { seq: vec![3], ..next(put()) }, Fault::Seq { last: 1, found: 3 }),
        (
            "a counter that was used",
            Draft { start: vec![7], ..next(put()) },
            Fault::StartOp { start: 7, known: 7 },
        ),
    ];
    for (name, draft, expected) in cases {
        let change = Change::from_bytes(&draft.bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        // After a valid change by another actor, which must be rolled back, too.
        let good = Change::from_bytes(&Draft::new(9, &put()).bytes()).unwrap();
        let error = doc.apply_changes([good, change.clone()]).expect_err(name);
        assert_eq!(error, ApplyError::Fault { hash: change.hash(), fault: expected }, "{name}");
        doc.check(true);
        assert_eq!((doc.get_heads(), doc.save()), (heads.clone(), file.clone()), "{name}");
        // A file may end with it, and is read up to it.
        assert!(Document::load(&[file.clone(), draft.bytes()].concat()).is_err(), "{name}");
    }
}

#[test]
fn last_counter_is_never_used() {
    let start = |start: u32| Draft { start: crate::support::forge::number(start.into()), ..base() };
    // Counters end below the greatest number, so that the one after the last is a number, too.
    let last = Document::load(&start(u32::MAX).bytes()).unwrap_err();
    assert_eq!(rule(last), Rule::CounterRange);
    let mut doc = Document::load(&start(u32::MAX - 1).bytes()).unwrap();
    assert_eq!(doc.get_changes_meta(&[])[0].max_op, u64::from(u32::MAX) - 1);
    let (heads, file) = (doc.get_heads(), doc.save());
    assert_eq!(Document::load(&file).unwrap().get_heads(), heads);
    let full = doc.transact(|tx| tx.put(ROOT, "k", 2));
    assert_eq!(full, Err(EditError::Full));
    let full = doc.transact(|tx| tx.put_object(ROOT, "text", ObjType::Text));
    assert_eq!(full, Err(EditError::Full));
    doc.check(true);
    assert_eq!((doc.get_heads(), doc.save()), (heads, file));
}
