//! Limits of inputs: each one alone, with a file that keeps to all others.

use hashmill_doc::{
    ActorId, ApplyError, Change, CommitOptions, DecodeError, Document, EditError, LimitError, Limits,
    LoadError, LoadOptions, ObjType, OnPartialLoad, ROOT, ReadDoc, Rule, ScalarValue, Transactable,
    Transaction,
};

use hashmill_testkit::size;

use crate::Rng;
use crate::support::forge::{At, Draft, Op, chunk, digits, hex, number, put, run};

fn within(limits: Limits) -> LoadOptions {
    LoadOptions::new().limits(limits)
}

fn refused(bytes: &[u8], limits: Limits) -> LimitError {
    match Document::load_with(bytes, within(limits)) {
        Err(LoadError::Limit(error)) => error,
        other => panic!("{:?}", other.map(|doc| doc.get_heads())),
    }
}

/// A document of random letters, which deflate to more than half of their length.
fn noise(length: usize) -> (Document, String) {
    let mut rng = Rng::new(11);
    let letters: String = (0..length).map(|_| char::from(b'a' + rng.below(26) as u8)).collect();
    let mut doc = Document::new().with_actor(ActorId::from([1]));
    doc.transact(|tx| {
        let text = tx.put_object(ROOT, "text", ObjType::Text)?;
        tx.splice_text(&text, 0, 0, &letters)?;
        let list = tx.put_object(ROOT, "list", ObjType::List)?;
        let mut number = || (rng.below(1 << 20) as i64) << 20 | rng.below(1 << 20) as i64;
        (0..length / 8).try_for_each(|index| tx.insert(&list, index, number()))
    })
    .unwrap();
    (doc, letters)
}

#[test]
fn inflation_limit_holds_in_parallel_and_sequentially() {
    let (mut doc, letters) = noise(200_000);
    let (packed, plain) = (doc.save(), doc.save_nocompress());
    assert!(packed.len() > 100_000 && packed.len() < plain.len());
    // If the limit is so low that the deflated columns might exceed it, they are inflated one after the other.
    let tight = plain.len() as u64;
    for inflated_bytes in [Limits::default().inflated_bytes, tight] {
        let limits = Limits { inflated_bytes, ..Limits::default() };
        let loaded = Document::load_with(&packed, within(limits)).unwrap();
        loaded.check(true);
        assert_eq!(loaded.get_heads(), doc.get_heads());
        assert_eq!(loaded.get_as(ROOT, "text"), Ok(Some(letters.clone())));
    }
    let limits = Limits { inflated_bytes: tight / 2, ..Limits::default() };
    assert_eq!(refused(&packed, limits), LimitError { what: "inflated bytes", limit: tight / 2 });
    // A truncated stream: the error names the column, in parallel and sequentially. The body starts after magic,
    // checksum, type and a length of three bytes.
    let mut broken = packed[12..].to_vec();
    let end = broken.len();
    broken[end / 3..].fill(0xff);
    for inflated_bytes in [Limits::default().inflated_bytes, 10 * tight] {
        let limits = Limits { inflated_bytes, ..Limits::default() };
        let error = Document::load_with(&chunk(0, &broken), within(limits)).unwrap_err();
        let LoadError::Format(error) = error else { panic!("{error}") };
        assert!(error.rule == Rule::Deflate && error.position.column.is_some(), "{error}");
    }
}

#[test]
fn deflated_change_inflates_up_to_the_limit() {
    let mut doc = Document::new();
    doc.transact(|tx| tx.put(ROOT, "k", "x".repeat(5000))).unwrap();
    let change = &doc.get_changes(&[])[0];
    let packed = change.bytes();
    assert!(packed.len() < 500 && packed[8] == 2);
    assert_eq!(Change::from_bytes(&packed).unwrap(), *change);
    let limits = Limits { inflated_bytes: 5000, ..Limits::default() };
    let limit = LimitError { what: "inflated bytes", limit: 5000 };
    assert_eq!(Change::from_bytes_with(&packed, &limits), Err(DecodeError::Limit(limit.clone())));
    assert_eq!(refused(&packed, limits), limit);
}

/// A list at operation 1 with an element 2, and a change that inserts `count` nulls after it, one after the other.
fn many_nulls(count: u64) -> (Document, Vec<u8>) {
    let mut doc = Document::new().with_actor(ActorId::from([7]));
    doc.transact(|tx| {
        let list = tx.put_object(ROOT, "list", ObjType::List)?;
        tx.insert(&list, 0, ScalarValue::Null)
    })
    .unwrap();
    let insertion =
        Op { obj: Some((0, 1)), at: At::After((0, 2)), insert: true, value: (0, vec![]), ..put() };
    let draft =
        Draft { deps: vec![doc.get_heads()[0].0], seq: vec![2], start: vec![3], ..Draft::new(7, &insertion) };
    let digits = digits(&number(count));
    let draft = draft
        .with(0x01, &run(count, "00"))
        .with(0x02, &run(count, "01"))
        .with(0x11, &run(count, "00"))
        .with(0x13, &format!("7f02{}", run(count - 1, "01")))
        .with(0x34, &format!("00{digits}"))
        .with(0x42, &run(count, "01"))
        .with(0x56, &run(count, "00"))
        .with(0x70, &run(count, "00"));
    (doc, draft.bytes())
}

#[test]
fn runs_of_operations_are_limited() {
    // Few bytes may stand for many operations, if the limit allows them.
    let (mut doc, bytes) = many_nulls(100_000);
    assert!(bytes.len() < 150);
    doc.load_incremental(&bytes).unwrap();
    doc.check(true);
    let list = doc.get(ROOT, "list").unwrap().unwrap().1;
    assert_eq!(doc.length(&list), 100_001);
    let limits = Limits { operations: 99_999, ..Limits::default() };
    let limit = LimitError { what: "operations", limit: 99_999 };
    assert_eq!(Change::from_bytes_with(&bytes, &limits), Err(DecodeError::Limit(limit)));
    // The same in a document, whose rows are read in runs.
    let limits = Limits { total: 99_999, ..Limits::default() };
    let limit = LimitError { what: "operations in total", limit: 99_999 };
    assert_eq!(refused(&doc.save(), limits), limit);
    // More than the default allows.
    for count in [1_u64 << 27, 1 << 28] {
        let (_, bytes) = many_nulls(count);
        match Change::from_bytes(&bytes) {
            Err(DecodeError::Limit(limit)) => assert_eq!(limit.what, "operations"),
            Err(DecodeError::Format(error)) => assert_eq!(error.rule, Rule::CounterRange, "{count}"),
            other => panic!("{count}: {:?}", other.map(|change| change.len())),
        }
    }
    // One repeated operation, which is not a run.
    let (rows, key) = (run(1 << 30, "00"), run(1 << 30, "016b"));
    let puts = Draft::new(7, &put()).with(0x15, &key).with(0x42, &run(1 << 30, "01")).with(0x56, &rows);
    let digits = digits(&number(1 << 30));
    let mut puts = puts.with(0x70, &rows).with(0x34, &digits);
    puts.columns.retain(|(spec, _)| *spec != 0x57);
    let limits = Limits { operations: 1000, ..Limits::default() };
    assert_eq!(refused(&puts.bytes(), limits), LimitError { what: "operations", limit: 1000 });
}

#[test]
fn changes_of_a_document_are_limited() {
    let mut doc = Document::new();
    (0..50).for_each(|i| doc.transact(|tx| tx.put(ROOT, "k", i)).unwrap());
    let limits = |changes| Limits { changes, ..Limits::default() };
    assert_eq!(refused(&doc.save(), limits(49)), LimitError { what: "changes", limit: 49 });
    assert!(Document::load_with(&doc.save(), within(limits(50))).is_ok());
    // A bundle of one change.
    let bundle = hex("00 01 0107 08010203021302230233024502500260027f007f017f017f017f0000017f007f00\
         081503210234014202560257017002b301027f016b7f00017f017f14017f007f00");
    assert_eq!(Document::load(&chunk(3, &bundle)).unwrap().get_changes(&[]).len(), 1);
    assert_eq!(refused(&chunk(3, &bundle), limits(0)), LimitError { what: "changes", limit: 0 });
}

#[test]
fn total_of_many_small_changes_is_limited() {
    let limits = Limits { total: 10, ..Limits::default() };
    let mut doc = Document::load_with(&[], within(limits)).unwrap();
    let changes: Vec<Change> = (1..=12)
        .map(|actor| {
            let mut other = Document::new().with_actor(ActorId::from([actor]));
            other.transact(|tx| tx.put(ROOT, "k", 1)).unwrap();
            other.get_last_local_change().unwrap()
        })
        .collect();
    doc.apply_changes(changes[..10].iter().cloned()).unwrap();
    let (heads, file) = (doc.get_heads(), doc.save());
    let limit = LimitError { what: "operations in total", limit: 10 };
    assert_eq!(doc.apply_changes([changes[10].clone()]), Err(ApplyError::Limit(limit)));
    doc.check(true);
    assert_eq!((doc.get_heads(), doc.save()), (heads.clone(), file.clone()));
    // Local edits keep to the limit, too.
    let full = EditError::Limit(LimitError { what: "operations in total", limit: 10 });
    assert_eq!(doc.transact(|tx| tx.put(ROOT, "l", 1)), Err(full));
    assert_eq!((doc.get_heads(), doc.save()), (heads.clone(), file));
    let stream: Vec<u8> = changes.iter().flat_map(Change::raw_bytes).collect();
    let partial = within(limits).on_partial_load(OnPartialLoad::Ignore);
    assert_eq!(Document::load_with(&stream, partial).unwrap().get_heads(), heads);
    let rescue = Document::rescue(&stream, within(limits));
    assert_eq!((rescue.document.get_heads(), rescue.losses.len()), (heads, 2));
    let mut all = Document::new();
    all.apply_changes(changes).unwrap();
    let error = Document::load_with(&all.save(), within(limits)).unwrap_err();
    assert_eq!(error.to_string(), "the input exceeds the limit of 10 operations in total");
}

#[test]
fn default_limits_load_what_they_allow_to_write() {
    // Values without bytes, each at the front: a little more than a hundred bytes of file.
    let count = size::of(400_000, 2_000_000);
    let mut doc = Document::new().with_actor(ActorId::random());
    let list = doc.transact(|tx| tx.put_object(ROOT, "l", ObjType::List)).unwrap();
    doc.transact(|tx| (0..count).try_for_each(|_| tx.insert(&list, 0, ScalarValue::Null))).unwrap();
    let file = doc.save();
    assert!(file.len() < 300);
    let loaded = Document::load(&file).unwrap();
    assert_eq!((loaded.length(&list), loaded.get_heads()), (count, doc.get_heads()));
}

type Edit = fn(&mut Transaction<'_>, usize) -> Result<(), EditError>;

/// The list and the text of a document.
fn objects(tx: &Transaction<'_>) -> [hashmill_doc::ObjId; 2] {
    ["list", "text"].map(|key| tx.get(ROOT, key).unwrap().unwrap().1)
}

#[test]
fn documents_written_within_limits_load_within_them() {
    let edits: [(&str, Edit); 9] = [
        ("nulls at the front", |tx, _| tx.insert(&objects(tx)[0], 0, ScalarValue::Null)),
        ("nulls at the end", |tx, n| tx.insert(&objects(tx)[0], n, ScalarValue::Null)),
        ("nulls here and there", |tx, n| tx.insert(&objects(tx)[0], n * 7919 % (n + 1), ScalarValue::Null)),
        ("nulls that go again", |tx, n| {
            let [list, _] = objects(tx);
            if n < 3000 {
                return tx.insert(&list, n, ScalarValue::Null);
            }
            match tx.length(&list) {
                0 => Ok(()),
                length => tx.delete(&list, n * 7919 % length),
            }
        }),
        ("a flag", |tx, n| tx.put(ROOT, "flag", n % 2 == 0)),
        ("a flag under a long name", |tx, n| tx.put(ROOT, "f".repeat(100), n % 2 == 0)),
        ("a flag in a list", |tx, n| {
            let [list, _] = objects(tx);
            if n == 0 { tx.insert(&list, 0, true) } else { tx.put(&list, 0, n % 2 == 0) }
        }),
        ("maps", |tx, _| tx.insert_object(&objects(tx)[0], 0, ObjType::Map).map(drop)),
        ("what is no character in a text", |tx, n| tx.insert(&objects(tx)[1], n, ScalarValue::Null)),
    ];
    for (name, edit) in edits {
        for (steps, total, changes) in [
            (1 << 12, 1 << 27, 1 << 26),
            (1 << 13, 1 << 27, 1 << 26),
            (1 << 20, 1000, 1 << 26),
            (1 << 20, 1 << 20, 500),
        ] {
            let limits = Limits { steps, total, changes, ..Limits::default() };
            for each in [false, true] {
                let count = until_refused(name, limits, each, edit);
                assert!(count > 400, "{name}: {count}");
            }
        }
    }
}

/// Repeats an edit until it is refused, in one change or in a change each; the resulting document must load within the
/// same limits.
fn until_refused(name: &str, limits: Limits, each: bool, edit: Edit) -> usize {
    let mut doc = Document::load_with(&[], within(limits)).unwrap().with_actor(ActorId::from([9; 16]));
    doc.transact(|tx| {
        tx.put_object(ROOT, "list", ObjType::List)?;
        tx.put_object(ROOT, "text", ObjType::Text)
    })
    .unwrap();
    let mut count = 0;
    let end = 12_000;
    let refused = |error: EditError| assert!(matches!(error, EditError::Limit(_)), "{error}");
    let mut go_on = |result: Result<(), EditError>| {
        count += usize::from(result.is_ok());
        result.map_err(refused).is_ok() && count < end
    };
    let mut n = 0..;
    if each {
        while go_on(doc.transact(|tx| edit(tx, n.next().unwrap()))) {}
    } else {
        let mut tx = doc.transaction();
        while go_on(edit(&mut tx, n.next().unwrap())) {}
        tx.commit();
    }
    doc.check(true);
    let loaded = Document::load_with(&doc.save(), within(limits));
    let loaded = loaded.unwrap_or_else(|error| panic!("{name}, {count} {each}: {error}"));
    assert_eq!(loaded.get_heads(), doc.get_heads());
    let mut other = Document::load_with(&[], within(limits)).unwrap();
    other.load_incremental(&doc.save_after(&[])).unwrap();
    assert_eq!(other.get_heads(), doc.get_heads());
    count
}

/// Adds contents to a document.
type Fill<'a> = dyn Fn(&mut Document) -> Result<(), EditError> + 'a;

/// Shared names are in the file once, and gaps of the heap are not in it: neither pays for operations without bytes.
#[test]
fn bytes_not_in_the_file_do_not_pay() {
    let limits = Limits { steps: 2000, ..Limits::default() };
    let long = "k".repeat(1000);
    let shared_keys = |doc: &mut Document| {
        for map in 0..40 {
            doc.transact(|tx| {
                let map = tx.put_object(ROOT, format!("{map}"), ObjType::Map)?;
                tx.put(&map, long.as_str(), ScalarValue::Null)
            })?;
        }
        Ok(())
    };
    let shared_messages = |doc: &mut Document| {
        let options = CommitOptions::default().with_message(long.as_str());
        (0..40).try_for_each(|key| {
            doc.transact_with(&options, |tx| tx.put(ROOT, format!("{key}"), ScalarValue::Null)).map(drop)
        })
    };
    // Each starts a new chunk of the heap.
    let gaps = |doc: &mut Document| {
        let long = "v".repeat((1 << 14) + 1);
        doc.transact(|tx| (0..4).try_for_each(|n| tx.put(ROOT, format!("{n}"), long.as_str()))).map(drop)
    };
    let fillers: [&Fill<'_>; 3] = [&shared_keys, &shared_messages, &gaps];
    for (number, fill) in fillers.into_iter().enumerate() {
        let mut doc = Document::load_with(&[], within(limits).actor(ActorId::from([1]))).unwrap();
        fill(&mut doc).unwrap_or_else(|error| panic!("{number}: {error}"));
        // One step to read each, and one for the operation that supersedes it, in a run of few bytes.
        let mut puts = 0;
        let full = loop {
            match doc.transact(|tx| (0..100).try_for_each(|n| tx.put(ROOT, "flag", n % 2 == 0))) {
                Ok(_) => puts += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(full, EditError::Limit(_)) && puts > 0, "{number}: {full} after {puts}");
        let file = doc.save();
        let again = Document::load_with(&file, within(limits));
        let again = again.unwrap_or_else(|error| panic!("{number}, after {puts}: {error}"));
        assert_eq!(again.get_heads(), doc.get_heads());
    }
}

/// An edit at earlier heads is made in a smaller document; its result is in the whole one.
#[test]
fn edits_at_earlier_heads_respect_limits_of_the_whole() {
    for (limits, bytes) in [
        (Limits { total: 1000, ..Limits::default() }, 0),
        (Limits { changes: 100, ..Limits::default() }, 0),
        (Limits { steps: 3000, ..Limits::default() }, 0),
        (Limits { inflated_bytes: 40_000, ..Limits::default() }, 500),
    ] {
        let mut doc = Document::load_with(&[], within(limits).actor(ActorId::from([1]))).unwrap();
        doc.transact(|tx| tx.put(ROOT, "first", 1)).unwrap();
        let first = doc.get_heads();
        let put = |doc: &mut Document, n: usize| {
            doc.transact(|tx| {
                (0..10).try_for_each(|key| tx.put(ROOT, format!("{key}"), n.is_multiple_of(2)))?;
                tx.put(ROOT, "long", format!("{n:>bytes$}"))
            })
        };
        let before = (0..).take_while(|n| put(&mut doc, *n).is_ok()).count();
        assert!(before > 10);
        let late = (0..200).take_while(|n| {
            let late = format!("{n:>0$}", bytes / 10);
            doc.transact_at(&first, &CommitOptions::default(), |tx| tx.put(ROOT, "late", late)).is_ok()
        });
        assert!(late.count() < 200, "{limits:?}");
        let again = Document::load_with(&doc.save(), within(limits));
        let again = again.unwrap_or_else(|error| panic!("{limits:?}: {error}"));
        assert_eq!(again.get_heads(), doc.get_heads());
        doc.check(true);
    }
}
