//! Bytes that claim much more than they contain. Each claim is tested with an allowed size and with excessive ones:
//! these are refused with a named limit, after work and memory in proportion to the bytes.

use hashmill_doc::{
    ActorId, Change, DecodeError, Document, LimitError, Limits, LoadError, LoadOptions, ObjType, ROOT,
    ReadDoc, ScalarValue, Transactable,
};

use crate::support::forge::{Draft, digits, number, put, run, tables};

/// Number of steps that few bytes may cost in these tests.
const STEPS: u64 = 1 << 14;

/// Sizes that no machine could process.
const ENDLESS: [u64; 3] = [1 << 20, 1 << 31, 1 << 55];

fn limits() -> Limits {
    Limits { steps: STEPS, ..Limits::default() }
}

/// A counter `c`, a map `m`, a list of one null, and a text of one letter, by actor 7.
fn base() -> Document {
    let mut doc = Document::load_with(&[], LoadOptions::new().limits(limits())).unwrap();
    doc.set_actor(ActorId::from([7]));
    doc.transact(|tx| {
        tx.put(ROOT, "c", ScalarValue::counter(1))?;
        let list = tx.put_object(ROOT, "l", ObjType::List)?;
        tx.insert(&list, 0, ScalarValue::Null)?;
        let text = tx.put_object(ROOT, "t", ObjType::Text)?;
        tx.splice_text(&text, 0, 0, "x")
    })
    .unwrap();
    doc
}

const COUNTER: &str = "01";
const LIST: &str = "02";
const ELEMENT: &str = "03";
const TEXT: &str = "04";

/// A change of actor 7 after [`base`] with these columns.
fn change(columns: &[(u64, String)]) -> Vec<u8> {
    let mut draft =
        Draft { deps: vec![base().get_heads()[0].0], seq: vec![2], start: vec![6], ..Draft::new(7, &put()) };
    draft.columns.clear();
    columns.iter().fold(draft, |draft, (spec, data)| draft.with(*spec, data)).bytes()
}

/// `count` equal operations: an action on one object, with a key or element, and a value of one type without bytes.
fn same(
    count: u64,
    object: Option<&str>,
    key: [(u64, String); 1],
    insert: bool,
    action: &str,
) -> Vec<(u64, String)> {
    let mut columns = vec![];
    if let Some(object) = object {
        columns.extend([(0x01, run(count, "00")), (0x02, run(count, object))]);
    }
    let [(spec, key)] = key;
    if spec == 0x13 && insert {
        columns.push((0x13, key));
    } else if spec == 0x13 {
        columns.extend([(0x11, run(count, "00")), (0x13, key)]);
    } else {
        columns.push((spec, key));
    }
    let flags = digits(&number(count));
    columns.push((0x34, if insert { "00".to_owned() + &flags } else { flags }));
    columns.extend([(0x42, run(count, action)), (0x56, run(count, "00")), (0x70, run(count, "00"))]);
    columns
}

/// The element `ctr`, repeated.
fn always(count: u64, ctr: &str) -> [(u64, String); 1] {
    [(0x13, format!("7f{ctr}{}", run(count - 1, "00")))]
}

fn head(count: u64) -> [(u64, String); 1] {
    [(0x13, run(count, "00"))]
}

fn key(count: u64) -> [(u64, String); 1] {
    [(0x15, run(count, "016b"))]
}

fn with(mut columns: Vec<(u64, String)>, more: &[(u64, String)]) -> Vec<(u64, String)> {
    for (spec, data) in more {
        columns.retain(|(found, _)| found != spec);
        columns.push((*spec, data.clone()));
    }
    columns
}

/// Each operation with one predecessor, always the same.
fn after(count: u64, ctr: &str) -> [(u64, String); 3] {
    let ctrs = format!("7f{ctr}{}", run(count - 1, "00"));
    [(0x70, run(count, "01")), (0x71, run(count, "00")), (0x73, ctrs)]
}

/// A change that claims `count` operations of one kind.
type Claim = fn(u64) -> Vec<(u64, String)>;

/// Operations that few bytes can claim and that are processed individually.
const CLAIMS: [(&str, Claim); 9] = [
    ("puts at one key", |n| same(n, None, key(n), false, "01")),
    ("maps at one key", |n| same(n, None, key(n), false, "00")),
    ("insertions at the front of a list", |n| same(n, Some(LIST), head(n), true, "01")),
    ("insertions at the front of a text", |n| same(n, Some(TEXT), head(n), true, "01")),
    ("maps in a list", |n| same(n, Some(LIST), head(n), true, "00")),
    ("beginnings of marks", |n| with(same(n, Some(TEXT), head(n), true, "07"), &[(0xa5, run(n, "016d"))])),
    ("deletions of one element", |n| {
        with(same(n, Some(LIST), always(n, ELEMENT), false, "03"), &after(n, ELEMENT))
    }),
    ("updates of one element", |n| same(n, Some(LIST), always(n, ELEMENT), false, "01")),
    ("increments", |n| {
        let key = [(0x15, run(n, "0163"))];
        let value = [(0x56, run(n, "14")), (0x57, "01".repeat(n.min(1 << 11) as usize))];
        with(with(same(n, None, key, false, "05"), &after(n, COUNTER)), &value)
    }),
];

fn is_steps(error: &LimitError) {
    assert_eq!(*error, LimitError { what: "steps not covered by its bytes", limit: STEPS });
}

#[test]
fn claimed_operations_are_limited() {
    for (name, claim) in CLAIMS {
        let mut doc = base();
        let few = change(&claim(1 << 10));
        doc.load_incremental(&few).unwrap();
        doc.check(true);
        assert_eq!(doc.get_changes(&[]).len(), 2, "{name}");
        let heads = doc.get_heads();
        let again = Document::load_with(&doc.save(), LoadOptions::new().limits(limits())).unwrap();
        assert_eq!(again.get_heads(), heads, "{name}");
        for count in ENDLESS {
            let bytes = change(&claim(count));
            assert!(bytes.len() < 2500, "{name}");
            match Change::from_bytes_with(&bytes, &limits()) {
                Err(DecodeError::Limit(error)) => is_steps(&error),
                // There are not enough values for this number.
                Err(DecodeError::Format(error)) if name == "increments" => {
                    assert_eq!(error.position.column, Some(0x57), "{name}");
                }
                other => panic!("{name}: {:?}", other.map(|change| change.len())),
            }
            match Document::load_with(&bytes, LoadOptions::new().limits(limits())) {
                Err(LoadError::Limit(error)) => is_steps(&error),
                Err(LoadError::Format(_)) if name == "increments" => {}
                other => panic!("{name}: {:?}", other.map(|doc| doc.get_heads())),
            }
            let rescue = Document::rescue(&bytes, LoadOptions::new().limits(limits()));
            assert_eq!((rescue.losses.len(), rescue.document.get_heads().len()), (1, 0), "{name}");
        }
    }
}

#[test]
fn claimed_predecessors_and_dependencies_are_limited() {
    for count in ENDLESS {
        for step in ["00", "01"] {
            let preds = [
                (0x70, format!("7f{}", digits(&number(count)))),
                (0x71, run(count, "00")),
                (0x73, format!("7f01{}", run(count - 1, step))),
            ];
            let bytes = change(&with(same(2, None, key(2), false, "01"), &preds));
            // The second operation has no predecessors, and is never reached.
            match Change::from_bytes_with(&bytes, &limits()) {
                Err(DecodeError::Limit(error)) => is_steps(&error),
                other => panic!("{:?}", other.map(|change| change.len())),
            }
        }
        let actors = [vec![7]];
        let one = |value: &str| format!("7f{value}");
        let changes = [
            (0x01, run(2, "00")),
            (0x03, run(2, "01")),
            (0x13, run(2, "00")),
            (0x23, run(2, "00")),
            (0x40, format!("7e00{}", digits(&number(count)))),
            (0x43, run(count, "00")),
            (0x56, run(2, "07")),
        ];
        refused(&tables(0, &actors, &changes, &[]));
        let changes = [
            (0x01, one("00")),
            (0x03, one("01")),
            (0x13, one("01")),
            (0x23, one("00")),
            (0x33, one("00")),
            (0x50, one(&digits(&number(count)))),
            (0x53, run(count, "01")),
            (0x60, one("00")),
        ];
        refused(&tables(3, &actors, &changes, &[]));
    }
}

fn refused(bytes: &[u8]) {
    match Document::load_with(bytes, LoadOptions::new().limits(limits())) {
        Err(LoadError::Limit(error)) => is_steps(&error),
        other => panic!("{:?}", other.map(|doc| doc.get_heads())),
    }
    let rescue = Document::rescue(bytes, LoadOptions::new().limits(limits()));
    assert_eq!(rescue.losses.len(), 1);
}

/// `count` changes without operations in a document: by one actor, each depending on the one before, or by as many
/// actors, without dependencies.
fn empty_changes(count: u64, chained: bool, message: &str) -> [(u64, String); 8] {
    let deps = if chained {
        [format!("7f00{}", run(count - 1, "01")), format!("7f00{}", run(count - 2, "01"))]
    } else {
        [run(count, "00"), String::new()]
    };
    let [deps, index] = deps;
    let message = digits(&[&number(message.len() as u64), message.as_bytes()].concat());
    let seqs = if chained { run(count, "01") } else { format!("7f01{}", run(count - 1, "00")) };
    [
        (0x01, if chained { run(count, "00") } else { each(0..count) }),
        (0x03, seqs),
        (0x13, run(count, "00")),
        (0x23, run(count, "00")),
        (0x35, run(count, &message)),
        (0x40, deps),
        (0x43, index),
        (0x56, run(count, "07")),
    ]
}

/// A literal run of different numbers.
fn each(numbers: std::ops::Range<u64>) -> String {
    let count = numbers.end - numbers.start;
    // As a negative signed number.
    let mut header: Vec<u8> = vec![];
    let mut left = -(count as i64);
    while left != -1 || header.last().is_none_or(|last| last & 0x40 == 0) {
        header.iter_mut().last().into_iter().for_each(|last| *last |= 0x80);
        header.push(left as u8 & 0x7f);
        left >>= 7;
    }
    digits(&header) + &numbers.map(|value| digits(&number(value))).collect::<String>()
}

/// This number of actors, in order.
fn writers(count: u64) -> Vec<Vec<u8>> {
    (0..count as u32).map(|n| n.to_be_bytes().to_vec()).collect()
}

fn without_empty(columns: &[(u64, String)]) -> Vec<(u64, String)> {
    columns.iter().filter(|(_, data)| !data.is_empty()).cloned().collect()
}

/// Number of computed heads of a document that is valid except for its heads, of which it names none.
fn computed(bytes: &[u8]) -> usize {
    match Document::load_with(bytes, LoadOptions::new().limits(limits())) {
        Err(LoadError::Heads { computed, .. }) => computed.len(),
        other => panic!("{:?}", other.map(|doc| doc.get_heads())),
    }
}

#[test]
fn claimed_changes_of_a_document_are_limited() {
    let actor = [vec![7]];
    let table = |count, chained, message| without_empty(&empty_changes(count, chained, message));
    // They are hashed individually.
    assert_eq!(computed(&tables(0, &actor, &table(7000, true, "m"), &[])), 1);
    ENDLESS.iter().for_each(|count| refused(&tables(0, &actor, &table(*count, true, "m"), &[])));
    // All of them may be heads: dependencies are not searched linearly among heads.
    assert_eq!(computed(&tables(0, &writers(4000), &table(4000, false, "m"), &[])), 4000);
    // A long message or actor id that a run repeats is hashed each time.
    let long = "m".repeat(1000);
    assert_eq!(computed(&tables(0, &actor, &table(2000, true, &long), &[])), 1);
    refused(&tables(0, &actor, &table(8000, true, &long), &[]));
    let name = [vec![7; 1000]];
    assert_eq!(computed(&tables(0, &name, &table(1000, true, "m"), &[])), 1);
    refused(&tables(0, &name, &table(8000, true, "m"), &[]));
}

/// `count` puts at one key, each superseding the one before in a change of its own, with counters from `first` on.
fn rewritten(count: u64, key: &str, first: u64) -> Vec<u8> {
    let name = digits(&[&number(key.len() as u64), key.as_bytes()].concat());
    let counters = |first, count| format!("7f{}{}", run(first, ""), run(count - 1, "01"));
    let mut changes = empty_changes(count, true, "m");
    changes[2].1 = counters(first, count);
    let ops = [
        (0x15, run(count, &name)),
        (0x21, run(count, "00")),
        (0x23, counters(first, count)),
        (0x34, digits(&number(count))),
        (0x42, run(count, "01")),
        (0x56, run(count, "00")),
        (0x80, format!("{}7f00", run(count - 1, "01"))),
        (0x81, run(count - 1, "00")),
        (0x83, counters(first + 1, count - 1)),
    ];
    tables(0, &[vec![7]], &changes, &ops)
}

#[test]
fn long_key_is_charged_for_each_hashed_change() {
    let key = "k".repeat(4000);
    assert_eq!(computed(&rewritten(1000, &key, 2)), 1);
    refused(&rewritten(4000, &key, 2));
    assert_eq!(computed(&rewritten(4000, "k", 2)), 1);
}

#[test]
fn last_counters_are_refused() {
    for first in u32::MAX - 8..u32::MAX - 4 {
        let load = |count| Document::load_with(&rewritten(count, "k", first.into()), LoadOptions::new());
        let fits = u64::from(u32::MAX - first);
        assert!(matches!(load(fits), Err(LoadError::Heads { .. })), "{first}");
        for count in fits + 1..fits + 4 {
            let error = load(count).map(drop).unwrap_err().to_string();
            assert!(error.contains("counter"), "{error}");
        }
    }
}

#[test]
fn repeated_key_is_stored_once() {
    // Maps in a list, each with the same long key, which is in the bytes once.
    let (count, long) = (100_u64, "k".repeat(4000));
    let mut doc = base();
    doc.load_incremental(&change(&same(count, Some(LIST), head(count), true, "00"))).unwrap();
    let heads = doc.get_heads()[0].0;
    let objects: Vec<u8> = (6..6 + count).flat_map(number).collect();
    let mut draft = Draft { deps: vec![heads], seq: vec![3], start: number(106), ..Draft::new(7, &put()) };
    draft.columns.clear();
    // A literal run of a hundred.
    let header = "9c7f".to_owned();
    let key = digits(&[&number(long.len() as u64), long.as_bytes()].concat());
    let columns = with(
        same(count, None, [(0x15, run(count, &key))], false, "01"),
        &[(0x01, run(count, "00")), (0x02, header + &digits(&objects))],
    );
    let bytes = columns.iter().fold(draft, |draft, (spec, data)| draft.with(*spec, data)).bytes();
    // Reading it costs as much as hashing the key for every map: for many maps, more than these bytes pay for.
    doc.load_incremental(&bytes).unwrap();
    doc.check(true);
    assert_eq!(doc.get_changes(&[]).len(), 3);
}

#[test]
fn conflict_comparisons_are_limited() {
    // Many values at one key, then as many operations that each must find one of them.
    let count = 1 << 11;
    let mut doc = base();
    doc.load_incremental(&change(&same(count, None, key(count), false, "01"))).unwrap();
    let heads = doc.get_heads()[0].0;
    let draft = Draft { deps: vec![heads], seq: vec![3], start: number(6 + count), ..Draft::new(7, &put()) };
    let preds =
        [(0x70, run(count, "01")), (0x71, run(count, "00")), (0x73, format!("7f06{}", run(count - 1, "01")))];
    let columns = with(same(count, None, key(count), false, "01"), &preds);
    let mut draft = draft;
    draft.columns.clear();
    let bytes = columns.iter().fold(draft, |draft, (spec, data)| draft.with(*spec, data)).bytes();
    let change = Change::from_bytes_with(&bytes, &limits()).unwrap();
    let before = (doc.get_heads(), doc.save());
    let error = doc.apply_changes([change.clone()]).unwrap_err();
    assert!(error.to_string().contains("steps not covered by its bytes"), "{error}");
    doc.check(true);
    assert_eq!((doc.get_heads(), doc.save()), before);
    let mut patient = Document::load(&before.1).unwrap();
    patient.apply_changes([change]).unwrap();
    patient.check(true);
    assert_eq!(patient.get_all(ROOT, "k").unwrap().len() as u64, count);
}

#[test]
fn skipped_elements_are_charged() {
    // Many elements at the front of a list, then older ones by another actor, which belong after all of them.
    let count = 1 << 11;
    let mut doc = base();
    let (base_heads, front) = (doc.get_heads()[0].0, same(count, Some(LIST), head(count), true, "01"));
    doc.load_incremental(&change(&front)).unwrap();
    let mut draft =
        Draft { deps: vec![base_heads], start: vec![6], others: vec![vec![7]], ..Draft::new(6, &put()) };
    draft.columns.clear();
    let older = with(front, &[(0x01, run(count, "01"))]);
    let bytes = older.iter().fold(draft, |draft, (spec, data)| draft.with(*spec, data)).bytes();
    let change = Change::from_bytes_with(&bytes, &limits()).unwrap();
    let error = doc.apply_changes([change.clone()]).unwrap_err();
    assert!(error.to_string().contains("steps not covered by its bytes"), "{error}");
    let mut patient = Document::load(&doc.save()).unwrap();
    patient.apply_changes([change]).unwrap();
    patient.check(true);
    let list = patient.get(ROOT, "l").unwrap().unwrap().1;
    assert_eq!(patient.length(&list) as u64, 1 + 2 * count);
}

#[test]
fn long_runs_are_cheap() {
    // Ten million characters typed in one run and deleted: few bytes in the file, and few entries in memory.
    let mut doc = base();
    let text = doc.get(ROOT, "t").unwrap().unwrap().1;
    let length = 1 << 20;
    doc.transact(|tx| tx.splice_text(&text, 1, 0, &"y".repeat(length))).unwrap();
    let mut other = doc.fork();
    other.transact(|tx| tx.splice_text(&text, 0, length as isize + 1, "")).unwrap();
    let deletion = other.get_last_local_change().unwrap();
    assert!(deletion.raw_bytes().len() < 150);
    doc.apply_changes([Change::from_bytes_with(&deletion.raw_bytes(), &limits()).unwrap()]).unwrap();
    assert_eq!(doc.length(&text), 0);
    let again = Document::load_with(&doc.save(), LoadOptions::new().limits(limits())).unwrap();
    assert_eq!(again.get_heads(), other.get_heads());
}

#[test]
fn many_actors_are_sorted_once() {
    // A document with very many actors: each costs a few bytes.
    let actors: Vec<Vec<u8>> = (0..60_000_u32).map(|n| n.to_be_bytes().to_vec()).collect();
    let doc = Document::load(&tables(0, &actors, &[], &[])).unwrap();
    doc.check(true);
    assert!(doc.get_heads().is_empty());
}

#[test]
fn distant_dependency_is_hashed_once_more() {
    // A chain of changes, then changes by other actors that each name one in its middle: most hashes of a chain are not
    // stored.
    let (chain, others) = (100, 300);
    let count = chain + others;
    let changes = [
        (0x01, run(chain, "00") + &each(1..others + 1)),
        (0x03, format!("{}7f{:02x}7f{}", run(chain, "01"), 0x80 | (0x7f & -99_i64), run(others - 1, "00"))),
        (0x13, run(count, "00")),
        (0x23, run(count, "00")),
        (0x40, format!("7f00{}", run(count - 1, "01"))),
        // 0, 1, … and then 77 repeated.
        (
            0x43,
            format!("7f00{}7f{:02x}{}", run(chain - 2, "01"), 0x7f & (77_i64 - 98), run(others - 1, "00")),
        ),
        (0x56, run(count, "07")),
    ];
    assert_eq!(computed(&tables(0, &writers(1 + others), &changes, &[])) as u64, 1 + others);
}
